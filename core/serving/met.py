"""What arrivals meet: how many requests are in the engine at a rate, and the rate that it can carry.

An arrival finds as many others as there are on average; with them it makes one more.  So a rate r keeps
x(r) requests inside, the least x with x / life(x + 1) = r, between points that lie a fixed ratio apart;
where L have room, life goes no further than L and the last two points are L - 1 and L:

    carried(x) = the most of x' / life(min(x' + 1, L)) over x' <= x        ceiling = carried(L)

The points below L - 1 are the same whatever L is: cells that differ in their room alone share them.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from core.latency.beside import BY_POINT, PlansBeside
from core.latency.points import PointsPlan
from core.latency.protocol import StepPlan
from core.quantities import FloatArray
from core.serving.life import Lengths
from core.serving.lifecycle import EVERY, ONE, Quantiles, lasting, live
from core.serving.met_cells import POINTS, Cells, Groups, between, groups_of, met_in_cells, met_in_groups

_SHARED = 0.05  # groups of cells for each cell, beyond which lives are not shared


@dataclass(frozen=True, slots=True)
class Met:
    """Of n rates and Q quantiles; a ceiling that is alike for all has one column."""

    ceiling: FloatArray  # (Q, 1 or n) requests per second that a replica can carry
    seen: FloatArray  # (Q, n) requests inside
    near: FloatArray  # (Q n,) share of their life that these decode


@dataclass(frozen=True, slots=True)
class _Lives:
    """Lives at ``found`` others inside, and the share of each that is decoding."""

    found: FloatArray  # (P, n or 1)
    total: FloatArray  # (Q, P, n or 1) s
    share: FloatArray  # (P, n or 1)


def met(
    plan: StepPlan,
    lengths: Lengths,
    here: FloatArray,
    limit: FloatArray | float,
    quantiles: Quantiles = EVERY,
) -> Met:
    """What arrivals at rates ``here`` (n,) of one replica meet.

    ``limit``: requests that have room; it, the lengths and the plan are those of all cells, or each cell
    has its own (n,).
    """
    n = len(here)
    several = (lengths.prompt, lengths.prefix, lengths.output, lengths.token_budget)
    if not isinstance(plan, BY_POINT) and not any(np.ndim(value) for value in several):
        rooms = np.asarray(limit, dtype=np.float64).reshape(-1)
        rooms = rooms if len(rooms) > 1 and np.ptp(rooms) else rooms[:1]
        return _read(_of_rooms(plan, lengths, rooms, quantiles), here)

    def each(value: float) -> float:
        return value if np.ndim(value) == 0 else np.broadcast_to(value, (n,))  # type: ignore[return-value]

    own = replace(
        lengths,
        prompt=each(lengths.prompt),
        prefix=each(lengths.prefix),
        output=each(lengths.output),
        token_budget=each(lengths.token_budget),
    )
    rooms = np.array(np.broadcast_to(limit, (n,)), dtype=np.float64)
    groups, work_out = _alike(plan, own, n), met_in_cells
    if len(groups.first) <= _SHARED * n:
        work_out = partial(met_in_groups, groups)
    found = [work_out(Cells(plan, own, rooms, quantile), here) for quantile in quantiles]
    ceiling, seen, near = (np.stack(values) for values in zip(*found, strict=True))
    return Met(ceiling, seen, near.reshape(-1))


def _alike(plan: StepPlan, lengths: Lengths, n: int) -> Groups:
    """Cells that have the same lives while there is room."""
    several: list[Any] = [lengths.prompt, lengths.prefix, lengths.output, lengths.token_budget]
    if isinstance(plan, PlansBeside):
        several.append(np.arange(float(n)))
    elif isinstance(plan, PointsPlan):
        several += [plan.reading, plan.gained]
    return groups_of([np.asarray(value) for value in several if np.ndim(value)], n)


def _below(most: float) -> FloatArray:
    """The points that do not depend on the room, as far as somebody has room for."""
    return POINTS[: max(int(POINTS.searchsorted(most - 1.0)), 1)]


def _of_rooms(plan: StepPlan, lengths: Lengths, limits: FloatArray, quantiles: Quantiles) -> _Lives:
    """Cells that differ in their room alone: below L - 1 they share every life."""
    below = _below(float(limits.max()))
    count = len(below)
    total, share = _lives_of(plan, lengths, np.concatenate([below + 1.0, limits]), quantiles)
    last = np.maximum(limits - 1.0, 0.0)
    inside = below[:, None] <= last
    found = np.concatenate([np.where(inside, below[:, None], last), last[None], limits[None]])
    end = total[:, None, count:]
    own = np.where(inside, total[:, :count, None], end)
    parts = np.where(inside, share[:count, None], share[count:])
    return _Lives(
        found,
        np.concatenate([own, end, end], axis=1),
        np.concatenate([parts, share[None, count:], share[None, count:]]),
    )


def _lives_of(
    plan: StepPlan, lengths: Lengths, inside: FloatArray, quantiles: Quantiles
) -> tuple[FloatArray, FloatArray]:
    """Seconds of lives (Q, n) and the share of them that is decoding (n,)."""
    if quantiles == ONE:
        total, share = lasting(plan, lengths, inside)
        return total[None], share
    life = live(plan, lengths, inside, False, None, quantiles)
    return life.total, life.share


def _read(lives: _Lives, here: FloatArray) -> Met:
    """The requests inside at each rate."""
    found, n = lives.found, len(here)
    carried = np.maximum.accumulate(found / lives.total, axis=1)
    if found.shape[1] == 1:
        seen = np.stack([np.interp(here, row[:, 0], found[:, 0]) for row in carried])
        near = np.interp(seen, found[:, 0], lives.share[:, 0])
    else:
        seen = np.stack([between(here, row, found) for row in carried])
        near = np.stack([between(row, found, lives.share) for row in seen])
    return Met(carried[:, -1], seen.reshape(-1, n), near.reshape(-1))


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
