"""The folders of the user, known here and nowhere else, and the one way to write a small file."""

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QStandardPaths

from core.errors import InferometerError
from core.files.atomic import write_atomic

_HOME_VARIABLE = "INFEROMETER_HOME"  # everything below one folder: portable use, tests, packaging checks
_NAME = "inferometer"
_LONGEST_NAME = 120  # bytes; 255 with the endings that programs put behind it


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the program keeps its own files.  Folders are made when something is written."""

    settings: Path
    data: Path

    @property
    def preferences(self) -> Path:
        """What the user chose."""
        return self.settings / "preferences.json"

    @property
    def window_state(self) -> Path:
        """Geometry of the window."""
        return self.settings / "window.ini"

    @property
    def recent(self) -> Path:
        """The files opened last."""
        return self.settings / "recent.json"

    @property
    def recovery(self) -> Path:
        """Unsaved scenarios, one file a running window."""
        return self.data / "recovery"

    @property
    def catalogue(self) -> Path:
        """The user's own models and devices, a folder each."""
        return self.data / "catalogue"

    @property
    def presets(self) -> Path:
        """The user's own presets, a file each."""
        return self.data / "presets"

    @property
    def pins(self) -> Path:
        """The scenarios pinned for comparison."""
        return self.data / "pinned.json"

    @property
    def calibrations(self) -> Path:
        """Factors fitted to the user's own measurements."""
        return self.data / "calibrations"

    @property
    def runs(self) -> Path:
        """The log of measured runs, of all projects."""
        return self.data / "runs.sqlite"

    @property
    def crash_log(self) -> Path:
        """What went wrong, newest last."""
        return self.data / "crash.log"


def user_paths() -> Paths:
    """The folders of this user on this system."""
    home = os.environ.get(_HOME_VARIABLE)
    if home:
        return Paths(Path(home) / "settings", Path(home) / "data")
    place = QStandardPaths.StandardLocation
    settings = QStandardPaths.writableLocation(place.GenericConfigLocation)
    data = QStandardPaths.writableLocation(place.GenericDataLocation)
    return Paths(Path(settings) / _NAME, Path(data) / _NAME)


def write_atomically(path: Path, content: bytes) -> bool:
    """Replace ``path`` by ``content`` in one step; False when the system refuses.

    For the program's own files, whose loss is a nuisance and no reason to stop.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
    except (OSError, InferometerError):
        return False
    return True


def file_name(text: str, otherwise: str) -> str:
    """A file name that every system takes: no separators, nothing hidden, not too long; without an ending."""
    bare = "".join(c if c.isalnum() or c in " ._-(),×" else "-" for c in text).strip(" .")
    return bare.encode()[:_LONGEST_NAME].decode(errors="ignore").strip(" .") or otherwise


def own_json(tree: object) -> bytes:
    """The bytes of one of the program's own files; names of files need not be Unicode, and come back."""
    try:
        return json.dumps(tree, indent=1, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(tree, indent=1).encode()


def read_small(path: Path, limit: int = 1 << 24) -> bytes | None:
    """Content of one of the program's own files; None when it is missing, unreadable or absurdly large."""
    try:
        if path.stat().st_size > limit:
            return None
        return path.read_bytes()
    except OSError:
        return None


def set_aside(file: Path) -> None:
    """Keep one of the program's own files that cannot be read, out of the way: it may still be looked at."""
    with contextlib.suppress(OSError):
        file.replace(file.with_name(f"{file.name}.unreadable"))
