"""Freeze and package the program: ``python3 packaging/package.py linux|windows|macos``.

``linux`` writes .deb, AppImage and .tar.xz into ``build/packages``, with checksums, then installs the
.deb into a clean Debian root, works with it there and removes it again (as root; ``--no-check`` leaves
that out).  ``windows`` and ``macos`` run on those systems.  Fails above the promised sizes.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("Inferometer needs Python 3.11 or later; this is %d.%d." % sys.version_info[:2])

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
for place in (HERE / "linux", HERE / "windows", HERE / "macos", HERE / "freeze", HERE):
    sys.path.insert(0, str(place))

import setup_environment as setup

ROOT = HERE.parent
BUILD = ROOT / "build"
FROZEN = BUILD / "frozen" / "inferometer"
PACKAGES = BUILD / "packages"
MOST_PACKED = 50 * 10**6


def version() -> str:
    """The program's, from the one place that says it."""
    text = (ROOT / "core" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'^VERSION = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("core/version.py names no version")
    return found[1]


def freeze() -> None:
    """Build the program's folder; the unpacked size is checked there."""
    subprocess.run([sys.executable, str(HERE / "freeze" / "build.py")], check=True)


def linux(options: argparse.Namespace) -> list[Path]:
    """The three packages for Linux."""
    import appimage
    import archive
    import build as frozen
    import deb

    epoch, name = frozen.source_date(), f"inferometer-{version()}-linux-{os.uname().machine}"
    work = BUILD / "work" / "packages"
    kept = BUILD / "cache" / "appimage"
    kept.mkdir(parents=True, exist_ok=True)
    given = (options.runtime.read_bytes(), {}) if options.runtime else appimage.own_runtime(kept)
    package = PACKAGES / f"inferometer_{version()}_{deb.architecture()}.deb"
    image, files = PACKAGES / f"{name}.AppImage", PACKAGES / f"{name}.tar.xz"
    makers = {
        package: lambda: deb.build(FROZEN, package, work / "deb", version(), epoch),
        image: lambda: appimage.build(FROZEN, image, work / "appimage", epoch, *given),
        files: lambda: archive.build(FROZEN, files, work / "archive", epoch),
    }
    with ThreadPoolExecutor(len(makers)) as pool:  # packing takes minutes, each on one processor
        for made in [pool.submit(timed, path, make) for path, make in makers.items()]:
            made.result()
    return [package, image, files]


def windows(_options: argparse.Namespace) -> list[Path]:
    """Installer and portable archive for Windows."""
    import windows_packages

    return windows_packages.build(FROZEN, PACKAGES, BUILD / "work" / "packages", version())


def macos(_options: argparse.Namespace) -> list[Path]:
    """Application and disk image for macOS."""
    import macos_packages

    return macos_packages.build(BUILD / "frozen", PACKAGES, version())


def timed(path: Path, make) -> None:
    """Make a package, say how large it is and how long it took."""
    begun = time.monotonic()
    make()
    print(f"   {path.name}: {path.stat().st_size / 1e6:.1f} MB, {time.monotonic() - begun:.0f} s", flush=True)


def write_sums(packages: list[Path]) -> None:
    """Checksums in the form that ``sha256sum --check`` reads."""
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in sorted(packages)]
    (PACKAGES / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def main() -> int:
    """Build, measure, check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("system", choices=("linux", "windows", "macos"))
    parser.add_argument("--no-check", action="store_true", help="do not install into a clean root")
    parser.add_argument("--runtime", type=Path, metavar="FILE", help="runtime of AppImages to use")
    options = parser.parse_args()
    try:
        python = setup.ensure("test")
    except setup.SetupError as error:
        setup.say(str(error))
        return 1
    if Path(sys.prefix).resolve() != setup.ENVIRONMENT.resolve():
        command = [str(python), str(HERE / "package.py"), *sys.argv[1:]]
        return subprocess.call(command, env=setup.clean_environ(QT_QPA_PLATFORM="offscreen"))
    PACKAGES.mkdir(parents=True, exist_ok=True)
    freeze()
    packages = {"linux": linux, "windows": windows, "macos": macos}[options.system](options)
    write_sums(packages)
    heavy = [path.name for path in packages if path.stat().st_size > MOST_PACKED]
    if heavy and options.system == "linux":
        print(f"   too large: {', '.join(heavy)}; at most {MOST_PACKED // 10**6} MB are promised")
        return 1
    if options.system != "linux" or options.no_check:
        return 0
    return subprocess.call([sys.executable, str(HERE / "linux" / "clean_root.py"), *map(str, packages)])


if __name__ == "__main__":
    sys.exit(main())
