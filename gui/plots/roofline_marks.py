"""The points of the roofline as they stand in the picture, and what is said of one."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from core.units import show_time, three_digits
from core.words import Words
from gui.plots.draw import Align
from gui.plots.log_axis import LogAxis
from gui.plots.roofline_content import Dot

_TERA = 1e12


@dataclass(frozen=True, slots=True)
class Place:
    """A point in pixels."""

    dot: Dot
    x: float
    y: float
    radius: float


def sentence(dot: Dot, words: Words) -> str:
    """One operator in words."""
    return words(
        "plots.roofline.reading",
        name=words(f"operators.{dot.key}"),
        phase=words(f"plots.phases.{dot.phase}"),
        rate=three_digits(dot.rate / _TERA),
        intensity=three_digits(dot.intensity),
        roof=f"{100 * min(dot.rate / dot.roof, 9.99):.0f}" if dot.roof > 0 else "0",
        share=f"{100 * dot.share:.0f}",
        time=show_time(dot.seconds),
    )


def around(far: float) -> tuple[tuple[float, float, Align], ...]:
    """Places a little off a point."""
    return (
        (far, far * 0.6, "left"),
        (-far, far * 0.6, "right"),
        (far, -far * 0.6, "left"),
        (-far, -far * 0.6, "right"),
        (far * 0.3, far, "left"),
        (-far * 0.3, far, "right"),
    )


def within(axis: LogAxis, value: float) -> float:
    """A place kept on the axis, so that nothing is lost; NaN for what has none."""
    if value == math.inf:
        return axis.end
    place = axis.place(value)
    return min(max(place, 0.0), axis.end) if math.isfinite(place) else math.nan


def distance(place: Place, point: QPointF) -> float:
    """Pixels between a point of the plot and a place."""
    return math.hypot(place.x - point.x(), place.y - point.y())
