"""A short account of one point: names at the left, values at the right, whether targets are met."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
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


class ReadingTable(QWidget):
    """Rows of 28 px between hairlines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: tuple[Line, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.updateGeometry)

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show other rows."""
        if tuple(lines) != self.lines:
            more = len(lines) != len(self.lines)
            self.lines = tuple(lines)
            self.setAccessibleName("; ".join(f"{line.name}: {line.value}" for line in lines))
            if more:
                self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """As high as its rows."""
        return QSize(200, theme().px(_ROW) * len(self.lines) + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Rows."""
        t = theme()
        painter = QPainter(self)
        row, wide = t.px(_ROW), float(self.width())
        paint.hairline(painter, 0, 0, wide, 0, t.line2)
        for index, line in enumerate(self.lines):
            box = QRectF(0, index * row, wide, row)
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
        painter.end()
