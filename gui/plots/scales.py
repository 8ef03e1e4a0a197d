"""Axis ends and ticks: nice numbers, so that a range stays put while its data moves a little."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.quantities import FloatArray

_VALUE_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_COUNT_STEPS = (1, 2, 4, 5, 8, 10, 16, 20, 32, 40, 50, 64, 80)
# Cost of a number of intervals, as a share of the axis's length; low panels prefer three.
_TALL = {4: 0.0, 3: 0.08, 5: 0.12}
_LOW = {3: 0.0, 4: 0.15, 2: 0.25}
_FLAT = {2: 0.0, 3: 0.3, 1: 0.5}  # so low that four labels touch each other
_SPANNED = {4: 0.0, 3: 0.08, 5: 0.08, 6: 0.2}


@dataclass(frozen=True, slots=True)
class Axis:
    """From ``start`` to ``end`` with a tick every ``step``."""

    end: float
    step: float
    start: float = 0.0

    @property
    def span(self) -> float:
        """From the first tick to the last."""
        return self.end - self.start

    @property
    def ticks(self) -> tuple[float, ...]:
        """Positions of all ticks, ``start`` and ``end`` included."""
        return tuple(self.start + self.step * i for i in range(round(self.span / self.step) + 1))

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """Positions of all ticks with their texts."""
        return _labels(self)

    def text(self, value: float) -> str:
        """The label of a tick."""
        if abs(value) < self.step * 1e-9:
            return "0"
        decimals = max(0, -math.floor(math.log10(self.step) + 1e-9))
        if abs(self.step * 10**decimals - round(self.step * 10**decimals)) > 1e-6:
            decimals += 1
        return f"{value:,.{decimals}f}"


@lru_cache(maxsize=256)
def _labels(axis: Axis) -> tuple[tuple[float, str], ...]:
    return tuple((value, axis.text(value)) for value in axis.ticks)


UNIT = Axis(1.0, 0.25)


def value_axis(wanted: float, *, low: bool = False, flat: bool = False) -> Axis:
    """A nice axis that reaches ``wanted``: about four intervals, three where ``low``, two where ``flat``."""
    if not math.isfinite(wanted) or wanted <= 0:
        return UNIT
    power = math.floor(math.log10(wanted)) - 1
    steps = [m * 10.0**e for e in (power, power + 1) for m in _VALUE_STEPS]
    if power >= 0:
        steps += [1.2 * 10.0 ** (power + 1)]  # 12, 24, 36, 48: sizes of memory
    return _best(steps, wanted, _FLAT if flat else _LOW if low else _TALL)


_LEAST_SPAN = 0.25  # of the larger end: what hardly differs should not look far apart
_ALREADY_THERE = 0.45  # a low end below this share of the high one may as well be 0


def span_axis(low: float, high: float) -> Axis:
    """A nice axis over ``low`` to ``high`` that starts at 0 only where that leaves little of it empty."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= 0:
        return UNIT
    low = min(low, (1 - _LEAST_SPAN) * high)
    if low < _ALREADY_THERE * high:
        return value_axis(high)
    power = math.floor(math.log10(high - low)) - 1
    steps = [m * 10.0**e for e in (power, power + 1) for m in _VALUE_STEPS]
    found = []
    for step in steps:
        start = math.floor(low / step + 1e-9) * step
        count = math.ceil((high - start) / step - 1e-9)
        if count in _SPANNED:
            cost = count * step / (high - low) + _SPANNED[count]
            found.append((cost, Axis(start + count * step, step, start)))
    return min(found, key=lambda pair: pair[0])[1] if found else value_axis(high)


def count_axis(wanted: float) -> Axis:
    """The same for whole numbers, with powers of two among the steps."""
    if not math.isfinite(wanted) or wanted <= 0:
        wanted = 4.0
    power = max(0, math.floor(math.log10(wanted)) - 2)
    return _best([m * 10.0**e for e in (power, power + 1) for m in _COUNT_STEPS], wanted, _TALL)


def _best(steps: list[float], wanted: float, cost: dict[int, float]) -> Axis:
    """The cheapest axis: little empty room, and a good number of intervals."""
    least, best = wanted * (1 - 1e-9), (math.inf, wanted, wanted / 4)
    for n, extra in cost.items():
        for step in steps:
            end = step * n
            if end >= least and end / wanted + extra < best[0]:
                best = (end / wanted + extra, end, step)
    return Axis(best[1], best[2])


def largest(*values: FloatArray | float) -> float:
    """The largest finite value of all, 0 when there is none."""
    top = 0.0
    for value in values:
        array = np.asarray(value, dtype=np.float64)
        finite = array[np.isfinite(array)]
        if finite.size:
            top = max(top, float(finite.max()))
    return top


def drawable(values: FloatArray, end: float) -> tuple[FloatArray, bool]:
    """Values that a painter can take, and whether there is no gap among them.

    What is not finite becomes a gap, what is far off is near enough.
    """
    array = np.array(values, dtype=np.float64)
    good = np.isfinite(array)
    whole = bool(good.all())
    if not whole:
        array[~good] = np.nan
    return np.minimum(np.maximum(array, -1000 * end), 1000 * end), whole


def at(x: float, xs: FloatArray, ys: FloatArray) -> float:
    """``ys`` at ``x`` by linear interpolation over what is finite; NaN when nothing is."""
    if not math.isfinite((xs + ys).sum()):
        good = np.isfinite(xs) & np.isfinite(ys)
        xs, ys = xs[good], ys[good]
    if not len(xs) or (math.isnan(x) and len(xs) > 1):
        return math.nan
    # As numpy's, which for a single value spends most of its time on other kinds of arguments.
    i = int(xs.searchsorted(x, "right")) - 1
    if i < 0 or i == len(xs) - 1:
        return float(ys[max(i, 0)])
    x0, y0 = float(xs[i]), float(ys[i])
    return y0 if x == x0 else (float(ys[i + 1]) - y0) / (float(xs[i + 1]) - x0) * (x - x0) + y0


def users_end(users: float, ceiling: float) -> float:
    """How far a users axis should reach: beyond the operating point, and to the ceiling if it is near."""
    return max(1.4 * users, min(1.25 * ceiling, 5 * users), 4.0)
