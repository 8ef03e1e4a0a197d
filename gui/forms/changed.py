"""What an applied suggestion or an undo has changed is ringed for a moment, so that the eye finds it."""

from PySide6.QtCore import QObject, QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from core.spec.change import get_value
from core.spec.scenario import Scenario
from gui.forms.panel import FormsPanel
from gui.theme import theme

SHOWN_MS = 400


class Ring(QWidget):
    """Lies over an editor and takes itself away."""

    def __init__(self, editor: QWidget) -> None:
        super().__init__(editor.parentWidget())
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setGeometry(editor.geometry().adjusted(-2, -2, 2, 2))
        QTimer.singleShot(SHOWN_MS, self, self.deleteLater)
        self.show()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """A soft edge around a line of accent."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            box = QRectF(self.rect())
            for colour, width, inset in ((t.accent_soft, 4.0, 2.0), (t.accent, 1.5, 2.5)):
                painter.setPen(QPen(colour, width))
                painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), 5, 5)


class ChangedFields(QObject):
    """Rings the fields in sight that differ between two scenarios."""

    def __init__(self, forms: FormsPanel) -> None:
        super().__init__(forms)
        self._forms = forms

    def show(self, before: Scenario, after: Scenario) -> tuple[str, ...]:
        """Ring them; the paths of those that are in sight."""
        found = []
        for row in self._forms.rows:
            if row.isVisible() and get_value(before, row.path) != get_value(after, row.path):
                Ring(row.editor)
                found.append(row.path)
        return tuple(found)
