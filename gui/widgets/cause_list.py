"""Causes one below the other, each with what it explains, lines of small print and a button."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QPushButton, QScrollArea, QWidget

from gui.theme import Role, manager, theme
from gui.widgets import paint

_TOP, _TITLE, _NOTE, _BAR = 9, 19, 16, 3
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


@dataclass(frozen=True, slots=True)
class CauseText:
    """One cause; ``share`` of the difference that it explains, None: no bar; "" as ``button``: none."""

    title: str
    notes: tuple[str, ...] = ()
    share: float | None = None
    button: str = ""


class CauseItem(QWidget):
    """``pointed`` while it is under the pointer or its button has the focus, ``left`` after."""

    pointed = Signal()
    left = Signal()

    def __init__(self, text: CauseText, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = text
        self._over = False
        self.button = QPushButton(text.button, self)
        self.button.setProperty("kind", "small")
        self.button.setVisible(bool(text.button))
        self.button.setAccessibleName(f"{text.button}: {text.title}")
        self.button.installEventFilter(self)
        self.setAccessibleName(text.title)
        self.setAccessibleDescription(" ".join(text.notes))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def layout_for(self, width: int) -> int:
        """Break the lines for a width; the height that is needed."""
        t = theme()
        size = self.button.sizeHint()
        taken = size.width() + 12 if self.text.button else 0
        self.button.setGeometry(width - size.width(), t.px(_TOP - 3), size.width(), t.px(24))
        self._room = max(60.0, float(width - taken))
        y = t.px(_TOP) + _lines("body_medium", self.text.title, self._room) * t.px(_TITLE)
        if self.text.share is not None:
            y += t.px(8)
        for note in self.text.notes:
            y += _lines("caption", note, float(width)) * t.px(_NOTE)
        return round(y + t.px(_TOP) - 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Title, bar, notes, hairline."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.side if self._over else t.canvas)
            y = float(t.px(_TOP))
            high = _lines("body_medium", self.text.title, self._room) * t.px(_TITLE)
            _wrapped(painter, QRectF(0, y, self._room, high), self.text.title, "body_medium", "ink")
            y += high
            if self.text.share is not None:
                track = QRectF(0, y + t.px(3), min(t.px(160), self.width()), t.px(_BAR))
                painter.fillRect(track, t.sunken if t.name != "contrast" else t.grid)
                wide = track.width() * min(1.0, max(0.0, self.text.share))
                painter.fillRect(QRectF(track.left(), track.top(), wide, track.height()), t.curve)
                y += t.px(8)
            for note in self.text.notes:
                high = _lines("caption", note, float(self.width())) * t.px(_NOTE)
                _wrapped(painter, QRectF(0, y, self.width(), high), note, "caption", "ink2")
                y += high
            paint.hairline(painter, 0, self.height() - 1, self.width(), self.height() - 1, t.line)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show what it would do."""
        self._over = True
        self.update()
        self.pointed.emit()

    def leaveEvent(self, event: QEvent) -> None:
        """And no longer."""
        self._over = False
        self.update()
        self.left.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The keyboard points as well."""
        if event.type() == QEvent.Type.FocusIn:
            self.pointed.emit()
        elif event.type() == QEvent.Type.FocusOut:
            self.left.emit()
        return False


class CauseList(QScrollArea):
    """``tried`` and ``pointed`` carry the number of a cause; -1: none is pointed at."""

    tried = Signal(int)
    pointed = Signal(int)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.items: list[CauseItem] = []
        self._empty = ""
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._ground = _Ground(self)
        self.setWidget(self._ground)
        manager.changed.connect(self._place)

    @property
    def empty(self) -> str:
        """What is said in place of causes."""
        return self._ground.text

    def show_causes(self, texts: Sequence[CauseText], empty: str = "") -> None:
        """Show other causes; ``empty`` is said where there are none."""
        if [item.text for item in self.items] == list(texts) and empty == self._ground.text:
            return
        for item in self.items:
            item.hide()
            item.deleteLater()
        self.items = []
        for number, text in enumerate(texts):
            item = CauseItem(text, self._ground)
            item.button.clicked.connect(lambda _=False, number=number: self.tried.emit(number))
            item.pointed.connect(lambda number=number: self.pointed.emit(number))
            item.left.connect(lambda: self.pointed.emit(-1))
            item.show()
            self.items.append(item)
        self._ground.text = "" if texts else empty
        self._ground.setAccessibleName(self._ground.text)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width breaks other lines."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        wide, y = self.viewport().width(), 0
        for item in self.items:
            high = item.layout_for(wide)
            item.setGeometry(0, y, wide, high)
            item.update()
            y += high
        self._ground.resize(wide, max(y, self.viewport().height()))
        self._ground.update()


class _Ground(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = ""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, and the words where it is empty."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            if self.text:
                box = QRectF(0, t.px(_TOP), self.width(), self.height() - t.px(_TOP))
                _wrapped(painter, box, self.text, "body", "ink3")


def _lines(role: Role, text: str, width: float) -> int:
    metrics = QFontMetricsF(theme().font(role))
    box = metrics.boundingRect(QRectF(0, 0, max(20.0, width), 1e4), int(_WRAP.value), text)
    return max(1, round(box.height() / metrics.lineSpacing()))


def _wrapped(painter: QPainter, box: QRectF, text: str, role: Role, colour: str) -> None:
    t = theme()
    painter.setFont(t.font(role))
    painter.setPen(getattr(t, colour))
    painter.drawText(box.adjusted(0, 0, 1, 40), int(_WRAP.value), text)
