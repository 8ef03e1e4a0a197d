"""The files of an installed program on Linux, laid out below any folder, with normalised time stamps."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

import make_icons as icons

NAME = "inferometer"
COMPONENT = "io.inferometer.Inferometer"  # what a software centre knows it by
MIME = "inferometer.xml"


COMPLETIONS = {
    "bash": f"bash-completion/completions/{NAME}",
    "zsh": f"zsh/vendor-completions/_{NAME}",
    "fish": f"fish/vendor_completions.d/{NAME}.fish",
}


def lay_program(program: Path, target: Path) -> None:
    """Copy the frozen folder, links as links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(program, target, symlinks=True)


def lay_share(share: Path) -> None:
    """Desktop entry, icons, MIME type, metainfo, manual pages and completion, below a ``share`` folder."""
    for source, place in (
        ("inferometer.desktop", f"applications/{NAME}.desktop"),
        ("inferometer-mime.xml", f"mime/packages/{MIME}"),
        ("inferometer.metainfo.xml", f"metainfo/{COMPONENT}.metainfo.xml"),
    ):
        put(share / place, (HERE / source).read_bytes())
    for size in icons.SIZES:
        put(share / f"icons/hicolor/{size}x{size}/apps/{NAME}.png", icons.png(size))
    put(share / f"icons/hicolor/scalable/apps/{NAME}.svg", icons.SOURCE.read_bytes())
    for language, place in (("en", "man/man1"), ("zh_CN", "man/zh_CN/man1")):
        command = [sys.executable, str(ROOT / "packaging" / "make_man_page.py"), language]
        page = subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout
        put(share / place / f"{NAME}.1.gz", gzip.compress(page, 9, mtime=0))
    for shell, place in COMPLETIONS.items():
        command = [sys.executable, "-m", "gui.main", "completion", shell]
        put(share / place, subprocess.run(command, capture_output=True, check=True, cwd=ROOT).stdout)


def copyright_text(program: Path) -> str:
    """A Debian copyright file: the program's own terms, and every part with its licence."""
    tree = json.loads((program / "_internal/resources/licences/bundled.json").read_text(encoding="utf-8"))
    own = (ROOT / "LICENSE").read_text(encoding="utf-8").splitlines()[2:]
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        "Upstream-Name: Inferometer",
        "Comment: The texts named below are in /usr/lib/inferometer/_internal/resources/licences.",
        "",
        "Files: *",
        f"Copyright: {own[0].removeprefix('Copyright (c) ')}",
        "License: Expat",
        *(f" {line or '.'}" for line in own[2:]),
    ]
    for part in tree["parts"]:
        inside = sorted(place for place, name in tree["files"].items() if name == part["name"])
        lines += ["", "Files: usr/lib/inferometer"]
        lines += [f"Comment: {part['name']} {part['version']}".rstrip()]
        lines += [f" {place}" for place in inside]
        lines += ["Copyright: see the texts", f"License: {part['licence']}"]
        lines += [f" {text}" for text in part["texts"]]
    return "\n".join(lines) + "\n"


def put(path: Path, data: bytes) -> None:
    """Write a file, its folder made when needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def normalise(folder: Path, epoch: int) -> None:
    """One owner's view of every file: the same modes and times wherever it is built."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & 0o100
            path.chmod(0o755 if executable else 0o644)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def size_of(folder: Path) -> int:
    """Bytes of all files, links counted as links."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_symlink() or path.is_file())
