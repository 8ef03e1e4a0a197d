"""A word of the field, explained where it stands, with links to related words."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from core.explain.glossary import ENTRIES, Entry
from core.words import Words
from gui.theme import Role, theme
from gui.widgets import paint
from gui.widgets.derivation_step import StepView
from gui.widgets.link_button import LinkButton

_WIDTH = 300
_MARGIN = 14


class GlossaryPopover(QFrame):
    """Closes with a click elsewhere or Escape."""

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._words = words
        self._column = QVBoxLayout(self)
        self.entry: Entry | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

    def show_entry(self, key: str, beside: QWidget) -> None:
        """Explain a word below the place where it stands, kept on the screen."""
        if not self.fill(key):
            return
        place = (
            beside.name_place()
            if isinstance(beside, StepView)
            else beside.mapToGlobal(QPoint(0, beside.height()))
        )
        room = beside.screen().availableGeometry()
        x = min(place.x(), room.right() - self.width())
        y = place.y() + 4
        if y + self.height() > room.bottom():
            y = place.y() - theme().px(24) - self.height()
        self.move(max(room.left(), x), max(room.top(), y))
        self.show()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def fill(self, key: str) -> bool:
        """Put an entry in; False when there is none of that key."""
        entry = ENTRIES.get(key)
        if entry is None:
            return False
        self.entry = entry
        self._clear()
        t, w = theme(), self._words
        margin = t.px(_MARGIN)
        self._column.setContentsMargins(margin, margin - 3, margin, margin - 2)
        self._column.setSpacing(t.px(5))
        self.setFixedWidth(t.px(_WIDTH))
        name = w.phrase(entry.name)
        self.setAccessibleName(name)
        self._text(name, "body_semibold", "ink")
        self._text(w.phrase(entry.text), "body", "ink2")
        if entry.see:
            self._links(entry)
        self.adjustSize()
        return True

    def _clear(self) -> None:
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def _text(self, text: str, role: Role, token: str) -> None:
        t = theme()
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFont(t.font(role))
        palette = label.palette()
        palette.setColor(label.foregroundRole(), getattr(t, token))
        label.setPalette(palette)
        self._column.addWidget(label)

    def _links(self, entry: Entry) -> None:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        room = self.width() - 2 * theme().px(_MARGIN)
        used = 0
        for key in entry.see:
            other = ENTRIES.get(key)
            if other is None:
                continue
            link = LinkButton(self._words.phrase(other.name), parent=holder)
            used += link.sizeHint().width() + 10
            if used > room:
                link.deleteLater()
                break
            link.clicked.connect(lambda _=False, key=key: self.fill(key))
            row.addWidget(link)
        row.addStretch(1)
        self._column.addWidget(holder)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Raised ground in a hairline."""
        t = theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), t.raised)
        paint.frame(painter, self.rect().toRectF(), t.line2)
        painter.end()
