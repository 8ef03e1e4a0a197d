"""Diagnose: what a slow service shows, placed between bound and estimate, and where to look."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.errors import Problem
from core.evidence.diagnose import OBSERVED, Diagnosis, Observed
from core.evidence.diagnosis_told import suspect_title
from core.evidence.pairing import Pair
from core.spec.base import FieldMeta
from core.spec.scenario import Scenario
from gui.contents import calibrate as content
from gui.contents.validate import run_title
from gui.fields.quantity_edit import Number, QuantityEdit
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.cause_list import CauseList, CauseText
from gui.widgets.grid_table import GridTable
from gui.widgets.link_button import LinkButton, flush
from gui.work.background import Work
from gui.work.validation import diagnosed
from gui.workspaces.parts import Ground

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

_UNITS: dict[Observed, tuple[str, float]] = {
    "time_to_first_token": ("ms", 1e-3),
    "time_per_output_token": ("ms", 1e-3),
    "output_throughput": ("tok/s", 1.0),
    "memory_used": ("GiB", 2.0**30),
}
_MOST = 1e9
_SHOWN = 6


class DiagnosePage(Ground):
    """``tried`` carries the changes of a what-if, its text, what comes of it, the pair if it is of one."""

    tried = Signal(object, object, object, object)

    def __init__(self, context: "Context", parent: QWidget | None = None) -> None:
        super().__init__("canvas", parent=parent)
        self._context, self._words = context, context.words
        words = self._words
        self.found: Diagnosis | None = None
        self.work = Work(self)
        self.work.news.connect(self._show)
        self.work.failed.connect(self._on_failed)
        self.values: dict[Observed, float] = {}
        self.edits: dict[Observed, QuantityEdit] = {}
        self._wrong: dict[Observed, str] = {}
        self._before: dict[Observed, Number] = {}  # what stood in a field before the typing began
        self._asked: Scenario | None = None  # what was found, or is looked for, is against
        self._pair: Pair | None = None  # that the observations are of
        self.of_run = False
        self.typed = False  # whether a person has changed what a run had
        form = self._form = QGridLayout()
        self.title = Text("body_semibold", "ink", words("validating.diagnose.title"))
        self.about = Text("caption", "ink3", words("validating.diagnose.about"), wrap=True)
        form.addWidget(self.title, 0, 0, 1, 2)
        form.addWidget(self.about, 1, 0, 1, 2)
        for row, figure in enumerate(OBSERVED, 2):
            unit, _ = _UNITS[figure]
            label = Text("body", "ink2", words(f"validating.diagnose.{figure}"))
            edit = self.edits[figure] = QuantityEdit(
                FieldMeta(unit if unit != "tok/s" else "", 0, "quantity", 1e-6, _MOST),
                optional=True,
                unit=unit,
            )
            edit.setAccessibleName(words(f"diagnose.figures.{figure}"))
            edit.edited.connect(lambda value, figure=figure: self._on_edit(figure, value))
            edit.unreadable.connect(lambda problem, figure=figure: self._on_wrong(figure, problem))
            edit.left.connect(lambda figure=figure: self._on_left(figure))
            edit.taken_back.connect(lambda figure=figure: self._on_taken_back(figure))
            edit.take_back_hint = words("forms.take_back")
            edit.returnPressed.connect(self.begin)
            label.setBuddy(edit)
            form.addWidget(label, row, 0)
            form.addWidget(edit, row, 1)
        self.go = QPushButton(words("validating.diagnose.go"))
        self.go.setProperty("kind", "primary")
        self.go.clicked.connect(lambda _=False: self.begin())
        self.symptoms = LinkButton(words("validating.diagnose.symptoms"))
        self.symptoms.clicked.connect(lambda _=False: context.shell().show_manual("symptoms"))
        form.addWidget(self.go, 6, 0, 1, 2, Qt.AlignmentFlag.AlignLeft)
        self.of = Text("caption", "ink3", wrap=True)
        self.switch = LinkButton()
        self.switch.clicked.connect(lambda _=False: self._switch())
        form.addWidget(self.of, 7, 0, 1, 2)
        form.addLayout(flush(self.switch), 8, 0, 1, 2)
        form.addLayout(flush(self.symptoms), 9, 0, 1, 2)
        form.setColumnStretch(1, 1)
        form.setRowStretch(10, 1)
        self._left = QWidget()
        self._left.setLayout(form)
        self.head = Text("body_semibold", "ink", words("validating.diagnose.placed"))
        self.table = GridTable(words("validating.diagnose.placed"), selects=False)
        self.table.fix_height()
        self.contrary = Text("body", "warn", wrap=True)
        self.sentences = Text("caption", "ink2", wrap=True)
        self.where = Text("body_semibold", "ink", words("diagnose.where.parts"), wrap=True)
        self.suspects = CauseList(words("diagnose.where.parts"))
        self.suspects.tried.connect(self._try)
        right = self._right = QVBoxLayout()
        for widget in (self.head, self.table, self.contrary, self.sentences, self.where):
            right.addWidget(widget)
        right.addWidget(self.suspects, 1)
        row_ = self._row = QHBoxLayout(self)
        row_.addWidget(self._left)
        row_.addLayout(right, 1)
        context.document.changed.connect(self._follow)
        manager.changed.connect(self._restyle)
        self._restyle()
        self._show(None)
        self._tell_of()

    def _restyle(self) -> None:
        t = theme()
        self._row.setContentsMargins(24, t.px(12), 24, t.px(12))
        self._row.setSpacing(t.px(32))
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(t.px(6))
        self._form.setHorizontalSpacing(t.px(12))
        self._left.setFixedWidth(t.px(280))
        self._right.setSpacing(t.px(6))
        self.where.setContentsMargins(0, t.px(10), 0, 0)

    def fill_from(self, pair: Pair | None) -> None:
        """Put in what a run has, to be placed against its own settings; nothing of the run before stays."""
        if pair is None:
            return
        run = pair.run
        found = {figure: run.figure(figure) for figure in OBSERVED}
        self.typed = False
        again = self._pair is not None and run is self._pair.run
        before = self.values
        self.values = {figure: value for figure, value in found.items() if value is not None}
        for figure, edit in self.edits.items():
            value = self.values.get(figure)
            edit.mark("")
            edit.set_value(None if value is None else float(f"{value / _UNITS[figure][1]:.4g}"))
        if not again or self.values != before:  # what was found is of other observations
            self._forget()
        self._wrong.clear()
        self._before.clear()
        self._say_wrong()
        own = self.of_run or not again  # who chose the scenario for this run keeps it
        self._pair, self.of_run = pair, own and pair.scenario is not None
        self._tell_of()

    def renew(self, pair: Pair | None) -> None:
        """The same run is predicted anew: what was found against its settings before holds no longer."""
        own = self._pair
        if own is None or pair is None or pair.run is not own.run or pair.scenario == own.scenario:
            return
        self._pair = pair
        self.of_run = self.of_run and pair.scenario is not None
        self._tell_of()
        if self.of_run and self.found is not None:
            self.begin()

    def _switch(self) -> None:
        self.of_run = not self.of_run
        self._tell_of()
        if self.found is not None:
            self.begin()

    def _tell_of(self) -> None:
        words, pair = self._words, self._pair
        known = pair is not None and pair.scenario is not None
        if self.of_run and pair is not None:
            self.of.setText(words("validating.diagnose.of_run", run=run_title(pair.run, words)))
        else:
            self.of.setText(words("validating.diagnose.of_scenario"))
        key = "use_scenario" if self.of_run else "use_run"
        self.switch.setText(words(f"validating.diagnose.{key}"))
        self.switch.setVisible(known)

    def _on_edit(self, figure: Observed, value: Number) -> None:
        self._before.setdefault(figure, self.edits[figure].value)
        self._take(figure, value)

    def _on_left(self, figure: Observed) -> None:
        if figure not in self._wrong:
            self._before.pop(figure, None)

    def _on_taken_back(self, figure: Observed) -> None:
        """Escape: what stood there before."""
        self._take(figure, self._before.pop(figure, self.edits[figure].value))

    def _take(self, figure: Observed, value: Number) -> None:
        self._wrong.pop(figure, None)
        self._say_wrong()
        self.typed = True
        edit = self.edits[figure]
        edit.mark("")
        edit.set_value(value)  # else leaving the field, or Return, would put back what stood there
        if value is None:
            self.values.pop(figure, None)
        else:
            self.values[figure] = float(value) * _UNITS[figure][1]
        if not self.values or self._wrong:
            self._forget()
        elif self.found is not None or self.work.working:
            self.begin()  # what was found is of other observations
        else:
            self._say_empty()

    def _forget(self) -> None:
        self._asked = None
        self.work.stop()
        self._show(None)

    def _on_wrong(self, figure: Observed, problem: Problem) -> None:
        self._before.setdefault(figure, self.edits[figure].value)
        self.values.pop(figure, None)
        self.typed = True
        self._wrong[figure] = self._words.problem(problem)
        self.edits[figure].mark(self._wrong[figure])
        self._forget()

    def begin(self) -> None:
        """Place what is observed."""
        if self._wrong:
            return
        scenario, values = self._context.document.scenario, dict(self.values)
        self._asked = scenario
        of = self._pair if self.of_run else None
        self.work.start(lambda: diagnosed(scenario, of, values))

    def _follow(self) -> None:
        """The scenario is another: what was found, or refused, is placed anew as soon as it is in sight."""
        asked = self._asked
        if asked is not None and self.isVisible() and asked != self._context.document.scenario:
            self.begin()

    def showEvent(self, event: QShowEvent) -> None:
        """The scenario may have become another out of sight."""
        super().showEvent(event)
        self._follow()

    def _said(self) -> str:
        placed = self.found.placed if self.found is not None else ()
        return "\n".join(self._words.phrase(one.sentence) for one in placed)

    def _say_wrong(self) -> None:
        text = next(iter(self._wrong.values()), "") or self._said()
        self.sentences.setText(text)
        self.sentences.setVisible(bool(text))

    def _on_failed(self, problems: Sequence[Problem]) -> None:
        self._show(None)
        self.sentences.setText(self._words.problem(problems[0]) if problems else "")
        self.sentences.setVisible(bool(problems))

    def _show(self, found: Diagnosis | None) -> None:
        self.found, words = found, self._words
        columns, rows = content.placed_table(found, words) if found is not None else ([], [])
        self.table.most_rows = max(1, len(rows))
        self.table.show_table(columns, rows)
        self.table.setVisible(bool(rows))
        self.table.updateGeometry()
        self.head.setVisible(found is not None)
        self.where.setVisible(found is not None and bool(found.suspects))
        if found is not None:
            self.where.setText(words.phrase(found.heading))
        contrary = [words.phrase(one) for one in found.contradictions] if found is not None else []
        self.contrary.setText("\n".join(contrary))
        self.contrary.setVisible(bool(contrary))
        self._say_wrong()
        if found is None:
            self._say_empty()
            return
        texts = [
            CauseText(
                suspect_title(one, words),
                tuple(content.suspect_notes(one, words)),
                one.share,
                words("validating.try") if one.what_if is not None else "",
            )
            for one in found.suspects[:_SHOWN]
        ]
        self.suspects.show_causes(texts, words("diagnose.none"))

    def _say_empty(self) -> None:
        """What is to be done before anything can be shown."""
        key = "ready" if self.values else "empty"
        self.suspects.show_causes((), self._words(f"validating.diagnose.{key}"))

    def _try(self, number: int) -> None:
        if self.found is None:
            return
        cause = self.found.suspects[number].what_if
        if cause is not None:
            of, words = self._pair if self.of_run else None, self._words
            text, effect = (lambda: words.phrase(cause.text)), (lambda: words.phrase(cause.evidence))
            self.tried.emit(cause.changes, text, effect, of)
