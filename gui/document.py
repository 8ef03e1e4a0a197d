"""The one place that holds the scenario: immutable snapshots, revision, path, undo, clean mark."""

import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoStack

from core.errors import InferometerError, Problem
from core.files import scenario_file
from core.files.opening import open_document
from core.spec.change import with_value
from core.spec.checks import check
from core.spec.scenario import Scenario
from gui.commands import ChangeScenario

MERGE_REST_MS = 1000  # edits of one field further apart than this are undone one by one
_UNDO_LIMIT = 1000

# What a file looked like when it was last read or written: modification time in ns, size, and of a small
# one a sum of its content, since copies keep the time and some disks count it in seconds.
Stamp = tuple[int, ...]
_SMALL = 1 << 20


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a scenario comes from."""

    path: Path | None = None
    title: str = ""  # of a scenario without a file
    imported: bool = False  # the file is of a foreign kind, which saving must not write over
    stamp: Stamp | None = None


class Document(QObject):
    """A scenario under edit.

    ``changed(scenario, revision)`` follows every new scenario, whoever made it.  Values that cannot
    be are never taken over: ``rejected(problems)`` says why and ``refused`` remembers them by path.
    """

    changed = Signal(object, int)
    path_changed = Signal(object)
    saved_as = Signal(object, object)  # the file before, or None, and the one it was written to
    clean_changed = Signal(bool)
    rejected = Signal(object)
    refused_changed = Signal()

    def __init__(self, scenario: Scenario, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scenario = scenario
        self._revision = 0
        self._origin = Origin()
        self._refused: dict[str, Problem] = {}
        self._series = 0
        self._held = False  # a drag is one edit, rests and all
        self._subject = _subject_of(scenario)
        self.describe: Callable[[Scenario], str] = lambda s: s.model.name
        self.said: Callable[[str, Scenario], str] = lambda name, _scenario: name
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(_UNDO_LIMIT)
        self.undo_stack.cleanChanged.connect(self.clean_changed)
        self._rest = QTimer(self, singleShot=True, interval=MERGE_REST_MS)
        self._rest.timeout.connect(self.end_merge)

    # -- reading ---------------------------------------------------------------------------------

    @property
    def scenario(self) -> Scenario:
        """The scenario as it stands."""
        return self._scenario

    @property
    def revision(self) -> int:
        """Rises with every change; results carry the revision they belong to."""
        return self._revision

    @property
    def path(self) -> Path | None:
        """The file behind it, if any."""
        return self._origin.path

    @property
    def title(self) -> str:
        """Name for the window's title: of the file, or of what is estimated."""
        if self._origin.path is not None:
            return self._origin.path.name
        if _subject_of(self._scenario) != self._subject:
            return self.describe(self._scenario)  # its name says something else by now
        name = self._origin.title or self._scenario.name or self._scenario.model.name
        return self.said(name, self._scenario)  # its own names are in the language of the reader

    @property
    def origin(self) -> Origin:
        """Where the scenario comes from, and what its file looked like then."""
        return self._origin

    @property
    def imported(self) -> bool:
        """Whether the file is of a foreign kind, which saving must not write over."""
        return self._origin.imported

    @property
    def is_clean(self) -> bool:
        """Whether nothing would be lost by closing."""
        return self.undo_stack.isClean()

    @property
    def held(self) -> bool:
        """Whether a handle is being dragged."""
        return self._held

    @property
    def refused(self) -> Mapping[str, Problem]:
        """Values typed last that could not be taken over, by field path."""
        return self._refused

    # -- editing ---------------------------------------------------------------------------------

    def set_value(self, path: str, value: object) -> bool:
        """Set one field; one undoable edit, merged with the edit before it while typing goes on."""
        return self.set_values([(path, value)], path)

    def set_values(self, changes: Sequence[tuple[str, object]], text: str) -> bool:
        """Set several fields as one undoable edit; False when refused, and then nothing changed.

        ``text`` names the edit in the undo action: a field path, or a text key.
        """
        paths = tuple(path for path, _ in changes)
        try:
            new = self._with(changes)
        except InferometerError as error:
            return self._refuse(paths, error.problems)
        problems = _errors_added(self._scenario, new)
        if problems:
            return self._refuse(paths, problems)
        self._accept(paths)
        if new == self._scenario:
            return True
        self._push(new, text, (self._series, paths))
        return True

    def problems_with(self, changes: Sequence[tuple[str, object]]) -> tuple[Problem, ...]:
        """Why ``set_values`` would refuse; empty when it would not.  Nothing changes."""
        try:
            return _errors_added(self._scenario, self._with(changes))
        except InferometerError as error:
            return error.problems

    def _with(self, changes: Sequence[tuple[str, object]]) -> Scenario:
        new = self._scenario
        for path, value in changes:
            new = with_value(new, path, value)
        return new

    def refuse(self, path: str, problem: Problem) -> None:
        """An editor cannot read what was typed for ``path``; nothing changes, but it is known."""
        self._refuse((path,), (problem,))

    def accept(self, path: str) -> None:
        """What was refused for ``path`` has been repaired or taken back."""
        self._accept((path,))

    def replace(self, scenario: Scenario, text: str) -> None:
        """Put another scenario in as one undoable edit of its own."""
        self.end_merge()
        self._clear_refused()
        if scenario != self._scenario:
            self._push(scenario, text, None)

    def hold_merge(self) -> None:
        """A drag has begun: however long the hand rests, it is one edit until ``end_merge``."""
        self.end_merge()
        self._held = True

    def end_merge(self) -> None:
        """The next edit is undone by itself: the focus moved, Enter was pressed, a drag ended."""
        self._held = False
        self._rest.stop()
        self._series += 1

    def undo(self) -> None:
        """Take the last edit back."""
        self.end_merge()
        self._clear_refused()
        self.undo_stack.undo()

    def redo(self) -> None:
        """Do the edit again."""
        self.end_merge()
        self._clear_refused()
        self.undo_stack.redo()

    def put(self, scenario: Scenario) -> None:
        """Swap the scenario; for undo commands only."""
        if scenario is self._scenario:
            return
        self._scenario = scenario
        self._revision += 1
        self.changed.emit(scenario, self._revision)

    # -- files -----------------------------------------------------------------------------------

    def load(self, path: Path) -> tuple[Problem, ...]:
        """Open a file in place of what is here; returns what there is to say about an imported one.

        Raises InferometerError with everything left as it was.
        """
        stamp = stamp_of(path)
        opened = open_document(path)
        self.start(opened.scenario, Origin(path, "", opened.imported, stamp))
        return opened.notes

    def start(self, scenario: Scenario, origin: Origin) -> None:
        """Begin anew with a scenario that counts as unedited."""
        self.end_merge()
        self._clear_refused()
        self.undo_stack.clear()
        self.undo_stack.setClean()
        self._subject = _subject_of(scenario)
        self.put(scenario)
        self._set_origin(origin)

    def restore(self, scenario: Scenario, origin: Origin) -> None:
        """Begin anew with a scenario that is on no disk, whatever the undo stack says."""
        self.start(scenario, origin)
        self.undo_stack.resetClean()

    def save(self, path: Path) -> None:
        """Write the scenario to a file, which becomes its file.

        Raises InferometerError when the system refuses; the scenario then stays unsaved.
        """
        scenario_file.save(path, self._scenario)
        self.end_merge()
        self.undo_stack.setClean()
        before = self.path
        self._set_origin(Origin(path, stamp=stamp_of(path)))
        if before != path:
            self.saved_as.emit(before, path)

    def changed_on_disk(self) -> bool:
        """Whether another program wrote the file since it was read or written here."""
        now = stamp_of(self._origin.path)
        then = self._origin.stamp or ()
        return now is not None and (not then or any(a != b for a, b in zip(now, then, strict=False)))

    def gone_from_disk(self) -> bool:
        """Whether the file that was read or written here is there no more."""
        return self._origin.stamp is not None and stamp_of(self._origin.path) is None

    # -- inside ----------------------------------------------------------------------------------

    def _push(self, new: Scenario, text: str, series: object | None) -> None:
        last, old = self._last_of(series), self._scenario
        if last is None:
            self.undo_stack.push(ChangeScenario(self, old, new, text, series))
        else:
            self.put(new)
            last.takes_in(old, new)
            if last.isObsolete():
                self.undo_stack.undo()  # undoes nothing, takes it off
        if not self._held:
            self._rest.start()

    def _last_of(self, series: object | None) -> ChangeScenario | None:
        """The last edit if another of ``series`` belongs to it; none that the saved state ends with."""
        index = self.undo_stack.index()
        if series is None or index == 0 or self.undo_stack.isClean():
            return None
        last = self.undo_stack.command(index - 1)
        return last if isinstance(last, ChangeScenario) and last.series == series else None

    def _refuse(self, paths: tuple[str, ...], problems: Sequence[Problem]) -> bool:
        told = [path for path in paths if any(path in problem.paths for problem in problems)]
        for path in told or paths[-1:]:
            self._refused[path] = next((p for p in problems if path in p.paths), problems[0])
        self.rejected.emit(tuple(problems))
        self.refused_changed.emit()
        return False

    def _accept(self, paths: tuple[str, ...]) -> None:
        accepted = [path for path in paths if self._refused.pop(path, None) is not None]
        if accepted:
            self.refused_changed.emit()

    def _clear_refused(self) -> None:
        if self._refused:
            self._refused.clear()
            self.refused_changed.emit()

    def _set_origin(self, origin: Origin) -> None:
        self._origin = origin
        self.path_changed.emit(origin.path)


def _subject_of(scenario: Scenario) -> tuple[str, str, int]:
    """What a scenario's name is about."""
    return scenario.model.name, scenario.accelerator.name, scenario.deployment.accelerators


def _errors_added(old: Scenario, new: Scenario) -> tuple[Problem, ...]:
    """Errors of the new scenario that the old one did not have already.

    A file may come with an error; it must still be possible to repair it one field at a time.
    """
    errors = [p for p in check(new) if p.severity == "error"]
    if not errors:
        return ()
    before = {(p.code, p.paths) for p in check(old) if p.severity == "error"}
    return tuple(p for p in errors if (p.code, p.paths) not in before)


def stamp_of(path: Path | None) -> Stamp | None:
    """What a file looks like now; None without a file."""
    if path is None:
        return None
    try:
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size
        if status.st_size > _SMALL or not stat.S_ISREG(status.st_mode):
            return stamp
        with path.open("rb") as file:
            return (*stamp, zlib.crc32(file.read(_SMALL)))
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return None
