"""One section of the forms: a head that opens and closes, and the rows below it."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint

SIDE = 16
_TITLE_AT = 34
_CHEVRON_AT = 12


class SectionHead(QWidget):
    """Chevron, title, and the summary at the right while closed."""

    toggled = Signal()

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self.summary = ""
        self.refused = ""  # said while something inside is refused
        self.open = True
        self.height_px = 36
        self._ring = False
        self.setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(SIDE, 0, SIDE, 0)
        self.row.addStretch(1)

    def sizeHint(self) -> QSize:
        """36 px, 32 when small."""
        return QSize(200, theme().px(self.height_px))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open or close."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.toggled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space toggle, Right opens, Left closes."""
        key = event.key()
        wanted = {Qt.Key.Key_Right: True, Qt.Key.Key_Left: False}.get(Qt.Key(key), not self.open)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Right, Qt.Key.Key_Left):
            if wanted != self.open:
                self.toggled.emit()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Darker chevron under the pointer."""
        self.update()

    def leaveEvent(self, event: object) -> None:
        """And lighter again."""
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring, when the focus came by keyboard."""
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Chevron, title, summary."""
        t = theme()
        with QPainter(self) as painter:
            height = self.height()
            size = t.px(16)
            name = "chevron_down" if self.open else "chevron_right"
            at = QPointF(_CHEVRON_AT, round((height - size) / 2))
            icons.draw(painter, name, at, t.ink if self.underMouse() else t.ink2, size)
            left = _CHEVRON_AT + size + 6
            box = QRectF(left, 0, self.width() - left - SIDE, height)
            used = paint.text(painter, box, self.title, t.font("body_semibold"), t.ink)
            if not self.open:
                room = box.adjusted(used + 16, 0, 0, 0)
                if self.refused:
                    at = QPointF(round(room.right() - size + 1), round((height - size) / 2))
                    icons.draw(painter, "circle_x", at, t.bad, size)
                    room.setRight(at.x() - 6)
                paint.text(painter, room, self.summary, t.font("caption"), t.ink3, paint.RIGHT)
            if self.hasFocus() and self._ring:
                paint.focus_ring(painter, QRectF(4, 2, self.width() - 8, height - 4), t.accent)


class Section(QWidget):
    """Head and body; a hairline closes it.  ``action`` stands in the head while the section is open."""

    opened = Signal(bool)

    def __init__(self, key: str, title: str, rows: Sequence[QWidget], action: QWidget | None = None) -> None:
        super().__init__()
        self.key = key
        self.rows = list(rows)
        self.action = action
        self.head = SectionHead(title, self)
        self.head.toggled.connect(lambda: self.set_open(not self.is_open))
        if action is not None:
            self.head.row.addWidget(action)
        self.body = QWidget(self)
        inner = QVBoxLayout(self.body)
        inner.setContentsMargins(SIDE, 0, SIDE, 12)
        inner.setSpacing(4)
        for row in self.rows:
            inner.addWidget(row)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 1)
        outer.setSpacing(0)
        outer.addWidget(self.head)
        outer.addWidget(self.body)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.update)

    @property
    def is_open(self) -> bool:
        """Whether the rows are shown."""
        return self.head.open

    def set_open(self, is_open: bool) -> None:
        """Show or hide the rows; at once, without motion."""
        if is_open == self.head.open:
            return
        self.head.open = is_open
        self.body.setVisible(is_open)
        if self.action is not None:
            self.action.setVisible(is_open)
        self.head.update()
        self.opened.emit(is_open)

    def set_summary(self, text: str) -> None:
        """What the section says while it is closed."""
        if text != self.head.summary:
            self.head.summary = text
            self._tell()

    def set_refused(self, text: str) -> None:
        """Mark the closed section as holding a refused value; "" takes the mark away."""
        if text != self.head.refused:
            self.head.refused = text
            self.head.setToolTip(plain(text))
            self._tell()

    def _tell(self) -> None:
        said = (self.head.refused, self.head.summary)
        self.head.setAccessibleDescription(" ".join(part for part in said if part))
        if not self.is_open:
            self.head.update()

    def set_head_height(self, height: int) -> None:
        """Height of the head by size class."""
        self.head.height_px = height
        self.head.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The closing hairline."""
        with QPainter(self) as painter:
            paint.hairline(painter, 0, self.height() - 1, self.width(), self.height() - 1, theme().line)


class FactRow(QWidget):
    """A label and a text that cannot be edited.  ``essential``: shown where there is little room too."""

    def __init__(self, label: str, parent: QWidget | None = None, *, essential: bool = True) -> None:
        super().__init__(parent)
        self.essential = essential
        self._label = label
        self._value = ""
        self._label_width = 96
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def value(self) -> str:
        """The text."""
        return self._value

    def set_value(self, value: str) -> None:
        """Show a text."""
        if value != self._value:
            self._value = value
            self.setAccessibleName(f"{self._label}: {value}")
            self.update()

    def set_label_width(self, width: int) -> None:
        """Width of the label column."""
        self._label_width = width
        self.update()

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(120, theme().px(20))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Label and text."""
        t = theme()
        with QPainter(self) as painter:
            left = self._label_width + 8
            height = self.height()
            paint.text(painter, QRectF(0, 0, self._label_width, height), self._label, t.font("body"), t.ink2)
            box = QRectF(left + 8, 0, self.width() - left - 8, height)
            paint.text(painter, box, self._value, t.font("body"), t.ink)
