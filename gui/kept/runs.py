"""The runs of the open project, kept in the log of runs: read and written off the interface thread.

One job after the other.  Another window may write the same log: ``look`` asks whether it has.
"""

import gc
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from core.errors import Problem
from core.evidence.kept_runs import Entry, ids_of, without_collecting
from core.evidence.readers.common import Reading
from core.evidence.run import Run
from core.evidence.run_log import DATABASE, RunLog, project_key
from gui.document import Document
from gui.work.background import Work

MANY = 5000  # runs that are many
Job = Callable[[], object]


class MemoryLog:
    """The same for a program that keeps nothing on disk."""

    def __init__(self) -> None:
        self.notes: list[Problem] = []
        self._kept: dict[str, list[Entry]] = {}
        self._last = self._changes = 0

    def add(self, project: str, runs: Sequence[Run]) -> int:
        """Add runs that are not there yet; their number."""
        kept = self._kept.setdefault(project, [])
        new = 0
        for run in runs:
            if all(entry.run != run for entry in kept):
                self._last += 1
                kept.append(Entry(self._last, "", run))
                new += 1
        self._changes += 1
        return new

    def entries(self, project: str) -> tuple[Entry, ...]:
        """All of a project."""
        return tuple(self._kept.get(project, ()))

    def last_id(self, project: str) -> int:
        """The id of the run that was added last; 0 where there is none."""
        return max((entry.id for entry in self.entries(project)), default=0)

    def remove(self, project: str, ids: Sequence[int]) -> int:
        """Remove runs."""
        gone, kept = set(ids), self._kept.get(project, [])
        self._kept[project] = [entry for entry in kept if entry.id not in gone]
        self._changes += 1
        return len(kept) - len(self._kept[project])

    def copy(self, source: str, target: str) -> int:
        """Give a project the runs of another."""
        return self.add(target, [entry.run for entry in self.entries(source)])

    def stamp(self, _project: str) -> int:
        """Another number after every change."""
        return self._changes


def _entries(log: RunLog | MemoryLog, project: str) -> Sequence[Entry]:
    """The runs of a project; many are put out of the way of the search for circles, which would halt all."""
    with without_collecting():
        found = log.entries(project)
        if len(found) > MANY:
            gc.freeze()
    return found


class RunStore(QObject):
    """``loaded`` after the runs were read anew; ``added`` carries new entries, the number of known runs
    and what was read; ``removed`` the entries that are gone; ``failed`` problems.
    """

    loaded = Signal()
    added = Signal(object, int, object)
    removed = Signal(object)
    failed = Signal(object)

    def __init__(self, document: Document, folder: Path | None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self.log: RunLog | MemoryLog = MemoryLog() if folder is None else RunLog(folder / DATABASE)
        self.entries: Sequence[Entry] = ()
        self.project = project_key(document.path)
        self._read_of: str | None = None  # the project whose runs are in ``entries``
        self._reading: str | None = None  # the project whose runs were asked for last
        self._stamp = -1
        self._queue: list[tuple[Job, Callable[[object], object]]] = []
        self._result: object = None
        self._noted = 0
        self._work = Work(self)
        self._work.news.connect(self._on_news)
        self._work.ended.connect(self._on_ended)
        self._work.failed.connect(self._on_failed)
        document.path_changed.connect(self.follow)

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return self._work.working or bool(self._queue)

    @property
    def is_current(self) -> bool:
        """Whether the runs in ``entries`` are those of the open project."""
        return self._read_of == self.project

    def follow(self) -> None:
        """The document may be of another project now."""
        self.project = project_key(self._document.path)
        if self._read_of is not None and not self.is_current:
            self.load()

    def want(self) -> None:
        """Read the runs of the project unless they are there or on their way."""
        if not self.is_current and self._reading != self.project:
            self.load()

    def load(self) -> None:
        """Read the runs of the project."""
        log, project = self.log, self.project
        self._reading = project
        self._do(lambda: (project, log.stamp(project), _entries(log, project)), self._take_entries)

    def look(self) -> None:
        """Read again where another window has changed the runs."""
        if self.busy:
            return
        log, project = self.log, self.project

        def compare(stamp: object) -> None:
            if stamp != self._stamp or not self.is_current:
                self.load()

        self._do(lambda: log.stamp(project), compare)

    def add(self, reading: Reading) -> None:
        """Keep what was read."""
        log, project, runs = self.log, self.project, reading.runs

        def job() -> object:
            last = log.last_id(project)
            new = log.add(project, runs)
            entries = _entries(log, project)
            fresh = tuple(entries[bisect(ids_of(entries), last) :])
            return project, log.stamp(project), entries, fresh, len(runs) - new

        def done(found: Any) -> None:
            self._take_entries(found[:3])
            self.added.emit(found[3], found[4], reading)

        self._do(job, done)

    def bring_back(self, entries: Sequence[Entry]) -> None:
        """Keep runs again that were removed."""
        log, project, runs = self.log, self.project, [entry.run for entry in entries]

        def job() -> object:
            log.add(project, runs)
            return project, log.stamp(project), _entries(log, project)

        self._do(job, self._take_entries)

    def remove(self, entries: Sequence[Entry]) -> None:
        """Remove runs; ``removed`` tells them for a way back."""
        log, project, gone = self.log, self.project, tuple(entries)

        def job() -> object:
            log.remove(project, [entry.id for entry in gone])
            return project, log.stamp(project), _entries(log, project)

        def done(found: object) -> None:
            self._take_entries(found)
            self.removed.emit(gone)

        self._do(job, done)

    def take_along(self, old: Path | None, new: Path) -> None:
        """A scenario that has got a name, or another one, takes its runs along."""
        log, source, target = self.log, project_key(old), project_key(new)
        if source == target:
            return

        def job() -> object:
            log.copy(source, target)
            if not source:  # runs without a project go to the first that is named
                log.remove(source, ids_of(log.entries(source)))
            return None

        self._do(job, lambda _none: self.load() if self._read_of is not None else None)

    # -- one job after the other -----------------------------------------------------------------

    def _do(self, job: Job, done: Callable[[object], object]) -> None:
        self._queue.append((job, done))
        if not self._work.working:
            self._next()

    def _next(self) -> None:
        if self._queue:
            job = self._queue[0][0]

            def once() -> Iterator[object]:
                yield (job(),)

            self._result = None
            self._work.start(once)

    def _on_news(self, result: tuple[object]) -> None:
        self._result = result[0]

    def _on_ended(self) -> None:
        done = self._queue.pop(0)[1]
        done(self._result)
        self._result = None
        notes = tuple(self.log.notes[self._noted :])
        self._noted = len(self.log.notes)
        if notes:
            self.failed.emit(notes)
        if not self._work.working:
            self._next()

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        self._reading = None
        self._queue.pop(0)
        self.failed.emit(problems)
        if not self._work.working:
            self._next()

    def _take_entries(self, found: Any) -> None:
        project, stamp, entries = found
        if project != self.project:
            return  # of the project before
        self._read_of, self._stamp, self.entries = project, stamp, entries
        self.loaded.emit()

    def wait(self, seconds: float = 60.0) -> None:
        """Until the job under way has ended; its news comes with the next turn of the event loop."""
        self._work.wait(seconds)
