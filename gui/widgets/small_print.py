"""Small print that wraps."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.theme import theme

_EDGE = 16
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


class Print(QWidget):
    """Small print that wraps; ``colour`` names a token of the theme."""

    def __init__(self, parent: QWidget, colour: str = "ink3") -> None:
        super().__init__(parent)
        self._colour = colour
        self.text = ""

    def set_text(self, text: str) -> None:
        """Say something else."""
        if text != self.text:
            self.text = text
            self.setAccessibleName(text)
            self.update()

    def layout_for(self, width: int) -> int:
        """Height at a width; 0 when there is nothing to say."""
        if not self.text:
            return 0
        room = QRectF(0, 0, width - 2 * _EDGE, 1e4)
        metrics = QFontMetricsF(theme().font("caption"))
        wanted = metrics.boundingRect(room, int(_WRAP.value), self.text)
        lines = max(1, round(wanted.height() / metrics.lineSpacing()))
        return lines * theme().px(15) + theme().px(5)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words."""
        t = theme()
        with QPainter(self) as painter:
            painter.setFont(t.font("caption"))
            painter.setPen(getattr(t, self._colour))
            box = QRectF(self.rect()).adjusted(_EDGE, 0, -_EDGE, 20)
            painter.drawText(box, int(_WRAP.value), self.text)
