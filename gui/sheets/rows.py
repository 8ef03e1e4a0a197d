"""Rows of a sheet: a number that several layers share, a name, a plain fact."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from core.model.numbers import Number, can_change, values_of, with_number
from core.spec.base import FieldMeta
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.units import show_count
from core.words import Words
from gui.document import Document
from gui.fields.guards import belongs_to_window
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import FieldRow
from gui.forms.consequences import Changes, edited_model_changes
from gui.sheets.fact_table import Heading
from gui.sheets.sheet import Text
from gui.theme import theme

LABEL = 112
_MOST = 10**9
_STEPS: dict[Number, float] = {"layers": 1, "heads": 1, "kv_heads": 1, "experts": 1, "experts_per_token": 1}
Edited = Callable[[Model, Model], Model]  # the model before and after; gives the one to keep


class NumberRow(FieldRow):
    """One number of the model; an edit changes every layer that has it."""

    def __init__(self, document: Document, name: Number, words: Words, edited: Edited) -> None:
        self._name: Number = name
        editor = QuantityEdit(FieldMeta("", _STEPS.get(name, 64), "count", 1, _MOST), whole=True)
        super().__init__(document, f"numbers.{name}", words, editor, self._show_number, self._change)
        self._edited = edited
        editor.edited.connect(self.commit)
        editor.unreadable.connect(self.refuse)
        editor.left.connect(self.end_edit)
        editor.taken_back.connect(self.take_back)
        self.set_label_width(theme().px(LABEL))

    def _show_number(self, scenario: Scenario) -> None:
        arch = scenario.model.architecture
        values = values_of(arch, self._name)
        editor = self.editor
        assert isinstance(editor, QuantityEdit)
        changeable = can_change(arch, self._name)
        editor.setEnabled(changeable)
        if len(values) == 1:
            editor.set_value(values[0])
        else:
            editor.set_value(None)
            editor.setPlaceholderText(", ".join(show_count(v) for v in values[:3]))
        told = self._words(f"fields.numbers.{self._name}.help")
        editor.setToolTip(told if changeable else self._words("sheet.varies"))
        if not values or self.parentWidget() is not None:  # shown without a parent it were a window
            self.setVisible(bool(values))

    def _change(self, scenario: Scenario, value: object) -> Changes:
        assert isinstance(value, int)
        model = with_number(scenario.model, self._name, value)
        return edited_model_changes(scenario, self._edited(scenario.model, model))

    def take_back(self) -> None:
        """Escape: the model as it was before the typing began."""
        with self._own_edit():
            start = self._start or {"model": self._document.scenario.model}
            self._document.set_values(list(start.items()), self.path)
            self._start = {}
        self.show_problem("")
        self._accepted()
        self._show(self._document.scenario)


class NameEdit(QLineEdit):
    """A name; taken over when the editor is left or Enter is pressed."""

    def __init__(self, label: str, taken: Callable[[str], object], most: int) -> None:
        super().__init__()
        self._taken = taken
        self.setMaxLength(most)
        self.setAccessibleName(label)
        self.setAcceptDrops(False)
        self.editingFinished.connect(self._finish)

    def show_name(self, name: str) -> None:
        """Show the document's name, unless another is being typed."""
        if not (self.hasFocus() and self.isModified()) and name != self.text():
            self.setText(name)
            self.setCursorPosition(0)

    def _finish(self) -> None:
        if self.isModified() and self.text().strip():
            self.setModified(False)
            self._taken(self.text().strip())

    def event(self, event: QEvent) -> bool:
        """Undo and redo are the window's."""
        if belongs_to_window(event):
            event.ignore()
            return False
        return super().event(event)


class Labelled(QWidget):
    """A label and a widget on one line, as in the forms."""

    def __init__(self, label: str, widget: QWidget) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        text = Text("body", "ink2", label)
        text.setFixedWidth(theme().px(LABEL))
        row.addWidget(text)
        row.addWidget(widget, 1)


class Block(QWidget):
    """A heading and what belongs to it, closely set."""

    def __init__(self, title: str, widgets: Sequence[QWidget], width: int = 0) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        if title:
            column.addWidget(Heading(title))
            column.addSpacing(4)
        for widget in widgets:
            column.addWidget(widget)
        if width:
            self.setFixedWidth(theme().px(width))


def plain(text: str) -> QLabel:
    """Small print to read and to copy from."""
    label = Text("caption", "ink2", text, wrap=True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
