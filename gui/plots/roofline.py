"""Roofline: what each operator reaches, under what the device allows, for both phases."""

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from core.explain.engine_notes import COMPUTE_LABELS
from core.planning.started import Started
from core.quantities import FloatArray
from core.units import show_tokens, three_digits
from core.words import Words
from gui.plots.area import Curve, Look
from gui.plots.draw import Align, Draw, text_width
from gui.plots.log_axis import log_axis
from gui.plots.pane import Pane
from gui.plots.roofline_content import RooflineData, roofline_of, wrapped
from gui.plots.roofline_marks import Place, distance, radius_of, sentence, within
from gui.plots.roofline_names import Planned, RooflineNames
from gui.plots.step_content import requests_in
from gui.plots.tab_ghosts import MOST, Other, mark_operators, rooflines_of
from gui.theme import Role, theme

_TERA = 1e12
_REACH = 26.0  # pixels from the pointer to the point that it reads
_LEAST_NAMED = 0.002  # share below which the axes do not reach out for a point


class Roofline(Pane):
    """One panel, both axes in decades; filled points are of the prefill step, open ones of decode."""

    key = "roofline"

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        self.data: RooflineData | None = None
        self.started: Started | None = None
        self._pointer: QPointF | None = None
        self._others: tuple[tuple[Other, RooflineData], ...] = ()
        self._named: Planned | None = None  # where the names of the points stand
        self._chosen: int | None = None  # index of the point that the keys have reached
        super().__init__(words, parent)

    def build(self) -> None:
        """Ceilings from below: other formats, bandwidth and peak in one line."""
        panel = self.area.add_panel()
        self.panel = panel
        self.x_axis, self.y_axis = log_axis(0.1, 1000), log_axis(0.01, 1000)
        panel.headroom = 8.0
        self.ridge = Curve(panel, 6, lambda t: t.ink3, width=1, dash=(1, 2))
        self.other = Curve(panel, 8, lambda t: t.ghost, width=1.5, dash=(5, 3))
        self.roof = Curve(panel, 10, lambda t: t.curve)
        self.other_roofs = [Curve(panel, 9, lambda t: t.ghost, width=1.5, dash=(5, 3)) for _ in range(MOST)]

    @property
    def ready(self) -> bool:
        """Whether an estimate has come."""
        return self.data is not None

    def show_started(self, started: Started | None) -> None:
        """Show the operators of an estimate; None: nothing starts."""
        self.started, self._stale = started, False
        self.data = roofline_of(started) if started is not None else None
        if self.data is None:
            self.show_empty(self.words("plots.no_speed"), self.words("plots.no_change"))
            for curve in self._own_curves():
                curve.clear()
            return
        self._empty = ()
        if self._chosen is not None and self._chosen >= len(self.data.dots):
            self._chosen = None
        self._fit(self.data)
        self._layout()

    def show_others(self, others: Sequence[Other]) -> None:
        """Operators and ceilings of other scenarios behind the own."""
        self._others = rooflines_of(others)
        if self.data is not None:
            self._fit(self.data)
            self._layout()

    def _fit(self, data: RooflineData) -> None:
        """Ridge and all points in view, whole decades."""
        roofs = data.roofs
        ridge = roofs.peak / roofs.bandwidth
        named = [dot for dot in data.dots if dot.share > _LEAST_NAMED]
        x = [dot.intensity for dot in named if math.isfinite(dot.intensity)] + [ridge / 30, 5 * ridge]
        top = max(roofs.peak, roofs.other_peak or 0.0, *(seen.roofs.peak for _, seen in self._others))
        least = min((dot.rate for dot in named), default=top / 1e3)
        self.x_axis = log_axis(min(x), max(x), 6)
        self.y_axis = log_axis(min(least / _TERA, top / _TERA / 30), 1.8 * top / _TERA, 6, whole=False)
        self.panel.x, self.panel.y = self.x_axis, self.y_axis
        self.panel.x_text = self.x_axis.text
        self.panel.x_unit = self.words("plots.roofline.x_unit", n="{n}")

    def look(self) -> Look:
        """Dashed when the operators are those of another scenario than the one set."""
        if self._stale:
            return "muted"
        return "ghost" if self.started is not None and self.started.change is not None else "plain"

    def dress(self, curve: Curve, look: Look) -> None:
        """Helping lines stay as they are."""
        curve.look = look if curve is self.roof else "plain"

    def caption(self) -> str:
        """Units and markers, or which scenario is shown instead."""
        if self.data is None or self.started is None:
            return self.words("plots.roofline.caption")
        if self.started.change is not None:
            return self.words("plots.not_started", change=self.words.phrase(self.started.change))
        long = self.words(
            "plots.roofline.caption_of",
            tokens=show_tokens(self.data.prompt_tokens),
            requests=self.words.phrase(requests_in(self.data.running)),
        )
        return long if text_width(long) <= self.width() else self.words("plots.roofline.caption")

    def draw_data(self) -> None:
        """The ceilings."""
        if self.data is None:
            return
        roofs, x_axis = self.data.roofs, self.x_axis
        ends = x_axis.value(0.0), x_axis.value(x_axis.end)
        ridge = roofs.peak / roofs.bandwidth
        x = np.array([ends[0], min(max(ridge, ends[0]), ends[1]), ends[1]])
        self.roof.set(x_axis.places(x), self._rates(np.minimum(roofs.peak, roofs.bandwidth * x)))
        for curve in self.other_roofs:
            curve.clear()
        for (other, seen), curve in zip(self._others, self.other_roofs, strict=False):
            other.dress(curve)
            knee = min(max(seen.roofs.peak / seen.roofs.bandwidth, ends[0]), ends[1])
            line = np.array([ends[0], knee, ends[1]])
            rates = np.minimum(seen.roofs.peak, seen.roofs.bandwidth * line)
            curve.set(x_axis.places(line), self._rates(rates))
        level = self.y_axis.place(roofs.peak / _TERA)
        self.ridge.set(np.full(2, x_axis.place(ridge)), np.array([0.0, level]))
        if roofs.other_peak is None:
            self.other.clear()
            return
        start = max(ends[0], min(roofs.other_peak, roofs.peak) / roofs.bandwidth)
        line = np.array([start, ends[1]])
        self.other.set(x_axis.places(line), self._rates(np.full(2, roofs.other_peak)))

    def _rates(self, rates: FloatArray) -> FloatArray:
        return self.y_axis.places(rates / _TERA)

    # -- marks -----------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """The points in pixels, kept inside the panel; the largest first."""
        return [] if self.data is None else self._placed(self.data)

    def _placed(self, data: RooflineData) -> list[Place]:
        scale = theme().scale
        found = []
        for dot in data.dots:
            x = within(self.x_axis, dot.intensity)
            y = within(self.y_axis, dot.rate / _TERA)
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            at_the_edge = not (0.03 < x < self.x_axis.end - 0.03 and y > 0)
            if at_the_edge and dot.share <= _LEAST_NAMED:
                continue
            radius = radius_of(dot, scale)
            found.append(Place(dot, self.panel.px(x), self.panel.py(y), radius))
        return found

    def layout_panels(self, inner: QRectF) -> None:
        """Room at the right for the half of a point that stands at the very end."""
        self.panel.rect = inner
        if self.data is None:
            return
        found = [*self._placed(self.data), *(p for _, seen in self._others for p in self._placed(seen))]
        beyond = max((place.x + place.radius for place in found), default=0.0)
        self.panel.rect = inner.adjusted(0, 0, -max(0.0, math.ceil(beyond - inner.right())), 0)

    def paint_over(self, draw: Draw) -> None:
        """Names of the ceilings, points, names of the points."""
        if self.data is None:
            return
        places = self.places()
        self._obstacles(draw, self.data)
        read = self._read_place(places)
        for place in places:
            r = place.radius
            draw.taken.append(QRectF(place.x - r - 1, place.y - r - 1, 2 * r + 2, 2 * r + 2))
        names = RooflineNames(self.panel, draw, self.words, self._knee)
        self._roof_names(names, self.data, places)
        self._mark_others(draw, places)
        for place in places:
            self._point(draw, place, place is read)
        self._named = names.points(places, self._named)
        self._left_out(names, self.data)

    def _mark_others(self, draw: Draw, places: list[Place]) -> None:
        own = {(place.dot.phase, place.dot.key): QPointF(place.x, place.y) for place in places}
        for other, seen in self._others:
            mark_operators(draw, other, [(p.dot, QPointF(p.x, p.y)) for p in self._placed(seen)], own)
            y = self.panel.py(self.y_axis.place(seen.roofs.peak / _TERA))
            other.name(draw, self.panel.rect.right(), y, self.panel.rect)

    def _point(self, draw: Draw, place: Place, is_read: bool) -> None:
        current = draw.theme
        colour = current.curve if self.look() == "plain" else current.ghost
        if place.dot.phase == "prefill":
            draw.dot(place.x, place.y, colour, 2 * place.radius)
        else:
            draw.ring(place.x, place.y, colour, size=2 * place.radius - 1.6, edge=1.6)
        if is_read:
            focus = self.area.keyboard_focus
            draw.halo(place.x, place.y, current.accent if focus else current.ink, place.radius + 3)

    def _obstacles(self, draw: Draw, data: RooflineData) -> None:
        """No name stands on a ceiling."""
        roofs, panel, x_axis = data.roofs, self.panel, self.x_axis
        ends = x_axis.value(0.0), x_axis.value(x_axis.end)
        ridge = min(max(roofs.peak / roofs.bandwidth, ends[0]), ends[1])
        x = np.array([ends[0], ridge, ends[1]])
        y = self._rates(np.minimum(roofs.peak, roofs.bandwidth * x))
        px = panel.rect.left() + panel.rect.width() * x_axis.places(x) / panel.x.end
        py = panel.rect.bottom() - panel.rect.height() * y / panel.y_end
        draw.avoid(px, py)
        if roofs.other_peak is not None:
            level = panel.py(self.y_axis.place(roofs.other_peak / _TERA))
            left = panel.px(x_axis.place(min(roofs.other_peak, roofs.peak) / roofs.bandwidth))
            draw.keep_clear(left, level, max(left, panel.rect.right()), level)

    def _roof_names(self, names: RooflineNames, data: RooflineData, places: list[Place]) -> None:
        """The peak above its line, the other format's under its own, the bandwidth along the slope."""
        draw, roofs, panel, current = names.draw, data.roofs, self.panel, names.draw.theme
        right, step = panel.rect.right() - 3, current.px(9)
        knee = panel.px(self.x_axis.place(roofs.peak / roofs.bandwidth)) + 6
        ceilings: list[tuple[float, str, QColor, Role]] = [
            (roofs.peak, roofs.compute, current.ink, "caption_semibold")
        ]
        if roofs.other_peak is not None:
            ceilings.append((roofs.other_peak, roofs.other, current.ink3, "caption"))
        for rate, key, colour, role in ceilings:
            text = self.words(
                "plots.roofline.peak", format=COMPUTE_LABELS.get(key, key), rate=three_digits(rate / _TERA)
            )
            y = panel.py(self.y_axis.place(rate / _TERA))
            own: tuple[tuple[float, float, Align], ...] = ((knee, -step, "left"), (right, -step, "right"))
            low: tuple[tuple[float, float, Align], ...] = ((right, step, "right"), (knee, step, "left"))
            for x, dy, align in (*own, *low) if rate == roofs.peak else (*low, *own):
                if names.said(x, y + dy, text, colour, align, role, over=4.0):
                    break
        ridge = roofs.peak / roofs.bandwidth
        at = panel.px(self.x_axis.place(ridge))
        text = self.words("plots.roofline.ridge", value=three_digits(ridge))
        draw.text_if_free(at + 6, panel.rect.bottom() - current.px(10), text, current.ink3, panel.rect)
        others = [place for _, seen in self._others for place in self._placed(seen)]
        self._slope_name(names, data, at, [*places, *others])

    def _slope_name(
        self, names: RooflineNames, data: RooflineData, ridge_x: float, places: list[Place]
    ) -> None:
        """Along the upper side of the slope, in the middle of what is seen of it or beside its points."""
        draw, panel, roofs = names.draw, self.panel, data.roofs
        bottom_x = self.y_axis.value(0.0) * _TERA / roofs.bandwidth
        low = max(panel.rect.left(), panel.px(self.x_axis.place(bottom_x)))
        slope = math.atan2(panel.rect.height() / panel.y_end, panel.rect.width() / panel.x.end)
        text = self.words("plots.roofline.bandwidth", rate=three_digits(roofs.bandwidth / 1e9))
        wide = draw.width(text, "caption_semibold") * math.cos(slope)
        if wide + 16 >= ridge_x - low:
            return

        def at(x: float) -> QPointF:
            rate = roofs.bandwidth * self.x_axis.value(panel.value_at(x)) / _TERA
            return QPointF(x, panel.py(self.y_axis.place(rate)))

        free = ridge_x - low - wide - 16  # how far it can be moved
        tried = [at(0.5 * (low + ridge_x) + share * free) for share in (0.0, 0.2, -0.2, 0.4, -0.4)]
        names.along(text, tried, slope, places)

    @property
    def _knee(self) -> float:
        """Column of the intensity above which the device could compute at its peak."""
        if self.data is None:
            return math.nan
        return self.panel.px(self.x_axis.place(self.data.roofs.peak / self.data.roofs.bandwidth))

    def _left_out(self, names: RooflineNames, data: RooflineData) -> None:
        """What takes time and computes nothing, in words at the lower right."""
        draw, rect, parts = names.draw, self.panel.rect, []
        beside = rect.right() - self._knee - draw.theme.px(16)  # the names keep off the line there
        room = beside if beside >= 0.3 * rect.width() else 0.6 * rect.width()
        mark = self.words("plots.roofline.list_mark")
        for phase in ("prefill", "decode"):
            found = [(key, share) for name, key, share in data.left_out if name == phase and share >= 0.005]
            if found:
                told = [
                    self.words(
                        "plots.roofline.name_share",
                        name=self.words(f"operators.{key}"),
                        share=f"{100 * share:.0f}",
                    )
                    for key, share in sorted(found, key=lambda pair: -pair[1])
                ]
                told[0] = self.words(f"plots.roofline.left_out_{phase}", names=told[0])
                parts += wrapped(told, mark, lambda text: draw.width(text, "caption") <= room)
        lines = [self.words("plots.roofline.left_out"), *parts] if parts else []
        y = rect.bottom() - draw.theme.px(10) - draw.theme.px(15) * len(lines)
        for line in lines:
            text = draw.elided(line, room)
            names.said(rect.right() - 3, y, text, draw.theme.ink3, "right", "caption")
            y += draw.theme.px(15)

    # -- reading ---------------------------------------------------------------------------------

    def _read_place(self, places: list[Place]) -> Place | None:
        """The point under the pointer, or the one that the keys have reached."""
        if self._pointer is not None and places:
            near = min(places, key=lambda p: distance(p, self._pointer))  # type: ignore[arg-type]
            return near if distance(near, self._pointer) <= _REACH else None
        if self._chosen is not None and self.area.keyboard_focus and self._chosen < len(places):
            return places[self._chosen]
        return None

    def read(self) -> tuple[str, str]:
        """The point at the pointer, or what the device allows there."""
        if self.data is None:
            return "", ""
        places = self.places()
        spoken = self.words("plots.roofline.list_mark").join(
            sentence(d, self.words) for d in self.data.dots[:8]
        )
        place = self._read_place(places)
        if place is not None:
            return sentence(place.dot, self.words), spoken
        if self._pointer is None or not self.panel.rect.contains(self._pointer):
            return "", spoken
        intensity = self.x_axis.value(self.panel.value_at(self._pointer.x()))
        roofs = self.data.roofs
        bound = "compute" if roofs.bandwidth * intensity > roofs.peak else "bandwidth"
        return self.words(
            "plots.roofline.reading_roof",
            intensity=three_digits(intensity),
            rate=three_digits(min(roofs.peak, roofs.bandwidth * intensity) / _TERA),
            bound=self.words(f"plots.bounds.{bound}"),
        ), spoken

    def _move(self, point: QPointF) -> None:
        self._pointer = point if self.ready and not self._empty else None
        self._again()

    def _press(self, point: QPointF) -> None:
        """The working of the point that is read there."""
        self._pointer = point if self.ready and not self._empty else None
        self._take()

    def _take(self) -> None:
        place = self._read_place(self.places()) if self.ready and not self._empty else None
        if place is not None:
            self.selected.emit(f"operator.{place.dot.phase}.{place.dot.key}")

    def _leave(self) -> None:
        self._pointer = None
        self._again()

    def _step(self, step: str) -> None:
        """The arrow keys walk over the points, the largest share first."""
        if self.data is None or not self.data.dots:
            return
        if step == "take":
            self._take()
            return
        last = len(self.data.dots) - 1
        now = -1 if self._chosen is None else self._chosen
        by = {"up": now + 1, "down": now - 1, "lower": now + 1, "raise": now - 1, "home": 0, "end": last}
        self._chosen = min(max(by.get(step, now), 0), last)
        self._pointer = None
        self._again()
