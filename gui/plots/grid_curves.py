"""A result over one input as a family of curves, one for each of several values of another."""

import math

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from core.planning.explore import Grid, family
from core.quantities import FloatArray
from core.units import show_count
from gui.contents.explore import TIMES, at_index, best_cell, nearest, places, scale_of
from gui.plots.draw import Align, Draw, text_width
from gui.plots.grid_plot import Cell, GridPlot, shown_names
from gui.plots.log_axis import LogAxis, log_axis
from gui.plots.name_places import apart
from gui.plots.scales import UNIT, Axis, value_axis
from gui.theme import Role

_MOST_LABEL = 120.0
_ALL = 8  # so many curves can be told apart: none is left out
_NEAR = 1.5  # times the largest value: a target within is in sight
_LOG_FROM = 40.0  # a spread beyond this is drawn in decades


class GridCurves(GridPlot):
    """The curve of the scenario's own value in ink, the others in grey, each named where it ends."""

    def __init__(self, *arguments: object) -> None:
        self.axis: Axis = UNIT
        self.factor, self.unit = 1.0, ""
        self.rows: tuple[int, ...] = ()
        super().__init__(*arguments)  # type: ignore[arg-type]

    def refill(self) -> None:
        """Which curves, and an axis for them."""
        picture = self.picture
        if picture is None:
            return
        grid = Grid(picture.x, picture.y, picture.result, picture.values, picture.starts, picture.meets)
        own = None if self.scenario is None else nearest(picture.y, self.scenario)
        best = best_cell(picture)  # the line above the picture speaks of it
        rows = set(range(len(picture.y.values)) if len(picture.y.values) <= _ALL else family(grid, 6))
        rows |= {row for row in (own, best.row if best else None) if row is not None}
        self.rows = tuple(sorted(rows))
        seen = self._values()[list(self.rows)]
        finite = seen[np.isfinite(seen)]
        most = self._top(finite) if finite.size else 0.0
        least = float(np.percentile(finite, 2.0)) if finite.size else 0.0
        self.unit, self.factor = scale_of(picture.result, most)
        if least > 0 and most / least > _LOG_FROM:
            self.axis = log_axis(least * self.factor, max(most, float(finite.max())) * self.factor, most=5)
        else:
            self.axis = value_axis(most * self.factor)

    def _top(self, finite: FloatArray) -> float:
        """How far up: all of it; of times, which end in a queue, most of it and where the target is met."""
        assert self.picture is not None
        highest = float(finite.max())
        if self.picture.result not in TIMES:
            return highest
        target = self._target()
        if target is not None and highest < target:
            return 1.1 * target if target <= _NEAR * highest else highest
        return max(float(np.percentile(finite, 96.0)), 1.1 * (target or 0.0))

    def _changed(self) -> None:
        self.refill()  # the labels that take room at the right are those of the curves
        self._lay_out()
        self.update()

    def _lay_out(self) -> None:
        super()._lay_out()
        if self.picture is not None:
            labels = [at_index(self.picture.y, row, self._words) for row in self.rows]
            right = max([min(text_width(label), _MOST_LABEL) for label in labels], default=0.0) + 10
            self.rect_.setRight(max(self.rect_.left() + 40, self.rect_.right() - right))

    def left_margin(self) -> float:
        """Of the values."""
        return max(text_width(self.axis.text(value)) for value in self.axis.ticks)

    def _values(self) -> FloatArray:
        assert self.picture is not None
        return np.where(self.picture.starts, self.picture.values, np.nan)

    def _up(self, value: float) -> float:
        place = (
            self.axis.place(value * self.factor) if isinstance(self.axis, LogAxis) else value * self.factor
        )
        return self.py(max(place, 0.0) / self.axis.end) if math.isfinite(place) else self.rect_.bottom()

    def point_of(self, cell: Cell) -> QPointF:
        """On the curve of the row."""
        assert self.picture is not None
        x = self.px(float(places(self.picture.x)[cell[1]]))
        value = float(self._values()[cell])
        return QPointF(x, self._up(value) if math.isfinite(value) else self.rect_.bottom())

    def cell_at(self, point: QPointF) -> Cell | None:
        """The column under the pointer on the curve nearest to it."""
        picture = self.picture
        if picture is None or not self.rect_.adjusted(-1, -1, 1, 1).contains(point) or not self.rows:
            return None
        across = (point.x() - self.rect_.left()) / self.rect_.width()
        column = int(abs(places(picture.x) - across).argmin())
        values = self._values()[list(self.rows), column]
        distances = [abs(self._up(v) - point.y()) if math.isfinite(v) else math.inf for v in values.tolist()]
        best = int(np.argmin(distances))
        return (self.rows[best], column) if math.isfinite(distances[best]) else None

    def _step(self, up: int, across: int, far: bool) -> None:
        if up and self.picture is not None and self.rows:
            start = self.cursor_cell or self.own_cell() or (self.rows[0], self.picture.values.shape[1] // 2)
            now = min(range(len(self.rows)), key=lambda i: abs(self.rows[i] - start[0]))
            self.cursor_cell = (self.rows[min(max(now + up, 0), len(self.rows) - 1)], start[1])
            self._point(self.cursor_cell)
            return
        super()._step(up, across, far)

    def caption(self) -> str:
        """Unit and inputs."""
        x, y = self.names()
        drawn, count = len(self.rows), len(self.picture.y.values) if self.picture is not None else 0
        key = "curves_caption" if drawn == count else "curves_of"
        said = self._words(f"explore.{key}_bare", x=x, y=y, n=show_count(drawn), count=show_count(count))
        return self._words("explore.with_unit", unit=self.unit, said=said) if self.unit else said

    def y_labels(self, draw: Draw) -> None:
        """Values at the left."""
        for value in self.axis.ticks:
            y = self.py(value / self.axis.end)
            draw.text(self.rect_.left() - 7, y, self.axis.text(value), draw.theme.ink3, align="right")

    def fill(self, draw: Draw) -> None:
        """Grid and target."""
        rect, t = self.rect_, draw.theme
        for value in self.axis.ticks[1:]:
            y = self.py(value / self.axis.end)
            draw.line(rect.left(), y, rect.right(), y, t.grid)
        target = self._target()
        y = self._up(target) if target is not None else -1.0
        if target is not None and rect.top() <= y < rect.bottom():
            pen = QPen(t.warn, 1.2)
            pen.setDashPattern([4 / 1.2, 3 / 1.2])
            draw.painter.setPen(pen)
            draw.painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y))
            text = f"≤ {target * self.factor:g}"
            draw.text(rect.left() + 4, y - t.px(9), text, t.warn, role="caption_medium")

    def _target(self) -> float | None:
        if self.scenario is None or self.picture is None:
            return None
        targets = self.scenario.targets
        if self.picture.result == "time_to_first_token":
            return targets.time_to_first_token_s
        if self.picture.result == "time_per_output_token" and targets.time_per_output_token_ms is not None:
            return targets.time_per_output_token_ms / 1e3
        return None

    def marks(self, draw: Draw) -> None:
        """Curves, their names, where the scenario is, the pointer."""
        assert self.picture is not None
        t, rect = draw.theme, self.rect_
        own = None if self.scenario is None else nearest(self.picture.y, self.scenario)
        draw.painter.save()
        draw.painter.setClipRect(rect.adjusted(0, -2, 0, 1))
        for row in sorted(self.rows, key=lambda row: row == own):
            self._curve(draw, row, t.curve if row == own else t.ghost, 2.0 if row == own else 1.5)
        draw.painter.restore()
        at = self.own_point()
        if at is not None:  # no name stands under its flag
            draw.taken.append(draw.flag_place(at.x(), rect.top(), self.own_reading(), rect))
        self._labels(draw, own)
        if at is not None:
            draw.line(at.x(), rect.top(), at.x(), round(rect.bottom()), t.accent)
            draw.flag(at.x(), rect.top(), self.own_reading(), rect)
            y = self._up(self.own_result) if math.isfinite(self.own_result) else -1.0
            if y >= rect.top():
                draw.ring(at.x(), y, t.accent)
        if self.pointer is not None:
            at = self.point_of(self.pointer)
            draw.line(at.x(), rect.top(), at.x(), round(rect.bottom()), t.control)
            if at.y() >= rect.top():
                draw.dot(at.x(), at.y(), t.ink)
                if self.hasFocus() and self.pointer == self.cursor_cell:
                    draw.focus(at.x(), at.y())

    def _curve(self, draw: Draw, row: int, colour: QColor, width: float) -> None:
        assert self.picture is not None
        values = self._values()[row]
        painter, path = draw.painter, QPainterPath()
        pen_down = False
        for place, value in zip(places(self.picture.x).tolist(), values.tolist(), strict=True):
            if not math.isfinite(value):
                pen_down = False
                continue
            point = QPointF(self.px(place), max(self._up(value), -2000.0))
            if pen_down and not self.picture.x.is_category:
                path.lineTo(point)
            else:
                path.moveTo(point)
            pen_down = True
            if self.picture.x.is_category:
                draw.dot(point.x(), point.y(), colour)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(colour, width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)

    def _labels(self, draw: Draw, own: int | None) -> None:
        """At the ends, from above, never on one another."""
        assert self.picture is not None
        t, rect = draw.theme, self.rect_
        ends = []
        for row in self.rows:
            values = self._values()[row]
            inside = [math.isfinite(v) and self._up(v) >= rect.top() - 2 for v in values.tolist()]
            good = np.flatnonzero(inside)
            if good.size:
                at = self.px(float(places(self.picture.x)[good[-1]]))
                ends.append((self._up(float(values[good[-1]])), at, row))
        names = [at_index(self.picture.y, row, self._words) for _, _, row in ends]
        shown = dict(zip((row for *_, row in ends), shown_names(draw, names, _MOST_LABEL), strict=True))
        last = sorted((y, row) for y, x, row in ends if x > rect.right() - 3)
        rows = apart([y for y, _ in last], t.px(14), rect.top(), rect.bottom())
        for y, (_, row) in zip(rows, last, strict=True):
            colour, role = self._dress(draw, row, own)
            draw.text(rect.right() + 6, y, shown[row], colour, role=role)
        for y, x, row in sorted(ends):
            if x <= rect.right() - 3:
                self._label_inside(draw, row, shown[row], (x, y), own)

    def _dress(self, draw: Draw, row: int, own: int | None) -> tuple[QColor, Role]:
        if row == own:
            return draw.theme.ink, "caption_semibold"
        return draw.theme.ink3, "caption"

    def _label_inside(
        self, draw: Draw, row: int, text: str, end: tuple[float, float], own: int | None
    ) -> None:
        """Beside the last point in sight, or further back along the curve where others stand."""
        assert self.picture is not None
        t, bounds = draw.theme, self.rect_.adjusted(0, 0, 120, 0)
        colour, role = self._dress(draw, row, own)
        xs = self.px(0.0) + places(self.picture.x) * self.rect_.width()
        ys = np.array([self._up(value) for value in self._values()[row].tolist()])
        seen = np.isfinite(self._values()[row]) & (ys >= self.rect_.top() - 2)
        back = zip(xs[seen][::-1].tolist(), ys[seen][::-1].tolist(), strict=True)
        sides: tuple[tuple[float, Align], ...] = ((5.0, "left"), (-5.0, "right"))
        for x, y in (end, *back):
            middle = max(y - t.px(8), self.rect_.top() + t.px(8))
            for off, align in sides:
                if draw.text_if_free(x + off, middle, text, colour, bounds, role=role, align=align):
                    return
