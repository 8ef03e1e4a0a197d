"""The lines of a log as the engine wrote them, those that gave something marked; they can be copied."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import (
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from core.evidence.run import Quote
from gui.theme import manager, theme
from gui.tips import plain

_INDENT, _PITCH = 12, 3  # px left of the text, between lines
_BAR = 3
_ROOM = 6  # px around the line that is brought into sight


class LogView(QTextEdit):
    """Lines that gave a line of the ledger have a bar, those of the line that is pointed out a ground."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: tuple[Quote, ...] = ()
        self.marked = ""  # the line of the ledger that is pointed out
        self.setReadOnly(True)
        self.setProperty("kind", "log")
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(6)
        self.viewport().setMouseTracking(True)
        manager.changed.connect(self._fill)

    def show_lines(self, lines: Sequence[Quote]) -> None:
        """Show another log."""
        if tuple(lines) != self.lines:
            self.lines, self.marked = tuple(lines), ""
            self._fill()
            self.verticalScrollBar().setValue(0)

    def mark(self, line: str) -> bool:
        """Point out what gave a line of the ledger, and bring it into sight; whether anything did."""
        self.marked = line
        self._fill()
        index = next((i for i, one in enumerate(self.lines) if line in one.gave), -1)
        if index < 0:
            return False
        cursor = QTextCursor(self.document().findBlockByNumber(index))
        self.setTextCursor(cursor)
        bar = self.verticalScrollBar()
        box = self.document().documentLayout().blockBoundingRect(cursor.block())
        if not bar.value() <= box.top() <= box.bottom() <= bar.value() + self.viewport().height():
            bar.setValue(round(box.bottom() + _ROOM - self.viewport().height()))
            bar.setValue(min(bar.value(), round(box.top() - _ROOM)))  # its beginning before its end
        return True

    def _fill(self) -> None:
        t = theme()
        small = t.font("fixed")
        small.setPointSizeF(t.font("caption").pointSizeF())
        self.setFont(small)
        place = QTextBlockFormat()
        place.setLeftMargin(t.px(_INDENT))
        place.setRightMargin(t.px(4))
        place.setBottomMargin(t.px(_PITCH))
        self.clear()
        cursor = self.textCursor()
        for index, one in enumerate(self.lines):
            if index:
                cursor.insertBlock()
            block = QTextBlockFormat(place)
            if self.marked and self.marked in one.gave:
                block.setBackground(t.accent_soft)
            cursor.setBlockFormat(block)
            ink = QTextCharFormat()
            ink.setForeground(t.ink if one.gave else t.ink3)
            cursor.insertText(one.text, ink)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text, and a bar before each line that was understood."""
        super().paintEvent(event)
        t = theme()
        with QPainter(self.viewport()) as painter:
            shift = self.verticalScrollBar().value()
            block, layout = self.document().firstBlock(), self.document().documentLayout()
            while block.isValid():
                box = layout.blockBoundingRect(block).translated(0, -shift)
                if box.top() > self.viewport().height():
                    break
                if self._gave(block):
                    bar = QRectF(t.px(4), round(box.top()), _BAR, round(box.height() - t.px(_PITCH)))
                    painter.fillRect(bar, t.accent)
                block = block.next()

    def _gave(self, block: QTextBlock) -> bool:
        number = block.blockNumber()
        return number < len(self.lines) and bool(self.lines[number].gave)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Which line of the file it is."""
        super().mouseMoveEvent(event)
        number = self.cursorForPosition(event.position().toPoint()).blockNumber()
        one = self.lines[number] if number < len(self.lines) else None
        self.viewport().setToolTip(plain(f"{one.number}: {one.text}") if one is not None else "")
