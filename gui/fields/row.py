"""One line of a form: label, editor, and below it the reason when a value is refused, or a remark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from core.errors import InferometerError, Problem
from core.spec.change import get_value
from core.spec.options import option_of
from core.spec.scenario import Scenario
from core.units import show_count, show_tokens
from core.words import Words
from gui.document import Document
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.search_edit import SearchEdit
from gui.theme import manager, theme
from gui.tips import plain

Changes = Callable[[Scenario, object], Sequence[tuple[str, object]]]
Show = Callable[[Scenario], None]
_NO_LIMIT = (1 << 24) - 1  # QWIDGETSIZE_MAX, which the binding does not have
Most = Callable[[Scenario], int | None]


class FieldRow(QWidget):
    """Binds one editor to one path of the document.

    ``show`` puts the scenario's value into the editor; ``changes`` turns a chosen value into the
    fields to set with it, as one undoable edit.
    """

    def __init__(
        self,
        document: Document,
        path: str,
        words: Words,
        editor: QWidget,
        show: Show,
        changes: Changes | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__()
        self.path = path
        self.editor = editor
        self._document = document
        self._words = words
        self._show = show
        self._changes = changes
        self._sending = False
        self._refusals: tuple[Problem, ...] = ()
        self._wanted: list[object] = []  # the value that the scenario did not admit, to be tried again
        self._start: dict[str, object] = {}  # what the edit under way has changed, as it was before
        self.most: Most | None = None  # the largest number that the rest of the scenario admits
        self._problem = ""
        self._note = ""  # what followed from the last edit
        self._warning = ""  # what speaks against a value that is taken all the same
        self._remark = ""  # what the tooltip adds
        self.label_for: Callable[[Scenario], str] | None = None  # where the name depends on the scenario
        self.why_not: Callable[[Scenario], str] | None = (
            None  # why there is nothing to set; "" where there is
        )
        name = words(f"fields.{path}.label")
        self.told = told = self._told_in(document.scenario)
        editor.setAccessibleName(name)
        editor.setAccessibleDescription(told)
        editor.setToolTip(told)
        editor.setObjectName(path)
        editor.setAcceptDrops(False)  # what is dropped is the window's
        editor.setAttribute(Qt.WidgetAttribute.WA_LayoutUsesWidgetRect)
        self.label = QLabel(name if label is None else label, self)
        self.label.setToolTip(told)
        self.label.setBuddy(editor)
        if not self.label.text():
            # Never shown here: before it has a parent it would lose its palette to the style sheet.
            self.label.hide()
        self.reason = QLabel(self)
        self.reason.setWordWrap(True)
        self.reason.setTextFormat(Qt.TextFormat.PlainText)
        self.reason.hide()
        self._fit_later = QTimer(self, singleShot=True, interval=0)
        self._fit_later.timeout.connect(self._fit_reason)
        self._try_later = QTimer(self, singleShot=True, interval=0)
        self._try_later.timeout.connect(self._try_again)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(3)
        column = 1 if self.label.text() else 0
        self._grid.addWidget(self.label, 0, 0)
        self._grid.addWidget(editor, 0, column, 1, 2 - column)
        self._grid.addWidget(self.reason, 1, column, 1, 2 - column)
        self._grid.setColumnStretch(1, 1)
        document.rejected.connect(self._on_rejected)
        document.refused_changed.connect(self._on_refused_changed)
        manager.changed.connect(self._restyle)
        self._restyle()
        self.refresh(document.scenario)

    # -- document → editor -----------------------------------------------------------------------

    def refresh(self, scenario: Scenario) -> None:
        """Show the scenario's value; a refused text stays until it is repaired or taken back."""
        if self.label_for is not None and self.label_for(scenario) != self.label.text():
            self.label.setText(self.label_for(scenario))
            self.editor.setAccessibleName(self.label.text())
        if self._told_in(scenario) != self.told:
            self.told = self._told_in(scenario)
            self.label.setToolTip(self.told)
            self._tell()
        if self.why_not is not None:
            reason = self.why_not(scenario)
            self.editor.setEnabled(not reason)
            self.show_remark(reason)
        if not self._sending:
            self._start = {}
            if self._wanted:  # after all rows have followed the scenario
                self._try_later.start()
        if not self._marked() or isinstance(self.editor, QuantityEdit):  # which keeps a marked text itself
            self._show(scenario)

    def show_problem(self, text: str) -> None:
        """Mark the editor and say why; "" takes both away."""
        self.editor.mark(text)  # type: ignore[attr-defined]
        self._problem = text
        self._tell()

    def show_note(self, text: str) -> None:
        """What an edit here has changed elsewhere, below the editor; "" takes it away."""
        if text != self._note:
            self._note = text
            self._tell()

    def show_warning(self, text: str) -> None:
        """Mark a value that is taken but that something speaks against; the tooltip says what."""
        if text != self._warning:
            self._warning = text
            self.editor.warn(text)  # type: ignore[attr-defined]
            self._tell()

    def show_remark(self, text: str) -> None:
        """A line that the tooltip adds to the field's help."""
        if text != self._remark:
            self._remark = text
            self._tell()

    @property
    def warning(self) -> str:
        """What speaks against the value; "" when nothing does."""
        return self._warning

    def _told_in(self, scenario: Scenario) -> str:
        """The field's help, with what the engine itself calls the setting."""
        told, (record, _, name) = self._words(f"fields.{self.path}.help"), self.path.partition(".")
        engine, key = scenario.engine, "fields.option_off" if name == "enforce_eager" else "fields.option"
        option = option_of(engine.name, name) if record == "engine" else ""
        slots = engine.separate_slots
        if self.path == "engine.max_model_len" and slots > 1:  # it is of them all, and Ollama's of each
            each = show_tokens(engine.longest_request)
            told = self._words(f"fields.{self.path}.help_slots", slots=show_count(slots), each=each)
            key = "fields.option_divided" if engine.name == "ollama" else key
        if not option:
            return told
        return self._words(
            key, help=told, engine=self._words(f"choices.engines.{engine.name}"), option=option
        )

    def _tell(self) -> None:
        told = self.told
        below = self._problem or self._note
        if below != self.reason.text():
            self.reason.setText(below)
            self.reason.setVisible(bool(below))
        self._colour_reason()
        self._fit_reason()
        if not isinstance(self.editor, SearchEdit):  # which shows its whole name there
            tip = "\n".join(line for line in (self._warning or told, self._remark) if line)
            self.editor.setToolTip(plain(tip))
        self.editor.setAccessibleDescription(self._problem or self._warning or told)
        self.updateGeometry()

    def _marked(self) -> bool:
        return bool(self.editor.marked)  # type: ignore[attr-defined]

    def _on_rejected(self, problems: Sequence[Problem]) -> None:
        if self._sending:
            self._refusals = tuple(problems)
            return
        known = self._document.refused.get(self.path)
        # A problem of another field's half-typed number is not this field's, even where it names it.
        if known is not None and any(known is problem for problem in problems):
            self.show_problem(self._words.problem(known))

    def _on_refused_changed(self) -> None:
        if self._marked() and not self._sending and self.path not in self._document.refused:
            self._wanted = []
            self.show_problem("")
            revert = getattr(self.editor, "revert", None)
            if revert is not None:
                revert()
            self._show(self._document.scenario)

    # -- editor → document -----------------------------------------------------------------------

    def commit(self, value: object) -> None:
        """Set the field to a value that an editor gives."""
        scenario = self._document.scenario
        try:
            changes = list(self._changes(scenario, value) if self._changes else [(self.path, value)])
        except InferometerError as error:
            self.refuse(error.problems[0])
            return
        before = {path: get_value(scenario, path) for path, _ in changes}
        refusals = self._send(changes)
        if refusals:
            self.refuse(next((p for p in refusals if self.path in p.paths), refusals[0]))
            self._wanted = [value]
        else:
            self._wanted = []
            self._start = {**before, **self._start}
            self.show_problem("")
            self._accepted()

    def _try_again(self) -> None:
        """The rest of the scenario has changed: take the refused value, or say what is wrong with it now."""
        if not self._wanted or not self._marked():
            return
        value = self._wanted[0]
        if isinstance(self.editor, QuantityEdit) and not self.editor.reads_as(value):
            return  # what stands there is another text by now
        scenario = self._document.scenario
        try:
            changes = list(self._changes(scenario, value) if self._changes else [(self.path, value)])
            problems = self._document.problems_with(changes)
        except InferometerError as error:
            problems = error.problems
        if not problems:
            self._document.end_merge()
            self.commit(value)
            self.end_edit()
            self._show(self._document.scenario)
            return
        mine = next((p for p in problems if self.path in p.paths), problems[0])
        if self._words.problem(mine) != self._problem:
            self.refuse(mine)
            self._wanted = [value]

    def _send(self, changes: list[tuple[str, object]]) -> tuple[Problem, ...]:
        """Hand changes to the document; the problems when it refuses them."""
        self._refusals = ()
        with self._own_edit():
            taken = self._document.set_values(changes, self.path)
        return () if taken else self._refusals

    def refuse(self, problem: Problem) -> None:
        """What stands in the editor cannot be: say why, and go back to where the typing began.

        "100K" is typed through 1, 10 and 100: none of these is what the person had.
        """
        self._wanted = []
        most = self.most(self._document.scenario) if self.most is not None else None
        if problem.code == "number.between" and most is not None:
            problem = replace(problem, values={**problem.values, "high": f"{most:,}"})
        self.show_problem(self._words.problem(problem))
        with self._own_edit():
            if self._start:
                self._document.set_values(list(self._start.items()), self.path)
                self._start = {}
            self._document.refuse(self.path, problem)

    def take_back(self) -> None:
        """Escape: everything as it was before the typing began."""
        with self._own_edit():
            start = self._start or {self.path: get_value(self._document.scenario, self.path)}
            self._document.set_values(list(start.items()), self.path)
            self._start = {}
        self._wanted = []
        self.show_problem("")
        self._accepted()
        self._show(self._document.scenario)

    def _accepted(self) -> None:
        """The edit may have set another path than the row's own."""
        with self._own_edit():
            self._document.accept(self.path)

    def end_edit(self) -> None:
        """The editor is left: what is typed next is another edit."""
        self._start = {}
        self._document.end_merge()

    @contextmanager
    def _own_edit(self) -> Iterator[None]:
        self._sending = True
        try:
            yield
        finally:
            self._sending = False

    # -- look ------------------------------------------------------------------------------------

    def set_label_width(self, width: int) -> None:
        """Width of the label column."""
        self.label.setFixedWidth(width)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The reason wraps anew, after the layout is through: inside it a new height crashes Qt."""
        super().resizeEvent(event)
        if self.reason.text() and event.size().width() != event.oldSize().width():
            self._fit_later.start()

    def _fit_reason(self) -> None:
        """Height for the wrapped text: layouts of fixed rows do not ask for it."""
        if self.reason.text():
            taken = self.label.width() + self._grid.horizontalSpacing() if self.label.text() else 0
            # A label never asks for less than its least height: the one of the last text must go first.
            self.reason.setMinimumHeight(0)
            self.reason.setMaximumHeight(_NO_LIMIT)
            self.reason.setFixedHeight(self.reason.heightForWidth(max(80, self.width() - taken)) + 3)

    def _restyle(self) -> None:
        t = theme()
        self.label.setFont(t.font("body"))
        self.reason.setFont(t.font("caption_medium"))
        _colour(self.label, t.ink2)
        self._colour_reason()
        self.label.setFixedHeight(t.px(28))
        self.editor.setFixedHeight(t.px(28))

    def _colour_reason(self) -> None:
        _colour(self.reason, theme().bad if self._problem else theme().ink2)


def _colour(label: QLabel, colour: QColor) -> None:
    palette = label.palette()
    if palette.color(palette.ColorRole.WindowText) != colour:
        palette.setColor(palette.ColorRole.WindowText, colour)
        label.setPalette(palette)
