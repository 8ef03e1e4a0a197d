"""Plain surfaces and small print that workspaces are put together from."""

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
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
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), getattr(t, self._token))
            if self._edge == "bottom":
                painter.fillRect(0, self.height() - 1, self.width(), 1, t.line)


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
        with QPainter(self) as painter:
            paint.text(painter, QRectF(self.rect()), self._text, t.font("caption"), t.ink3, paint.RIGHT)


class Edge(QWidget):
    """The hairline beside the form."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """One line."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().line)


class ProgressBar(QWidget):
    """How far the work is, 2 px; nothing where nothing is going on."""

    def __init__(self) -> None:
        super().__init__()
        self._share = 0.0
        self.setFixedHeight(2)
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.hide()

    def lie_over(self, page: QWidget) -> None:
        """Along the upper edge of a page, whose parts stand where those of pages without a bar do."""
        self.setParent(page)
        page.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """As wide as the page."""
        if event.type() == QEvent.Type.Resize and isinstance(watched, QWidget):
            self.setGeometry(0, 0, watched.width(), self.height())
            self.raise_()
        return False

    def show_share(self, share: float | None) -> None:
        """A share between 0 and 1; None takes the bar away."""
        self.setVisible(share is not None)
        self._share = share or 0.0
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The part that is done."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            painter.fillRect(0, 0, round(self.width() * self._share), 2, t.accent)
