"""The names in the limits of a search: one that nothing answers to is refused, not passed over."""

from collections.abc import Iterator

from core.catalog.accelerators import all_accelerators
from core.errors import NotFound, Problem
from core.spec.checks import LABELS
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import cache_formats_of, weight_formats_of

_LONGEST = 80  # characters of a name that are told


def refuse_unknown(scenario: Scenario) -> None:
    """Raises NotFound with a problem for each vendor and format that is none, or that the engine has not."""
    problems = (*_vendors(scenario), *_weights(scenario), *_caches(scenario))
    if problems:
        raise NotFound(*problems)


def _vendors(scenario: Scenario) -> Iterator[Problem]:
    known = {device.vendor.lower(): device.vendor for device in all_accelerators() if device.vendor}
    for name in scenario.search.vendors:
        if name.lower() not in known:
            values = {"name": name[:_LONGEST], "known": ", ".join(sorted(known.values()))}
            yield Problem("catalog.vendor_unknown", ("search.vendors",), values)


def _weights(scenario: Scenario) -> Iterator[Problem]:
    path, wanted = ("search.weight_formats",), scenario.search.weight_formats
    for key in wanted:
        if key not in WEIGHT_FORMATS:
            yield Problem("format_unknown", path, {"format": key[:_LONGEST]})
    known, engine = [key for key in wanted if key in WEIGHT_FORMATS], scenario.engine.name
    if known and not set(known) & set(weight_formats_of(engine)):
        labels = ", ".join(WEIGHT_FORMATS[key].label for key in known)
        yield Problem("weight_format_engine", path, {"engine": LABELS.get(engine, engine), "format": labels})


def _caches(scenario: Scenario) -> Iterator[Problem]:
    path, wanted = ("search.cache_formats",), scenario.search.cache_formats
    for key in wanted:
        if key not in CACHE_FORMATS:
            yield Problem("format_unknown", path, {"format": key[:_LONGEST]})
    known, engine = [key for key in wanted if key in CACHE_FORMATS], scenario.engine.name
    offered = cache_formats_of(engine, scenario.precision.weights)
    if known and not set(known) & set(offered):
        values = {
            "engine": LABELS.get(engine, engine),
            "format": ", ".join(CACHE_FORMATS[key].label for key in known),
            "allowed": ", ".join(CACHE_FORMATS[key].label for key in offered),
        }
        yield Problem("cache_format_engine", path, values)
