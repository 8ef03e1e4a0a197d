"""What a piece of advice says: a change, what it does to every number, and what speaks against it."""

from dataclasses import dataclass
from typing import Literal

from core.memory.capacity import Change
from core.results import Estimate
from core.words import Phrase

EffectKey = Literal[
    "time_to_first_token",  # s
    "time_per_output_token",  # s
    "output_throughput",  # tok/s
    "memory_per_device",  # bytes
    "concurrent_users",  # at most
    "users",  # served
    "request_rate",  # 1/s, asked for
    "price",  # US dollars, all devices
]
Purpose = Literal["fixes", "helps", "improves"]
FREE = "advice.cautions.free"  # key of a caution: the change costs nothing
TOGETHER = ("pair", "three", "machine")  # keys of what is tried where nothing single is enough


@dataclass(frozen=True, slots=True)
class Move:
    """A change to try.  ``effort`` ranks equal effects: 0 is a switch, 30 a purchase."""

    key: str
    title: Phrase
    changes: tuple[Change, ...]
    effort: float
    cautions: tuple[Phrase, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """One quantity before and after, SI units; None: it does not exist, for the service does not start."""

    key: EffectKey
    before: float | None
    after: float | None
    better: bool
    target: Literal["", "meets", "misses"]  # the quantity's target after the change; "": it has none


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change with its computed effect.

    ``purpose``: "fixes" - every target is met and nothing else is lost, "helps" - nearer to it,
    "improves" - nothing was missed.  ``effects`` begin with what the change is for; three of them fit a
    panel.  ``estimate`` is that of the changed scenario, for the ghost in cards and plots.
    """

    key: str
    title: Phrase
    reason: Phrase  # why it works here
    changes: tuple[Change, ...]
    effects: tuple[Effect, ...]
    fits: bool
    fixed: tuple[str, ...]  # keys missed before and met after
    missed: tuple[str, ...]  # keys missed after that were met before
    cautions: tuple[Phrase, ...]  # what it costs: quality, money, conditions
    purpose: Purpose
    score: float
    estimate: Estimate


def lead(state: str, suggestions: tuple[Suggestion, ...], searching: bool = False) -> Phrase | None:
    """What stands above suggestions none of which alone meets every target.

    ``searching``: others may still come.
    """
    if state == "good" or not suggestions:
        return None
    fixes = [one.key for one in suggestions if one.purpose == "fixes"]
    if any(key not in TOGETHER for key in fixes):
        return None
    if not fixes and any(one.fits and not {*one.estimate.verdict.missed, *one.missed} for one in suggestions):
        return Phrase("advice.not_all_at_once")  # no target asks for what is left
    if not fixes:
        return Phrase("advice.still_looking" if searching else "advice.nothing_reaches")
    sets, devices = any(key != "machine" for key in fixes), "machine" in fixes
    return Phrase(f"advice.no_single.{'both' if sets and devices else 'sets' if sets else 'devices'}")
