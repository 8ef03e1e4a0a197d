"""Other scenarios behind the roofline, the step and the request: pinned ones, and advice pointed at."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from core.planning.request_life import RequestLife, request_life
from core.planning.started import Started, started
from core.units import show_time
from gui.plots.area import Curve, Panel
from gui.plots.base import Ghost
from gui.plots.compare_curves import marker
from gui.plots.draw import Draw
from gui.plots.letters import badge
from gui.plots.roofline_content import Dot, PhaseName, RooflineData, roofline_of
from gui.theme import Theme, series_dash, theme
from gui.widgets import paint

MOST = 3
STEP_LINE = 16  # height of the line of another scenario's step
_LEAST_SHARE = 0.02  # of a step; a smaller operator has no mark in another scenario
_JOINED = 0.1  # share from which on a line leads to where the operator goes
DASH = (5.0, 3.0)


@dataclass(frozen=True, slots=True)
class Other:
    """A scenario that starts as it is set.  ``series`` as of ``Ghost``."""

    label: str
    series: int
    started: Started

    def colour(self, current: Theme) -> QColor:
        """Its own, or grey for one that passes."""
        return current.series_colour(self.series) if self.series else current.ghost

    def dress(self, curve: Curve) -> None:
        """Give a curve its look."""
        curve.line, curve.dash = self.colour, series_dash(self.series) if self.series else DASH

    def name(self, draw: Draw, x: float, y: float, bounds: QRectF) -> None:
        """Its letter, or its words where it passes."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        if self.series:
            badge(draw, x, y, self.label, self.series, bounds)
            return
        for dy in (-9.0, 9.0, -22.0, 22.0):
            if draw.text_if_free(
                min(x, bounds.right() - 3), y + dy, self.label, draw.theme.ink2, bounds, align="right"
            ):
                return


def others_of(ghosts: Sequence[Ghost]) -> tuple[Other, ...]:
    """Those of the ghosts that have an estimate and speeds of their own."""
    found = []
    for ghost in ghosts[:MOST]:
        running = started(ghost.estimate) if ghost.estimate is not None else None
        if running is not None and running.change is None:
            found.append(Other(ghost.label, ghost.series, running))
    return tuple(found)


def rooflines_of(others: Sequence[Other]) -> tuple[tuple[Other, RooflineData], ...]:
    """Their points and ceilings."""
    return tuple((other, roofline_of(other.started)) for other in others)


def lives_of(others: Sequence[Other]) -> tuple[tuple[Other, RequestLife], ...]:
    """Their requests, of those whose requests are ever answered."""
    lives = ((other, request_life(other.started)) for other in others)
    return tuple((other, life) for other, life in lives if life is not None)


def mark_operators(
    draw: Draw,
    other: Other,
    dots: Sequence[tuple[Dot, QPointF]],
    own: Mapping[tuple[PhaseName, str], QPointF],
) -> None:
    """Marks of another scenario's operators, with a line from where the large ones are here."""
    colour = other.colour(draw.theme)
    for dot, place in dots:
        start = own.get((dot.phase, dot.key))
        if start is not None and dot.share >= _JOINED:
            draw.line(start.x(), start.y(), place.x(), place.y(), colour, 1.0, DASH)
    for dot, place in dots:
        if dot.share < _LEAST_SHARE:
            continue
        if other.series:
            marker(draw, place.x(), place.y(), other.series)
        else:
            draw.ring(place.x(), place.y(), colour, size=6, edge=1.5)


@dataclass(frozen=True, slots=True)
class StepGhost:
    """A step of another scenario as a line beside the bar: ``share`` of the own step's length."""

    label: str
    series: int
    share: float
    text: str


def step_ghosts(others: Sequence[Other], own: Started) -> tuple[tuple[StepGhost, ...], tuple[StepGhost, ...]]:
    """Prefill and decode step of the others, measured by the own."""

    def of(phase: str) -> tuple[StepGhost, ...]:
        whole = max(getattr(own.speed, phase).seconds, 1e-12)
        found = []
        for other in others:
            seconds = getattr(other.started.speed, phase).seconds
            if math.isfinite(seconds):
                found.append(
                    StepGhost(
                        other.label, other.series, seconds / whole, f"{other.label} {show_time(seconds)}"
                    )
                )
        return tuple(found)

    return of("prefill"), of("decode")


def step_lines(painter: QPainter, bar: QRectF, others: Sequence[StepGhost]) -> None:
    """How long the step takes elsewhere, under its bar: an arrow where the line would be longer than that."""
    t = theme()
    font = t.font("caption_medium")
    for index, one in enumerate(others):
        y = bar.bottom() + t.px(4 + STEP_LINE * (index + 0.5))
        text = f"{one.text} →" if one.share > 1 else one.text
        wide = paint.width(font, text)
        pen = QPen(t.series_colour(one.series) if one.series else t.ghost, t.px(3))
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([length / 3 for length in (series_dash(one.series) if one.series else DASH)])
        painter.setPen(pen)
        stop = max(0.0, min(one.share * bar.width(), bar.width() - wide - 8))
        painter.drawLine(QPointF(bar.left(), y), QPointF(bar.left() + stop, y))
        place = QRectF(bar.left() + stop + 6, y - t.px(STEP_LINE) / 2, wide + 2, t.px(STEP_LINE))
        paint.text(painter, place, text, font, t.ink2)


def mark_life(draw: Draw, panel: Panel, other: Other, life: RequestLife, factor: float, size: float) -> None:
    """Where another scenario's request gets its first token, and its name where it ends."""
    first, last = life.first_token * factor, life.end * factor
    if first <= panel.x.end:
        x = panel.px(first)
        draw.line(x, panel.rect.top(), x, panel.rect.bottom(), other.colour(draw.theme), 1.0, (1, 2))
    at = min(last, panel.x.end)
    level = min(float(life.cache_bytes[-1]) / size, panel.y_end)
    other.name(draw, panel.px(at) + (4 if other.series else 0), panel.py(level), panel.rect)


__all__ = [
    "MOST",
    "STEP_LINE",
    "Other",
    "StepGhost",
    "lives_of",
    "mark_life",
    "mark_operators",
    "others_of",
    "rooflines_of",
    "step_ghosts",
    "step_lines",
]
