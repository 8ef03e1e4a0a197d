"""A strip of a line, or of two, for what a person should know now: kind, text, actions."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint

_LINE, _TWO_LINES = 32, 50  # pixels
_FILLED = 0.9  # of lines that are broken between words
_WRAPPED = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap
_ICONS = {"bad": "circle_x", "warn": "warn", "good": "circle_tick", "info": "info"}


class _Elided(QLabel):
    """A line that gives way to the links behind it, or two."""

    lines = 1

    def minimumSizeHint(self) -> QSize:
        """Never a reason for a wider window."""
        return QSize(40, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The words, shortened where there is no room."""
        with QPainter(self) as painter:
            if self.lines == 1:
                paint.text(painter, QRectF(self.rect()), self.text(), self.font(), theme().ink)
                return
            painter.setPen(theme().ink)
            most = round(_FILLED * self.lines * self.width())
            text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, most)
            painter.drawText(QRectF(self.rect()), _WRAPPED, text)


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
        self._fit()
        self.update()
        self.show()

    def clear(self) -> None:
        """Nothing to say any more."""
        self._text.clear()
        self.hide()

    def _fit(self) -> None:
        """Two lines where one would cut the text."""
        edges, gap = self._layout.contentsMargins(), self._layout.spacing()
        links = sum(button.sizeHint().width() + gap for button in self._buttons)
        room = self.width() - edges.left() - edges.right() - links - gap
        lines = 1 if self._text.fontMetrics().horizontalAdvance(self._text.text()) <= room else 2
        if lines != self._text.lines:
            self._text.lines = lines
            self.updateGeometry()
            self._text.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width may take another line."""
        super().resizeEvent(event)
        self._fit()

    def sizeHint(self) -> QSize:
        """As high as its lines."""
        return QSize(400, theme().px(_LINE if self._text.lines == 1 else _TWO_LINES))

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(100, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Soft ground and icon."""
        t = theme()
        with QPainter(self) as painter:
            info = self._kind == "info"
            painter.fillRect(self.rect(), t.accent_soft if info else t.state_soft(self._kind))
            size = t.px(16)
            at = QPointF(24, round((self.height() - size) / 2))
            icons.draw(painter, _ICONS[self._kind], at, t.accent if info else t.state(self._kind), size)
