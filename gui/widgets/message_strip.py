"""A strip of 32 px for what a person should know now: kind, text, actions."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint

_ICONS = {"bad": "circle_x", "warn": "warn", "good": "circle_tick", "info": "info"}


class _Elided(QLabel):
    """One line that gives way to the links behind it."""

    def minimumSizeHint(self) -> QSize:
        """Never a reason for a wider window."""
        return QSize(40, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The words, shortened where there is no room."""
        with QPainter(self) as painter:
            paint.text(painter, QRectF(self.rect()), self.text(), self.font(), theme().ink)


class MessageStrip(QWidget):
    """Hidden until there is something to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kind = "info"
        self.setObjectName("message")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(50, 0, 24, 0)
        self._layout.setSpacing(16)
        self._text = _Elided(self)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._layout.addWidget(self._text)
        self._layout.addStretch(1)
        self._buttons: list[QPushButton] = []
        manager.changed.connect(self.updateGeometry)
        self.hide()

    @property
    def text(self) -> str:
        """What the strip says."""
        return self._text.text()

    def show_message(
        self, kind: str, text: str, actions: Sequence[tuple[str, Callable[[], object]]] = ()
    ) -> None:
        """Say ``text``; ``kind`` is "bad", "warn", "good" or "info"; actions are links behind the text."""
        self._kind = kind if kind in _ICONS else "info"
        self._text.setText(text)
        self._text.setToolTip(plain(text))
        self.setAccessibleName(text)
        for button in self._buttons:
            self._layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = []
        for label, run in actions:
            button = QPushButton(label, self)
            button.setProperty("kind", "link")
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(lambda _checked=False, run=run: run())
            self._layout.insertWidget(self._layout.count() - 1, button)
            self._buttons.append(button)
        self.update()
        self.show()

    def clear(self) -> None:
        """Nothing to say any more."""
        self._text.clear()
        self.hide()

    def sizeHint(self) -> QSize:
        """32 px high."""
        return QSize(400, theme().px(32))

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(100, theme().px(32))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Soft ground and icon."""
        t = theme()
        with QPainter(self) as painter:
            info = self._kind == "info"
            painter.fillRect(self.rect(), t.accent_soft if info else t.state_soft(self._kind))
            size = t.px(16)
            at = QPointF(24, round((self.height() - size) / 2))
            icons.draw(painter, _ICONS[self._kind], at, t.accent if info else t.state(self._kind), size)
