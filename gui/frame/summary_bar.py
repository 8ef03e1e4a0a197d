"""The scenario in one line, in place of the folded forms; each part opens its section."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import icons
from gui.theme import theme
from gui.tips import plain
from gui.widgets import paint

HEIGHT = 36
_START, _GAP, _EDGE = 34, 32, 24
_DETAIL = " · "
_YIELD_ORDER = ("model", "precision", "engine", "engine", "hardware", "targets", "workload")
Part = tuple[str, str, str]  # key of the section, its title, its summary


class SummaryBar(QWidget):
    """36 px.  ``chosen`` carries the key of the section to open, "" for none in particular."""

    chosen = Signal(str)

    def __init__(self, parts: Callable[[], Sequence[Part]], name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts = parts
        self._places: list[tuple[float, float, str]] = []  # left, right, key
        self._focused = 0
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(400, theme().px(HEIGHT))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open the section under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self._at(event.position().toPoint()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A tooltip with the whole of what may be elided."""
        key = self._at(event.position().toPoint())
        tip = next((f"{title}: {summary}" for part, title, summary in self._parts() if part == key), "")
        if plain(tip) != self.toolTip():
            self.setToolTip(plain(tip))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows walk along the parts, Enter and Space open."""
        count = max(1, len(self._places))
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 1 if event.key() == Qt.Key.Key_Right else -1
            self._focused = (self._focused + step) % count
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self._places[self._focused][2] if self._places else "")
        else:
            super().keyPressEvent(event)

    def _at(self, point: QPoint) -> str:
        return next((key for left, right, key in self._places if left <= point.x() <= right), "")

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Chevron; titles in the label colour, summaries in ink; hairlines between."""
        t = theme()
        with QPainter(self) as painter:
            height = self.height()
            painter.fillRect(self.rect(), t.side)
            paint.hairline(painter, 0, height - 1, self.width(), height - 1, t.line)
            size = t.px(16)
            icons.draw(
                painter, "chevron_right", QRectF(10, (height - size) / 2, size, size).topLeft(), t.ink2, size
            )
            label, value = t.font("body"), t.font("body_medium")
            gap = t.px(_GAP)

            def excess(parts: Sequence[Part]) -> float:
                used = sum(
                    paint.width(label, title) + 8 + paint.width(value, text) for _, title, text in parts
                )
                return used + gap * (len(parts) - 1) + _START + _EDGE - self.width()

            parts = shortened(self._parts(), excess)
            titles = [paint.width(label, title) + 8 for _, title, _ in parts]
            wide = [paint.width(value, summary) for *_, summary in parts]
            room = self.width() - _START - _EDGE - sum(titles) - gap * max(0, len(parts) - 1)
            wide = shared(wide, room)
            x = float(_START)
            self._places = []
            for index, (key, title, summary) in enumerate(parts):
                if index:
                    paint.hairline(
                        painter, round(x - gap / 2), t.px(10), round(x - gap / 2), height - t.px(10), t.line2
                    )
                paint.text(painter, QRectF(x, 0, titles[index], height - 1), title, label, t.ink2)
                box = QRectF(x + titles[index], 0, wide[index], height - 1)
                paint.text(painter, box, summary, value, t.ink)
                self._places.append((x - gap / 2, box.right() + gap / 2, key))
                if self.hasFocus() and index == self._focused:
                    paint.focus_ring(painter, QRectF(x - 6, 4, box.right() - x + 12, height - 9), t.accent)
                x = box.right() + gap


def shortened(parts: Sequence[Part], excess: Callable[[Sequence[Part]], float]) -> list[Part]:
    """Leave out last details, those of the model first, until ``excess`` is gone or nothing is left to go."""
    kept = list(parts)
    for key in _YIELD_ORDER:
        for index, (name, title, text) in enumerate(kept):
            if excess(kept) <= 0:
                return kept
            if name == key and _DETAIL in text:
                kept[index] = (name, title, text.rpartition(_DETAIL)[0])
    return kept


def shared(wanted: Sequence[float], room: float) -> list[float]:
    """Widths that fit into ``room``: the widest give way first, all alike."""
    if sum(wanted) <= room:
        return list(wanted)
    limit, left, rest = 0.0, room, len(wanted)
    for width in sorted(wanted):
        limit = max(0.0, left / rest)
        if width > limit:
            break
        left, rest = left - width, rest - 1
    return [min(width, limit) for width in wanted]
