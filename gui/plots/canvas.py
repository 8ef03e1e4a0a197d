"""A plot painted in pixels whose still part is kept as an image, so that a moving line costs little."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from shiboken6 import VoidPtr

from core.quantities import FloatArray
from gui.plots.draw import Draw, text_width
from gui.plots.scales import UNIT, Axis
from gui.theme import manager, theme

_BESIDE = 7.0  # px between a number and its axis
_EDGE = 2.4  # px that the edges of an open mark take of its size


class Canvas(QWidget):
    """``still`` paints what stays, ``moving`` what goes over it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kept: QPixmap | None = None
        self._next: QPixmap | None = None  # under way, in steps
        self._left: list[Callable[[Draw], None]] = []
        self._taken: list[QRectF] = []
        self._strength = 1.0
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._step)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(QSize(200, 60))
        manager.changed.connect(self.refill)

    def refill(self) -> None:
        """The still part is another."""
        self._kept = self._next = None
        self._left = []
        self.update()

    def renew(self) -> None:
        """The same in steps, each in a turn of the event loop; what is shown stays until the last one."""
        if self._kept is None:
            self.refill()
            return
        self._next = self._blank(self._kept.devicePixelRatio())
        self._left, self._taken = list(self.steps()), []
        self._turn.start()

    def set_strength(self, strength: float) -> None:
        """Let the picture step back, or not (1): an effect of Qt would paint all of it twice."""
        if strength != self._strength:
            self._strength = strength
            self.update()

    @property
    def busy(self) -> bool:
        """Whether steps are to come."""
        return bool(self._left)

    def _step(self) -> None:
        if not self._left or self._next is None:
            return
        with QPainter(self._next) as painter:
            draw = Draw(painter, theme())
            draw.taken = self._taken
            self._left.pop(0)(draw)
        if self._left:
            self._turn.start()
            return
        self._kept, self._next = self._next, None
        self.update()

    def steps(self) -> Sequence[Callable[[Draw], None]]:
        """What ``still`` paints, one after the other."""
        return (self.still,)

    def still(self, draw: Draw) -> None:
        """Paint what stays."""
        raise NotImplementedError

    def moving(self, draw: Draw) -> None:
        """Paint what moves."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another size is another picture."""
        self.refill()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The kept image, and what moves."""
        with QPainter(self) as painter:
            # Not the screen's ratio: a widget rendered into a picture is asked for the picture's.
            ratio = max(painter.deviceTransform().m11(), self.devicePixelRatioF())
            if self._kept is None or ratio != self._kept.devicePixelRatio():
                kept = self._blank(ratio)
                with QPainter(kept) as inner:
                    self.still(Draw(inner, theme()))
                self._kept = kept
            if self._strength < 1.0:
                painter.fillRect(self.rect(), theme().canvas)
                painter.setOpacity(self._strength)
            painter.drawPixmap(0, 0, self._kept)
            self.moving(Draw(painter, theme()))

    def _blank(self, ratio: float) -> QPixmap:
        made = QPixmap(QSize(round(self.width() * ratio), round(self.height() * ratio)))
        made.setDevicePixelRatio(ratio)
        made.fill(theme().canvas)
        return made


def polygon_of(px: FloatArray, py: FloatArray) -> QPolygonF:
    """Pixels as Qt wants them, copied at once: making each point by itself takes longer than painting."""
    polygon = QPolygonF()
    polygon.resize(len(px))
    if len(px):
        memory = VoidPtr(polygon.data(), len(px) * 16, True)  # type: ignore[call-arg,arg-type]
        held = np.frombuffer(memory, dtype=np.float64).reshape(-1, 2)  # type: ignore[call-overload]
        held[:, 0], held[:, 1] = px, py
    return polygon


def dots(draw: Draw, points: QPolygonF, colour: QColor, size: float, *, square: bool = False) -> None:
    """Many filled marks of one kind in one go."""
    pen = QPen(colour, size)
    pen.setCapStyle(Qt.PenCapStyle.SquareCap if square else Qt.PenCapStyle.RoundCap)
    draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    draw.painter.setPen(pen)
    draw.painter.drawPoints(points)


def rings(draw: Draw, points: QPolygonF, colour: QColor, size: float, *, square: bool = False) -> None:
    """Many open marks, each over the one before, so that those close together can be told apart."""
    ratio = max(1.0, draw.painter.deviceTransform().m11())
    side = math.ceil(size) + 3
    stamp = QPixmap(QSize(round(side * ratio), round(side * ratio)))
    stamp.setDevicePixelRatio(ratio)
    stamp.fill(Qt.GlobalColor.transparent)
    with QPainter(stamp) as inner:
        one = QPolygonF([QPointF(side / 2, side / 2)])
        dots(Draw(inner, draw.theme), one, colour, size, square=square)
        dots(Draw(inner, draw.theme), one, draw.theme.canvas, size - _EDGE, square=square)
    for point in points.toList():
        draw.painter.drawPixmap(QPointF(point.x() - side / 2, point.y() - side / 2), stamp)


@dataclass(slots=True)
class Frame:
    """A rectangle with an x range and a y axis; the highest tick stands ``headroom`` below its top."""

    rect: QRectF
    x0: float
    x1: float
    y: Axis = UNIT
    headroom: float = 0.0

    def px(self, x: float) -> float:
        """Pixel column of a value."""
        return self.rect.left() + (x - self.x0) / max(self.x1 - self.x0, 1e-12) * self.rect.width()

    def py(self, y: float) -> float:
        """Pixel row of a value."""
        inner = max(1.0, self.rect.height() - self.headroom)
        return self.rect.bottom() - y / max(self.y.end, 1e-12) * inner

    def value_at(self, px: float) -> float:
        """The x value of a pixel column, within the range."""
        share = (px - self.rect.left()) / max(self.rect.width(), 1.0)
        return self.x0 + min(1.0, max(0.0, share)) * (self.x1 - self.x0)

    def points(self, xs: FloatArray, ys: FloatArray) -> QPolygonF:
        """A curve in pixels."""
        return polygon_of(*self.pixels(xs, ys))

    def pixels(self, xs: FloatArray, ys: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Columns and rows of many values at once."""
        inner = max(1.0, self.rect.height() - self.headroom)
        px = self.rect.left() + (xs - self.x0) / max(self.x1 - self.x0, 1e-12) * self.rect.width()
        py = self.rect.bottom() - np.minimum(ys / max(self.y.end, 1e-12), 1.2) * inner
        return px, py

    def grid(self, draw: Draw, labels: bool = True) -> None:
        """Horizontal lines with their values at the left, and the base line."""
        t, base = draw.theme, round(self.rect.bottom())
        for value in self.y.ticks:
            y = round(self.py(value))
            if value > 0:
                draw.line(self.rect.left(), y, self.rect.right(), y, t.grid)
            if labels:
                draw.text(
                    self.rect.left() - _BESIDE, self.py(value), self.y.text(value), t.ink3, align="right"
                )
        draw.line(self.rect.left(), base, self.rect.right(), base, t.axis)


def number_room(axes: Iterable[Axis], least: float) -> float:
    """Pixels left of a frame for the numbers of its axes: a number that is cut reads as another one."""
    texts = [text for axis in axes for _, text in axis.labels]
    return max(float(theme().px(least)), _BESIDE + 2 + max(map(text_width, texts), default=0.0))


def thinned(
    xs: FloatArray, ys: FloatArray, x0: float, x1: float, columns: int
) -> tuple[FloatArray, FloatArray]:
    """The largest value of each of ``columns`` stretches, so that a short peak is not lost."""
    if len(xs) <= columns or x1 <= x0:
        return xs, ys
    edges = np.searchsorted(xs, np.linspace(x0, x1, columns + 1)[:-1])
    edges = np.unique(np.minimum(edges, len(xs) - 1))
    return xs[edges], np.maximum.reduceat(ys, edges)


def steps(xs: FloatArray, ys: FloatArray, end: float) -> tuple[FloatArray, FloatArray]:
    """A curve that keeps each value until the next one."""
    if not len(xs):
        return xs, ys
    return np.append(np.repeat(xs, 2)[1:], end), np.repeat(ys, 2)


def fill_under(draw: Draw, frame: Frame, xs: FloatArray, ys: FloatArray, colour: QColor) -> None:
    """The area between a curve and the base line."""
    if len(xs) < 2:
        return
    polygon = frame.points(xs, ys)
    polygon.append(QPointF(frame.px(float(xs[-1])), frame.rect.bottom()))
    polygon.append(QPointF(frame.px(float(xs[0])), frame.rect.bottom()))
    draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    draw.painter.setPen(Qt.PenStyle.NoPen)
    draw.painter.setBrush(colour)
    draw.painter.drawPolygon(polygon)


def stroke(
    draw: Draw,
    frame: Frame,
    xs: FloatArray,
    ys: FloatArray,
    colour: QColor,
    width: float = 1.5,
    smooth: bool = True,
    dash: tuple[float, ...] = (),
) -> None:
    """A curve."""
    if len(xs) < 2:
        return
    pen = QPen(colour, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
    if dash:
        pen.setDashPattern([length / width for length in dash])
    draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, smooth)
    draw.painter.setPen(pen)
    draw.painter.setBrush(Qt.BrushStyle.NoBrush)
    draw.painter.drawPolyline(frame.points(xs, ys))
