"""What each of the five cards says about an estimate; no painting here."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from core.explain.ledger_names import taken_at_start
from core.explain.verdict import CANNOT_RUN
from core.planning.request_life import TokenGaps, token_gaps
from core.quantities import Range
from core.results import Estimate
from core.spec.options import option_of
from core.units import (
    Shown,
    bare,
    memory_size,
    show_bytes,
    show_count,
    show_time,
    show_tokens,
    three_digits,
    time_in,
)
from core.words import Words, counted
from gui.widgets.device_words import of_device

CARD_KEYS = (
    "time_to_first_token",
    "time_per_output_token",
    "output_throughput",
    "memory_per_device",
    "concurrent_users",
)
_HEADROOM = 1.25  # the bullet's track is this much longer than its largest mark
_NONE = "—"  # of a time that never comes


@dataclass(frozen=True)
class Card:
    """Texts and marks of one card; marks are shares of the track."""

    key: str
    name: str = ""
    brief: str = ""  # the name where there is little room
    short: str = ""  # the abbreviation beside the name
    value: str = ""
    unit: str = ""
    state: str = ""  # of the value: "", "warn", "bad"
    note: str = ""  # left: range, spare
    target: str = ""  # right
    target_state: str = ""  # "": no mark; "good", "warn", "bad"
    has_bullet: bool = False
    low: float = 0.0
    high: float = 0.0
    mark: float = 0.0
    target_mark: float | None = None
    spoken: str = ""
    hint: str = ""  # the definition, where there is more than one
    tip: str = ""  # of the whole card


def cards_of(estimate: Estimate, words: Words, latency_as: str = "tpot") -> tuple[Card, ...]:
    """The five cards in order.  ``latency_as``: "tpot" or "itl"."""
    scenario, speed = estimate.scenario, estimate.speed
    targets = scenario.targets
    if speed is None:
        timed = [_not_started(key, words) for key in CARD_KEYS[:3]]
    else:
        per_token = targets.time_per_output_token_ms
        limit = None if per_token is None else per_token / 1e3
        token = _timed(CARD_KEYS[1], speed.time_per_output_token, limit, words)
        if latency_as == "itl":
            token = _gaps(token, token_gaps(scenario, speed), limit, words)
        timed = [
            _timed(CARD_KEYS[0], speed.time_to_first_token, targets.time_to_first_token_s, words),
            token,
            _throughput(speed.output_throughput, words),
        ]
    cards = (*timed, _memory(estimate, words), _users(estimate, words))
    refused = CANNOT_RUN in estimate.verdict.missed
    return tuple(_cannot_run(card, words) for card in cards) if refused else cards


def _cannot_run(card: Card, words: Words) -> Card:
    """A figure of what the engine does not run on meets nothing."""
    told = replace(card, state="bad", target=words("cards.cannot_run"), target_state="", target_mark=None)
    return replace(_finish(told, words), target_state="bad")


def range_text(value: Range, show: Callable[[float], str], words: Words) -> str:
    """A range with an en dash between spaces; "" where it says no more than the value itself."""
    if not math.isfinite(value.expected):
        return ""
    low, high = show(value.low), show(value.high)
    if not math.isfinite(value.high):
        return words("cards.from", low=low)
    return "" if low == high else f"{low} – {high}"


def _finish(card: Card, words: Words) -> Card:
    card = replace(card, brief=words(f"cards.{card.key}.brief"))
    parts = [words("units.told", name=card.name, value=f"{card.value} {card.unit}"), card.note]
    if card.target_state:
        said = "cards.meets" if card.target_state == "good" else "cards.misses"
        parts.append(words(said, target=card.target))
    else:
        parts.append(card.target)
    return Card(**{**card.__dict__, "spoken": words.listed(p for p in parts if p)})


def _not_started(key: str, words: Words) -> Card:
    card = Card(
        key,
        name=words(f"cards.{key}.name"),
        short=words(f"cards.{key}.short"),
        value=_NONE,
        target=words("cards.does_not_start"),
    )
    return _finish(card, words)


def _timed(key: str, value: Range, target: float | None, words: Words) -> Card:
    shown = show_time(value.expected)
    limit = show_time(target) if target is not None else Shown("", "")
    met = target is None or value.expected <= target
    longest = _HEADROOM * max(_finite(value.high), target or 0.0, _finite(value.expected), 1e-12)
    unit = "" if limit.unit == shown.unit else f" {limit.unit}"
    card = Card(
        key,
        name=words(f"cards.{key}.name"),
        short=words(f"cards.{key}.short"),
        value=shown.number if math.isfinite(value.expected) else _NONE,
        unit=shown.unit,
        state="" if met else "warn",
        note=range_text(value, lambda seconds: time_in(seconds, shown.unit), words),
        target=words("cards.no_target") if target is None else f"≤ {bare(limit.number)}{unit}",
        target_state="" if target is None else "good" if met else "warn",
        has_bullet=math.isfinite(value.expected),
        low=min(1.0, value.low / longest),
        high=min(1.0, value.high / longest),
        mark=min(1.0, value.expected / longest),
        target_mark=None if target is None else target / longest,
    )
    return _finish(card, words)


def _gaps(mean: Card, gaps: TokenGaps, target: float | None, words: Words) -> Card:
    """The time from token to token: what is usual, and the longest.

    The target is one of the mean over an answer, so it is judged as on the other card.
    """
    shown = show_time(gaps.usual)
    longest = _HEADROOM * max(gaps.long, target or 0.0, 1e-12)
    note = words("cards.longest", value=show_time(gaps.long)) if gaps.long_share > 0 else ""
    limit = mean.target if target is None else words("cards.mean_target", target=mean.target)
    values = {
        "usual": show_time(gaps.usual),
        "long": show_time(gaps.long),
        "share": f"{100 * gaps.long_share:.2g}",
        "tokens": show_tokens(gaps.chunk_tokens),
    }
    card = replace(
        mean,
        value=shown.number,
        unit=shown.unit,
        state="",
        note=note,
        target=limit,
        low=gaps.usual / longest,
        high=gaps.long / longest,
        mark=gaps.usual / longest,
        target_mark=None if target is None else target / longest,
        hint=words("cards.gaps_hint", **values) if gaps.long_share > 0 else "",
    )
    return _finish(card, words)


def _finite(value: float) -> float:
    """The value, 0 where it is endless: what never comes sets no scale."""
    return value if math.isfinite(value) else 0.0


def _throughput(value: Range, words: Words) -> Card:
    longest = _HEADROOM * max(value.high, 1e-12)
    card = Card(
        "output_throughput",
        name=words("cards.output_throughput.name"),
        value=three_digits(value.expected),
        unit=words("units.tok_per_s"),
        note=range_text(value, three_digits, words),
        target=words("cards.no_target"),
        has_bullet=True,
        low=value.low / longest,
        high=value.high / longest,
        mark=value.expected / longest,
    )
    return _finish(card, words)


def _memory(estimate: Estimate, words: Words) -> Card:
    ledger = estimate.ledger
    needed, budget = ledger.needed_bytes, ledger.budget_bytes
    longest = max(ledger.device_bytes, needed, 1)
    shown = show_bytes(needed)
    # As in the account beside it, which has two decimals.
    gap = _gap(abs(budget - needed))
    note = words("cards.spare" if ledger.fits else "cards.too_much", value=gap)
    limit, tip = budget, ""
    if taken_at_start(estimate):
        limit, note = ledger.device_bytes, words("cards.taken", value=_gap(budget))
        tip = words(
            "cards.taken_tip",
            engine=words(f"choices.engines.{estimate.scenario.engine.name}"),
            taken=show_bytes(budget),
            free=show_bytes(limit - budget),
            device=show_bytes(limit),
        )
    card = Card(
        "memory_per_device",
        name=of_device(estimate.scenario, words, "cards.memory_per_device.name"),
        value=shown.number,
        unit=shown.unit,
        state="" if ledger.fits else "bad",
        note=note,
        target=f"≤ {three_digits(limit / memory_size())}",
        target_state="good" if ledger.fits else "bad",
        has_bullet=True,
        high=needed / longest,
        mark=needed / longest,
        target_mark=limit / longest,
        tip=tip,
    )
    return _finish(card, words)


def _gap(size: int) -> str:
    over = size / memory_size()
    return f"{over:.2f}" if over < 10 else three_digits(over)


def _users(estimate: Estimate, words: Words) -> Card:
    capacity = estimate.capacity
    most = capacity.at_once
    wanted, work = estimate.scenario.targets.users, estimate.scenario.workload
    met = wanted is None or most >= wanted
    tip = ""
    if wanted is not None and work.load == "users" and work.users != wanted:
        # The verdict is about the users there are, the tick about those of the target.
        tip = words(
            "cards.other_users",
            target=words.phrase(counted("units.users", wanted)),
            users=show_count(work.users),
        )
    missed = "warn" if estimate.speed is not None else "bad"
    longest = 4 / 3 * max(most, wanted or 0, 1)
    note = ""
    if estimate.speed is None and most > 0:
        note = words("cards.does_not_start")  # what memory would hold
    elif most < capacity.max_users:  # which memory would hold
        local = estimate.scenario.engine.name in ("mlx", "transformers")
        option = option_of(estimate.scenario.engine.name, "max_num_seqs")
        note = words("cards.one_by_one") if local else words("cards.by_batch", option=option)
    elif estimate.speed is not None:
        length = show_tokens(estimate.scenario.engine.longest_request)
        count = show_count(capacity.max_users_at_model_length)
        note = words("cards.users_at_length", count=count, length=length)
    card = Card(
        "concurrent_users",
        name=words("cards.concurrent_users.name"),
        value=show_count(most),
        unit=words("cards.at_once"),
        state="" if met and most > 0 else missed,
        note=note,
        target=words("cards.no_target") if wanted is None else f"≥ {show_count(wanted)}",
        target_state="" if wanted is None else "good" if met else missed,
        has_bullet=True,
        high=most / longest,
        mark=most / longest,
        target_mark=None if wanted is None else wanted / longest,
        tip=tip,
    )
    return _finish(card, words)
