"""What one combination offers, or what it falls short of; and how offers compare."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.planning.search_space import Combination, Reason
from core.serving.results import SimulationResult
from core.spec.accelerator import Accelerator
from core.spec.scenario import Scenario
from core.spec.search import Rank


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


def nearness(offer: Offer) -> tuple[float, int]:
    """How near a combination comes to meeting every target: by how much it misses the one that is farthest,
    and how many it misses.  Where a queue grows for ever the rate tells how far it is.
    """
    ratios = [Shortfall(reason, *missed_by(offer, reason)).ratio for reason in offer.missed]
    told = [ratio for ratio in ratios if math.isfinite(ratio)]
    return max(told, default=math.inf if ratios else 1.0), len(ratios)


def distance(offer: Offer) -> float:
    """The worse of both times over its target; 1 where both are met."""
    targets = offer.scenario.targets
    found = 1.0
    if targets.time_per_output_token_ms is not None:
        found = max(found, 1e3 * offer.time_per_output_token / targets.time_per_output_token_ms)
    if targets.time_to_first_token_s is not None:
        found = max(found, offer.time_to_first_token / targets.time_to_first_token_s)
    return found


def shortfall(offer: Offer) -> Shortfall:
    """Of the first target that an offer misses."""
    reason = offer.missed[0]
    return Shortfall(reason, *missed_by(offer, reason))


def missed_by(offer: Offer, reason: Reason) -> tuple[float, float]:
    """Value and limit of a target that an offer misses."""
    targets = offer.scenario.targets
    if reason == "rate":
        return offer.requests_per_second, offer.scenario.workload.request_rate
    if reason == "users":
        return float(offer.most_users), float(targets.users or 0)
    if reason == "per_token":
        return offer.time_per_output_token, 1e-3 * (targets.time_per_output_token_ms or math.inf)
    return offer.time_to_first_token, targets.time_to_first_token_s or math.inf
