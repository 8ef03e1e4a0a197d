"""Measured runs as marks over the plots of Estimate, and the switch that names them."""

from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from core.quantities import FloatArray
from gui.plots.area import Panel
from gui.plots.draw import Draw
from gui.theme import Theme, manager, theme
from gui.widgets import paint

_SIZE = 3.5  # pixels from the middle to a corner


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Arrays (n,) in SI, nan where a run has no such figure."""

    count: int
    users: FloatArray
    first_token: FloatArray
    per_token: FloatArray
    throughput: FloatArray
    memory: FloatArray


def cross(painter: QPainter, x: float, y: float, current: Theme, size: float = _SIZE) -> None:
    """A slanted cross with an edge of the canvas: seen over curves and bands alike."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    for colour, width in ((current.canvas, 4.0), (current.ink2, 1.6)):
        painter.setPen(QPen(colour, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.drawLine(QPointF(x - size, y - size), QPointF(x + size, y + size))
        painter.drawLine(QPointF(x - size, y + size), QPointF(x + size, y - size))


def paint_marks(draw: Draw, panel: Panel, xs: FloatArray, ys: FloatArray) -> None:
    """The marks that lie inside a panel."""
    good = np.isfinite(xs) & np.isfinite(ys)
    rect = panel.rect.adjusted(-1, -1, 1, 1)
    for x, y in zip(xs[good].tolist(), ys[good].tolist(), strict=True):
        px, py = panel.px(x), panel.py(y)
        if rect.contains(QPointF(px, py)):
            cross(draw.painter, px, py, draw.theme)


class MarksSwitch(QAbstractButton):
    """The mark with its words; pressed it takes the marks away, and brings them back."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setChecked(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        manager.changed.connect(self.updateGeometry)
        self.hide()

    def say(self, text: str) -> None:
        """Other words; "" takes the switch away."""
        self.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """As wide as mark and words."""
        t = theme()
        return QSize(round(paint.width(t.font("caption_medium"), self.text())) + t.px(22), t.px(36))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Mark and words; struck through while the marks are away."""
        t = theme()
        with QPainter(self) as painter:
            colour = t.ink2 if self.isChecked() else t.ink3
            middle = self.height() / 2
            if self.isChecked():
                cross(painter, t.px(8), middle, t)
            else:
                painter.fillRect(QRectF(t.px(4), round(middle), t.px(8), 1), t.ink3)
            box = QRectF(t.px(18), 0, self.width() - t.px(18), self.height())
            paint.text(painter, box, self.text(), t.font("caption_medium"), colour)
            if self.hasFocus():
                paint.focus_ring(painter, QRectF(self.rect()).adjusted(0, 6, 0, -6), t.accent, 3.0)
