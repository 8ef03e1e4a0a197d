"""A link that puts a text on the clipboard and says so for a moment."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from gui.widgets.link_button import LinkButton

_SAID_MS = 1500


class CopyButton(LinkButton):
    """``asked`` when pressed; whoever knows the text answers with ``put``."""

    asked = Signal()

    def __init__(self, text: str, done: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent=parent)
        self._label = text
        self._done = done
        self._back = QTimer(self, singleShot=True, interval=_SAID_MS)
        self._back.timeout.connect(lambda: self.setText(self._label))
        self.clicked.connect(self.asked)

    def put(self, text: str) -> None:
        """Copy a text; an empty one is no text."""
        if text:
            QGuiApplication.clipboard().setText(text)
            self.setText(self._done)
            self._back.start()
