"""Combinations estimated, many at once: what each offers, or what it falls short of."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from core.latency.textbook import TextbookPlan
from core.memory.build import plan_once
from core.memory.capacity import starts
from core.memory.plan import MemoryPlan
from core.pauses import pause
from core.planning.cost import Prices, power_watts, usd_per_hour
from core.planning.offers import Offer, Shortfall, missed_by
from core.planning.search_space import Combination, Reason
from core.quantities import EXPECTED, FloatArray
from core.serving.lifecycle import ONE
from core.serving.steady_state import Service, closed_loop, open_loop, prepare
from core.serving.together import alike, joined
from core.spec.scenario import Scenario
from core.spec.workload import Workload

_SHARED_READS = 0.6  # of a prompt's time that it adds to steps it shares, at least
_LONG_ANSWER = 16  # tokens
_HOPELESS = 1.1  # times a target, with nothing but one step: no layout of the batch helps
_FLOORS: tuple[Reason, Reason] = ("per_token", "first_token")
_PRICES = Prices()


Question = tuple[Scenario, Combination]
Answer = Offer | Shortfall


@dataclass(frozen=True, slots=True)
class _Ready:
    """A combination that starts, with all that its speeds stand on."""

    combination: Combination
    scenario: Scenario
    memory: MemoryPlan
    service: Service
    most_users: int


def estimated(base: Scenario, combination: Combination, whole: bool = False) -> Answer:
    """The offer, whether or not it meets every target; a shortfall where it does not start or, without
    ``whole``, where one step by itself is far too slow.
    """
    steps = estimating([(base, combination)], whole)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast(list[Answer], end.value)[0]


def estimating(questions: Sequence[Question], whole: bool = False) -> Generator[None, None, list[Answer]]:
    """``estimated`` of several with one load and targets, in order: those of like plans in one call.

    None follows every millisecond or so.
    """
    found: dict[int, Answer] = {}
    groups: dict[object, dict[int, _Ready]] = {}
    for place, (base, combination) in enumerate(questions):
        ready = _ready(base, combination)
        if isinstance(ready, Shortfall):
            found[place] = ready
        else:
            groups.setdefault(alike(ready.service) or place, {})[place] = ready
        yield
    for group in groups.values():
        left = group
        if not whole:
            hopeless = _hopeless(list(group.values()))
            found.update({p: s for p, s in zip(group, hopeless, strict=True) if s is not None})
            left = {place: ready for place, ready in group.items() if place not in found}
            yield
        if left:
            found.update(zip(left, _offers(list(left.values())), strict=True))
            yield
    return [found[place] for place in range(len(questions))]


def settled(base: Scenario, combination: Combination, short: Shortfall) -> Shortfall:
    """What an estimate says instead of a bound; the bound where the combination does not even start."""
    found = estimated(base, combination, whole=True)
    if isinstance(found, Shortfall):
        return found if found.reason == short.reason else short
    value, limit = missed_by(found, short.reason)
    known = math.isfinite(value) and value >= short.value  # a first token that never comes is no time
    return Shortfall(short.reason, value, limit) if known else short


def _ready(base: Scenario, combination: Combination) -> _Ready | Shortfall:
    scenario = combination.scenario(base)
    pause()
    memory = plan_once(scenario)
    if not starts(scenario):
        needed = sum(memory.fixed.values())
        if memory.pool <= 0:
            return Shortfall("weights", float(needed), float(memory.budget))
        one = int(memory.demand.request_bytes(base.workload.tokens_per_request))
        reserved = memory.demand.reserved_bytes(scenario.engine.longest_request, memory.batched_tokens)
        return Shortfall("cache", float(needed + max(one, reserved)), float(memory.budget))
    pause()
    service = prepare(scenario)
    pause()
    return _Ready(combination, scenario, memory, service, _most_users(scenario, memory))


def _most_users(scenario: Scenario, memory: MemoryPlan) -> int:
    work = scenario.workload
    room = memory.most_users(work.tokens_per_request, work.shared_prefix_tokens)
    running = memory.most_running()
    return room if running is None else min(room, running)


def _hopeless(group: Sequence[_Ready]) -> list[Shortfall | None]:
    """Of each the first target that one step by itself misses by far."""
    targets = group[0].scenario.targets
    each, first = targets.time_per_output_token_ms, targets.time_to_first_token_s
    limits = math.inf if each is None else each / 1e3, math.inf if first is None else first
    service = joined([ready.service for ready in group])
    pause()
    floors = _least_times(service, group[0].scenario.workload, np.array([r.most_users for r in group]))
    found: list[Shortfall | None] = []
    for times in zip(*(np.broadcast_to(floor, len(group)).tolist() for floor in floors), strict=True):
        over = zip(_FLOORS, times, limits, strict=True)
        short = (
            Shortfall(reason, time, limit, at_least=True)
            for reason, time, limit in over
            if time > _HOPELESS * limit
        )
        found.append(next(short, None))
    return found


def _least_times(service: Service, work: Workload, most_users: FloatArray) -> tuple[Any, Any]:
    """One decode step by itself with a part of the users that would run, and one prompt with the least
    that users who ask together wait for each other, s, numbers or (n,).
    """
    plan, lengths, n = service.plan, service.lengths, len(most_users)
    if isinstance(plan, TextbookPlan):
        return plan.read_bytes / plan.bandwidth, 2 * plan.parameters * lengths.prompt / plan.peak
    running, others = np.ones(n), np.zeros(n)
    if work.load == "users":
        users = np.minimum(work.users, most_users)
        # Of answers of a few tokens hardly anyone decodes: the prompts take the time.
        share = 0.5 if work.output_tokens >= _LONG_ANSWER else 0.0
        running = np.maximum(1.0, share * users / service.replicas / plan.stages)
        if not service.readers:
            others = np.maximum(0.0, users / service.replicas - 1.0)
    chunk = np.broadcast_to(lengths.chunk(1.0), (n,))
    none = np.zeros(n)
    times = plan.seconds(
        EXPECTED,
        np.concatenate([running, none]),
        np.concatenate([none + lengths.mean_context, none]),
        np.concatenate([none, chunk]),
        np.concatenate([none, lengths.prefix + 0.5 * (lengths.prompt - chunk)]),
    )
    step, prompt, over = times[:n], times[n:], plan.overheads
    reads = over.own_prefill + _SHARED_READS * over.burst * others
    return step / plan.tokens_per_step, reads * prompt * lengths.prompt / chunk / plan.stages


def _offers(group: Sequence[_Ready]) -> list[Offer]:
    """All of like services in one call."""
    work = group[0].scenario.workload
    service = joined([ready.service for ready in group])
    pause()
    tokens = np.array([float(ready.memory.kv_tokens(work.tokens_per_request)) for ready in group])
    # Where there is but one, or all have the same, the room is a number: less to work out.
    room: Any = tokens if np.ptp(tokens) else float(tokens[0])
    if work.load == "requests":
        curve = open_loop(service, np.full(len(group), work.request_rate), room, ONE)
    else:
        curve = closed_loop(service, np.full(len(group), float(work.users)), room, ONE)
    pause()
    columns = (
        curve.time_to_first_token,
        curve.time_per_output_token,
        curve.output_tokens_per_second,
        curve.requests_per_second,
        curve.prefill_share,
    )
    rows = zip(group, curve.stable.tolist(), *(column[EXPECTED].tolist() for column in columns), strict=True)
    return [_offer(*row) for row in rows]


def _offer(
    ready: _Ready, stable: float, first: float, each: float, tokens: float, requests: float, reading: float
) -> Offer:
    """``first`` and ``each`` in s, ``tokens`` and ``requests`` a second, ``reading`` the share of prompts."""
    pause()
    targets, combination = ready.scenario.targets, ready.combination
    missed: list[Reason] = []
    if not stable:
        missed.append("rate")
    if targets.users is not None and ready.most_users < targets.users:
        missed.append("users")
    if targets.time_per_output_token_ms is not None and 1e3 * each > targets.time_per_output_token_ms:
        missed.append("per_token")
    if targets.time_to_first_token_s is not None and first > targets.time_to_first_token_s:
        missed.append("first_token")
    device, count = combination.device, combination.deployment.accelerators
    watts = power_watts(device, count, reading, _PRICES.facility_factor)
    return Offer(
        combination,
        ready.scenario,
        first,
        each,
        tokens,
        requests,
        ready.most_users,
        watts,
        usd_per_hour(device, count, watts, _PRICES),
        tuple(missed),
    )
