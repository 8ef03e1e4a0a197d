"""The trace that a simulation reads: found beside the scenario, chosen, or dropped on the window."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QWidget

from core.errors import Problem
from core.files.beside import beside
from core.files.user_folders import home_folder
from core.serving.trace import Trace
from core.spec.scenario import Scenario
from gui.opening.intake import local_paths
from gui.work.background import Work
from gui.work.measurements import TRACES
from gui.work.simulation import read_trace
from gui.workspaces.simulate_form import needs_trace

if TYPE_CHECKING:
    from gui.workspaces.registry import Context


class TraceKeeper(QObject):
    """``changed`` follows a trace that was read, and one that cannot be."""

    changed = Signal()

    def __init__(self, context: "Context", home: QWidget) -> None:
        super().__init__(home)
        self._context, self._home, self._words = context, home, context.words
        self.trace: Trace | None = None
        self.path: Path | None = None
        self.reading = Work(self)
        self.reading.news.connect(self._on_trace)
        self.reading.failed.connect(self._on_failed)

    def watch(self, on: bool) -> None:
        """Take traces that are dropped on the window, or no more."""
        window = self._home.window()
        window.removeEventFilter(self)
        if on:
            window.installEventFilter(self)  # asked before the window's own, which came earlier

    def is_there(self, scenario: Scenario) -> bool:
        """Whether the trace that is named is read; begins to read it where it lies beside the file."""
        name = scenario.simulation.trace
        if self.trace is not None and self.path is not None and self.path.name == name:
            return True
        home = self._context.document.path
        found = beside(home, name) if home is not None else None
        if found is not None and found != self.path:
            self.read(found)
        elif not self.reading.working:
            self.trace = None
        return False

    def missing(self, scenario: Scenario) -> tuple[str, str]:
        """What is needed, and why."""
        words, name = self._words, scenario.simulation.trace
        if self.reading.working and self.path is not None:
            return words("simulating.trace_reading", name=self.path.name), ""
        why = words("simulating.trace_missing", name=name) if name else words("simulating.trace_needed_why")
        return words("simulating.trace_needed"), why

    def ask(self) -> None:
        """Let the person choose one."""
        home = self._context.document.path
        folder = (self.path or home or home_folder() / "x").parent
        self._context.dialogs.open_trace(self._home, folder, lambda path: self.read(path) if path else None)

    def read(self, path: Path) -> None:
        """Take the requests of a file."""
        self.path = path
        self.reading.start(lambda: read_trace(path))
        self.changed.emit()

    def _on_trace(self, trace: Trace) -> None:
        assert self.path is not None
        self.trace = trace
        self._context.messages.drop("trace")
        document = self._context.document
        changes: list[tuple[str, object]] = [("simulation.trace", self.path.name)]
        if not needs_trace(document.scenario):
            changes.append(("simulation.arrivals", "trace"))
        document.set_values(changes, "simulation.trace")
        document.end_merge()
        self.reading.working = False
        self.changed.emit()

    def _on_failed(self, problems: tuple[Problem, ...]) -> None:
        messages, words = self._context.messages, self._words
        dismiss = (words("window.dismiss"), lambda: messages.drop("trace"))
        reason = words.problem(problems[0])
        if self.path is not None and self.path.name not in reason:
            reason = words("window.file_problem", name=self.path.name, reason=reason)
        messages.drop("file")  # one thing is opened at a time, and the last one is spoken of
        messages.tell("trace", "bad", reason, [dismiss], passing=True)
        self.path = None
        self.changed.emit()

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
