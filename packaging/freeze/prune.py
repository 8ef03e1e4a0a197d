"""Remove from a frozen folder the shared libraries that nothing in it loads.

PyInstaller collects what the libraries of left-out plugins need; leaving those plugins out in the
spec strands the libraries behind them.  What counts as loading is the NEEDED list of each ELF file.
"""

import os
import subprocess
from pathlib import Path

# Opened by name at run time, so in no NEEDED list.
OPENED_BY_NAME = ("libpython3",)


def needed_by(folder: Path) -> dict[Path, frozenset[str]]:
    """Every ELF file with the names of the libraries it asks for."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        told = subprocess.run(["objdump", "-p", str(path)], capture_output=True, text=True, check=True)
        words = (line.split() for line in told.stdout.splitlines())
        found[path] = frozenset(word[1] for word in words if len(word) == 2 and word[0] == "NEEDED")
    return found


def is_library(path: Path) -> bool:
    """A library that is there for others: no plugin, no extension module."""
    name = path.name
    return (
        name.startswith("lib")
        and ".so" in name
        and ".abi3." not in name.replace(".abi3.so.", "")
        and "plugins" not in path.parts
        and not name.startswith(OPENED_BY_NAME)
    )


def stranded(needed: dict[Path, frozenset[str]]) -> list[Path]:
    """The libraries that can go, those that only other stranded ones need among them."""
    gone: set[Path] = set()
    while True:
        kept = {path: names for path, names in needed.items() if path not in gone}
        wanted: dict[str, set[Path]] = {}
        for path, names in kept.items():
            for name in names:
                wanted.setdefault(name, set()).add(path)
        more = {path for path in kept if is_library(path) and not wanted.get(path.name, set()) - {path}}
        if not more:
            return sorted(gone)
        gone |= more


def prune(folder: Path) -> int:
    """Remove what is stranded, and links to it; returns how many bytes went."""
    freed = 0
    for path in stranded(needed_by(folder)):
        freed += path.stat().st_size
        path.unlink()
    remove_broken_links(folder)
    remove_empty_folders(folder)
    return freed


def remove_broken_links(folder: Path) -> None:
    """Links whose library was left out."""
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.exists():
            path.unlink()


def remove_empty_folders(folder: Path) -> None:
    """Folders of which nothing is left."""
    for place, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(place):
            os.rmdir(place)
