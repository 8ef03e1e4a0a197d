"""Results that stay with the scenario's file, if the user wants: read at opening, written at saving.

They are written only while the file holds what is shown: results of unsaved edits wait for the saving.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal

from core.errors import Problem
from gui.document import Document, stamp_of
from gui.work.background import Work

if TYPE_CHECKING:  # at run time it comes with the first file that has results
    from core.files.results_file import KeptResults

_REST_MS = 300  # parts that follow each other are written at once
_LAST_S = 5.0


class Keeper(QObject):
    """``changed`` follows the wish to keep and what is kept; ``failed`` carries problems."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.on = False
        self._path = self._own_path()
        self._parts: dict[str, Any] = {}
        self._read: frozenset[str] = frozenset()  # parts that came with the file
        self._before: tuple[bool, dict[str, Any], frozenset[str]] = (False, {}, frozenset())
        self._reading, self._writing = Work(self), Work(self)
        self._reading.news.connect(self._on_read)
        self._reading.failed.connect(self._on_unreadable)
        self._writing.failed.connect(self.failed)
        self._later = QTimer(self, singleShot=True, interval=_REST_MS)
        self._later.timeout.connect(self._write)
        self._look_later = QTimer(self, singleShot=True, interval=0)
        self._look_later.timeout.connect(self._look)
        document.path_changed.connect(lambda _path: self._on_path())
        document.saved_as.connect(lambda _old, _new: self._on_saved_as())
        app = QCoreApplication.instance()
        if app is not None:
            app.aboutToQuit.connect(self.finish)
        self._look()

    @property
    def busy(self) -> bool:
        """Whether it is still to be seen what lies beside the file."""
        return self._look_later.isActive() or self._reading.working

    @property
    def writing(self) -> bool:
        """Whether anything is on its way to the disk."""
        return self._later.isActive() or self._writing.working

    def part(self, name: str) -> Any:
        """What is kept of "run", "load", "search" or "models"; None for nothing."""
        return self._parts.get(name)

    def was_read(self, name: str) -> bool:
        """Whether a part was read from beside the file, and not worked out since."""
        return name in self._read

    def put(self, name: str, part: object) -> None:
        """Something new was worked out."""
        self._parts[name] = part
        self._read -= {name}
        if self.on and self._path is not None and self._document.is_clean:
            self._later.start()

    def set_on(self, on: bool) -> None:
        """Keep results with the file from now on, or no more; the file of results goes with the wish."""
        if on == self.on:
            return
        self.on = on
        if on and self._path is not None and self._document.is_clean:
            self._later.start()
        elif not on:
            self._later.stop()
            self._writing.wait(_LAST_S)
            if self._path is not None:
                with contextlib.suppress(OSError):
                    _place(self._path).unlink(missing_ok=True)
        self.changed.emit()

    def finish(self) -> None:
        """The program ends: what waits is written."""
        if self._later.isActive():
            self._later.stop()
            self._write()
        self._writing.wait(_LAST_S)

    # -- following the document ------------------------------------------------------------------

    def _own_path(self) -> Path | None:
        return None if self._document.imported else self._document.path

    def _on_path(self) -> None:
        path = self._own_path()
        if path == self._path:
            if self.on and path is not None:
                self._later.start()
            return
        self._before = self.on, self._parts, self._read
        self._path, self.on, self._parts, self._read = path, False, {}, frozenset()
        self._later.stop()
        self._reading.stop()
        self._look_later.start()

    def _on_saved_as(self) -> None:
        """A scenario that has got a name, or another one, takes its results along."""
        self._look_later.stop()
        self.on, self._parts, self._read = self._before
        if self.on:
            self._later.start()
        self.changed.emit()

    def _look(self) -> None:
        path = self._path
        if path is None or stamp_of(_place(path)) is None:  # so too where the name is too long
            self.changed.emit()
            return

        def read() -> "Iterator[KeptResults]":
            from core.files import results_file

            yield results_file.load(path)

        self.on = True
        self._reading.start(read)

    def _on_read(self, kept: "KeptResults") -> None:
        from core.version import VERSION

        self._reading.working = False
        if kept.version == VERSION:  # another one may come to other results
            found = {"run": kept.run, "load": kept.load, "search": kept.search, "models": kept.models}
            self._parts = {name: part for name, part in found.items() if part is not None}
            self._read = frozenset(self._parts)
        self.changed.emit()

    def _on_unreadable(self, problems: tuple[Problem, ...]) -> None:
        self.on = False  # what cannot be read is not written over
        self.failed.emit(problems)
        self.changed.emit()

    def _write(self) -> None:
        path, parts = self._path, dict(self._parts)
        if path is None or not parts:
            return

        def write() -> Iterator[None]:
            from core.files import results_file

            results_file.save(path, results_file.KeptResults(**parts))
            yield None

        self._writing.start(write)


def _place(path: Path) -> Path:
    return path.with_name(path.name + ".results")


__all__ = ["Keeper"]
