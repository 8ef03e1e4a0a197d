"""The other way round: given devices, which models run on them, in which format, how long, for how many.

A model is offered in the widest weights that meet the targets, else in the widest that start; the
largest that runs well comes first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from core.catalog.models import CatalogModel, all_models, load_model
from core.errors import InferometerError
from core.memory.build import plan_once
from core.memory.capacity import LONGEST, longest
from core.memory.device import driver_total_bytes
from core.planning.engine_settings import Settings
from core.planning.offers import Offer, Shortfall, nearness
from core.planning.rounds import Asker, in_rounds
from core.planning.search_bounds import Field, Load, leaves_on_host
from core.planning.search_names import refuse_unknown
from core.planning.search_space import Combination, cache_formats, layouts, weight_formats
from core.planning.slots import slot_settings, slots_on
from core.spec.checks import check, runs_on, unsupported
from core.spec.deployment import Deployment
from core.spec.engine import LLAMA
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario

_WIDEST = 32  # models that are looked at together
_SPARE = 0.98  # of the memory that weights may take before anything is estimated


Left = Literal["too_large", "refused"]  # why a model is left out


@dataclass(frozen=True, slots=True)
class Runs:
    """One model on the devices."""

    model: CatalogModel
    offer: Offer
    longest: int  # tokens of one request with the scenario's users
    good: bool  # meets every target


@dataclass(frozen=True, slots=True)
class WhatRuns:
    """The state of the search: largest good model first, then those that miss a target, the nearest first."""

    runs: tuple[Runs, ...]
    too_large: int  # models that do not start in any format
    searched: int
    total: int
    finished: bool
    refused: int = 0  # models that the engine does not run on the device, whatever their format

    @property
    def too_short(self) -> int:
        """Models whose context is less than a request of the workload."""
        return self.searched - self.too_large - self.refused - len(self.runs)


def what_runs(scenario: Scenario, widest: int = _WIDEST) -> Iterator[WhatRuns]:
    """All models of the catalogue on the scenario's devices, engine, load and targets.

    ``search.weight_formats`` and ``search.quality`` limit the formats.  Models that are shorter than
    a request of the workload are passed over.
    """
    for state in looks(scenario, widest):
        if state is not None:
            yield state


def looks(scenario: Scenario, widest: int = _WIDEST) -> Iterator[WhatRuns | None]:
    """The same with None every few milliseconds: whoever has other things to do may pause.

    Up to ``widest`` models are looked at together.
    """
    refuse_unknown(scenario)
    work, device, count = scenario.workload, scenario.accelerator, scenario.deployment.accelerators
    memory = _SPARE * driver_total_bytes(device) * count
    models = sorted(all_models(), key=lambda m: -m.parameters)
    if not runs_on(scenario):
        count = len(models)
        yield WhatRuns((), 0, count, count, finished=True, refused=count)
        return
    formats = weight_formats(scenario)
    askers: list[tuple[str, Callable[[], Asker[Runs | Left]]]] = []
    too_large = too_short = refused = 0
    for entry in models:
        given = (entry.published_weight_format,) if entry.published_weight_format in WEIGHT_FORMATS else ()
        narrowest = min((_least_bits(f) for f in (*formats, *given)), default=16.0)
        if entry.max_context and entry.max_context < work.tokens_per_request:
            too_short += 1
        elif entry.parameters * narrowest / 8.0 > memory and not leaves_on_host(scenario.engine):
            too_large += 1
        else:
            askers.append((entry.id, partial(_best_of, scenario, entry)))
    found: dict[int, Runs] = {}  # by place
    for step in in_rounds(askers, widest, lambda runs: isinstance(runs, Runs)):
        if step is None or not step.done:
            yield None
            continue
        too_large += sum(runs == "too_large" for runs in step.done.values())
        refused += sum(runs == "refused" for runs in step.done.values())
        found.update({place: runs for place, runs in step.done.items() if isinstance(runs, Runs)})
        searched = too_short + too_large + refused + len(found)
        if searched < len(models):
            yield _state(found, too_large, refused, searched, len(models), finished=False)
    yield _state(found, too_large, refused, len(models), len(models), finished=True)


def _least_bits(weights: str) -> float:
    """A weight, of the tensors that a format stores narrowest."""
    kept = WEIGHT_FORMATS[weights]
    return float(min(kept.bits, kept.expert_bits or kept.bits))


def _state(
    found: dict[int, Runs], too_large: int, refused: int, searched: int, total: int, finished: bool
) -> WhatRuns:
    def key(runs: Runs) -> tuple[bool, tuple[float, int], int]:
        return (not runs.good, (1.0, 0) if runs.good else nearness(runs.offer), -runs.model.parameters)

    runs = sorted((found[place] for place in sorted(found)), key=key)
    return WhatRuns(tuple(runs), too_large, searched, total, finished, refused)


def _best_of(scenario: Scenario, entry: CatalogModel) -> Asker[Runs | Left]:
    try:
        model = load_model(entry.id)
    except InferometerError:
        return "too_large"
    base = _with_model(scenario, model)
    best: Offer | None = None
    left: Left = "too_large"
    for combination in _combinations(base):
        if unsupported(combination.scenario(base)) is not None:
            left = "refused"
            continue
        trial = combination.scenario(base)
        if trial.workload.tokens_per_request > trial.engine.longest_request:
            continue
        offer = yield base, combination
        if isinstance(offer, Shortfall):
            continue
        if best is None or nearness(offer) < nearness(best):
            best = offer
        if not offer.missed:
            break
    if best is None:
        return left
    return Runs(entry, best, _longest(best.scenario), not best.missed)


def _with_model(scenario: Scenario, model: Model) -> Scenario:
    """The scenario with another model; the maximum length is the model's where that is shorter."""
    length = min(scenario.engine.max_model_len, model.max_context or scenario.engine.max_model_len)
    engine = scenario.engine.model_copy(update={"max_model_len": length})
    return scenario.model_copy(update={"model": model, "engine": engine})


def _combinations(base: Scenario) -> Iterator[Combination]:
    """Wide weights first; of each the most divided layout, then copies."""
    count, device = base.deployment.accelerators, base.accelerator
    places = [p for p in layouts(base, count) if p.expert_parallel == 1 and p.attention_data_parallel == 1]
    field, load = Field((device,)), Load(base)
    for weights in weight_formats(base):
        for cache in cache_formats(base):
            for place in reversed(places):
                combination = Combination(
                    *(device, place, weights, cache, None),
                    settings=_slots(base, field, load, place, weights, cache),
                    other_cache=cache != base.precision.kv_cache,
                )
                if not any(p.severity == "error" for p in check(combination.scenario(base))):
                    yield combination


def _slots(base: Scenario, field: Field, load: Load, place: Deployment, weights: str, cache: str) -> Settings:
    if base.engine.name not in LLAMA:
        return ()
    bounds = load.bounds(field, field.peaks(weights), place, weights, cache)
    slots = slots_on(base, place.replicas, bounds)
    return slot_settings(base, int(slots[0])) if slots is not None and slots[0] else ()


def _longest(scenario: Scenario) -> int:
    plan = plan_once(scenario)
    work = scenario.workload
    users = work.users if work.load == "users" else 1
    most = longest(plan, users, work.shared_prefix_tokens)
    return min(most, LONGEST, scenario.model.max_context or LONGEST)
