"""Install the packages into a clean Debian root, work with the program there, remove it, compare.

``clean_root.py PACKAGES…`` as root, with debootstrap.  The root is made from wherever this machine's apt
gets its packages.  ``--base FOLDER`` copies a finished debootstrap folder instead.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "build" / "clean-root"
FAMILIES = ("Debian", "Ubuntu")
TYPE = "application/vnd.inferometer.scenario+json"
SAMPLE = sorted((ROOT / "resources" / "samples").glob("*.json"))[0]
HOME = "srv/person"  # of the person who works with the program there
FOLDER = f"{HOME}/My scenarios"
DOCUMENT = f"{FOLDER}/模型 一.inferometer"
# What a session needs and a desktop has; never needed by the package itself.
DESKTOP = (
    "xvfb xdotool xdg-utils libglib2.0-bin shared-mime-info desktop-file-utils hicolor-icon-theme "
    "procps file xz-utils"
)
# Written by dpkg, apt, ldconfig and fontconfig for themselves, whatever is installed.
NOT_OURS = (
    "/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/tmp/", "/proc", "/dev", "/sys",  # noqa: S108
    "/run/", "/home/", "/srv/", "/root/", "/etc/ld.so.cache", "/var/lib/systemd/",
)  # fmt: skip


class Failed(Exception):
    """A step did not do what it must."""


class CleanRoot:
    """A folder with a small Debian, entered with namespaces of its own so that nothing outlives a step."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def run(self, command: str, quiet: bool = True) -> str:
        """Run a shell command inside.  Raises Failed with what it said."""
        enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", f"--root={self.place}"]
        enter += ["--mount-proc=/proc", "/bin/sh", "-ec", command]
        kept = {k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}
        environ = {
            **kept,
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        done = subprocess.run(
            enter, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=1200
        )
        said = done.stdout.decode(errors="replace")
        if done.returncode:
            raise Failed(f"{command[:200]}: status {done.returncode}\n{said[-4000:]}")
        if not quiet:
            print(said, end="", flush=True)
        return said

    def files(self) -> set[str]:
        """Every path inside, but for what the system keeps for itself."""
        found = self.run("find / -xdev").splitlines()
        return {path for path in found if not path.startswith(NOT_OURS)}

    def as_person(self, command: str) -> str:
        """Run a command as somebody without rights."""
        quoted = command.replace("'", "'\\''")
        return self.run(f"su person -s /bin/sh -c '{quoted}'")


def suite() -> str:
    """The release that this machine runs: the package was built for it."""
    for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    raise Failed("this system does not say which release it is")


def sources() -> list[str]:
    """Where this machine's apt gets the release from, as lines for another sources.list."""
    keys = ("REPO_URI", "CODENAME", "COMPONENT", "ORIGIN")
    form = "|".join(f"$({key})" for key in keys)
    command = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = {tuple(line.split("|")) for line in asked.stdout.splitlines()}
    own = suite()
    wanted = sorted(
        (row for row in rows if row[1].split("-")[0] == own and row[3] in FAMILIES),
        key=lambda row: (row[1] != own, row[2] != "main", row),
    )
    if not wanted or wanted[0][1] != own:
        raise Failed(f"apt of this machine knows no source of {own}")
    return [f"deb {uri} {codename} {component}" for uri, codename, component, _ in wanted]


def make_root(base: Path | None) -> CleanRoot:
    """A root with nothing in it but what debootstrap calls minimal."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    place, lines = WORK / "root", sources()
    if base is not None:
        subprocess.run(["cp", "-a", str(base), str(place)], check=True)
    else:
        origin = lines[0].split()[1]
        command = [
            "debootstrap",
            "--variant=minbase",
            "--include=ca-certificates",
            suite(),
            str(place),
            origin,
        ]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(done.stdout.decode(errors="replace")[-4000:])
    (place / "etc/apt/sources.list").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kept = ("Proxy", "Check-Valid-Until", "Check-Date", "CaInfo", "Verify-")
    dump = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True)
    settings = [line for line in dump.stdout.splitlines() if any(word in line for word in kept)]
    settings = [line for line in settings if not line.endswith('"";')]
    (place / "etc/apt/apt.conf.d/90machine").write_text("\n".join(settings) + "\n", encoding="utf-8")
    for name in ("etc/resolv.conf", "etc/hosts", "etc/apt/auth.conf"):
        if Path("/", name).is_file():
            shutil.copyfile(Path("/", name).resolve(), place / name)
    return CleanRoot(place)


def leftovers(before: set[str], after: set[str]) -> None:
    """Raises Failed when the two lists differ."""
    more, less = sorted(after - before), sorted(before - after)
    if more or less:
        raise Failed("left behind: %s\nmissing: %s" % (more[:40], less[:40]))


def alone(root: CleanRoot, package: str) -> None:
    """With nothing but what the package asks for."""
    before = root.files()
    root.run(f"apt-get install -y --no-install-recommends {package}")
    missing = root.run(
        "export LD_LIBRARY_PATH=/usr/lib/inferometer/_internal; find /usr/lib/inferometer -type f "
        "\\( -name '*.so' -o -name '*.so.*' -o -name inferometer \\) -exec ldd {} + 2>/dev/null "
        "| grep 'not found' | sort -u || true"
    )
    if missing:
        raise Failed(f"libraries missing:\n{missing}")
    told = root.as_person(
        f"cd /tmp && QT_QPA_PLATFORM=offscreen HOME=/{HOME} inferometer --smoke '/{DOCUMENT}'"
    )
    if "READY" not in told.split():
        raise Failed(f"no READY: {told}")
    root.as_person(f"cd /tmp && inferometer estimate '/{DOCUMENT}'")
    listed = root.run("dpkg -L inferometer").split()
    for path in (
        "/usr/bin/inferometer",
        "/usr/share/man/man1/inferometer.1.gz",
        "/usr/share/doc/inferometer/copyright",
    ):
        if path not in listed:
            raise Failed(f"{path} is not in the package")
    root.run("dpkg -P inferometer && apt-get autoremove -y --purge")
    leftovers(before, root.files())


def at_a_desktop(root: CleanRoot, package: str) -> None:
    """With what a desktop has, as a person would use it."""
    root.run(f"apt-get install -y --no-install-recommends {DESKTOP}")
    before = root.files()
    root.run(f"apt-get install -y --no-install-recommends {package}")
    shutil.copyfile(HERE / "session.sh", root.place / "srv/session.sh")
    (root.place / "srv/session.sh").chmod(0o755)
    session = f"su person -s /bin/sh -c \"/srv/session.sh '/{DOCUMENT}' {TYPE}\""
    root.run(
        "mkdir -p -m 1777 /tmp/.X11-unix; Xvfb :9 -screen 0 1440x900x24 -nolisten tcp >/srv/xvfb.log 2>&1 & "
        f"sleep 3; {session}",
        quiet=False,
    )
    root.run("dpkg -P inferometer && apt-get autoremove -y --purge")
    leftovers(before, root.files())


def others(root: CleanRoot, packages: list[str], needed: str) -> None:
    """The packages that are not installed: unpacked and started.

    These bring no list of what they need: a desktop has it, and here the .deb's list stands for one.
    """
    root.run(f"apt-get install -y --no-install-recommends {needed}")
    smoke = f"QT_QPA_PLATFORM=offscreen HOME=/{HOME} %s --smoke '/{DOCUMENT}'"
    for package in packages:
        starts = {"unpacked": f"{package} --appimage-extract-and-run", "without FUSE": package}
        if not package.endswith(".AppImage"):
            root.as_person(f"cd /{HOME} && tar -xJf {package}")
            starts = {"unpacked": f"/{HOME}/{Path(package).name.removesuffix('.tar.xz')}/inferometer"}
        for how, start in starts.items():
            if "READY" not in root.as_person("cd /tmp && " + smoke % start).split():
                raise Failed(f"{package}, {how}: no READY")
            print(f"      {Path(package).name}: {how}: started", flush=True)
        if left := root.run("ls -A /tmp | grep inferometer || true"):
            raise Failed(f"{package}: left in /tmp: {left}")


def check(packages: list[Path], base: Path | None) -> None:
    """The whole test."""
    begun = time.monotonic()

    def told(text: str) -> None:
        print(f"   {time.monotonic() - begun:5.0f} s  {text}", flush=True)

    root = make_root(base)
    told(f"clean root of {suite()}")
    inside = root.place / "packages"
    inside.mkdir()
    for package in packages:
        shutil.copyfile(package, inside / package.name)
        (inside / package.name).chmod(0o755)
    root.run(f"apt-get update && useradd -m -d /{HOME} -s /bin/sh person")
    (root.place / FOLDER).mkdir(parents=True)
    shutil.copyfile(SAMPLE, root.place / DOCUMENT)
    root.run(f"chown -R person:person /{HOME}")
    names = [f"/packages/{package.name}" for package in packages]
    debs = [name for name in names if name.endswith(".deb")]
    for name in debs:
        alone(root, name)
        told("installed alone, started, removed: no leftovers")
        at_a_desktop(root, name)
        told("opened by double click, changed, saved, closed, removed: no leftovers")
    asked = " ".join(root.run(f"dpkg-deb -f {name} Depends") for name in debs)
    needed = " ".join(re.sub(r"\([^)]*\)", "", asked).replace(",", " ").split())
    others(root, [name for name in names if name not in debs], needed)
    told("done")


def main() -> int:
    """Check the packages named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="+", type=Path)
    parser.add_argument("--base", type=Path, metavar="FOLDER", help="a finished debootstrap folder to copy")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("   not checked in a clean root: that needs root and debootstrap")
        return 1
    try:
        check(options.packages, options.base)
    except Failed as error:
        print(f"   {error}")
        return 1
    shutil.rmtree(WORK, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
