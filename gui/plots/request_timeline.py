"""One request's life: queue, prompt among other prompts, answer, and how its cache grows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPolygonF
from PySide6.QtWidgets import QWidget

from core.planning.request_life import RequestLife, Span
from core.planning.started import Started
from core.units import (
    Shown,
    memory_size,
    memory_steps,
    memory_unit,
    show_count,
    show_time,
    show_tokens,
    three_digits,
)
from core.words import Words, counted
from gui.plots import shades
from gui.plots.area import Curve, Look
from gui.plots.axes import panel_title
from gui.plots.draw import Draw
from gui.plots.latency_over_users import time_unit
from gui.plots.pane import Pane
from gui.plots.scales import at, value_axis
from gui.plots.tab_ghosts import MOST, Other, lives_of, mark_life
from gui.theme import Theme, theme

# Heights of the rows above the lower panel: bar, names below it, fan between the bars, words above.
_BAR, _NAME, _FAN, _MARK = 26, 16, 28, 18
_ENLARGE_BELOW = 0.5  # share of the picture below which the time to the first token is drawn larger
_MOST_LONGER = 2.0  # times the own request that the axis reaches for another one
_LEAST_SLOT = 3.0  # pixels of an interruption that is still drawn one by one


@dataclass(frozen=True, slots=True)
class _Bar:
    """A bar in pixels: ``rect``, and which seconds its ends stand for."""

    rect: QRectF
    start: float
    end: float

    def px(self, seconds: float) -> float:
        """The column of a time."""
        span = self.end - self.start
        share = (seconds - self.start) / span if span > 0 else 0.0
        return self.rect.left() + self.rect.width() * min(max(share, 0.0), 1.0)

    def seconds_at(self, x: float) -> float:
        """The time of a column."""
        share = (x - self.rect.left()) / max(self.rect.width(), 1.0)
        return self.start + (self.end - self.start) * share


class RequestTimeline(Pane):
    """Above, the time to the first token enlarged; below it the whole request and its cache on one axis."""

    key = "request_life"

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        self.life: RequestLife | None = None
        self.started: Started | None = None
        self._others: tuple[tuple[Other, RequestLife], ...] = ()
        self._pointer: QPointF | None = None
        self._factor, self._unit = 1.0, "s"
        self._size, self._size_unit = float(memory_size()), memory_unit()
        self._whole = _Bar(QRectF(), 0.0, 1.0)
        self._enlarged: _Bar | None = None
        super().__init__(words, parent)

    def build(self) -> None:
        """One panel for the cache, in the ledger's colour."""
        panel = self.area.add_panel()
        self.panel = panel
        panel.headroom = 26.0
        self.held = Curve(panel, 1, fill=lambda t: t.ledger_tint["kv_cache"])
        self.first = Curve(panel, 7, lambda t: t.ink3, width=1, dash=(1, 2))
        self.edge = Curve(panel, 10, lambda t: t.ledger["kv_cache"])
        self.other_edges = [Curve(panel, 9, lambda t: t.ghost, width=1.5, dash=(5, 3)) for _ in range(MOST)]

    @property
    def ready(self) -> bool:
        """Whether a life has come."""
        return self.life is not None

    def show_life(self, started: Started | None, life: RequestLife | None) -> None:
        """Show a request; without one, why there is none."""
        self.started, self.life, self._stale = started, life, False
        if life is None:
            lines = (
                (self.words("plots.no_speed"), self.words("plots.no_change"))
                if started is None
                else (self.words("plots.request_life.endless"), self.words("plots.request_life.endless_why"))
            )
            for curve in self._own_curves():
                curve.clear()
            self.show_empty(*lines)
            return
        self._empty = ()
        self._fit(life)
        self._layout()

    def show_others(self, others: Sequence[Other]) -> None:
        """The requests of other scenarios behind the own."""
        self._others = lives_of(others)
        if self.life is not None:
            self._fit(self.life)
            self._layout()

    def _fit(self, life: RequestLife) -> None:
        own = max(life.end, 1e-9)
        # A request that takes far longer elsewhere leaves the picture.
        end = max(own, *(min(other.end, _MOST_LONGER * own) for _, other in self._others), own)
        self._unit, self._factor = time_unit(end)
        self.panel.x = value_axis(end * self._factor)
        self.panel.x_text = self.panel.x.text
        self.panel.x_unit = "{n} " + self._unit
        lives = [life, *(other for _, other in self._others)]
        most = max(float(one.cache_bytes.max()) if one.cache_bytes.size else 0.0 for one in lives)
        size, unit = memory_steps()[1 if most >= 0.2 * memory_size() else 2]
        self._size, self._size_unit = float(size), unit
        self.panel.y = value_axis(most / self._size, low=True)
        self.panel.title = self.words("plots.request_life.cache", unit=self._size_unit)

    def look(self) -> Look:
        """Grey when the request is one of another scenario than the one set."""
        other = self.started is not None and self.started.change is not None
        return "muted" if self._stale or other else "plain"

    def dress(self, curve: Curve, look: Look) -> None:
        """The helping line stays as it is."""
        curve.look = look if curve is self.edge else "plain"

    def caption(self) -> str:
        """Whose life it is."""
        if self.started is None:
            return self.words("plots.request_life.caption")
        if self.started.change is not None:
            return self.words("plots.not_started", change=self.words.phrase(self.started.change))
        work = self.started.estimate.scenario.workload
        if work.load == "requests":
            return self.words("plots.request_life.caption_rate", rate=three_digits(work.request_rate))
        users = self.words.phrase(counted("units.users", work.users))
        return self.words("plots.request_life.caption_users", users=users)

    def layout_panels(self, inner: QRectF) -> None:
        """Bars above, the cache in what is left."""
        scale = theme().scale
        top = inner.top()
        end = self.panel.x.end / self._factor
        self._enlarged = None
        life = self.life
        if life is not None and 0 < life.first_token < _ENLARGE_BELOW * end:
            top += _MARK * scale
            self._enlarged = _Bar(
                QRectF(inner.left(), top, inner.width(), _BAR * scale), 0.0, life.first_token
            )
            top += (_BAR + 2 * _NAME + 6 + _FAN) * scale
        else:
            top += _MARK * scale
        self._whole = _Bar(QRectF(inner.left(), top, inner.width(), _BAR * scale), 0.0, end)
        names = 1 if self._enlarged is not None else 2
        top += (_BAR + names * _NAME + 14) * scale
        self.panel.rect = QRectF(inner.left(), top, inner.width(), max(20.0, inner.bottom() - top))
        self.panel.headroom = min(26.0, 0.3 * self.panel.rect.height())

    def draw_data(self) -> None:
        """The growing cache, and a line where the first token comes."""
        life = self.life
        if life is None:
            return
        x, y = life.seconds * self._factor, life.cache_bytes / self._size
        self.edge.set(x, y)
        self.held.between(x, np.zeros_like(y), y)
        for curve in self.other_edges:
            curve.clear()
        for (other, seen), curve in zip(self._others, self.other_edges, strict=False):
            other.dress(curve)
            curve.set(seen.seconds * self._factor, seen.cache_bytes / self._size)
        first = life.first_token * self._factor
        self.first.set(np.array([first, first]), np.array([0.0, self.panel.y_end]))

    # -- marks -----------------------------------------------------------------------------------

    def paint_over(self, draw: Draw) -> None:
        """Bars with their words, the cache's name, the pointer."""
        life = self.life
        if life is None:
            return
        before = tuple(span for span in life.spans if span.key != "decode")
        decode = life.span("decode")
        if self._enlarged is not None:
            self._fan(draw, life, self._enlarged)
            for span in before:
                self._span(draw, self._enlarged, span, life)
            self._heading_of(draw, self._enlarged, "plots.request_life.until_first", life.first_token)
            self._names(draw, self._enlarged, before, life, 2)
            for span in before:
                self._span(draw, self._whole, span, life)
            self._names(draw, self._whole, (decode,) if decode else (), life, 1)
        else:
            for span in before:
                self._span(draw, self._whole, span, life)
            self._names(draw, self._whole, life.spans, life, 2)
        if decode is not None:
            self._span(draw, self._whole, decode, life)
        self._heading_of(draw, self._whole, "plots.request_life.whole", life.end)
        self._cache_marks(draw, life)
        for other, seen in self._others:
            mark_life(draw, self.panel, other, seen, self._factor, self._size)
        self._crosshair(draw, life)

    def _span(self, draw: Draw, bar: _Bar, span: Span, life: RequestLife) -> None:
        """One part of a bar, with what it is made of."""
        left, right = bar.px(span.start), bar.px(span.end)
        box = QRectF(left, bar.rect.top(), max(right - left - 1, 0.5), bar.rect.height())
        current, muted = draw.theme, self.look() != "plain"
        shades.fill(draw.painter, box, shades.SPANS[span.key], current, muted)
        if span.key == "own_prompt" and len(life.chunk_ends) < box.width() / 4:
            for end in life.chunk_ends[:-1]:
                draw.fill(QRectF(round(bar.px(end)) - 1, box.top(), 1, box.height()), current.canvas)
        if span.key == "decode":
            self._interruptions(draw, box, span, life, current, muted)

    def _interruptions(
        self, draw: Draw, box: QRectF, span: Span, life: RequestLife, current: Theme, muted: bool
    ) -> None:
        """Other prompts that are read in between, one by one where they can be seen."""
        if span.seconds <= 0 or life.others_seconds <= 0 or not life.others_read > 0:
            return
        share = min(1.0, life.others_seconds / span.seconds)
        count = _others(life)
        pitch = box.width() / count
        shade = shades.SPANS["other_prompts"]
        if pitch * min(share, 1 - share) < _LEAST_SLOT and count > 1:
            # Too many to be drawn: their share of the bar's height.
            low = QRectF(box.left(), box.bottom() - box.height() * share, box.width(), box.height() * share)
            shades.fill(draw.painter, low, shade, current, muted)
            draw.fill(QRectF(box.left(), low.top() - 1, box.width(), 1), current.canvas)
            return
        wide = pitch * share
        for index in range(count):
            x = box.left() + pitch * (index + 0.5) - wide / 2
            shades.fill(draw.painter, QRectF(x, box.top(), wide, box.height()), shade, current, muted)

    def _heading_of(self, draw: Draw, bar: _Bar, key: str, seconds: float) -> None:
        """Words above a bar."""
        y = bar.rect.top() - draw.theme.px(9)
        text = self.words(key, time=show_time(seconds))
        x = bar.px(seconds)
        wide = draw.width(text, "caption_semibold")
        if x - wide < bar.rect.left():
            draw.text(bar.rect.left(), y, text, draw.theme.ink, role="caption_semibold")
        else:
            draw.text(x, y, text, draw.theme.ink, role="caption_semibold", align="right")

    def _fan(self, draw: Draw, life: RequestLife, bar: _Bar) -> None:
        """The part of the whole request that the upper bar enlarges."""
        top = bar.rect.bottom() + (2 * _NAME + 6) * draw.theme.scale
        low = self._whole.rect.top() - 2
        shape = QPolygonF(
            [
                QPointF(bar.rect.left(), top),
                QPointF(bar.rect.right(), top),
                QPointF(self._whole.px(life.first_token), low),
                QPointF(self._whole.rect.left(), low),
            ]
        )
        painter = draw.painter
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shades.shade_colour(shades.FAINT, draw.theme))
        painter.drawPolygon(shape)
        draw.line(bar.rect.left(), top, bar.rect.right(), top, draw.theme.line2)

    def _names(self, draw: Draw, bar: _Bar, spans: tuple[Span, ...], life: RequestLife, rows: int) -> None:
        """What each part is and how long it takes, under it; a thin line where it had to move."""
        current = draw.theme
        bounds = QRectF(
            bar.rect.left(), bar.rect.bottom(), bar.rect.width(), (rows * _NAME + 8) * current.scale
        )
        middles = [bar.rect.bottom() + current.px(_NAME) * (row + 0.5) + 2 for row in range(rows)]
        for span in sorted(spans, key=lambda s: -s.seconds):
            centre = 0.5 * (bar.px(span.start) + bar.px(span.end))
            self._span_name(draw, span, centre, middles, bounds, life)

    def _span_name(
        self, draw: Draw, span: Span, centre: float, middles: list[float], bounds: QRectF, life: RequestLife
    ) -> None:
        texts = (self._said(span, life), self._said(span, None))
        # Rather a shorter text than a line through another one, but that rather than none.
        for text, clear in ((texts[0], True), (texts[1], True), (texts[0], False), (texts[1], False)):
            half = draw.width(text, "caption_medium") / 2
            if 2 * half > bounds.width():
                continue
            x = min(max(centre, bounds.left() + half), bounds.right() - half)
            for row, y in enumerate(middles):
                leader = centre, bounds.top() + 1, centre, y - draw.theme.px(8)
                if row and clear and not draw.clear(*leader):
                    break  # the line to any further row would go through the same text
                look = draw.theme.ink2, bounds
                if draw.text_if_free(x, y, text, *look, role="caption_medium", align="centre"):
                    if row:
                        draw.line(*leader, draw.theme.control)
                        draw.keep_clear(*leader)
                    return

    def _said(self, span: Span, life: RequestLife | None) -> str:
        """ "own prompt 2.89 s, 3 steps"; without ``life`` the name and the time alone."""
        values: dict[str, object] = {"time": show_time(span.seconds)}
        key = f"plots.request_life.{span.key}"
        if life is None:
            return self.words(key, **values)
        if span.key == "own_prompt" and len(life.chunk_ends) > 1:
            steps = show_count(len(life.chunk_ends))
            tokens = show_tokens(life.chunk_tokens)
            return self.words("plots.request_life.own_prompt_steps", steps=steps, tokens=tokens, **values)
        if span.key == "decode" and life.others_seconds > 0:
            values["others"] = show_time(life.others_seconds)
            count = counted("plots.request_life.other_count", _others(life))
            return self.words("plots.request_life.decode_shared", count=self.words.phrase(count), **values)
        return self.words(key, **values)

    def _cache_marks(self, draw: Draw, life: RequestLife) -> None:
        """Name of the panel, tokens at the first and at the last token."""
        panel, current = self.panel, draw.theme
        first = panel.px(life.first_token * self._factor)
        draw.avoid(
            panel.rect.left() + panel.rect.width() * life.seconds * self._factor / panel.x.end,
            panel.rect.bottom() - panel.rect.height() * (life.cache_bytes / self._size) / panel.y_end,
        )
        draw.taken.append(QRectF(first - 1, panel.rect.top(), 2, panel.rect.height()))
        last, most = panel.px(life.end * self._factor), float(life.cache_bytes[-1])
        end_y = panel.py(most / self._size)
        text = self.words(
            "plots.request_life.at_end",
            tokens=show_tokens(float(life.tokens[-1])),
            size=self._shown(most),
        )
        for dx, dy in ((-4.0, -12.0), (-4.0, 14.0), (-4.0, 26.0), (-4.0, 40.0)):
            x, y, look = last + dx, end_y + current.px(dy), current.ink
            if draw.text_if_free(x, y, text, look, panel.rect, role="caption_semibold", align="right"):
                break
        draw.ring(last, end_y, current.ink, size=6, edge=1.6)
        at_first = at(life.first_token * (1 + 1e-9), life.seconds, life.cache_bytes)
        prompt = at(life.first_token * (1 + 1e-9), life.seconds, life.tokens)
        y = panel.py(at_first / self._size)
        text = self.words("plots.request_life.at_first", tokens=show_tokens(prompt))
        for dy in (13.0, 26.0, -12.0):
            if draw.text_if_free(first + 8, y + current.px(dy), text, current.ink2, panel.rect):
                break
        draw.ring(first, y, current.ink, size=6, edge=1.6)
        panel_title(draw, panel, [(first, first)])

    def _shown(self, size: float) -> Shown:
        return Shown(three_digits(size / self._size), self._size_unit)

    # -- reading ---------------------------------------------------------------------------------

    def _time_at(self, point: QPointF | None) -> float | None:
        """The time that a place of the picture stands for."""
        if point is None or self.life is None:
            return None
        bar = self._whole
        if self._enlarged is not None and point.y() < self._enlarged.rect.bottom() + _NAME * theme().scale:
            bar = self._enlarged
        seconds = bar.seconds_at(point.x())
        return seconds if 0 <= seconds <= self.life.end else None

    def _crosshair(self, draw: Draw, life: RequestLife) -> None:
        seconds = self._time_at(self._pointer)
        if seconds is None:
            return
        panel, x = self.panel, self.panel.px(seconds * self._factor)
        draw.line(x, self._whole.rect.top(), x, round(panel.rect.bottom()), draw.theme.control)
        if self._enlarged is not None and seconds <= life.first_token:
            upper = self._enlarged.px(seconds)
            draw.line(
                upper, self._enlarged.rect.top(), upper, self._enlarged.rect.bottom(), draw.theme.control
            )
        size = at(seconds, life.seconds, life.cache_bytes)
        draw.dot(x, panel.py(size / self._size), draw.theme.ledger["kv_cache"])

    def read(self) -> tuple[str, str]:
        """What happens at the pointer; for screen readers the whole life."""
        life = self.life
        if life is None:
            return "", ""
        spoken = self.words.listed(self._said(span, life) for span in life.spans)
        seconds = self._time_at(self._pointer)
        if seconds is None:
            return "", spoken
        now = next((s for s in life.spans if s.start <= seconds <= s.end), None)
        if now is None:
            return "", spoken
        tokens = at(seconds, life.seconds, life.tokens)
        return self.words(
            "plots.request_life.reading",
            time=show_time(seconds),
            what=self.words(f"plots.request_life.doing.{now.key}"),
            tokens=show_tokens(math.floor(tokens)),
            size=self._shown(at(seconds, life.seconds, life.cache_bytes)),
        ), spoken

    def _move(self, point: QPointF) -> None:
        self._pointer = point if self.ready and not self._empty else None
        self._again()

    def _press(self, point: QPointF) -> None:
        """The working of the part of the life, or of the cache, that was clicked."""
        if self.life is None or self._empty:
            return
        if self.panel.rect.contains(point):
            self.selected.emit("ledger.kv_cache")
            return
        seconds = self._time_at(point)
        if seconds is not None:
            decodes = seconds > self.life.first_token
            self.selected.emit("time_per_output_token" if decodes else "time_to_first_token")

    def _step(self, step: str) -> None:
        """Enter unfolds what the time axis begins with."""
        if step == "take" and self.life is not None:
            self.selected.emit("time_to_first_token")

    def _leave(self) -> None:
        self._pointer = None
        self._again()


def _others(life: RequestLife) -> int:
    """Prompts of others that are read during the answer, a whole number."""
    count = life.others_read
    return int(min(max(1.0, round(count)), 1e9)) if math.isfinite(count) else 1
