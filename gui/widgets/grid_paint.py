"""How a cell of a table is painted."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui import icons
from gui.theme import theme
from gui.widgets.cell_text import Writer

if TYPE_CHECKING:
    from gui.widgets.grid_table import Cell


def paint_cell(writer: Writer, cell: "Cell", box: QRectF, right: bool, most: float) -> None:
    """A text with its mark and small print, a bar, or an interval."""
    if cell.bar is not None:
        _paint_bar(writer.painter, cell.bar, box, getattr(theme(), cell.bar_colour))
        return
    if cell.interval is not None:
        _paint_interval(writer.painter, cell.interval, box, getattr(theme(), cell.bar_colour))
        return
    if not (cell.text or cell.icon or cell.after):
        return
    t = theme()
    colour = getattr(t, cell.colour)
    if not (cell.icon or cell.after or cell.short):  # nothing but a text
        writer.text(
            box if not (right and most) else box.adjusted(0, 0, -most, 0), cell.text, cell.role, colour, right
        )
        return
    size, middle = t.px(14), round(box.center().y())
    after = writer.width("caption", cell.after) + 8 if cell.after else 0.0
    mark = size + 4 if cell.icon else 0
    if right:
        inner = box.adjusted(0, 0, -most, 0)
        used = writer.text(inner, cell.text, cell.role, colour, right=True)
        if cell.icon:
            at = QPointF(round(inner.right() - used - mark), middle - size / 2)
            icons.draw(writer.painter, cell.icon, at, getattr(t, cell.icon_colour), size)
        if cell.after:
            rest = QRectF(inner.right() + 8, box.top(), most, box.height())
            writer.text(rest, cell.after, "caption", t.ink3)
        return
    if cell.icon:
        at = QPointF(round(box.left()), middle - size / 2)
        icons.draw(writer.painter, cell.icon, at, getattr(t, cell.icon_colour), size)
    inner = box.adjusted(mark, 0, -after, 0)
    fits = not cell.short or writer.width(cell.role, cell.text) <= inner.width()
    used = writer.text(inner, cell.text if fits else cell.short, cell.role, colour)
    if cell.after:
        rest = box.adjusted(mark + used + 8, 0, 0, 0)
        writer.text(rest, cell.after, "caption", t.ink3)


def _paint_bar(painter: QPainter, share: float, box: QRectF, colour: QColor) -> None:
    """A share on its track."""
    t, middle = theme(), round(box.center().y())
    track = QRectF(box.left() + 6, middle - 3, box.width() - 12, 6)
    painter.fillRect(track, t.sunken if t.name != "contrast" else t.grid)
    full = QRectF(track.left(), track.top(), track.width() * min(1.0, max(0.0, share)), 6)
    painter.fillRect(full, colour)


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
