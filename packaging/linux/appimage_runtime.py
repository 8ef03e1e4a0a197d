"""Compile the beginning of the AppImage from ``appimage_runtime.c``, statically.

The libraries come from wherever this machine's apt gets its packages, which checks them; nothing is
installed.  Needs a C compiler with a static C library, and the Debian packages named below.
"""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "appimage_runtime.c"
PACKAGES = ("libfuse3-dev", "libsquashfuse-dev", "liblzma-dev", "zlib1g-dev")
LIBRARIES = ("squashfuse_ll", "squashfuse", "fuse3", "lzma", "z", "pthread")
MARK_AT, MARK = 8, b"AI\x02"  # what tells an AppImage of type 2


class CannotCompile(Exception):
    """Something that is needed is not here."""


def _run(command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CannotCompile(f"{command[0]}: {error}") from None
    if done.returncode:
        raise CannotCompile(f"{command[0]}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def fetched_libraries(work: Path) -> Path:
    """A folder with headers, static libraries and copyright files of the packages."""
    place = work / "libraries"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _run(["apt-get", "download", "-q", *PACKAGES], place)
    for package in sorted(place.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(place)], place)
    return place


def compiled(work: Path) -> tuple[bytes, dict[str, str]]:
    """The runtime, and the copyright file of each library in it.  Raises CannotCompile."""
    place = fetched_libraries(work)
    folders = [path for path in place.glob("usr/lib/*") if list(path.glob("libfuse3.a"))]
    if not folders:
        raise CannotCompile("libfuse3-dev holds no static library")
    target = work / "runtime"
    command = ["gcc", "-static", "-Os", "-Wall", "-Werror=implicit-function-declaration", "-s"]
    command += [
        "-Wno-unused-parameter",
        "-I",
        str(place / "usr/include"),
        "-I",
        str(place / "usr/include/fuse3"),
    ]
    command += ["-I", str(place / "usr/include/squashfuse"), str(SOURCE), "-o", str(target)]
    command += [
        "-L",
        str(folders[0]),
        *(f"-l{name}" for name in LIBRARIES),
        "-Wl,--build-id=none,--gc-sections,-z,noseparate-code",
    ]
    _run(command, work)
    data = bytearray(target.read_bytes())
    data[MARK_AT : MARK_AT + len(MARK)] = MARK
    texts = {
        path.parent.name: path.read_text(encoding="utf-8") for path in place.glob("usr/share/doc/*/copyright")
    }
    return bytes(data), texts
