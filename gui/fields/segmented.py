"""Two or three choices side by side, one of them chosen."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.fields.choice_edit import Choice
from gui.theme import theme
from gui.widgets import paint


class Segmented(QWidget):
    """``chosen`` carries the value a person picked."""

    chosen = Signal(object)

    def __init__(self, choices: Sequence[Choice] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices = tuple(choices)
        self._value: object = self._choices[0].value if self._choices else None
        self._marked = False
        self._warned = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def value(self) -> object:
        """The chosen value."""
        return self._value

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Offer other segments."""
        if tuple(choices) != self._choices:
            self._choices = tuple(choices)
            self.update()

    def set_value(self, value: object) -> None:
        """Show a value."""
        if value != self._value:
            self._value = value
            label = next((c.label for c in self._choices if c.value == value), "")
            self.setAccessibleDescription(label)
            self.update()

    def mark(self, reason: str) -> None:
        """Show the choice as refused."""
        if self._marked != bool(reason):
            self._marked = bool(reason)
            self.update()

    @property
    def marked(self) -> bool:
        """Whether the choice is shown as refused."""
        return self._marked

    def warn(self, reason: str) -> None:
        """Show the choice as doubtful."""
        if self._warned != bool(reason):
            self._warned = bool(reason)
            self.update()

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(160, theme().px(28))

    def wanted_width(self) -> int:
        """Room for every label in equal segments."""
        font = theme().font("body_medium")
        widest = max((paint.width(font, choice.label) for choice in self._choices), default=0.0)
        return round(len(self._choices) * (widest + theme().px(20)))

    def minimumSizeHint(self) -> QSize:
        """May be narrow."""
        return QSize(80, theme().px(28))

    def _pick(self, index: int) -> None:
        if 0 <= index < len(self._choices) and self._choices[index].value != self._value:
            self.set_value(self._choices[index].value)
            self.chosen.emit(self._value)

    def _edges(self) -> list[int]:
        """Where segments begin and the last one ends: equal, unless a label needs more than its share."""
        count = max(1, len(self._choices))
        font, pad = theme().font("body_medium"), theme().px(16)
        texts = [paint.width(font, choice.label) for choice in self._choices] or [1.0]
        share, air = self.width() / count, (self.width() - sum(texts)) / count
        parts = [share] * count if max(texts) + pad <= share else [wide + air for wide in texts]
        return [round(sum(parts[:index])) for index in range(count + 1)]

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the segment under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton and self._choices:
            right = self._edges()[1:]
            self._pick(
                next((i for i, edge in enumerate(right) if event.position().x() < edge), len(right) - 1)
            )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and right choose."""
        if event.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right) and self._choices:
            now = next((i for i, c in enumerate(self._choices) if c.value == self._value), 0)
            self._pick(now + (1 if event.key() == Qt.Key.Key_Right else -1))
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Sunken ground, raised chosen segment."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(self.rect())
            painter.setPen(QPen(t.bad if self._marked else t.warn if self._warned else t.line2, 1))
            painter.setBrush(t.bad_soft if self._marked else t.sunken)
            painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
            edges = self._edges()
            for index, choice in enumerate(self._choices):
                left, right = edges[index], edges[index + 1]
                segment = QRectF(left, 0, right - left, box.height())
                on = choice.value == self._value
                if on:
                    wide = 2.0 if self.hasFocus() else 1.0
                    painter.setPen(QPen(t.accent if self.hasFocus() else t.control, wide))
                    painter.setBrush(t.chosen)
                    painter.drawRoundedRect(segment.adjusted(wide / 2, wide / 2, -wide / 2, -wide / 2), 6, 6)
                font = t.font("body_medium" if on else "body")
                paint.text(painter, segment, choice.label, font, t.on_chosen if on else t.ink2, paint.CENTRE)
