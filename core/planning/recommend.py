"""Which hardware serves a model: all devices, counts, layouts and formats, ranked, and why the rest fails.

For each device and count one combination is offered: the widest weights that meet every target, or in a
search by speed or energy the fastest formats.  Combinations that the bounds of ``search_bounds`` allow
are estimated by the same functions as a scenario, the most promising first, so rows come at once; the
best are then simulated (``core.planning.verify``), and what a simulation does not confirm goes behind.
Near misses are tried with other settings of the engine.  Of hardware on which the engine runs fewer
requests at once than are asked for only what comes nearest is estimated, last.
"""

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial

from core.planning.estimates import Answer, estimating, settled
from core.planning.groups import Group, Short, by_room, grouped
from core.planning.offers import Offer, Shortfall, distance, merit, nearness, ranked, shortfall
from core.planning.rounds import Asker, in_rounds
from core.planning.search_names import refuse_unknown
from core.planning.search_space import Combination, Part, Reason, combining
from core.planning.slots import at_once
from core.planning.verify import quickened, tuned, verified_one, verifying
from core.serving.trace import Trace
from core.spec.deployment import Deployment
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.search import Rank

_WIDEST = 256  # devices that are looked at together
_TUNED = 24  # estimates of near misses with other settings
_QUICKENED = 80  # offers that are tried with settings for speed
_CLOSE = 1.3  # times a target, what settings of the engine may mend
_REFINED = 80  # estimates
_SWEPT = 32  # estimates of what was passed over, of hardware on which nothing was found
_SMALL = 16  # devices and counts of a search in which all of that is estimated
_FAR = 2.0  # times a target; other formats of the same device change less
_DOUBT = 2.0  # times the speed wanted, by the guess
_SHORT = 192  # devices and counts that run too few at once, of which one combination each is estimated
_BOUNDED: tuple[Reason, ...] = ("weights", "per_token", "first_token")  # by bounds, without an estimate


@dataclass(frozen=True, slots=True)
class Failure:
    """Combinations that fail for one reason, and the one that comes nearest."""

    reason: Reason
    count: int
    nearest: Combination
    short: Shortfall  # of the nearest


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The state of a search.  ``offers`` meet every target and are ranked, one a device and count."""

    offers: tuple[Offer, ...]
    failures: tuple[Failure, ...]  # most frequent first
    near: tuple[Offer, ...]  # estimated, but a target is missed: the nearest first
    searched: int  # combinations looked at so far
    total: int
    meeting: int  # combinations that meet every target, of those that were estimated
    finished: bool


def recommend(
    scenario: Scenario, verify: int = 0, widest: int = _WIDEST, trace: Trace | None = None
) -> Iterator[Recommendation]:
    """Search; the state whenever something is found and at the end, then with ``verify`` simulated, of the
    ``trace`` where the scenario replays one.

    Raises NotFound for a device, a vendor or a format of the search that there is not.
    """
    state: Recommendation | None = None
    for look in looks(scenario, widest):
        if look is not None:
            state = look.state()
            yield state
    if verify and state is not None and state.offers:
        for step in verifying(scenario, state.offers, verify, trace):
            if step.number < 0:
                yield replace(state, offers=step.offers)


@dataclass(frozen=True, slots=True)
class Look:
    """A moment of a search; ``state`` ranks what is found by then, which takes as long as some estimates."""

    offers: int
    finished: bool
    state: Callable[[], Recommendation]


def looks(scenario: Scenario, widest: int = _WIDEST) -> Iterator[Look | None]:
    """The search itself, told when something is found and at the end; as ``recommend``.

    Up to ``widest`` devices are looked at together; one by one, what is found first ranks first.  In
    between None follows every few milliseconds of work: whoever has other things to do may pause.
    """
    refuse_unknown(scenario)
    tally, parts, rank = _Tally(scenario), list[Part](), scenario.search.rank
    for part in combining(scenario):
        if part is not None:
            tally.total += len(part)
            parts.append(part)
            for count, nearest in part.failures():
                tally.ruled_out(count, nearest)
        yield None
    every = grouped(parts, rank)
    groups, short = by_room(scenario, every, tally.ruled_out)
    found: dict[int, Offer] = {}  # by the place of their group
    told = 0
    picker = _Picker(scenario, tally)
    askers = [(group.device.name, partial(picker.best_of, group)) for group in groups]
    for step in in_rounds(askers, widest, lambda offer: offer is not None):
        if step is not None:
            found.update({place: offer for place, offer in step.done.items() if offer is not None})
            # What comes first is no other later on.
            if len(found) > told and min(found) < step.settled:
                told, offers = len(found), [found[place] for place in sorted(found)]
                near = list(picker.near)
                yield Look(told, False, partial(_state, offers, near, tally, rank, finished=False))
                continue
        yield None
    offers = [found[place] for place in sorted(found)]
    short.sort(key=lambda one: -one.nearest.value)
    for one in short[_SHORT:]:
        tally.ruled_out(one.others + 1, one.nearest)
    asked = short[:_SHORT]
    answers = yield from estimating([(scenario, replace(one.nearest, reason=None)) for one in asked])
    for one, answer in zip(asked, answers, strict=True):
        picker.note(one, answer)
    if rank in ("speed", "energy"):
        offers = yield from picker.refined(offers, every)
        offers = yield from quickened(scenario, sorted(offers, key=lambda o: merit(o, rank)), _QUICKENED)
    mended = yield from picker.swept(None if len(groups) <= _SMALL else _SWEPT)
    served = {(o.device.name, o.count) for o in mended}
    near = [offer for offer in picker.near if (offer.device.name, offer.count) not in served]
    close = [offer for offer in near if distance(offer) <= _CLOSE]
    mended += yield from tuned(scenario, close, _TUNED)
    offers += mended
    devices = {(o.device.name, o.count) for o in mended}
    near = [o for o in picker.near if (o.device.name, o.count) not in devices]
    yield Look(len(offers), True, partial(_state, offers, near, tally, rank, finished=True))


class _Tally:
    """Counts of what failed, with the nearest of each reason.

    What was estimated is nearer than anything that a bound ruled out: a bound says how little it could be.
    """

    def __init__(self, base: Scenario) -> None:
        self._base = base
        self.total = self.searched = self.meeting = 0
        self._failed: dict[Reason, int] = {}
        self._nearest: dict[Reason, tuple[Combination, Shortfall]] = {}
        self._settled: dict[Reason, tuple[Combination, Shortfall]] = {}

    def fail(self, combination: Combination, short: Shortfall) -> None:
        """A combination that fails."""
        self.alike(1, short.reason)
        best = self._nearest.get(short.reason)
        if best is None or (short.at_least, short.ratio) < (best[1].at_least, best[1].ratio):
            self._nearest[short.reason] = combination, short

    def ruled_out(self, count: int, nearest: Combination) -> None:
        """Combinations that fail by one rule of the space."""
        if (reason := nearest.reason) is None:
            return
        bound = reason in _BOUNDED
        self.fail(nearest, Shortfall(reason, nearest.value, nearest.limit, bound))
        self.alike(count - 1, reason)

    def alike(self, count: int, reason: Reason) -> None:
        """Combinations that are not estimated, for a better one fails."""
        self.searched += count
        self._failed[reason] = self._failed.get(reason, 0) + count

    def failures(self) -> tuple[Failure, ...]:
        """The most frequent first."""
        most = sorted((item for item in self._failed.items() if item[1] > 0), key=lambda item: -item[1])
        return tuple(Failure(reason, count, *self._shown(reason)) for reason, count in most)

    def _shown(self, reason: Reason) -> tuple[Combination, Shortfall]:
        """The nearest; one that a bound ruled out is estimated before it is shown, once."""
        combination, short = self._nearest[reason]
        if short.at_least and self._settled.get(reason, (None, None))[0] is not combination:
            self._settled[reason] = combination, settled(self._base, combination, short)
        return self._settled[reason] if short.at_least else (combination, short)


def _state(
    offers: list[Offer], near: list[Offer], tally: _Tally, rank: Rank, finished: bool
) -> Recommendation:
    close = sorted(near, key=nearness)[:24]
    return Recommendation(
        ranked(offers, rank),
        tally.failures(),
        tuple(close),
        tally.total if finished else tally.searched,
        tally.total,
        tally.meeting,
        finished,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Unserved:
    """Hardware on which nothing was found."""

    far: tuple[float, int]  # how far the nearest is
    hardware: Group
    asked: list[Combination]
    left: list[Combination]  # not asked, and counted as failing for ``reason``
    reason: Reason | None


class _Picker:
    """Of each device and count the best combination, by asking for estimates one after the other."""

    def __init__(self, base: Scenario, tally: _Tally) -> None:
        self._base, self._rank, self._tally = base, base.search.rank, tally
        self.near: list[Offer] = []
        self._wanted = _wanted(base)
        self._by_width = self._rank in ("price", "devices")
        self._met: dict[str, float] = {}  # bits a weight with which fewer of the same device do
        self._unserved: list[_Unserved] = []

    def best_of(self, hardware: Group) -> Asker[Offer | None]:
        """The best of one device and count, None where none meets every target."""
        group, asked = self._worth_asking(hardware).combinations(), list[Combination]()
        best: Offer | None = None
        closest: Offer | None = None
        nearest: Shortfall | None = None  # of those that do not even start, or not even a step is fast enough
        left, fastest = list(group), max(group, key=lambda c: c.guess)
        for combination in self._in_turn(group, fastest):
            left.remove(combination)
            asked.append(combination)
            answer = yield self._base, combination
            offer = self._told(combination, answer)
            if isinstance(answer, Shortfall):
                nearest = min(nearest or answer, answer, key=lambda short: short.ratio)
            if offer is None:
                continue
            if not offer.missed:
                if best is not None and _bits(best.combination) > _bits(offer.combination):
                    break
                early = best is None and combination is fastest and left and self._by_width
                best = offer
                if not early:  # asked out of turn: wider weights may do as well
                    break
            elif closest is None or nearness(offer) < nearness(closest):
                closest = offer
            if combination is fastest and distance(offer) > _FAR and self._has_room(offer):
                break
        if best is None and closest is not None and distance(closest) <= _FAR:
            best = yield from self._with_most_copies(left, asked)
        if best is None and self._may_do_as_set(closest, nearest):
            best = yield from self._as_set(group)
        if best is not None:
            self._met.setdefault(best.device.name, _bits(best.combination))
        else:
            reason = self._give_up(len(left), closest, nearest)
            far = nearness(closest) if closest is not None else (math.inf, 0)
            self._unserved.append(_Unserved(far, hardware, asked, left, reason))
        return best

    def _give_up(self, left: int, closest: Offer | None, nearest: Shortfall | None) -> Reason | None:
        """The other layouts fare no better than those that are best in something: why, as far as is known."""
        if closest is not None:
            self.near.append(closest)
        reason = closest.missed[0] if closest is not None else nearest.reason if nearest is not None else None
        if reason is not None:
            self._tally.alike(left, reason)
        return reason

    def swept(self, most: int | None) -> Generator[None, None, list[Offer]]:
        """What serves after all, of hardware on which nothing was found: everything that was not asked for,
        the nearest hardware first, ``most`` estimates or None for all.
        """
        asked, found = list[tuple[_Unserved, Combination]](), dict[int, Offer]()
        for one in sorted(self._unserved, key=lambda one: one.far):
            others = [c for c in one.hardware.combinations() if c not in one.asked]
            if most is not None and len(asked) + len(others) > most:
                break
            asked += [(one, combination) for combination in others]
        answers = yield from estimating([(self._base, combination) for _, combination in asked])
        for (one, combination), answer in zip(asked, answers, strict=True):
            if one.reason is not None and combination in one.left:
                self._tally.alike(-1, one.reason)  # it is told apart now
            offer = self._told(combination, answer)
            if offer is not None and not offer.missed:
                found[id(one)] = min(found.get(id(one), offer), offer, key=self._preference)
        return list(found.values())

    def _preference(self, offer: Offer) -> tuple[float, ...]:
        """Of one device and count: wide weights first in a search by price, else what ranks first."""
        return (-_bits(offer.combination) if self._by_width else 0.0, *merit(offer, self._rank))

    def _worth_asking(self, group: Group) -> Group:
        """Of more of what does already the same formats, divided as far as it goes."""
        bits = self._met.get(group.device.name)
        if bits is None or not self._by_width:
            return group
        most = max(_degree(part.place) for part in group.parts)
        return group.only(lambda part: _degree(part.place) == most and _bits(part) >= bits)

    def note(self, short: Short, answer: Answer) -> None:
        """A near miss by itself, beside which there are others that fail as well."""
        offer = self._told(short.nearest, answer)
        if offer is not None:
            self.near.append(offer)
        if short.others:
            self._tally.ruled_out(short.others, short.nearest)

    def _with_most_copies(self, left: list[Combination], asked: list[Combination]) -> Asker[Offer | None]:
        """After a near miss: copies that are less divided have fewer users to wait for each."""
        pairs: dict[tuple[str, str], Combination] = {}
        for combination in sorted(left, key=lambda c: _degree(c.deployment)):
            pairs.setdefault((combination.weights, combination.cache), combination)
        for combination in pairs.values():
            left.remove(combination)
            asked.append(combination)
            offer = self._told(combination, (yield self._base, combination))
            if offer is not None and not offer.missed:
                return offer
        return None

    def _may_do_as_set(self, closest: Offer | None, nearest: Shortfall | None) -> bool:
        """Whether fewer slots may mend what so many miss; with fewer than are asked for nothing does."""
        missed = closest.missed if closest is not None else ()
        crowded = "per_token" in missed or (nearest is not None and nearest.reason in ("per_token", "cache"))
        return crowded and at_once(self._base) >= (self._base.targets.users or 0)

    def _as_set(self, group: list[Combination]) -> Asker[Offer | None]:
        """With the scenario's own slots, where others were set: counted with those already."""
        for combination in self._candidates([c for c in group if c.settings]):
            found = yield self._base, replace(combination, settings=())
            if isinstance(found, Offer) and not found.missed:
                return found
        return None

    def _has_room(self, offer: Offer) -> bool:
        """False where users wait for a place in the cache: a narrower cache may change all."""
        work = self._base.workload
        return work.load != "users" or offer.most_users >= work.users

    def _told(self, combination: Combination, found: Answer) -> Offer | None:
        """The offer, counted; None where not even a step is fast enough, or nothing starts."""
        if isinstance(found, Shortfall):
            self._tally.fail(combination, found)
            return None
        if found.missed:
            self._tally.fail(combination, shortfall(found))
        else:
            self._tally.searched += 1
            self._tally.meeting += 1
        return found

    def refined(self, offers: list[Offer], groups: list[Group]) -> Generator[None, None, list[Offer]]:
        """The first few with every layout and format tried, as many as ``_REFINED`` estimates allow."""
        order = sorted(offers, key=lambda o: merit(o, self._rank))
        space = {(group.device.name, group.count): group for group in groups}
        asked: list[tuple[int, Combination]] = []
        for i, offer in enumerate(order):
            every = space[offer.device.name, offer.count].combinations()
            others = [c for c in every if c != offer.combination]
            if len(asked) + len(others) > _REFINED:
                break
            asked += [(i, combination) for combination in others]
        answers = yield from estimating([(self._base, combination) for _, combination in asked])
        for (i, _), found in zip(asked, answers, strict=True):
            if isinstance(found, Offer) and not found.missed:
                order[i] = min(order[i], found, key=lambda o: merit(o, self._rank))
        return order

    def _in_turn(self, group: list[Combination], fastest: Combination) -> Iterator[Combination]:
        """The candidates; where it is doubtful that any is fast enough, the fastest one is asked first."""
        chosen = self._candidates(group)
        if fastest.guess < _DOUBT * self._wanted and len(chosen) > 1:
            chosen.remove(fastest)
            yield fastest
        yield from chosen

    def _candidates(self, group: list[Combination]) -> list[Combination]:
        """Those that are worth estimating, the best first.

        Of each pair of formats the layout that promises most, the one that reads a prompt soonest and the
        most divided one; by price wide formats first, since narrow ones cost quality, else the fastest first.
        """
        chosen: list[Combination] = []
        pairs: dict[tuple[str, str], list[Combination]] = {}
        for combination in group:
            pairs.setdefault((combination.weights, combination.cache), []).append(combination)
        for same in pairs.values():
            fastest = max(same, key=lambda c: c.guess)
            soonest = min(same, key=lambda c: (c.prompt, -c.guess))
            divided = max(same, key=lambda c: (_degree(c.deployment), c.guess))
            chosen += dict.fromkeys((fastest, soonest, divided))
        if self._by_width:
            return chosen
        return sorted(chosen, key=lambda c: -c.guess)


def _wanted(base: Scenario) -> float:
    """Output tokens a second that the users have when the targets are just met."""
    work, targets = base.workload, base.targets
    if work.load == "requests":
        return work.request_rate * work.output_tokens
    first, each = targets.time_to_first_token_s or 0.0, (targets.time_per_output_token_ms or 0.0) / 1e3
    life = first + each * work.output_tokens
    return work.users * work.output_tokens / life if life else 0.0


def _bits(one: Combination | Part) -> float:
    return float(WEIGHT_FORMATS[one.weights].bits)


def _degree(deployment: Deployment) -> int:
    return deployment.tensor_parallel * deployment.pipeline_parallel


__all__ = ["Failure", "Look", "Recommendation", "looks", "recommend", "verified_one", "verifying"]
