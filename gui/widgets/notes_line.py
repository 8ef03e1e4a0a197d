"""Quiet notes under plots: small print, wrapped, as high as its words need."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.theme import manager, theme

_LINE = 16


class NotesLine(QWidget):
    """One note a line; a note that is too long wraps."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._notes: tuple[str, ...] = ()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        manager.changed.connect(self.updateGeometry)

    @property
    def notes(self) -> tuple[str, ...]:
        """What it says."""
        return self._notes

    def set_notes(self, notes: Sequence[str]) -> None:
        """Say something else."""
        if tuple(notes) == self._notes:
            return
        self._notes = tuple(notes)
        self.setAccessibleName(" ".join(notes))
        self.setVisible(bool(notes))
        self.updateGeometry()
        self.update()

    def _lines(self, width: int) -> list[str]:
        """The notes broken at words."""
        metrics, lines = QFontMetricsF(theme().font("caption")), []
        for note in self._notes:
            line = ""
            for word in note.split():
                longer = f"{line} {word}".strip()
                if line and metrics.horizontalAdvance(longer) > width:
                    lines.append(line)
                    longer = word
                line = longer
            lines.append(line)
        return lines

    def hasHeightForWidth(self) -> bool:
        """It wraps."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Its lines."""
        return theme().px(_LINE) * len(self._lines(width))

    def sizeHint(self) -> QSize:
        """Any width."""
        return QSize(400, self.heightForWidth(max(200, self.width())))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The words."""
        t = theme()
        with QPainter(self) as painter:
            painter.setFont(t.font("caption"))
            painter.setPen(t.ink3)
            high = t.px(_LINE)
            for index, line in enumerate(self._lines(self.width())):
                box = QRectF(0, index * high, self.width(), high)
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, line)
