"""Where names may stand beside the points of a plot: on no mark, on no other text, within the plot.

Plain numbers: hundreds of places are tried for a picture, and rectangles of Qt take longer to compare.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from PySide6.QtCore import QRectF

from core.quantities import FloatArray

_GAP = 3.0  # px around a mark, and beside a text
_OVER = 0.5, 2.0  # px that a name may reach over the edge, sideways and up or down


def _sides(rect: QRectF) -> tuple[float, float, float, float]:
    return rect.left(), rect.top(), rect.right(), rect.bottom()


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
