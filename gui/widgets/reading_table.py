"""A short account of one point: names at the left, values at the right, whether targets are met."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.widgets import paint

_ROW = 28


@dataclass(frozen=True, slots=True)
class Line:
    """One row; ``state`` "meets", "misses", "bad" or ""."""

    name: str
    value: str
    state: str = ""
    key: str = ""  # of the number, where a click unfolds it


class ReadingTable(QWidget):
    """Rows of 28 px between hairlines.  ``chosen`` carries the key of a row and its lower edge on screen."""

    chosen = Signal(str, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: tuple[Line, ...] = ()
        self._marked = -1
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.updateGeometry)

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show other rows."""
        if tuple(lines) != self.lines:
            more = len(lines) != len(self.lines)
            self.lines = tuple(lines)
            leads = any(line.key for line in lines)
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus if leads else Qt.FocusPolicy.NoFocus)
            self.setAccessibleName("; ".join(f"{line.name}: {line.value}" for line in lines))
            if more:
                self.updateGeometry()
            self.update()

    # -- pointer and keys ------------------------------------------------------------------------

    def _mark(self, index: int) -> None:
        leads = 0 <= index < len(self.lines) and bool(self.lines[index].key)
        index = index if leads else -1
        if index != self._marked:
            self._marked = index
            self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
            told = f"{self.lines[index].name}: {self.lines[index].value}" if leads else ""
            self.setAccessibleDescription(told)
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A row that leads somewhere is marked."""
        self._mark(int(event.position().y() // theme().px(_ROW)))

    def leaveEvent(self, event: QEvent) -> None:
        """No row any more."""
        self._mark(-1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Unfold the row under the pointer."""
        self._mark(int(event.position().y() // theme().px(_ROW)))
        self._choose()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down walk over the rows that lead somewhere, Enter and Space unfold one."""
        places = [index for index, line in enumerate(self.lines) if line.key]
        key = event.key()
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and places:
            by = 1 if key == Qt.Key.Key_Down else -1
            now = places.index(self._marked) + by if self._marked in places else 0
            self._mark(places[min(max(now, 0), len(places) - 1)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """By keyboard the first row is marked."""
        super().focusInEvent(event)
        if event.reason() in paint.KEYBOARD and self._marked < 0:
            self._mark(next((i for i, line in enumerate(self.lines) if line.key), -1))

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Unmark."""
        super().focusOutEvent(event)
        self._mark(-1)

    def _choose(self) -> None:
        if 0 <= self._marked < len(self.lines):
            below = self.mapToGlobal(QPoint(0, theme().px(_ROW) * (self._marked + 1)))
            self.chosen.emit(self.lines[self._marked].key, below)

    def sizeHint(self) -> QSize:
        """As high as its rows."""
        return QSize(200, theme().px(_ROW) * len(self.lines) + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Rows."""
        t = theme()
        with QPainter(self) as painter:
            row, wide = t.px(_ROW), float(self.width())
            paint.hairline(painter, 0, 0, wide, 0, t.line2)
            for index, line in enumerate(self.lines):
                box = QRectF(0, index * row, wide, row)
                if index == self._marked:
                    painter.fillRect(box.adjusted(0, 1, 0, 0), t.side)
                colour = {"misses": t.warn, "bad": t.bad}.get(line.state, t.ink)
                used = paint.text(painter, box, line.value, t.font("body_medium"), colour, paint.RIGHT)
                if line.state:
                    size = t.px(12)
                    name = "tick" if line.state == "meets" else "cross"
                    at = QPointF(wide - used - size - 6, round(box.center().y() - size / 2))
                    icons.draw(painter, name, at, t.good if line.state == "meets" else colour, size)
                    used += size + 6
                room = box.adjusted(0, 0, -used - 10, 0)
                fits = paint.width(t.font("body"), line.name) <= room.width()
                paint.text(painter, room, line.name, t.font("body" if fits else "caption"), t.ink2)
                paint.hairline(painter, 0, box.bottom(), wide, box.bottom(), t.line)
