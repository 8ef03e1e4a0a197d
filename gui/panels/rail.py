"""Where there is no room for the right panel: icon, word, count; a press opens the part over the centre."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from core.words import Words
from gui import icons
from gui.theme import Role, manager, theme
from gui.widgets import paint

WIDTH = 64
PARTS = ("advice", "derivation")
_ICONS = {"advice": "bulb", "derivation": "sigma"}
_BUTTON = 56


class RailButton(QAbstractButton):
    """Icon over word, with a count at the icon's corner."""

    def __init__(self, part: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.part = part
        self.count = 0
        self._ring = False
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """As wide as the rail."""
        t = theme()
        return QSize(t.px(WIDTH) - 1, t.px(_BUTTON))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring when the focus came by keyboard."""
        super().focusInEvent(event)
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Icon, word, count."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            wide = self.width()
            chosen = self.isChecked()
            painter.fillRect(
                self.rect(),
                t.canvas
                if chosen
                else t.line
                if self.underMouse() and t.dark
                else t.sunken
                if self.underMouse()
                else t.side,
            )
            size = t.px(16)
            colour = t.accent if chosen else t.ink2
            at = QPointF(round((wide - size) / 2), t.px(11))
            icons.draw(painter, _ICONS[self.part], at, colour, size)
            box = QRectF(0, t.px(31), wide, t.px(18))
            role: Role = "caption_semibold" if chosen else "caption_medium"
            paint.text(painter, box, self.text(), t.font(role), t.ink if chosen else t.ink2, paint.CENTRE)
            if self.count:
                text = str(self.count)
                font = t.font("caption_semibold")
                across = max(t.px(15), paint.width(font, text) + 8)
                badge = QRectF(at.x() + size - 2, at.y() - t.px(7), across, t.px(15))
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(t.accent)
                painter.drawRoundedRect(badge, badge.height() / 2, badge.height() / 2)
                paint.text(painter, badge, text, font, t.on_accent, paint.CENTRE)
            if chosen:
                painter.fillRect(0, 0, 2, self.height(), t.accent)
            if self.hasFocus() and self._ring:
                paint.focus_ring(painter, QRectF(4, 2, wide - 8, self.height() - 4), t.accent)


class Rail(QWidget):
    """64 px.  ``asked`` carries the part to show, "" for none."""

    asked = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 4, 0, 0)
        column.setSpacing(4)
        self.buttons = {part: RailButton(part, self) for part in PARTS}
        for part, button in self.buttons.items():
            button.clicked.connect(lambda on, part=part: self._press(part, on))
            column.addWidget(button)
        column.addStretch(1)
        self.set_words(words)
        manager.changed.connect(self.restyle)
        self.restyle()

    @property
    def current(self) -> str:
        """The part on show."""
        return next((part for part, button in self.buttons.items() if button.isChecked()), "")

    def show_current(self, part: str) -> None:
        """Mark the part on show, "" for none."""
        for key, button in self.buttons.items():
            button.setChecked(key == part)

    def set_count(self, count: int) -> None:
        """How many suggestions there are."""
        button = self.buttons["advice"]
        if count != button.count:
            button.count = count
            self._speak()
            button.update()

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self.setAccessibleName(words("side.title"))
        self._speak()

    def _speak(self) -> None:
        w = self._words
        for part, button in self.buttons.items():
            button.setText(w(f"{part}.title"))
            button.setAccessibleName(button.text())
        count = self.buttons["advice"].count
        if count:
            name = self.buttons["advice"].text()
            self.buttons["advice"].setAccessibleName(w("side.counted", name=name, count=count))

    def restyle(self) -> None:
        """Take the theme in use."""
        self.setFixedWidth(theme().px(WIDTH))
        for button in self.buttons.values():
            button.updateGeometry()
        self.update()

    def _press(self, part: str, on: bool) -> None:
        self.show_current(part if on else "")
        self.asked.emit(part if on else "")

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and the hairline at the left."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.side)
            painter.fillRect(0, 0, 1, self.height(), t.line)
