"""Where no single change reaches the targets: two or three changes together, and the cheapest devices.

Everything offered was estimated and meets every target.  Sets are tried from the least effort on, devices
of the catalogue from the lowest price on, so the first that meets the targets is the one to offer.  None
follows every attempt that came to nothing: whoever has other things to do may pause there.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, combinations

from core.explain.precision import cache_caution, task_of, weight_caution
from core.memory.capacity import Change
from core.planning.search_space import Combination, devices_of, weight_formats
from core.planning.suggestion import FREE, Move, Suggestion
from core.results import Estimate
from core.spec.accelerator import Accelerator
from core.spec.checks import unsupported
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.search import Search
from core.units import show_count
from core.words import Phrase

# What asks for less is no answer to how the load is served; a device of its own is searched apart.
_APART = frozenset({"setting", "fewer_users", "lower_rate", "other_device", "offload"})
_MOST = 8  # changes that are put together
_EACH = 2.0  # effort of another change in a set
_BEHIND = 100.0  # where nothing starts, the smallest change that lets it start leads
_SERVING = ("accelerators", "tensor_parallel", "pipeline_parallel", "expert_parallel",
            "attention_data_parallel", "nodes", "prefill_accelerators", "link")  # fmt: skip

Try = Callable[[Estimate, Move], Suggestion | None]


def sets_of_changes(
    point: Estimate, found: list[tuple[Move, Suggestion]], tried: Try
) -> Iterator[Suggestion | None]:
    """The set of least effort that meets every target; ``tried`` estimates."""
    yield from _first(point, _sets(found), tried)


def cheapest_devices(point: Estimate, tried: Try) -> Iterator[Suggestion | None]:
    """The cheapest devices that meet every target."""
    yield from _first(point, _devices(point.scenario), tried)


def _first(point: Estimate, moves: Iterable[Move | None], tried: Try) -> Iterator[Suggestion | None]:
    for move in moves:
        behind = _BEHIND if point.speed is None else 0.0
        one = None if move is None else tried(point, replace(move, effort=move.effort + behind))
        if one is not None and one.purpose == "fixes":
            yield one
            return
        yield None


def _sets(found: list[tuple[Move, Suggestion]]) -> list[Move]:
    """Two and three of the changes that help, which do not touch the same field; least effort first."""
    best = sorted((pair for pair in found if pair[0].key not in _APART), key=lambda pair: -pair[1].score)
    moves = [move for move, _ in best[:_MOST]]
    sets = chain(combinations(moves, 2), combinations(moves, 3))
    joined = [_joined(parts) for parts in sets if _apart(parts)]
    return sorted(joined, key=lambda move: move.effort)


def _apart(parts: tuple[Move, ...]) -> bool:
    """Whether every change is of another kind and of other fields."""
    paths = [{change.path for change in part.changes} for part in parts]
    kinds = {part.key.removesuffix("_4_bit").removesuffix("_8_bit") for part in parts}
    return len(set().union(*paths)) == sum(map(len, paths)) and len(kinds) == len(parts)


def _joined(parts: tuple[Move, ...]) -> Move:
    key = "pair" if len(parts) == 2 else "three"
    names = ("first", "second", "third")
    title = Phrase(f"advice.titles.{key}", {name: p.title for name, p in zip(names, parts, strict=False)})
    changes = tuple(chain.from_iterable(part.changes for part in parts))
    said = dict.fromkeys(chain.from_iterable(part.cautions for part in parts))
    # "No cost" is said of one change: beside what another one costs it would be of them all.
    cautions = tuple(caution for caution in said if caution.key != FREE)
    return Move(key, title, changes, sum(p.effort for p in parts) + _EACH * len(parts), cautions)


def _devices(scenario: Scenario) -> Iterator[Move | None]:
    """What the search for hardware finds, cheapest first, within its limits and with the engine there is.

    Weights keep their format.  Only where no device is enough so come devices that do not run it, and then
    narrower formats.
    """
    most = max(scenario.search.most_accelerators, scenario.deployment.accelerators)
    search = scenario.search.model_copy(update={"most_accelerators": most, "rank": "price"})
    own, narrower = scenario.precision.weights, _narrower(scenario)
    others = tuple(device.name for device in devices_of(scenario) if not _runs(scenario, device))
    yield from _cheapest(scenario, search.model_copy(update={"weight_formats": (own,)}))
    if others:
        yield from _cheapest(scenario, search.model_copy(update={"devices": others}))
    if narrower:
        yield from _cheapest(scenario, search.model_copy(update={"weight_formats": narrower}))


def _narrower(scenario: Scenario) -> tuple[str, ...]:
    """Formats of the search with fewer bits than the scenario's."""
    bits = WEIGHT_FORMATS[scenario.precision.weights].bits
    return tuple(key for key in weight_formats(scenario) if WEIGHT_FORMATS[key].bits < bits)


def _runs(scenario: Scenario, device: Accelerator) -> bool:
    """Whether the engine has the scenario's weights on a device."""
    return unsupported(scenario.model_copy(update={"accelerator": device})) is None


def _cheapest(scenario: Scenario, search: Search) -> Iterator[Move | None]:
    from core.planning.recommend import looks  # few ask for it, and with it comes the simulator

    told = 0
    for look in looks(scenario.model_copy(update={"search": search}), widest=1):
        if look is None or look.offers <= told:
            yield None
            continue
        told = look.offers
        offer = look.state().offers[told - 1 if not look.finished else 0]
        if offer.price is None:
            return  # those without a price come last, and none of them is the cheapest
        yield _placed(scenario, offer.combination)


def _placed(scenario: Scenario, found: Combination) -> Move:
    place, now = found.deployment, scenario.deployment
    changes = [Change("accelerator", found.device)] if found.device != scenario.accelerator else []
    changes += [
        Change(f"deployment.{name}", getattr(place, name))
        for name in _SERVING
        if getattr(place, name) != getattr(now, name)
    ]
    formats = {"weights": found.weights, "kv_cache": found.cache}
    changes += [
        Change(f"precision.{name}", value)
        for name, value in formats.items()
        if value != getattr(scenario.precision, name)
    ]
    changes += [Change(name if "." in name else f"engine.{name}", value) for name, value in found.settings]
    values: dict[str, object] = {"count": show_count(place.accelerators), "gpu": found.device.name}
    title = Phrase("advice.titles.other_device", values)
    parts = [f"TP {place.tensor_parallel}"] if place.tensor_parallel > 1 else []
    parts += [f"PP {place.pipeline_parallel}"] if place.pipeline_parallel > 1 else []
    if found.weights != scenario.precision.weights:
        parts.append(WEIGHT_FORMATS[found.weights].label)
    if found.cache != scenario.precision.kv_cache:
        parts.append(f"KV {CACHE_FORMATS[found.cache].label}")
    if parts:
        title = Phrase("advice.titles.machine", {**values, "layout": " · ".join(parts)})
    now_in = WEIGHT_FORMATS[scenario.precision.weights].label
    key = "cheapest" if found.weights == scenario.precision.weights else "cheapest_other"
    price = Phrase(f"advice.cautions.{key}", {"price": f"${found.price or 0.0:,.0f}", "format": now_in})
    effort = 22.0 + (8.0 * math.log2(ratio) if (ratio := _dearer(scenario, found)) > 1 else 0.0)
    return Move("machine", title, tuple(changes), effort, (price, *_quality(scenario, found)))


def _quality(scenario: Scenario, found: Combination) -> tuple[Phrase, ...]:
    """What formats narrower than today's may cost."""
    task, now = task_of(scenario.workload), scenario.precision
    cautions = []
    bits = WEIGHT_FORMATS[found.weights].bits
    if bits < WEIGHT_FORMATS[now.weights].bits:
        cautions.append(weight_caution(int(bits), task))
    if CACHE_FORMATS[found.cache].bits < CACHE_FORMATS[now.kv_cache].bits:
        cautions.append(cache_caution(task))
    return tuple(cautions)


def _dearer(scenario: Scenario, found: Combination) -> float:
    """How many times the price of today's devices; 1 where that is not known."""
    now = scenario.accelerator.price_usd
    return (found.price or 0.0) / (now * scenario.deployment.accelerators) if now else 1.0
