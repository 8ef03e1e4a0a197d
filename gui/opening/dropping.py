"""What is dragged over the window and dropped on it; a frame says that it may be dropped."""

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, QTimer
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGraphicsView, QWidget

from core.words import Words
from gui.opening.intake import Intake, local_paths
from gui.theme import theme
from gui.widgets import paint


class DropFrame(QWidget):
    """A frame over the whole window with a flag of words, while something hovers over it."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._text = text
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def set_text(self, text: str) -> None:
        """Say it in other words."""
        self._text = text

    def cover(self) -> None:
        """Show it over everything else."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Frame and flag."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(t.accent, 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(5, 5, -5, -5), 6, 6)
            font = t.font("body_semibold")
            wide, high = paint.width(font, self._text) + 32, t.px(36)
            flag = QRectF(round((self.width() - wide) / 2), self.height() - high - t.px(48), wide, high)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.accent)
            painter.drawRoundedRect(flag, 6, 6)
            paint.text(painter, flag, self._text, font, t.on_accent, paint.CENTRE)


class DropTarget(QObject):
    """Takes drops for a window and hands them to the intake once the giving program is free again."""

    def __init__(self, window: QWidget, intake: Intake, words: Words) -> None:
        super().__init__(window)
        self._window = window
        self._intake = intake
        self.frame = DropFrame(words("intake.drop_here"), window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Only what can be read is accepted, so that the pointer says what happens."""
        kind = event.type()
        if kind == QEvent.Type.DragLeave:
            self.frame.hide()
            return False
        if kind not in (QEvent.Type.DragEnter, QEvent.Type.DragMove, QEvent.Type.Drop):
            return False
        assert isinstance(event, QDropEvent)
        if not _readable(event.mimeData()):
            event.ignore()
            return True
        event.acceptProposedAction()
        if kind == QEvent.Type.DragEnter:
            for view in self._window.findChildren(QGraphicsView):
                view.setAcceptDrops(False)  # plots would take the drop and do nothing with it
            self.frame.cover()
        elif kind == QEvent.Type.Drop:
            self.frame.hide()
            self._take(event.mimeData())
        return True

    def _take(self, data: QMimeData) -> None:
        paths, text = local_paths(data), data.text()
        if paths:
            QTimer.singleShot(0, lambda: self._intake.take_paths(paths))
        else:
            QTimer.singleShot(0, lambda: self._intake.take_text(text))


def _readable(data: QMimeData) -> bool:
    return bool(local_paths(data)) or (data.hasText() and not data.hasUrls())
