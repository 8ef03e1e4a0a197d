"""The right panel: advice above, derivation below."""

from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent, Qt
from PySide6.QtWidgets import QWidget

from core.words import Words
from gui.theme import manager, theme
from gui.widgets.advice_view import AdviceView
from gui.widgets.derivation_view import DerivationView

Part = Literal["both", "advice", "derivation"]
_ADVICE_SHARE = 0.53  # of the height at most, where the derivation needs the rest
_MOST_WHEN_SMALL = 2  # suggestions in sight


class SidePanel(QWidget):
    """Both parts, or one of them.  ``closed`` after Escape, where it lies over the centre."""

    closed = Signal()

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._part: Part = "both"
        self._small = False
        self.floats = False
        self.setObjectName("side")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.advice = AdviceView(words, self)
        self.derivation = DerivationView(words, self)
        self.advice.changed.connect(self._place)
        self.set_words(words)
        manager.changed.connect(self._place)

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self.setAccessibleName(words("side.title"))

    def show_part(self, part: Part) -> None:
        """Both, or only one in the whole height."""
        self._part = part
        self.advice.setVisible(part != "derivation")
        self.derivation.setVisible(part != "advice")
        self._place()

    def set_small(self, small: bool) -> None:
        """In a low window fewer suggestions are in sight."""
        if small != self._small:
            self._small = small
            self._place()

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Share the height."""
        self._place()

    def _place(self) -> None:
        """The advice takes what it needs, up to its share; whole suggestions only."""
        width, height = self.width() - 1, self.height()
        if width <= 0:
            return
        above = 0
        if self._part != "derivation":
            room = height
            most = 99
            if self._part == "both":
                wanted = min(self.derivation.wanted_height(), height)
                room = max(round(_ADVICE_SHARE * height), height - wanted)
                most = _MOST_WHEN_SMALL if self._small else most
            above = min(self.advice.height_within(width, room, most), height)
            self.advice.setGeometry(1, 0, width, height if self._part == "advice" else above)
        if self._part != "advice":
            self.derivation.setGeometry(1, above, width, max(0, height - above))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape closes what lies over the centre."""
        if event.key() == Qt.Key.Key_Escape and self.floats:
            self.closed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and the hairline at the left."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            painter.fillRect(0, 0, 1, self.height(), t.line)
