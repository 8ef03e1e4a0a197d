"""The files opened last."""

import json
from pathlib import Path

from gui.paths import own_json, read_small, write_atomically

_KEPT = 10


class RecentFiles:
    """Newest first.  The list is read afresh each time: other windows add to it too."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._memory: list[Path] = []

    def files(self) -> list[Path]:
        """The files, present or not; a menu greys the missing ones."""
        if self._path is None:
            return list(self._memory)
        content = read_small(self._path)
        try:
            names = json.loads(content) if content else []
        except (ValueError, RecursionError):
            names = []
        if not isinstance(names, list):
            return []
        return [Path(name) for name in names if isinstance(name, str) and name][:_KEPT]

    def add(self, file: Path) -> None:
        """Put a file on top."""
        file = file.absolute()
        self._write([file, *(other for other in self.files() if other != file)])

    def clear(self) -> None:
        """Forget them all."""
        self._write([])

    def _write(self, files: list[Path]) -> None:
        self._memory = files[:_KEPT]
        if self._path is not None:
            names = [str(file) for file in self._memory]
            write_atomically(self._path, own_json(names))
