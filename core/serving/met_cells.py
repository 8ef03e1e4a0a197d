"""What arrivals meet in cells that each have lives of their own: the points of ``core.serving.met``, but
only those that the answer stands on.

Lives hardly get shorter with others inside, so x requests carry no more than x / life(1): points below
rate × life(1) carry less than the rate, and those below ceiling × life(1) less than the ceiling.  All
between these and where the rate is first carried are worked out: neither lives nor what is carried rise
evenly, as steps are padded, prompts fill them, and short answers have more than one balance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.latency.beside import BY_POINT
from core.latency.protocol import StepPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.life import Lengths
from core.serving.lifecycle import lasting, live

FIRST, RATIO, MOST = 0.01, 1.25, 1e9  # requests inside
POINTS = np.concatenate([[0.0], FIRST * RATIO ** np.arange(np.ceil(np.log(MOST / FIRST) / np.log(RATIO)))])
_BLOCK = 4200  # lives worked out together: what fits the processor's cache
# Points looked at together from the last that cannot carry the rate, at first and after that.
_FIRST_LOOK, _LOOK = 3, 3
_NO_WAIT = 1e-13  # of a life: less is no queue
_FULL = 1.0 - 1e-9
# Others inside make no life shorter than this share of the one alone, unless its tokens are few: their
# prompts wait for each other and are then read side by side.
_SHORTEST, _FEW = 1.0 / RATIO, 4.0
Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """n cells; ``room`` requests of each.  ``quantile``: whose lives count."""

    plan: StepPlan
    lengths: Lengths  # numbers, or arrays (n,)
    room: FloatArray  # (n,)
    quantile: int

    def lives(self, cells: Places, inside: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Seconds of lives with ``inside`` requests in each of ``cells``, and the share that is decoding."""
        if len(cells) <= _BLOCK:
            return self._block(cells, inside)
        count = -(-len(cells) // _BLOCK)
        pairs = zip(np.array_split(cells, count), np.array_split(inside, count), strict=True)
        parts = [self._block(*pair) for pair in pairs]
        total, share = zip(*parts, strict=True)
        return np.concatenate(total), np.concatenate(share)

    def _block(self, cells: Places, inside: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not len(cells):
            return np.empty(0), np.empty(0)
        plan = self.plan.part(cells) if isinstance(self.plan, BY_POINT) else self.plan
        lengths = part_of(self.lengths, cells)
        if self.quantile == EXPECTED:
            return lasting(plan, lengths, inside)
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
        ordered = value[order]
        new[1:] |= ordered[1:] != ordered[:-1]  # no difference: lengths without an end are alike
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
    table = _Table(cells)
    last = table.rates[-1].copy()
    load = np.minimum(here / last, _FULL)
    # Where nobody waits for a place the ceiling says no more than that.
    counts = waiting(load, cells.room) > _NO_WAIT
    above = np.where(counts, table.under(last, _SHORTEST), table.points)
    table.fill(above, table.points)
    below = reached = table.under(here)
    look = _FIRST_LOOK
    while (still := (reached < above) & (reached <= table.first_over(here))).any():
        beyond = np.where(still, reached + look, reached)
        table.fill(reached, beyond)
        reached, look = beyond, _LOOK
    # What lies further below has to carry no more than the last point before the rate.
    table.fill(table.under(table.most_within(here), _SHORTEST), below)
    carried = np.maximum.accumulate(table.rates, axis=0)
    seen = between(here, carried, table.found)
    return carried[-1], seen, between(seen, table.found, table.share)


def waiting(load: FloatArray, room: FloatArray | float) -> FloatArray:
    """Share of its life that a request waits for one of ``room`` places, of which ``load`` < 1 are taken:
    Sakasegawa's approximation.
    """
    return np.asarray(load ** (np.sqrt(2 * (room + 1)) - 1) / ((1 - load) * room))


class _Table:
    """The points of n cells (P, n), the last two without and with a queue for room; what has not been
    worked out yet carries nothing.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells, room = cells, cells.room
        last, n = np.maximum(room - 1.0, 0.0), len(room)
        self._below = POINTS[: max(int(np.searchsorted(POINTS, last.max())), 1)]
        # Those of each cell that lie below L - 1.
        self.points = np.minimum(np.searchsorted(POINTS, last, "right"), len(self._below))
        beyond = self._below[:, None] > last
        self.found = np.concatenate([np.where(beyond, last, self._below[:, None]), last[None], room[None]])
        ends = cells.lives(np.tile(np.arange(n), 2), np.concatenate([np.minimum(room, 1.0), room]))
        total, share = (values.reshape(2, n) for values in ends)
        self._known = np.concatenate([beyond, np.ones((2, n), dtype=bool)])
        self.rates = np.where(self._known, self.found / total[1], 0.0)
        self.share = np.where(self._known, share[1], share[0])
        self._known[0] = True
        self._alone = np.where(np.asarray(cells.lengths.output) > _FEW, total[0], 0.0)

    def under(self, rates: FloatArray, share: float = 1.0) -> Places:
        """The number (n,) of the last point that carries no more than ``rates``, if no life is shorter than
        ``share`` of the one alone.
        """
        return np.asarray(np.searchsorted(self._below, rates * share * self._alone, "right") - 1)

    def fill(self, first: Places, beyond: Places) -> None:
        """Work out the points from ``first`` (n,) to before ``beyond`` (n,)."""
        number = np.arange(len(self._below))[:, None]
        places = np.flatnonzero((number >= first) & (number < beyond) & ~self._known[:-2])
        at, which = np.divmod(places, len(first))
        total, share = self._cells.lives(which, self._below[at] + 1.0)
        self.share.reshape(-1)[places] = share
        self.rates.reshape(-1)[places] = self._below[at] / total
        self._known.reshape(-1)[places] = True

    def first_over(self, rates: FloatArray) -> Places:
        """The number (n,) of the first point that is known to carry more than ``rates``; P where none is."""
        over = self.rates > rates
        return np.where(over.any(axis=0), over.argmax(axis=0), len(over))

    def most_within(self, rates: FloatArray) -> FloatArray:
        """The most (n,) that is carried before the first point that carries more than ``rates``."""
        number = np.arange(len(self.rates))[:, None]
        return np.asarray(np.where(number < self.first_over(rates), self.rates, 0.0).max(axis=0))


def between(at: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """``np.interp`` of each column: at (n,), x rising (P, n), y (P, n)."""
    n = x.shape[1]
    after = np.minimum(np.maximum((x <= at).sum(axis=0), 1), len(x) - 1) * n + np.arange(n)
    before, x, y = after - n, x.reshape(-1), y.reshape(-1)
    x0, y0 = x[before], y[before]
    width = x[after] - x0
    part = np.divide(at - x0, width, out=np.ones(n), where=width > 0)
    return np.asarray(y0 + np.minimum(np.maximum(part, 0.0), 1.0) * (y[after] - y0))
