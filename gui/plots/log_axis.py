"""An axis in decades.

A panel counts from 0 to ``end``, so on this axis a value stands at the number of decades above the
first one: ``place`` turns values into places, ``value`` back.
"""

import math
from dataclasses import dataclass

import numpy as np

from core.quantities import FloatArray
from core.units import three_digits
from gui.plots.scales import Axis


@dataclass(frozen=True, slots=True)
class LogAxis(Axis):
    """Whole decades from 10^``first``; ``end`` decades high."""

    first: int = 0

    @property
    def ticks(self) -> tuple[float, ...]:
        """Whole decades; the axis may end between two."""
        return tuple(float(i) for i in range(math.floor(self.end + 1e-9) + 1))

    def place(self, value: float) -> float:
        """Decades above the first; NaN for what has no logarithm."""
        return math.log10(value) - self.first if value > 0 and math.isfinite(value) else math.nan

    def places(self, values: FloatArray) -> FloatArray:
        """The same for an array."""
        good = np.isfinite(values) & (values > 0)
        found = np.full(np.shape(values), np.nan)
        found[good] = np.log10(values[good]) - self.first
        return found

    def value(self, place: float) -> float:
        """The value at a place."""
        return float(10.0 ** (place + self.first))

    def text(self, value: float) -> str:
        """The label of a tick: 0.01, 1, 1,000."""
        exponent = round(value) + self.first
        if not -6 <= exponent <= 6:
            return f"10^{exponent}"
        return f"{10**exponent:,}" if exponent >= 0 else three_digits(10.0**exponent).rstrip("0")


def log_axis(low: float, high: float, most: int = 8, *, whole: bool = True) -> LogAxis:
    """Whole decades that hold both ends; the upper ones where there would be too many.

    Not ``whole``: it ends at ``high`` itself.
    """
    if not (high > 0 and math.isfinite(high)):
        return LogAxis(3.0, 1.0)
    last = math.ceil(math.log10(high) - 1e-9)
    first = math.floor(math.log10(low) + 1e-9) if low > 0 and math.isfinite(low) else last - 3
    first = max(min(first, last - 2), last - most)
    end = float(last) if whole else math.log10(high)
    return LogAxis(end - first, 1.0, first=first)
