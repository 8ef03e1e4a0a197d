"""Measured runs, two lines each, with a box to tick; only what is in sight is asked for and painted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint

_ROW = 42
_BOX = 14
_SIDE = 16


@dataclass(frozen=True, slots=True)
class RunLine:
    """What a row says; ``state`` is a colour of the theme for the value."""

    title: str
    caption: str
    value: str = ""
    state: str = "ink2"


class RunList(QAbstractScrollArea):
    """Rows by number.  ``chosen`` carries one, ``ticked`` follows a tick, ``removed`` the key Delete."""

    chosen = Signal(int)
    ticked = Signal()
    removed = Signal()

    def __init__(self, name: str, line_of: Callable[[int], RunLine], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._line_of = line_of
        self._keys: Sequence[int] = ()
        self.ticks: set[int] = set()  # keys
        self.current = -1
        self._hovered = -1
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self._measure)

    def show_rows(self, keys: Sequence[int], more_to_come: bool = False) -> None:
        """Show a row for each key; ticks of runs that are gone go too, unless there are more to come."""
        self._keys = keys
        if self.ticks and not more_to_come:
            self.ticks &= set(keys)
        self.current = min(self.current, len(keys) - 1)
        self._hovered = -1
        self.viewport().setToolTip("")
        self._measure()

    def __len__(self) -> int:
        return len(self._keys)

    def line(self, row: int) -> RunLine:
        """What a row says."""
        return self._line_of(row)

    def select(self, row: int) -> None:
        """Choose a row without telling anybody."""
        if row != self.current:
            self.current = row
            self._reveal(row)
            self._speak()
            self.viewport().update()

    def tick(self, row: int, on: bool | None = None) -> None:
        """Tick a row, or take its tick away."""
        key = self._keys[row]
        wanted = key not in self.ticks if on is None else on
        (self.ticks.add if wanted else self.ticks.discard)(key)
        self._speak()
        self.viewport().update()
        self.ticked.emit()

    def tick_all(self, on: bool) -> None:
        """All of them, or none."""
        self.ticks = set(self._keys) if on else set()
        self.viewport().update()
        self.ticked.emit()

    def _measure(self) -> None:
        row, high = theme().px(_ROW), self.viewport().height()
        self.verticalScrollBar().setRange(0, max(0, len(self._keys) * row - high))
        self.verticalScrollBar().setPageStep(max(1, high))
        self.verticalScrollBar().setSingleStep(row)
        self.viewport().update()

    def sizeHint(self) -> QSize:
        """A few rows."""
        return QSize(200, theme().px(_ROW) * 4)

    def minimumSizeHint(self) -> QSize:
        """Two rows."""
        return QSize(120, theme().px(_ROW) * 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another height."""
        super().resizeEvent(event)
        self._measure()

    def _at(self, y: float) -> int:
        row = int((y + self.verticalScrollBar().value()) // theme().px(_ROW))
        return row if 0 <= row < len(self._keys) else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The row under the pointer is marked."""
        row = self._at(event.position().y())
        if row != self._hovered:
            self._hovered = row
            self.viewport().setToolTip(self._tip(row))
            self.viewport().update()

    def _tip(self, row: int) -> str:
        """The whole row, of which the list may have no room for all."""
        if row < 0:
            return ""
        line = self._line_of(row)
        return plain("\n".join(filter(None, (line.title, line.caption, line.value))))

    def leaveEvent(self, event: QEvent) -> None:
        """No row any more."""
        self._hovered = -1
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The box ticks, the rest chooses."""
        row = self._at(event.position().y())
        if event.button() != Qt.MouseButton.LeftButton or row < 0:
            return
        if event.position().x() < _SIDE + theme().px(_BOX) + 6:
            self.tick(row)
        else:
            self._go(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down choose, Space ticks, Ctrl+A ticks all, Delete removes."""
        key = Qt.Key(event.key())
        moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
        moves |= {Qt.Key.Key_Home: -len(self._keys), Qt.Key.Key_End: len(self._keys)}
        if not self._keys:
            super().keyPressEvent(event)
        elif key in moves:
            self._go(min(max(self.current + moves[key], 0), len(self._keys) - 1))
        elif key == Qt.Key.Key_Space and self.current >= 0:
            self.tick(self.current)
        elif key == Qt.Key.Key_A and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.tick_all(len(self.ticks) < len(self._keys))
        elif key == Qt.Key.Key_Delete:
            self.removed.emit()
        else:
            super().keyPressEvent(event)

    def _go(self, row: int) -> None:
        self.current = row
        self._reveal(row)
        self._speak()
        self.viewport().update()
        self.chosen.emit(row)

    def _reveal(self, row: int) -> None:
        if row < 0:
            return
        high, bar = theme().px(_ROW), self.verticalScrollBar()
        if row * high < bar.value():
            bar.setValue(row * high)
        elif (row + 1) * high > bar.value() + self.viewport().height():
            bar.setValue((row + 1) * high - self.viewport().height())

    def _speak(self) -> None:
        if 0 <= self.current < len(self._keys):
            line = self._line_of(self.current)
            self.setAccessibleDescription(" ".join(filter(None, (line.title, line.caption, line.value))))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show which row is current."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """And none without."""
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Rows in sight."""
        t = theme()
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), t.side)
            high, shift = t.px(_ROW), self.verticalScrollBar().value()
            first, last = shift // high, (shift + self.viewport().height()) // high + 1
            for row in range(max(0, first), min(len(self._keys), last)):
                self._paint(painter, row, QRectF(0, row * high - shift, self.viewport().width(), high))

    def _paint(self, painter: QPainter, row: int, box: QRectF) -> None:
        t, line = theme(), self._line_of(row)
        chosen = row == self.current
        if chosen or row == self._hovered:
            painter.fillRect(box, t.accent_soft if chosen else t.sunken)
        size = t.px(_BOX)
        tick = QRectF(_SIDE, round(box.top() + t.px(7)), size, size)
        on = self._keys[row] in self.ticks
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(t.accent if on else t.control, 1))
        painter.setBrush(t.accent if on else t.field)
        painter.drawRoundedRect(tick.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if on:
            icons.draw(painter, "tick", QPointF(tick.left() + 1, tick.top() + 1), t.on_accent, size - 2)
        left = tick.right() + 8
        first = QRectF(left, box.top() + t.px(4), box.width() - left - _SIDE, t.px(20))
        used = paint.text(
            painter, first, line.value, t.font("body_medium"), getattr(t, line.state), paint.RIGHT
        )
        paint.text(painter, first.adjusted(0, 0, -used - 8, 0), line.title, t.font("body"), t.ink)
        second = QRectF(left, box.top() + t.px(22), first.width(), t.px(16))
        paint.text(painter, second, line.caption, t.font("caption"), t.ink3)
        if chosen:
            painter.fillRect(QRectF(0, box.top(), 2, box.height()), t.accent)
            if self.hasFocus() or t.name == "contrast":
                paint.frame(painter, box, t.accent)
        paint.hairline(painter, _SIDE, box.bottom() - 1, box.width(), box.bottom() - 1, t.line)
