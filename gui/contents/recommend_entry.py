"""What a row of Recommend stands for, and what it is called."""

from dataclasses import dataclass
from functools import lru_cache

from core.planning.offers import Offer
from core.planning.what_runs import Runs
from core.reports import recommendation as report
from core.units import show_count
from core.words import Words


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """What a row stands for."""

    offer: Offer
    runs: Runs | None = None

    @property
    def key(self) -> tuple[str, int, str, str]:
        """The same entry in another state of the search."""
        model = self.runs.model.id if self.runs else ""
        return self.offer.device.name, self.offer.count, self.offer.combination.weights, model


def what(offer: Offer, words: Words) -> str:
    """ "4 × RTX 3090, AWQ INT4"."""
    return words.phrase(report.hardware(offer.combination))


def hardware_name(offer: Offer) -> str:
    """ "4 × RTX 3090"."""
    return _named(offer.count, offer.device.name)


@lru_cache(maxsize=4096)
def _named(count: int, device: str) -> str:
    return f"{show_count(count)} × {device}"


def of_entry(entry: Entry, words: Words) -> str:
    """An entry in a few words: the hardware, or the model with its format; the layout, what else is set."""
    combination, other = entry.offer.combination, report.settings(entry.offer)
    named = what(entry.offer, words)
    if entry.runs is not None:
        named = f"{entry.runs.model.name}, {words.phrase(report.formats(combination))}"
    laid = report.layout(combination) if combination.deployment.accelerators > 1 else None
    for more in (laid, other):
        if more is not None:
            named = words("recommend.joined", first=named, second=words.phrase(more))
    return named
