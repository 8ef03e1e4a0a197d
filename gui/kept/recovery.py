"""What survives a crash: the unsaved scenario, at most two seconds old.

Each running window has a file of its own and holds a lock beside it; a file whose lock nobody holds
was left behind by a crash and is offered at the next start.
"""

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, QTimer, Signal

from core.errors import InferometerError
from core.files import scenario_file
from core.spec.base import as_one_line
from core.spec.scenario import Scenario
from gui.document import Document, Origin
from gui.paths import read_small, write_atomically
from gui.pinned import Pin, Pinned
from gui.work import threads

INTERVAL_MS = 1000  # a second is left for a busy machine and a slow disk
_REFUSED_MS = 5000  # after which a disk that refused is asked again
_AGAIN_MS = 100  # while the disk is still at work on the state before
_SUFFIX = ".recovery.json"
_BROKEN = ".unreadable"


@dataclass(frozen=True, slots=True)
class Found:
    """A scenario left behind."""

    file: Path
    scenario: Scenario
    origin: Origin  # the file it was opened from
    saved_at: float  # s since the epoch
    pins: tuple[Pin, ...] = ()
    baseline: int = 0  # column of the one the others are compared with


class Recovery(QObject):
    """Keeps the document's unsaved state on disk while the program runs.

    ``refused`` is emitted whenever that cannot be done, and ``kept`` when it was.
    """

    refused = Signal()
    kept = Signal()

    def __init__(self, folder: Path, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._document = document
        self._file = folder / f"{os.getpid()}-{time.time_ns()}{_SUFFIX}"
        self._lock: QLockFile | None = None
        self._claimed: dict[Path, QLockFile] = {}  # offered here, so no other window offers them too
        self._kept_revision = -1
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._keep_aside)
        self._writing: threading.Thread | None = None
        self._written = True
        self._pinned: Pinned | None = None
        self.pins_are_kept = False  # elsewhere: pins alone are nothing that could be lost
        document.changed.connect(self._on_changed)
        document.clean_changed.connect(self._on_clean_changed)
        self.refused.connect(self._try_again)

    def watch(self, pinned: Pinned) -> None:
        """Keep the pinned scenarios too."""
        self._pinned = pinned
        pinned.changed.connect(self._on_pinned)

    def _on_pinned(self) -> None:
        self._kept_revision = -1
        if self._nothing_to_lose():
            self._forget()
        else:
            self._keep_soon()

    def _keep_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start(INTERVAL_MS)

    def _nothing_to_lose(self) -> bool:
        pins = () if self.pins_are_kept or self._pinned is None else self._pinned.pins
        return self._document.is_clean and not pins

    def restore_pins(self, found: Found) -> None:
        """Put the pinned scenarios of what was left behind back, unless there are new ones."""
        if self._pinned is not None and found.pins and not self._pinned.pins:
            self._pinned.restore(found.pins, found.baseline)

    @property
    def folder(self) -> Path:
        """Where the states of all windows are kept."""
        return self._folder

    @property
    def file(self) -> Path:
        """Where this window keeps its state."""
        return self._file

    def keep(self) -> bool:
        """Write the state now, if there is anything that would be lost.  False: the disk refused."""
        self._timer.stop()
        self._settle()
        if self._nothing_to_lose():
            self._forget()
            return True
        if self._document.revision == self._kept_revision:
            return True
        if not (self._hold_lock() and write_atomically(self._file, self._content())):
            self.refused.emit()
            return False
        self._kept_revision = self._document.revision
        self.kept.emit()
        return True

    def _keep_aside(self) -> None:
        """The same by a thread: a disk may take long to say that it has written."""
        revision = self._document.revision
        if self._nothing_to_lose() or revision == self._kept_revision:
            return
        if self._writing is not None and self._writing.is_alive():
            self._timer.start(_AGAIN_MS)  # a folder on a slow network must not hold up the window
            return
        if not self._hold_lock():
            self.refused.emit()
            return
        self._settle()
        content = self._content()

        def write() -> None:
            self._written = write_atomically(self._file, content)
            threads.tell(partial(self._say, self._written), self)

        self._writing = threads.begin("recovery", write, daemon=False)
        self._kept_revision = revision

    def _say(self, written: bool) -> None:
        (self.kept if written else self.refused).emit()

    def _try_again(self) -> None:
        """A full disk may have room by now, without another edit."""
        self._kept_revision = -1
        if not self._timer.isActive():
            self._timer.start(_REFUSED_MS)

    def _settle(self) -> None:
        """Wait for a write under way, so that nothing overtakes it."""
        if self._writing is None:
            return
        self._writing.join()
        self._writing = None
        if not self._written:
            self._kept_revision = -1

    def _content(self) -> bytes:
        origin = self._document.origin
        tree = {
            "path": str(origin.path) if origin.path else None,
            "title": self._document.title,
            "imported": origin.imported,
            "stamp": origin.stamp,
            "saved_at": time.time(),
            "scenario": json.loads(scenario_file.dumps(self._document.scenario)),
        }
        if self._pinned is not None and self._pinned.pins:
            tree["baseline"] = self._pinned.baseline_index
            tree["pinned"] = [
                {"name": pin.name, "scenario": json.loads(scenario_file.dumps(pin.scenario))}
                for pin in self._pinned.pins
            ]
        return json.dumps(tree).encode()

    def close(self) -> None:
        """A normal end: nothing is left behind."""
        self._timer.stop()
        self._forget()
        for lock in (self._lock, *self._claimed.values()):
            if lock is not None:
                lock.unlock()
        self._lock = None
        self._claimed.clear()

    def orphans(self) -> list[Found]:
        """Scenarios that no running window owns, newest first."""
        found = []
        for file in _recovery_files(self._folder):
            lock = self._claimed.get(file) or _lock_of(file)
            if file == self._file or not (lock.isLocked() or lock.tryLock(0)):
                continue
            item = _read(file)
            if item is None:
                _set_aside(file)
                lock.unlock()
                continue
            self._claimed[file] = lock
            found.append(item)
        return sorted(found, key=lambda item: -item.saved_at)

    def discard(self, found: Found) -> None:
        """Remove what was left behind, once it was restored or refused."""
        _remove(found.file)
        lock = self._claimed.pop(found.file, None)
        if lock is not None:
            lock.unlock()

    def _on_changed(self, _scenario: Scenario, _revision: int) -> None:
        self._keep_soon()

    def _on_clean_changed(self, clean: bool) -> None:
        if clean and self._nothing_to_lose():
            self._forget()
        else:
            self._keep_soon()

    def _hold_lock(self) -> bool:
        if self._lock is not None:
            return True
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        lock = _lock_of(self._file)
        if not lock.tryLock(0):
            return False
        self._lock = lock
        return True

    def _forget(self) -> None:
        self._settle()
        self._kept_revision = -1
        _remove(self._file)


def _lock_of(file: Path) -> QLockFile:
    lock = QLockFile(f"{file}.lock")
    lock.setStaleLockTime(0)  # only the death of its process makes a lock stale, never its age
    return lock


def _recovery_files(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.name.endswith(_SUFFIX))
    except OSError:
        return []


def _read(file: Path) -> Found | None:
    content = read_small(file)
    if content is None:
        return None
    try:
        tree = json.loads(content)
        scenario = scenario_file.loads(json.dumps(tree["scenario"]))
        path = Path(tree["path"]) if isinstance(tree["path"], str) else None
        stamp = tuple(int(part) for part in tree["stamp"]) if tree["stamp"] else None
        origin = Origin(path, as_one_line(str(tree["title"])), bool(tree["imported"]), stamp)
        pins = tuple(
            Pin(scenario_file.loads(json.dumps(one["scenario"])), as_one_line(str(one["name"])))
            for one in tree.get("pinned", [])
        )
        return Found(file, scenario, origin, float(tree["saved_at"]), pins, int(tree.get("baseline", 0)))
    except (InferometerError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


def _set_aside(file: Path) -> None:
    """Keep what cannot be read, out of the way: somebody may still want to look at it."""
    with contextlib.suppress(OSError):
        file.replace(file.with_name(file.name.removesuffix(_SUFFIX) + _BROKEN))


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
