"""The points of the roofline as they stand in the picture, and what is said of one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF

from core.units import show_time, three_digits
from core.words import Words
from gui.plots.log_axis import LogAxis
from gui.plots.name_places import led
from gui.plots.roofline_content import Dot

_TERA = 1e12
_LEAST, _MOST = 3.0, 13.0  # radius of a point: no share, all of the step


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


def leader(place: Place, dx: float, dy: float) -> tuple[float, float, float, float]:
    """A line from the edge of a point to a name that stands so far off."""
    x0, y0, x1, y1 = led(dx, dy, place.radius)
    return place.x + x0, place.y + y0, place.x + x1, place.y + y1


def within(axis: LogAxis, value: float) -> float:
    """A place kept on the axis, so that nothing is lost; NaN for what has none."""
    if value == math.inf:
        return axis.end
    place = axis.place(value)
    return min(max(place, 0.0), axis.end) if math.isfinite(place) else math.nan


def distance(place: Place, point: QPointF) -> float:
    """Pixels between a point of the plot and a place."""
    return math.hypot(place.x - point.x(), place.y - point.y())


def radius_of(dot: Dot, scale: float) -> float:
    """Pixels: the area goes with the share of the step."""
    return (_LEAST + (_MOST - _LEAST) * math.sqrt(min(1.0, max(0.0, dot.share)))) * scale


def stands_on(at: QPointF, slope: float, length: float, places: Sequence[Place]) -> bool:
    """Whether a text along a slope through ``at``, 11 pixels above it, covers one of the points."""
    for place in places:
        dx, dy = place.x - at.x(), place.y - at.y()
        along = dx * math.cos(slope) - dy * math.sin(slope)
        above = -dx * math.sin(slope) - dy * math.cos(slope)
        if abs(along) < length / 2 + place.radius + 2 and abs(above - 11) < 8 + place.radius:
            return True
    return False
