"""What arrivals meet in cells that each have lives of their own: the points of ``core.serving.met``, but
only those that the answer stands on.

Between two points a rate lies where the lower one carries no more and the upper one does; lives grow with
those inside nearly in a straight line, so a line through the ends of what is left says where to look next.
The ceiling is at the end, or at the last point before it; where what is carried falls before that, every
point is worked out.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.latency.points import PointsPlan
from core.latency.protocol import StepPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.lifecycle import Lengths, lasting, live

FIRST, RATIO, MOST = 0.01, 1.25, 1e9  # requests inside
POINTS = np.concatenate([[0.0], FIRST * RATIO ** np.arange(np.ceil(np.log(MOST / FIRST) / np.log(RATIO)))])
_BLOCK = 2500  # lives worked out together: what fits the processor's cache
_BY_LINES = 5  # looks; what is left is halved
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """n cells; ``room`` requests of each.  ``quantile``: whose lives count."""

    plan: StepPlan
    lengths: Lengths  # numbers, or arrays (n,)
    room: FloatArray  # (n,)
    quantile: int

    def lives(
        self, cells: Places, inside: FloatArray, roughly: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Seconds of lives with ``inside`` requests in each of ``cells``, and the share that is decoding."""
        if len(cells) <= _BLOCK:
            return self._block(cells, inside, roughly)
        starts = range(0, len(cells), _BLOCK)
        parts = [self._block(cells[i : i + _BLOCK], inside[i : i + _BLOCK], roughly) for i in starts]
        total, share = zip(*parts, strict=True)
        return np.concatenate(total), np.concatenate(share)

    def _block(self, cells: Places, inside: FloatArray, roughly: bool) -> tuple[FloatArray, FloatArray]:
        if not len(cells):
            return np.empty(0), np.empty(0)
        plan = self.plan.part(cells) if isinstance(self.plan, PointsPlan) else self.plan
        lengths = part_of(self.lengths, cells)
        if roughly or self.quantile == EXPECTED:
            return lasting(plan, lengths, inside, roughly)
        life = live(plan, lengths, inside, together=False)
        return life.total[self.quantile], life.share


def part_of(lengths: Lengths, cells: Places | slice) -> Lengths:
    """The lengths of some cells."""

    def cut(value: float) -> float:
        return value if np.ndim(value) == 0 else value[cells]  # type: ignore[index]

    return replace(
        lengths,
        prompt=cut(lengths.prompt),
        prefix=cut(lengths.prefix),
        output=cut(lengths.output),
        token_budget=cut(lengths.token_budget),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which cells are alike: G groups of n cells."""

    first: Places  # (G,) a cell of each group
    of: Places  # (n,) the group of each cell


def groups_of(values: Sequence[FloatArray], n: int) -> Groups:
    """Cells with the same of all ``values`` (n,)."""
    if not values:
        return Groups(np.zeros(1, dtype=np.intp), np.zeros(n, dtype=np.intp))
    order = np.lexsort(values)
    new = np.zeros(n, dtype=bool)
    for value in values:
        new[1:] |= np.diff(value[order]) != 0
    new[0], of = True, np.empty(n, dtype=np.intp)
    of[order] = np.cumsum(new) - 1
    return Groups(order[new], of)


def met_in_groups(
    groups: Groups, cells: Cells, here: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``met_in_cells`` of cells that share every life below their room with the others of their group."""
    room = cells.room
    last = np.maximum(room - 1.0, 0.0)
    below = POINTS[: np.searchsorted(POINTS, last.max())]
    some, count = groups.first, len(below)
    lives = cells.lives(np.tile(some, count), np.repeat(below + 1.0, len(some)))
    full = groups_of([groups.of.astype(np.float64), room], len(room))
    ends = cells.lives(full.first, room[full.first])
    inside = below[:, None] <= last
    found = np.concatenate([np.where(inside, below[:, None], last), last[None], room[None]])

    def every(shared: FloatArray, at_end: FloatArray) -> FloatArray:
        end = at_end[full.of][None]
        own = np.where(inside, shared.reshape(count, len(some))[:, groups.of], end)
        return np.concatenate([own, end, end])

    carried = np.maximum.accumulate(found / every(lives[0], ends[0]), axis=0)
    seen = between(here, carried, found)
    return carried[-1], seen, between(seen, found, every(lives[1], ends[1]))


def met_in_cells(cells: Cells, here: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ceilings, requests inside at the rates ``here`` and the share that is decoding; arrays (n,)."""
    room, every = cells.room, np.arange(len(here))
    last = np.maximum(room - 1.0, 0.0)
    upper = np.maximum(np.searchsorted(POINTS, last) - 1, 0)  # the last point before these
    x = np.stack([POINTS[upper], last, room])
    ends = np.minimum(x[[0, 2]] + 1.0, room)
    total, share = (v.reshape(2, -1)[[0, 1, 1]] for v in cells.lives(np.tile(every, 2), ends.reshape(-1)))
    rates = x / total
    falls = rates[0] > rates[2]
    carried = np.maximum.accumulate(rates, axis=0)
    seen = between(here, carried, x)
    near, ceiling = between(seen, x, share), carried[-1]
    if (at := np.flatnonzero((here < rates[0]) & ~falls)).size:
        top = np.stack([upper.astype(np.float64), x[0], total[0], share[0]])[:, at]
        seen[at], near[at] = _searched(cells, here[at], at, top)
    if (at := np.flatnonzero(falls)).size:
        ceiling[at], seen[at], near[at] = _of_all_points(cells, here[at], at)
    return ceiling, seen, near


def _searched(
    cells: Cells, here: FloatArray, which: Places, top: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Requests inside and the share that is decoding, of rates below that of the point ``top`` in ``which``.

    A point is (4, m): its number, requests inside, seconds of their life, and the share.  Those of the first
    one, with nobody inside, are only worked out where they count.
    """
    m = len(which)
    low, high = np.zeros((4, m)), top
    low[2:] = cells.lives(which, np.minimum(cells.room[which], 1.0), roughly=True)
    ends, open_ = np.empty((2, 4, m)), np.arange(m)
    for look in itertools.count():
        still = high[0] - low[0] > 1.0
        ends[:, :, open_[~still]] = low[:, ~still], high[:, ~still]
        open_, low, high = open_[still], low[:, still], high[:, still]
        if not open_.size:
            break
        rate, at = here[open_], which[open_]
        number = _next_look(rate, low, high) if look < _BY_LINES else np.floor(0.5 * (low[0] + high[0]))
        x = POINTS[number.astype(np.intp)]
        point = np.stack([number, x, *cells.lives(at, np.minimum(x + 1.0, cells.room[at]))])
        less = x <= rate * point[2]
        low, high = np.where(less, point, low), np.where(less, high, point)
    low, high = ends
    if (at := np.flatnonzero(low[0] == 0.0)).size:
        low[2:, at] = cells.lives(which[at], np.minimum(cells.room[which[at]], 1.0))
    least = low[1] / low[2]
    part = (here - least) / (high[1] / high[2] - least)
    return low[1] + part * (high[1] - low[1]), low[3] + part * (high[3] - low[3])


def _next_look(here: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The number of the point to work out between two: a straight line of lives carries ``here`` there."""
    short, over = np.maximum(here * low[2] - low[1], 0.0), high[1] - here * high[2]
    x = low[1] + short / (short + over) * (high[1] - low[1])
    number = np.where(x > FIRST, 1.0 + np.log(np.maximum(x, FIRST) / FIRST) / math.log(RATIO), x / FIRST)
    # Beside an end it is that end's neighbour that closes the gap.
    number = np.where(number - low[0] < 1.0, low[0] + 1.0, np.rint(number))
    return np.asarray(np.maximum(np.minimum(number, high[0] - 1.0), low[0] + 1.0))


def _of_all_points(
    cells: Cells, here: FloatArray, which: Places
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``met_in_cells`` for some of the cells, from every point."""
    room = cells.room[which]
    last = np.maximum(room - 1.0, 0.0)
    below = POINTS[: np.searchsorted(POINTS, last.max())]
    found = np.concatenate([np.minimum(below[:, None], last), last[None], room[None]])
    inside = np.minimum(found + 1.0, room)
    lives = cells.lives(np.tile(which, len(found)), inside.reshape(-1))
    total, share = (values.reshape(found.shape) for values in lives)
    carried = np.maximum.accumulate(found / total, axis=0)
    seen = between(here, carried, found)
    return carried[-1], seen, between(seen, found, share)


def between(at: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """``np.interp`` of each column: at (n,), x rising (P, n), y (P, n)."""
    n = x.shape[1]
    after = np.minimum(np.maximum((x <= at).sum(axis=0), 1), len(x) - 1) * n + np.arange(n)
    before, x, y = after - n, x.reshape(-1), y.reshape(-1)
    x0, y0 = x[before], y[before]
    width = x[after] - x0
    part = np.divide(at - x0, width, out=np.ones(n), where=width > 0)
    return np.asarray(y0 + np.minimum(np.maximum(part, 0.0), 1.0) * (y[after] - y0))
