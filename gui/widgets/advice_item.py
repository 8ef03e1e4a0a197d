"""One suggestion: title and Apply, rows of quantity, old and new, what it costs."""

import math
from html import escape

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QToolTip, QWidget

from core.planning.suggestion import Suggestion
from gui import icons
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.advice_content import EffectText, SuggestionText
from gui.widgets.link_button import RING, LinkButton

_EDGE = 16
_TOP, _TITLE, _ROW, _NOTE = 12, 18, 20, 15
_OLD, _ARROW, _AFTER_ARROW = 40, 13, 20  # columns of the old value and of the arrow
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


class AdviceItem(QWidget):
    """``pointed(self)`` while it is under the pointer or its button has the focus, ``left`` after."""

    pointed = Signal(object)
    left = Signal(object)
    applied = Signal(object)  # Suggestion
    explain = Signal(str, QWidget)  # word of the glossary, link that was pressed

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = SuggestionText("", (), "", "", "")
        self.suggestion: Suggestion | None = None
        self.names_width = 0.0  # of the column of quantities, the same for all items
        self.muted = False
        self._title_box = QRectF()
        self._note_box = QRectF()
        self._hovered = False
        self._under = False  # the pointer came here, or moved here
        self.rested_at: QPoint | None = None  # a pointer at this place did not come, it was come upon
        self.button = QPushButton(self)
        self.button.setMouseTracking(True)
        self.button.setProperty("kind", "small")
        self.button.installEventFilter(self)
        self.button.clicked.connect(self._apply)
        self.word = LinkButton(parent=self)
        self.word.clicked.connect(lambda: self.explain.emit(self.text.entry, self.word))
        self.word.hide()
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def set_content(
        self, suggestion: Suggestion, text: SuggestionText, apply: str, apply_spoken: str
    ) -> None:
        """Show a suggestion; nothing is painted when it says the same."""
        self.suggestion = suggestion
        self.button.setAccessibleName(apply_spoken)
        if self.button.text() != apply:
            self.button.setText(apply)
        if text != self.text:
            self.text = text
            self.setAccessibleName(text.spoken)
            self.setAccessibleDescription(text.note)
            self.word.setText(text.word)
            self.word.setVisible(bool(text.entry))
            self.update()

    def set_muted(self, muted: bool) -> None:
        """The numbers are older than the scenario."""
        if muted != self.muted:
            self.muted = muted
            self.update()

    def _apply(self) -> None:
        if self.suggestion is not None:
            self.applied.emit(self.suggestion)

    # -- places ----------------------------------------------------------------------------------

    def layout_for(self, width: int) -> int:
        """Break lines and put the button for a width; the height that is needed."""
        t = theme()
        size = self.button.sizeHint()
        high = t.px(24)
        room = width - 2 * _EDGE
        title_room = room - size.width() - 12
        lines = _lines(t.font("body_medium"), self.text.title, title_room)
        top = float(t.px(_TOP))
        self._title_box = QRectF(_EDGE, top, title_room, lines * t.px(_TITLE))
        self.button.setGeometry(
            width - _EDGE - size.width(),
            round(top + t.px(_TITLE) / 2 - high / 2) + (t.px(3) if lines > 1 else 0),
            size.width(),
            high,
        )
        y = self._title_box.bottom() + t.px(6) + len(self.text.effects) * t.px(_ROW)
        self._note_box = QRectF()
        if self.text.note:
            notes = min(3, _lines(t.font("caption"), self.text.note, room))
            self._note_box = QRectF(_EDGE, y + 2, room, notes * t.px(_NOTE))
            y += notes * t.px(_NOTE) + 2
        if self.text.entry:
            size = self.word.sizeHint()
            self.word.setGeometry(_EDGE - RING, round(y), min(size.width(), round(room)), size.height())
            y += size.height()
        return math.ceil(y + t.px(9))

    # -- painting --------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Title, rows, note, hairline."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.side if self._hovered else t.canvas)
            ink = t.ink3 if self.muted else t.ink
            painter.setFont(t.font("body_medium"))
            painter.setPen(ink)
            leading = (t.px(_TITLE) - QFontMetricsF(t.font("body_medium")).lineSpacing()) / 2
            painter.drawText(self._title_box.adjusted(0, leading, 1, 20), int(_WRAP.value), self.text.title)
            y = self._title_box.bottom() + t.px(6)
            old = max((paint.width(t.font("body"), effect.old) for effect in self.text.effects), default=0.0)
            old = max(old, float(t.px(_OLD)))
            for effect in self.text.effects:
                self._row(painter, y, effect, old)
                y += t.px(_ROW)
            if self.text.note:
                painter.setFont(t.font("caption"))
                painter.setPen(t.ink3)
                painter.setClipRect(self._note_box.adjusted(0, 0, 1, 2))
                painter.drawText(self._note_box, int(_WRAP.value), self.text.note)
                painter.setClipping(False)
            paint.hairline(painter, _EDGE, self.height() - 1, self.width() - _EDGE, self.height() - 1, t.line)

    def _row(self, painter: QPainter, y: float, effect: EffectText, wide: float) -> None:
        t = theme()
        high = t.px(_ROW)
        x = _EDGE + self.names_width + t.px(8)
        paint.text(painter, QRectF(_EDGE, y, self.names_width + 4, high), effect.name, t.font("body"), t.ink2)
        paint.text(painter, QRectF(x, y, wide + 1, high), effect.old, t.font("body"), t.ink2, paint.RIGHT)
        size = t.px(12)
        icons.draw(
            painter, "arrow_right", QPointF(x + wide + t.px(8), round(y + (high - size) / 2)), t.ink3, size
        )
        x += wide + t.px(8 + _AFTER_ARROW)
        text = str(effect.new).strip()
        ink = t.ink3 if self.muted else t.ink
        x += paint.text(
            painter, QRectF(x, y, self.width() - _EDGE - x, high), text, t.font("body_semibold"), ink
        )
        if effect.state:
            name = "tick" if effect.state == "good" else "cross"
            at = QPointF(round(x + t.px(6)), round(y + (high - size) / 2))
            icons.draw(painter, name, at, t.ink3 if self.muted else t.state(effect.state), size)

    # -- pointer and focus -----------------------------------------------------------------------

    def enterEvent(self, event: QEnterEvent) -> None:
        """The pointer is here."""
        if event.globalPosition().toPoint() != self.rested_at:
            self._come(True)

    def mouseMoveEvent(self, _event: QMouseEvent) -> None:
        """It moves: now it means this."""
        self._come(True)

    def leaveEvent(self, _event: object) -> None:
        """The pointer is elsewhere."""
        self._come(False)

    def _come(self, here: bool) -> None:
        self._under = here
        self.rested_at = None
        self._point(here or (self.button.hasFocus() and self._by_keyboard))

    def rest_pointer(self, at: QPoint) -> None:
        """There is other content below a pointer at ``at``: it means nothing until it moves."""
        self._under = False
        self.rested_at = at
        if self._hovered:
            self._hovered = False
            self.update()

    def event(self, event: QEvent) -> bool:
        """The tooltip stands below and is no wider than this: the cards show the effect meanwhile."""
        if event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(self.mapToGlobal(QPoint(0, self.height())), self.tip(), self)
            return True
        return super().event(event)

    def tip(self) -> str:
        """What the tooltip says, as wide as there is room."""
        said = escape(self.text.tip).replace("\n", "<br>")
        return f'<table width="{self.width() - 2 * _EDGE}"><tr><td>{said}</td></tr></table>' if said else ""

    _by_keyboard = False

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """The button's focus shows the effect as the pointer does."""
        if event.type() == QEvent.Type.FocusIn:
            self._by_keyboard = event.reason() in paint.KEYBOARD  # type: ignore[attr-defined]
            self._point(self._by_keyboard or self._under)
        elif event.type() == QEvent.Type.FocusOut:
            self._by_keyboard = False
            self._point(self._under)
        elif event.type() == QEvent.Type.MouseMove:
            self._come(True)
        return False

    def follow_pointer(self, at: QPoint) -> None:
        """It was scrolled below a pointer that stayed at a place of the screen."""
        self._come(self.rect().contains(self.mapFromGlobal(at)))

    def _point(self, on: bool) -> None:
        if on == self._hovered:
            return
        self._hovered = on
        self.update()
        (self.pointed if on else self.left).emit(self)

    def minimumSizeHint(self) -> QSize:
        """As narrow as the panel."""
        return QSize(160, 40)


def _lines(font: object, text: str, room: float) -> int:
    metrics = QFontMetricsF(font)  # type: ignore[call-overload]
    wanted = metrics.boundingRect(QRectF(0, 0, max(room, 20.0), 1e4), int(_WRAP.value), text)
    return max(1, round(wanted.height() / metrics.lineSpacing()))
