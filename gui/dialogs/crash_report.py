"""What went wrong, as plain text to read and to copy.  Nothing sends it anywhere."""

import platform
from pathlib import Path

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from core.version import VERSION
from core.words import Words
from gui.theme import theme

_WIDE, _HIGH = 720, 460


class CrashReport(QDialog):
    """A window of its own that does not hold anything up."""

    def __init__(self, log: str, file: Path, words: Words, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(words("crash_report.title"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        t = theme()
        system = f"Python {platform.python_version()}, Qt {qVersion()}, {platform.platform()}"
        about = QLabel(words("crash_report.about", file=str(file)), self)
        about.setTextFormat(Qt.TextFormat.PlainText)
        about.setWordWrap(True)
        self.text = QPlainTextEdit(f"Inferometer {VERSION}, {system}\n\n{log}\n", self)
        self.text.setReadOnly(True)
        self.text.setFont(t.font("fixed"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(words("crash_report.title"))
        self.copy = QPushButton(words("crash_report.copy"), self)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        close = QPushButton(words("crash_report.close"), self)
        close.clicked.connect(self.close)
        buttons = QHBoxLayout()
        buttons.setSpacing(t.px(8))
        buttons.addStretch(1)
        for button in (self.copy, close):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(t.px(16),) * 4)
        column.setSpacing(t.px(12))
        column.addWidget(about)
        column.addWidget(self.text, 1)
        column.addLayout(buttons)
        self.resize(t.px(_WIDE), t.px(_HIGH))
