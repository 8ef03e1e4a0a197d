"""Memory of many cells of an exploration at once: the ceilings of ``core.memory.capacity`` over arrays."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.memory.build import plan_memory
from core.memory.capacity import refuses_long
from core.memory.demand import CacheDemand
from core.memory.plan import MemoryPlan
from core.quantities import FloatArray
from core.spec.scenario import Scenario

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Memory:
    """Ceilings over the columns, arrays (n,)."""

    kv_tokens: FloatArray  # of all pools
    at_once: FloatArray  # users that memory and scheduler allow
    one_fits: BoolArray
    budget: FloatArray  # bytes
    needed: Callable[[FloatArray], FloatArray]  # users (n,) → bytes of one device (n,)


@dataclass(frozen=True, slots=True)
class _Amounts:
    """Bytes of requests of the cells, arrays (n,); ``kv_tokens`` of one cache."""

    each: FloatArray  # of one more request
    common: FloatArray  # that all share
    kv_tokens: FloatArray
    state: FloatArray  # part of ``each`` that no token takes


def memory_of(scenario: Scenario, prompt: FloatArray, output: FloatArray, prefix: FloatArray) -> Memory:
    """Of one scenario whose requests have other lengths in each cell, arrays (n,)."""
    longest = np.array([scenario.engine.longest_request])
    return _memory((plan_memory(scenario),), longest, refuses_long(scenario), prompt, output, prefix)


def memory_of_each(
    plans: Sequence[MemoryPlan],
    longest: NDArray[np.int_],
    refuses: bool,
    cells: tuple[FloatArray, FloatArray, FloatArray],
) -> Memory:
    """Of n scenarios with a plan each (or one for all), the longest request of each, and what ``cells`` ask:
    prompt, answer and common prefix, arrays (n,).  ``refuses``: see ``refuses_long``.
    """
    return _memory(plans, longest, refuses, *cells)


def _memory(
    plans: Sequence[MemoryPlan],
    longest: NDArray[np.int_],
    refuses: bool,
    prompt: FloatArray,
    output: FloatArray,
    prefix: FloatArray,
) -> Memory:
    """One plan for all cells, or a plan for each."""
    tokens = prompt + output
    pool = _of(plans, lambda p: float(p.pool))
    caches = _of(plans, lambda p: float(p.replicas * p.copies))
    amounts = _amounts(plans, pool, tokens, prefix)
    each, common = amounts.each, amounts.common
    room = np.maximum(0.0, np.floor((pool - common) / np.maximum(each, 1.0)))
    held = np.where(each > 0, room, _of(plans, lambda p: float(p.free_users)))
    token_pool = _of(plans, lambda p: math.inf if p.token_pool is None else float(p.token_pool))
    own = each - amounts.state
    held = np.where(own > 0, np.minimum(held, np.floor(token_pool / np.maximum(own, 1.0))), held)
    held = np.minimum(held, _of(plans, lambda p: math.inf if p.slots is None else float(p.slots)))
    # A prefix differs from cell to cell, which ``needed_over`` takes as one number: the same rule here.
    fixed = _of(plans, lambda p: float(sum(p.fixed.values())))
    least = _of(plans, lambda p: float(p.least_cache))
    ceiling = _of(plans, lambda p: math.inf if p.most_cache is None else float(p.most_cache))
    budget = _of(plans, lambda p: float(p.budget))

    def needed(users: FloatArray) -> FloatArray:
        below = np.floor(users)
        low, high = np.ceil(below / caches), np.ceil(np.ceil(users) / caches)
        requests = low + (users - below) * (high - low)
        cache = requests * each + np.minimum(users, 1.0) * common
        return np.asarray(np.clip(cache, least, ceiling) + fixed)

    one_fits = needed(np.ones_like(tokens)) <= budget
    if refuses:
        one_fits = one_fits & (_reserved(plans, longest) <= pool)
    running = _of(plans, lambda p: math.inf if (most := p.most_running()) is None else float(most))
    at_once = np.minimum(caches * held, running) * np.ones_like(tokens)
    return Memory(caches * amounts.kv_tokens, at_once, one_fits, budget, needed)


def _of(plans: Sequence[MemoryPlan], value: Callable[[MemoryPlan], float]) -> FloatArray:
    """A number of each plan, (n,) or (1,)."""
    return np.array([value(plan) for plan in plans])


def _amounts(
    plans: Sequence[MemoryPlan], pool: FloatArray, tokens: FloatArray, prefix: FloatArray
) -> _Amounts:
    """Cells whose plans ask alike for a cache go together."""
    alike: dict[CacheDemand, list[int]] = {}
    for index, plan in enumerate(plans):
        alike.setdefault(plan.demand, []).append(index)
    if len(plans) == 1:
        return _amounts_alike(plans, plans[0].demand, pool, tokens, prefix)
    out = _Amounts(*(np.empty(len(tokens)) for _ in range(4)))
    for demand, found in alike.items():
        at = np.array(found)
        own = [plans[index] for index in found]
        part = _amounts_alike(own, demand, pool[at], tokens[at], prefix[at])
        out.each[at], out.common[at] = part.each, part.common
        out.kv_tokens[at], out.state[at] = part.kv_tokens, part.state
    return out


def _amounts_alike(
    plans: Sequence[MemoryPlan],
    demand: CacheDemand,
    pool: FloatArray,
    tokens: FloatArray,
    prefix: FloatArray,
) -> _Amounts:
    ones = np.ones_like(tokens)
    each = np.asarray(demand.request_bytes(tokens, prefix), dtype=np.float64) * ones
    whole = np.asarray(demand.request_bytes(tokens), dtype=np.float64) * ones
    common = np.asarray(demand.shared_bytes(tokens, prefix), dtype=np.float64) * ones
    per_token = demand.bytes_per_token()
    first = plans[0]
    if first.token_pool is not None and per_token:
        kv_tokens = _of(plans, lambda p: float((p.token_pool or 0) // per_token)) * ones
    elif demand.is_plain:
        kv_tokens = _of(plans, lambda p: float(demand.tokens_in(p.pool, 1))) * ones
    else:
        kv_tokens = np.where(whole > 0, np.floor(pool * tokens / np.maximum(whole, 1.0)), 0.0)
    if not whole.all():
        kv_tokens = np.where(whole > 0, kv_tokens, first.free_tokens(tokens))
    return _Amounts(each, common, kv_tokens, float(demand.state_bytes) * ones)


def _reserved(plans: Sequence[MemoryPlan], longest: NDArray[np.int_]) -> FloatArray:
    """Bytes of the longest request as the engine counts them."""
    known: dict[tuple[CacheDemand, int, int], float] = {}
    count = max(len(plans), len(longest))
    out = np.empty(count)
    for index in range(count):
        plan, length = plans[index % len(plans)], int(longest[index % len(longest)])
        key = (plan.demand, length, plan.batched_tokens)
        if key not in known:
            known[key] = float(plan.demand.reserved_bytes(length, plan.batched_tokens))
        out[index] = known[key]
    return out
