"""Five numbers as one strip: value, range, and how they stand to their targets."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.results import Estimate
from core.words import Words
from gui import icons
from gui.theme import Role, manager, theme
from gui.widgets import paint
from gui.widgets.card_content import CARD_KEYS, Card, cards_of
from gui.widgets.card_ghost import CardGhost, ghosts_of
from gui.widgets.cell_text import Measure, Writer
from gui.widgets.definition_switch import DefinitionSwitch

MARGIN = 24
GAP = 16  # between a card and the hairline beside it
_CORNER_GAP = 2  # beside what the corner keeps free itself


@dataclass(frozen=True)
class _Rows:
    """Places of the rows in one card, from its top."""

    name: float
    value: float
    bullet: float
    notes: float
    height: int


_LARGE = _Rows(22.5, 47, 68, 83, 104)
_SMALL = _Rows(16, 38, 58, 72.5, 88)


class CardView(QWidget):
    """One number.  A click, Enter or Space selects it."""

    chosen = Signal(str)
    step = Signal(int)

    def __init__(self, key: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = key
        self.card = Card(key)
        self.rows = _LARGE
        self.selected = False
        self.stale_text = ""
        self.ghost: CardGhost | None = None  # what a suggestion would make of it
        self.corner: DefinitionSwitch | None = None  # stands beside the name, in place of the abbreviation
        self._ring = False
        self._about = ""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setObjectName(f"card.{key}")

    def set_card(self, card: Card) -> None:
        """Show new content; nothing is painted when it is the same."""
        if card != self.card:
            before, self.card = self.card, card
            self.setAccessibleName(card.spoken)
            if card.tip != before.tip:
                self.setToolTip(card.tip or self._about)
                self.setAccessibleDescription(card.tip)
            if (card.name, card.brief) != (before.name, before.brief):
                self.place_corner()
            self.update()

    def set_about(self, about: str) -> None:
        """What the number is, for the tooltip of a card that has nothing of its own to tell."""
        self._about = about
        self.setToolTip(self.card.tip or about)

    def set_ghost(self, ghost: CardGhost | None) -> None:
        """Show a second value, or take it away."""
        if ghost != self.ghost:
            self.ghost = ghost
            self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The corner stands beside the name."""
        self.place_corner()

    def place_corner(self) -> None:
        """Beside the name; at the right edge where there is less room."""
        if self.corner is None:
            return
        t = theme()
        both = self.corner.width_for(alone=False) + _CORNER_GAP
        self.corner.set_alone(self._name_for(both) != self.card.name)
        size = self.corner.sizeHint()
        used = Measure().width("body_medium", self._name_for(self._beside))
        left = GAP + round(used) + _CORNER_GAP if used else GAP - 4
        top = round(self.rows.name * t.scale - size.height() / 2)
        self.corner.setGeometry(QRect(left, top, size.width(), size.height()))

    @property
    def _beside(self) -> float:
        """What the corner takes of the name's line; what it keeps free behind itself may stand out."""
        return 0 if self.corner is None else self.corner.sizeHint().width() - _CORNER_GAP

    def _name_for(self, beside: float) -> str:
        """The name, in fewer words where they and what stands beside would not fit."""
        width, room = Measure().width, self.width() - 2 * GAP
        for name in (self.card.name, self.card.brief):
            if name and width("body_medium", name) + beside <= room:
                return name
        return "" if beside else self.card.brief or self.card.name  # the abbreviation says it alone

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Select."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self.key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space select, arrows move to the neighbour."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.chosen.emit(self.key)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.step.emit(1 if key == Qt.Key.Key_Right else -1)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring, when the focus came by keyboard."""
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Name, value, bullet, range and target."""
        t, card, rows = theme(), self.card, self.rows
        with QPainter(self) as painter:
            inner = QRectF(GAP, 0, self.width() - 2 * GAP, self.height())
            hovered = self.underMouse() and not self.selected
            painter.fillRect(self.rect(), t.side if hovered else t.canvas)
            stale = bool(self.stale_text)
            colour = t.ink3 if stale else t.state(card.state) if card.state in ("warn", "bad") else t.ink
            scale = t.scale

            def band(centre: float, height: float) -> QRectF:
                return QRectF(inner.left(), (centre - height / 2) * scale, inner.width(), height * scale)

            write = Writer(painter)
            name = band(rows.name, 20)
            label = t.ink3 if stale else t.ink2
            replaced = self.corner is not None and not self.corner.isHidden()
            beside = self._beside if replaced else 0
            used = write.text(name, self._name_for(beside), "body_medium", label)
            if card.short and not replaced and used + 8 + write.width("caption", card.short) <= inner.width():
                base = write.base_of("body", name.top(), name.height())
                write.on_base(name.left() + used + 8, base, card.short, "caption", t.ink3)
            value = band(rows.value, 28)
            base = write.base_of("title20", value.top(), value.height())
            end = write.on_base(value.left(), base, card.value, "title20", colour)
            quiet = t.ink3 if stale else t.ink2
            unit: Role = "body"
            if end + 4.5 + write.width(unit, card.unit) > inner.right() + 4:
                unit = "caption"
            end = write.on_base(end + 4.5, base, card.unit, unit, quiet)
            if self.ghost is not None:
                self._ghost_value(painter, self.ghost, end, base, inner.right())
            if card.has_bullet:
                self._bullet(painter, inner, rows.bullet * scale, colour, stale)
            self._notes(Writer(painter), band(rows.notes, 16))
            bottom = self.height()
            paint.hairline(painter, 0, bottom - 1, self.width(), bottom - 1, t.line)
            if self.selected:
                painter.fillRect(QRectF(inner.left(), bottom - 2, inner.width(), 2), t.accent)
            if self.hasFocus() and self._ring:
                paint.focus_ring(
                    painter, QRectF(GAP - 8, 4, self.width() - 2 * GAP + 16, bottom - 9), t.accent
                )

    def _bullet(self, painter: QPainter, inner: QRectF, y: float, colour: QColor, stale: bool) -> None:
        t, card = theme(), self.card

        def x(share: float) -> float:
            return inner.left() + min(1.0, max(0.0, share)) * inner.width()

        y = round(y)
        track = t.control if t.name == "contrast" else t.line
        painter.fillRect(QRectF(inner.left(), y - 1, inner.width(), 2), track)
        low, high = x(card.low), x(card.high)
        painter.fillRect(QRectF(low, y - 2, max(high - low, 1), 4), t.control)
        mark = min(max(round(x(card.mark)), inner.left() + 1), inner.right() - 1)
        painter.fillRect(QRectF(mark - 1, y - 5, 2, 10), t.ink3 if stale else colour)
        if self.ghost is not None and self.ghost.mark is not None:
            other = min(max(round(x(self.ghost.mark)), inner.left() + 1), inner.right() - 1)
            for top in (y - 5, y - 1, y + 3):  # dashed, as the ghost curves are
                painter.fillRect(QRectF(other - 1, top, 2, 2), t.ink)
        if card.target_mark is not None:
            at = min(max(x(card.target_mark), inner.left() + 4), inner.right() - 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.ink3 if stale else t.state(card.target_state))
            painter.drawPolygon(
                QPolygonF([QPointF(at - 4, y - 9), QPointF(at + 4, y - 9), QPointF(at, y - 4)])
            )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _ghost_value(self, painter: QPainter, ghost: CardGhost, x: float, base: float, right: float) -> None:
        """An arrow and the other value behind the own, smaller where there is no room for it."""
        t = theme()
        size = t.px(12)
        x += t.px(6)
        colour = t.state(ghost.state)
        text = f"{ghost.value} {ghost.unit}".strip()
        font = t.font("body_semibold")
        if x + size + t.px(5) + paint.width(font, text) > right:
            font = t.font("caption_semibold")
        icons.draw(painter, "arrow_right", QPointF(round(x), round(base - t.px(11))), t.ink3, size)
        paint.on_baseline(painter, x + size + t.px(5), base, text, font, colour)

    def _notes(self, write: Writer, box: QRectF) -> None:
        t, card = theme(), self.card
        if self.stale_text:
            write.text(box, self.stale_text, "caption", t.ink3)
            return
        size = t.px(12)
        used = write.width("caption_medium", card.target) + (size + 6 if card.target_state else 0)
        colour = t.state(card.target_state) if card.target_state else t.ink3
        write.text(box, card.target, "caption_medium", colour, right=True)
        if card.target_state:
            icon = "tick" if card.target_state == "good" else "cross"
            at = QPointF(round(box.right() - used), round(box.center().y() - size / 2))
            icons.draw(write.painter, icon, at, colour, size)
        # Where the two would meet the range goes: the bullet still shows it.
        if write.width("caption", card.note) + used + 3 <= box.width():
            write.text(box, card.note, "caption", t.ink3)


class CardStrip(QWidget):
    """The five cards, parted by hairlines.  ``selected`` carries the key of the quantity."""

    selected = Signal(str)
    definition_chosen = Signal(str)  # "tpot" or "itl"

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._estimate: Estimate | None = None
        self._small = False
        self._latency_as = "tpot"
        self.setObjectName("cards")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.cards = [CardView(key, self) for key in CARD_KEYS]
        for index, card in enumerate(self.cards):
            card.chosen.connect(self._choose)
            card.step.connect(lambda by, at=index: self._focus(at + by))
        self.cards[0].selected = True
        self.definition = DefinitionSwitch(words, self.cards[1])
        self.definition.chosen.connect(self.definition_chosen)
        self.cards[1].corner = self.definition
        manager.changed.connect(self._restyle)

    @property
    def current(self) -> str:
        """Key of the selected quantity, the first where none is."""
        return self.current_or_none() or self.cards[0].key

    def current_or_none(self) -> str:
        """The same; "" while a number elsewhere is unfolded."""
        return next((card.key for card in self.cards if card.selected), "")

    def show_estimate(self, estimate: Estimate) -> None:
        """Show the five numbers of an estimate."""
        self._estimate = estimate
        cards = cards_of(estimate, self._words, self._latency_as)
        for view, card in zip(self.cards, cards, strict=True):
            view.set_card(card)
        self.definition.set_hint(cards[1].hint)
        self.definition.setVisible(estimate.speed is not None)

    def show_ghost(self, other: Estimate | None) -> None:
        """Beside each number what another estimate makes of it; None takes it away."""
        if other is None or self._estimate is None:
            for view in self.cards:
                view.set_ghost(None)
            return
        changed = cards_of(other, self._words, self._latency_as)
        own = tuple(view.card for view in self.cards)
        for view, ghost in zip(self.cards, ghosts_of(own, self._estimate, changed, other), strict=True):
            view.set_ghost(ghost)

    def set_definition(self, definition: str) -> None:
        """Measure the time of a token as "tpot" or "itl"."""
        if definition == self._latency_as:
            return
        self._latency_as = definition
        self.definition.set_current(definition)
        self.cards[1].place_corner()
        if self._estimate is not None:
            self.show_estimate(self._estimate)

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self.definition.set_words(words)
        if self._estimate is not None:
            self.show_estimate(self._estimate)

    def set_stale(self, stale: bool) -> None:
        """Grey the numbers while a fresh estimate is late."""
        said = self._words("cards.updating") if stale else ""
        for card in self.cards:
            if card.stale_text != said:
                card.stale_text = said
                card.update()

    def set_small(self, small: bool) -> None:
        """Use the small height."""
        self._small = small
        for card in self.cards:
            card.rows = _SMALL if small else _LARGE
            card.place_corner()
        self._restyle()

    def select(self, key: str) -> None:
        """Mark a card as the selected one."""
        for card in self.cards:
            if card.selected != (card.key == key):
                card.selected = card.key == key
                card.update()

    def sizeHint(self) -> QSize:
        """Height by size class."""
        return QSize(MARGIN * 2 + 5 * 150, theme().px((_SMALL if self._small else _LARGE).height))

    def minimumSizeHint(self) -> QSize:
        """Five cards of 128 px and what parts them."""
        return QSize(2 * MARGIN + 5 * theme().px(128) + 4 * 2 * GAP, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the width equally, on whole pixels."""
        self._place()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, hairlines between the cards and below."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            bottom = self.height() - 1
            paint.hairline(painter, 0, bottom, self.width(), bottom, t.line)
            rows = self.cards[0].rows
            for card in self.cards[1:]:
                x = card.geometry().left() - 1
                paint.hairline(painter, x, t.px(rows.name - 6), x, t.px(rows.notes + 6), t.line)

    def _place(self) -> None:
        inner = self.width() - 2 * MARGIN - 8 * GAP - 4
        left = float(MARGIN - GAP)
        for card in self.cards:
            right = left + inner / 5 + 2 * GAP
            card.setGeometry(QRect(round(left), 0, round(right) - round(left), self.height()))
            left = right + 1  # the hairline

    def _choose(self, key: str) -> None:
        self.select(key)
        self.selected.emit(key)

    def _focus(self, index: int) -> None:
        if 0 <= index < len(self.cards):
            self.cards[index].setFocus(Qt.FocusReason.TabFocusReason)

    def _restyle(self) -> None:
        self.updateGeometry()
        self._place()
        self.cards[1].place_corner()
        self.update()
