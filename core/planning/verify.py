"""Offers simulated: what is ranked first has been seen to meet the targets at the percentile that counts.

The search ranks by means.  An offer whose percentile misses a target is tried with other settings of its
engine; where none helps it goes behind all that may yet do, with what was found.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.planning.capacity_search import trial_of
from core.planning.engine_settings import Settings, faster, variants
from core.planning.estimates import estimated, estimating
from core.planning.offers import Offer, distance, marked, merit
from core.planning.search_space import Combination, Reason
from core.serving.simulator import simulate
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario

_REQUESTS = 600  # of a verifying run
_LONG = 1e5  # s, a run ends by the number of its requests
_TRIES = 4  # times as many offers as are wanted
_VARIANTS = 2  # settings that are simulated for one offer


@dataclass(frozen=True, slots=True)
class Verifying:
    """Offers in their new order; ``number`` is the one that is simulated next, -1: all is done."""

    offers: tuple[Offer, ...]
    number: int


def verified_one(offer: Offer, requests: int = _REQUESTS, trace: Trace | None = None) -> Offer:
    """The offer with a simulation beside its estimate; of the ``trace``, where the scenario replays one.

    Without the trace it is one of the form's arrivals and lengths, and its scenario says so.
    """
    work = offer.scenario.workload
    most = max(requests, 8 * work.users) if work.load == "users" else requests
    changes: dict[str, Any] = {
        "simulation.requests": most,
        "simulation.duration_s": _LONG,
        "simulation.warm_up": 0.2,
    }
    if trace is None and offer.scenario.simulation.reads_trace:
        changes |= dict.fromkeys(("simulation.prompt_lengths", "simulation.output_lengths"), "fixed")
        changes["simulation.arrivals"] = "poisson"
    return replace(offer, verified=simulate(with_values(offer.scenario, changes), trace))


def confirmed(offer: Offer) -> bool:
    """Whether a simulation has shown both times within the targets, at the percentile that counts: of all
    that were asked, of which some may be too long for the engine.
    """
    run = offer.verified
    if run is None or not run.done:
        return False
    return run.refused <= (1.0 - run.scenario.simulation.percentile) * run.asked and trial_of(run, 0.0).meets


def standing(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The offers with the frontier of those that no simulation has refused."""
    refused = {i for i, o in enumerate(offers) if o.verified is not None and not confirmed(o)}
    return marked(offers, refused)


def verifying(
    base: Scenario, offers: tuple[Offer, ...], count: int, trace: Trace | None = None
) -> Iterator[Verifying]:
    """Simulate from the top until ``count`` are confirmed, a state before each one and at the end."""
    order, behind, place = list(offers), list[Offer](), 0
    for _ in range(_TRIES * count):
        if place >= min(count, len(order)):
            break
        yield Verifying((*order, *behind), place)
        offer = _best_of(base, verified_one(order[place], trace=trace), trace)
        if confirmed(offer):
            order[place] = offer
            place += 1
        else:
            del order[place]
            behind.append(offer)
        known = standing((*order, *behind))  # settings may have changed, and a refused one beats nothing
        order, behind = list(known[: len(order)]), list(known[len(order) :])
    yield Verifying((*order, *behind), -1)


def _best_of(base: Scenario, offer: Offer, trace: Trace | None) -> Offer:
    """The offer, or the same hardware with settings of the engine that a simulation confirms."""
    if confirmed(offer) or offer.verified is None:
        return offer
    missed: tuple[Reason, ...] = ("per_token",)
    if trial_of(offer.verified, 0.0).limit == "first_token":
        missed = ("first_token",)
    found = []
    for settings in variants(offer.scenario, missed):
        other = estimated(base, _with(offer, settings))
        if isinstance(other, Offer) and not other.missed:
            found.append(other)
    same = {"first_token": lambda o: o.time_to_first_token, "per_token": lambda o: o.time_per_output_token}
    for other in sorted(found, key=same[missed[0]])[:_VARIANTS]:
        trial = verified_one(other, trace=trace)
        if confirmed(trial):
            return trial
    return offer


def quickened(base: Scenario, order: list[Offer], most: int) -> Generator[None, None, list[Offer]]:
    """The first few of a search by speed or energy with settings that put out more."""
    found = list(order)
    asked = [(i, settings) for i, o in enumerate(order[:most]) for settings in faster(o.scenario)]
    answers = yield from estimating([(base, _with(order[i], settings)) for i, settings in asked])
    for (i, _), other in zip(asked, answers, strict=True):
        if isinstance(other, Offer) and not other.missed:
            found[i] = min(found[i], other, key=lambda o: merit(o, base.search.rank))
    return found


def tuned(base: Scenario, near: list[Offer], most: int) -> Generator[None, None, list[Offer]]:
    """Of near misses those that meet every target with other settings, after ``most`` estimates at most.

    The nearest come first with all their settings; of each the first that helps is taken.
    """
    found, left, waiting = list[Offer](), most, sorted(near, key=distance)
    while waiting and left > 0:
        asked: list[tuple[int, Combination]] = []
        for i, offer in enumerate(waiting):
            asked += [(i, _with(offer, s)) for s in variants(offer.scenario, offer.missed)]
            if len(asked) >= left:
                break
        if not asked:
            break
        asked = asked[:left]
        answers = yield from estimating([(base, combination) for _, combination in asked])
        helped: set[int] = set()
        for (i, _), other in zip(asked, answers, strict=True):
            if i in helped:
                continue  # asked for nothing, and not counted
            left -= 1
            if isinstance(other, Offer) and not other.missed:
                found.append(other)
                helped.add(i)
        # What was asked last may have been cut off by the end of what was left.
        waiting = waiting[asked[-1][0] + 1 :]
    return found


def _with(offer: Offer, settings: Settings) -> Combination:
    both = {**dict(offer.combination.settings), **dict(settings)}
    return replace(offer.combination, settings=tuple(both.items()))
