"""The frozen program, where one has been built: small, and whole."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "frozen" / "inferometer"
BINARY = FOLDER / ("inferometer.exe" if os.name == "nt" else "inferometer")

pytestmark = [
    pytest.mark.frozen,
    pytest.mark.skipif(not BINARY.exists(), reason="packaging/freeze/build.py has not been run"),
]


def test_no_link_leads_nowhere() -> None:
    assert not [path for path in FOLDER.rglob("*") if path.is_symlink() and not path.exists()]


def test_every_packaged_file_is_inside() -> None:
    inside = FOLDER / "_internal" / "resources"
    ours = ROOT / "resources"
    expected = {
        p.relative_to(ours) for p in ours.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")
    }
    # A file added since the build is not the build's fault: the build itself is checked by its stamp.
    missing = {
        p
        for p in expected
        if not (inside / p).exists() and (ours / p).stat().st_mtime < BINARY.stat().st_mtime
    }
    assert not missing


def test_licences_travel_with_the_program() -> None:
    licences = FOLDER / "_internal" / "resources" / "licences"
    assert (licences / "LGPL-3.0.txt").exists()
    for package in ("numpy", "pyqtgraph", "pydantic"):
        assert any(path.is_file() for path in (licences / "packages" / package).rglob("*")), package


def test_what_no_user_needs_is_left_out() -> None:
    names = {path.name for path in FOLDER.rglob("*")}
    unwanted = ("libQt6Network", "libQt6Qml", "libgtk-3", "libcrypto", "_tkinter", "libGL.so", "pytest")
    unwanted += ("libssl", "_ssl", "PySide6.QtNetwork", "QtNetwork", "Qt6Network")
    unwanted += ("libQt6OpenGL", "QtOpenGL", "libQt6EglFS", "libqxcb-glx", "libqxcb-egl")
    unwanted += ("_socket", "_multiprocessing", "_posixshmem", "_asyncio")
    assert not {name for name in names if name.startswith(unwanted)}


def test_bad_input_is_told_as_in_the_source_tree(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(BINARY), "estimate", str(tmp_path / "absent.json")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no file" in done.stderr
    assert "Traceback" not in done.stderr
