"""Beside a heat map: what its colours and lines mean."""

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.words import Words
from gui.contents.explore import break_text
from gui.theme import manager, mix, theme
from gui.widgets import paint

_LINE = 22
_APART = 8  # px between two limits: digits of one number have two
_LINES = {
    "hatch": "explore.does_not_start",
    "target": "explore.edge_of_targets",
    "dot": "explore.meets",
}


class ExploreLegend(QWidget):
    """The classes with their limits, then the hatch and the outline."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._title = ""
        self._colours: list[QColor] = []
        self._limits: tuple[float, ...] = ()
        self._factor = 1.0
        self._lines: tuple[str, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.updateGeometry)

    def show_classes(
        self,
        title: str,
        colours: list[QColor],
        limits: tuple[float, ...],
        factor: float,
        lines: tuple[str, ...],
    ) -> None:
        """``lines``: which of "hatch", "target" and "dot" are in the picture."""
        self._title, self._limits = title, limits
        self._colours = colours if limits else []  # a single class has nothing to tell apart
        self._factor, self._lines = factor, lines
        texts = ", ".join(break_text(v, factor) for v in limits)
        self.setAccessibleName(title)
        self.setAccessibleDescription(texts)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Title, ramp, limits, lines."""
        ramp = 42 if self._colours else 0
        return QSize(200, theme().px(26 + ramp + _LINE * len(self._lines)))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Everything from above."""
        t = theme()
        with QPainter(self) as painter:
            wide = float(self.width())
            paint.text(painter, QRectF(0, 0, wide, t.px(20)), self._title, t.font("body_semibold"), t.ink)
            y = float(t.px(26))
            if self._colours:
                count = len(self._colours)
                for index, colour in enumerate(self._colours):
                    left, right = round(index * wide / count), round((index + 1) * wide / count)
                    painter.fillRect(
                        QRectF(left, y, right - left - (1 if index < count - 1 else 0), t.px(14)), colour
                    )
                edge = -1e9
                for index, limit in enumerate(self._limits, 1):
                    text = break_text(limit, self._factor)
                    half = paint.width(t.font("caption"), text) / 2
                    x = index * wide / count
                    if x - half > edge + _APART and x + half <= wide:
                        box = QRectF(x - half - 2, y + t.px(15), 2 * half + 4, t.px(16))
                        paint.text(painter, box, text, t.font("caption"), t.ink3, paint.CENTRE)
                        edge = x + half
                y += t.px(42)
            for line in self._lines:
                box = QRectF(0, y + t.px(5), t.px(22), t.px(12))
                if line == "hatch":
                    painter.save()
                    painter.setClipRect(box)
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(QPen(mix(t.axis, t.canvas, 0.75), 1.0))
                    lines = [QLineF(x, box.bottom(), x + box.height(), box.top()) for x in range(-12, 30, 5)]
                    painter.drawLines(lines)
                    painter.restore()
                    paint.frame(painter, box, t.ink)
                elif line == "dot":
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(t.good)
                    painter.drawEllipse(box.center(), 3.0, 3.0)
                else:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    pen = QPen(t.warn, 2.0)
                    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
                    pen.setDashPattern([2.5, 1.5])
                    painter.setPen(pen)
                    middle = box.center().y()
                    painter.drawLine(QPointF(0, middle), QPointF(box.right(), middle))
                words = self._words(_LINES[line])
                room = QRectF(box.right() + 8, y, wide - box.right() - 8, t.px(_LINE))
                paint.text(painter, room, words, t.font("body"), t.ink2)
                y += t.px(_LINE)
