"""What the plots over users share: curves and estimate, the handle, the pointer's reading.

A plot says what to draw (``fit_axes``, ``plot``, ``decorate``) and where its handle is.  The pane never
changes a scenario: it emits ``users_dragged`` and is shown the answer.
"""

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from core.planning.curves import WorkloadCurves
from core.quantities import FloatArray
from core.results import Estimate
from core.units import show_count
from core.words import Phrase, Words, counted
from gui.plots.area import Curve, Panel
from gui.plots.draw import FLAG_HEIGHT, Draw, text_width
from gui.plots.grips import Grip, Grips, at_place
from gui.plots.letters import badge
from gui.plots.load_words import rate_caption, rate_reading
from gui.plots.measured_marks import Marks, paint_marks
from gui.plots.pane import Pane
from gui.theme import Theme, series_dash

_GRIP = 8.0  # pixels beside the operating line that still take it
_MAX_GHOSTS = 3
_FEW_MARKS = 40
_PLACES = 12  # parts of a line at whose seams its letter may stand
_CLICK = 3.0  # pixels that a pointer may move between press and release


@dataclass(frozen=True, slots=True)
class Ghost:
    """Curves of another scenario, drawn dashed behind, with a name at the end of the line.

    ``series``: the column of a pinned scenario, whose colour and dashes it has everywhere; 0: a passing
    alternative in grey.
    """

    label: str
    curves: WorkloadCurves
    series: int = 0
    estimate: Estimate | None = None  # for the plots that do not run over users
    name: str = ""  # what the letter stands for

    def dress(self, curve: Curve) -> None:
        """Give a curve the look of this ghost."""
        number = self.series
        if number:
            curve.line, curve.dash = (lambda t: t.series_colour(number)), series_dash(number)
        else:
            curve.line, curve.dash = _grey, _DASH


_DASH = (5.0, 3.0)


def _grey(t: Theme) -> QColor:
    return t.ghost


def users_of(estimate: Estimate) -> float:
    """Users at the operating point; half more than fit when more arrive than are answered."""
    users = estimate.speed.users if estimate.speed else float(estimate.scenario.workload.users)
    return users if math.isfinite(users) else 1.5 * max(1, estimate.capacity.max_users)


def has_point(estimate: Estimate) -> bool:
    """Whether there is an operating point: none when the queue grows for ever."""
    return estimate.speed is None or math.isfinite(estimate.speed.users)


class PlotPane(Pane):
    """A plot over users."""

    users_dragged = Signal(int)
    field_dragged = Signal(str, float)  # path and value that a line was dragged to
    drag_started = Signal()
    drag_finished = Signal()
    draggable = True
    shows_targets = True  # else it stays as it is while nothing but targets changes
    off_curves = False  # whether the ring of arrivals at a rate lies beside the curves
    quantity = ""  # key of the number that a click anywhere unfolds

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        self.curves: WorkloadCurves | None = None
        self.estimate: Estimate | None = None
        self.ghosts: tuple[Ghost, ...] = ()
        self.measured: Marks | None = None
        self.pointer: float | None = None  # users under the pointer
        self._dragging = False
        self._over_ring = False  # the pointer is on the operating point
        self._pressed_at: QPointF | None = None  # until the pointer moves on: a click
        self._asked: int | None = None  # asked for and not yet answered
        self.lines = Grips()
        super().__init__(words, parent)

    # What a plot says for itself

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Set the axes of the panels."""
        raise NotImplementedError

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Hand the data to the curves."""
        raise NotImplementedError

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Paint labels, targets' names, rings."""
        raise NotImplementedError

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """The sentence for the pointer."""
        raise NotImplementedError

    @property
    def ring_apart(self) -> bool:
        """Whether the ring is of arrivals at a rate, while the curves are of so many users who wait."""
        point, curves = self.estimate, self.curves
        if point is None or curves is None or curves.change is not None or point.speed is None:
            return False
        return point.scenario.workload.load == "requests" and has_point(point)

    def with_rate(self, whole: str, brief: str = "") -> str:
        """The caption, and why the ring lies beside the curves; ``brief`` where there is little room."""
        if self.estimate is None or not self.ring_apart:
            return whole
        beside = text_width(self.title(), "body_semibold") + 11 if self.compact else 0.0
        return rate_caption(self.words, self.estimate, whole, brief or whole, self.width() - beside)

    def missing(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[str, ...]:
        """Why there is nothing to draw, in lines; empty when there is."""
        return ()

    def users_at(self, point: QPointF) -> float:
        """Users at a place of the picture."""
        return self.area.panels[0].value_at(point.x())

    def on_handle(self, point: QPointF) -> bool:
        """Whether a press there takes the operating point."""
        if self.estimate is None or self._empty or not has_point(self.estimate):
            return False
        return abs(point.x() - self.area.panels[0].px(users_of(self.estimate))) <= _GRIP

    def grips(self) -> tuple[Grip, ...]:
        """The lines that can be dragged beside the operating point."""
        return ()

    @property
    def ready(self) -> bool:
        """Whether curves have come."""
        return self.curves is not None and self.estimate is not None

    def draw_data(self) -> None:
        """The curves of the plot."""
        if self.curves is not None and self.estimate is not None:
            self.plot(self.curves, self.estimate)

    def paint_over(self, draw: Draw) -> None:
        """The marks of the plot."""
        if self.curves is not None and self.estimate is not None:
            if self.measured is not None:  # under the operating point
                for panel, xs, ys in self.measured_at(self.measured):
                    paint_marks(draw, panel, xs, ys)
                    self._keep_clear(draw, panel, xs, ys)
            self.decorate(draw, self.curves, self.estimate)
            self.grip_focus(draw)

    def _keep_clear(self, draw: Draw, panel: Panel, xs: FloatArray, ys: FloatArray) -> None:
        """No name stands on a measured mark, as long as they are few."""
        if len(xs) <= _FEW_MARKS:
            px, py = panel.pixels(xs, ys)
            places = zip(px.tolist(), py.tolist(), strict=True)
            draw.taken += [QRectF(x - 5, y - 5, 10, 10) for x, y in places if math.isfinite(x + y)]

    def read(self) -> tuple[str, str]:
        """At the pointer, and at the operating point."""
        if self.curves is None or self.estimate is None:
            return "", ""
        reading = ""
        if self.pointer is not None:
            reading = self.reading_at(self.pointer, self.curves, self.estimate)
        spoken = self.reading_at(users_of(self.estimate), self.curves, self.estimate)
        if self.ring_apart and self.off_curves:
            spoken = rate_reading(self.words, self.key, self.estimate, self.width())
            reading = spoken if self._over_ring else reading
        grips = self.grips()
        if not grips:
            return reading, spoken
        names = {grip.path: grip.name for grip in grips}
        shown = self.lines.over or (self.lines.chosen if self.area.keyboard_focus else "")
        mark = self.words("plots.roofline.list_mark")
        told = self.words("plots.grips.spoken", names=mark.join(names.values()))
        return names.get(shown, reading), f"{spoken} {told}"

    # What the window calls

    def show(self, curves: WorkloadCurves | None = None, estimate: Estimate | None = None) -> None:
        """Show new curves.  Without arguments: make the widget visible, as Qt means it."""
        if curves is None or estimate is None:
            super().show()
            return
        stays = curves is self.curves and not (self.shows_targets or self._stale or self._dragging)
        self.curves, self.estimate = curves, estimate
        self._stale, self._asked = False, None
        self.lines.answered()
        if stays:
            return
        self._empty = self.missing(curves, estimate)
        if not self._dragging:
            self._fit(curves, estimate)
        self._layout()

    def _fit(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        if self._empty:
            self._clear_axes()
        else:
            self.fit_axes(curves, estimate)

    def measured_at(self, marks: Marks) -> list[tuple[Panel, FloatArray, FloatArray]]:
        """Where measured runs stand: x and y in the units of each panel; nowhere unless a plot says so."""
        return []

    def show_measured(self, marks: Marks | None) -> None:
        """Marks of measured runs over the curves; None takes them away."""
        self.measured = marks
        self.area.refresh()

    def show_ghosts(self, ghosts: tuple[Ghost, ...]) -> None:
        """Curves of other scenarios behind the own; at most three."""
        self.ghosts = ghosts[:_MAX_GHOSTS]
        if self.curves is not None and self.estimate is not None:
            self._fit(self.curves, self.estimate)
        self._layout()

    def legend(self) -> str:
        """What the letters in the plot stand for: "B Llama-3.1-70B · C …"; "" without any."""
        if self._empty:
            return ""  # none of them is drawn either
        told = [f"{ghost.label} {ghost.name}" for ghost in self.ghosts if ghost.series and ghost.name]
        return self.words("plots.legend_mark").join(told)

    def short_legend(self) -> str:
        """The letters alone."""
        letters = () if self._empty else tuple(g.label for g in self.ghosts if g.series and g.name)
        return self.words("plots.letters", letters=letters) if letters else ""

    def ghost_name(self, draw: Draw, panel: Panel, ghost: Ghost, xs: FloatArray, ys: FloatArray) -> None:
        """The letter of a pinned scenario where its curve leaves the panel."""
        seen = np.isfinite(xs) & np.isfinite(ys) & (xs <= panel.x.end) & (ys <= panel.y_end)
        if not ghost.series or not seen.any():
            return
        px, py = panel.pixels(xs[seen], ys[seen])
        steps = np.linspace(px[-1], px[0], _PLACES + 1)[1:-1]
        along = list(zip(steps.tolist(), np.interp(steps, px, py).tolist(), strict=True))
        badge(draw, float(px[-1]) + 4, float(py[-1]), ghost.label, ghost.series, panel.rect, along)

    def operating_line(self, draw: Draw, panels: list[Panel], users: float) -> None:
        """The accent line through the panels, from under its flag down."""
        x = panels[0].px(users)
        draw.flag(x, panels[0].rect.top(), self.users_text(users), panels[0].rect)
        top = panels[0].rect.top() + FLAG_HEIGHT * draw.theme.scale
        for panel in panels:
            start = top if panel is panels[0] else panel.rect.top()
            draw.line(x, start, x, round(panel.rect.bottom()), draw.theme.accent)

    def ring(self, draw: Draw, x: float, y: float) -> None:
        """The handle."""
        draw.ring(x, y, draw.theme.accent)
        if self.area.keyboard_focus:
            draw.focus(x, y)

    def grip_focus(self, draw: Draw) -> None:
        """Where the line is that the keys move."""
        if not self.area.keyboard_focus or not self.lines.chosen:
            return
        for grip in self.grips():
            if grip.path == self.lines.chosen:
                draw.dot(grip.mark.x(), grip.mark.y(), draw.theme.accent, 7.0)
                draw.halo(grip.mark.x(), grip.mark.y(), draw.theme.accent, 7.0)

    def crosshair(self, draw: Draw, panels: list[Panel], users: float) -> None:
        """The pointer's hairline."""
        x = panels[0].px(users)
        for panel in panels:
            draw.line(x, panel.rect.top(), x, round(panel.rect.bottom()), draw.theme.control)

    def users_text(self, users: float) -> str:
        """Whole users, or one decimal where an arrival rate gives a part of one."""
        if abs(users - round(users)) < 1e-6 or users >= 20:
            return show_count(round(users))
        return f"{users:.1f}"

    def shown_with(self, change: Phrase) -> str:
        """Which scenario is shown instead; without the reason, which the cards give, beside a title."""
        key = "plots.not_started_brief" if self.compact else "plots.not_started"
        return self.words(key, change=self.words.phrase(change))

    def users_phrase(self, users: float) -> str:
        """ "1 user", "12 users"."""
        return self.words.phrase(counted("units.users", round(users)))

    # Pointer and keys

    def _snapped(self, users: float) -> int:
        end = self.area.panels[0].x.end
        return int(min(max(round(users), 1), max(1, math.floor(end + 1e-9))))

    def quantity_at(self, _point: QPointF | None) -> str:
        """Key of the number that is unfolded by a click at a place, or by Enter."""
        return self.quantity

    def _press(self, point: QPointF) -> None:
        self._pressed_at = point if self.ready and not self._empty else None
        if self._pressed_at is None or not self.draggable:
            return
        if not self.on_handle(point) and not self.lines.take(self.grips(), point):
            return
        self._dragging = True
        self.drag_started.emit()
        self.pointer, self._reading = None, ""
        self.area.refresh()
        self._refresh_heading()

    def _move(self, point: QPointF) -> None:
        start = self._pressed_at
        if start is not None and (point - start).manhattanLength() > _CLICK:
            self._pressed_at = None
        if self._dragging and self.lines.held is not None:
            self._ask_field(self.lines.drag(point) if self._pressed_at is None else None)
            return
        if self._dragging:
            self._ask(self._snapped(self.users_at(point)))
            return
        on_handle = self.draggable and self.on_handle(point)
        grip = None
        if self.draggable and self.ready and not self._empty and not on_handle:
            grip = at_place(self.grips(), point)
        shape = Qt.CursorShape.SizeHorCursor if on_handle else Qt.CursorShape.ArrowCursor
        shape = grip.cursor if grip is not None else shape
        if self.area.viewport().cursor().shape() != shape:
            self.area.viewport().setCursor(shape)
        pointer: float | None = None
        top, bottom = self.area.panels[0].rect.top(), self.area.panels[-1].rect.bottom()
        if self.curves is not None and not self._empty and not on_handle and top <= point.y() <= bottom:
            users = self.users_at(point)
            if math.isfinite(users) and -0.01 <= users / self._users_limit() <= 1.0:
                pointer = float(self._snapped(users))
        over = grip.path if grip is not None else ""
        if (pointer, over, on_handle) != (self.pointer, self.lines.over, self._over_ring):
            self.pointer, self.lines.over, self._over_ring = pointer, over, on_handle
            self._again()

    def _users_limit(self) -> float:
        return self.area.panels[0].x.end

    def _leave(self) -> None:
        if self.pointer is not None or self.lines.over or self._over_ring:
            self.pointer, self.lines.over, self._over_ring = None, "", False
            self._again()

    def _release(self) -> None:
        pressed, self._pressed_at = self._pressed_at, None
        if pressed is not None and (key := self.quantity_at(pressed)):
            self.selected.emit(key)
        if not self._dragging:
            return
        self._dragging = False
        self.lines.let_go()
        self.drag_finished.emit()
        if self.curves is not None and self.estimate is not None:
            self._fit(self.curves, self.estimate)
            self._layout()

    def _step(self, step: str) -> None:
        if step == "take":
            key = self.quantity_at(None)
            if key:
                self.selected.emit(key)
            return
        if not self.draggable or self.curves is None or self.estimate is None or self._empty:
            return
        if step in ("raise", "lower", "next"):
            self._ask_field(self.lines.key(self.grips(), step))
            self._again()
            return
        users = self._asked if self._asked is not None else round(users_of(self.estimate))
        page = max(1, round(self.area.panels[0].x.step))
        most = max(1, self.estimate.capacity.max_users)
        wanted = {
            "down": users - 1,
            "up": users + 1,
            "page_down": users - page,
            "page_up": users + page,
            "home": 1,
            "end": most,
        }[step]
        self._ask(max(1, wanted))

    def _step_done(self) -> None:
        self.drag_finished.emit()

    def _ask_field(self, asked: tuple[str, float] | None) -> None:
        if asked is not None:
            self.field_dragged.emit(*asked)

    def _ask(self, users: int) -> None:
        known = self._asked
        if known is None and self.estimate is not None:
            known = round(users_of(self.estimate))
        if users != known:
            self._asked = users
            self.users_dragged.emit(users)
