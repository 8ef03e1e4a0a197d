"""What arrivals meet: how many requests are in the engine at a rate, and the rate that it can carry.

An arrival finds as many others as there are on average; with them it makes one more.  So a rate r keeps
x(r) requests inside, the least x with x / life(x + 1) = r, between points that lie a fixed ratio apart;
where L have room, life goes no further than L and the last two points are L - 1 and L:

    carried(x) = the most of x' / life(min(x' + 1, L)) over x' <= x        ceiling = carried(L)

The points below L - 1 are the same whatever L is: cells that differ in their room alone share them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.latency.points import PointsPlan
from core.latency.protocol import StepPlan
from core.quantities import FloatArray
from core.serving.lifecycle import Lengths, live

_FIRST, _RATIO, _MOST = 0.01, 1.25, 1e9  # requests inside
_GRID = _FIRST * _RATIO ** np.arange(np.ceil(np.log(_MOST / _FIRST) / np.log(_RATIO)))
_BLOCK = 40  # cells worked out together where each has a life of its own: what fits the processor's cache
_SHORTER = 0.5  # of a life alone: nobody's is that much shorter among others
_FEW = 4  # different budgets, one after the other


@dataclass(frozen=True, slots=True)
class Met:
    """Of n rates; a ceiling that is alike for all has one column."""

    ceiling: FloatArray  # (3, 1 or n) requests per second that a replica can carry
    seen: FloatArray  # (3, n) requests inside
    near: FloatArray  # (3 n,) share of their life that these decode


@dataclass(frozen=True, slots=True)
class _Lives:
    """Lives at ``found`` others inside (3, P, n or 1), and the share of each that is decoding."""

    found: FloatArray  # (P, n or 1)
    total: FloatArray
    share: FloatArray  # (P, n or 1)


def met(plan: StepPlan, lengths: Lengths, here: FloatArray, limit: FloatArray | float) -> Met:
    """What arrivals at rates ``here`` (n,) of one replica meet.

    ``limit``: requests that have room; it, the lengths and the plan are those of all cells, or each cell
    has its own (n,).
    """
    n = len(here)
    if not isinstance(plan, PointsPlan) and not _several(lengths.prompt, lengths.prefix, lengths.output):
        if not _several(lengths.token_budget):
            rooms = np.asarray(limit, dtype=np.float64).reshape(-1)
            rooms = rooms if np.ptp(rooms) else rooms[:1]
            return _read(_of_rooms(plan, lengths, rooms), here)
        budgets = np.broadcast_to(lengths.token_budget, (n,))
        different = sorted(set(budgets.tolist()))
        if len(different) <= _FEW:
            limits = np.broadcast_to(limit, (n,))
            groups = [np.flatnonzero(budgets == budget) for budget in different]
            parts = [
                met(plan, replace(lengths, token_budget=budget), here[at], limits[at])
                for budget, at in zip(different, groups, strict=True)
            ]
            return _joined(parts, np.concatenate(groups))
    limits = np.broadcast_to(limit, (n,))
    slices = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
    alone = live(plan, lengths, np.ones(n), together=False).total
    least = _SHORTER * (here * alone).min(axis=0)
    parts = [_read(_of_cells(*_part(plan, lengths, s, n), limits[s], least[s]), here[s]) for s in slices]
    return parts[0] if len(parts) == 1 else _joined(parts, None)


def _several(*values: Any) -> bool:
    return any(np.ndim(value) > 0 for value in values)


def _joined(parts: list[Met], order: Any) -> Met:
    """Parts side by side; ``order`` (n,): where their cells belong."""
    wide = [np.broadcast_to(part.ceiling, part.seen.shape) for part in parts]
    ceiling, seen = np.concatenate(wide, axis=1), np.concatenate([p.seen for p in parts], axis=1)
    near = np.concatenate([p.near.reshape(3, -1) for p in parts], axis=1)
    if order is not None:
        back = np.argsort(order)
        ceiling, seen, near = ceiling[:, back], seen[:, back], near[:, back]
    return Met(ceiling, seen, near.reshape(-1))


def _below(most: float) -> FloatArray:
    """The points that do not depend on the room, as far as somebody has room for."""
    return np.concatenate([[0.0], _GRID[: np.searchsorted(_GRID, most - 1.0)]])


def _of_rooms(plan: StepPlan, lengths: Lengths, limits: FloatArray) -> _Lives:
    """Cells that differ in their room alone: below L - 1 they share every life."""
    below = _below(float(limits.max()))
    count = len(below)
    lives = live(plan, lengths, np.concatenate([below + 1.0, limits]), together=False)
    last = np.maximum(limits - 1.0, 0.0)
    inside = below[:, None] <= last
    found = np.concatenate([np.where(inside, below[:, None], last), last[None], limits[None]])
    total, share = lives.total, lives.share
    end = total[:, None, count:]
    own = np.where(inside, total[:, :count, None], end)
    parts = np.where(inside, share[:count, None], share[count:])
    return _Lives(
        found,
        np.concatenate([own, end, end], axis=1),
        np.concatenate([parts, share[None, count:], share[None, count:]]),
    )


def _of_cells(plan: StepPlan, lengths: Lengths, limits: FloatArray, least: FloatArray) -> _Lives:
    """Cells that each have lives of their own, of which no less than ``least`` (n,) requests are inside:
    points below it are left out.
    """
    n, below, last = len(limits), _below(float(limits.max())), np.maximum(limits - 1.0, 0.0)
    first = np.searchsorted(below, float(least.min()))
    below = np.concatenate([[0.0], below[max(int(first) - 1, 1) :]])
    found = np.concatenate([np.minimum(below[:, None], last), last[None], limits[None]])
    inside = np.minimum(found + 1.0, limits).reshape(-1)
    lives = live(plan, repeated(lengths, len(found), n), inside, together=False)
    return _Lives(found, lives.total.reshape(3, *found.shape), lives.share.reshape(found.shape))


def _read(lives: _Lives, here: FloatArray) -> Met:
    """The requests inside at each rate."""
    found, n = lives.found, len(here)
    carried = np.maximum.accumulate(found / lives.total, axis=1)
    if found.shape[1] == 1:
        seen = np.stack([np.interp(here, row[:, 0], found[:, 0]) for row in carried])
        near = np.interp(seen, found[:, 0], lives.share[:, 0])
    else:
        seen = np.stack([_columns(here, row, found) for row in carried])
        near = np.stack([_columns(row, found, lives.share) for row in seen])
    return Met(carried[:, -1], seen.reshape(3, n), near.reshape(-1))


def _columns(at: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """``np.interp`` of each column: at (n,), x rising (P, n), y (P, n)."""
    n = x.shape[1]
    after = np.clip((x <= at).sum(axis=0), 1, len(x) - 1) * n + np.arange(n)
    before, x, y = after - n, x.reshape(-1), y.reshape(-1)
    x0, y0 = x[before], y[before]
    width = x[after] - x0
    part = np.divide(at - x0, width, out=np.ones(n), where=width > 0)
    return np.asarray(y0 + np.clip(part, 0.0, 1.0) * (y[after] - y0))


def _part(plan: StepPlan, lengths: Lengths, cells: slice, n: int) -> tuple[StepPlan, Lengths]:
    """Some of n cells."""

    def cut(value: float) -> float:
        return value if np.ndim(value) == 0 else np.broadcast_to(value, (n,))[cells]  # type: ignore[return-value]

    own = replace(
        lengths,
        prompt=cut(lengths.prompt),
        prefix=cut(lengths.prefix),
        output=cut(lengths.output),
        token_budget=cut(lengths.token_budget),
    )
    return (plan.part(cells) if isinstance(plan, PointsPlan) else plan), own


def repeated(lengths: Lengths, times: int, n: int) -> Lengths:
    """Lengths of n cells, each as often as it stands in a row after the other."""

    def spread(value: float) -> float:
        return value if np.ndim(value) == 0 else np.tile(np.broadcast_to(value, (n,)), times)  # type: ignore[return-value]

    return replace(
        lengths,
        prompt=spread(lengths.prompt),
        prefix=spread(lengths.prefix),
        output=spread(lengths.output),
        token_budget=spread(lengths.token_budget),
    )
