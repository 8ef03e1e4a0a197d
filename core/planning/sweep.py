"""Curves over the number of users, computed by the same functions as the point estimate.

One point, the memory lines and the speed curves come from the ledger and the steady state, so a
plot can never disagree with a card.
"""

import math
from dataclasses import fields, replace

import numpy as np

from core.estimator import estimate as estimate_point
from core.explain.verdict import phrase_of
from core.memory.build import build_ledger
from core.memory.capacity import capacity, memory_over_users, places, smallest_change_that_fits
from core.memory.ledger import LineKey
from core.planning.curves import LengthLine, WorkloadCurves
from core.quantities import EXPECTED, FloatArray, distinct
from core.results import Estimate
from core.serving.load import LoadCurve
from core.serving.steady_state import Service, closed_loop, prepare
from core.spec.change import with_values
from core.spec.scenario import Scenario

__all__ = ["LengthLine", "WorkloadCurves", "other_lengths", "workload_curves"]

_FIXED: tuple[LineKey, ...] = ("weights", "activations", "graphs", "runtime")
_LINEAR_POINTS = 44
_WIDE_POINTS = 32
_MEMORY_POINTS = 33


def workload_curves(scenario: Scenario, estimate: Estimate | None = None) -> WorkloadCurves:
    """All curves over the number of users.

    ``estimate`` is the point estimate of the same scenario; it is computed when absent.
    """
    point = estimate or estimate_point(scenario)
    users = point.speed.users if point.speed else float(scenario.workload.users)
    if not math.isfinite(users):  # more arrive than are answered
        users = 1.5 * max(1, point.capacity.max_users)
    tokens = scenario.workload.tokens_per_request
    running = point.capacity.max_running  # the rest wait, and hold no memory
    most = places(scenario) if running is None else min(places(scenario), float(running))
    grid = _memory_grid(users, point.capacity.max_users, scenario.deployment.replicas, most)
    ledger = point.ledger
    lengths = np.array([tokens, *other_lengths(scenario)])
    used = memory_over_users(scenario, grid, lengths[:, None])
    lines = [
        _line(grid, row, int(n), ledger.budget_bytes, most) for row, n in zip(used, lengths, strict=True)
    ]
    own = replace(lines[0], users=point.capacity.at_once)
    change = None
    shown: Scenario | None = scenario
    if point.speed is None:  # nothing runs that the curves could be of
        changes = smallest_change_that_fits(scenario)
        shown = with_values(scenario, {c.path: c.value for c in changes}) if changes else None
        change = phrase_of(scenario, changes) if changes else None
    load: LoadCurve | None = None
    frontier: tuple[int, ...] = ()
    full_at, by_batch = math.inf, False
    if shown is not None:
        load, frontier, full_at, by_batch = _load(shown, point if shown is scenario else None, users)
    return WorkloadCurves(
        users=users,
        load=load,
        change=change,
        frontier=frontier,
        full_at=full_at,
        full_by_batch=by_batch,
        memory_users=grid,
        memory=own,
        other_lengths=tuple(lines[1:]),
        fixed=tuple((key, ledger.bytes_of(key)) for key in _FIXED),
        budget_bytes=ledger.budget_bytes,
        device_bytes=ledger.device_bytes,
    )


def other_lengths(scenario: Scenario) -> tuple[int, ...]:
    """Up to three request lengths beside the scenario's: powers of two around it, and the longest."""
    tokens = scenario.workload.tokens_per_request
    longest = scenario.engine.longest_request
    shorter = 2 ** math.floor(math.log2(max(2.0, 0.6 * tokens)))
    longer = 2 ** math.ceil(math.log2(1.4 * tokens))
    found = {shorter, min(longer, longest), min(2 * longer, longest), longest}
    above = sorted(n for n in found if n >= 1.25 * tokens)
    return tuple(([shorter] if 128 <= shorter < 0.8 * tokens else []) + above[:1] + above[1:][-1:])


def _memory_grid(users: float, ceiling: int, replicas: int, places: float) -> FloatArray:
    """Even steps from 0, far enough for any axis drawn from it.

    Whole shares of users for every replica, so that the fullest one does not make stairs of a line;
    the operating point is among them, and the last request that has a place.
    """
    end = max(8.0, 3.0 * users, 2.0 * min(float(ceiling), 8 * users))
    even = np.ceil(np.linspace(0.0, end / replicas, _MEMORY_POINTS)) * replicas
    return distinct(np.append(even, [users, places] if places < end else users))


def _line(grid: FloatArray, used: FloatArray, tokens: int, budget: int, places: float) -> LengthLine:
    full_at = min(_crossing(grid, used, float(budget)), places)
    return LengthLine(tokens, used, int(min(full_at, 1e9)), full_at)


def _crossing(grid: FloatArray, used: FloatArray, budget: float) -> float:
    """Users at which the memory reaches the budget; past the grid the last slope goes on."""
    if used[0] > budget:
        return 0.0
    if used[-1] >= budget:
        return float(np.interp(budget, used, grid))
    slope = (used[-1] - used[len(used) // 2]) / (grid[-1] - grid[len(grid) // 2])
    return float(grid[-1] + (budget - used[-1]) / slope) if slope > 0 else math.inf


def _load(
    scenario: Scenario, point: Estimate | None, users: float
) -> tuple[LoadCurve, tuple[int, ...], float, bool]:
    """Speeds over users, the indices of the points marked on the frontier, and the engine's limit."""
    ceiling = point.capacity if point else capacity(scenario, build_ledger(scenario))
    service = prepare(scenario)
    most = max(1, ceiling.max_users)
    limit = _limit_of(service, ceiling.kv_tokens, 10.0 * most + 1e5)
    marked = _marked_users(most if math.isinf(limit) else min(most, max(1, math.floor(limit))))
    end = max(float(most), min(limit, 1e7))
    near = max(8.0, 2.0 * users, 1.6 * min(end, 6 * users))
    kinks = [limit, 1.02 * limit] if math.isfinite(limit) else []
    grid = distinct(
        np.concatenate(
            [
                np.round(np.linspace(1.0, near, _LINEAR_POINTS)),
                np.geomspace(1.0, 8.0, 10),  # the frontier bends most at its start
                np.round(np.geomspace(1.0, max(near, 1.1 * end), _WIDE_POINTS)),
                np.array([*marked, *kinks, max(users, 1e-3)]),
            ]
        )
    )
    load = closed_loop(service, grid, ceiling.kv_tokens)
    frontier = tuple(int(i) for i in np.searchsorted(grid, marked))
    by_batch = limit >= service.replicas * service.max_num_seqs * (1 - 1e-6)
    return load, frontier, limit, by_batch


_last_limit: list[tuple[Service, float, float, float]] = []  # one, or none


def _limit_of(service: Service, kv_tokens: float, crowd: float) -> float:
    """The limit, kept for the next point: it stays where it is while users come and go."""
    for known, tokens, most, limit in _last_limit:
        if (tokens, most) == (kv_tokens, crowd) and _alike(known, service):
            return limit
    limit = _limit(service, kv_tokens, crowd)
    _last_limit[:] = [(service, kv_tokens, crowd, limit)]
    return limit


def _alike(one: Service, other: Service) -> bool:
    """Whether two services are of the same plan and settings."""
    names = (field.name for field in fields(Service) if field.name != "plan")
    return one.plan is other.plan and all(getattr(one, name) == getattr(other, name) for name in names)


def _limit(service: Service, kv_tokens: float, crowd: float) -> float:
    """Users from which requests wait: beyond it the wait grows in a straight line from zero.

    ``crowd`` must be more than that; inf when not even twice as many wait.
    """
    users = np.array([crowd, 2 * crowd])
    wait, longer = closed_loop(service, users, kv_tokens).queue_seconds[EXPECTED]
    if not 0 < wait < longer:
        return math.inf
    return float(max(1.0, crowd - wait * crowd / (longer - wait)))


def _marked_users(most: int) -> list[float]:
    """1, 2, 4, 8 ... with one and a half times the last power when there is room, and the most that fit."""
    counts = [2.0**i for i in range(int(math.log2(most)) + 1)]
    last = counts[-1]
    if last >= 8 and most > 1.5 * last:
        counts.append(1.5 * last)
    if most > 1.08 * counts[-1]:
        counts.append(float(most))
    return counts
