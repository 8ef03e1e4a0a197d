"""A raised sheet of texts that closes with a click elsewhere or Escape."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from gui.theme import Role, theme
from gui.widgets import paint
from gui.widgets.link_button import LinkButton

_MARGIN = 14
_BETWEEN = 10  # links


class Popover(QFrame):
    """Filled from above by ``clear``, ``text``, ``links``, ``space`` and closed by ``settle``."""

    def __init__(self, parent: QWidget, width: int) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._wide = width
        self._column = QVBoxLayout(self)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def clear(self) -> None:
        """Empty it."""
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        t = theme()
        margin = t.px(_MARGIN)
        self._column.setContentsMargins(margin, margin - 3, margin, margin - 2)
        self._column.setSpacing(t.px(4))

    def text(self, text: str, role: Role, token: str) -> QLabel:
        """Add a paragraph."""
        t = theme()
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFont(t.font(role))
        palette = label.palette()
        palette.setColor(label.foregroundRole(), getattr(t, token))
        label.setPalette(palette)
        self._column.addWidget(label)
        return label

    def links(self, named: list[tuple[str, str]]) -> list[tuple[str, LinkButton]]:
        """Add links in as many rows as they need; given as key and words."""
        most = theme().px(self._wide) - 2 * theme().px(_MARGIN)
        found: list[tuple[str, LinkButton]] = []
        row, room = self._row(), most
        for key, text in named:
            link = LinkButton(text, parent=self)
            link.ensurePolished()  # its paddings count
            taken = link.sizeHint().width() + _BETWEEN
            if taken > room and room < most:
                row, room = self._row(), most
            row.insertWidget(row.count() - 1, link)
            room -= taken
            found.append((key, link))
        return found

    def _row(self) -> QHBoxLayout:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_BETWEEN)
        row.addStretch(1)
        self._column.addWidget(holder)
        return row

    def space(self, height: int) -> None:
        """A gap before what comes next."""
        self._column.addSpacing(theme().px(height))

    def settle(self) -> None:
        """As high as its texts at its width."""
        wide = theme().px(self._wide)
        self._column.activate()
        self.setFixedSize(wide, max(1, self._column.heightForWidth(wide)))

    def open_below(self, place: QPoint, line: int = 24) -> None:
        """Show it under a place on the screen, or above the line there where it would not fit."""
        room = self.screen().availableGeometry()
        x = min(place.x(), room.right() - self.width())
        y = place.y() + 4
        if y + self.height() > room.bottom():
            y = place.y() - theme().px(line) - self.height()
        self.move(max(room.left(), x), max(room.top(), y))
        self.show()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def texts(self) -> tuple[str, ...]:
        """All paragraphs, for tests."""
        return tuple(label.text() for label in self.findChildren(QLabel) if not label.isHidden())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Raised ground in a hairline."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.raised)
            paint.frame(painter, self.rect().toRectF(), t.line2)
