"""An editor for two numbers, the ends of a range: "1 … 64", "1K to 32K", "0.5-0.98"."""

import re

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from core.errors import InferometerError, Problem
from core.spec.base import FieldMeta
from core.units import editable, parse_quantity
from gui.fields.guards import belongs_to_window

_PARTS = re.compile(r"\s*(?:…|\.{2,}|–|—|\bto\b|(?<=[\w.])\s*-|;)\s*", re.IGNORECASE)


def read_range(text: str, unit: str) -> tuple[float, float] | None:
    """The two ends, rising; None for a text that does not say two different numbers."""
    parts = [part for part in _PARTS.split(text.strip()) if part]
    if len(parts) != 2:
        return None
    try:
        low, high = (parse_quantity(part, unit) for part in parts)
    except InferometerError:
        return None
    return (low, high) if low < high else None


def limited(ends: tuple[float, float], meta: FieldMeta) -> Problem | None:
    """What is wrong with a range of a field."""
    low, high = meta.minimum, meta.maximum
    if low is not None and ends[0] < low:
        return Problem("number.at_least", values={"low": editable(low, meta.unit), "high": ""})
    if high is not None and ends[1] > high:
        return Problem("number.at_most", values={"low": "", "high": editable(high, meta.unit)})
    return None


class RangeEdit(QLineEdit):
    """``chosen`` carries two ends; ``refused`` a text that is none, with the reason's problem or None."""

    chosen = Signal(float, float)
    refused = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._just_clicked = False
        self._meta = FieldMeta("", 0, "quantity", None, None)
        self._shown = ""
        self._marked = False
        self.setMaxLength(60)
        self.editingFinished.connect(self._finish)

    def show_range(self, text: str, meta: FieldMeta) -> None:
        """Show a range of a field."""
        self._meta, self._shown = meta, text
        if not (self.hasFocus() and self.isModified()):
            self._write()

    @property
    def marked(self) -> bool:
        """Whether the text is shown as refused."""
        return self._marked

    def _write(self) -> None:
        self.setText(self._shown)
        self.setModified(False)
        self._mark(False)

    def _mark(self, marked: bool) -> None:
        if marked != self._marked:
            self._marked = marked
            self.setProperty("invalid", marked)
            self.style().unpolish(self)
            self.style().polish(self)

    def _finish(self) -> None:
        if not self.isModified() or self.text() == self._shown:
            self._write()
            return
        ends = read_range(self.text(), self._meta.unit)
        problem = limited(ends, self._meta) if ends else None
        if ends is None or problem is not None:
            self._mark(True)
            self.refused.emit(problem)
            return
        self._mark(False)
        self.setModified(False)
        self._shown = self.text()
        self.chosen.emit(*ends)

    def event(self, event: QEvent) -> bool:
        """Undo and redo are the window's."""
        if belongs_to_window(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape takes back what was typed."""
        if event.key() == Qt.Key.Key_Escape and (self.isModified() or self._marked):
            self._write()
            self.refused.emit(None)
            self.selectAll()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Coming here selects all, so that what is typed replaces it; a second click sets the cursor."""
        super().focusInEvent(event)
        self._just_clicked = event.reason() == Qt.FocusReason.MouseFocusReason
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self.selectAll()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The click that brought the focus; a text that was drawn over stays selected."""
        super().mouseReleaseEvent(event)
        if self._just_clicked and not self.hasSelectedText():
            self.selectAll()
        self._just_clicked = False
