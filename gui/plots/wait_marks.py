"""Marks of the times to the first token: which requests are painted, in portions of a millisecond or two."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PySide6.QtGui import QColor, QPolygonF

from core.quantities import FloatArray
from gui.plots.canvas import Frame, dots, rings
from gui.plots.draw import Draw
from gui.theme import Theme
from gui.work.simulation import Fates

_MOST_POINTS = 1500
_PORTION = 400  # marks
PORTIONS = _MOST_POINTS // _PORTION + 4  # at most: the last one of each of four kinds is not full


@dataclass(frozen=True, slots=True)
class Waits:
    """Requests whose first token is known: when they came and how long it took, s; what became of them."""

    at: FloatArray
    took: FloatArray
    missed: np.ndarray  # the target
    again: np.ndarray  # they had to leave the cache

    @property
    def most(self) -> float:
        """The longest, s."""
        return float(self.took.max(initial=0.0))


def waits_of(fates: Fates, target: float | None) -> Waits:
    """The requests of a run."""
    known = np.flatnonzero(np.isfinite(fates.first))
    at, took = fates.arrival[known], (fates.first - fates.arrival)[known]
    missed = took > target if target is not None else np.zeros(len(took), dtype=bool)
    return Waits(at, took, missed, fates.preempted[known] > 0)


@dataclass(frozen=True, slots=True)
class Portion:
    """Marks of one kind that are painted in one go."""

    points: QPolygonF
    colour: QColor
    size: float
    filled: bool
    square: bool

    def paint(self, draw: Draw) -> None:
        """Filled or open."""
        (dots if self.filled else rings)(draw, self.points, self.colour, self.size, square=self.square)


@dataclass(frozen=True, slots=True)
class Marks:
    """Those of ``shown`` requests of the ``known``; ``scale``: the axis' unit, and how many are a second."""

    portions: tuple[Portion, ...]
    shown: int
    known: int
    squares: bool  # some had to leave the cache
    scale: tuple[str, float]


def marks_of(waits: Waits, frame: Frame, scale: tuple[str, float], t: Theme) -> Marks:
    """The marks in a frame whose x axis is time, from 0 on."""
    rows = _chosen(waits, frame.x1)
    portions = tuple(_portions(waits, rows, frame, scale[1], t))
    return Marks(portions, len(rows), len(waits.at), bool(waits.again.any()), scale)


def _portions(waits: Waits, chosen: np.ndarray, frame: Frame, factor: float, t: Theme) -> Iterator[Portion]:
    """The chosen requests in the order in which they cover each other; squares had to leave the cache."""
    size = 5.5 if len(chosen) < 600 else 4.0
    for square in (False, True):
        for missed, colour in ((False, t.curve), (True, t.warn)):
            rows = chosen[(waits.missed[chosen] == missed) & (waits.again[chosen] == square)]
            for start in range(0, len(rows), _PORTION):
                some = rows[start : start + _PORTION]
                points = frame.points(waits.at[some], waits.took[some] * factor)
                yield Portion(points, colour, size, missed, square)


def _chosen(waits: Waits, end: float) -> np.ndarray:
    """Rows that are painted: of each stretch the slowest and the one in the middle."""
    at, took = waits.at, waits.took
    count = len(at)
    if count <= _MOST_POINTS:
        return np.arange(count)
    columns = _MOST_POINTS // 2
    column = np.minimum((at / max(end, 1e-12) * columns).astype(np.int64), columns - 1)
    order = np.lexsort((took, column))
    last = np.flatnonzero(np.diff(column[order], append=-1))
    first = np.append(0, last[:-1] + 1)
    return np.unique(np.concatenate([order[last], order[(first + last) // 2]]))
