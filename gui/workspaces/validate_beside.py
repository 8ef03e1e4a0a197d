"""What stands beside the chosen run: its likely causes, or the lines of the log that it was read from."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QVBoxLayout, QWidget

from core.evidence.pairing import Pair
from core.evidence.run import Run
from core.words import Words, counted
from gui.fields.choice_edit import Choice
from gui.fields.segmented import Segmented
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.cause_list import CauseList
from gui.widgets.log_view import LogView
from gui.workspaces.plot_title import PlotTitle

_KINDS = ("causes", "log")


class Beside(QWidget):
    """A start-up log comes with its lines in sight; which of both is shown can be chosen where both are.

    ``tried`` and ``pointed`` carry the number of a cause.
    """

    tried = Signal(int)
    pointed = Signal(int)

    def __init__(self, words: Words) -> None:
        super().__init__()
        self._words = words
        self.shown = "causes"
        self._of_causes = ""
        self._run: Run | None = None
        self.title = PlotTitle("body_semibold", "ink", words("validating.causes.title"))
        self.caption = Text("caption", "ink3")
        self.switch = Segmented([Choice(kind, words(f"validating.beside.{kind}")) for kind in _KINDS])
        self.switch.setAccessibleName(words("validating.beside.title"))
        self.switch.chosen.connect(self.show_kind)
        self.causes = CauseList(words("validating.causes.title"))
        self.causes.tried.connect(self.tried)
        self.causes.pointed.connect(self.pointed)
        self.log = LogView(words("validating.log"))
        head, names = QHBoxLayout(), QVBoxLayout()
        head.setSpacing(8)
        names.setSpacing(4)  # as beside it
        names.addWidget(self.title)
        names.addWidget(self.caption)
        head.addLayout(names, 1)
        head.addWidget(self.switch)
        self._stack = QStackedLayout()
        self._stack.addWidget(self.causes)
        self._stack.addWidget(self.log)
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(head)
        column.addLayout(self._stack, 1)
        manager.changed.connect(self._restyle)
        self._restyle()
        self.show_run(None)

    def _restyle(self) -> None:
        t = theme()
        self._column.setSpacing(t.px(4))
        self.title.setFixedHeight(t.px(20))
        self.switch.setFixedSize(max(t.px(160), self.switch.wanted_width()), t.px(28))

    def show_run(self, pair: Pair | None) -> None:
        """The log of a run: in sight where the run is nothing but a start."""
        before, self._run = self._run, pair.run if pair is not None else None
        lines = pair.run.log if pair is not None else ()
        self.log.show_lines(lines)
        self.switch.setVisible(bool(lines))
        if self._run is not None and self._run is before:  # predicted anew: what was chosen stays
            return
        told = pair is not None and bool(pair.comparisons)  # else there is nothing that has causes
        self.show_kind("causes" if told or not lines else "log")

    def show_kind(self, kind: object) -> None:
        """Bring causes or log into sight."""
        self.shown = str(kind)
        self.switch.set_value(kind)
        self._stack.setCurrentIndex(_KINDS.index(self.shown))
        is_log = self.shown == "log"
        self.title.setText(self._words("validating.log" if is_log else "validating.causes.title"))
        self._say()

    def set_causes_of(self, name: str) -> None:
        """Whose causes these are."""
        self._of_causes = name
        self._say()

    def _say(self) -> None:
        said = self._of_causes
        if self.shown == "log" and self._run is not None:
            given = sum(bool(one.gave) for one in self._run.log)
            said = f"{self._run.origin.file} · {self._words.phrase(counted('validating.log_lines', given))}"
        self.caption.setText(said)

    def point_out(self, line: str) -> None:
        """Show where the log says a line of the ledger."""
        if line and any(line in one.gave for one in self.log.lines):
            self.show_kind("log")
            self.log.mark(line)
