"""A painted table: a head in small print, rows between hairlines, one of them chosen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
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
from gui.widgets import cell_text, paint
from gui.widgets.grid_paint import paint_cell

_HEAD = 30
_PAD = 16
_LEAST = 196  # px of a column that stretches
_MEASURED = 60  # rows that decide how wide a column is
_BESIDE = 12  # more of it where the column before ends with numbers
_INDENT = 8  # of texts, where a chosen row has its ground; without one they stand on the edge
_MOST_STRETCH = 120  # px that a column takes of what is left, before all take their part


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
        self._rows: tuple[Row, ...] = ()
        self._widths: list[float] = []
        self._after: list[float] = []  # of each column, so that its numbers stand below one another
        self._row_height = row
        self._selects = selects
        self._hovered = -1
        self.current = -1
        self.empty = ""  # what is said in place of rows
        self.most_rows = 0  # 0: as high as there is room; else the height fits as many rows
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if selects else Qt.FocusPolicy.NoFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self._measure)

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown."""
        return self._rows

    def show_table(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Show other rows; the chosen number stays where there are as many."""
        if tuple(columns) == self._columns and tuple(rows) == self._rows:
            self._rows = tuple(rows)
            return
        same = tuple(columns) == self._columns and len(rows) >= _MEASURED
        same = same and self._rows[:_MEASURED] == tuple(rows[:_MEASURED])
        self._columns, self._rows = tuple(columns), tuple(rows)
        if same and self.verticalScrollBar().value() == 0:  # what is in sight is the same
            self._share()
            return
        self.current = min(self.current, len(rows) - 1)
        self._hovered = -1
        self._measure()

    def select(self, index: int) -> None:
        """Choose a row without telling anybody."""
        if index != self.current:
            self.current = index
            self._speak()
            self.viewport().update()

    def as_text(self) -> str:
        """The table with tabs between the cells."""
        lines = ["\t".join(c.title for c in self._columns)]
        lines += ["\t".join(c.text for c in row.cells) for row in self._rows]
        return "\n".join(lines)

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self) -> None:
        t = theme()
        self._widths, self._after = [], []
        for index, column in enumerate(self._columns):
            cells = [row.cells[index] for row in self._rows[:_MEASURED]]
            small = [cell_text.width("caption", cell.after) + 8 if cell.after else 0.0 for cell in cells]
            most = max(small, default=0.0) if column.right else 0.0
            self._after.append(most)
            if column.width:
                self._widths.append(float(t.px(column.width)))
                continue
            wide = cell_text.width("caption", column.title)
            for cell, after in zip(cells, small, strict=True):
                mark = t.px(14) + 4 if cell.icon else 0.0
                wide = max(wide, cell_text.width(cell.role, cell.text) + max(after, most) + mark)
            self._widths.append(wide + _PAD + self._indent(index) - (0 if column.right else _INDENT))
        self._share()
        self.updateGeometry()
        self.viewport().update()

    def _share(self) -> None:
        """What is left goes to the columns that stretch; what is missing is taken from them first."""
        widths = list(self._widths)
        room = self.viewport().width()
        spare = [(column.spare, index) for index, column in enumerate(self._columns) if column.spare]
        for _, index in sorted(spare):
            if sum(widths) - self._slack() > room:
                widths[index] = 0.0
        over = room - sum(widths)
        stretched = [i for i, c in enumerate(self._columns) if c.stretch]
        self._placed = widths
        last = bool(stretched) and stretched[-1] == len(widths) - 1 and not self._columns[-1].right
        taken = over if last else min(over, theme().px(_MOST_STRETCH) * len(stretched))
        for index in stretched:
            self._placed[index] = max(float(theme().px(48)), self._placed[index] + taken / len(stretched))
        shown = [i for i, wide in enumerate(widths) if wide and not self._columns[i].fixed]
        for index in shown if over > taken and stretched else ():  # what lies far apart is not read together
            self._placed[index] += (over - taken) / len(shown)
        high = len(self._rows) * theme().px(self._row_height)
        left = self.viewport().height() - theme().px(_HEAD)
        self.verticalScrollBar().setRange(0, max(0, high - left))
        self.verticalScrollBar().setPageStep(max(1, left))
        self.verticalScrollBar().setSingleStep(theme().px(self._row_height))

    def _slack(self) -> float:
        """What the columns that stretch can do without."""
        px = theme().px
        pairs = [
            (wide, px(c.least or _LEAST))
            for c, wide in zip(self._columns, self._widths, strict=True)
            if c.stretch
        ]
        return sum(max(0.0, wide - least) for wide, least in pairs)

    def sizeHint(self) -> QSize:
        """As many rows as are wanted."""
        t = theme()
        count = min(len(self._rows), self.most_rows) if self.most_rows else max(3, len(self._rows))
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
        if index != self._hovered:
            self._hovered = index
            self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        """No row any more."""
        self._hovered = -1
        self.viewport().update()

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
        """Rows in sight, then the head above them."""
        t = theme()
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), t.canvas)
            head, row = t.px(_HEAD), t.px(self._row_height)
            width, high = self.viewport().width(), self.viewport().height()
            shift = self.verticalScrollBar().value()
            painter.setClipRect(0, head, width, high - head)
            last = (shift + high - head - row * 4 // 5) // row + 1  # not a sliver of one more
            for index in range(max(0, shift // row), min(len(self._rows), last)):
                self._paint_row(painter, index, QRectF(0, head + index * row - shift, width, row))
            painter.setClipping(False)
            if not self._rows:
                said = QRectF(_INDENT if self._selects else 0, head + t.px(4), width, row)
                paint.text(painter, said, self.empty, t.font("body"), t.ink2)
            x = 0.0
            for index, (wide, column, after) in enumerate(
                zip(self._placed, self._columns, self._after, strict=True)
            ):
                indent = self._indent(index)
                box = QRectF(x + indent, 0, wide - indent - (8 if column.right else 0) - after, head - 2)
                if wide > 16:
                    cell_text.text(painter, box, column.title, "caption", t.ink3, column.right)
                    if column.end:
                        end = box.adjusted(0, 0, -8, 0)
                        cell_text.text(painter, end, column.end, "caption", t.ink3, right=True)
                x += wide
            paint.hairline(painter, 0, head - 1, width, head - 1, t.line2)

    def _paint_row(self, painter: QPainter, index: int, box: QRectF) -> None:
        t = theme()
        chosen = self._selects and index == self.current
        ground = t.accent_soft if chosen else t.side if index == self._hovered else t.canvas
        painter.fillRect(box, ground)
        x = 0.0
        for number, cell in enumerate(self._rows[index].cells):
            wide, indent, right = self._placed[number], self._indent(number), self._columns[number].right
            inner = QRectF(x + indent, box.top(), wide - indent - (8 if right else 0), box.height())
            if wide > 16:
                paint_cell(painter, cell, inner, right, self._after[number])
            x += wide
        if chosen:
            painter.fillRect(QRectF(0, box.top(), 2, box.height()), t.accent)
            if t.name == "contrast" or self.hasFocus():
                paint.frame(painter, box, t.accent)
        paint.hairline(painter, 0, box.bottom() - 1, box.width(), box.bottom() - 1, t.line)

    def _indent(self, index: int) -> int:
        """Left of the texts of a column; more beside numbers that end there."""
        if self._columns[index].right or (index == 0 and not self._selects):
            return 0
        return _INDENT + (_BESIDE if index and self._columns[index - 1].right else 0)
