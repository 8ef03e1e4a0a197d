"""The inputs that an exploration may run over: numbers on linear or logarithmic axes, and categories."""

import math
from dataclasses import dataclass

import numpy as np

from core.catalog.accelerators import all_accelerators
from core.errors import InvalidScenario, Problem
from core.spec.accelerator import Accelerator
from core.spec.base import field_meta
from core.spec.change import get_value, with_values
from core.spec.engine import SERVERS
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import cache_formats_of, weight_formats_of
from core.units import Shown, show_count, show_tokens, three_digits
from core.words import Phrase

CATEGORIES = ("accelerator", "precision.weights", "precision.kv_cache", "deployment.tensor_parallel")
# Path → low and high end beside the scenario's own value as factors, and whether decades matter.
_NUMBERS: dict[str, tuple[float, float, bool]] = {
    "workload.users": (0.0, 8.0, True),
    "workload.request_rate": (0.05, 8.0, True),
    "workload.prompt_tokens": (0.05, 8.0, True),
    "workload.output_tokens": (0.1, 8.0, True),
    "workload.shared_prefix_tokens": (0.0, 1.0, False),
    "deployment.accelerators": (0.0, 8.0, True),
    "engine.max_model_len": (0.1, 8.0, True),
    "engine.gpu_memory_utilization": (0.0, 0.0, False),
    "engine.max_num_batched_tokens": (0.0, 0.0, True),
    "speculative.acceptance": (0.0, 0.0, False),
    "accelerator.memory_bandwidth_gbps": (0.25, 4.0, True),
    "accelerator.memory_gb_nominal": (0.25, 4.0, True),
}
_FIXED_ENDS = {
    "engine.gpu_memory_utilization": (0.5, 0.98),
    "engine.max_num_batched_tokens": (512.0, 32768.0),
    "speculative.acceptance": (0.0, 0.95),
}
_MOST_DEVICES = 24
# Always among the GPUs: what most people rent or own.
_USUAL = frozenset(
    (
        "A10",
        "A100 SXM4 80GB",
        "L4",
        "L40S",
        "H100 SXM5 80GB",
        "H200 SXM 141GB",
        "B200 SXM",
        "RTX 3090",
        "RTX 4090",
        "RTX 5090",
        "RTX PRO 6000 Blackwell Server",
    )
)


@dataclass(frozen=True, slots=True)
class Axis:
    """Values of one input, rising where they are numbers.  ``labels`` are for categories only."""

    path: str
    values: tuple[object, ...]
    labels: tuple[str, ...] = ()
    log: bool = False

    @property
    def is_category(self) -> bool:
        """Whether the values have no order."""
        return bool(self.labels)

    @property
    def name(self) -> Phrase:
        """The input's name."""
        own = f"explore.axes.{self.path}" if self.path in OWN_NAMES else f"fields.{self.path}.label"
        return Phrase(own)

    def shown(self, index: int) -> Shown:
        """A value as a person reads it."""
        if self.labels:
            return Shown(self.labels[index], "")
        return shown_value(self.path, float(self.values[index]))  # type: ignore[arg-type]

    def apply(self, scenario: Scenario, index: int) -> Scenario:
        """The scenario with the value of a cell, and what must follow it.  Raises InvalidScenario."""
        return with_values(scenario, changes_for(scenario, self.path, self.values[index]))


OWN_NAMES = frozenset({"accelerator.memory_bandwidth_gbps", "accelerator.memory_gb_nominal"})


def changes_for(scenario: Scenario, path: str, value: object) -> dict[str, object]:
    """Paths and values that a cell sets: a GPU brings its link, a degree keeps the number of GPUs sound.

    A number of GPUs is taken as it stands, be it one that the layout does not divide.
    """
    changes: dict[str, object] = {path: value}
    place = scenario.deployment
    if path == "accelerator":
        assert isinstance(value, Accelerator)
        if place.link == "scale_up" and value.scale_up.gbps_per_direction is None:
            changes["deployment.link"] = "auto"
    elif path == "deployment.tensor_parallel":
        group = int(value) * place.pipeline_parallel  # type: ignore[call-overload]
        changes["deployment.accelerators"] = -(-place.accelerators // group) * group
        for name in ("expert_parallel", "attention_data_parallel"):
            if getattr(place, name) > 1:
                changes[f"deployment.{name}"] = value
    elif path == "accelerator.memory_gb_nominal":
        # What a driver reported belonged to the old size.
        changes["accelerator.memory_mib_reported"] = None
        changes["accelerator.memory_gib_driver"] = None
    return changes


def axes_for(scenario: Scenario) -> tuple[str, ...]:
    """Paths that make sense for a scenario, categories last."""
    engine, load = scenario.engine.name, scenario.workload.load
    found = []
    for path in _NUMBERS:
        part, _, name = path.partition(".")
        engines = field_meta(type(getattr(scenario, part)), name).engines
        if engines and engine not in engines:
            continue
        if path == ("workload.request_rate" if load == "users" else "workload.users"):
            continue
        if path == "speculative.acceptance" and scenario.speculative.kind == "none":
            continue
        found.append(path)
    degrees = engine in SERVERS or engine == "textbook"
    return (*found, *(p for p in CATEGORIES if degrees or p != "deployment.tensor_parallel"))


def axis_for(
    scenario: Scenario,
    path: str,
    points: int = 200,
    ends: tuple[float, float] | None = None,
    log: bool | None = None,
    devices: tuple[str, ...] = (),
) -> Axis:
    """An axis with sensible values around the scenario's own.

    ``devices`` are names of GPUs to take instead of usual ones.  ``points`` of numbers at most: whole
    numbers come once each.  Raises InvalidScenario for a path that cannot be an axis.
    """
    if path == "accelerator" and devices:
        return _of_devices(_chosen(scenario, devices))
    if path in CATEGORIES:
        return _category(scenario, path)
    if path not in _NUMBERS:
        raise InvalidScenario(Problem("explore.axis", (path,), {"path": path}))
    low, high = ends or _within_field(scenario, path, _ends(scenario, path))
    decades = _NUMBERS[path][2] if log is None else log
    if low <= 0:
        decades = False
    spread = np.geomspace(low, high, points) if decades else np.linspace(low, high, points)
    part, _, name = path.partition(".")
    if field_meta(type(getattr(scenario, part)), name).kind == "count":
        whole = sorted({max(int(low), round(v)) for v in spread.tolist()})
        if path == "deployment.accelerators":  # other numbers cannot be divided as the scenario says
            each = scenario.deployment.tensor_parallel * scenario.deployment.pipeline_parallel
            whole = [n for n in whole if n % each == 0] or [max(each, whole[0] // each * each)]
        return Axis(path, tuple(whole), log=decades)
    return Axis(path, tuple(float(v) for v in spread.tolist()), log=decades)


def _within_field(scenario: Scenario, path: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Ends that the field itself allows."""
    part, _, name = path.partition(".")
    meta = field_meta(type(getattr(scenario, part)), name)
    least = -math.inf if meta.minimum is None else meta.minimum
    most = math.inf if meta.maximum is None else meta.maximum
    return max(ends[0], least), min(ends[1], most)


def _ends(scenario: Scenario, path: str) -> tuple[float, float]:
    if path in _FIXED_ENDS:
        return _FIXED_ENDS[path]
    now = float(get_value(scenario, path) or 0)
    work, limit = scenario.workload, scenario.engine.longest_request
    if path == "workload.shared_prefix_tokens":
        return 0.0, float(max(1, work.prompt_tokens - 1))
    low, high = now * _NUMBERS[path][0], now * _NUMBERS[path][1]
    if path in ("workload.prompt_tokens", "workload.output_tokens"):
        other = work.output_tokens if path == "workload.prompt_tokens" else work.prompt_tokens
        within = float(max(limit - other, 2)) if scenario.engine.name != "textbook" else high
        # A shared prefix stays shorter than the prompt.
        least = work.shared_prefix_tokens + 1.0 if path == "workload.prompt_tokens" else 1.0
        return max(least, low, 1.0), max(least + 1, min(max(high, 2.0), within))
    if path == "workload.users":
        return 1.0, max(16.0, min(high, 4096.0))
    if path == "deployment.accelerators":
        place = scenario.deployment
        group = place.tensor_parallel * place.pipeline_parallel
        return float(group), float(max(8 * group, now))
    if path == "engine.max_model_len":
        least = float(work.tokens_per_request)
        return least, max(2 * least, min(high, float(scenario.model.max_context)))
    return max(low, 1e-6), max(high, 2e-6)


def _category(scenario: Scenario, path: str) -> Axis:
    if path == "accelerator":
        return _of_devices(_devices(scenario))
    if path == "precision.weights":
        own, spread = scenario.precision.weights, _has_experts(scenario)
        offered = weight_formats_of(scenario.engine.name)
        keys = tuple(k for k in offered if spread or k == own or not _is_for_experts(k))
        return Axis(path, keys, tuple(WEIGHT_FORMATS[k].label for k in keys))
    if path == "precision.kv_cache":
        keys = cache_formats_of(scenario.engine.name, scenario.precision.weights)
        return Axis(path, keys, tuple(CACHE_FORMATS[k].label for k in keys))
    most = max(8, scenario.deployment.tensor_parallel)
    degrees = tuple(2**i for i in range(int(math.log2(most)) + 1))
    return Axis(path, degrees, tuple(f"TP {n}" for n in degrees))


def _of_devices(devices: tuple[Accelerator, ...]) -> Axis:
    return Axis("accelerator", devices, tuple(d.name for d in devices))


def _chosen(scenario: Scenario, names: tuple[str, ...]) -> tuple[Accelerator, ...]:
    """The scenario's own GPU and those that are named, by bandwidth."""
    own = scenario.accelerator
    found = [d for d in all_accelerators() if d.name in names and d.name != own.name]
    return _by_bandwidth([own, *found])


def _has_experts(scenario: Scenario) -> bool:
    return any(group.channel_mixer.kind == "moe" for group in scenario.model.architecture.groups)


def _is_for_experts(key: str) -> bool:
    """Whether a format is another one's name for a model without experts."""
    form = WEIGHT_FORMATS[key]
    return form.narrow <= {"expert"} or form.expert_bits is not None or key == "gguf_mxfp4_moe"


def _devices(scenario: Scenario) -> tuple[Accelerator, ...]:
    """GPUs of the vendor, by bandwidth: the scenario's own, usual ones, and those most like it not older."""
    own = scenario.accelerator
    least = min(own.year or 2020, 2020)
    alike = [
        d
        for d in all_accelerators()
        if d.vendor == own.vendor and d.kind == own.kind and (d.year or 0) >= least and d.name != own.name
    ]
    alike = [d for d in alike if d.form_factor != "Laptop" and "one of" not in d.name]
    alike.sort(key=lambda d: abs(math.log(d.memory_bandwidth_gbps / own.memory_bandwidth_gbps)))
    alike.sort(key=lambda d: d.name not in _USUAL)  # these first, the rest in the order that it has
    chosen = [own, *alike[: _MOST_DEVICES - 1]]
    return _by_bandwidth(chosen)


def _by_bandwidth(devices: list[Accelerator]) -> tuple[Accelerator, ...]:
    return tuple(sorted(devices, key=lambda d: (d.memory_bandwidth_gbps, d.memory_gb_nominal, d.name)))


def shown_value(path: str, value: float) -> Shown:
    """A number of an axis as text."""
    part, _, name = path.partition(".")
    unit = field_meta(type(_EXAMPLE[part]), name).unit if part in _EXAMPLE else "GB"
    if unit == "tokens":
        return Shown(show_tokens(value), "tok")
    if unit == "1":
        return Shown(f"{value:.2f}", "")
    text = show_count(value) if float(value).is_integer() else three_digits(value)
    if path == "workload.request_rate":
        unit = "req/s"
    return Shown(text, "GB/s" if name == "memory_bandwidth_gbps" else unit)


_EXAMPLE = {
    part: Scenario.model_fields[part].get_default(call_default_factory=True)
    for part in ("workload", "deployment", "engine", "speculative")
}


def coarse_first(count: int) -> list[int]:
    """All indices, each half of a gap before the quarters: a picture that sharpens."""
    order, step = [], 1 << max(0, (count - 1).bit_length())
    seen: set[int] = set()
    while step >= 1:
        for index in range(0, count, step):
            if index not in seen:
                seen.add(index)
                order.append(index)
        step //= 2
    return order
