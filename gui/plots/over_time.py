"""What a simulated service does over time: requests, KV cache, first tokens, what the cache held already.

One time axis under all panels; the operating line is the moment of the replay.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QWidget

from core.quantities import FloatArray
from core.units import show_count, time_in
from core.words import Words, percent
from gui.plots import time_axis
from gui.plots.canvas import (
    Canvas,
    Frame,
    fill_under,
    number_room,
    polygon_of,
    rings,
    steps,
    stroke,
    thinned,
)
from gui.plots.draw import FLAG_HEIGHT, Align, Draw
from gui.plots.scales import Axis, count_axis, value_axis
from gui.plots.wait_marks import PORTIONS, Marks, Waits, marks_of, waits_of
from gui.theme import mix, theme
from gui.work.simulation import Shot

_LEAST_HITS = 0.005  # of the prompts: less is not worth a panel
_FAR_TARGET = 3.0  # times the slowest: a target beyond is not in the plot
_LOW = 84  # px: a lower panel has fewer lines
_PERCENT = Axis(100.0, 50.0)


class OverTime(Canvas):
    """``asked_time`` carries the moment that is pointed or dragged to."""

    asked_time = Signal(float)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.shot: Shot | None = None
        self.now: float | None = None
        self._frames: list[Frame] = []
        self._names: list[tuple[QRectF, str, QColor]] = []  # which no line crosses
        # The same of what is being painted, until all of it is there.
        self._laid: list[Frame] = []
        self._named: list[tuple[QRectF, str, QColor]] = []
        self._waits: Waits | None = None
        self._unit = ("s", 1.0)  # of the first tokens' axis, and how many are a second
        self._marks: Marks | None = None
        self.small = False
        self._pointer: float | None = None
        self._held = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(words("simulating.over_time"))

    # -- what is shown ---------------------------------------------------------------------------

    def show_shot(self, shot: Shot | None) -> None:
        """Show a run as far as it has come."""
        self.shot = shot
        self.renew()

    def set_time(self, seconds: float | None) -> None:
        """Move the line."""
        if seconds != self.now:
            self.now = seconds
            self.setAccessibleDescription(self.reading(seconds) if seconds is not None else "")
            self.update()

    @property
    def end(self) -> float:
        """The right end of the axis, s."""
        if self.shot is None:
            return 1.0
        settings = self.shot.scenario.simulation
        limited = settings.requests is None and settings.arrivals != "trace"
        planned = settings.duration_s if limited and not self.shot.finished else 0.0
        return max(self.shot.result.seconds, planned, 1e-3)

    def reading(self, seconds: float) -> str:
        """What goes on at a moment."""
        if self.shot is None:
            return ""
        over = self.shot.result.over
        if not len(over.time):
            return ""
        at = max(0, int(np.searchsorted(over.time, seconds, side="right")) - 1)
        return self._words(
            "simulating.reading",
            time=time_axis.clock(seconds, self.end),
            running=show_count(float(over.running[at])),
            waiting=show_count(float(over.waiting[at])),
            cache=percent(float(over.cache[at])),
        )

    # -- places ----------------------------------------------------------------------------------

    def _lay_out(self) -> list[Frame]:
        t, end = theme(), self.end
        left, right = float(t.px(36)), float(self.width() - 1)
        below, gap, head = t.px(18), t.px(14), t.px(18)
        shares = [1.15, 0.9, 1.0, *(0.6 for _ in self._more())]
        flag = t.px(19)
        room = max(60.0, self.height() - below - flag - gap * (len(shares) - 1))
        top, frames = float(flag), list[Frame]()
        for share in shares:
            high = room * share / sum(shares)
            rect = QRectF(left, round(top), max(20.0, right - left), round(high))
            frames.append(Frame(rect, 0.0, end, headroom=head))
            top += high + gap
        return frames

    @property
    def panels(self) -> int:
        """How many stand one above the other."""
        return 3 + len(self._more())

    def _more(self) -> list[str]:
        """Panels that only some runs have."""
        if self.shot is None:
            return []
        result = self.shot.result
        # In a low window the squares and the card have to do for what was preempted.
        preempted = result.preemptions > 0 and not self.small
        asked = {"preempted": preempted, "hits": result.cached_share > _LEAST_HITS}
        return [name for name, there in asked.items() if there]

    # -- painting --------------------------------------------------------------------------------

    def still(self, draw: Draw) -> None:
        """All panels and the axis."""
        for step in self.steps():
            step(draw)

    def steps(self) -> Sequence[Callable[[Draw], None]]:
        """Each takes a few milliseconds where a run has thousands of requests."""
        if self.shot is None or not len(self.shot.result.over.time):
            return (self._empty,)
        marks = (partial(self._paint_marks, place) for place in range(PORTIONS))
        more = [self._preempted if name == "preempted" else self._hits for name in self._more()]
        courses = (partial(self._paint_course, course, 3 + place) for place, course in enumerate(more))
        found: list[Callable[[Draw], None]] = [self._requests, self._cache, self._first_tokens]
        return (*found, *marks, self._first_words, *courses, self._axis, self._end)

    def _start(self) -> None:
        """Panels with their axes; all begin where the longest number of any of them ends."""
        self._laid, self._named, self._marks = self._lay_out(), [], None
        if self.shot is None or not len(self.shot.result.over.time):
            return
        self._waits = waits_of(self.shot.fates, self.shot.scenario.targets.time_to_first_token_s)
        self._fit_axes(self.shot, self._waits)
        left = number_room([frame.y for frame in self._laid], least=36)
        for frame in self._laid:
            frame.rect.setLeft(min(left, frame.rect.right() - 20.0))

    def _fit_axes(self, shot: Shot, waits: Waits) -> None:
        low, over = theme().px(_LOW), shot.result.over
        requests, cache, first, *more = self._laid
        requests.y = axis = count_axis(max(1.0, float((over.running + over.waiting).max(initial=1.0))))
        if requests.rect.height() < low and axis.end % 2 == 0:
            requests.y = Axis(axis.end, axis.end / 2)
        cache.y = _PERCENT
        target = shot.scenario.targets.time_to_first_token_s
        near = (
            target is not None and 1.15 * target <= _FAR_TARGET * waits.most
        )  # else it would press all points flat
        top = max(waits.most, 1.15 * target if target is not None and near else 0.0, 1e-3)
        self._unit = ("ms", 1e3) if top < 1.0 else ("s", 1.0)
        first.y = value_axis(top * self._unit[1], low=True, flat=first.rect.height() < low)
        for frame, name in zip(more, self._more(), strict=True):
            frame.y = Axis(100.0, 100.0)
            if name == "preempted":
                most = value_axis(max(1.0, float(over.preemptions.max(initial=0.0))), low=True).end
                frame.y = Axis(most, most)

    def _end(self, _draw: Draw) -> None:
        """What stands over the picture belongs to the new one from now on."""
        self._frames, self._names = self._laid, self._named

    def _empty(self, draw: Draw) -> None:
        self._start()
        self._laid[1].y = _PERCENT
        names = ("simulating.requests", "simulating.cache", "simulating.first_token")
        for frame, name in zip(self._laid, names, strict=False):
            frame.grid(draw, labels=False)
            self._title(draw, frame, self._words(name, unit="s"))
        self._end(draw)

    def _title(self, draw: Draw, frame: Frame, text: str) -> None:
        t = draw.theme
        self._name(draw, frame.rect.left() + 2, frame.rect.top() + t.px(6), text, t.ink2)

    def _name(
        self, draw: Draw, x: float, y: float, text: str, colour: QColor, align: Align = "left"
    ) -> QRectF:
        place = draw.text(x, y, text, colour, role="caption_medium", align=align)
        self._named.append((place, text, colour))
        return place

    def _curve(self, ys: FloatArray) -> tuple[FloatArray, FloatArray]:
        assert self.shot is not None
        over = self.shot.result.over
        xs, ys = thinned(over.time, ys, 0.0, self.end, max(100, round(self._laid[0].rect.width() / 2.0)))
        return steps(xs, ys, self.shot.result.seconds)

    def _requests(self, draw: Draw) -> None:
        assert self.shot is not None
        self._start()
        frame = self._laid[0]
        t, over = draw.theme, self.shot.result.over
        blue, orange = t.series_colour(1), t.series_colour(2)
        frame.grid(draw)
        xs, both = self._curve(over.running + over.waiting)
        _, running = self._curve(over.running)
        if over.waiting.max(initial=0.0) > 0:
            fill_under(draw, frame, xs, both, mix(orange, t.canvas, 0.55))
        fill_under(draw, frame, xs, running, mix(blue, t.canvas, 0.30))
        stroke(draw, frame, xs, running, blue, 1.5, smooth=False)
        self._title(draw, frame, self._words("simulating.requests"))
        y = frame.rect.top() + t.px(6)
        right = frame.rect.right()
        place = self._name(draw, right, y, self._words("simulating.running"), _readable(blue), "right")
        right = place.left() - 16
        self._name(draw, right, y, self._words("simulating.waiting"), _readable(orange), "right")

    def _cache(self, draw: Draw) -> None:
        assert self.shot is not None
        frame = self._laid[1]
        t, over = draw.theme, self.shot.result.over
        frame.grid(draw)
        xs, ys = self._curve(100.0 * over.cache)
        fill_under(draw, frame, xs, ys, t.ledger_tint["kv_cache"])
        stroke(draw, frame, xs, ys, t.ledger["kv_cache"], 1.5, smooth=False)
        full = frame.py(100.0)
        draw.line(frame.rect.left(), full, frame.rect.right(), full, t.ink, 1.5)
        self._title(draw, frame, self._words("simulating.cache"))

    def _first_tokens(self, draw: Draw) -> None:
        assert self._waits is not None
        frame = self._laid[2]
        frame.grid(draw)
        self._marks = marks_of(self._waits, frame, self._unit, draw.theme)

    def _paint_marks(self, place: int, draw: Draw) -> None:
        assert self._marks is not None
        for portion in self._marks.portions[place : place + 1]:
            portion.paint(draw)

    def _first_words(self, draw: Draw) -> None:
        assert self.shot is not None and self._marks is not None
        frame, t, marks = self._laid[2], draw.theme, self._marks
        unit, factor = marks.scale
        target = self.shot.scenario.targets.time_to_first_token_s
        title = self._words("simulating.first_token", unit=unit)
        if marks.shown < marks.known:
            said = self._words(
                "simulating.points_of", n=show_count(marks.shown), count=show_count(marks.known)
            )
            title = f"{title.split(' · ')[0]} · {said}"
        self._title(draw, frame, title)
        if marks.squares:
            right = frame.rect.right()
            y = frame.rect.top() + t.px(6)
            place = draw.text(right, y, self._words("simulating.preempted_mark"), t.ink3, align="right")
            mark = polygon_of(np.array([place.left() - 9.0]), np.array([float(y)]))
            rings(draw, mark, t.curve, 5.5, square=True)
        if target is not None and target * factor <= frame.y.end:
            y = frame.py(target * factor)
            draw.line(frame.rect.left(), y, frame.rect.right(), y, t.good, 1.2, (4, 3))
            said = f"≤ {time_in(target, unit)}".removesuffix(".00")
            draw.text_if_free(frame.rect.right(), y - t.px(8), said, t.good, frame.rect, align="right")

    def _paint_course(self, course: Callable[[Draw, Frame], None], place: int, draw: Draw) -> None:
        course(draw, self._laid[place])

    def _preempted(self, draw: Draw, frame: Frame) -> None:
        assert self.shot is not None
        so_far = self.shot.result.over.preemptions
        self._course(draw, frame, so_far, self._words("simulating.preemptions"))

    def _hits(self, draw: Draw, frame: Frame) -> None:
        assert self.shot is not None
        self._course(draw, frame, 100.0 * self.shot.result.over.hits, self._words("simulating.hits"))

    def _course(self, draw: Draw, frame: Frame, ys: FloatArray, title: str) -> None:
        assert self.shot is not None
        frame.grid(draw)
        xs, ys = thinned(
            self.shot.result.over.time, ys, 0.0, self.end, max(100, round(frame.rect.width() / 2.0))
        )
        stroke(draw, frame, xs, ys, draw.theme.curve, 1.5)
        self._title(draw, frame, title)

    def _axis(self, draw: Draw) -> None:
        t, frame = draw.theme, self._laid[-1]
        end = self.end
        found = time_axis.ticks(0.0, end, max(3, min(10, round(frame.rect.width() / t.px(90)))))
        y = frame.rect.bottom() + t.px(11)
        last = draw.text(frame.rect.right(), y, time_axis.end_label(end), t.ink3, align="right")
        for panel in self._laid:
            for value in found:
                x = min(max(panel.px(value), panel.rect.left() + 0.5), panel.rect.right() - 0.5)
                draw.line(x, panel.rect.bottom() - 4, x, panel.rect.bottom(), t.axis)
        for value in found:
            text = time_axis.label(value, end)
            x = frame.px(value)
            if x + draw.width(text) / 2 < last.left() - 8:
                draw.text(x, y, text, t.ink3, align="centre")

    def moving(self, draw: Draw) -> None:
        """The moment of the replay with its flag, and the pointer's hairline with what goes on there."""
        if self.shot is None or not self._frames or not len(self.shot.result.over.time):
            return
        t, first = draw.theme, self._frames[0]
        if self._pointer is not None and not self._held:
            x = first.px(self._pointer)
            for frame in self._frames:
                draw.line(x, frame.rect.top(), x, frame.rect.bottom(), t.control)
            said = self.reading(self._pointer)
            wide = draw.width(said) + 12
            left = min(x + 6, first.rect.right() - wide)
            box = QRectF(left, first.rect.top() + t.px(18), wide, t.px(18))
            draw.fill(box, t.canvas)
            draw.text(left + 6, box.center().y(), said, t.ink2)
        if self.now is None:
            return
        x = first.px(min(self.now, first.x1))
        top = first.rect.top() - t.px(18)
        draw.flag(x, top, time_axis.clock(self.now, first.x1), QRectF(first.rect).adjusted(0, -20, 0, 0))
        for frame in self._frames:
            start = top + FLAG_HEIGHT * t.scale if frame is first else frame.rect.top()
            draw.line(x, start, x, frame.rect.bottom(), t.accent)
        self._names_over(draw, x)
        if self.hasFocus():
            draw.focus(x, top + FLAG_HEIGHT * t.scale / 2)

    def _names_over(self, draw: Draw, x: float) -> None:
        """Words at the line stand before it."""
        for place, text, colour in self._names:
            if place.left() - 3 <= x <= place.right() + 3:
                draw.fill(place.adjusted(-3, 1, 3, -1), draw.theme.canvas)
                middle = place.center().y()
                draw.text(place.left(), middle, text, colour, role="caption_medium", keep=False)

    # -- pointer and keys ------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to a moment."""
        if event.button() == Qt.MouseButton.LeftButton and self._frames and self.shot is not None:
            self._held = True
            self.asked_time.emit(self._frames[0].value_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The reading follows; with the button down the replay does."""
        if not self._frames or self.shot is None:
            return
        at = self._frames[0].value_at(event.position().x())
        if self._held:
            self.asked_time.emit(at)
            return
        self._pointer = at if event.position().x() >= self._frames[0].rect.left() - 4 else None
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The drag is over."""
        self._held = False

    def leaveEvent(self, event: object) -> None:
        """No reading any more."""
        self._pointer = None
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move the moment by a two-hundredth, pages by a twentieth."""
        moves = {
            Qt.Key.Key_Left: -0.005,
            Qt.Key.Key_Right: 0.005,
            Qt.Key.Key_PageUp: 0.05,
            Qt.Key.Key_PageDown: -0.05,
            Qt.Key.Key_Home: -1.0,
            Qt.Key.Key_End: 1.0,
        }
        move = moves.get(Qt.Key(event.key()))
        if move is None or self.shot is None:
            super().keyPressEvent(event)
            return
        self.asked_time.emit(min(max((self.now or 0.0) + move * self.end, 0.0), self.end))


def _readable(colour: QColor) -> QColor:
    """A series colour dark (or light) enough for small text."""
    t = theme()
    return mix(colour, t.ink, 0.75)
