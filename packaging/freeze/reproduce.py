"""Build the program twice, from different folders, and compare file by file: ``reproduce.py [--package]``.

Same list of files, same contents, same links and modes.  ``--package`` makes a Debian package (barely
packed) of each and compares those byte for byte, time stamps included.
"""

import argparse
import hashlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "linux")]

import build as frozen


def fingerprint(folder: Path) -> dict[str, str]:
    """What each file of a folder is: its mode and checksum, or where it leads."""
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = f"{path.stat().st_mode:o} {digest}"
    return found


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Names that are in one only, or not the same in both."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def packages(folders: list[Path]) -> list[str]:
    """Checksums of packages made of each folder."""
    import deb

    sums = []
    for index, folder in enumerate(folders):
        target = frozen.BUILD / "again" / f"{index}.deb"
        deb.build(folder, target, frozen.BUILD / "again" / "work", "0.0.0", frozen.source_date(), fast=True)
        sums.append(hashlib.sha256(target.read_bytes()).hexdigest())
        target.unlink()
    return sums


def main() -> int:
    """Build, compare, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", action="store_true", help="compare Debian packages as well")
    options = parser.parse_args()
    folders, sources = [], frozen.source_hash()
    for name in ("first", "another folder"):
        output = frozen.BUILD / "again" / name
        if frozen.build(output, output / "work"):
            return 1
        folders.append(output / "inferometer")
    if frozen.source_hash() != sources:
        print("   the sources were changed meanwhile: nothing is said by comparing")
        return 1
    one, other = (fingerprint(folder) for folder in folders)
    found = differences(one, other)
    print(f"   {len(one)} files built twice, {len(found)} differ")
    for name in found[:40]:
        print(f"   {name}: {one.get(name, 'absent')} / {other.get(name, 'absent')}")
    if options.package and not found:
        sums = packages(folders)
        print(f"   packages: {sums[0]} / {sums[1]}")
        found += [] if sums[0] == sums[1] else ["package"]
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
