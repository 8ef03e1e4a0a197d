"""Hardware worth trying: another layout, more devices, another device of the catalogue, host memory.

The catalogue is searched by a bound on all devices at once; only the few best are then estimated.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.catalog.accelerators import all_accelerators
from core.errors import InvalidScenario
from core.explain.precision import cache_caution, task_of, weight_caution
from core.explain.verdict import phrase_of
from core.latency.machine import compute_format, peak_flops
from core.memory.capacity import Change, smallest_change_that_fits, smallest_changes, starts
from core.memory.device import driver_total_bytes
from core.planning.moves import BY_LAYERS, engine_changes
from core.planning.suggestion import Move
from core.quantities import FloatArray
from core.results import Estimate
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.engine import LLAMA, SERVERS
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import show_count
from core.words import Phrase, counted

_LAPTOP, _CLOUD = "Laptop", "Cloud only"
_DEAREST = 6.0  # times the price of today's devices that is still worth naming
_CHEAPER = 0.85
_HEADROOM = 1.1  # of the bound over what is needed: the estimate adds what the bound leaves out
_FIRST = 30.0  # points by which the change that the verdict names leads, but for one that meets every target
_KEPT = 3  # devices that are estimated
_STEP = 1.15  # times the memory or bandwidth that makes another device of it


def price_of(scenario: Scenario) -> float | None:
    """US dollars of all devices; None where the catalogue gives no price."""
    price = scenario.accelerator.price_usd
    return None if price is None else price * scenario.deployment.accelerators


def layout_moves(point: Estimate) -> Iterator[Move]:
    """The same devices laid out the other way: split further, or more copies of the model."""
    scenario = point.scenario
    place = scenario.deployment
    if scenario.engine.name not in SERVERS or place.pipeline_parallel > 1 or place.accelerators < 2:
        return
    tp = place.tensor_parallel
    for key, degree in (("more_copies", tp // 2), ("wider_split", tp * 2)):
        if degree < 1 or degree > place.accelerators or place.accelerators % degree:
            continue
        copies = place.accelerators // degree
        title = Phrase(f"advice.titles.{key}", {"tp": str(degree), "copies": show_count(copies)})
        yield Move(key, title, _divided(scenario, place.accelerators, degree), 2)


# How the smallest changes are called elsewhere in the advice.
_SMALLEST = {
    "workload.users": "fewer_users",
    "workload.prompt_tokens": "shorter_prompt",
    "precision.kv_cache": "cache_8_bit",
    "precision.weights": "weights_8_bit",
    "deployment.accelerators": "more_devices",
    "deployment.tensor_parallel": "wider_split",
    "engine.n_cpu_moe": "offload",
    "engine.n_gpu_layers": "offload",
}


def smallest_move(point: Estimate) -> Iterator[Move]:
    """The change that the verdict names where nothing starts; it leads what meets no more targets."""
    if point.speed is not None:
        return
    changes = smallest_change_that_fits(point.scenario) or ()
    path = changes[0].path if changes else ""
    if path not in _SMALLEST:
        return
    key = _SMALLEST[path]
    if path == "precision.weights" and WEIGHT_FORMATS[str(changes[0].value)].bits < 6:
        key = "weights_4_bit"
    title = Phrase("advice.titles.smallest", {"change": phrase_of(point.scenario, changes)})
    yield Move(key, title, changes, -_FIRST, _cautions(point.scenario, changes))


def _cautions(scenario: Scenario, changes: tuple[Change, ...]) -> tuple[Phrase, ...]:
    """What the smallest change costs."""
    value = changes[0].value
    match changes[0].path:
        case "precision.weights":
            bits = int(WEIGHT_FORMATS[str(value)].bits)
            return (weight_caution(bits, task_of(scenario.workload)),)
        case "precision.kv_cache":
            return (cache_caution(task_of(scenario.workload)),)
        case "workload.prompt_tokens":
            return (Phrase("advice.cautions.shorter_prompt"),)
        case "deployment.accelerators":
            return _bought(scenario, int(str(value)))
        case "engine.n_cpu_moe" | "engine.n_gpu_layers":
            return (Phrase("advice.cautions.host_memory"),)
    return ()


def _divided(scenario: Scenario, devices: int, tp: int) -> tuple[Change, ...]:
    """A layout in which divisions inside a group follow the group."""
    place = scenario.deployment
    changes = [Change("deployment.accelerators", devices), Change("deployment.tensor_parallel", tp)]
    old = place.tensor_parallel
    for name in ("expert_parallel", "attention_data_parallel"):
        now = getattr(place, name)
        if now > 1:
            changes.append(Change(f"deployment.{name}", tp if now == old or tp % now else now))
    return tuple(changes)


def more_devices(point: Estimate) -> Iterator[Move]:
    """Twice the devices of the same kind: shared by one copy of the model, or for a second copy.

    Where nothing starts, as few as hold the model.
    """
    scenario, place = point.scenario, point.scenario.deployment
    if point.speed is None:
        yield from _enough_devices(scenario)
        return
    caution = _bought(scenario, 2 * place.accelerators)
    if scenario.accelerator.unified_memory and scenario.accelerator.scale_up.max_devices < 2:
        return  # a whole computer: there is no second one in it
    count = 2 * place.accelerators
    values = {"count": show_count(count), "gpu": scenario.accelerator.name}
    if scenario.engine.name in BY_LAYERS:
        changes = (
            Change("deployment.accelerators", count),
            Change("deployment.pipeline_parallel", 2 * place.pipeline_parallel),
        )
        yield Move("more_devices", Phrase("advice.titles.split_over", values), changes, 24, caution)
        return
    split = _divided(scenario, count, 2 * place.tensor_parallel)
    yield Move("more_devices", Phrase("advice.titles.split_over", values), split, 24, caution)
    copy = (Change("deployment.accelerators", count),)
    title = Phrase("advice.titles.second_copy", {**values, "copies": show_count(2 * place.replicas)})
    yield Move("second_copy", title, copy, 24, caution)


def _enough_devices(scenario: Scenario) -> Iterator[Move]:
    """The fewest devices of the same kind that hold the model together, unless that is told already."""
    kinds = smallest_changes(scenario)
    for number, changes in enumerate(kinds):
        if number and changes[0].path == "deployment.accelerators":
            count = int(str(changes[0].value))
            values = {"count": show_count(count), "gpu": scenario.accelerator.name}
            title = Phrase("advice.titles.split_over", values)
            yield Move("more_devices", title, changes, 24, _bought(scenario, count))


def _bought(scenario: Scenario, count: int) -> tuple[Phrase, ...]:
    price = scenario.accelerator.price_usd
    if price is None:
        return (Phrase("advice.cautions.no_price"),)
    added = price * (count - scenario.deployment.accelerators)
    return (Phrase("advice.cautions.bought", {"price": f"${added:,.0f}"}),)


@dataclass(frozen=True, slots=True)
class _Field:
    """The catalogue as arrays, one entry a device."""

    devices: tuple[Accelerator, ...]
    bandwidth: FloatArray  # bytes/s
    memory: FloatArray  # bytes
    price: FloatArray  # US dollars, nan: unknown


def _class_of(device: Accelerator) -> str:
    """What kind of machine a device goes into."""
    if device.kind != "gpu" or device.form_factor in (_LAPTOP, _CLOUD):
        return f"{device.kind} {device.form_factor}"
    return "card" if device.form_factor.startswith("PCIe") else "module"


def _field(device: Accelerator) -> _Field:
    """Devices of the same vendor that run the same software and go into a like machine, or a larger one."""
    own = _class_of(device)
    allowed = {own, "module"} if own == "card" else {own}
    found = tuple(
        d
        for d in all_accelerators()
        if d.vendor == device.vendor and _class_of(d) in allowed and d.name != device.name
    )
    return _Field(
        found,
        np.array([d.memory_bandwidth_gbps * 1e9 for d in found]),
        np.array([float(driver_total_bytes(d)) for d in found]),
        np.array([math.nan if d.price_usd is None else d.price_usd for d in found]),
    )


def other_devices(point: Estimate) -> Iterator[Move]:
    """Devices of the catalogue that promise to meet what is missed, or the same for less money."""
    scenario = point.scenario
    field, count = _field(scenario.accelerator), scenario.deployment.accelerators
    if not field.devices or scenario.accelerator.kind in ("cpu",):
        return
    now = scenario.accelerator.price_usd
    price = np.where(np.isnan(field.price), np.inf, field.price)
    roomy = field.memory * _budget_share(point) >= point.ledger.needed_bytes * _least_part(point)
    gain = _gains(point, field)
    if point.verdict.state == "good":
        if now is None:
            return
        slack = _slack(point)
        good = roomy & (1 / gain <= slack) & (price < _CHEAPER * now)
        order = np.argsort(np.where(good, price, np.inf), kind="stable")
    else:
        limit = np.inf if now is None else max(_DEAREST * now, 2500.0)
        good = roomy & (price <= limit) & ((gain > 1.1) | (point.speed is None))
        enough = gain >= _HEADROOM / max(_slack(point), 1e-3) if point.speed is not None else roomy
        # What is enough by its price, then the rest by what it gains for its price.
        rank = np.where(enough, price, 1e6 + price / np.maximum(gain, 1e-6))
        order = np.argsort(np.where(good, rank, np.inf), kind="stable")
    for index in _distinct([int(i) for i in order if good[i]], scenario, field)[:_KEPT]:
        yield _moved(scenario, field.devices[index], count)


def _distinct(order: list[int], scenario: Scenario, field: _Field) -> list[int]:
    """Of devices in order of their rank the first of each step in memory and bandwidth.

    What is another edition of the own device, with the same arithmetic too, is no step at all.
    """
    own, weights = scenario.accelerator, WEIGHT_FORMATS[scenario.precision.weights]
    known = (float(driver_total_bytes(own)), own.memory_bandwidth_gbps * 1e9)
    peak = peak_flops(own, compute_format(own, weights))
    kept: list[int] = []
    for index in order:
        device = field.devices[index]
        sizes = (float(field.memory[index]), float(field.bandwidth[index]))
        if _alike(sizes, known) and _alike((peak_flops(device, compute_format(device, weights)),), (peak,)):
            continue
        if not any(_alike(sizes, (float(field.memory[k]), float(field.bandwidth[k]))) for k in kept):
            kept.append(index)
    return kept


def _alike(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether no number is far from its counterpart."""
    return all(1 / _STEP <= a / max(b, 1.0) <= _STEP for a, b in zip(one, other, strict=True))


def _budget_share(point: Estimate) -> float:
    return point.ledger.budget_bytes / max(1, point.ledger.device_bytes)


def _least_part(point: Estimate) -> float:
    """Of what is needed now, what must fit: without requests that may queue."""
    ledger = point.ledger
    if point.speed is None:
        return 1.0
    return (ledger.needed_bytes - 0.8 * ledger.bytes_of("kv_cache")) / max(1, ledger.needed_bytes)


def _gains(point: Estimate, field: _Field) -> FloatArray:
    """How many times as fast each device is, by bandwidth and compute weighted as they limit now."""
    scenario, device = point.scenario, point.scenario.accelerator
    weights = WEIGHT_FORMATS[scenario.precision.weights]
    peaks = np.array([peak_flops(d, compute_format(d, weights)) for d in field.devices])
    compute = peaks / peak_flops(device, compute_format(device, weights))
    bandwidth = field.bandwidth / (device.memory_bandwidth_gbps * 1e9)
    if point.speed is None:
        return np.sqrt(compute * bandwidth)
    speed = point.speed
    prompts = speed.prefill_share
    shares = {
        key: (1 - prompts) * speed.decode.shares[key] + prompts * speed.prefill.shares[key]
        for key in speed.decode.shares
    }
    rest = 1.0 - shares["compute"] - shares["bandwidth"]
    return np.asarray(1 / (rest + shares["compute"] / compute + shares["bandwidth"] / bandwidth))


def _slack(point: Estimate) -> float:
    """Target over value of the tightest time target; below 1: missed."""
    speed, targets = point.speed, point.scenario.targets
    if speed is None:
        return 1.0
    slacks = [4.0]
    if targets.time_to_first_token_s is not None:
        slacks.append(targets.time_to_first_token_s / max(speed.time_to_first_token.expected, 1e-9))
    if targets.time_per_output_token_ms is not None:
        slacks.append(
            targets.time_per_output_token_ms / 1e3 / max(speed.time_per_output_token.expected, 1e-9)
        )
    return min(slacks)


def _moved(scenario: Scenario, device: Accelerator, count: int) -> Move:
    title = Phrase("advice.titles.other_device", {"count": show_count(count), "gpu": device.name})
    changes = [Change("accelerator", device)]
    if scenario.deployment.link == "scale_up" and device.scale_up.gbps_per_direction is None:
        changes.append(Change("deployment.link", "auto"))
    cautions: tuple[Phrase, ...] = (Phrase("advice.cautions.no_price"),)
    effort = 22.0
    if device.price_usd is not None:
        price = f"${device.price_usd * count:,.0f}"
        cautions = (Phrase("advice.cautions.price", {"price": price}),)
        if scenario.accelerator.price_usd is not None:
            ratio = device.price_usd / scenario.accelerator.price_usd
            effort += 8.0 * math.log2(max(ratio, 0.25))
    return Move("other_device", title, tuple(changes), effort, cautions)


def host_memory(scenario: Scenario) -> Iterator[Move]:
    """llama.cpp with the experts, else whole layers, of as few layers as possible in the host's memory."""
    if scenario.deployment.replicas > 1 or scenario.accelerator.kind != "gpu":
        return
    changes: tuple[Change, ...] = ()
    cautions = [Phrase("advice.cautions.host_memory")]
    if scenario.engine.name not in LLAMA:
        changes = engine_changes(scenario, "llamacpp", "")
        four_bit = WEIGHT_FORMATS[scenario.precision.weights].bits > 6
        if four_bit:
            changes = tuple(c for c in changes if c.path != "precision.weights")
            changes += (Change("precision.weights", "gguf_q4_k_m"),)
        cautions.append(Phrase("advice.cautions.engine"))
    moved = _applied(scenario, changes)
    if moved is None:
        return
    layers = scenario.model.architecture.layers
    if any(isinstance(g.channel_mixer, MixtureOfExperts) for g in scenario.model.architecture.kinds):
        least = _least(moved, "engine.n_cpu_moe", range(layers + 1))
        if least:
            title = _with_engine(moved, counted("advice.titles.experts_on_host", least), changes)
            yield Move("offload", title, (*changes, Change("engine.n_cpu_moe", least)), 28, tuple(cautions))
            return
    most = _least(moved, "engine.n_gpu_layers", range(layers + 1, -1, -1))
    if most is not None and most <= layers:
        title = counted("advice.titles.layers_on_host", layers + 1 - most)
        title = _with_engine(moved, title, changes)
        yield Move("offload", title, (*changes, Change("engine.n_gpu_layers", most)), 30, tuple(cautions))


def _with_engine(moved: Scenario, title: Phrase, changes: tuple[Change, ...]) -> Phrase:
    """The title with the engine and the weights that are changed along with it."""
    if not changes:
        return title
    values: dict[str, object] = {
        "engine": Phrase(f"choices.engines.{moved.engine.name}"),
        "format": WEIGHT_FORMATS[moved.precision.weights].label,
        "change": title,
    }
    return Phrase("advice.titles.with_engine", values)


def _applied(scenario: Scenario, changes: tuple[Change, ...]) -> Scenario | None:
    try:
        changed = with_values(scenario, {c.path: c.value for c in changes})
    except InvalidScenario:
        return None
    return None if any(p.severity == "error" for p in check(changed)) else changed


def _least(scenario: Scenario, path: str, values: range) -> int | None:
    """The first value with which the service starts, where all later ones start too."""

    def fits(value: int) -> bool:
        changed = _applied(scenario, (Change(path, value),))
        return changed is not None and starts(changed)

    low, high = 0, len(values) - 1
    if not fits(values[high]):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(values[middle]) else (middle + 1, high)
    return values[low]
