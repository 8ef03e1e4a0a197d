"""Throughput against price (or a model's size) on a logarithmic axis: filled points meet every target."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPolygonF
from PySide6.QtWidgets import QWidget

from core.quantities import FloatArray
from core.units import three_digits
from gui.plots.canvas import Canvas, Frame, dots, polygon_of, rings
from gui.plots.draw import Align, Draw
from gui.plots.name_places import NamePlaces, around, led
from gui.plots.scales import Axis, value_axis
from gui.theme import Role

Sides = tuple[tuple[int, int, Align], ...]
_NEAR = 12.0  # pixels
# Places of a name: from the point to its beginning, its end or its middle.
_SIDES: Sides = ((8, 0, "left"), (-8, 0, "right"), (0, -11, "centre"), (0, 11, "centre"))
_FAR_SIDES: Sides = (
    *((9, -11, "left"), (-9, -11, "right"), (9, 11, "left"), (-9, 11, "right")),
    *((0, -22, "centre"), (0, 22, "centre"), (9, -22, "left"), (-9, -22, "right"), (0, -34, "centre")),
)  # fmt: skip
_LED = (32.0, 44.0, 58.0, 74.0, 92.0, 112.0)  # pixels to a name at the end of a line
_MOST_NAMES = 30
_WIDE = 12.0  # the fastest over the slowest, from which on heights are logarithmic


@dataclass(frozen=True, slots=True)
class Point:
    """One entry; ``best``: on the frontier, its name is written first."""

    x: float
    y: float
    label: str
    good: bool
    best: bool
    key: object


class PricePlot(Canvas):
    """``taken`` carries the key of a point that was clicked."""

    taken = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.caption = self.empty = ""
        self.with_names = True
        self.x_text: Callable[[float], str] = three_digits
        self._points: tuple[Point, ...] = ()
        self._seen: list[Point] = []
        self._shown: tuple[object, ...] = ()
        self._chosen: object = None
        self._pointed: Point | None = None
        self._frame = Frame(QRectF(), 0.0, 1.0)
        self._decade: float | None = None  # of the base line, where heights are logarithmic
        self._free = NamePlaces(QRectF(), np.zeros(0), np.zeros(0), ())
        self.setMouseTracking(True)

    def show_points(self, points: Sequence[Point], title: str, caption: str) -> None:
        """Show other points."""
        shown = (tuple(points), title, caption, self.with_names, self.empty)
        if shown == self._shown:
            return
        self._shown = shown
        self._points, self.title, self.caption = tuple(points), title, caption
        self._pointed = None
        self.setAccessibleName(title)
        self.renew()

    def choose(self, key: object) -> None:
        """Mark a point."""
        if key != self._chosen:
            self._chosen = key
            self.renew()

    def point_of(self, point: Point) -> QPointF:
        """Where a point stands."""
        return QPointF(self._frame.px(math.log10(point.x)), self._frame.py(self._height(point.y)))

    def _height(self, speed: float) -> float:
        """The speed as it is drawn: over more than a decade by its logarithm."""
        return math.log10(max(speed, 1e-9)) - self._decade if self._decade is not None else speed

    def still(self, draw: Draw) -> None:
        """Title, axes, points, as many names as there is room for."""
        for step in self.steps():
            step(draw)

    def steps(self) -> Sequence[Callable[[Draw], None]]:
        """Each takes some milliseconds for hundreds of points."""
        return self._axes, self._open_marks, self._full_marks, self._names

    def _axes(self, draw: Draw) -> None:
        t = draw.theme
        place = draw.text(0, t.px(10), self.title, t.ink, role="body_semibold")
        draw.text(place.right() + 10, t.px(10), self.caption, t.ink3)
        top, low_edge = t.px(28), t.px(19)
        rect = QRectF(t.px(40), top, self.width() - t.px(40) - 2, max(20.0, self.height() - top - low_edge))
        shown = self._seen = [p for p in self._points if p.x > 0 and math.isfinite(p.y)]
        good = [p for p in shown if p.good]
        frame = self._frame = Frame(rect, 3.0, 5.0, headroom=t.px(8))
        if not shown:
            frame.grid(draw, labels=False)
            if not self.empty:
                return
            middle = rect.center()
            wide = draw.width(self.empty)
            draw.fill(QRectF(middle.x() - wide / 2 - 8, middle.y() - t.px(9), wide + 16, t.px(18)), t.canvas)
            draw.text(middle.x(), middle.y(), self.empty, t.ink2, align="centre")
            return
        low, high = min(p.x for p in shown), max(p.x for p in shown)
        frame.x0, frame.x1 = _ends(low, high)
        self._fit_height(frame, [p.y for p in (good or shown)], rect.height() < 140)
        widest = max((draw.width(text) for _, text in self._ticks(frame)), default=0.0)
        rect.setLeft(max(rect.left(), math.ceil(widest) + 9))
        frame.rect = rect
        self._grid(draw, frame)
        self._axis(draw, frame)

    def _open_marks(self, draw: Draw) -> None:
        painter = draw.painter
        painter.save()
        painter.setClipRect(self._frame.rect.adjusted(-4, -6, 4, 4))
        least = self._decade if self._decade is not None else -math.inf
        missed = [p for p in self._seen if not p.good and math.log10(max(p.y, 1e-9)) >= least]
        rings(draw, self._polygon(missed), draw.theme.ghost, 5.5)
        painter.restore()

    def _full_marks(self, draw: Draw) -> None:
        good = [p for p in self._seen if p.good]
        rest, best = [p for p in good if not p.best], [p for p in good if p.best]
        for points, size in ((rest, 4.5), (best, 6.5)):
            polygon = self._polygon(points)
            dots(draw, polygon, draw.theme.canvas, size + 2.0)
            dots(draw, polygon, draw.theme.curve, size)

    def _names(self, draw: Draw) -> None:
        t, shown = draw.theme, self._seen
        # Off the base line, and off the numbers at the left.
        bounds = self._frame.rect.adjusted(4, 0, 0, -4)
        self._free = NamePlaces(bounds, *self._places(shown), draw.taken)
        chosen_one = next((p for p in shown if p.key == self._chosen), None)
        if chosen_one is not None:
            self._chosen_name(draw, chosen_one)
        good = sorted((p for p in shown if p.good), key=lambda p: (not p.best, -p.y))
        names = [p for p in good if p is not chosen_one]
        for point in names[: _MOST_NAMES if self.with_names else 0]:
            self._name(draw, point, t.ink if point.best else t.ink2)

    def _fit_height(self, frame: Frame, speeds: Sequence[float], low: bool) -> None:
        least, most = max(min(speeds), 1e-3), max(speeds)
        if most < _WIDE * least:
            self._decade = None
            frame.y = value_axis(most * 1.04, low=low)
            return
        marks = [math.log10(m) + e for e in range(-3, 9) for m in (1.0, 3.0)]
        self._decade = max(m for m in marks if m <= math.log10(least))
        top = min(m for m in marks if m >= math.log10(most))
        frame.y = Axis(top - self._decade, top - self._decade)

    def _ticks(self, frame: Frame) -> list[tuple[float, str]]:
        """Pixel row and text of each line of the grid."""
        if self._decade is None:
            return [(frame.py(value), frame.y.text(value)) for value in frame.y.ticks]
        exponents = range(math.floor(self._decade), math.ceil(self._decade + frame.y.end) + 1)
        speeds = [part * 10.0**exponent for exponent in exponents for part in (1.0, 3.0)]
        rows = [(frame.py(self._height(speed)), f"{speed:,.10g}") for speed in speeds]
        return [(y, text) for y, text in rows if frame.rect.top() <= y <= frame.rect.bottom() + 1]

    def _grid(self, draw: Draw, frame: Frame) -> None:
        if self._decade is None:
            frame.grid(draw)
            return
        t = draw.theme
        for y, text in self._ticks(frame):
            draw.line(frame.rect.left(), round(y), frame.rect.right(), round(y), t.grid)
            draw.text(frame.rect.left() - 7, y, text, t.ink3, align="right")
        base = round(frame.rect.bottom())
        draw.line(frame.rect.left(), base, frame.rect.right(), base, t.axis)

    def _chosen_name(self, draw: Draw, point: Point) -> None:
        """Always written: further off where nothing beside it is free, with a thin line to it."""
        t, at, rect = draw.theme, self.point_of(point), self._frame.rect
        draw.dot(at.x(), at.y(), t.accent, 6.0)
        role: Role = "caption_semibold"
        if self._name(draw, point, t.ink, role, _FAR_SIDES) or self._led_name(draw, point, t.ink, role):
            return
        wide = draw.width(point.label, role)
        x = min(max(at.x(), rect.left() + wide / 2 + 4), rect.right() - wide / 2 - 4)
        y = max(at.y() - t.px(13), rect.top() + t.px(6))
        self._free.take(draw.text(x, y, point.label, t.ink, role=role, align="centre"))

    def _led_name(self, draw: Draw, point: Point, colour: QColor, role: Role) -> bool:
        """The name at the end of the line that runs through the fewest points; False without room."""
        at, free = self.point_of(point), self._free
        best: tuple[int, float, float, Align, tuple[float, float, float, float]] | None = None
        for dx, dy, align in (one for far in _LED for one in around(far)):
            x, y = at.x() + dx, at.y() + dy
            if not free.free(draw.rect_of(x, y, point.label, role, align)):
                continue
            x0, y0, x1, y1 = led(dx, dy, 4.0)
            line = at.x() + x0, at.y() + y0, at.x() + x1, at.y() + y1
            met = free.on_line(*line)
            if best is None or met < best[0]:
                best = met, x, y, align, line
            if met == 0:
                break
        if best is None:
            return False
        _, x, y, align, line = best
        draw.line(*line, draw.theme.control)
        free.take_line(*line)
        free.take(draw.text(x, y, point.label, colour, role=role, align=align))
        return True

    def _name(
        self, draw: Draw, point: Point, colour: QColor, role: Role = "caption", more: Sides = ()
    ) -> bool:
        """Write the name where it covers nothing; False where there is no such place."""
        at, rect, half = self.point_of(point), self._frame.rect, draw.width(point.label, role) / 2
        if not (math.isfinite(at.x()) and math.isfinite(at.y())):
            return False
        for dx, dy, align in (*_SIDES, *more):
            x, y = at.x() + dx, at.y() + dy
            if align == "centre":  # at the edges as near as it goes
                least = rect.left() + 4 + half
                x = min(max(x, least), max(rect.right() - half, least))
            if self._free.free(draw.rect_of(x, y, point.label, role, align)):
                self._free.take(draw.text(x, y, point.label, colour, role=role, align=align))
                return True
        return False

    def _places(self, points: Sequence[Point]) -> tuple[FloatArray, FloatArray]:
        """In pixels, all at once: one by one takes longer than painting them."""
        values = np.array([(p.x, p.y) for p in points], dtype=np.float64).reshape(-1, 2)
        y = values[:, 1]
        if self._decade is not None:
            y = np.log10(np.maximum(y, 1e-9)) - self._decade
        return self._frame.pixels(np.log10(values[:, 0]), y)

    def _polygon(self, points: Sequence[Point]) -> QPolygonF:
        return polygon_of(*self._places(points))

    def _axis(self, draw: Draw, frame: Frame) -> None:
        t, y = draw.theme, frame.rect.bottom() + draw.theme.px(11)
        edge = frame.rect.left() - 20
        for power in range(math.floor(frame.x0), math.ceil(frame.x1) + 1):
            for part in (1.0, 3.0):
                value = part * 10.0**power
                at = frame.px(math.log10(value))
                if not frame.rect.left() - 1 <= at <= frame.rect.right() + 1:
                    continue
                x = min(max(at, frame.rect.left() + 0.5), frame.rect.right() - 0.5)
                draw.line(x, frame.rect.bottom() - 4, x, frame.rect.bottom(), t.axis)
                text = self.x_text(value)
                half = draw.width(text) / 2
                left = min(max(at - half, frame.rect.left() - half), frame.rect.right() - 2 * half)
                if left > edge + 8:
                    draw.text(left, y, text, t.ink3)
                    edge = left + 2 * half

    def moving(self, draw: Draw) -> None:
        """The point under the pointer with its values."""
        point = self._pointed
        if point is None:
            return
        t, at = draw.theme, self.point_of(point)
        draw.halo(at.x(), at.y(), t.ink, 6.0)
        said = f"{point.label}: {self.x_text(point.x)}, {three_digits(point.y)} tok/s"
        draw.fill(QRectF(0, 0, self.width(), t.px(20)), t.canvas)
        place = draw.text(0, t.px(10), self.title, t.ink, role="body_semibold")
        draw.text(place.right() + 10, t.px(10), said, t.ink2)

    # -- pointer ---------------------------------------------------------------------------------

    def _at(self, at: QPointF) -> Point | None:
        best: Point | None = None
        least = _NEAR**2
        for point in self._points:
            if point.x <= 0:
                continue
            away = self.point_of(point) - at
            distance = away.x() ** 2 + away.y() ** 2
            if distance < least:
                best, least = point, distance
        return best

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read the nearest point."""
        found = self._at(event.position())
        if found is not self._pointed:
            self._pointed = found
            self.setCursor(Qt.CursorShape.PointingHandCursor if found else Qt.CursorShape.ArrowCursor)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take it."""
        found = self._at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found is not None:
            self.taken.emit(found.key)

    def leaveEvent(self, event: object) -> None:
        """Read nothing."""
        self._pointed = None
        self.update()


def _ends(low: float, high: float) -> tuple[float, float]:
    """Ends in decades: at 1 or 3 of a decade, a little beyond the points."""
    marks = [math.log10(m) + e for e in range(-3, 16) for m in (1.0, 3.0)]
    first = max((m for m in marks if m <= math.log10(low) - 0.02), default=math.log10(low))
    last = min((m for m in marks if m >= math.log10(high) + 0.02), default=math.log10(high))
    return first, last
