"""Latency over users: first token above, per output token below, one users axis for both."""

import math
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from core.explain.engine_notes import not_measured
from core.planning.curves import WorkloadCurves
from core.quantities import EXPECTED, HIGH, LOW, FloatArray
from core.results import Estimate
from core.serving.load import LoadCurve
from core.units import bare, show_count, show_limit, show_time, three_digits
from gui.plots.area import Curve, Look, Panel
from gui.plots.axes import panel_title
from gui.plots.base import PlotPane, has_point, users_of
from gui.plots.draw import Align, Draw, text_width
from gui.plots.grips import REACH, Grip, next_limit, pulled, round_limit
from gui.plots.load_words import what_is_full
from gui.plots.measured_marks import Marks
from gui.plots.scales import at, count_axis, largest, users_end, value_axis
from gui.theme import Role, theme

_NAMED = 24.0  # pixels from a line within which its name stands
_ARROW = 90.0  # pixels at the right end that stand for a target above the picture
_KNEE = 2.5  # times what is reached before the cache is full: how far behind it the picture follows
_FAR = 4.0  # a target further above the curves than this is not drawn: it would flatten them


def time_unit(seconds: float) -> tuple[str, float]:
    """Unit and factor of an axis that ends there."""
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        if seconds < limit:
            return unit, factor
    return "s", 1.0


@dataclass
class _Part:
    """One of the two panels with its curves."""

    name: str  # text key below "plots.latency_over_users."
    panel: Panel
    band: Curve
    target_good: Curve
    target_warn: Curve
    full: Curve
    ghosts: list[Curve]
    line: Curve
    factor: float = 1.0
    unit: str = "s"
    name_at: QRectF = field(default_factory=QRectF)  # of the target

    def values(self, load: LoadCurve) -> FloatArray:
        """(3, n) seconds."""
        return load.time_to_first_token if self.name == "first_token" else load.time_per_output_token

    def value(self, curves: WorkloadCurves, estimate: Estimate) -> float:
        """Seconds at the operating point: of the estimate, or of the curve shown instead."""
        if estimate.speed is not None:
            first = self.name == "first_token"
            speed = estimate.speed
            return (speed.time_to_first_token if first else speed.time_per_output_token).expected
        if curves.load is None:
            return math.nan
        return at(users_of(estimate), curves.load.users, self.values(curves.load)[EXPECTED])

    def target(self, estimate: Estimate) -> float | None:
        """Seconds."""
        targets = estimate.scenario.targets
        if self.name == "first_token":
            return targets.time_to_first_token_s
        per_token = targets.time_per_output_token_ms
        return None if per_token is None else per_token / 1e3

    def met(self, curves: WorkloadCurves, estimate: Estimate) -> bool:
        """Whether the value at the operating point, or of the curve shown instead, meets the target."""
        target = self.target(estimate)
        if target is None:
            return True
        value = self.value(curves, estimate)
        return not value > target


class LatencyOverUsers(PlotPane):
    """Two panels, since two curves in one would need two colours and two axes."""

    key = "latency_over_users"
    quantity = "time_to_first_token"
    off_curves = True

    def build(self) -> None:
        """Panels and curves."""
        self.parts = [self._part("first_token"), self._part("per_token")]
        self._upright: list[tuple[float, float]] = []  # lines that the names of the panels make room for
        self.parts[-1].panel.x_text = show_count
        for part in self.parts:
            part.panel.headroom = 32.0

    def quantity_at(self, point: QPointF | None) -> str:
        """That of the panel."""
        lower = point is not None and point.y() >= self.parts[1].panel.rect.top()
        return "time_per_output_token" if lower else self.quantity

    def _part(self, name: str) -> _Part:
        panel = self.area.add_panel()
        return _Part(
            name,
            panel,
            band=Curve(panel, 1, fill=lambda t: t.band),
            target_good=Curve(panel, 6, lambda t: t.good, width=1.2, dash=(4, 3)),
            target_warn=Curve(panel, 6, lambda t: t.warn, width=1.2, dash=(4, 3)),
            full=Curve(panel, 7, lambda t: t.ink3, width=1, dash=(1, 2)),
            ghosts=[Curve(panel, 8, lambda t: t.ghost, width=1.5, dash=(5, 3)) for _ in range(3)],
            line=Curve(panel, 10, lambda t: t.curve),
        )

    def look(self) -> Look:
        """Dashed when the curves are those of another scenario than the one set."""
        if self._stale:
            return "muted"
        return "ghost" if self.curves is not None and self.curves.change is not None else "plain"

    def dress(self, curve: Curve, look: Look) -> None:
        """Targets and the cache line stay as they are."""
        curve.look = look if any(curve is part.line for part in self.parts) else "plain"

    def caption(self) -> str:
        """What the band is, or which scenario is shown instead."""
        if self.curves is not None and self.curves.change is not None:
            return self.shown_with(self.curves.change)
        if self.estimate is not None and not_measured(self.estimate.scenario) is not None:
            return self.with_rate(self.words("plots.latency_over_users.caption_generic"))
        return self.with_rate(super().caption())

    def missing(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[str, ...]:
        """Nothing starts, and no single change helps."""
        if curves.load is None:
            return (self.words("plots.no_speed"), self.words("plots.no_change"))
        return ()

    def on_handle(self, point: QPointF) -> bool:
        """Only the curves of the scenario itself have a handle."""
        return self.curves is not None and self.curves.change is None and super().on_handle(point)

    def grips(self) -> tuple[Grip, ...]:
        """The targets, each in its panel."""
        if self.estimate is None:
            return ()
        found = [self._grip(part, target) for part in self.parts if (target := part.target(self.estimate))]
        return tuple(found)

    def _grip(self, part: _Part, target: float) -> Grip:
        """A target's line; where it lies above the picture, the arrow that says so."""
        panel, level = part.panel, target * part.factor
        first = part.name == "first_token"
        unit = 1.0 if first else 1e3  # of the field, for a second
        beyond = level > panel.y_end
        y = panel.rect.top() if beyond else panel.py(level)
        left = panel.rect.right() - _ARROW if beyond else panel.rect.left()

        def near(point: QPointF) -> bool:
            below = point.y() - y
            if abs(below) < _NAMED and part.name_at.adjusted(-2, -2, 2, 2).contains(point):
                return True
            high = 2 * REACH + theme().px(10) if beyond else REACH
            return left <= point.x() <= panel.rect.right() and -REACH <= below <= high

        def value_at(point: QPointF) -> float:
            here = max(panel.level_at(point.y()), panel.y_end / 200)
            return round_limit(here / part.factor * unit)

        def drawn(start: QPointF, point: QPointF) -> float:
            up = start.y() - point.y()
            if beyond:
                return pulled(target * unit, up / panel.rect.height()) if up > 0 else value_at(point)
            off = y - start.y()  # a name stands beside its line
            return value_at(point if abs(off) <= REACH else point + QPointF(0, off))

        path = "targets.time_to_first_token_s" if first else "targets.time_per_output_token_ms"
        name = self.words(f"plots.grips.{part.name}", value=show_limit(target))
        mark = QPointF(panel.rect.left() + 6, y)
        return Grip(path, target * unit, False, near, value_at, next_limit, name, mark, drawn)

    def layout_panels(self, inner: QRectF) -> None:
        """The upper panel has a little more, as the flag stands in it."""
        gap = 8.0
        room = inner.height() - gap
        upper = round(room * 0.53)
        for part, rect in zip(
            self.parts,
            (
                QRectF(inner.left(), inner.top(), inner.width(), upper),
                QRectF(inner.left(), inner.top() + upper + gap, inner.width(), room - upper),
            ),
            strict=True,
        ):
            part.panel.rect = rect
            part.panel.headroom = min(32.0, rect.height() * 0.3)

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """The knee and the targets in view; what rises behind the knee may leave the picture."""
        for part in self.parts:
            part.panel.x_unit = self.words("plots.users_axis") if part.panel.x_text else ""
        if curves.load is None:
            return
        x = count_axis(users_end(users_of(estimate), curves.full_at))
        load = curves.load
        inside = load.users <= x.end
        for part in self.parts:
            part.panel.x = x
            values = part.values(load)[:, inside]
            seen = largest(values[HIGH])
            before = load.users[inside] <= min(curves.full_at, x.end)
            calm, range_end = largest(values[EXPECTED][before]), largest(values[HIGH][before])
            wanted = min(seen, max(_KNEE * calm, 1.05 * range_end, largest(part.values(load)[HIGH, :1])))
            if curves.change is None:
                wanted = max(wanted, 1.1 * largest(part.value(curves, estimate)))
            target = part.target(estimate)
            if target is not None and target < _FAR * max(wanted, 1e-12):
                wanted = max(wanted, 1.15 * target)
            part.unit, part.factor = time_unit(wanted)
            if part.name == "per_token" and 1.0 <= wanted < 10.0:
                part.unit, part.factor = "ms", 1e3
            part.panel.y = value_axis(0.92 * wanted * part.factor, low=True)
            part.panel.title = self.words(f"plots.latency_over_users.{part.name}", unit=part.unit)

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Bands, curves, targets."""
        load = curves.load
        if load is None:
            return
        for part in self.parts:
            panel, values = part.panel, part.values(load) * part.factor
            end = panel.x.end
            part.line.set(load.users, values[EXPECTED])
            if curves.change is None and not self._stale:
                part.band.between(load.users, values[LOW], values[HIGH])
            else:
                part.band.clear()
            target = part.target(estimate)
            met = part.met(curves, estimate)
            part.target_good.clear()
            part.target_warn.clear()
            if target is not None and target * part.factor <= panel.y_end:
                level = target * part.factor
                (part.target_good if met else part.target_warn).set(
                    np.array([0, end]), np.array([level, level])
                )
            if curves.full_at < end:
                part.full.set(np.full(2, curves.full_at), np.array([0.0, panel.y_end]))
            else:
                part.full.clear()
            for index, ghost in enumerate(part.ghosts):
                other = self.ghosts[index].curves.load if index < len(self.ghosts) else None
                if other is None:
                    ghost.clear()
                else:
                    self.ghosts[index].dress(ghost)
                    ghost.set(other.users, part.values(other)[EXPECTED] * part.factor)

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Names of targets, the cache line, values at the operating point."""
        panels = [part.panel for part in self.parts]
        users = users_of(estimate)
        is_set = curves.change is None and has_point(estimate)  # the curves are those of the scenario itself
        if self.pointer is not None:
            self.crosshair(draw, panels, self.pointer)
        self._titles(draw, users if is_set else math.nan, curves.full_at)
        if is_set:
            self.operating_line(draw, panels, users)
        self._dots(draw, curves)
        for part in self.parts:
            self._obstacles(draw, part, curves, estimate)
            panel = part.panel
            if is_set:
                x = panel.px(users)
                draw.taken.append(QRectF(x - 1, panel.rect.top(), 2, panel.rect.height()))
            value = part.value(curves, estimate) * part.factor
            if is_set and math.isfinite(value):
                x, y = panel.px(users), panel.py(min(value, panel.y_end))
                draw.taken.append(QRectF(x - 7, y - 7, 14, 14))
                self._value(draw, panel, x, y, three_digits(value))
                self.ring(draw, x, y)
            for ghost in self.ghosts:
                if ghost.curves.load is not None:
                    values_of = part.values(ghost.curves.load)[EXPECTED] * part.factor
                    self.ghost_name(draw, panel, ghost, ghost.curves.load.users, values_of)
            self._target_name(draw, part, curves, estimate)
        self._full_name(draw, curves)

    def _titles(self, draw: Draw, users: float, full_at: float) -> None:
        """Names of the panels beside the operating line and its flag, and beside the line of the full cache.

        Still while the operating line is dragged.
        """
        panels = [part.panel for part in self.parts]
        first = panels[0]
        if not self._dragging:
            self._upright = []
            if math.isfinite(users):
                flag = draw.flag_place(first.px(users), first.rect.top(), self.users_text(users), first.rect)
                self._upright.append((flag.left(), flag.right()))
            if full_at < first.x.end:
                self._upright.append((first.px(full_at) - 1, first.px(full_at) + 1))
        widest = max((panel.title for panel in panels), key=lambda name: draw.width(name, "caption_medium"))
        for panel in panels:
            panel_title(draw, panel, self._upright, widest)

    def measured_at(self, marks: Marks) -> list[tuple[Panel, FloatArray, FloatArray]]:
        """First tokens above, times of a token below."""
        values = {"first_token": marks.first_token, "per_token": marks.per_token}
        return [(part.panel, marks.users, values[part.name] * part.factor) for part in self.parts]

    def _obstacles(self, draw: Draw, part: _Part, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Lines that no text should stand on: curve, target, where the cache is full."""
        panel, target = part.panel, part.target(estimate)
        if curves.load is not None:
            y = panel.rect.bottom() - panel.rect.height() * (
                part.values(curves.load)[EXPECTED] * part.factor / panel.y_end
            )
            draw.avoid(panel.rect.left() + panel.rect.width() * curves.load.users / panel.x.end, y)
        for ghost in self.ghosts:
            if (other := ghost.curves.load) is not None:
                draw.avoid(*panel.pixels(other.users, part.values(other)[EXPECTED] * part.factor))
        if target is not None:
            draw.taken.append(
                QRectF(panel.rect.left(), panel.py(target * part.factor) - 1, panel.rect.width(), 2)
            )
        if math.isfinite(curves.full_at):
            draw.taken.append(QRectF(panel.px(curves.full_at) - 1, panel.rect.top(), 2, panel.rect.height()))

    def _value(self, draw: Draw, panel: Panel, x: float, y: float, text: str) -> None:
        """The value beside the line, left of it and above the curve where there is room."""
        up = draw.theme.px(15)
        places: tuple[tuple[float, float, Align], ...] = (
            (-9, -up, "right"),
            (9, -up, "left"),
            (-9, up, "right"),
            (9, up, "left"),
            (-14, -up, "right"),
            (-9, -1.7 * up, "right"),
            (9, -1.7 * up, "left"),
            (-12, 0, "right"),
            (12, 0, "left"),
        )
        role: Role = "caption_semibold"
        for dx, dy, align in places:
            if draw.text_if_free(x + dx, y + dy, text, draw.theme.ink, panel.rect, role=role, align=align):
                draw.taken[-1].adjust(-6, -1, 6, 1)  # it is the number, other words keep away from it
                return
        # The number is what the plot is for: it stands on a plate where nothing is free.
        low = y - up < panel.rect.top() + 6
        side: Align = "left" if x < panel.rect.center().x() else "right"
        at_x, at_y = x + (9 if side == "left" else -9), y + (up if low else -up)
        plate = draw.rect_of(at_x, at_y, text, role, side).adjusted(-2, 1, 2, -1)
        draw.fill(plate, draw.theme.canvas)
        draw.text(at_x, at_y, text, draw.theme.ink, role=role, align=side)
        draw.taken[-1].adjust(-6, -1, 6, 1)

    def _target_name(self, draw: Draw, part: _Part, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Beside the end of its line; with an arrow when the line is far above the picture."""
        target, panel = part.target(estimate), part.panel
        part.name_at = QRectF()
        if target is None:
            return
        colour = draw.theme.good if part.met(curves, estimate) else draw.theme.warn
        text = f"≤ {bare(three_digits(target * part.factor))}"
        y, right, left = panel.py(target * part.factor), panel.rect.right() - 3, panel.rect.left() + 4
        if target * part.factor > panel.y_end:
            text, y = f"≤ {show_limit(target)} ↑", panel.py(panel.y.end)
        step = draw.theme.px(10)
        places: tuple[tuple[float, float, Align], ...] = (
            (right, -step, "right"),
            (right, step, "right"),
            (left, -step, "left"),
            (left, step, "left"),
        )
        for x, dy, align in places:
            if draw.text_if_free(x, y + dy, text, colour, panel.rect, role="caption_medium", align=align):
                part.name_at = QRectF(draw.taken[-1])
                return

    def _full_name(self, draw: Draw, curves: WorkloadCurves) -> None:
        """Beside the dotted line, where neither curve nor target runs."""
        panels = [part.panel for part in self.parts]
        if curves.full_at >= panels[0].x.end:
            return
        key = f"plots.latency_over_users.{what_is_full(curves, self.estimate)}"
        ink, step = draw.theme.ink3, draw.theme.px(8)
        sides: tuple[tuple[float, Align], ...] = ((7, "left"), (-7, "right"))
        for text in (self.words(key), self.words(f"{key}_short")):
            for panel in panels:
                x, low = panel.px(curves.full_at), panel.rect.bottom() - draw.theme.px(11)
                for dx, align in sides:
                    for row in range(int(panel.rect.height() // step) - 1):
                        if draw.text_if_free(x + dx, low - step * row, text, ink, panel.rect, align=align):
                            return
        # A line without a name is a riddle: it stands on a plate where nothing is free.
        panel, text = panels[0], self.words(f"{key}_short")
        x, low = panel.px(curves.full_at), panel.rect.bottom() - draw.theme.px(11)
        dx, align = sides[0] if x < panel.rect.center().x() else sides[1]
        draw.fill(draw.rect_of(x + dx, low, text, "caption", align).adjusted(-2, 1, 2, -1), draw.theme.canvas)
        draw.text(x + dx, low, text, ink, align=align)

    def _dots(self, draw: Draw, curves: WorkloadCurves) -> None:
        if self.pointer is None or curves.load is None:
            return
        for part in self.parts:
            value = at(self.pointer, curves.load.users, part.values(curves.load)[EXPECTED]) * part.factor
            if value <= part.panel.y_end:
                draw.dot(part.panel.px(self.pointer), part.panel.py(value), draw.theme.curve)

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """Both values, with their ranges where there is room."""
        if curves.load is None:
            return ""
        values, ranges = {}, {}
        for part in self.parts:
            low, middle, high = (at(users, curves.load.users, row) for row in part.values(curves.load))
            unit = show_time(middle).unit
            factor = {"µs": 1e6, "ms": 1e3}.get(unit, 1.0)
            values[part.name] = show_time(middle)
            ranges[part.name] = self.words(
                "plots.value_range",
                value=show_time(middle),
                low=three_digits(low * factor),
                high=three_digits(high * factor),
            )
        users_text = self.users_phrase(users)
        long = self.words("plots.latency_over_users.reading", users=users_text, **ranges)
        if text_width(long) <= self.width():
            return long
        return self.words("plots.latency_over_users.reading", users=users_text, **values)
