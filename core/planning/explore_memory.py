"""Memory of many cells of an exploration at once: the ceilings of ``core.memory.capacity`` over arrays."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.memory.build import plan_memory
from core.memory.capacity import refuses_long
from core.memory.demand import CacheDemand
from core.memory.plan import NO_LIMIT, MemoryPlan, filled_between, free_tokens
from core.memory.sizes import Sizes
from core.memory.vllm import Variants
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


@dataclass(frozen=True, slots=True)
class Alike:
    """Plans that ask alike for a cache."""

    demand: CacheDemand
    at: NDArray[np.int_] | None  # which; None: all
    first: MemoryPlan


@dataclass(frozen=True, slots=True)
class Plans:
    """The numbers of n memory plans (n,), or of one for all cells (1,)."""

    groups: tuple[Alike, ...]
    budget: FloatArray  # bytes
    fixed: FloatArray  # bytes
    caches: FloatArray
    token_pool: FloatArray  # bytes
    slots: FloatArray  # requests
    least: FloatArray  # bytes of the cache
    ceiling: FloatArray  # bytes of the cache
    batched: NDArray[np.int64]  # tokens
    running: FloatArray  # requests

    @property
    def pool(self) -> FloatArray:
        """Bytes left for the cache."""
        return np.maximum(0.0, self.budget - self.fixed)

    @property
    def free_users(self) -> FloatArray:
        """Requests in one cache where none of them takes room in it."""
        places = np.where(np.isinf(self.slots), float(NO_LIMIT), self.slots)
        return np.where(self.fixed > self.budget, 0.0, places)


def plans_of(plans: Sequence[MemoryPlan]) -> Plans:
    """The numbers of plans."""
    alike: dict[CacheDemand, list[int]] = {}
    for index, plan in enumerate(plans):
        alike.setdefault(plan.demand, []).append(index)
    groups = tuple(
        Alike(demand, None if len(alike) == 1 else np.array(found), plans[found[0]])
        for demand, found in alike.items()
    )

    def most(value: int | None) -> float:
        return math.inf if value is None else float(value)

    return Plans(
        groups=groups,
        budget=np.array([float(p.budget) for p in plans]),
        fixed=np.array([float(sum(p.fixed.values())) for p in plans]),
        caches=np.array([float(p.replicas * p.copies) for p in plans]),
        token_pool=np.array([most(p.token_pool) for p in plans]),
        slots=np.array([most(p.slots) for p in plans]),
        least=np.array([float(p.least_cache) for p in plans]),
        ceiling=np.array([most(p.most_cache) for p in plans]),
        batched=np.array([p.batched_tokens for p in plans], dtype=np.int64),
        running=np.array([most(p.most_running()) for p in plans]),
    )


def plans_of_variants(found: Variants) -> Plans:
    """The numbers of one plan at many values of a setting."""
    plan = found.plan
    other = sum(plan.fixed.values()) - plan.fixed["graphs"] - plan.fixed["activations"]
    caches = float(plan.replicas * plan.copies)
    return replace(
        plans_of((plan,)),
        budget=found.budget.astype(np.float64),
        fixed=(other + found.graphs + found.activations).astype(np.float64),
        batched=found.batched_tokens,
        running=np.asarray(caches * found.batch, dtype=np.float64)
        if plan.batch is not None
        else np.array([math.inf]),
    )


def plans_of_sizes(found: Sizes) -> Plans:
    """The numbers of one plan at many values of what its engine takes plainly."""
    one = plans_of((found.plan,))
    least, ceiling = one.least, one.ceiling
    if found.taken is not None:
        least = found.taken.astype(np.float64)
        ceiling = np.where(found.taken > 0, least, math.inf)
    return replace(
        one,
        budget=found.budget.astype(np.float64),
        fixed=found.fixed.astype(np.float64),
        batched=found.batched_tokens,
        least=least,
        ceiling=ceiling,
    )


def memory_of(scenario: Scenario, prompt: FloatArray, output: FloatArray, prefix: FloatArray) -> Memory:
    """Of one scenario whose requests have other lengths in each cell, arrays (n,)."""
    longest = np.array([scenario.engine.longest_request])
    return memory_of_each(
        plans_of((plan_memory(scenario),)), longest, refuses_long(scenario), (prompt, output, prefix)
    )


def memory_of_each(
    plans: Plans,
    longest: NDArray[np.int_],
    refuses: bool,
    cells: tuple[FloatArray, FloatArray, FloatArray],
) -> Memory:
    """Of n scenarios with a plan each (or one for all), the longest request of each, and what ``cells`` ask:
    prompt, answer and common prefix, arrays (n,).  ``refuses``: see ``refuses_long``.
    """
    prompt, output, prefix = cells
    tokens = prompt + output
    caches, pool = plans.caches, plans.pool
    amounts = _amounts(plans, pool, tokens, prefix)
    each, common = amounts.each, amounts.common
    room = np.maximum(0.0, np.floor((pool - common) / np.maximum(each, 1.0)))
    held = np.where(each > 0, room, plans.free_users)
    own = each - amounts.state
    held = np.where(own > 0, np.minimum(held, np.floor(plans.token_pool / np.maximum(own, 1.0))), held)
    held = np.minimum(held, plans.slots)

    # A prefix differs from cell to cell, which ``needed_over`` takes as one number: the same rule here.
    def needed(users: FloatArray) -> FloatArray:
        users = np.minimum(users, caches * plans.slots)
        cache = filled_between(users, caches, each, common)
        return np.asarray(np.clip(cache, plans.least, plans.ceiling) + plans.fixed)

    one_fits = needed(np.ones_like(tokens)) <= plans.budget
    if refuses:
        one_fits = one_fits & (_reserved(plans, longest) <= pool)
    at_once = np.minimum(caches * held, plans.running) * np.ones_like(tokens)
    return Memory(caches * amounts.kv_tokens, at_once, one_fits, plans.budget, needed)


def _amounts(plans: Plans, pool: FloatArray, tokens: FloatArray, prefix: FloatArray) -> _Amounts:
    """Cells whose plans ask alike for a cache go together."""
    if len(plans.groups) == 1:
        return _amounts_alike(plans.groups[0], plans.token_pool, plans.free_users, pool, tokens, prefix)
    out = _Amounts(*(np.empty(len(tokens)) for _ in range(4)))
    for group in plans.groups:
        at = group.at
        some = (plans.token_pool[at], plans.free_users[at], pool[at], tokens[at], prefix[at])
        part = _amounts_alike(group, *some)
        out.each[at], out.common[at] = part.each, part.common
        out.kv_tokens[at], out.state[at] = part.kv_tokens, part.state
    return out


def _amounts_alike(
    group: Alike,
    token_pool: FloatArray,
    free_users: FloatArray,
    pool: FloatArray,
    tokens: FloatArray,
    prefix: FloatArray,
) -> _Amounts:
    demand, first = group.demand, group.first
    ones = np.ones_like(tokens)
    each = np.asarray(demand.request_bytes(tokens, prefix), dtype=np.float64) * ones
    whole = np.asarray(demand.request_bytes(tokens), dtype=np.float64) * ones
    common = np.asarray(demand.shared_bytes(tokens, prefix), dtype=np.float64) * ones
    per_token = demand.bytes_per_token()
    if first.token_pool is not None and per_token:
        kv_tokens = np.floor_divide(token_pool.astype(np.int64), per_token) * ones
    elif demand.is_plain:
        page_bytes = sum(g.page_bytes for g in demand.groups)
        pages = np.floor_divide(pool.astype(np.int64), page_bytes) if page_bytes else 0 * ones
        kv_tokens = pages * (demand.groups[0].page_tokens if page_bytes else 1) * ones
    else:
        kv_tokens = np.where(whole > 0, np.floor(pool * tokens / np.maximum(whole, 1.0)), 0.0)
    if not whole.all():
        kv_tokens = np.where(whole > 0, kv_tokens, free_tokens(free_users, tokens))
    return _Amounts(each, common, kv_tokens, float(demand.state_bytes) * ones)


def _reserved(plans: Plans, longest: NDArray[np.int_]) -> FloatArray:
    """Bytes of the longest request as the engine counts them."""
    every = np.broadcast_arrays(longest, plans.batched, plans.budget.astype(np.int64))
    lengths, batched = every[0], every[1]
    if len(plans.groups) == 1:
        return _reserved_alike(plans.groups[0].demand, lengths, batched)
    out = np.empty(len(lengths))
    for group in plans.groups:
        out[group.at] = _reserved_alike(group.demand, lengths[group.at], batched[group.at])
    return out


def _reserved_alike(demand: CacheDemand, lengths: NDArray[np.int_], batched: NDArray[np.int_]) -> FloatArray:
    most: Any = batched
    pages = sum(g.reserved(lengths, most) * g.page_bytes for g in demand.groups)
    return np.asarray(pages + float(demand.state_bytes), dtype=np.float64)
