"""Where measured runs stand: the ends of both axes, and each run in their logarithms."""

import math
from typing import Literal

import numpy as np

from core.evidence.run import FIGURES
from core.quantities import FloatArray
from gui.plots.decades import Scale, decades
from gui.work.boards import View

Kind = Literal["measured", "batch", "length"]
KINDS: tuple[Kind, ...] = ("measured", "batch", "length")
_ERROR_TICKS = (-0.8, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0, 2.0, 4.0)
_LEAST_SPREAD, _MOST_SPREAD = math.log(1.35), math.log(6.0)


def scales_of(view: View | None, kind: Kind) -> tuple[Scale, Scale]:
    """Both axes: predicted over measured in decades, or the error's logarithm over batch or length."""
    if view is None or not len(view.points):
        return Scale(), Scale()
    points = view.points
    if kind == "measured":
        both = decades(np.concatenate([points.measured, points.predicted]), unit_of(view)[1])
        return both, both
    across = decades(points.batch if kind == "batch" else points.length, 1.0)
    across.ticks = tuple(tick for tick in across.ticks if tick >= 1)  # there is no half a request
    logs = np.log(points.predicted / points.measured)
    spread = min(max(float(np.abs(logs).max(initial=0.0)) * 1.1, _LEAST_SPREAD), _MOST_SPREAD)
    ticks = tuple(t for t in _ERROR_TICKS if abs(math.log1p(t)) <= spread)
    return across, Scale(-spread, spread, 1.0, ticks)


def places_of(view: View, kind: Kind, up: Scale) -> tuple[FloatArray, FloatArray]:
    """Each run (n,) along both axes, in the units of the scales; errors beyond ``up`` stand at its end."""
    points = view.points
    if kind == "measured":
        return np.log10(points.measured), np.log10(points.predicted)
    base = points.batch if kind == "batch" else points.length
    errors = np.clip(np.log(points.predicted / points.measured), up.low, up.high)
    return np.log10(np.maximum(base, 1.0)), errors


def unit_of(view: View) -> tuple[str, float]:
    """The unit of the axes, and what makes it of the figure's own."""
    unit = FIGURES.get(view.figure, "")
    if unit != "s":
        return unit, 1.0
    measured = view.points.measured
    short = not len(measured) or (float(np.median(measured)) < 1.0 and float(measured.max()) < 100.0)
    return ("ms", 1e3) if short else ("s", 1.0)
