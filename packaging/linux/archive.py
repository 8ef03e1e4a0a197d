"""The plain archive: the program's folder with its desktop files, to unpack anywhere."""

import lzma
import shutil
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import tree

# The first filter makes code of x86 processors pack better; every xz since 2009 reads it.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9}]


def build(program: Path, target: Path, work: Path, epoch: int) -> None:
    """Write the archive; its one top folder is named like it."""
    shutil.rmtree(work, ignore_errors=True)
    top = work / target.name.removesuffix(".tar.xz")
    tree.lay_program(program, top)
    tree.lay_share(top / "share")
    tree.normalise(top, epoch)
    with (
        lzma.open(target, "wb", format=lzma.FORMAT_XZ, filters=FILTERS) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as files,
    ):
        for path in (top, *sorted(top.rglob("*"))):
            files.add(path, path.relative_to(work).as_posix(), recursive=False, filter=anonymous)
    shutil.rmtree(work)


def anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nobody's in particular."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = int(entry.mtime)
    return entry
