"""The table of a comparison: inputs and results in rows, a column for each scenario and its distance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from core.planning.compare import Row
from core.words import Words
from gui import icons
from gui.contents.compare import cell_text, row_name
from gui.theme import Role, manager, theme
from gui.tips import plain
from gui.widgets import paint
from gui.widgets.series_card import letter_plate

_ROW, _HEAD = 28, 30
_OFF_BAR = 8
_PAD = 14
_NAME_LEAST, _NAME_MOST = 132, 230
_VALUE_LEAST = 72
_VALUE_MOST = 320  # of a column with its change, where the table is wide
_ICON = 12


@dataclass(frozen=True, slots=True)
class _Line:
    """A heading or a row with its texts."""

    title: str
    row: Row | None = None
    texts: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


COST = "cost_per_million_tokens"
# Numbers of the table whose working ends under another name.
_WORKINGS = {
    "needed": "memory_per_device",
    "budget": "concurrent_users",
    "power": "energy_per_token",
    "energy": "energy_per_token",
    "per_hour": COST,
    "per_million": COST,
}


def number_of(section: str, key: str) -> str:
    """Key of a row among the derivations; "" where it is an input."""
    if section == "results":
        return key
    if section == "memory":
        return _WORKINGS.get(key, f"ledger.{key}")
    return _WORKINGS.get(key, "") if section == "cost" else ""


class DifferenceTable(QAbstractScrollArea):
    """600 marks what differs from the baseline.

    ``chosen`` carries the key of a row of inputs; ``unfolded`` the key of a number, its column and the
    place below it on screen.
    """

    chosen = Signal(str)
    unfolded = Signal(str, int, QPoint)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._lines: list[_Line] = []
        self._letters: tuple[str, ...] = ()
        self._baseline = 0
        self._names = 0.0
        self._least: list[float] = []  # widths of the values that show everything
        self._values: list[float] = []  # with their share of the room that is left
        self._changes: list[float] = []
        self._hovered = -1
        self.current = -1
        self.empty = ""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(words("compare.what_differs"))
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self._measure)

    def show_rows(self, rows: Sequence[Row], letters: Sequence[str], baseline: int, empty: str = "") -> None:
        """Show a table; ``empty`` is said where there are no rows."""
        words = self._words
        lines: list[_Line] = []
        section = ""
        for row in rows:
            if row.section != section:
                section = row.section
                lines.append(_Line(words(f"compare.sections.{section}")))
            texts = tuple(cell_text(cell.shown, words) for cell in row.cells)
            changes = tuple(words.phrase(said) if (said := cell.change_said) else "" for cell in row.cells)
            lines.append(_Line(row_name(row, words), row, texts, changes))
        self._lines, self._letters, self._baseline, self.empty = lines, tuple(letters), baseline, empty
        self.current = min(self.current, len(lines) - 1)
        self._measure()

    def rows(self) -> list[Row]:
        """The rows in sight, without headings."""
        return [line.row for line in self._lines if line.row is not None]

    # -- measures --------------------------------------------------------------------------------

    def _measure(self) -> None:
        t = theme()
        rows = [line for line in self._lines if line.row is not None]
        names = max([paint.width(t.font("body"), line.title) for line in rows], default=0.0)
        self._names = min(max(names + 16, t.px(_NAME_LEAST)), t.px(_NAME_MOST))
        self._least, self._changes = [], []
        for index in range(len(self._letters)):
            values = [paint.width(t.font("body_semibold"), line.texts[index]) for line in rows]
            marked = any(line.row is not None and line.row.cells[index].state for line in rows)
            icon = t.px(_ICON) + 6 if marked else 0
            self._least.append(max([*values, t.px(_VALUE_LEAST) - icon]) + icon + _PAD)
            changes = [paint.width(t.font("caption"), line.changes[index]) for line in rows]
            widest = max(changes, default=0.0)
            self._changes.append(max(widest, t.px(34)) + 10 if index != self._baseline and widest else 0.0)
        self._set_bars()
        self.viewport().update()

    def wanted_width(self) -> int:
        """Pixels that show everything, beside a bar for the rows."""
        return self._content() + theme().px(_OFF_BAR) + self.verticalScrollBar().sizeHint().width()

    def _content(self) -> int:
        """Pixels that the columns take at least."""
        return round(self._names + sum(self._least) + sum(self._changes))

    def _spread(self, room: float) -> None:
        """Give what is left of the width to the narrow columns first, until all are as wide."""
        widths = [a + b for a, b in zip(self._least, self._changes, strict=True)]
        level, most = 0.0, room - self._names
        for taken, width in enumerate(sorted(widths, reverse=True)):
            level = (most - sum(sorted(widths, reverse=True)[:taken])) / (len(widths) - taken)
            if width <= level:
                break
        self._values = [
            least + max(0.0, math.floor(min(level, theme().px(_VALUE_MOST)) - width))
            for least, width in zip(self._least, widths, strict=True)
        ]

    def _set_bars(self) -> None:
        t = theme()
        room = self.viewport().size()
        high = t.px(_HEAD) + len(self._lines) * t.px(_ROW)
        self.verticalScrollBar().setRange(0, max(0, high - room.height()))
        self.verticalScrollBar().setPageStep(room.height())
        self.verticalScrollBar().setSingleStep(t.px(_ROW))
        # The last column keeps off the bar beside it.
        across = room.width() - (t.px(_OFF_BAR) if high > room.height() else 0)
        self._spread(across)
        self.horizontalScrollBar().setRange(0, max(0, self._content() - across))
        self.horizontalScrollBar().setPageStep(across)
        self.horizontalScrollBar().setSingleStep(t.px(24))

    def sizeHint(self) -> QSize:
        """All columns, and a few rows."""
        return QSize(self.wanted_width(), theme().px(_HEAD + 12 * _ROW))

    def minimumSizeHint(self) -> QSize:
        """It scrolls."""
        return QSize(theme().px(260), theme().px(_HEAD + 3 * _ROW))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other scroll ranges."""
        super().resizeEvent(event)
        self._set_bars()

    # -- pointer and keys ------------------------------------------------------------------------

    def _at(self, y: float) -> int:
        t = theme()
        if y < t.px(_HEAD):
            return -1
        index = int((y - t.px(_HEAD) + self.verticalScrollBar().value()) // t.px(_ROW))
        return index if 0 <= index < len(self._lines) and self._lines[index].row is not None else -1

    def _is_input(self, index: int) -> bool:
        line = self._lines[index] if 0 <= index < len(self._lines) else None
        return line is not None and line.row is not None and line.row.section == "inputs"

    def column_at(self, x: float) -> int:
        """The scenario whose values stand there; -1 over the names."""
        edge = self._names - self.horizontalScrollBar().value()
        if x < self._names:
            return -1
        for index in range(len(self._letters)):
            edge += self._values[index] + self._changes[index]
            if x < edge:
                return index
        return -1

    def _number(self, index: int) -> str:
        """Key of the number of a row among the derivations, "" for none."""
        row = self._lines[index].row if 0 <= index < len(self._lines) else None
        return "" if row is None else number_of(row.section, row.key)

    def _unfold(self, column: int) -> None:
        """The working of the current row's number in a column."""
        key = self._number(self.current)
        if key and 0 <= column < len(self._letters):
            t = theme()
            x = self._names - self.horizontalScrollBar().value() + sum(self._values[:column])
            x += sum(self._changes[:column])
            y = t.px(_HEAD) + (self.current + 1) * t.px(_ROW) - self.verticalScrollBar().value()
            self.unfolded.emit(key, column, self.viewport().mapToGlobal(QPoint(round(x), round(y))))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The row under the pointer is marked."""
        index = self._at(event.position().y())
        leads = self._is_input(index) or (self.column_at(event.position().x()) >= 0 and self._number(index))
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
        if index != self._hovered:
            self._hovered = index
            self.viewport().setToolTip(plain(self.told_at(event.position().y())))
            self.viewport().update()

    def told_at(self, y: float) -> str:
        """What the numbers of a row rest on; "" where its name says it all."""
        index = self._at(y)
        row = self._lines[index].row if index >= 0 else None
        return self._words.phrase(row.told) if row is not None and row.told is not None else ""

    def leaveEvent(self, event: object) -> None:
        """No row any more."""
        self._hovered = -1
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """An input goes to its field, a number unfolds."""
        index = self._at(event.position().y())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0:
            self._go(index)
            if self._is_input(index):
                self._choose()
            else:
                self._unfold(self.column_at(event.position().x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down choose a row; Enter goes to its field, or unfolds its number, of the letter typed."""
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
        key = Qt.Key(event.key())
        if key in steps and self._lines:
            self._step(steps[key])
        elif key in (Qt.Key.Key_Home, Qt.Key.Key_End) and self._lines:
            self._step(-len(self._lines) if key == Qt.Key.Key_Home else len(self._lines))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._is_input(self.current):
            self._choose()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._unfold(0)
        elif event.text().upper() in self._letters and self._number(self.current):
            self._unfold(self._letters.index(event.text().upper()))
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        places = [i for i, line in enumerate(self._lines) if line.row is not None]
        now = places.index(self.current) if self.current in places else (-1 if by > 0 else len(places))
        self._go(places[min(max(now + by, 0), len(places) - 1)])

    def _go(self, index: int) -> None:
        self.current = index
        line = self._lines[index]
        told = [f"{mark} {text}" for mark, text in zip(self._letters, line.texts, strict=True)]
        rests = "" if line.row is None or line.row.told is None else self._words.phrase(line.row.told)
        self.setAccessibleDescription(f"{line.title}: {', '.join(told)} {rests}".strip())
        high, top = theme().px(_ROW), index * theme().px(_ROW)
        bar, room = self.verticalScrollBar(), self.viewport().height() - theme().px(_HEAD)
        if top < bar.value():
            bar.setValue(top if index > 1 else 0)
        elif top + high > bar.value() + room:
            bar.setValue(top + high - room)
        self.viewport().update()

    def _choose(self) -> None:
        row = self._lines[self.current].row
        if row is not None:
            self.chosen.emit(row.key)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The current row has a bar while the table has the focus."""
        super().focusInEvent(event)
        if self.current < 0 and self._lines and event.reason() in paint.KEYBOARD:
            self._step(1)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """And none without."""
        super().focusOutEvent(event)
        self.viewport().update()

    # -- painting --------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Rows, then the head and the names, which do not scroll with the values."""
        t = theme()
        with QPainter(self.viewport()) as painter:
            painter.fillRect(self.viewport().rect(), t.canvas)
            head, row = t.px(_HEAD), t.px(_ROW)
            width, shift = self.viewport().width(), self.horizontalScrollBar().value()
            if not self._lines and self.empty:
                box = QRectF(0, head, width, row)
                paint.text(painter, box, self.empty, t.font("body"), t.ink2)
            top = head - self.verticalScrollBar().value()
            painter.setClipRect(0, head, width, self.viewport().height() - head)
            for index, line in enumerate(self._lines):
                y = top + index * row
                if y + row >= head and y <= self.viewport().height():
                    self._paint_line(painter, line, QRectF(0, y, width, row), shift, index)
            painter.setClipping(False)
            painter.fillRect(0, 0, width, head, t.canvas)
            x = self._names - shift
            for index, mark in enumerate(self._letters):
                right = x + self._values[index] + self._changes[index]
                edge = x + self._values[index]
                if edge > self._names:
                    wide = max(float(t.px(18)), paint.width(t.font("caption_semibold"), mark) + 8)
                    letter_plate(painter, QPointF(edge - wide, (head - t.px(18)) / 2 - 1), mark, index)
                if self._changes[index] and right > self._names:
                    box = QRectF(edge, 0, self._changes[index], head - 2)
                    told = self._words("compare.against", name=self._letters[self._baseline])
                    paint.text(painter, box, told, t.font("caption"), t.ink3, paint.RIGHT)
                x = right
            if shift:
                painter.fillRect(QRectF(0, 0, self._names, head), t.canvas)
            paint.hairline(painter, 0, head - 1, width, head - 1, t.line2)

    def _paint_line(self, painter: QPainter, line: _Line, box: QRectF, shift: int, index: int) -> None:
        t = theme()
        ground = t.canvas
        if line.row is not None and index == self.current and self.hasFocus():
            ground = t.accent_soft
        elif index == self._hovered:
            ground = t.sunken
        painter.fillRect(box, ground)
        if line.row is None:
            paint.text(painter, box.adjusted(0, 3, 0, 0), line.title, t.font("body_semibold"), t.ink)
            return
        x = self._names - shift
        for column, cell in enumerate(line.row.cells):
            edge = x + self._values[column]
            role: Role = "body_semibold" if cell.differs else "body"
            colour = t.warn if cell.state == "misses" else t.ink
            value = QRectF(x, box.top(), self._values[column], box.height())
            used = paint.text(painter, value, line.texts[column], t.font(role), colour, paint.RIGHT)
            if cell.state:
                size = t.px(_ICON)
                at = QPointF(edge - used - size - 6, round(box.center().y() - size / 2))
                good = cell.state == "meets"
                icons.draw(painter, "tick" if good else "cross", at, t.good if good else t.warn, size)
            if self._changes[column] and line.changes[column]:
                change = QRectF(edge, box.top(), self._changes[column], box.height())
                paint.text(painter, change, line.changes[column], t.font("caption"), t.ink2, paint.RIGHT)
            x = edge + self._changes[column]
        if shift:
            painter.fillRect(QRectF(0, box.top(), self._names, box.height()), ground)
        name = box.adjusted(0, 0, self._names - box.width() - 8, 0)
        paint.text(painter, name, line.title, t.font("body"), t.ink)
        if ground is t.accent_soft:
            painter.fillRect(QRectF(0, box.top(), 2, box.height()), t.accent)
        paint.hairline(painter, 0, box.bottom() - 1, box.width(), box.bottom() - 1, t.line)
