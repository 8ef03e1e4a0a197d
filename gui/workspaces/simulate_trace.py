"""The trace that a simulation reads: found beside the scenario, chosen, or dropped on the window."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

from core.errors import Problem
from core.files.user_folders import home_folder
from core.serving.trace import Trace
from core.serving.trace_load import load_changes
from core.spec.scenario import Scenario
from gui.opening.intake import local_paths
from gui.work.background import Work
from gui.work.measurements import TRACES
from gui.work.simulation import read_trace
from gui.workspaces.traces import remember_trace, trace_path

if TYPE_CHECKING:
    from gui.workspaces.registry import Context


class TraceKeeper(QObject):
    """``changed`` follows a trace that was read, and one that cannot be."""

    changed = Signal()

    def __init__(self, context: "Context", home: QWidget) -> None:
        super().__init__(home)
        self._context, self._home, self._words = context, home, context.words
        self.trace: Trace | None = None
        self.path: Path | None = None  # of the trace
        self._coming: Path | None = None  # what is being read
        self._chosen = False  # by a person, not found beside the scenario
        self._broken: Path | None = None  # what could not be read lies beside the scenario still
        self.reading = Work(self)
        self.reading.news.connect(self._on_trace)
        self.reading.failed.connect(self._on_failed)
        context.document.path_changed.connect(self._on_document)

    def watch(self, on: bool) -> None:
        """Take traces that are dropped on the window, or no more."""
        window = self._home.window()
        window.removeEventFilter(self)
        if on:
            window.installEventFilter(self)  # asked before the window's own, which came earlier

    def is_there(self, scenario: Scenario) -> bool:
        """Whether the trace that is named is read, and no other one is coming."""
        named = self.path is not None and self.path.name == scenario.simulation.trace
        return self.trace is not None and named and self._coming is None

    def find(self, scenario: Scenario) -> None:
        """Read the trace that is named where it lies beside the file; what a person chose comes first."""
        name = scenario.simulation.trace
        if self._coming is not None and (self._chosen or self._coming.name == name):
            return
        if self._coming is not None:
            self._stop()
        if self.is_there(scenario):
            return
        found = trace_path(self._context, scenario)
        if found is not None and found != self._broken:
            self._read(found, chosen=False)

    def missing(self, scenario: Scenario) -> tuple[str, str]:
        """What is needed, and why."""
        words, name = self._words, scenario.simulation.trace
        if self._coming is not None:
            return words("simulating.trace_reading", name=self._coming.name), ""
        why = words("simulating.trace_missing", name=name) if name else words("simulating.trace_needed_why")
        return words("simulating.trace_needed"), why

    def ask(self) -> None:
        """Let the person choose one."""
        home = self._context.document.path
        folder = (self.path or home or home_folder() / "x").parent
        self._context.dialogs.open_trace(self._home, folder, lambda path: self.read(path) if path else None)

    def read(self, path: Path) -> None:
        """Take the requests of a file that was chosen."""
        self._read(path, chosen=True)

    def _read(self, path: Path, chosen: bool) -> None:
        self._coming, self._chosen, self._broken = path, chosen, None
        self.reading.start(lambda: read_trace(path))
        self.changed.emit()

    def _stop(self) -> None:
        self.reading.stop()
        self._coming = None

    def _on_document(self, _path: Path | None) -> None:
        """Another scenario: its trace may have the name of the last one's."""
        if not self._context.document.undo_stack.count():
            self._stop()
            self.trace = self.path = self._broken = None
            remember_trace(self._context, None)
            self.changed.emit()

    def _on_trace(self, trace: Trace) -> None:
        path, before = self._coming, (self.trace, self.path)
        assert path is not None
        self._stop()
        self.trace, self.path = trace, path
        remember_trace(self._context, path)
        self._context.messages.drop("trace")
        if self._chosen and not self._named(path):
            self.trace, self.path = before
        self.changed.emit()

    def _named(self, path: Path) -> bool:
        """Name it in the scenario, or say why not."""
        document = self._context.document
        changes: list[tuple[str, object]] = [("simulation.trace", path.name)]
        simulation, trace = document.scenario.simulation, self.trace
        arrivals = simulation.arrivals == "trace" or not simulation.reads_trace
        if not simulation.reads_trace:
            changes.append(("simulation.arrivals", "trace"))
        if trace is not None:  # what is estimated and searched is what is replayed
            changes += load_changes(trace, arrivals).items()
        done = document.set_values(changes, "simulation.trace")
        if not done:
            refused = [document.refused[key] for key, _ in changes if key in document.refused]
            self._tell(path, self._words.problem(refused[0]) if refused else "")
        document.end_merge()
        return done

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        path = self._coming
        assert path is not None
        self._stop()
        self._broken = path
        self._tell(path, self._words.problem(problems[0]))
        self.changed.emit()

    def _tell(self, path: Path, reason: str) -> None:
        """Why a file is not taken."""
        messages, words = self._context.messages, self._words
        dismiss = (words("window.dismiss"), lambda: messages.drop("trace"))
        if path.name not in reason:
            reason = words("window.file_problem", name=path.name, reason=reason)
        messages.drop("file")  # one thing is opened at a time, and the last one is spoken of
        messages.tell("trace", "bad", reason, [dismiss], passing=True)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A trace that is dropped on the window is read here, anything else where it always is."""
        if event.type() != QEvent.Type.Drop or not isinstance(event, QDropEvent):
            return False
        paths = local_paths(event.mimeData())
        if len(paths) != 1 or paths[0].suffix.lower() not in TRACES:
            return False
        QTimer.singleShot(0, lambda: self.read(paths[0]))
        drops = getattr(watched, "drops", None)
        if drops is not None:
            drops.frame.hide()
        event.acceptProposedAction()
        return True
