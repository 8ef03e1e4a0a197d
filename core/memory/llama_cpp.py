"""llama.cpp's ledger: model, KV and compute buffers of each device, as its log prints them.

    model buffer   = the tensors of the file that lie on the device; the token table stays on the host
    KV buffer      = layers × cells × (K + V elements) × bytes, cells a multiple of 256, taken at the start
    compute buffer = the results of one micro batch, laid out as its allocator does (``llama_compute``)

The last layers go to the devices, ``n_gpu_layers`` of them with the output, in equal parts.  Ollama
runs the same code with settings of its own.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from core.memory.demand import CacheDemand, PageGroup
from core.memory.device import driver_total_bytes
from core.memory.ledger import LineKey
from core.memory.llama_compute import compute_bytes, file_type, first_layer, has_output, mask_cells
from core.memory.llama_rules import keeps_all, n_parallel, n_ubatch, padded, rules, unified
from core.memory.plan import MemoryPlan
from core.model.cache import cache_kinds
from core.model.formats import GgufSizes, LayerBytes, gguf_sizes
from core.spec.architecture import Architecture, LayerGroup, RecurrentMixer
from core.spec.engine import Engine
from core.spec.formats import CACHE_FORMATS
from core.spec.gguf_types import TENSOR_TYPES
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "model buffer",
    "kv_cache": "KV buffer",
    "kv_cache_spare": "KV buffer",
    "activations": "compute buffer",
    "runtime": "CUDA context",
}
# What a device holds beside the buffers, by the vendor whose library llama.cpp runs on.
_CONTEXTS = {"AMD": "HIP context", "Apple": "Metal", "Intel": "SYCL queue", "Huawei": "CANN context"}
_TABLE = "token_embd.weight"


@dataclass(frozen=True, slots=True)
class LayerCache:
    """What one layer keeps: bytes of each cell of the whole context, of the window's cells, of the states."""

    token: Fraction
    window: int
    state: int


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes of one device.  ``cache`` = ``token`` × cells + ``bounded`` (windows and states)."""

    model: int
    cache: int
    token: int
    bounded: int
    compute: int


def file_sizes(scenario: Scenario) -> GgufSizes:
    """What the file holds.  Ollama's files of MXFP4 models keep everything but the experts in 16 bit."""
    kind = file_type(scenario.precision.weights) or "BF16"
    sizes = gguf_sizes(scenario.model.architecture, kind)
    if scenario.engine.name != "ollama" or kind != "MXFP4_MOE":
        return sizes
    wider = TENSOR_TYPES["BF16"].bits / TENSOR_TYPES["Q8_0"].bits
    layers = tuple(
        LayerBytes(one.experts + math.ceil((one.total - one.experts) * wider), one.experts)
        for one in sizes.layers
    )
    return replace(sizes, layers=layers, outside={k: math.ceil(v * wider) for k, v in sizes.outside.items()})


def layers_on(engine: Engine, layers: int, devices: int) -> list[range]:
    """Layers of each device; index ``layers`` stands for the output."""
    start = first_layer(engine, layers)
    offloaded = layers - start + (1 if has_output(engine, layers) else 0)
    edges = [start + math.ceil(offloaded * d / devices) for d in range(devices + 1)]
    return [range(low, high) for low, high in pairwise(edges)]


def parts(scenario: Scenario) -> list[range]:
    """Layers of each device of a scenario."""
    layers = scenario.model.architecture.layers
    return layers_on(scenario.engine, layers, scenario.deployment.pipeline_parallel)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the buffers depend on; many devices are asked about the same."""

    architecture: int  # by its id: the scenario beside it keeps it
    family: str
    engine: Engine
    weights: str
    cache: str
    devices: int  # that share the layers
    scenario: Scenario = field(compare=False)


def buffers(scenario: Scenario) -> tuple[tuple[Buffers, ...], int]:
    """The buffers of each device, and the bytes in the host's memory."""
    model = scenario.model
    return _buffers(
        _Asked(
            id(model.architecture),
            model.family,
            scenario.engine,
            scenario.precision.weights,
            scenario.precision.kv_cache,
            scenario.deployment.pipeline_parallel,
            scenario,
        )
    )


@lru_cache(maxsize=1024)
def _buffers(asked: _Asked) -> tuple[tuple[Buffers, ...], int]:
    scenario = asked.scenario
    arch, engine = scenario.model.architecture, scenario.engine
    sizes = file_sizes(scenario)
    dealt = parts(scenario)
    kept = _kept(_Keeps(asked.architecture, asked.family, engine, asked.cache, len(dealt), scenario))
    compute = kept.compute
    if compute is None:
        compute = tuple(_compute_of(scenario, part, len(dealt), kept.cells) for part in dealt)
    each = zip(dealt, kept.devices, compute, strict=True)
    found = tuple(_of_device(engine, sizes, *one) for one in each)
    # A tied table lies on the device as the output and on the host as the table.
    tied_copy = _output_bytes(sizes) if arch.tied_embeddings and arch.layers in dealt[-1] else 0
    host = sizes.bytes + tied_copy - sum(b.model for b in found)
    return found, host + max(0, kept.total - sum(b.cache for b in found))


@dataclass(frozen=True, slots=True)
class _Keeps:
    """What the caches depend on; many weight formats are asked about the same."""

    architecture: int  # by its id: the scenario beside it keeps it
    family: str
    engine: Engine
    cache: str
    devices: int
    scenario: Scenario = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Bytes of a token, and of windows and states, on each device; bytes of all; cells of each mask."""

    devices: tuple[tuple[int, int], ...]
    total: int
    cells: dict[int | None, int]
    compute: tuple[int, ...] | None  # buffers of the devices; None: they depend on the weights


@lru_cache(maxsize=512)  # more than an axis of lengths has
def _kept(keeps: _Keeps) -> _Kept:
    scenario, engine = keeps.scenario, keeps.engine
    caches, cells = layer_caches(scenario), context_cells(engine)
    dealt, devices = parts(scenario), []
    for part in dealt:
        inside = [caches[layer] for layer in part if layer < len(caches) and not engine.kv_on_host]
        counted = _counted(inside)
        token = math.ceil(sum((n * c.token for n, c in counted), Fraction(0)))
        devices.append((token, sum(n * (c.window + c.state) for n, c in counted)))
    total = sum(n * (math.ceil(c.token * cells) + c.window + c.state) for n, c in _counted(caches))
    masks, compute = mask_cells(scenario, window_cells), None
    if _all_on_devices(engine, len(caches)):
        compute = tuple(_compute_of(scenario, part, len(dealt), masks) for part in dealt)
    return _Kept(tuple(devices), total, masks, compute)


def _all_on_devices(engine: Engine, layers: int) -> bool:
    """Whether the host keeps no matrix that a device would fetch."""
    return first_layer(engine, layers) == 0 and has_output(engine, layers) and not engine.n_cpu_moe


def _compute_of(scenario: Scenario, part: range, devices: int, cells: dict[int | None, int]) -> int:
    return compute_bytes(scenario, part, devices, cells) if part else 0


def _counted(caches: Sequence[LayerCache]) -> list[tuple[int, LayerCache]]:
    """Layers that share a record: how many, and the record; fractions are slow to add one by one."""
    records = {id(cache): cache for cache in caches}
    return [(count, records[key]) for key, count in Counter(map(id, caches)).items()]


def _output_bytes(sizes: GgufSizes) -> int:
    """The output matrix; a tied table is copied to the device."""
    return sizes.outside.get("output.weight", sizes.outside.get(_TABLE, 0))


def _of_device(
    engine: Engine, sizes: GgufSizes, part: range, cache: tuple[int, int], compute: int
) -> Buffers:
    layers = len(sizes.layers)
    model = 0
    for layer in part:
        if layer == layers:
            tables = sizes.outside.get(_TABLE, 0) + sizes.outside.get("output.weight", 0)
            model += sum(sizes.outside.values()) - tables + _output_bytes(sizes)
        else:
            stay = sizes.layers[layer].experts if layer < engine.n_cpu_moe else 0
            model += sizes.layers[layer].total - stay
    token, bounded = cache
    return Buffers(model, token * context_cells(engine) + bounded, token, bounded, compute)


def alone_compute_bytes(scenario: Scenario) -> int:
    """The compute buffer of a device that works on one batch at a time and has the output."""
    part = layers_on(scenario.engine, scenario.model.architecture.layers, 1)[0]
    return compute_bytes(scenario, part, 1, mask_cells(scenario, window_cells))


def layer_caches(scenario: Scenario) -> list[LayerCache]:
    """What each layer keeps, in order."""
    arch = scenario.model.architecture
    engine, family, fmt = scenario.engine, scenario.model.family, scenario.precision.kv_cache
    kinds: dict[LayerGroup, LayerCache] = {}
    found = []
    for group in arch.groups:
        if group not in kinds:
            kinds[group] = _layer_cache(arch, group, engine, family, fmt)
        found += [kinds[group]] * group.count
    return found


@lru_cache(maxsize=1024)
def _layer_cache(arch: Architecture, group: LayerGroup, engine: Engine, family: str, fmt: str) -> LayerCache:
    bits, whole = CACHE_FORMATS[fmt].bits, keeps_all(engine, family)
    one = arch.model_copy(update={"groups": (group.model_copy(update={"count": 1}),)})
    token, windows = Fraction(0), Fraction(0)
    for kind in cache_kinds(one):
        each = kind.elements * bits / 8 / kind.tokens_per_entry
        if kind.what == "index_keys":
            continue  # sparse models run dense
        if kind.window is None or whole:
            token += each
        else:
            windows += each * window_cells(engine, kind.window)
    states = sum(
        4 * (mixer.state_elements + mixer.convolution_elements)
        for mixer in group.token_mixers
        if isinstance(mixer, RecurrentMixer)
    )
    return LayerCache(token, math.ceil(windows), states * n_parallel(engine))


def context_cells(engine: Engine) -> int:
    """Cells of a layer that keeps everything, of all slots together, as ``max_model_len`` is."""
    streams = 1 if unified(engine) else n_parallel(engine)
    return streams * padded(-(-engine.max_model_len // streams))


def window_cells(engine: Engine, window: int) -> int:
    """Cells of a windowed layer, of all slots together."""
    slots, streams = n_parallel(engine), 1 if unified(engine) else n_parallel(engine)
    length = padded(-(-engine.max_model_len // streams))
    if engine.name == "ollama":
        return streams * min(length, int(rules()["ollama_window_cells"]["value"]) + n_ubatch(engine))
    kept = window * (slots if streams == 1 else 1) + n_ubatch(engine)
    return streams * padded(min(length, kept))


def _words(scenario: Scenario) -> dict[LineKey, str]:
    device = scenario.accelerator
    context = "process" if device.kind == "cpu" else _CONTEXTS.get(device.vendor, WORDS["runtime"])
    return {**WORDS, "runtime": context}


def _all_on_processor(scenario: Scenario) -> Scenario:
    """A processor alone has nothing to leave to a host: it holds all layers, whatever is asked for."""
    left: dict[str, object] = {"n_gpu_layers": None, "n_cpu_moe": 0, "kv_on_host": False}
    return scenario.model_copy(update={"engine": scenario.engine.model_copy(update=left)})


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of the fullest device."""
    alone = scenario.accelerator.kind == "cpu"
    if alone:
        scenario = _all_on_processor(scenario)
    engine, total = scenario.engine, driver_total_bytes(scenario.accelerator)
    found, host = buffers(scenario)
    fullest = max(found, key=lambda b: b.model + b.cache + b.compute)
    if alone:  # the token table lies in the same memory
        fullest, host = replace(fullest, model=fullest.model + host), 0
    context = round(float(rules()["context_gib"]["value"]) * GIB)
    fixed: dict[LineKey, int] = {
        "weights": fullest.model,
        "activations": fullest.compute,
        "runtime": context,
    }
    needed = sum(fixed.values()) + fullest.cache
    slots = n_parallel(engine)
    return MemoryPlan(
        device=total,
        budget=min(needed, total),
        fixed=fixed,
        words=_words(scenario),
        # Windows and states are there for every slot; the rest grows with the tokens.
        demand=CacheDemand((PageGroup(fullest.token, 1),), fullest.bounded // slots),
        replicas=scenario.deployment.replicas,
        batched_tokens=n_ubatch(engine),
        # The cache is taken whole at the start, whatever is asked of it: too large, it is all that is needed.
        least_cache=0 if needed <= total else fullest.cache,
        most_cache=None if needed <= total else fullest.cache,
        slots=slots,
        slot_tokens=engine.longest_request,
        host=host,
    )
