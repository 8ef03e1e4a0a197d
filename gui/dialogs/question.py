"""A question with named answers: a sentence, what follows from it, and the answers as buttons."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from gui.theme import theme

_WIDTH = 400


class QuestionBox(QDialog):
    """``answered`` carries the name of the answer, once; closing the box is the answer ``escape``.

    ``answers`` are names with their words, the default first; it stands at the right and has the accent.
    """

    answered = Signal(str)

    def __init__(
        self,
        title: str,
        text: str,
        detail: str,
        answers: Sequence[tuple[str, str]],
        escape: str,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        t = theme()
        self._answer = escape
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAccessibleName(text)
        self.setAccessibleDescription(detail)
        self.text = self._label(text, "body_semibold")
        self.detail = self._label(detail, "body")
        palette = self.detail.palette()
        palette.setColor(palette.ColorRole.WindowText, t.ink2)
        self.detail.setPalette(palette)
        self.buttons: dict[str, QPushButton] = {}
        row = QHBoxLayout()
        row.setSpacing(t.px(8))
        row.addStretch(1)
        for name, words in reversed(answers):
            button = QPushButton(words, self)
            button.setAutoDefault(name == answers[0][0])
            button.clicked.connect(lambda _=False, name=name: self._take(name))
            self.buttons[name] = button
            row.addWidget(button)
        default = self.buttons[answers[0][0]]
        default.setProperty("kind", "primary")
        default.setDefault(True)
        default.setFocus()
        column = QVBoxLayout(self)
        column.setContentsMargins(t.px(24), t.px(20), t.px(24), t.px(20))
        column.setSpacing(t.px(4))
        column.addWidget(self.text)
        column.addWidget(self.detail)
        column.addSpacing(t.px(16))
        column.addLayout(row)
        self.setMinimumWidth(t.px(_WIDTH))
        self.finished.connect(lambda _result: self.answered.emit(self._answer))

    def _label(self, words: str, role: str) -> QLabel:
        label = QLabel(words, self)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        label.setFont(theme().font(role))  # type: ignore[arg-type]
        return label

    def _take(self, name: str) -> None:
        self._answer = name
        self.accept()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The ground of what is raised."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().raised)
