"""Memory of one device over users: the stack at the scenario's length, a thin line for each other length."""

import numpy as np
from PySide6.QtCore import QRectF

from core.memory.ledger import LineKey
from core.planning.curves import WorkloadCurves
from core.quantities import FloatArray
from core.results import Estimate
from core.spec.scenario import Scenario
from core.units import memory_size, memory_unit, show_count, three_digits
from core.words import counted
from gui.plots.area import Curve, Look, Panel
from gui.plots.base import Ghost, PlotPane, has_point, users_of
from gui.plots.draw import Draw
from gui.plots.grips import Grip
from gui.plots.length_grip import length_grip
from gui.plots.measured_marks import Marks
from gui.plots.memory_names import MemoryNames, until
from gui.plots.scales import at, count_axis, largest, users_end, value_axis
from gui.widgets.device_words import of_device
from gui.widgets.ledger_content import counted_users

_THIN: tuple[LineKey, ...] = ("activations", "graphs", "runtime")
_THIN_PIXELS = 3.5  # lower bands are merged with their neighbour


class MemoryOverUsers(PlotPane):
    """Where the line of the scenario's length crosses the budget, the cache is full."""

    key = "memory_over_users"
    shows_targets = False
    quantity = "concurrent_users"

    def title(self) -> str:
        """Of GPUs or of processors."""
        return of_device(self._scenario, self.words, "plots.memory_over_users.title")

    def caption(self) -> str:
        """Of GPUs or of processors."""
        return of_device(self._scenario, self.words, "plots.memory_over_users.caption", unit=memory_unit())

    @property
    def _scenario(self) -> Scenario | None:
        return self.estimate.scenario if self.estimate is not None else None

    def build(self) -> None:
        """Areas from below: weights, thin bands, cache; then lines."""
        panel = self.area.add_panel()
        self.panel = panel
        panel.x_text = show_count
        self.kv_area = Curve(panel, 1, fill=lambda t: t.ledger_tint["kv_cache"])
        self.weights_area = Curve(panel, 2, fill=lambda t: t.ledger_tint["weights"])
        self.bands = {key: Curve(panel, 3, fill=lambda t, k=key: t.ledger_tint[k]) for key in _THIN}  # type: ignore[misc]
        self.ghost_lines = [Curve(panel, 10, lambda t: t.ghost, width=1.5, dash=(5, 3)) for _ in range(3)]
        self.weights_edge = Curve(panel, 11, lambda t: t.ledger["weights"])
        self.kv_edge = Curve(panel, 12, lambda t: t.ledger["kv_cache"])
        self.budget = Curve(panel, 13, lambda t: t.curve, width=1.5)
        self.excess = Curve(panel, 13, lambda t: t.bad, width=1.5)

    def dress(self, curve: Curve, look: Look) -> None:
        """The stack keeps its colours when it does not fit; only what is out of date turns grey."""
        curve.look = "muted" if look == "muted" and curve in (self.kv_edge, self.weights_edge) else "plain"

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Room for the budget and, when it does not fit, for what is needed."""
        users, ceiling = users_of(estimate), float(curves.memory.users)
        near = users_end(users, ceiling)
        self.panel.x = count_axis(max(1.6 * users, 1.3 * near if ceiling < 5 * users else near))
        self.panel.x_unit = self.words("plots.users_axis")
        wanted = curves.budget_bytes * 1.04
        if not _starts(curves):
            shown = curves.memory_users <= self.panel.x.end
            wanted = max(wanted, 0.96 * largest(curves.memory.bytes[shown]))
        elif not estimate.ledger.fits:
            wanted = max(wanted, at(users, curves.memory_users, curves.memory.bytes))
        self.panel.y = value_axis(wanted / memory_size())

    def layout_panels(self, inner: QRectF) -> None:
        """One panel whose flag has a row of its own."""
        self.panel.rect = inner

    def grips(self) -> tuple[Grip, ...]:
        """The lines of the lengths: each stands for the prompt that makes requests so long."""
        if self.curves is None or self.estimate is None:
            return ()
        return (length_grip(self, self.curves, self.estimate),)

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Stack and lines."""
        end = self.panel.x.end
        fits = estimate.ledger.fits
        fixed = dict(curves.fixed)
        weights = fixed.get("weights", 0) / memory_size()
        self.weights_area.area(0, end, 0, weights)
        self.weights_edge.set(np.array([0, end]), np.array([weights, weights]))
        base = self._thin_bands(weights, fixed, end)
        stop = min(end, curves.memory.full_at) if fits else end
        x, top = until(curves.memory_users, curves.memory.bytes / memory_size(), stop)
        self.kv_area.between(x, np.full_like(x, base), np.maximum(top, base))
        self.kv_edge.set(x, top)
        budget = curves.budget_bytes / memory_size()
        used, unused = (self.budget, self.excess) if fits else (self.excess, self.budget)
        used.set(np.array([0, end]), np.array([budget, budget]))
        unused.clear()
        for index, curve in enumerate(self.ghost_lines):
            if index < len(self.ghosts):
                self.ghosts[index].dress(curve)
                curve.set(*_ghost_line(self.ghosts[index], end))
            else:
                curve.clear()

    def _thin_bands(self, base: float, fixed: dict[LineKey, int], end: float) -> float:
        """Lay the thin bands over the weights and return where they end.

        A band too low to be seen is merged with its neighbour.
        """
        parts: list[tuple[LineKey, float]] = [
            (k, fixed.get(k, 0) / memory_size()) for k in _THIN if fixed.get(k, 0) > 0
        ]
        merged: list[list[tuple[LineKey, float]]] = []
        for part in parts:
            if merged and self.panel.height_of(sum(size for _, size in merged[-1])) < _THIN_PIXELS:
                merged[-1].append(part)
            else:
                merged.append([part])
        if len(merged) > 1 and self.panel.height_of(sum(size for _, size in merged[-1])) < _THIN_PIXELS:
            merged[-2:] = [merged[-2] + merged[-1]]
        # A merged band has the colour of its largest part.
        sizes = {max(group, key=lambda part: part[1])[0]: sum(s for _, s in group) for group in merged}
        self.seams: list[float] = []
        for key in _THIN:
            size = sizes.get(key, 0.0)
            self.bands[key].area(0, end, base, base + size)
            base += size
            if size:
                self.seams.append(base)
        if any(self.panel.height_of(size) < _THIN_PIXELS for size in sizes.values()):
            self.seams = []
        self.thin_top = base
        return base

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Seams, names, capacity markers, operating point."""
        panel, current = self.panel, draw.theme
        rect, users, fits = panel.rect, users_of(estimate), estimate.ledger.fits
        in_sight = has_point(estimate) and users <= panel.x.end
        for seam in self.seams:
            y = panel.py(seam)
            draw.line(rect.left(), y, rect.right(), y, current.canvas)
        x = panel.px(users)
        thin = panel.py(self.thin_top)
        weights_top = panel.py(dict(curves.fixed).get("weights", 0) / memory_size())
        if in_sight:
            # A halo keeps the line apart from bands of any colour.
            draw.fill(QRectF(x - 1.5, thin, 3, weights_top - thin), current.canvas)
        if self.pointer is not None:
            self.crosshair(draw, [panel], self.pointer)
        if in_sight:
            self.operating_line(draw, [panel], users)
            draw.taken.append(QRectF(x - 2, rect.top(), 4, rect.height()))
        draw.taken.append(QRectF(rect.left(), thin, rect.width(), weights_top - thin))
        names = self._names(draw, curves, estimate)
        self._budget(draw, curves, names)
        names.areas()
        if self.pointer is not None:
            value = at(self.pointer, curves.memory_users, curves.memory.bytes) / memory_size()
            if value <= panel.y_end:
                draw.dot(panel.px(self.pointer), panel.py(value), current.ledger["kv_cache"])
        if in_sight:
            value = at(users, curves.memory_users, curves.memory.bytes)
            if fits and users > estimate.capacity.at_once:
                value = float(estimate.ledger.needed_bytes)
                self._held(draw, estimate, users)
            self.ring(draw, x, panel.py(min(value / memory_size(), panel.y_end)))
        if not fits:
            self._needed(draw, estimate, names)

    def _names(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> MemoryNames:
        return MemoryNames(
            self.panel, draw, self.words, curves, estimate, self.thin_top, ghosted=bool(self.ghosts)
        )

    def _budget(self, draw: Draw, curves: WorkloadCurves, names: MemoryNames) -> None:
        """What meets the budget, or goes beyond it; then the letters of other scenarios."""
        lines = [_ghost_line(ghost, self.panel.x.end) for ghost in self.ghosts]
        for line in lines:
            draw.avoid(*self.panel.pixels(*line))
        if _starts(curves):
            names.capacity()
        else:
            names.excess()
        for ghost, line in zip(self.ghosts, lines, strict=True):
            self.ghost_name(draw, self.panel, ghost, *line)

    def measured_at(self, marks: Marks) -> list[tuple[Panel, FloatArray, FloatArray]]:
        """What a monitor saw of one device."""
        return [(self.panel, marks.users, marks.memory / memory_size())]

    def _held(self, draw: Draw, estimate: Estimate, users: float) -> None:
        """Memory stays where it is while the rest of the users wait."""
        panel, count = self.panel, estimate.capacity.at_once
        held = estimate.ledger.needed_bytes / memory_size()
        y = panel.py(held)
        end = panel.px(users)
        draw.line(panel.px(count), y, end, y, draw.theme.ledger["kv_cache"], dash=(4, 3))
        text = self._needed_text(held, count)
        for dy in (11, 22, -11):
            row = y + draw.theme.px(dy)
            if draw.text_if_free(end - 8, row, text, draw.theme.ink, panel.rect, align="right"):
                break

    def _needed_text(self, needed: float, count: int) -> str:
        return self.words(
            "plots.memory_over_users.needed",
            memory=three_digits(needed),
            unit=memory_unit(),
            users=self.words.phrase(counted("units.users", count)),
        )

    def _needed(self, draw: Draw, estimate: Estimate, names: MemoryNames) -> None:
        """What the account beside it says, at the users that it counts."""
        panel, count = self.panel, counted_users(estimate)
        needed = estimate.ledger.needed_bytes / memory_size()
        x, y = panel.px(count), panel.py(needed)
        users = users_of(estimate)
        own = abs(count - users) < 0.5
        text = self._needed_text(needed, count)
        draw.avoid(*names.pixels(names.curves.memory, panel.x.end))
        draw.taken.append(QRectF(x - 5, y - 5, 10, 10))
        step = draw.theme.px(14)
        for dx, dy in (
            (8.0, -step),
            (8.0, -2.0 * step),
            (8.0, -3.0 * step),
            (10.0, step),
            (12.0, 2.0 * step),
        ):
            if draw.text_if_free(x + dx, y + dy, text, draw.theme.ink, panel.rect, role="caption_semibold"):
                break
        if not own:
            draw.ring(x, y, draw.theme.ink, size=6, edge=1.6)

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """Users, memory, and how much is spare or too much."""
        used = at(users, curves.memory_users, curves.memory.bytes)
        spare = (curves.budget_bytes - used) / memory_size()
        key = "reading_spare" if spare >= 0 else "reading_excess"
        return self.words(
            f"plots.memory_over_users.{key}",
            users=self.users_phrase(users),
            memory=three_digits(used / memory_size()),
            unit=memory_unit(),
            rest=three_digits(abs(spare)),
        )


def _starts(curves: WorkloadCurves) -> bool:
    """Whether anything is left for the cache."""
    return sum(size for _, size in curves.fixed) < curves.budget_bytes


def _ghost_line(ghost: Ghost, end: float) -> tuple[FloatArray, FloatArray]:
    """Memory of another scenario over users, as shown, until its own budget is full."""
    line = ghost.curves.memory
    return until(ghost.curves.memory_users, line.bytes / memory_size(), min(end, line.full_at))
