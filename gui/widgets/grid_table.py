"""A painted table: a head in small print, rows between hairlines, one of them chosen."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QSizePolicy, QWidget

from gui.theme import Role, manager, theme
from gui.tips import plain
from gui.widgets import paint
from gui.widgets.cell_text import Writer
from gui.widgets.grid_paint import paint_cell
from gui.widgets.grid_widths import INDENT, indents, needed, placed

_HEAD = 30
MEASURED = 60  # rows that decide how wide a column is


@dataclass(frozen=True, slots=True)
class Column:
    """``width`` in px at 100 %; 0: as wide as its texts; ``stretch``: takes what is left."""

    title: str
    right: bool = False
    width: int = 0
    stretch: bool = False
    spare: int = 0  # goes where there is no room, the lowest number first; 0: stays
    end: str = ""  # at the right of the title, over intervals
    fixed: bool = False  # never wider than its texts
    least: int = 0  # px that a column that stretches keeps, where others can go; 0: the usual


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a role and a colour of the theme by name; ``after`` is small print behind it, ``short``
    what stands for the text where there is no room for it."""

    text: str = ""
    role: Role = "body"
    colour: str = "ink"
    after: str = ""
    icon: str = ""  # before the text
    icon_colour: str = "ink3"
    bar: float | None = None  # a share, in place of a text
    bar_colour: str = "curve"
    interval: tuple[float, float, float] | None = None  # ends and mark, -1 to 1, in place of a text
    tip: str = ""
    short: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line; ``spoken`` for screen readers."""

    cells: tuple[Cell, ...]
    spoken: str = ""
    key: object = field(default=None, compare=False)


class GridTable(QAbstractScrollArea):
    """``chosen`` carries the number of a row, ``opened`` one that was double-clicked or entered."""

    chosen = Signal(int)
    opened = Signal(int)

    def __init__(self, name: str, row: int = 28, selects: bool = True, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[Column, ...] = ()
        self._rows: Sequence[Row] = ()
        self._indents: list[int] = []
        self._widths: list[float] = []
        self._placed: list[float] = []
        self._after: list[float] = []  # of each column, so that its numbers stand below one another
        self._row_height = row
        self._selects = selects
        self._hovered = -1
        self._hint = QSize()
        self.current = -1
        self.empty = ""  # what is said in place of rows
        self.most_rows = 0  # 0: as high as there is room; else the height fits as many rows
        self.held_rows = 0  # room that is kept for as many of them
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if selects else Qt.FocusPolicy.NoFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self._measure)

    @property
    def rows(self) -> Sequence[Row]:
        """What is shown."""
        return self._rows

    def show_table(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Show other rows, which nobody changes later; the chosen number stays where there are as many.

        Rows may be made where they are asked for: all but the first are not before they come into sight.
        """
        columns, before = tuple(columns), self._rows
        if rows is before and columns == self._columns:
            return
        place = (self._columns, self._placed, self._after)
        self._columns, self._rows = columns, rows
        marked = self._hovered, self.current
        self._hovered, self.current = -1, min(self.current, len(rows) - 1)
        self._measure(paints=False)
        if place != (columns, self._placed, self._after) or not before or not rows:
            self.viewport().update()
            return
        for index in {*marked} - {self.current}:
            self._update_row(index)
        if self.current != marked[1]:
            self._update_row(self.current)
        self._update_changed(before)

    def _update_changed(self, before: Sequence[Row]) -> None:
        """Paint the cells in sight that are others than before, and no more: painting takes the longest."""
        shown, edges = self._in_sight(max(len(before), len(self._rows))), self._edges()
        for index in shown:
            if index >= len(before) or index >= len(self._rows):
                self._update_row(index)
                continue
            old, new = before[index].cells, self._rows[index].cells
            if old is new:
                continue
            for number, (one, other) in enumerate(zip(old, new, strict=True)):
                if one is not other and one != other and self._placed[number]:
                    self._update_row(index, edges[number], edges[number + 1])

    def _update_row(self, index: int, left: float = 0.0, right: float = 0.0) -> None:
        """Paint a row, or a part of it."""
        if index < 0:
            return
        if self.devicePixelRatioF() % 1:  # a row does not end where a pixel does
            self.viewport().update()
            return
        t = theme()
        top = t.px(_HEAD) + index * t.px(self._row_height) - self.verticalScrollBar().value()
        first, last = math.floor(left), math.ceil(right or self.viewport().width())
        self.viewport().update(QRect(first, top, last - first, t.px(self._row_height)))

    def _in_sight(self, count: int) -> range:
        """Numbers of the rows that are painted, of as many."""
        t = theme()
        head, row, shift = t.px(_HEAD), t.px(self._row_height), self.verticalScrollBar().value()
        # Not a sliver of one more.
        last = (shift + self.viewport().height() - head - row * 4 // 5) // row + 1
        return range(max(0, shift // row), min(count, last))

    def _edges(self) -> list[float]:
        """Where the columns begin, and where the last one ends."""
        return [0.0, *accumulate(self._placed)]

    def select(self, index: int) -> None:
        """Choose a row without telling anybody."""
        if index != self.current:
            self._update_row(self.current)
            self.current = index
            self._speak()
            self._update_row(index)

    def make_rows(self, first: int, within_s: float) -> int:
        """Make rows from ``first`` on, for so long; the number of the next one, that of all at the end."""
        end = time.perf_counter() + within_s
        while first < len(self._rows) and time.perf_counter() < end:
            _ = self._rows[first]  # made by being looked at
            first += 1
        return first

    def as_text(self) -> str:
        """The table with tabs between the cells."""
        lines = ["\t".join(c.title for c in self._columns)]
        lines += ["\t".join(c.text for c in row.cells) for row in self._rows]
        return "\n".join(lines)

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self, paints: bool = True) -> None:
        self._indents = indents(self._columns, self._selects)
        self._widths, self._after = needed(self._columns, self._rows[:MEASURED], self._indents)
        self._share()
        hint = self.sizeHint()
        if hint != self._hint:
            self._hint = hint
            self.updateGeometry()
        if paints:
            self.viewport().update()

    def _share(self) -> None:
        """The room of the columns, and how far the rows scroll."""
        self._placed = placed(self._columns, self._widths, self.viewport().width())
        high = len(self._rows) * theme().px(self._row_height)
        left = self.viewport().height() - theme().px(_HEAD)
        self.verticalScrollBar().setRange(0, max(0, high - left))
        self.verticalScrollBar().setPageStep(max(1, left))
        self.verticalScrollBar().setSingleStep(theme().px(self._row_height))

    def sizeHint(self) -> QSize:
        """As many rows as are wanted."""
        t = theme()
        few = min(max(len(self._rows), self.held_rows), self.most_rows)
        count = few if self.most_rows else max(3, len(self._rows))
        return QSize(400, t.px(_HEAD) + count * t.px(self._row_height) + 2)

    def minimumSizeHint(self) -> QSize:
        """All of the wanted rows where a number is set; else it scrolls."""
        t = theme()
        if self.most_rows:
            return QSize(200, self.sizeHint().height())
        return QSize(200, t.px(_HEAD) + 2 * t.px(self._row_height))

    def fix_height(self) -> None:
        """Be exactly as high as the wanted rows."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other widths."""
        super().resizeEvent(event)
        self._share()

    # -- pointer and keys ------------------------------------------------------------------------

    def _at(self, y: float) -> int:
        t = theme()
        if y < t.px(_HEAD):
            return -1
        index = int((y - t.px(_HEAD) + self.verticalScrollBar().value()) // t.px(self._row_height))
        return index if 0 <= index < len(self._rows) else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The row under the pointer is marked, and what its cell has to say more is the tip."""
        row = self._at(event.position().y())
        tip = plain(self._tip(row, event.position().x())) if row >= 0 else ""
        if tip != self.viewport().toolTip():
            self.viewport().setToolTip(tip)
        index = row if self._selects else -1
        self._hover(index)

    def leaveEvent(self, event: QEvent) -> None:
        """No row any more."""
        self._hover(-1)

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._update_row(self._hovered)
            self._hovered = index
            self._update_row(index)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose."""
        index = self._at(event.position().y())
        if self._selects and event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go(index)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Open."""
        index = self._at(event.position().y())
        if self._selects and index >= 0:
            self.opened.emit(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down choose, Enter opens."""
        key = Qt.Key(event.key())
        moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
        moves |= {Qt.Key.Key_Home: -len(self._rows), Qt.Key.Key_End: len(self._rows)}
        if self._selects and self._rows and key in moves:
            self._go(min(max(self.current + moves[key], 0), len(self._rows) - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            self.opened.emit(self.current)
        else:
            super().keyPressEvent(event)

    def _go(self, index: int) -> None:
        t = theme()
        self.current = index
        top, high = index * t.px(self._row_height), t.px(self._row_height)
        bar, room = self.verticalScrollBar(), self.viewport().height() - t.px(_HEAD)
        if top < bar.value():
            bar.setValue(top)
        elif top + high > bar.value() + room:
            bar.setValue(top + high - room)
        self._speak()
        self.viewport().update()
        self.chosen.emit(index)

    def _speak(self) -> None:
        if 0 <= self.current < len(self._rows):
            self.setAccessibleDescription(self._rows[self.current].spoken)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show which row is current."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """And none without."""
        super().focusOutEvent(event)
        self.viewport().update()

    def _tip(self, index: int, x: float) -> str:
        edge = 0.0
        for wide, cell in zip(self._placed, self._rows[index].cells, strict=True):
            if x < edge + wide:
                return cell.tip
            edge += wide
        return ""

    # -- painting --------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Rows in sight, then the head above them; only what is to be painted anew."""
        t = theme()
        head, row = t.px(_HEAD), t.px(self._row_height)
        shift = self.verticalScrollBar().value()
        width, high = self.viewport().width(), self.viewport().height()
        parts = [QRectF(part) for part in event.region()]  # type: ignore[attr-defined]
        with QPainter(self.viewport()) as painter:
            painter.fillRect(event.rect(), t.canvas)
            writer = Writer(painter)
            painter.setClipRect(0, head, width, high - head)
            for index in self._in_sight(len(self._rows)):
                box = QRectF(0, head + index * row - shift, width, row)
                inside = [part for part in parts if part.intersects(box)]
                if inside:
                    self._paint_row(writer, index, box, inside)
            painter.setClipping(False)
            if not self._rows:
                said = QRectF(INDENT if self._selects else 0, head + t.px(4), width, row)
                paint.text(painter, said, self.empty, t.font("body"), t.ink2)
            if event.rect().top() < head:
                self._paint_head(Writer(painter), width, head)

    def _paint_head(self, writer: Writer, width: float, head: float) -> None:
        t, x = theme(), 0.0
        for column, wide, after, indent in zip(
            self._columns, self._placed, self._after, self._indents, strict=True
        ):
            box = QRectF(x + indent, 0, wide - indent - (8 if column.right else 0) - after, head - 2)
            if wide > 16:
                writer.text(box, column.title, "caption", t.ink3, column.right)
                if column.end:
                    writer.text(box.adjusted(0, 0, -8, 0), column.end, "caption", t.ink3, right=True)
            x += wide
        paint.hairline(writer.painter, 0, head - 1, width, head - 1, t.line2)

    def _paint_row(self, writer: Writer, index: int, box: QRectF, parts: Sequence[QRectF]) -> None:
        t, painter = theme(), writer.painter
        chosen = self._selects and index == self.current
        ground = t.accent_soft if chosen else t.side if index == self._hovered else t.canvas
        painter.fillRect(box, ground)
        first, last = min(part.left() for part in parts), max(part.right() for part in parts)
        x, top, high = 0.0, box.top(), box.height()
        for column, cell, wide, after, indent in zip(
            self._columns, self._rows[index].cells, self._placed, self._after, self._indents, strict=True
        ):
            if wide > 16 and x < last and x + wide > first:
                inner = QRectF(x + indent, top, wide - indent - (8 if column.right else 0), high)
                paint_cell(writer, cell, inner, column.right, after)
            x += wide
        if chosen:
            painter.fillRect(QRectF(0, top, 2, high), t.accent)
            if t.name == "contrast" or self.hasFocus():
                paint.frame(painter, box, t.accent)
        paint.hairline(painter, 0, box.bottom() - 1, box.width(), box.bottom() - 1, t.line)
