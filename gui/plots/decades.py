"""Logarithmic axes over what is measured: ends a little beyond the values, ticks at round numbers."""

import math
from dataclasses import dataclass, field

import numpy as np

from core.quantities import FloatArray

_LEAST_SPAN = 0.7  # decades: one run alone still has several ticks, and a band about it its two edges


@dataclass(slots=True)
class Scale:
    """Decades along one side."""

    low: float = 0.0
    high: float = 1.0
    factor: float = 1.0
    ticks: tuple[float, ...] = field(default_factory=tuple)


def bare(value: float) -> str:
    """A tick as it is written: 0.3, 30, 3,000."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"


def decades(values: FloatArray, factor: float) -> Scale:
    """An axis that holds all values, with ticks at round numbers of the unit shown."""
    good = values[np.isfinite(values) & (values > 0)]
    if not len(good):
        return Scale(0.0, 1.0, factor, ())
    low, high = float(np.log10(good.min())), float(np.log10(good.max()))
    margin = max(0.06 * (high - low), 0.06, 0.5 * (_LEAST_SPAN - (high - low)))
    low, high = low - margin, high + margin
    parts = (1, 2, 3, 5, 7) if high - low < 0.9 else (1, 3) if high - low < 3.2 else (1,)
    shift = math.log10(factor)
    ticks = [
        part * 10.0**power / factor
        for power in range(math.floor(low + shift), math.ceil(high + shift) + 1)
        for part in parts
        if low <= math.log10(part * 10.0**power / factor) <= high
    ]
    return Scale(low, high, factor, tuple(ticks))
