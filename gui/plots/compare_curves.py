"""One quantity of the compared scenarios over users: a curve each, its letter where it ends."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from core.planning.curves import WorkloadCurves
from core.quantities import EXPECTED, FloatArray
from core.results import Estimate
from core.units import bare, memory_size, memory_unit, show_count, three_digits
from core.words import Words
from gui.plots.area import Curve
from gui.plots.base import PlotPane, has_point, users_of
from gui.plots.draw import Align, Draw, text_width
from gui.plots.latency_over_users import time_unit
from gui.plots.letters import badge, badge_beside
from gui.plots.name_places import apart
from gui.plots.scales import at, count_axis, largest, users_end, value_axis
from gui.theme import SERIES_MARKERS, series_dash

Kind = Literal["first_token", "per_token", "throughput", "memory"]
KINDS: tuple[Kind, ...] = ("first_token", "per_token", "throughput", "memory")
_NUMBERS: dict[Kind, str] = {  # that a click unfolds
    "first_token": "time_to_first_token",
    "per_token": "time_per_output_token",
    "throughput": "output_throughput",
    "memory": "memory_per_device",
}
_FAR = 4.0  # a target further above the curves than this is not drawn: it would flatten them
_BADGES = 30  # pixels kept free for the letters


@dataclass(frozen=True, slots=True)
class Series:
    """One scenario of a comparison; ``index`` 0 is the one under edit."""

    letter: str
    index: int
    estimate: Estimate
    curves: WorkloadCurves

    @property
    def runs(self) -> bool:
        """Whether its speeds are its own and not those of a scenario that would start."""
        return self.curves.load is not None and self.curves.change is None


class CompareCurves(PlotPane):
    """The scenario under edit has the handle; the others are dashed in their colours."""

    def __init__(self, words: Words, kind: Kind, parent: QWidget | None = None) -> None:
        self.kind: Kind = kind
        self.key = f"compare_{kind}"
        self.quantity = _NUMBERS[kind]
        self.series: tuple[Series, ...] = ()
        self._points: dict[tuple[int, float], tuple[FloatArray, FloatArray]] = {}
        self._lines: list[Curve] = []
        self.factor, self.unit = 1.0, ""
        super().__init__(words, parent)

    def build(self) -> None:
        """Panel, target; curves come with the series."""
        self.panel = self.area.add_panel()
        self.panel.x_text = show_count
        self.panel.headroom = 24.0  # the flag stands above every ring
        self.target_good = Curve(self.panel, 6, lambda t: t.good, width=1.2, dash=(4, 3))
        self.target_warn = Curve(self.panel, 6, lambda t: t.warn, width=1.2, dash=(4, 3))

    def show_series(self, series: tuple[Series, ...]) -> None:
        """Show scenarios, the one under edit first."""
        while len(self._lines) < len(series):
            number = len(self._lines)
            colour = lambda t, n=number: t.series_colour(n)  # noqa: E731
            line = Curve(self.panel, 20 - 0.1 * number, colour, dash=series_dash(number) or None)
            self._lines.append(line)
        self.series = series
        self._points.clear()
        if series:
            self.show(series[0].curves, series[0].estimate)

    # -- values ----------------------------------------------------------------------------------

    def points(self, one: Series) -> tuple[FloatArray, FloatArray]:
        """Users and SI values of a curve; empty where the scenario has none."""
        key = (one.index, self.panel.x.end)
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = self._points_of(one)
        return found

    def _points_of(self, one: Series) -> tuple[FloatArray, FloatArray]:
        if self.kind == "memory":
            users, values = one.curves.memory_users, np.asarray(one.curves.memory.bytes, dtype=np.float64)
            users, values = _extended(users, values, 0.0, self.panel.x.end)
            return users, np.minimum(values, _held(one)) if one.runs else values
        load = one.curves.load
        if load is None or not one.runs:
            return np.zeros(0), np.zeros(0)
        values = {
            "first_token": load.time_to_first_token,
            "per_token": load.time_per_output_token,
            "throughput": load.output_tokens_per_second,
        }[self.kind]
        return _extended(load.users, values[EXPECTED], one.curves.full_at, self.panel.x.end)

    def value_of(self, one: Series) -> float:
        """The value at the scenario's own operating point."""
        speed = one.estimate.speed
        if self.kind == "memory":
            return at(users_of(one.estimate), *self.points(one))
        if speed is None:
            return math.nan
        return {
            "first_token": speed.time_to_first_token,
            "per_token": speed.time_per_output_token,
            "throughput": speed.output_throughput,
        }[self.kind].expected

    def _target(self, estimate: Estimate) -> float | None:
        targets = estimate.scenario.targets
        if self.kind == "first_token":
            return targets.time_to_first_token_s
        if self.kind == "per_token" and targets.time_per_output_token_ms is not None:
            return targets.time_per_output_token_ms / 1e3
        return None

    # -- what a pane says for itself -------------------------------------------------------------

    def caption(self) -> str:
        """The unit of what is shown."""
        if self.kind == "memory":
            return self.words("plots.compare_memory.caption", unit=memory_unit())
        return "" if self._empty else self.unit

    def missing(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[str, ...]:
        """None of them starts."""
        if self.kind != "memory" and not any(one.runs for one in self.series):
            return (self.words("compare.none_starts"),)
        return ()

    def on_handle(self, point: QPointF) -> bool:
        """Only a scenario that runs has a handle."""
        return bool(self.series) and self.series[0].runs and super().on_handle(point)

    def layout_panels(self, inner: QRectF) -> None:
        """Room at the right for the letters."""
        self.panel.rect = inner.adjusted(0, 0, -_BADGES, 0)

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """As far as the furthest operating point needs; knees in view, what rises behind them may leave."""
        if not self.series:
            return
        ends = [
            users_end(users_of(s.estimate), min(s.curves.full_at, s.curves.memory.full_at))
            for s in self.series
        ]
        self.panel.x = count_axis(max(ends))
        self.panel.x_unit = self.words("plots.users_axis")
        wanted = max([self._wanted(one) for one in self.series], default=0.0)
        target = self._target(estimate)
        if target is not None and target < _FAR * max(wanted, 1e-12):
            wanted = max(wanted, 1.1 * target)
        if self.kind == "memory":
            self.unit, self.factor = memory_unit(), 1 / memory_size()
        elif self.kind == "throughput":
            self.unit, self.factor = self.words("units.tok_per_s"), 1.0
        else:
            self.unit, self.factor = time_unit(wanted)
            if self.kind == "per_token" and 1.0 <= wanted < 10.0:
                self.unit, self.factor = "ms", 1e3
        self.panel.y = value_axis(wanted * self.factor, low=True)

    def _wanted(self, one: Series) -> float:
        users, values = self.points(one)
        inside = users <= self.panel.x.end
        if not inside.any():
            return 0.0
        seen = largest(values[inside])
        if self.kind in ("throughput", "memory"):
            return seen
        calm = largest(values[inside & (users <= one.curves.full_at)])
        value = self.value_of(one)
        return max(min(seen, 2.5 * calm), value if math.isfinite(value) else 0.0)

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """A curve for each."""
        for index, line in enumerate(self._lines):
            if index < len(self.series):
                users, values = self.points(self.series[index])
                line.set(users, values * self.factor)
            else:
                line.clear()
        self.target_good.clear()
        self.target_warn.clear()
        target = self._target(estimate)
        if target is not None and target * self.factor <= self.panel.y_end:
            level = np.full(2, target * self.factor)
            line = self.target_good if self._met(target) else self.target_warn
            line.set(np.array([0.0, self.panel.x.end]), level)

    def _met(self, target: float) -> bool:
        return not self.value_of(self.series[0]) > target

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Operating point, markers, letters, the target's name."""
        if not self.series:
            return
        panel = self.panel
        users = users_of(estimate)
        if self.pointer is not None:
            self.crosshair(draw, [panel], self.pointer)
        handled = self.series[0].runs and has_point(estimate) and users <= panel.x.end
        if handled:
            self.operating_line(draw, [panel], users)
        for one in self.series:
            draw.avoid(*self._drawn(one))
        self._letters(draw)
        for one in reversed(self.series[1:]):
            self._mark(draw, one)
        if handled:
            value = self.value_of(self.series[0]) * self.factor
            if math.isfinite(value):
                self.ring(draw, panel.px(users), panel.py(min(value, panel.y_end)))
        self._target_name(draw, estimate)
        if self.pointer is not None:
            for one in self.series:
                value = at(self.pointer, *self.points(one)) * self.factor
                if value <= panel.y_end:
                    colour = draw.theme.series_colour(one.index)
                    draw.dot(panel.px(self.pointer), panel.py(value), colour)

    def _drawn(self, one: Series) -> tuple[FloatArray, FloatArray]:
        """A curve in pixels, where it has values."""
        panel = self.panel
        users, values = self.points(one)
        known = np.isfinite(values)
        users, drawn = users[known], values[known] * self.factor
        return (
            panel.rect.left() + panel.rect.width() * users / panel.x.end,
            panel.rect.bottom() - panel.rect.height() * drawn / panel.y_end,
        )

    def _letters(self, draw: Draw) -> None:
        panel = self.panel
        room = panel.rect.adjusted(0, 0, _BADGES, 0)
        ends = []
        for one in self.series:
            users, values = self.points(one)
            values = values * self.factor
            seen = np.isfinite(values) & (users <= panel.x.end) & (values <= panel.y_end)
            if not seen.any():
                continue
            beyond = np.isfinite(values) & (users > users[seen][-1])
            last = (
                at(panel.x.end, users, values)
                if not beyond.any() or values[beyond][0] <= panel.y_end
                else math.nan
            )
            if math.isfinite(last) and last <= panel.y_end:
                ends.append((panel.rect.right() + 6, panel.py(last), one))
            else:  # it leaves through the top
                ends.append((panel.px(float(users[seen][-1])) + 6, panel.rect.top() + 8, one))
        at_right = sorted((end for end in ends if end[0] > panel.rect.right()), key=lambda end: end[1])
        step = 16.0 * draw.theme.scale
        rows = apart([end[1] for end in at_right], step, room.top() + step / 2, room.bottom() - step / 2)
        for (x, _, one), y in zip(at_right, rows, strict=True):
            badge(draw, x, y, one.letter, one.index, room)
        for x, y, one in ends:
            if x <= panel.rect.right() and not badge_beside(
                draw, *self._drawn(one), one.letter, one.index, panel.rect
            ):
                badge(draw, x, y, one.letter, one.index, room)

    def _mark(self, draw: Draw, one: Series) -> None:
        """The marker of its series at its own operating point."""
        users, value = users_of(one.estimate), self.value_of(one) * self.factor
        panel = self.panel
        if not (one.runs and has_point(one.estimate) and math.isfinite(value)):
            return
        if users > panel.x.end or value > panel.y_end:
            return
        marker(draw, panel.px(users), panel.py(value), one.index)

    def _target_name(self, draw: Draw, estimate: Estimate) -> None:
        target = self._target(estimate)
        if target is None or target * self.factor > self.panel.y_end:
            return
        colour = draw.theme.good if self._met(target) else draw.theme.warn
        text = f"≤ {bare(three_digits(target * self.factor))}"
        panel = self.panel
        y, step = panel.py(target * self.factor), draw.theme.px(9)
        places: tuple[tuple[float, Align], ...] = (
            (panel.rect.left() + 4, "left"),
            (panel.rect.right() - 4, "right"),
        )
        for x, align in places:
            for dy in (-step, step):
                if draw.text_if_free(x, y + dy, text, colour, panel.rect, role="caption_medium", align=align):
                    return

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """All values there: "9 users: A 68, B 54 ms", as many as there is room for."""
        if not self.series:
            return ""
        parts = []
        for one in self.series:
            value = at(users, *self.points(one)) * self.factor
            if math.isfinite(value):
                parts.append(f"{one.letter} {three_digits(value)}")
        who = self.users_phrase(users)
        while parts:
            text = self.words("plots.compare_reading", users=who, values=" · ".join(parts), unit=self.unit)
            if text_width(text) <= self.width() or len(parts) == 1:
                return text
            parts.pop()
        return ""


def _held(one: "Series") -> float:
    """Bytes that no more users exceed: with all that fit inside, what the ledger and the table say."""
    full = users_of(one.estimate) >= max(1, one.estimate.capacity.at_once)
    return float(one.estimate.ledger.needed_bytes if full else one.curves.budget_bytes)


def _extended(
    users: FloatArray, values: FloatArray, full_at: float, end: float
) -> tuple[FloatArray, FloatArray]:
    """A curve drawn on to ``end``: past the limit a wait grows in a straight line, a rate stays as it is."""
    if len(users) < 2 or users[-1] >= end or users[-2] < full_at:
        return users, values
    slope = (values[-1] - values[-2]) / (users[-1] - users[-2])
    if not math.isfinite(slope):
        return users, values
    return np.append(users, end), np.append(values, values[-1] + slope * (end - users[-1]))


def marker(draw: Draw, x: float, y: float, index: int, size: float = 7.0) -> None:
    """The marker of a series: circle, square, triangle or diamond on the canvas."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return
    half = size / 2
    shapes = {
        "square": ((-half, -half), (half, -half), (half, half), (-half, half)),
        "triangle": ((0.0, -half - 0.5), (half + 0.5, half), (-half - 0.5, half)),
        "diamond": ((0.0, -half - 1), (half + 1, 0.0), (0.0, half + 1), (-half - 1, 0.0)),
    }
    draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    draw.painter.setPen(QPen(draw.theme.series_colour(index), 1.5, Qt.PenStyle.SolidLine))
    draw.painter.setBrush(draw.theme.canvas)
    shape = shapes.get(SERIES_MARKERS[index % len(SERIES_MARKERS)])
    if shape is None:
        draw.painter.drawEllipse(QPointF(x, y), half, half)
    else:
        draw.painter.drawPolygon(QPolygonF([QPointF(x + dx, y + dy) for dx, dy in shape]))
