"""Power, energy and cost at the load, one quiet line under the steps; each part leads to its working."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from core.planning.cost import running_cost
from core.planning.started import Started
from core.units import show_power, three_digits
from core.words import Words
from gui.theme import theme
from gui.widgets import paint

ENERGY, COST = "energy_per_token", "cost_per_million_tokens"


def costs_of(started: Started, words: Words) -> tuple[tuple[str, str], ...]:
    """Text and key of the working, part by part; nothing where nothing is put out."""
    cost = running_cost(started.estimate)
    if cost is None:
        return ()
    stem = "plots.step_time"
    found = [
        (words(f"{stem}.power", power=show_power(cost.watts)), ENERGY),
        (words(f"{stem}.energy", energy=three_digits(cost.joules_per_token.expected)), ENERGY),
    ]
    million = cost.usd_per_million_tokens
    if cost.usd_per_hour is None or million is None:
        return (*found, (words(f"{stem}.no_price"), ""))
    return (
        *found,
        (words(f"{stem}.per_hour", amount=f"{cost.usd_per_hour:,.2f}"), COST),
        (words(f"{stem}.per_million", amount=three_digits(million.expected)), COST),
    )


class CostLine(QWidget):
    """The line; ``chosen`` carries the key of a working."""

    chosen = Signal(str)

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        self._parts: tuple[tuple[str, str], ...] = ()
        self._ends: list[float] = []  # where each part ends, by the last painting
        self._hovered = -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def show_parts(self, parts: Sequence[tuple[str, str]], words: Words) -> None:
        """Show other content."""
        self._parts, self._words = tuple(parts), words
        self.setAccessibleName(self.text)
        self.update()

    @property
    def text(self) -> str:
        """All of it."""
        mark = self._words("plots.step_time.list_mark")
        return self._words("plots.step_time.running_costs", parts=mark.join(text for text, _ in self._parts))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words; the part under the pointer is darker."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            mark = self._words("plots.step_time.list_mark")
            # With the space behind it.
            lead = self.text.partition(self._parts[0][0])[0] if self._parts else ""
            font, x = t.font("caption"), 0.0
            x += paint.text(painter, QRectF(0, 0, self.width(), self.height()), lead, font, t.ink3)
            self._ends = []
            for index, (text, key) in enumerate(self._parts):
                room = QRectF(x, 0, max(0.0, self.width() - x), self.height())
                colour = t.ink if key and index == self._hovered else t.ink2
                paint.text(painter, room, text, font, colour)
                x += paint.width(font, text)
                self._ends.append(x)
                if index + 1 < len(self._parts):
                    room = QRectF(x, 0, max(0.0, self.width() - x), self.height())
                    paint.text(painter, room, mark, font, t.ink3)
                    x += paint.width(font, mark)

    def part_at(self, x: float) -> int:
        """Index of the part at a place; -1 behind the last."""
        return next((i for i, end in enumerate(self._ends) if x <= end), -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the part under the pointer."""
        self._hover(self.part_at(event.position().x()))

    def leaveEvent(self, _event: QEvent) -> None:
        """Unmark."""
        self._hover(-1)

    def _hover(self, index: int) -> None:
        if index != self._hovered:
            self._hovered = index
            leads = index >= 0 and bool(self._parts[index][1])
            self.setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the part under the pointer."""
        index = self.part_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and index >= 0 and self._parts[index][1]:
            self.chosen.emit(self._parts[index][1])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space choose the last part that leads somewhere."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._parts:
            self.chosen.emit(next((key for _, key in reversed(self._parts) if key), ENERGY))
        else:
            super().keyPressEvent(event)
