"""Plain surfaces and small print that workspaces are put together from."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.theme import theme
from gui.widgets import paint


class Ground(QWidget):
    """A plain surface of the theme with hairlines where asked."""

    def __init__(self, token: str, edge: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = token
        self._edge = edge
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and edge."""
        t = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), getattr(t, self._token))
        if self._edge == "bottom":
            painter.fillRect(0, self.height() - 1, self.width(), 1, t.line)
        painter.end()


class Caption(QWidget):
    """One line of small print, right-aligned; elided where there is no room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""

    def text(self) -> str:
        """What it says."""
        return self._text

    def set_text(self, text: str) -> None:
        """Say something else, or nothing."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words."""
        t = theme()
        painter = QPainter(self)
        paint.text(painter, QRectF(self.rect()), self._text, t.font("caption"), t.ink3, paint.RIGHT)
        painter.end()
