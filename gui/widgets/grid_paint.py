"""How a cell of a table is painted."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui import icons
from gui.theme import theme
from gui.widgets import cell_text

if TYPE_CHECKING:
    from gui.widgets.grid_table import Cell


def paint_cell(painter: QPainter, cell: "Cell", box: QRectF, right: bool, most: float) -> None:
    """A text with its mark and small print, a bar, or an interval."""
    if not (cell.text or cell.icon or cell.after or cell.bar is not None or cell.interval is not None):
        return
    t = theme()
    middle = round(box.center().y())
    if cell.bar is not None:
        track = QRectF(box.left() + 6, middle - 3, box.width() - 12, 6)
        painter.fillRect(track, t.sunken if t.name != "contrast" else t.grid)
        full = QRectF(track.left(), track.top(), track.width() * min(1.0, max(0.0, cell.bar)), 6)
        painter.fillRect(full, getattr(t, cell.bar_colour))
        return
    if cell.interval is not None:
        _paint_interval(painter, cell.interval, box, getattr(t, cell.bar_colour))
        return
    size = t.px(14)
    after = cell_text.width("caption", cell.after) + 8 if cell.after else 0.0
    mark = size + 4 if cell.icon else 0
    colour = getattr(t, cell.colour)
    if right:
        inner = box.adjusted(0, 0, -most, 0)
        used = cell_text.text(painter, inner, cell.text, cell.role, colour, right=True)
        if cell.icon:
            at = QPointF(round(inner.right() - used - mark), middle - size / 2)
            icons.draw(painter, cell.icon, at, getattr(t, cell.icon_colour), size)
        if cell.after:
            rest = QRectF(inner.right() + 8, box.top(), most, box.height())
            cell_text.text(painter, rest, cell.after, "caption", t.ink3)
        return
    if cell.icon:
        at = QPointF(round(box.left()), middle - size / 2)
        icons.draw(painter, cell.icon, at, getattr(t, cell.icon_colour), size)
    inner = box.adjusted(mark, 0, -after, 0)
    fits = not cell.short or cell_text.width(cell.role, cell.text) <= inner.width()
    used = cell_text.text(painter, inner, cell.text if fits else cell.short, cell.role, colour)
    if cell.after:
        rest = box.adjusted(mark + used + 8, 0, 0, 0)
        cell_text.text(painter, rest, cell.after, "caption", t.ink3)


def _paint_interval(
    painter: QPainter, interval: tuple[float, float, float], box: QRectF, colour: QColor
) -> None:
    """A range with its middle, around a line at 0."""
    t, middle = theme(), round(box.center().y())
    half = box.width() / 2 - 8

    def x(value: float) -> float:
        return box.center().x() + min(1.0, max(-1.0, value)) * half

    low, mark, high = (x(value) for value in interval)
    painter.fillRect(QRectF(x(-1.0), middle, 2 * half, 1), t.line)
    painter.fillRect(QRectF(round(x(0.0)), middle - 10, 1, 20), t.control)
    painter.fillRect(QRectF(low, middle - 2, max(2.0, high - low), 4), t.control)
    painter.fillRect(QRectF(round(mark) - 1, middle - 6, 3, 12), colour)
