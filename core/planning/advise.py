"""Advice: changes that help, each computed by estimating the changed scenario.

Nothing is promised by a rule: a rule says what to try, the estimator what it does.  A change is shown
when it brings something that is missed nearer to its target, or, where nothing is missed, makes
something better without losing a target.
"""

import math
from collections.abc import Iterator
from typing import Literal

from core.errors import InvalidScenario
from core.estimator import estimate
from core.explain.crowding import crowding_notes
from core.explain.setting import setting_move, setting_of
from core.explain.verdict import CANNOT_RUN, OVERLOADED
from core.planning.hardware_moves import (
    host_memory,
    layout_moves,
    more_devices,
    other_devices,
    price_of,
    smallest_move,
)
from core.planning.latent_moves import latent_moves
from core.planning.moves import cheap_moves
from core.planning.suggestion import Effect, EffectKey, Move, Purpose, Suggestion
from core.planning.together import cheapest_devices, sets_of_changes
from core.results import Estimate
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.units import show_bytes, show_count
from core.words import Phrase

__all__ = ["Effect", "Suggestion", "advise", "advise_steps", "attempts", "ranked", "setting_of"]

_WORTH = 0.03  # relative change of a missed quantity that counts
_WORTH_BESIDE = 0.10  # of a missed quantity that is not the worst one
_WORTH_WHEN_GOOD = 0.10
_RELIEF = 15.0  # of the score: nothing is preempted any more
_ROOMIER = 1.1  # times the cache that counts as more room
_SHOWN = 8
_LOWER_IS_BETTER: frozenset[EffectKey] = frozenset(
    {"time_to_first_token", "time_per_output_token", "memory_per_device", "price"}
)
Found = list[tuple[Move, Suggestion]]
# What a person who meets every target may still want; less load does not serve them.
_WANTED_WHEN_GOOD: tuple[EffectKey, ...] = (
    "output_throughput",
    "time_per_output_token",
    "time_to_first_token",
    "concurrent_users",
    "users",
    "request_rate",
    "price",
)


def advise(scenario: Scenario, point: Estimate | None = None, most: int = _SHOWN) -> tuple[Suggestion, ...]:
    """The best suggestions for a scenario, best first.  ``point`` is its estimate if known."""
    return ranked(advise_steps(point or estimate(scenario)), most)


def ranked(found: Iterator[Suggestion] | list[Suggestion], most: int = _SHOWN) -> tuple[Suggestion, ...]:
    """Suggestions by score, of each kind the best only (two of hardware)."""
    chosen: list[Suggestion] = []
    seen: dict[str, int] = {}
    for suggestion in sorted(found, key=lambda s: (-s.score, s.key)):
        allowed = 2 if suggestion.key == "other_device" else 1
        if seen.get(suggestion.key, 0) < allowed:
            seen[suggestion.key] = seen.get(suggestion.key, 0) + 1
            chosen.append(suggestion)
    return tuple(chosen[:most])


def advise_steps(point: Estimate) -> Iterator[Suggestion]:
    """Suggestions as they are found, settings before purchases."""
    return (found for found in attempts(point) if found is not None)


def attempts(point: Estimate) -> Iterator[Suggestion | None]:
    """Every attempt, each about one estimate: a suggestion, None where it is none.

    The last ones are sets of changes and devices of the whole catalogue, tried only where nothing single
    meets every target.
    """
    found: Found = []
    yield from changes(point, found)
    yield from devices(point, found)


def changes(point: Estimate, found: Found) -> Iterator[Suggestion | None]:
    """The first of the attempts: single changes, and where none is enough sets of them; they are few.

    Single ones that help are put into ``found``.
    """
    for move in _moves(point):
        suggestion = _tried(point, move)
        if suggestion is not None:
            found.append((move, suggestion))
        yield suggestion
    if _none_is_enough(point, found):
        yield from sets_of_changes(point, found, _tried)


def devices(point: Estimate, found: Found) -> Iterator[Suggestion | None]:
    """The last of them: devices of the whole catalogue, thousands where none is enough."""
    if _none_is_enough(point, found):
        yield from cheapest_devices(point, _tried)


def _none_is_enough(point: Estimate, found: Found) -> bool:
    return point.verdict.state != "good" and not any(one.purpose == "fixes" for _, one in found)


def _moves(point: Estimate) -> Iterator[Move]:
    yield from smallest_move(point)
    yield from cheap_moves(point)
    yield from layout_moves(point)
    yield from latent_moves(point)
    if point.verdict.state != "good":
        setting = setting_move(point.scenario)
        if setting is not None:
            yield Move("setting", setting.title, setting.changes, 12, setting.cautions)
        if point.speed is None:
            yield from host_memory(point.scenario)
        yield from more_devices(point)
    yield from other_devices(point)


def _tried(point: Estimate, move: Move) -> Suggestion | None:
    """The suggestion, None where the change is not allowed or does not help."""
    if not move.changes or (move.key == "utilization" and _room_is_no_help(point)):
        return None
    try:
        changed = with_values(point.scenario, {c.path: c.value for c in move.changes})
    except InvalidScenario:
        return None
    if changed == point.scenario or any(p.severity == "error" for p in check(changed)):
        return None
    return judged(point, estimate(changed), move)


def judged(before: Estimate, after: Estimate, move: Move) -> Suggestion | None:
    """What a change does; None where it does not help."""
    was, is_now = missed_keys(before), missed_keys(after)
    served = _served_less(before.scenario, after.scenario)
    fixed = tuple(key for key in was if key not in is_now)
    # What did not start had no times that it could lose.
    lost = () if before.speed is None else tuple(key for key in is_now if key not in was)
    newly = (*lost, *served)
    all_effects = effects_of(before, after, is_now, served)
    starts_now = before.speed is None and after.speed is not None
    if CANNOT_RUN in is_now or (before.speed is not None and after.speed is None):
        return None  # no figure of what cannot run is a gain
    if was:
        near = {key: _nearness(before, after, key) for key in was}
        if _room_is_no_help(before) and (len(was) > 1 or "queue" not in fixed):
            near.pop("queue", None)  # requests would be read no sooner
        nearer = sum(near.values())
        worst = next(iter(near), "")
        enough = near.get(worst, 0.0) > _WORTH or max(near.values(), default=0.0) > _WORTH_BESIDE
        relieved = move.key == "fewer_sequences" and not crowding_notes(after.scenario, after.capacity)
        helps = starts_now or relieved or any(key in near for key in fixed)
        if not (helps or (enough and nearer > _WORTH)):
            return None
        if before.speed is None and after.speed is None:
            return None
        purpose: Purpose = "fixes" if not is_now and not served else "helps"
        if not fixed and not starts_now and newly:
            return None
        score = 100.0 * (purpose == "fixes") + 60.0 * starts_now + 40.0 * len(fixed) / len(was)
        # What is read again counts for something, though the estimate does not see it.
        score += (
            _RELIEF * relieved
            + 30.0 * min(1.0, nearer)
            - 35.0 * len(newly)
            - 10.0 * len(is_now)
            - move.effort
        )
        wanted = tuple(sorted(was, key=lambda key: -near.get(key, 0.0)))
    else:
        gain = max((_gain(e) for e in all_effects if e.key in _WANTED_WHEN_GOOD), default=0.0)
        loss = min((_gain(e) for e in all_effects if e.key in ("output_throughput", "price")), default=0.0)
        if gain < _WORTH_WHEN_GOOD or newly or loss < -gain:
            return None
        purpose, wanted = "improves", ()
        score = 40.0 * min(1.0, gain) + 20.0 * min(0.0, loss) - move.effort
    return Suggestion(
        move.key,
        move.title,
        _reason(before, after, move.key),
        move.changes,
        _in_order(all_effects, wanted, newly),
        after.speed is not None,
        fixed,
        newly,
        (*_other_limit(before, after), *_waiting(after), *move.cautions),
        purpose,
        score,
        after,
    )


def _other_limit(before: Estimate, after: Estimate) -> tuple[Phrase, ...]:
    """The limit of the same device where it is another after the change, and what is needed lies between."""
    budget = after.ledger.budget_bytes
    if after.scenario.accelerator != before.scenario.accelerator or not after.ledger.fits:
        return ()
    if after.ledger.needed_bytes <= before.ledger.budget_bytes:
        return ()
    return (Phrase("advice.cautions.limit", {"budget": show_bytes(budget)}),)


def _waiting(after: Estimate) -> tuple[Phrase, ...]:
    """Users of the load that are still not served at once: no target says that they must be."""
    speed, room = after.speed, after.capacity.at_once
    work = after.scenario.workload
    if speed is None or work.load != "users" or work.users <= max(1, room):
        return ()
    values = {"n": show_count(room), "users": show_count(work.users)}
    return (Phrase("advice.cautions.waiting", values),)


def missed_keys(point: Estimate) -> tuple[str, ...]:
    """What is missed: targets by key, "memory_per_device", "queue" (requests wait) and "stable"."""
    missed = [key for key in point.verdict.missed if key != OVERLOADED]  # told by "stable"
    speed = point.speed
    if speed is not None:
        if not speed.stable:
            missed.append("stable")
        elif speed.users > max(1, point.capacity.at_once):
            missed.append("queue")
    return tuple(missed)


def _served_less(before: Scenario, after: Scenario) -> tuple[str, ...]:
    """A load below the number of users that is a target."""
    wanted = after.targets.users
    work, old = after.workload, before.workload
    if wanted is not None and work.load == "users" and work.users < min(wanted, old.users):
        return ("users",)
    return ()


def _values(point: Estimate) -> dict[EffectKey, float | None]:
    speed, work = point.speed, point.scenario.workload
    closed = work.load == "users"
    return {
        "time_to_first_token": None if speed is None else speed.time_to_first_token.expected,
        "time_per_output_token": None if speed is None else speed.time_per_output_token.expected,
        "output_throughput": None if speed is None else speed.output_throughput.expected,
        "concurrent_users": float(point.capacity.at_once),
        "memory_per_device": float(point.ledger.needed_bytes),
        "users": float(work.users) if closed else None,
        "request_rate": None if closed else work.request_rate,
        "price": price_of(point.scenario),
    }


def effects_of(
    before: Estimate, after: Estimate, missed: tuple[str, ...], served: tuple[str, ...] = ()
) -> tuple[Effect, ...]:
    """Every quantity that changes, with its target's state after the change."""
    old, new = _values(before), _values(after)
    found = []
    for key, value in new.items():
        past = old[key]
        if value == past or (value is not None and past is not None and math.isclose(value, past)):
            continue
        better = value is not None and (past is None or ((value < past) == (key in _LOWER_IS_BETTER)))
        found.append(Effect(key, past, value, better, _state(after, key, missed, served)))
    return tuple(found)


def _state(
    after: Estimate, key: EffectKey, missed: tuple[str, ...], served: tuple[str, ...]
) -> Literal["", "meets", "misses"]:
    targets = after.scenario.targets
    if key == "memory_per_device":
        return "meets" if after.ledger.fits and after.speed is not None else "misses"
    if key == "users":
        return "misses" if served else "meets" if targets.users is not None else ""
    target = {
        "time_to_first_token": targets.time_to_first_token_s,
        "time_per_output_token": targets.time_per_output_token_ms,
        "concurrent_users": targets.users,
    }.get(key)
    if target is None or after.speed is None:
        return ""
    return "misses" if key in missed else "meets"


def _gain(effect: Effect) -> float:
    """How much better, as the logarithm of the ratio; below 0: worse."""
    if not effect.before or not effect.after or not math.isfinite(effect.before * effect.after):
        return 0.0
    ratio = math.log(effect.after / effect.before)
    return -ratio if effect.key in _LOWER_IS_BETTER else ratio


def _nearness(before: Estimate, after: Estimate, key: str) -> float:
    """How much nearer a missed target comes, as the logarithm of the ratio."""
    if key == CANNOT_RUN:
        return 1.0 if key not in missed_keys(after) else 0.0
    if key == "stable":
        return 1.0 if after.speed is not None and after.speed.stable else 0.0
    if key == "queue":
        key = "concurrent_users"
    old, new = _values(before), _values(after)
    past, value = old[key], new[key]  # type: ignore[index]
    if not past or not value or not math.isfinite(past):
        return 1.0 if value and math.isfinite(value) else 0.0
    if not math.isfinite(value):
        return 0.0
    ratio = math.log(value / past)
    return -ratio if key in _LOWER_IS_BETTER else ratio


def _in_order(
    effects: tuple[Effect, ...], wanted: tuple[str, ...], newly: tuple[str, ...]
) -> tuple[Effect, ...]:
    """First what is missed now, then what would be missed newly or still, then the largest changes."""
    asked = {"queue": "concurrent_users", "stable": "time_to_first_token"}
    names = [asked.get(key, key) for key in wanted]

    def rank(effect: Effect) -> tuple[int, float]:
        if effect.key in names:
            return (0, float(names.index(effect.key)))
        if effect.key in newly:
            return (1, 0.0)
        return (2 if effect.target == "misses" else 3, -abs(_gain(effect)))

    return tuple(sorted(effects, key=rank))


def _reason(before: Estimate, after: Estimate, key: str) -> Phrase:
    """Why this kind of change works here: room or speed, told apart."""
    if key in ("more_devices", "second_copy", "other_device"):
        return Phrase(f"advice.reasons.{_bound(before, after)}")
    return Phrase(f"advice.reasons.{key}")


def _bound(before: Estimate, after: Estimate) -> str:
    """What more hardware brings: "capacity" where room is short and it has more, else the limiting rate."""
    speed = before.speed
    if speed is None:
        return "capacity"
    short = "queue" in missed_keys(before) or "concurrent_users" in before.verdict.missed
    roomier = after.capacity.kv_tokens > _ROOMIER * before.capacity.kv_tokens
    if short and roomier and not _room_is_no_help(before):
        return "capacity"
    if before.verdict.state == "good":
        return "price"
    if speed.prefill_share > 0.5 or "time_per_output_token" not in before.verdict.missed:
        return speed.prefill.bottleneck
    return speed.decode.bottleneck


def _room_is_no_help(point: Estimate) -> bool:
    """Whether the verdict says that reading prompts decides, and not room in the cache."""
    limit = point.verdict.detail.values.get("limit")
    return isinstance(limit, Phrase) and limit.key == "verdict.limit.prefill"
