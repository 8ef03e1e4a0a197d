"""The list behind a message: what was taken over, assumed and left out."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from core.words import Words
from gui import icons
from gui.sheets.sheet import Sheet
from gui.theme import theme


class Sentence(QWidget):
    """A remark with its icon, wrapped."""

    def __init__(self, kind: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = text
        self._kind = kind  # "warning" or "note"
        self.setAccessibleName(text)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def heightForWidth(self, width: int) -> int:
        """Wrapped lines of 18 px."""
        t = theme()
        room = QRectF(0, 0, max(40, width - t.px(26)), 10_000)
        metrics = QFontMetricsF(t.font("body"))
        flags = int(Qt.TextFlag.TextWordWrap)
        return round(metrics.boundingRect(room, flags, self.text).height()) + t.px(10)

    def sizeHint(self) -> QSize:
        """For the width there is."""
        return QSize(300, self.heightForWidth(max(300, self.width())))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Icon and words."""
        t = theme()
        with QPainter(self) as painter:
            size = t.px(16)
            name, colour = ("warn", t.warn) if self._kind != "note" else ("info", t.ink3)
            icons.draw(painter, name, QPointF(0, t.px(6)), colour, size)
            painter.setFont(t.font("body"))
            painter.setPen(t.ink)
            box = QRectF(t.px(26), t.px(5), self.width() - t.px(26), self.height())
            painter.drawText(box, Qt.TextFlag.TextWordWrap, self.text)


class NotesSheet(Sheet):
    """Sentences, the weightier first."""

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(words, parent)
        self._list = QWidget()
        self._column = QVBoxLayout(self._list)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._list.setMaximumWidth(theme().px(720))
        self.set_columns([[self._list]])

    def show_notes(self, title: str, notes: Sequence[tuple[str, str]]) -> None:
        """Show sentences with their severities."""
        self.title.setText(title)
        while self._column.count():
            item = self._column.takeAt(0)
            old = item.widget() if item is not None else None
            if old is not None:
                old.deleteLater()
        for severity, text in notes:
            self._column.addWidget(Sentence(severity, text))

    def sentences(self) -> list[str]:
        """What it lists."""
        shown = (self._column.itemAt(i) for i in range(self._column.count()))
        widgets = (item.widget() for item in shown if item is not None)
        return [widget.text for widget in widgets if isinstance(widget, Sentence)]
