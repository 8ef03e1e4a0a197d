"""One combination estimated: what it offers, or what it falls short of; and how offers compare."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.latency.textbook import TextbookPlan
from core.memory.build import plan_memory
from core.memory.capacity import starts
from core.memory.plan import MemoryPlan
from core.pauses import pause
from core.planning.cost import Prices, power_watts, usd_per_hour
from core.planning.search_space import Combination, Reason
from core.quantities import EXPECTED
from core.serving.results import SimulationResult
from core.serving.steady_state import Service, closed_loop, open_loop, prepare
from core.spec.accelerator import Accelerator
from core.spec.scenario import Scenario
from core.spec.search import Rank

_SHARED_READS = 0.6  # of a prompt's time that it adds to steps it shares, at least
_HOPELESS = 1.1  # times a target, with nothing but one step: no layout of the batch helps
_FLOORS: tuple[Reason, Reason] = ("per_token", "first_token")


@dataclass(frozen=True, slots=True)
class Offer:
    """One combination with its estimate.  ``missed`` empty: it meets every target."""

    combination: Combination
    scenario: Scenario
    time_to_first_token: float  # s
    time_per_output_token: float  # s
    output_tokens_per_second: float
    requests_per_second: float
    most_users: int  # at once, at the scenario's length
    watts: float
    usd_per_hour: float | None
    missed: tuple[Reason, ...]
    on_frontier: bool = False  # nothing is both cheaper and faster
    verified: SimulationResult | None = None

    @property
    def device(self) -> Accelerator:
        """The device."""
        return self.combination.device

    @property
    def count(self) -> int:
        """Of devices."""
        return self.combination.deployment.accelerators

    @property
    def price(self) -> float | None:
        """US dollars of all devices."""
        return self.combination.price

    @property
    def joules_per_token(self) -> float:
        """Energy of one output token."""
        return self.watts / max(self.output_tokens_per_second, 1e-9)

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Cost of a million output tokens; None without a price."""
        if self.usd_per_hour is None:
            return None
        return self.usd_per_hour / 3600.0 * 1e6 / max(self.output_tokens_per_second, 1e-9)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a combination fails by: bytes, s, users or 1/s."""

    reason: Reason
    value: float
    limit: float
    at_least: bool = False  # ``value`` is a bound: the real one is no better

    @property
    def ratio(self) -> float:
        """How far from meeting; 1 is met."""
        if self.reason in ("users", "rate"):
            return self.limit / max(self.value, 1e-12)
        return self.value / self.limit if self.limit > 0 else math.inf


def ranked(offers: list[Offer], rank: Rank) -> tuple[Offer, ...]:
    """Best first, with the Pareto set of price, speed and time per token marked."""
    return marked(sorted(offers, key=lambda o: merit(o, rank)), frozenset())


def marked(offers: Sequence[Offer], refused: Collection[int]) -> tuple[Offer, ...]:
    """The offers in their order, those on the frontier marked; numbers in ``refused`` count for nothing."""
    standing = [i for i in range(len(offers)) if i not in refused]
    front = {standing[k] for k in _frontier([offers[i] for i in standing])}
    return tuple(
        offer if offer.on_frontier == (i in front) else replace(offer, on_frontier=i in front)
        for i, offer in enumerate(offers)
    )


def merit(offer: Offer, rank: Rank) -> tuple[float, ...]:
    """What offers are sorted by, least first."""
    price = math.inf if offer.price is None else offer.price
    if rank == "speed":
        return (-offer.output_tokens_per_second, price)
    if rank == "energy":
        return (offer.joules_per_token, price)
    if rank == "devices":
        return (offer.count, price, -offer.output_tokens_per_second)
    return (price, -offer.output_tokens_per_second)


def _frontier(offers: list[Offer]) -> set[int]:
    """Numbers of the offers of known price that no other beats or equals in everything."""
    points = [
        ((offer.price, -offer.output_tokens_per_second, offer.time_per_output_token), i)
        for i, offer in enumerate(offers)
        if offer.price is not None
    ]
    front: list[tuple[float, float]] = []  # of what is cheaper or costs as much: speed, and time per token
    found, last = set[int](), (math.nan, math.nan, math.nan)
    # In this order what beats a point comes before it, and of those that do one is on the frontier.
    for point, i in sorted(points):
        if point == last or not any(fast <= point[1] and each <= point[2] for fast, each in front):
            if point != last:
                front.append(point[1:])
            found.add(i)
            last = point
    return found


def nearness(offer: Offer) -> tuple[int, float]:
    """How near a combination comes to meeting every target: targets missed, and by how much."""
    return len(offer.missed), distance(offer)


def distance(offer: Offer) -> float:
    """The worse of both times over its target; 1 where both are met."""
    targets = offer.scenario.targets
    found = 1.0
    if targets.time_per_output_token_ms is not None:
        found = max(found, 1e3 * offer.time_per_output_token / targets.time_per_output_token_ms)
    if targets.time_to_first_token_s is not None:
        found = max(found, offer.time_to_first_token / targets.time_to_first_token_s)
    return found


def estimated(base: Scenario, combination: Combination, whole: bool = False) -> Offer | Shortfall:
    """The offer, whether or not it meets every target; a shortfall where it does not start or, without
    ``whole``, where one step by itself is far too slow.
    """
    pause()
    scenario = combination.scenario(base)
    memory = plan_memory(scenario)
    if not starts(scenario):
        needed = sum(memory.fixed.values())
        if memory.pool <= 0:
            return Shortfall("weights", float(needed), float(memory.budget))
        one = int(memory.demand.request_bytes(base.workload.tokens_per_request))
        reserved = memory.demand.reserved_bytes(base.engine.longest_request, memory.batched_tokens)
        return Shortfall("cache", float(needed + max(one, reserved)), float(memory.budget))
    service = prepare(scenario)
    pause()
    most_users = _most_users(scenario, memory)
    floors = _least_times(service, scenario, most_users)
    limits = _targets(scenario)
    for reason, floor, limit in zip(_FLOORS, floors, limits, strict=True):
        if floor > _HOPELESS * limit and not whole:
            return Shortfall(reason, floor, limit, at_least=True)
    pause()
    return _offer(scenario, combination, service, memory, most_users)


def shortfall(offer: Offer) -> Shortfall:
    """Of the first target that an offer misses."""
    reason = offer.missed[0]
    return Shortfall(reason, *_missed_by(offer, reason))


def settled(base: Scenario, combination: Combination, short: Shortfall) -> Shortfall:
    """What an estimate says instead of a bound; the bound where the combination does not even start."""
    found = estimated(base, combination, whole=True)
    if isinstance(found, Shortfall):
        return found if found.reason == short.reason else short
    value, limit = _missed_by(found, short.reason)
    return Shortfall(short.reason, value, limit) if value >= short.value else short


def _most_users(scenario: Scenario, memory: MemoryPlan) -> int:
    work = scenario.workload
    room = memory.most_users(work.tokens_per_request, work.shared_prefix_tokens)
    running = memory.most_running()
    return room if running is None else min(room, running)


def _least_times(service: Service, scenario: Scenario, most_users: int) -> tuple[float, float]:
    """One decode step by itself with a part of the users that would run, and one prompt with the least
    that users who ask together wait for each other, s.
    """
    plan, work, lengths = service.plan, scenario.workload, service.lengths
    if isinstance(plan, TextbookPlan):
        return plan.read_bytes / plan.bandwidth, 2 * plan.parameters * lengths.prompt / plan.peak
    running = 1.0
    if work.load == "users":
        running = max(1.0, 0.5 * min(work.users, most_users) / service.replicas / plan.stages)
    chunk = float(lengths.chunk(1.0))
    step, prompt = plan.seconds(
        EXPECTED,
        np.array([running, 0.0]),
        np.array([lengths.mean_context, 0.0]),
        np.array([0.0, chunk]),
        np.array([0.0, lengths.prefix + 0.5 * (lengths.prompt - chunk)]),
    ).tolist()
    over, others = plan.overheads, 0.0
    if work.load == "users" and not service.readers:
        others = max(0.0, min(work.users, most_users) / service.replicas - 1.0)
    reads = over.own_prefill + _SHARED_READS * over.burst * others
    return step / plan.tokens_per_step, reads * prompt * lengths.prompt / chunk / plan.stages


def _targets(scenario: Scenario) -> tuple[float, float]:
    """Per token and to the first one, s; inf where there is none."""
    targets = scenario.targets
    each, first = targets.time_per_output_token_ms, targets.time_to_first_token_s
    return math.inf if each is None else each / 1e3, math.inf if first is None else first


def _offer(
    scenario: Scenario, combination: Combination, service: Service, memory: MemoryPlan, most_users: int
) -> Offer:
    work, targets = scenario.workload, scenario.targets
    tokens = float(memory.kv_tokens(work.tokens_per_request))
    if work.load == "requests":
        curve = open_loop(service, np.array([work.request_rate]), tokens)
    else:
        curve = closed_loop(service, np.array([float(work.users)]), tokens)
    first = float(curve.time_to_first_token[EXPECTED, 0])
    each = float(curve.time_per_output_token[EXPECTED, 0])
    missed: list[Reason] = []
    if not curve.stable[0]:
        missed.append("rate")
    if targets.users is not None and most_users < targets.users:
        missed.append("users")
    if targets.time_per_output_token_ms is not None and 1e3 * each > targets.time_per_output_token_ms:
        missed.append("per_token")
    if targets.time_to_first_token_s is not None and first > targets.time_to_first_token_s:
        missed.append("first_token")
    prices, device, count = Prices(), combination.device, combination.deployment.accelerators
    watts = power_watts(device, count, float(curve.prefill_share[EXPECTED, 0]), prices.facility_factor)
    return Offer(
        combination,
        scenario,
        first,
        each,
        float(curve.output_tokens_per_second[EXPECTED, 0]),
        float(curve.requests_per_second[EXPECTED, 0]),
        most_users,
        watts,
        usd_per_hour(device, count, watts, prices),
        tuple(missed),
    )


def _missed_by(offer: Offer, reason: Reason) -> tuple[float, float]:
    """Value and limit."""
    targets = offer.scenario.targets
    if reason == "rate":
        return offer.requests_per_second, offer.scenario.workload.request_rate
    if reason == "users":
        return float(offer.most_users), float(targets.users or 0)
    if reason == "per_token":
        return offer.time_per_output_token, 1e-3 * (targets.time_per_output_token_ms or math.inf)
    return offer.time_to_first_token, targets.time_to_first_token_s or math.inf
