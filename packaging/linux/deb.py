"""The Debian package: files, control data, and which packages of the system it needs."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "freeze"))

import tree
from prune import needed_by

PACKAGE = tree.NAME
# Read at run time by libraries that travel with the program; no ELF file names them.
DATA_PACKAGES = ("fontconfig-config", "xkb-data")
# PySide6's wheels are built for this C library; the program starts on nothing older.
LIBC = "libc6 (>= 2.34)"
RECOMMENDED = ("fonts-noto-cjk | fonts-wqy-microhei", "xdg-desktop-portal", "shared-mime-info")
LIBC_FILES = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libutil.so", "ld-linux")


def foreign_libraries(program: Path) -> set[str]:
    """Names of the libraries that the program loads and does not bring."""
    needed = needed_by(program)
    inside = {path.name for path in program.rglob("*")}
    names = {name for names in needed.values() for name in names} - inside
    return {name for name in names if not name.startswith(LIBC_FILES)}


def package_of(library: str) -> str:
    """The Debian package that holds a library.  Raises LookupError."""
    asked = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False)
    owners = {line.split(":")[0] for line in asked.stdout.splitlines() if line.endswith(f"/{library}")}
    if not owners:
        raise LookupError(library)
    return sorted(owners)[0]


def depends(program: Path) -> list[str]:
    """What must be installed with it."""
    packages = {package_of(library) for library in foreign_libraries(program)}
    return [LIBC, *sorted(packages | set(DATA_PACKAGES))]


def control(version: str, architecture: str, kilobytes: int, needed: list[str]) -> str:
    """The control file."""
    return (
        f"Package: {PACKAGE}\n"
        f"Version: {version}\n"
        f"Architecture: {architecture}\n"
        "Maintainer: Inferometer maintainers <maintainers@inferometer.invalid>\n"
        f"Installed-Size: {kilobytes}\n"
        f"Depends: {', '.join(needed)}\n"
        f"Recommends: {', '.join(RECOMMENDED)}\n"
        "Section: science\n"
        "Priority: optional\n"
        "Description: does a language model fit a GPU, and how fast is it\n"
        " Says from first principles whether a language model fits a GPU, how fast it\n"
        " will be, how many users it carries, what limits it and what to change.\n"
        " .\n"
        " Works without a network. Brings its own Python and Qt libraries.\n"
    )


def architecture() -> str:
    """This machine's, as Debian names it."""
    asked = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def lay(program: Path, root: Path, version: str, epoch: int) -> None:
    """The package's files and control data below ``root``.

    Menus, icon caches and the MIME database are brought up to date by the triggers of the packages
    they belong to, at installation and at removal: no script of ours runs.
    """
    tree.lay_program(program, root / "usr/lib" / PACKAGE)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin" / PACKAGE).symlink_to(f"../lib/{PACKAGE}/{PACKAGE}")
    tree.lay_share(root / "usr/share")
    tree.put(root / "usr/share/doc" / PACKAGE / "copyright", tree.copyright_text(program).encode())
    kilobytes = -(-tree.size_of(root) // 1024)
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(root)}\n"
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    ]
    told = control(version, architecture(), kilobytes, depends(program))
    tree.put(root / "DEBIAN/control", told.encode())
    tree.put(root / "DEBIAN/md5sums", "".join(sums).encode())
    tree.normalise(root, epoch)


def build(program: Path, target: Path, work: Path, version: str, epoch: int, fast: bool = False) -> None:
    """Write the package; ``fast`` packs it barely, for looking into it."""
    shutil.rmtree(work, ignore_errors=True)
    lay(program, work, version, epoch)
    packing = ["-Zgzip", "-z1"] if fast else ["-Zxz", "-z9"]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    command = ["dpkg-deb", "--root-owner-group", *packing, "--build", str(work), str(target)]
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL)
    shutil.rmtree(work)
