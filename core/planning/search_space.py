"""The combinations that a search looks at: devices, counts, layouts and formats, and what rules them out.

Rules that need no estimate are applied to all devices at once, on arrays: what the engine does not
run on, what does not fit by the bytes of the weights alone, and what the device could not reach with
every unit at its peak.  A bound is never more than the estimate, so nothing good is lost.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.model.parameters import weight_bytes
from core.planning.engine_settings import Settings, changed_settings
from core.planning.search_bounds import Bounds, Field, Load
from core.planning.slots import slot_settings, slots_on
from core.quantities import FloatArray, as_array
from core.serving.limits import batch_limits
from core.spec.accelerator import Accelerator
from core.spec.architecture import LatentAttention, MixtureOfExperts
from core.spec.checks import check, unsupported
from core.spec.deployment import Deployment
from core.spec.engine import SERVERS, EngineName, Precision
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.search import Quality
from core.spec.support import cache_formats_of, weight_formats_of

# Why a combination fails.
Reason = Literal[
    "unsupported",  # the engine does not run on the device, or the format not there
    "budget",
    "no_price",  # a budget is given, and nobody knows what the device costs
    "weights",  # the weights alone exceed the memory
    "cache",  # no room for one request beside them
    "per_token",
    "first_token",
    "users",  # fewer fit at once than are asked for
    "rate",  # requests come faster than they are answered
]
_RULES: tuple[Reason, ...] = (
    *("unsupported", "no_price", "no_price", "budget", "budget"),
    *("weights", "per_token", "first_token"),
)
_ALLOWED, _ABSENT = -1, -2
NODE = 8
_CUSTOMARY: dict[EngineName, tuple[str, ...]] = {
    "vllm": ("bf16", "fp8", "awq_g128"),
    "sglang": ("bf16", "fp8", "awq_g128"),
    "trtllm": ("bf16", "fp8", "awq_g128"),
    "llamacpp": ("gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m"),
    "ollama": ("gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m"),
    "transformers": ("bf16", "w8a16", "nf4_dq"),
    "mlx": ("bf16", "mlx_8bit", "mlx_6bit", "mlx_4bit"),
    "textbook": ("bf16", "int8", "int4"),
}
_LEAST_BITS: dict[Quality, float] = {"any": 0.0, "careful": 8.0, "lossless": 15.9}
_PLAIN, _NARROWER = 16.0, 0.97  # bits of weights that nobody narrowed; share of the bytes
# What ``check`` says where an engine does not load a format.
_REFUSED = frozenset({"weight_format_engine", "cache_format_engine"})


@dataclass(frozen=True, slots=True)
class Combination:
    """One candidate.  ``reason`` None: the bounds allow it; ``value`` over ``limit`` says by how much not."""

    device: Accelerator
    deployment: Deployment
    weights: str
    cache: str
    price: float | None  # US dollars, all devices
    reason: Reason | None = None
    value: float = 0.0
    limit: float = 0.0
    guess: float = 0.0  # output tokens a second, roughly
    prompt: float = 0.0  # s of one prompt, roughly
    settings: Settings = ()  # where they are not the scenario's
    other_cache: bool = False  # than the scenario's

    def scenario(self, base: Scenario) -> Scenario:
        """The scenario with this hardware, these formats and settings."""
        return base.model_copy(
            update={
                **changed_settings(base, self.settings),
                "accelerator": self.device,
                "deployment": self.deployment,
                "precision": _precision(self.weights, self.cache),
            }
        )


@lru_cache(maxsize=64)
def _precision(weights: str, cache: str) -> Precision:
    return Precision(weights=weights, kv_cache=cache)


def devices_of(base: Scenario) -> tuple[Accelerator, ...]:
    """The devices that may be recommended.  Raises NotFound for a name that is none."""
    search = base.search
    if search.devices:
        return tuple(load_accelerator(name) for name in search.devices)
    vendors = {vendor.lower() for vendor in search.vendors}
    return tuple(d for d in all_accelerators() if not vendors or d.vendor.lower() in vendors)


def weight_formats(base: Scenario) -> tuple[str, ...]:
    """Formats to try, wide to narrow; of a model published in a narrow one, that and narrower ones."""
    engine, search = base.engine.name, base.search
    offered = weight_formats_of(engine)
    least = _LEAST_BITS[search.quality]
    found = {f for f in search.weight_formats if f in offered and WEIGHT_FORMATS[f].bits >= least}
    if not search.weight_formats:
        found = {f for f in (base.precision.weights, *_CUSTOMARY[engine]) if f in offered}
        found = {f for f in found if WEIGHT_FORMATS[f].bits >= least}
        published = base.model.published_weight_format
        if published in offered and WEIGHT_FORMATS[published].bits < _PLAIN:
            found = {published, *(f for f in found if _is_narrower(base.model, f, published))}
    return tuple(sorted(found, key=lambda f: -WEIGHT_FORMATS[f].bits))


def _is_narrower(model: Model, weights: str, published: str) -> bool:
    """Whether a format takes less than the one that a model was published in: wider ones hold no more."""
    least, most = (weight_bytes(model.architecture, WEIGHT_FORMATS[f]) for f in (weights, published))
    return bool(least < _NARROWER * most)


def cache_formats(base: Scenario) -> tuple[str, ...]:
    """Formats to try, wide to narrow: the scenario's and one of 8 bits."""
    offered = cache_formats_of(base.engine.name, base.precision.weights)
    narrow = next((f for f in ("fp8", "int8", "q8_0") if f in offered), None)
    chosen = base.search.cache_formats or (base.precision.kv_cache, *((narrow,) if narrow else ()))
    found = {f for f in chosen if f in offered or f == base.precision.kv_cache}
    if base.search.quality == "lossless" and not base.search.cache_formats:
        found = {f for f in found if CACHE_FORMATS[f].bits >= 16} or {base.precision.kv_cache}
    return tuple(sorted(filter(partial(_holds, base), found), key=lambda f: -CACHE_FORMATS[f].bits))


def _holds(base: Scenario, cache: str) -> bool:
    """Whether the engine, as it is set, takes a cache of the format; the scenario's own stands anyhow."""
    own = base.precision.kv_cache
    trial = base.model_copy(update={"precision": _precision(base.precision.weights, cache)})
    problems = () if cache == own else check(trial)
    return not any(p.severity == "error" and "precision.kv_cache" in p.paths for p in problems)


def layouts(base: Scenario, count: int) -> tuple[Deployment, ...]:
    """Ways to lay the model over ``count`` devices, replicas for the rest; the least divided first."""
    link = base.deployment.link if base.deployment.link != "scale_up" else "auto"

    def place(tp: int, pp: int = 1, ep: int = 1, dp: int = 1) -> Deployment:
        return Deployment(
            accelerators=count,
            tensor_parallel=tp,
            pipeline_parallel=pp,
            expert_parallel=ep,
            attention_data_parallel=dp,
            link=link,
            nodes=max(1, count // NODE),
            network_gbit_per_s=base.deployment.network_gbit_per_s,
        )

    if base.engine.name not in SERVERS and base.engine.name != "textbook":
        return tuple(place(1, pp) for pp in _divisors(count))
    sparse, latent = sparse_and_latent(base.model)
    found: list[Deployment] = []
    for tp in _divisors(count):
        if tp <= NODE:
            found.append(place(tp))
            if tp > 1 and base.engine.name in SERVERS and sparse:
                found.append(place(tp, ep=tp))
                if latent:
                    found.append(place(tp, ep=tp, dp=tp))
        elif tp <= 4 * NODE and sparse and latent and base.engine.name in SERVERS:
            found.append(place(tp, ep=tp, dp=tp))
        if tp >= 2 * NODE and tp // NODE <= base.model.architecture.layers:
            found.append(place(NODE, tp // NODE))
    return tuple(dict.fromkeys(found))


def sparse_and_latent(model: Model) -> tuple[bool, bool]:
    """Whether a model has experts, and whether its attention is latent: what decides on layouts."""
    kinds = model.architecture.kinds
    sparse = any(isinstance(kind.channel_mixer, MixtureOfExperts) for kind in kinds)
    return sparse, any(isinstance(m, LatentAttention) for kind in kinds for m in kind.token_mixers)


def counts(base: Scenario) -> tuple[int, ...]:
    """Numbers of devices: powers of two within the limits."""
    most = min(base.search.most_accelerators, NODE * base.search.most_nodes)
    return tuple(2**i for i in range(most.bit_length()) if 2**i <= most)


def _divisors(count: int) -> Iterator[int]:
    return (2**i for i in range(count.bit_length()) if count % 2**i == 0)


@dataclass(frozen=True, eq=False)
class Part:
    """One layout and pair of formats on every device; arrays (d,)."""

    field: Field
    place: Deployment
    weights: str
    cache: str
    bounds: Bounds
    price: FloatArray  # US dollars, nan where it is not known
    rule: NDArray[np.intp]  # what rules the device out: the place in ``_RULES``; _ALLOWED, _ABSENT
    value: FloatArray
    limit: FloatArray
    base: Scenario
    slots: FloatArray | None  # of each copy; 0, None: as the scenario sets them

    def __len__(self) -> int:
        return int((self.rule != _ABSENT).sum())

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Where no rule rules it out."""
        return np.asarray(self.rule == _ALLOWED)

    @cached_property
    def rooms(self) -> FloatArray:
        """Requests that the engine runs at once at most, whatever the memory holds.

        Only of engines with places for requests, which nothing but a combination's own settings adds to.
        """
        base, each = self.base, np.full(len(self.rule), math.inf)
        if base.engine.name not in SERVERS and base.engine.name != "textbook":
            each[:] = batch_limits(base.engine, base.accelerator)[0]  # the same on every device
        if self.slots is not None:
            each = np.where(self.slots > 0, self.slots, each)
        return as_array(self.place.replicas * each)

    def all(self) -> list[Combination]:
        """Every one."""
        return [self.at(i) for i in np.flatnonzero(self.rule != _ABSENT).tolist()]

    def failures(self) -> Iterator[tuple[int, Combination]]:
        """How many each rule rules out, and which of them comes nearest."""
        for rule in sorted(set(self.rule.tolist()) - {_ALLOWED, _ABSENT}):
            mine = np.flatnonzero(self.rule == rule)
            far = self.value[mine] / np.where(self.limit[mine] > 0, self.limit[mine], 1e-300)
            yield len(mine), self.at(int(mine[np.argmin(far)]))

    def price_at(self, i: int) -> float | None:
        """US dollars, all devices."""
        paid = self._columns[0][i]
        return None if math.isnan(paid) else paid

    def at(self, i: int) -> Combination:
        """The one of a device, by its place among the devices."""
        _, rule, value, limit, guess, prompt, slots = (column[i] for column in self._columns)
        told = slot_settings(self.base, int(slots)) if slots else (), self._other_cache
        shown = self.field.devices[i], self.place, self.weights, self.cache, self.price_at(i)
        if rule == _ALLOWED:
            return Combination(*shown, None, 0.0, 0.0, guess, prompt, *told)
        return Combination(*shown, _RULES[int(rule)], value, limit, 0.0, 0.0, *told)

    @property
    def _other_cache(self) -> bool:
        return self.cache != self.base.precision.kv_cache

    @cached_property
    def _columns(self) -> tuple[list[float], ...]:
        """Thousands are read one by one, which lists are made for."""
        slots = np.zeros(len(self.rule)) if self.slots is None else self.slots
        bounds = self.bounds
        each = (self.price, self.rule, self.value, self.limit, bounds.guess, bounds.prompt, slots)
        return tuple(column.tolist() for column in each)


def combinations(base: Scenario) -> tuple[Combination, ...]:
    """Every combination, those that the bounds rule out with the reason."""
    return tuple(chain.from_iterable(part.all() for part in combining(base) if part is not None))


def combining(base: Scenario) -> Iterator[Part | None]:
    """``combinations`` part by part, a few milliseconds each; None where only time has passed."""
    devices = devices_of(base)
    field, work = Field(devices), Load(base)
    caches = cache_formats(base)
    known: dict[str, NDArray[np.bool_]] = {}  # by weights: whether the engine runs them on each device
    for count in counts(base):
        places = [place for place in layouts(base, count) if _is_allowed(base, place)]
        for weights in weight_formats(base):
            peaks = field.peaks(weights)
            if weights not in known:
                known[weights] = _supported(base, devices, weights)
                yield None
            for place in places:
                for cache in caches:
                    bounds = work.bounds(field, peaks, place, weights, cache)
                    yield _judged(base, field, place, weights, cache, known[weights], bounds)


def _supported(base: Scenario, devices: tuple[Accelerator, ...], weights: str) -> NDArray[np.bool_]:
    """Whether the engine runs such weights on each device (d,)."""
    chosen = base.model_copy(update={"precision": _precision(weights, base.precision.kv_cache)})
    if any(p.code in _REFUSED for p in check(chosen)):
        return np.zeros(len(devices), dtype=bool)
    trials = (chosen.model_copy(update={"accelerator": device}) for device in devices)
    return np.array([unsupported(trial) is None for trial in trials], dtype=bool)


def _is_allowed(base: Scenario, place: Deployment) -> bool:
    trial = base.model_copy(update={"deployment": place})
    return not any(p.severity == "error" and "deployment" in p.paths[0] for p in check(trial))


def _judged(
    base: Scenario,
    field: Field,
    place: Deployment,
    weights: str,
    cache: str,
    supported: NDArray[np.bool_],
    bounds: Bounds,
) -> Part:
    targets, search, count = base.targets, base.search, place.accelerators
    per_token = (
        math.inf if targets.time_per_output_token_ms is None else targets.time_per_output_token_ms / 1e3
    )
    first = math.inf if targets.time_to_first_token_s is None else targets.time_to_first_token_s
    budget = math.inf if search.budget_usd is None else search.budget_usd
    hourly = math.inf if search.budget_usd_per_hour is None else search.budget_usd_per_hour
    price, by_hour = count * field.price, count * field.hourly
    unknown = np.isnan(price) & math.isfinite(budget), np.isnan(by_hour) & math.isfinite(hourly)
    # In the order of _RULES: values, and what they may be at most.
    values = np.array(
        [
            ~supported,
            *unknown,
            np.where(np.isnan(price), 0.0, price),
            np.where(np.isnan(by_hour), 0.0, by_hour),
            *(bounds.needed, bounds.per_token, bounds.first_token),
        ]
    )
    limits = np.empty_like(values)
    for row, most in enumerate((0.0, 0.0, 0.0, budget, hourly, bounds.usable, per_token, first)):
        limits[row] = most
    over = values > limits
    broken, at = over.any(axis=0), (over.argmax(axis=0), np.arange(len(price)))  # the first one counts
    rule = np.where(broken, at[0], _ALLOWED)
    # Of what the engine does not run there is nothing to tell.
    value, limit = np.where(broken & supported, values[at], 0.0), np.where(broken, limits[at], 0.0)
    if count > 1:
        rule = np.where(field.single, _ABSENT, rule)
    slots = slots_on(base, place.replicas, bounds)
    return Part(field, place, weights, cache, bounds, price, rule, value, limit, base, slots)
