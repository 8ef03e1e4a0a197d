"""The scenario whose speeds can be shown: the one that is set or, when it does not start, the mildest
change of it that does.
"""

from dataclasses import dataclass

from core.estimator import estimate as estimate_point
from core.explain.verdict import phrase_of
from core.memory.capacity import smallest_change_that_fits
from core.results import Estimate, Speed
from core.spec.change import with_values
from core.words import Phrase


@dataclass(frozen=True, slots=True)
class Started:
    """An estimate that has speeds."""

    estimate: Estimate
    speed: Speed
    change: Phrase | None  # in words, when the estimate is not of the scenario that is set


def started(point: Estimate) -> Started | None:
    """``point`` itself where it has speeds, else the smallest change that fits; None without one."""
    if point.speed is not None:
        return Started(point, point.speed, None)
    changes = smallest_change_that_fits(point.scenario)
    if not changes:
        return None
    other = estimate_point(with_values(point.scenario, {c.path: c.value for c in changes}))
    if other.speed is None:
        return None
    return Started(other, other.speed, phrase_of(point.scenario, changes))
