"""Numbers of a finished piece of work as one strip, in the manner of the cards; none can be selected."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui import icons
from gui.frame.sizes import GUTTER
from gui.theme import manager, theme
from gui.widgets import paint
from gui.widgets.card_content import Card

_GAP = 16
_ROWS, _ROWS_SMALL = (22.5, 47.0, 68.0, 83.0, 104), (16.0, 38.0, 58.0, 72.5, 88)


class FigureStrip(QWidget):
    """Cards parted by hairlines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cards: tuple[Card, ...] = ()
        self._rows = _ROWS
        self.stale = False
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self.updateGeometry)

    def show_cards(self, cards: Sequence[Card]) -> None:
        """Show other numbers."""
        if tuple(cards) != self.cards:
            self.cards = tuple(cards)
            told = (f"{c.name}: {c.value} {c.unit}; {c.note} {c.target}".strip() for c in cards)
            self.setAccessibleName(". ".join(told))
            self.update()

    def set_stale(self, stale: bool) -> None:
        """The numbers belong to something older."""
        if stale != self.stale:
            self.stale = stale
            self.update()

    def set_small(self, small: bool) -> None:
        """Use the small height."""
        self._rows = _ROWS_SMALL if small else _ROWS
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Height by size class."""
        return QSize(600, theme().px(self._rows[4]))

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(400, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, numbers, hairlines between them and below."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            paint.hairline(painter, 0, self.height() - 1, self.width(), self.height() - 1, t.line)
            count = max(1, len(self.cards))
            inner = (self.width() - 2 * GUTTER - (count - 1) * 2 * _GAP) / count
            for index, card in enumerate(self.cards):
                left = GUTTER + index * (inner + 2 * _GAP)
                if index:
                    top, bottom = t.px(self._rows[0] - 6), t.px(self._rows[3] + 6)
                    paint.hairline(painter, round(left - _GAP), top, round(left - _GAP), bottom, t.line)
                self._card(painter, card, round(left), inner)

    def _card(self, painter: QPainter, card: Card, left: float, wide: float) -> None:
        t = theme()

        def band(row: float, height: float) -> QRectF:
            return QRectF(left, (row - height / 2) * t.scale, wide, height * t.scale)

        ink = t.ink3 if self.stale else t.ink
        colour = ink if self.stale or not card.state else t.state(card.state)
        name, value, bullet, notes, _ = self._rows
        font = t.font("body_medium")
        named = card.name if not card.brief or paint.width(font, card.name) <= wide else card.brief
        paint.text(painter, band(name, 20), named, font, t.ink3 if self.stale else t.ink2)
        box = band(value, 28)
        base = paint.baseline_of(t.font("title20"), box.top(), box.height())
        end = paint.on_baseline(painter, left, base, card.value, t.font("title20"), colour)
        paint.on_baseline(
            painter, end + 4.5, base, card.unit, t.font("body"), t.ink3 if self.stale else t.ink2
        )
        if card.has_bullet:
            self._bullet(painter, card, left, wide, round(bullet * t.scale))
        self._notes(painter, card, band(notes, 16))

    def _bullet(self, painter: QPainter, card: Card, left: float, wide: float, y: int) -> None:
        t = theme()

        def x(share: float) -> float:
            return left + min(1.0, max(0.0, share)) * wide

        track = t.control if t.name == "contrast" else t.line
        painter.fillRect(QRectF(left, y - 1, wide, 2), track)
        painter.fillRect(QRectF(x(card.low), y - 2, max(x(card.high) - x(card.low), 1), 4), t.control)
        mark = min(max(round(x(card.mark)), left + 1), left + wide - 1)
        colour = t.ink3 if self.stale else t.state(card.state)
        painter.fillRect(QRectF(mark - 1, y - 5, 2, 10), colour)
        if card.target_mark is not None:
            at = min(max(x(card.target_mark), left + 4), left + wide - 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.ink3 if self.stale else t.state(card.target_state))
            painter.drawPolygon(
                QPolygonF([QPointF(at - 4, y - 9), QPointF(at + 4, y - 9), QPointF(at, y - 4)])
            )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _notes(self, painter: QPainter, card: Card, box: QRectF) -> None:
        t = theme()
        font, size = t.font("caption_medium"), t.px(12)
        used = paint.width(font, card.target) + (size + 6 if card.target_state else 0)
        state = card.target_state
        colour = t.state(state) if state and not self.stale else t.ink3
        paint.text(painter, box, card.target, font, colour, paint.RIGHT)
        if state:
            at = QPointF(round(box.right() - used), round(box.center().y() - size / 2))
            icons.draw(painter, "tick" if state == "good" else "cross", at, colour, size)
        # Where the value itself is within the target, the note is what misses it.
        missed = state == "warn" and not card.state and not self.stale
        note = t.font("caption_medium" if missed else "caption")
        if paint.width(note, card.note) + used + 3 <= box.width():
            paint.text(painter, box, card.note, note, t.warn if missed else t.ink3)
