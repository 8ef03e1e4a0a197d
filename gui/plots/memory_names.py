"""What is written on the plot of memory over users: at the budget, at the lines, and in the areas."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from PySide6.QtCore import QRectF

from core.explain.ledger_names import budget_key
from core.planning.curves import LengthLine, WorkloadCurves
from core.quantities import FloatArray
from core.results import Estimate
from core.units import memory_size, memory_unit, show_count, show_tokens
from core.words import Words, counted
from gui.plots.area import Panel
from gui.plots.axes import on_plate
from gui.plots.base import users_of
from gui.plots.draw import Draw, crosses
from gui.plots.scales import at
from gui.theme import Role


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """The names of one picture; each gives way to what is drawn before it."""

    panel: Panel
    draw: Draw
    words: Words
    curves: WorkloadCurves
    estimate: Estimate
    thin_top: float  # where the thin bands end
    ghosted: bool  # whether lines of other scenarios are on show

    def capacity(self) -> None:
        """Where lines meet the budget or the last place is taken, the own one first.

        Other lengths only where they can be named.
        """
        curves = self.curves
        panel, draw, current = self.panel, self.draw, self.draw.theme
        rect = panel.rect
        y = panel.py(curves.budget_bytes / memory_size())
        row = y - current.px(11)
        beyond = not self.estimate.ledger.fits
        draw.avoid(*self.pixels(curves.memory, panel.x.end if beyond else curves.memory.full_at))
        draw.taken.append(QRectF(rect.left(), y - 1, rect.width(), 2))
        first = len(draw.taken)
        self._own_label(curves.memory)
        if curves.memory.full_at <= panel.x.end:
            ring = self._end(curves.memory)
            if ring[1] > y + 1:
                draw.taken.append(QRectF(ring[0] - 5, ring[1] - 5, 10, 10))
        budget = self.words(f"plots.memory_over_users.{budget_key(self.estimate)}")
        for middle in (row, y + current.px(9)):
            if draw.text_if_free(
                rect.right() - 2, middle, budget, current.ink, rect, role="caption_medium", align="right"
            ):
                break
        for line in curves.other_lengths:
            xs, ys = self.pixels(line, line.full_at)
            columns, rows = xs.tolist(), ys.tolist()
            if any(crosses(name, columns, rows) for name in draw.taken[first:]):
                continue
            known = len(draw.lines)
            draw.avoid(xs, ys)
            if self._length_label(line):
                draw.polyline(xs, ys, current.ink3, dash=(3, 3))
            else:
                del draw.lines[known:]  # none came where the line is no more than a point
        if curves.memory.full_at <= panel.x.end:
            draw.ring(*self._end(curves.memory), current.ink, size=6, edge=1.6)

    def _end(self, line: LengthLine) -> tuple[float, float]:
        """The pixel at which a line ends: on the budget, or below it where all places are taken."""
        curves, panel = self.curves, self.panel
        top = min(at(line.full_at, curves.memory_users, line.bytes), float(curves.budget_bytes))
        return panel.px(line.full_at), panel.py(top / memory_size())

    def _length_label(self, line: LengthLine) -> bool:
        """Name another length, with a circle where it ends; False where there is no room."""
        draw = self.draw
        panel, text = self.panel, self._length_text(line)
        if line.full_at > panel.x.end:
            return self._line_label(line, text)
        (x, y), half = self._end(line), draw.width(text) / 2
        row = y - draw.theme.px(11)
        inside = max(panel.rect.left(), min(x - half, panel.rect.right() - 2 * half))
        for left in (inside, x - 8, x - 2 * half + 8):
            if draw.text_if_free(left, row, text, draw.theme.ink3, panel.rect):
                draw.ring(x, y, draw.theme.ink3, size=6, edge=1.2)
                return True
        return False

    def pixels(self, line: LengthLine, stop: float) -> tuple[FloatArray, FloatArray]:
        """A line as it is drawn, up to ``stop`` users."""
        panel, curves = self.panel, self.curves
        x, y = until(curves.memory_users, line.bytes / memory_size(), min(panel.x.end, stop))
        return (
            panel.rect.left() + panel.rect.width() * x / panel.x.end,
            panel.rect.bottom() - panel.rect.height() * y / panel.y_end,
        )

    def _own_label(self, line: LengthLine) -> None:
        """The scenario's own ceiling, beside the operating line when it would stand on it."""
        panel, draw, current = self.panel, self.draw, self.draw.theme
        text = self._own_text(line)
        if line.full_at > panel.x.end:
            self._line_label(line, text, own=True)
            return
        (middle, y), half = self._end(line), draw.width(text, "caption_semibold") / 2
        row = y - current.px(11)
        lefts = (middle - half, middle - 8, middle - 2 * half + 8, middle + 6, middle - 2 * half - 6)
        for left in lefts:
            if draw.text_if_free(left, row, text, current.ink, panel.rect, role="caption_semibold"):
                if self.ghosted:  # the lines of other scenarios give way to it
                    plate = draw.taken[-1].adjusted(-2, 1, 2, -1)
                    draw.fill(plate, current.canvas)
                    draw.text(left, row, text, current.ink, role="caption_semibold", keep=False)
                draw.taken[-1].adjust(-6, 0, 6, 0)  # it is the answer: its neighbours keep away
                return
        last = max(middle, panel.px(users_of(self.estimate)))  # of the line and of what waits
        under, right = y + current.px(10), panel.rect.right() - 2 * half - 2
        beside = [(min(middle + 8, right), under), (last + 8, under), (last + 12, y)]
        over = panel.py(self.curves.budget_bytes / memory_size()) - current.px(11)  # the budget
        for left, middle_row in (*beside, *((left, over) for left in lefts)):
            if draw.text_if_free(left, middle_row, text, current.ink, panel.rect, role="caption_semibold"):
                return

    def _line_label(self, line: LengthLine, text: str, own: bool = False) -> bool:
        """The name of a line that leaves the picture before it is full: close under or over its end.

        Never in the bands below, where it would seem to be about them.
        """
        curves = self.curves
        panel, draw, current = self.panel, self.draw, self.draw.theme
        role: Role = "caption_semibold" if own else "caption"
        colour = current.ink if own else current.ink3
        text = f"{text} →"
        bounds = QRectF(panel.rect)
        bounds.setBottom(panel.py(self.thin_top))
        right = panel.rect.right() - 3
        x = panel.value_at(right - draw.width(text, role) / 2)
        y = panel.py(at(x, curves.memory_users, line.bytes) / memory_size())
        for dy in (-12, 12, -18, 18, -25):
            if draw.text_if_free(right, y + current.px(dy), text, colour, bounds, role=role, align="right"):
                return True
        if own and self.ghosted:  # the lines of other scenarios give way to it
            for dy in (-12, 12, -18, 18, -25):
                if on_plate(draw, right, y + current.px(dy), text, colour, bounds):
                    return True
        return False

    def excess(self) -> None:
        """The budget in red, with its value."""
        panel, draw, curves = self.panel, self.draw, self.curves
        budget = curves.budget_bytes / memory_size()
        key = f"plots.memory_over_users.{budget_key(self.estimate)}_value"
        text = self.words(key, value=f"{budget:,.2f} {memory_unit()}")
        y = panel.py(budget)
        draw.taken.append(QRectF(panel.rect.left(), y - 2, panel.rect.width(), 4))
        right, bad = panel.rect.right() - 2, draw.theme.bad
        rows = [y + draw.theme.px(dy) for dy in (11, -11, 22, -22)]
        if not any(
            draw.text_if_free(right, row, text, bad, panel.rect, role="caption_semibold", align="right")
            for row in rows
        ):
            any(on_plate(draw, right, row, text, bad, panel.rect) for row in rows)

    def _own_text(self, line: LengthLine) -> str:
        users = self.words.phrase(counted("units.users", round(line.users)))
        length = show_tokens(line.tokens)
        return self.words("plots.memory_over_users.own_length", users=users, length=length)

    def _length_text(self, line: LengthLine) -> str:
        return self.words(
            "plots.memory_over_users.at_length", users=show_count(line.users), length=show_tokens(line.tokens)
        )

    def areas(self) -> None:
        """Names inside the areas where they are high enough."""
        curves = self.curves
        panel, draw, current = self.panel, self.draw, self.draw.theme
        weights = dict(curves.fixed).get("weights", 0) / memory_size()
        line = current.px(16)
        if panel.height_of(weights) > line + 6:
            y = panel.py(weights) + min(panel.height_of(weights) / 2, current.px(36))
            bounds = QRectF(
                panel.rect.left(), panel.py(weights) + 4, panel.rect.width(), panel.height_of(weights)
            )
            text = self.words("ledger.weights")
            # The operating line may stand at the very left.
            lefts = [panel.rect.left() + 6, panel.px(users_of(self.estimate)) + 8]
            for left, dy in product(lefts, (0, 14, -14)):
                if draw.text_if_free(left, y + dy, text, current.ink2, bounds, role="caption_medium"):
                    break
        name = self.words("ledger.kv_cache")
        stop = min(panel.x.end, curves.memory.full_at) if self.estimate.ledger.fits else panel.x.end
        base = panel.py(self.thin_top)
        place = QRectF(
            panel.rect.left(),
            panel.rect.top(),
            panel.px(stop) - panel.rect.left() - 6,
            base - panel.rect.top() - 2,
        )
        beside = panel.px(users_of(self.estimate)) - 8
        rights = [right for right in (place.right(), beside) if right <= place.right()]
        lowest, step = base - current.px(11), current.px(2)
        rows = [lowest - step * i for i in range(max(1, int((lowest - place.top()) // step)))]
        wide, high = draw.width(name, "caption_medium"), current.px(7)
        # Below the curve where a name would begin.
        reach = [(right, panel.py(self._memory_at(panel.value_at(right - wide))) + high) for right in rights]
        for y, (right, below) in product(rows, reach):
            if below < y and draw.text_if_free(
                right, y, name, current.ink2, place, role="caption_medium", align="right"
            ):
                return
        # A thin line of another length gives way where nothing else is free.
        for right in rights:
            plate = draw.rect_of(right, lowest, name, "caption_medium", "right").adjusted(-2, 1, 2, -1)
            edge = self._memory_at(panel.value_at(plate.left()))
            above = panel.py(edge) < plate.top() and place.left() < plate.left()
            if above and draw.vacant(plate):
                draw.fill(plate, current.ledger_tint["kv_cache"])
                draw.text(right, lowest, name, current.ink2, role="caption_medium", align="right")
                return
        # Too narrow an area has its name at its foot.
        draw.text_if_free(place.right() + 12, lowest, name, current.ink2, panel.rect, role="caption_medium")

    def _memory_at(self, users: float) -> float:
        """What the stack reaches there, as shown."""
        return at(users, self.curves.memory_users, self.curves.memory.bytes) / memory_size()


def until(x: FloatArray, y: FloatArray, stop: float) -> tuple[FloatArray, FloatArray]:
    """The part of a curve up to ``stop``, with the point at ``stop`` itself."""
    inside = x < stop
    return np.append(x[inside], stop), np.append(y[inside], at(stop, x, y))
