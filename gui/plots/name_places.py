"""Where names may stand beside the points of a plot: on no mark, on no other text, within the plot.

Plain numbers: hundreds of places are tried for a picture, and rectangles of Qt take longer to compare.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from PySide6.QtCore import QRectF

from core.quantities import FloatArray
from gui.plots.draw import Align

_GAP = 3.0  # px around a mark, and beside a text
_OVER = 0.5, 2.0  # px that a name may reach over the edge, sideways and up or down


def _sides(rect: QRectF) -> tuple[float, float, float, float]:
    return rect.left(), rect.top(), rect.right(), rect.bottom()


def around(far: float) -> tuple[tuple[float, float, Align], ...]:
    """Places a little off a point: to the beginning, the end or the middle of its name."""
    return (
        (far, far * 0.6, "left"),
        (-far, far * 0.6, "right"),
        (far, -far * 0.6, "left"),
        (-far, -far * 0.6, "right"),
        (far * 0.3, far, "left"),
        (-far * 0.3, far, "right"),
        (0.0, -far, "centre"),
        (0.0, far, "centre"),
    )


def led(dx: float, dy: float, radius: float) -> tuple[float, float, float, float]:
    """From the edge of a point at the origin to a name that stands so far off."""
    length = math.hypot(dx, dy)
    share, end = radius / length, 1 - (9 if dx == 0 else 4) / length
    return dx * share, dy * share, dx * end, dy * end


class NamePlaces:
    """What is free of marks and of the texts that were written."""

    def __init__(self, bounds: QRectF, xs: FloatArray, ys: FloatArray, taken: Iterable[QRectF]) -> None:
        self._left, self._top, self._right, self._bottom = _sides(bounds)
        order = xs.argsort()
        self._xs: list[float] = xs[order].tolist()
        self._ys: list[float] = ys[order].tolist()
        self._taken = [_sides(rect) for rect in taken if not rect.isEmpty()]

    def take(self, rect: QRectF) -> None:
        """Something stands there now."""
        self._taken.append(_sides(rect))

    def take_line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A thin line stands there now."""
        parts = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / 4))
        for part in range(parts + 1):
            x, y = x0 + (x1 - x0) * part / parts, y0 + (y1 - y0) * part / parts
            self._taken.append((x - 1, y - 1, x + 1, y + 1))

    def on_line(self, x0: float, y0: float, x1: float, y1: float) -> int:
        """How many marks a straight line would run through."""
        dx, dy = x1 - x0, y1 - y0
        length = math.hypot(dx, dy)
        first = bisect_right(self._xs, min(x0, x1) - _GAP)
        last = bisect_left(self._xs, max(x0, x1) + _GAP)
        met = 0
        for x, y in zip(self._xs[first:last], self._ys[first:last], strict=True):
            along = ((x - x0) * dx + (y - y0) * dy) / length
            beside = abs((x - x0) * dy - (y - y0) * dx) / length
            met += 0 <= along <= length and beside < _GAP
        return met

    def free(self, rect: QRectF) -> bool:
        """Whether a name may stand there."""
        left, top, right, bottom = _sides(rect)
        side, up = _OVER
        if left < self._left - side or right > self._right + side:
            return False
        if top < self._top - up or bottom > self._bottom + up:
            return False
        first, last = bisect_right(self._xs, left - _GAP), bisect_left(self._xs, right + _GAP)
        if any(top - _GAP < y < bottom + _GAP for y in self._ys[first:last]):
            return False
        left, right = left - _GAP, right + _GAP
        return not any(
            one[0] < right and one[2] > left and one[1] < bottom and one[3] > top for one in self._taken
        )


def apart(wanted: list[float], step: float, low: float, high: float) -> list[float]:
    """Rising places at least ``step`` apart and as near to the wanted ones as that leaves them."""
    groups: list[list[float]] = []  # of wanted places, each with its members side by side
    for place in wanted:
        groups.append([place])
        while len(groups) > 1:
            before, last = groups[-2], groups[-1]
            reach = (len(before) + len(last)) / 2 * step
            if sum(last) / len(last) - sum(before) / len(before) >= reach:
                break
            groups[-2:] = [before + last]
    found = []
    for group in groups:
        half = (len(group) - 1) / 2 * step
        middle = min(max(sum(group) / len(group), low + half), max(high - half, low + half))
        found += [middle - half + step * i for i in range(len(group))]
    return found
