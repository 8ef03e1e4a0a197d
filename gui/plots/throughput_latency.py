"""Throughput against latency: the frontier that the number of users runs along."""

import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor

from core.planning.curves import WorkloadCurves
from core.quantities import EXPECTED, FloatArray
from core.results import Estimate
from core.serving.load import LoadCurve
from core.units import show_count, show_limit, show_time, three_digits
from gui.plots.area import Curve, Look, Panel
from gui.plots.base import PlotPane, has_point, users_of
from gui.plots.draw import Align, Draw
from gui.plots.grips import REACH, Grip, next_limit, pulled, round_limit
from gui.plots.latency_over_users import time_unit
from gui.plots.measured_marks import Marks
from gui.plots.scales import at, largest, span_axis, value_axis

_GRIP = 12.0  # pixels around the ring that take it
_ARROW = 90.0  # pixels at the end that stand for a target beside the picture
_APART = 15.0  # pixels between marked points
# Where a name may stand beside its point, and beside the end of a line: offset and alignment.
_BESIDE: tuple[tuple[float, float, Align], ...] = (
    (5, 12, "left"),
    (7, 0, "left"),
    (0, 14, "centre"),
    (-7, -8, "right"),
    (0, -13, "centre"),
)
_AT_END: tuple[tuple[float, float, Align], ...] = ((8, -13, "centre"), (8, 0, "left"), (-4, -13, "right"))


class ThroughputLatency(PlotPane):
    """Output tokens per second over the time of a token, points marked by users."""

    key = "throughput_latency"
    quantity = "output_throughput"
    off_curves = True

    def build(self) -> None:
        """One panel; the tint of the missed region lies under the grid."""
        panel = self.area.add_panel()
        self.panel = panel
        self.factor, self.unit = 1e3, "ms"
        self._name_at = QRectF()  # of the target
        self.missed = Curve(panel, 0, fill=lambda t: t.missed_region)
        self.target = Curve(panel, 6, lambda t: t.warn, width=1.2, dash=(4, 3))
        self.ghost_lines = [Curve(panel, 8, lambda t: t.ghost, width=1.5, dash=(5, 3)) for _ in range(3)]
        self.line = Curve(panel, 10, lambda t: t.curve)

    def look(self) -> Look:
        """Dashed when the curve is that of another scenario than the one set."""
        if self._stale:
            return "muted"
        return "ghost" if self.curves is not None and self.curves.change is not None else "plain"

    def dress(self, curve: Curve, look: Look) -> None:
        """The target stays as it is."""
        curve.look = look if curve is self.line else "plain"

    def caption(self) -> str:
        """The units, or which scenario is shown instead."""
        if self.curves is not None and self.curves.change is not None:
            return self.shown_with(self.curves.change)
        whole, brief = (
            self.words(f"plots.throughput_latency.{key}", unit=self.unit)
            for key in ("caption", "caption_brief")
        )
        return self.with_rate(whole, brief)

    def missing(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[str, ...]:
        """Nothing starts, and no single change helps."""
        if curves.load is None:
            return (self.words("plots.no_speed"), self.words("plots.no_change"))
        return ()

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Operating point and target in view; the far end of the frontier may leave the picture."""
        if curves.load is None:
            return
        x, y = _frontier(curves.load, curves.full_at)
        here, output = self._operating_point(curves, estimate)
        low, wanted = self._span(curves, estimate, here)
        self.unit, self.factor = time_unit(wanted)
        if 1.0 <= wanted < 10.0:
            self.unit, self.factor = "ms", 1e3
        self.panel.x = span_axis(low * self.factor, wanted * self.factor)
        self.panel.x_text = self.panel.x.text
        self.panel.x_unit = "{n} " + self.unit
        inside = x * self.factor <= self.panel.x.end
        top = largest(y[inside], output)
        for ghost in self.ghosts:
            if ghost.curves.load is not None:
                gx, gy = _frontier(ghost.curves.load, ghost.curves.full_at)
                top = max(top, largest(gy[gx * self.factor <= self.panel.x.end]))
        self.panel.y = value_axis(1.12 * top)

    def _span(self, curves: WorkloadCurves, estimate: Estimate, here: float) -> tuple[float, float]:
        """Seconds per token in view: the frontier, less of it where it goes far beyond the operating point.

        The target is in view when it is near; else an arrow at the edge says where it is.
        """
        if curves.load is None:
            return 0.0, 0.0
        others = [g.curves for g in self.ghosts if g.curves.load is not None]
        ends = []
        for shown in (curves, *others):
            if shown.load is not None:
                x = _frontier(shown.load, shown.full_at)[0]
                x = x[np.isfinite(x)]
                ends.append((float(x.min()), float(x.max())) if x.size else (math.inf, 0.0))
        low, high = ends[0]
        if math.isfinite(here):
            low, high = min(low, here), max(min(high, 4.0 * here), here)
        most = 1.6 * high
        low = min(low, *(a for a, _ in ends))
        high = max(high, *(min(b, most) for _, b in ends))
        if not math.isfinite(low):
            return 0.0, high
        margin = 0.15 * max(high - low, 0.25 * high)
        low, high = max(0.0, low - margin), high + margin
        target = self._target_seconds(estimate)
        if target is not None and low - 0.6 * (high - low) < target < high + 0.6 * (high - low):
            low = min(low, max(0.0, target - margin))
            high = max(high, target + 0.3 * (high - low))
        return low, high

    def _operating_point(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[float, float]:
        """Seconds per token and tokens per second: of the estimate, or of the curve shown instead."""
        if estimate.speed is not None:
            return estimate.speed.time_per_output_token.expected, estimate.speed.output_throughput.expected
        if curves.load is None:
            return math.nan, math.nan
        users = users_of(estimate)
        return at(users, curves.load.users, _tpot(curves.load)), at(
            users, curves.load.users, _throughput(curves.load)
        )

    def _target_seconds(self, estimate: Estimate) -> float | None:
        per_token = estimate.scenario.targets.time_per_output_token_ms
        return None if per_token is None else per_token / 1e3

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Frontier, region, ghosts."""
        if curves.load is None:
            return
        panel = self.panel
        self.line.set(*self._to_the_point(curves, estimate))
        target = self._target_seconds(estimate)
        edge = math.inf if target is None else target * self.factor
        self.missed.area(max(edge, panel.x.start), panel.x.end, 0, panel.y_end)
        if panel.x.start <= edge < panel.x.end:
            self.target.set(np.array([edge, edge]), np.array([0, panel.y_end]))
        else:
            self.target.clear()
        for index, line in enumerate(self.ghost_lines):
            other = self.ghosts[index].curves if index < len(self.ghosts) else None
            if other is None or other.load is None:
                line.clear()
            else:
                gx, gy = _frontier(other.load, other.full_at)
                self.ghosts[index].dress(line)
                line.set(gx * self.factor, gy)

    def _to_the_point(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[FloatArray, FloatArray]:
        """The frontier, and on to the operating point of more users than fit."""
        assert curves.load is not None
        users = users_of(estimate)
        if estimate.scenario.workload.load != "users" or not max(curves.full_at, 1.0) < users < math.inf:
            x, y = _frontier(curves.load, curves.full_at)
            return x * self.factor, y
        x, y = _frontier(curves.load, users)
        here = self._operating_point(curves, estimate)
        return np.append(x, here[0]) * self.factor, np.append(y, here[1])

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Points with their users, the region's name, the operating point."""
        load, panel, current = curves.load, self.panel, draw.theme
        if load is None:
            return
        ring = self._ring_at(estimate)
        users = users_of(estimate)
        if ring is not None:
            x, y = ring.x(), ring.y()
            draw.avoid(*panel.pixels(*self._to_the_point(curves, estimate)))
            self._flag(draw, x, y, self.users_text(users))
            draw.taken.append(QRectF(x - 8, y - 8, 16, 16))
        self._region_name(draw, estimate)
        self._ghost_names(draw)
        for ghost in self.ghosts:
            if (other := ghost.curves.load) is not None:
                gx, gy = _frontier(other, ghost.curves.full_at)
                draw.avoid(*panel.pixels(gx * self.factor, gy))
        self._points(draw, curves, users if ring is not None else math.nan)
        if self.pointer is not None:
            px = panel.px(at(self.pointer, load.users, _tpot(load)) * self.factor)
            py = panel.py(at(self.pointer, load.users, _throughput(load)))
            if panel.rect.adjusted(-1, -1, 1, 1).contains(px, py):
                draw.line(px, panel.rect.top(), px, round(panel.rect.bottom()), current.control)
                draw.dot(px, py, current.curve)
        if ring is not None:
            self.ring(draw, ring.x(), ring.y())

    def measured_at(self, marks: Marks) -> list[tuple[Panel, FloatArray, FloatArray]]:
        """Throughput at the time of a token."""
        return [(self.panel, marks.per_token * self.factor, marks.throughput)]

    def _flag(self, draw: Draw, x: float, y: float, text: str) -> None:
        """Above the ring, or beside it where the frontier is too steep."""
        panel = self.panel
        size = draw.flag_size(text)
        half, height = size.width() / 2, size.height()
        above = (x, y - 10 - height)
        for middle, top in (
            above,
            (x - half - 11, y - height / 2),
            (x + half + 11, y - height / 2),
            (x, y + 10),
        ):
            place = QRectF(QPointF(middle - half, top), size)
            if panel.rect.contains(place) and draw.free(place, 1.0):
                draw.flag(middle, top, text, panel.rect)
                return
        draw.flag(*above, text, panel.rect)

    def _points(self, draw: Draw, curves: WorkloadCurves, users: float) -> None:
        """Marks at round numbers of users; a name only where there is room for it."""
        load, panel, current = curves.load, self.panel, draw.theme
        if load is None:
            return
        colour = current.curve if self.line.look == "plain" else current.ghost
        places = []
        for index in curves.frontier:
            x = _tpot(load)[index] * self.factor
            y = _throughput(load)[index]
            seen = panel.x.start <= x <= panel.x.end and y <= panel.y_end
            if not (math.isfinite(x) and math.isfinite(y) and seen):
                continue
            if abs(load.users[index] - users) < 0.5:
                continue
            places.append((panel.px(x), panel.py(y), float(load.users[index])))
        known = {count for _, _, count in places}
        ends = [end for end in self._end(curves) if end[2] not in known]
        places = [*ends, *places]
        kept: list[tuple[float, float, float]] = []
        for px, py, count in reversed(places):  # the most users first: they are asked for
            if all(math.hypot(px - x, py - y) >= _APART for x, y, _ in kept):
                rect = QRectF(px - 4, py - 4, 8, 8)
                if draw.vacant(rect):
                    draw.ring(px, py, colour, size=6, edge=1.5)
                    kept.append((px, py, count))
                draw.taken.append(rect)
        for px, py, count in sorted(kept, key=lambda place: place not in ends):
            text = show_count(count)
            for dx, dy, align in (_BESIDE[1], *_BESIDE) if (px, py, count) in ends else _BESIDE:
                if draw.text_if_free(
                    px + dx,
                    py + current.px(dy),
                    text,
                    current.ink2,
                    panel.rect,
                    align=align,
                ):
                    break

    def _end(self, curves: WorkloadCurves) -> list[tuple[float, float, float]]:
        """The end of the curve, in pixels, with its users: there the cache is full."""
        load, panel, full = curves.load, self.panel, curves.full_at
        if load is None or not 1.0 <= full <= load.users[-1]:
            return []
        x, y = at(full, load.users, _tpot(load)) * self.factor, at(full, load.users, _throughput(load))
        if not (panel.x.start <= x <= panel.x.end and y <= panel.y_end):
            return []
        return [(panel.px(x), panel.py(y), float(math.floor(full + 1e-6)))]

    def _region_name(self, draw: Draw, estimate: Estimate) -> None:
        target, panel = self._target_seconds(estimate), self.panel
        self._name_at = QRectF()
        if target is None:
            return
        value = show_limit(target)
        y = panel.rect.top() + draw.theme.px(11)
        if target * self.factor >= panel.x.end:
            text, x = f"≤ {value} →", panel.rect.right() - 3
            colour = draw.theme.good
            self._name(draw, x, y, text, colour, "right")
            return
        if target * self.factor < panel.x.start:
            text, x = f"← ≤ {value}", panel.rect.left() + 4
            self._name(draw, x, y, text, draw.theme.warn, "left")
            return
        text = self.words("plots.throughput_latency.slower", value=value)
        draw.taken.append(
            QRectF(panel.px(target * self.factor) - 1, panel.rect.top(), 2, panel.rect.height())
        )
        edge = panel.px(target * self.factor)
        width = draw.width(text, "caption_medium")
        x = panel.rect.right() - 3
        if width + 8 > panel.rect.right() - edge:
            x = edge - 5
        self._name(draw, x, y, text, draw.theme.warn, "right")

    def _name(self, draw: Draw, x: float, y: float, text: str, colour: QColor, align: Align) -> None:
        """The target's name, which can be taken as its line can."""
        if draw.text_if_free(x, y, text, colour, self.panel.rect, role="caption_medium", align=align):
            self._name_at = QRectF(draw.taken[-1])

    def _ghost_names(self, draw: Draw) -> None:
        panel = self.panel
        for ghost in self.ghosts:
            if ghost.curves.load is None:
                continue
            x, y = _frontier(ghost.curves.load, ghost.curves.full_at)
            good = np.isfinite(x) & np.isfinite(y) & (x * self.factor <= panel.x.end) & (y <= panel.y_end)
            if not good.any():
                continue
            if ghost.series:
                self.ghost_name(draw, panel, ghost, x * self.factor, y)
                continue
            px, py = panel.px(float(x[good][-1]) * self.factor), panel.py(float(y[good][-1]))
            for dx, dy, align in _AT_END:
                if draw.text_if_free(
                    px + dx,
                    py + dy,
                    ghost.label,
                    draw.theme.ink2,
                    panel.rect,
                    role="caption_medium",
                    align=align,
                ):
                    break

    def _ring_at(self, estimate: Estimate) -> QPointF | None:
        """Where the operating point stands, in pixels, kept inside the panel."""
        if self.curves is None or self.curves.change is not None or not has_point(estimate):
            return None
        panel = self.panel
        seconds, output = self._operating_point(self.curves, estimate)
        x, y = min(max(seconds * self.factor, panel.x.start), panel.x.end), min(output, panel.y_end)
        if not (math.isfinite(x) and math.isfinite(y)):
            return None
        return QPointF(panel.px(x), panel.py(y))

    def grips(self) -> tuple[Grip, ...]:
        """The target; where it lies beside the picture, the arrow that says so."""
        target = None if self.estimate is None else self._target_seconds(self.estimate)
        if target is None:
            return ()
        panel, level = self.panel, target * self.factor
        beyond = not panel.x.start <= level < panel.x.end
        x = min(max(panel.px(level), panel.rect.left()), panel.rect.right())

        def near(point: QPointF) -> bool:
            if self._name_at.adjusted(-2, -2, 2, 2).contains(point):
                return True
            if not panel.rect.top() <= point.y() <= panel.rect.bottom():
                return False
            if not beyond:
                return abs(point.x() - x) <= REACH
            return abs(point.x() - x) <= _ARROW and point.y() <= panel.rect.top() + 2 * REACH + 12

        def value_at(point: QPointF) -> float:
            here = max(panel.value_at(point.x()), panel.x.end / 200)
            return round_limit(here / self.factor * 1e3)

        def drawn(start: QPointF, point: QPointF) -> float:
            right = point.x() - start.x()
            if beyond:
                out = right > 0 if level >= panel.x.end else right < 0
                return pulled(target * 1e3, right / panel.rect.width()) if out else value_at(point)
            off = x - start.x()  # its name stands beside it
            return value_at(point if abs(off) <= REACH else point + QPointF(off, 0))

        name = self.words("plots.grips.per_token", value=show_limit(target))
        mark = QPointF(x, panel.rect.bottom() - 8)
        path = "targets.time_per_output_token_ms"
        return (Grip(path, target * 1e3, True, near, value_at, next_limit, name, mark, drawn),)

    def on_handle(self, point: QPointF) -> bool:
        """Near the ring."""
        if self.estimate is None or self._empty:
            return False
        ring = self._ring_at(self.estimate)
        return ring is not None and math.hypot(ring.x() - point.x(), ring.y() - point.y()) <= _GRIP

    def users_at(self, point: QPointF) -> float:
        """Users of the nearest point of the frontier, measured in pixels."""
        if self.curves is None or self.curves.load is None:
            return math.nan
        load, panel = self.curves.load, self.panel
        # Distances to the segments, not to the points, so that users between two points are reached.
        inside = load.users <= max(self.curves.full_at, 1.0) + 1e-9
        x, y = panel.pixels(_tpot(load)[inside] * self.factor, _throughput(load)[inside])
        users = load.users[inside]
        good = np.isfinite(x) & np.isfinite(y)
        x, y, users = x[good], y[good], users[good]
        if users.size < 2:
            return float(users[0]) if users.size else math.nan
        dx, dy = np.diff(x), np.diff(y)
        length = np.maximum(dx * dx + dy * dy, 1e-12)
        share = np.clip(((point.x() - x[:-1]) * dx + (point.y() - y[:-1]) * dy) / length, 0.0, 1.0)
        distance = np.hypot(x[:-1] + share * dx - point.x(), y[:-1] + share * dy - point.y())
        nearest = int(np.argmin(distance))
        return float(users[nearest] + share[nearest] * (users[nearest + 1] - users[nearest]))

    def _snapped(self, users: float) -> int:
        return max(1, round(users)) if math.isfinite(users) else 1

    def _users_limit(self) -> float:
        return math.inf

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """Users, throughput, time of a token."""
        if curves.load is None:
            return ""
        return self.words(
            "plots.throughput_latency.reading",
            users=self.users_phrase(users),
            throughput=three_digits(at(users, curves.load.users, _throughput(curves.load))),
            per_token=show_time(at(users, curves.load.users, _tpot(curves.load))),
        )


def _tpot(load: LoadCurve) -> FloatArray:
    row: FloatArray = load.time_per_output_token[EXPECTED]
    return row


def _throughput(load: LoadCurve) -> FloatArray:
    row: FloatArray = load.output_tokens_per_second[EXPECTED]
    return row


def _frontier(load: LoadCurve, full_at: float) -> tuple[FloatArray, FloatArray]:
    """Seconds per token and tokens per second, from one user to the last that fits."""
    inside = (load.users >= 1.0) & (load.users <= max(full_at, 1.0) + 1e-9)
    return _tpot(load)[inside], _throughput(load)[inside]
