"""The list behind the count in the status bar: problems first, each leading to its field, then notes."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from core.words import Words
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.link_button import LinkButton

_WIDTH = 420
_MARGIN = 14


class NotesPopover(QFrame):
    """A raised sheet that closes with a click elsewhere or Escape."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self._words = words
        self._column = QVBoxLayout(self)
        self.setAccessibleName(words("status.list"))

    def fill(
        self, problems: Sequence[tuple[str, Callable[[], object] | None, bool]], notes: Sequence[str]
    ) -> None:
        """Problems as words, what a click does, whether serious; notes as words."""
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        t = theme()
        margin = t.px(_MARGIN)
        self._column.setContentsMargins(margin, margin - 2, margin, margin)
        self._column.setSpacing(t.px(6))
        self.setFixedWidth(t.px(_WIDTH))
        if problems:
            self._head("status.list_problems")
        for text, go, serious in problems:
            self._line(text, "bad" if serious else "ink")
            if go is not None:
                self._link(go)
        if notes:
            self._head("status.list_notes")
        for text in notes:
            self._line(text, "ink2")
        wide = t.px(_WIDTH)
        self._column.activate()
        self.setFixedSize(wide, max(1, self._column.heightForWidth(wide)))

    def texts(self) -> tuple[str, ...]:
        """All lines, for tests."""
        items = (self._column.itemAt(i) for i in range(self._column.count()))
        widgets = (item.widget() for item in items if item is not None)
        return tuple(label.text() for label in widgets if isinstance(label, QLabel))

    def open_above(self, corner: QPoint) -> None:
        """Show it with its lower right corner at a place on the screen."""
        self.move(corner - QPoint(self.width(), self.height() + 4))
        self.show()

    def _head(self, key: str) -> None:
        label = QLabel(self._words(key), self)
        label.setFont(theme().font("body_semibold"))
        self._column.addWidget(label)

    def _line(self, text: str, token: str) -> None:
        t = theme()
        label = QLabel(text, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFont(t.font("body"))
        palette = label.palette()
        palette.setColor(label.foregroundRole(), getattr(t, token))
        label.setPalette(palette)
        self._column.addWidget(label)

    def _link(self, go: Callable[[], object]) -> None:
        link = LinkButton(self._words("status.go_to"), parent=self)

        def followed() -> None:
            self.close()
            go()

        link.clicked.connect(followed)
        self._column.addWidget(link, 0, Qt.AlignmentFlag.AlignLeft)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Raised ground in a hairline."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.raised)
            paint.frame(painter, self.rect().toRectF(), t.line2)
