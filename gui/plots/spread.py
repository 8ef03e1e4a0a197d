"""How requests fared: the share of them within a time; first token, per token, whole answer."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from core.quantities import FloatArray
from core.units import bare, show_time, time_in
from core.words import Words, percent
from gui.plots.canvas import Canvas, Frame, stroke
from gui.plots.draw import Draw
from gui.plots.scales import Axis, value_axis
from gui.work.simulation import Shot

KINDS = ("first_token", "per_token", "end_to_end")
_PERCENT = Axis(100.0, 25.0)
_CUT = 0.995  # of the requests: the slowest few would press the rest against the axis


class Spread(Canvas):
    """Three small plots side by side on one upright axis."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._shot: Shot | None = None
        self._drawn: list[tuple[Frame, str, FloatArray, float]] = []  # frame, kind, sorted s, factor
        self._drawing: list[tuple[Frame, str, FloatArray, float]] = []  # until all three are there
        self._pointer: QPointF | None = None
        self.setMouseTracking(True)
        self.setAccessibleName(words("simulating.spread.title"))

    def show_shot(self, shot: Shot | None) -> None:
        """Show a run."""
        self._shot, self._pointer = shot, None
        self.renew()

    def still(self, draw: Draw) -> None:
        """Title, and a curve each."""
        for step in self.steps():
            step(draw)

    def steps(self) -> Sequence[Callable[[Draw], None]]:
        """Each takes some milliseconds where a run has thousands of requests."""
        return (self._title, *(partial(self._part, index) for index in range(len(KINDS))), self._end)

    def _title(self, draw: Draw) -> None:
        t, words = draw.theme, self._words
        self._drawing = []
        place = draw.text(0, t.px(10), words("simulating.spread.title"), t.ink, role="body_semibold")
        draw.text(place.right() + 10, t.px(10), words("simulating.spread.caption"), t.ink3)

    def _part(self, index: int, draw: Draw) -> None:
        t = draw.theme
        gap = t.px(40)
        wide = (self.width() - gap * (len(KINDS) - 1)) / len(KINDS)
        left = index * (wide + gap) + t.px(36)
        top = t.px(34)
        rect = QRectF(left, top, wide - t.px(36) - 1, max(10.0, self.height() - top - t.px(20)))
        self._one(draw, Frame(rect, 0.0, 1.0, _PERCENT, headroom=t.px(18)), KINDS[index])

    def _end(self, _draw: Draw) -> None:
        self._drawn = self._drawing

    def _values(self, kind: str) -> tuple[FloatArray, float | None]:
        assert self._shot is not None
        fates, targets = self._shot.fates, self._shot.scenario.targets
        if kind == "first_token":
            return fates.first - fates.arrival, targets.time_to_first_token_s
        if kind == "per_token":
            several = fates.output > 1
            each = (fates.finish - fates.first)[several] / (fates.output[several] - 1.0)
            limit = targets.time_per_output_token_ms
            return each, None if limit is None else limit / 1e3
        return fates.finish - fates.arrival, None

    def _one(self, draw: Draw, frame: Frame, kind: str) -> None:
        t = draw.theme
        title = self._words(
            f"simulating.curve.{kind}" if kind != "end_to_end" else "simulating.table.end_to_end"
        )
        frame.grid(draw)
        draw.text(frame.rect.left() + 2, frame.rect.top() + t.px(6), title, t.ink2, role="caption_medium")
        if self._shot is None:
            return
        values, target = self._values(kind)
        values = np.sort(values[np.isfinite(values)])
        if not len(values):
            return
        most = float(np.quantile(values, _CUT))
        if target is not None:
            most = max(most, min(1.2 * target, 4.0 * most))
        unit, factor = ("ms", 1e3) if most < 1.0 else ("s", 1.0)
        axis = value_axis(most * factor)
        frame.x1 = axis.end
        self._drawing.append((frame, kind, values, factor))
        shares = 100.0 * np.arange(1, len(values) + 1) / len(values)
        if len(values) > 400:
            keep = np.unique(np.linspace(0, len(values) - 1, 400).astype(np.int64))
            values, shares = values[keep], shares[keep]
        inside = values * factor <= axis.end
        xs = np.concatenate([[0.0, values[0] * factor], values[inside] * factor])
        ys = np.concatenate([[0.0, 0.0], shares[inside]])
        if target is not None and target * factor <= axis.end:
            x = frame.px(target * factor)
            region = QRectF(
                x, frame.rect.top() + t.px(16), frame.rect.right() - x, frame.rect.height() - t.px(16)
            )
            draw.fill(region, t.missed_region)
            frame.grid(draw, labels=False)
            draw.line(x, frame.rect.top() + t.px(16), x, frame.rect.bottom(), t.good, 1.2, (4, 3))
            said = f"≤ {bare(time_in(target, unit))}"
            half = draw.width(said) / 2
            least = frame.rect.left() + draw.width(title, "caption_medium") + 10 + half  # right of the name
            at = min(max(x, least), frame.rect.right() - half)
            draw.text(at, frame.rect.top() + t.px(6), said, t.good, align="centre")
        stroke(draw, frame, xs, ys, t.curve, 2.0)
        y = frame.rect.bottom() + t.px(11)
        last = draw.text(frame.rect.right(), y, f"{axis.text(axis.end)} {unit}", t.ink3, align="right")
        for value in axis.ticks[:-1]:
            x, text = frame.px(value), axis.text(value)
            draw.line(x + 0.5, frame.rect.bottom() - 4, x + 0.5, frame.rect.bottom(), t.axis)
            if x + draw.width(text) / 2 < last.left() - 6:
                draw.text(x, y, text, t.ink3, align="centre")

    # -- pointer ---------------------------------------------------------------------------------

    def reading_at(self, place: QPointF) -> tuple[str, QPointF, Frame] | None:
        """What is said of a place, where its point stands on the curve, and in which plot."""
        for frame, kind, values, factor in self._drawn:
            if not frame.rect.left() <= place.x() <= frame.rect.right():
                continue
            seconds = frame.value_at(place.x()) / factor
            share = float(np.searchsorted(values, seconds, side="right")) / len(values)
            name = "simulating.table.end_to_end" if kind == "end_to_end" else f"simulating.curve.{kind}"
            said = self._words(
                "simulating.spread.reading",
                name=self._words(name),
                time=show_time(seconds),
                share=percent(share),
            )
            return said, QPointF(place.x(), frame.py(100.0 * share)), frame
        return None

    def moving(self, draw: Draw) -> None:
        """The pointer's hairline, its point, and the reading in place of the caption."""
        found = self.reading_at(self._pointer) if self._pointer is not None else None
        if found is None:
            return
        said, at, frame = found
        t = draw.theme
        draw.line(at.x(), frame.rect.top() + t.px(16), at.x(), frame.rect.bottom(), t.control)
        draw.dot(at.x(), at.y(), t.curve)
        left = draw.width(self._words("simulating.spread.title"), "body_semibold") + 10
        draw.fill(QRectF(left - 2, 0, self.width() - left + 2, t.px(20)), t.canvas)
        draw.text(left, t.px(10), said, t.ink2)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read what is under the pointer."""
        self._pointer = event.position()
        self.update()

    def leaveEvent(self, event: object) -> None:
        """Read nothing."""
        self._pointer = None
        self.update()
