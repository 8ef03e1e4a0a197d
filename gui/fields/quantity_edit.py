"""An editor for one number: accepts what people type, shows its unit inside, steps with the arrows."""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QToolTip, QWidget

from core.errors import InferometerError, Problem
from core.spec.base import FieldMeta
from core.units import editable, parse_quantity, three_digits
from gui import icons
from gui.fields.guards import belongs_to_window
from gui.theme import manager, theme

Number = int | float | None


@dataclass(frozen=True)
class Reading:
    """What the text says: a value, or the problem with it."""

    value: Number
    problem: Problem | None = None


def read(text: str, meta: FieldMeta, whole: bool, optional: bool) -> Reading:
    """Read a text as a value of the field; whole numbers come back as int."""
    bare = text.strip().lstrip("≤≥<>=").strip()
    if not bare:
        return Reading(None, None if optional else Problem("number.missing"))
    try:
        value = parse_quantity(text, meta.unit)
    except InferometerError as error:
        return Reading(None, error.problems[0])
    if whole:
        if abs(value - round(value)) > 1e-9 * max(1.0, abs(value)):
            return Reading(None, Problem("number.whole"))
        value = round(value)
    return Reading(value, _range_problem(value, meta))


def _range_problem(value: float, meta: FieldMeta) -> Problem | None:
    low, high = meta.minimum, meta.maximum
    below = low is not None and value < low
    above = high is not None and value > high
    if not below and not above:
        return None
    limits = {"low": _limit(low), "high": _limit(high)}
    if low is None or high is None:
        return Problem("number.at_most" if low is None else "number.at_least", values=limits)
    return Problem("number.between", values=limits)


def _limit(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else three_digits(value)


class QuantityEdit(QLineEdit):
    """``edited`` carries a readable value while typing, ``unreadable`` the problem with the text.

    The text is put in order only when the editor is left; ``left`` says that an edit has ended.
    """

    edited = Signal(object)
    unreadable = Signal(object)
    left = Signal()
    taken_back = Signal()

    def __init__(
        self,
        meta: FieldMeta,
        *,
        whole: bool = False,
        optional: bool = False,
        prefix: str = "",
        unit: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._just_clicked = False
        self._meta = meta
        self._whole = whole
        self._optional = optional
        self._prefix = prefix
        self._unit = unit
        self._value: Number = None  # of the document
        self._marked = False
        self._warned = False
        self._changed_dot = False
        self.take_back_hint = ""  # says what a click on the icon of a refused text does
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setMaxLength(64)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textEdited.connect(self._read)
        self.returnPressed.connect(self._finish)
        manager.changed.connect(self._margins)
        self._margins()

    # -- value -----------------------------------------------------------------------------------

    @property
    def value(self) -> Number:
        """The document's value, as last set."""
        return self._value

    def set_value(self, value: Number) -> None:
        """Show the document's value.  What is being typed stays when it already says so."""
        same = value == self._value
        self._value = value
        if self._marked:
            return  # the refused text stays to be repaired
        if same and not self.isModified():
            return  # it stands there
        if self.hasFocus() and self.isModified():
            reading = read(self.text(), self._meta, self._whole, self._optional)
            if same or (reading.problem is None and reading.value == value):
                return
        self._write()

    def revert(self) -> None:
        """Drop what was typed and show the document's value."""
        self.mark("")
        self._write()

    def _write(self) -> None:
        text = self.text_of(self._value)
        if text != self.text():
            self.setText(text)
        self.setModified(False)

    def text_of(self, value: Number) -> str:
        """How a value reads when nobody is typing."""
        if value is None:
            return ""
        text = (
            f"{value:.2f}"
            if self._meta.unit == "1" and round(value, 2) == value
            else editable(value, self._meta.unit)
        )
        return f"{self._prefix} {text}".strip()

    # -- look ------------------------------------------------------------------------------------

    def mark(self, reason: str) -> None:
        """Show the text as refused; "" takes the mark away."""
        marked = bool(reason)
        if marked == self._marked:
            return
        self._marked = marked
        self.setProperty("invalid", marked)
        self.style().unpolish(self)
        self.style().polish(self)
        self._margins()

    @property
    def marked(self) -> bool:
        """Whether the text is shown as refused."""
        return self._marked

    def warn(self, reason: str) -> None:
        """Show the value as doubtful; "" takes the mark away."""
        if bool(reason) != self._warned:
            self._warned = bool(reason)
            self.setProperty("warned", self._warned)
            self.style().unpolish(self)
            self.style().polish(self)
            self._margins()

    def set_changed_dot(self, shown: bool) -> None:
        """A dot for a value that differs from its preset."""
        if shown != self._changed_dot:
            self._changed_dot = shown
            self._margins()

    def set_unit(self, unit: str) -> None:
        """The word at the right."""
        if unit != self._unit:
            self._unit = unit
            self._margins()

    def _margins(self) -> None:
        metrics = QFontMetricsF(theme().font("caption"))
        right = metrics.horizontalAdvance(self._unit) + 4 if self._unit else 0
        if self._marked:
            right = theme().px(20)
        elif self._warned:
            right += theme().px(18)
        elif self._changed_dot:
            right += 14
        self.setTextMargins(0, 0, round(right), 0)
        self.update()

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(120, theme().px(28))

    def minimumSizeHint(self) -> QSize:
        """May be narrow."""
        return QSize(48, theme().px(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The unit, the dot and the icon of a refused text over the plain editor."""
        super().paintEvent(event)
        t = theme()
        with QPainter(self) as painter:
            right = self.width() - 8.0
            if self._marked:
                icon = self._icon_box()
                icons.draw(painter, "circle_x", icon.topLeft(), t.bad, icon.width())
            else:
                if self._warned:
                    size = t.px(14)
                    at = QPointF(round(right - size + 1), round((self.height() - size) / 2))
                    icons.draw(painter, "warn", at, t.warn, size)
                    right -= size + 4
                elif self._changed_dot:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(t.accent)
                    painter.drawEllipse(QPointF(right - 3, self.height() / 2), 3, 3)
                    right -= 14
                if self._unit:
                    painter.setFont(t.font("caption"))
                    painter.setPen(t.ink3)
                    box = QRectF(0, 0, right, self.height())
                    painter.drawText(
                        box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._unit
                    )

    def _icon_box(self) -> QRectF:
        """Where the icon of a refused text stands."""
        size = theme().px(16)
        return QRectF(round(self.width() - 7.0 - size), round((self.height() - size) / 2), size, size)

    def _on_icon(self, at: QPointF) -> bool:
        return self._marked and self._icon_box().adjusted(-4, -6, 7, 6).contains(at)

    # -- typing ----------------------------------------------------------------------------------

    def _read(self, text: str) -> None:
        reading = read(text, self._meta, self._whole, self._optional)
        if reading.problem is None:
            self.edited.emit(reading.value)
        else:
            self.unreadable.emit(reading.problem)

    def reads_as(self, value: object) -> bool:
        """Whether the text says this value."""
        reading = read(self.text(), self._meta, self._whole, self._optional)
        return reading.problem is None and reading.value == value

    def _finish(self) -> None:
        if self._marked:
            self._read(self.text())  # it may be possible by now
        if not self._marked:
            self._write()
            self.selectAll()
        self.left.emit()

    def _step(self, by: float) -> None:
        step = self._meta.step
        if not step:
            return
        reading = read(self.text(), self._meta, self._whole, self._optional)
        start = reading.value if reading.problem is None and reading.value is not None else self._value
        if start is None:
            return
        value = round(start / step) * step + by * step if self._on_grid(start) else start + by * step
        if self._meta.minimum is not None:
            value = max(value, self._meta.minimum)
        if self._meta.maximum is not None:
            value = min(value, self._meta.maximum)
        value = round(value) if self._whole else round(value, 9)
        if value != start:
            self.setText(self.text_of(value))
            self.setModified(True)
            self.edited.emit(value)

    def _on_grid(self, value: float) -> bool:
        return abs(value / self._meta.step - round(value / self._meta.step)) < 1e-6

    def event(self, event: QEvent) -> bool:
        """Undo and redo are the window's."""
        if belongs_to_window(event):
            event.ignore()
            return False
        if isinstance(event, QHelpEvent) and self._on_icon(QPointF(event.pos())) and self.take_back_hint:
            QToolTip.showText(event.globalPos(), self.take_back_hint, self)
            return True
        return super().event(event)

    def _take_back(self) -> None:
        self.revert()
        self.unsetCursor()
        self.taken_back.emit()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The icon of a refused text takes it back."""
        if event.button() == Qt.MouseButton.LeftButton and self._on_icon(event.position()):
            self._take_back()
            self.selectAll()
            return
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A hand over the icon that can be pressed."""
        if self._on_icon(event.position()):
            self.setCursor(Qt.CursorShape.PointingHandCursor)
        elif self.cursor().shape() == Qt.CursorShape.PointingHandCursor:
            self.setCursor(Qt.CursorShape.IBeamCursor)
        super().mouseMoveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows step (tenfold with Shift), Escape takes back what was typed."""
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            tenfold = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            self._step(tenfold if key == Qt.Key.Key_Up else -tenfold)
            return
        if key == Qt.Key.Key_Escape and (self._marked or self.isModified()):
            self._take_back()
            return
        super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel steps only in the focused editor; elsewhere it scrolls the page."""
        delta = event.angleDelta().y()
        if not self.hasFocus() or not delta or not self._meta.step:
            event.ignore()
            return
        self._step(1 if delta > 0 else -1)
        event.accept()

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

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Put the text in order, unless it is refused: then it stays to be repaired."""
        super().focusOutEvent(event)
        if not self._marked:
            self._write()
        self.left.emit()
