"""SGLang's ledger.

    KV pool = free after loading - free before loading × (1 - mem_fraction_static)

Free memory is taken when NCCL has started.  Graphs, the request table and activations live in the rest.
With recurrent layers the pool is split, states : KV = 0.9 : 1.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import resources
from core.memory.demand import CacheDemand, PageGroup
from core.memory.device import MIB, driver_total_bytes
from core.memory.kinds import layer_kinds, state_layers
from core.memory.layout import layout_of, stage_weight_bytes, stages_of
from core.memory.ledger import LineKey
from core.memory.lora import lora_bytes
from core.memory.plan import MemoryPlan
from core.memory.speculative import draft_of
from core.memory.vllm import linked
from core.memory.vllm_rules import version_tuple
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, DenseMlp
from core.spec.deployment import Deployment
from core.spec.engine import Engine
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "Load weight",
    "kv_cache": "KV Cache",
    "kv_cache_spare": "KV Cache",
    "activations": "activations",
    "graphs": "Capture cuda graph",
    "runtime": "context, req_to_token",
}
_STATE_BITS = 32  # states are FP32 unless told otherwise (sglang#15337)
_TABLE_ROW = 4  # bytes of an entry of the table of requests and tokens


@cache
def rules() -> dict[str, Any]:
    """The data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/sglang.json"))
    return tree


@dataclass(frozen=True, slots=True)
class Defaults:
    """What SGLang sets by the size of the device."""

    chunk: int
    graph_batch: int
    fraction: float


def defaults(engine: Engine, device: Accelerator, deployment: Deployment) -> Defaults:
    """Prefill chunk, largest graph batch and static fraction: as set, else by the device's memory."""
    memory = device.memory_mib_reported or driver_total_bytes(device) / MIB
    row = next(row for row in rules()["device_classes"]["rows"] if memory < row[0])
    chunk = engine.chunked_prefill_size or int(row[1])
    batch = int(row[2] if deployment.tensor_parallel < 4 else row[3])
    rule = rules()["default_fraction"]
    reserved = rule["constant"] + rule["per_chunk"] * max(chunk, 2048) + rule["per_graph"] * batch
    reserved += rule["per_group"] * deployment.tensor_parallel * deployment.pipeline_parallel / 8
    if memory > rule["large_mib"]:
        reserved = max(reserved, rule["large_reserved"])
    fraction = engine.mem_fraction_static or max(0.05, round(1 - reserved / memory, 3))
    return Defaults(chunk, batch, fraction)


def free_at_start(scenario: Scenario) -> int:
    """Bytes free before loading."""
    rule = rules()["context_gib"]
    context = float(rule["value"]) + (float(rule["link"]) if linked(scenario) else 0.0)
    return driver_total_bytes(scenario.accelerator) - round(context * GIB)


def static_pool(before: int, after: int, fraction: float) -> int:
    """Bytes of the pool for cache and states: the rule at the head of this file."""
    return max(0, after - math.ceil(before * (1 - fraction)))


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of one device of the fullest stage."""
    engine, deployment, arch = scenario.engine, scenario.deployment, scenario.model.architecture
    layout = layout_of(deployment)
    fmt, set_by_size = (
        WEIGHT_FORMATS[scenario.precision.weights],
        defaults(engine, scenario.accelerator, deployment),
    )
    stages = stages_of(arch, layout.pipeline_parallel)
    weights = max(stage_weight_bytes(arch, stage, fmt, layout, 64) for stage in stages)
    layers = _fullest(arch, layout.pipeline_parallel)
    draft = draft_of(scenario, layout.attention_parallel)
    weights += (
        lora_bytes(layers, layout.tensor_parallel, engine.max_loras, engine.lora_rank) + draft.weight_bytes
    )
    demand, pool = _cache_beside(scenario, layers, weights, set_by_size.fraction)
    total = driver_total_bytes(scenario.accelerator)
    fixed: dict[LineKey, int] = {
        "weights": weights,
        "activations": _activations(layers, set_by_size.chunk, layout.tensor_parallel),
        "graphs": 0 if engine.enforce_eager else _graphs(set_by_size.graph_batch),
        "runtime": total - free_at_start(scenario) + _table(engine, demand, pool, engine.max_model_len),
    }
    return MemoryPlan(
        device=total,
        budget=min(total, sum(fixed.values()) + pool) if pool else min(total, sum(fixed.values())),
        fixed=fixed,
        words=WORDS,
        demand=draft.added_to(demand, 1),
        replicas=deployment.replicas,
        batched_tokens=set_by_size.chunk,
        copies=layout.attention_copies,
        slots=state_slots(scenario, pool, demand),
        batch=engine.max_num_seqs,
        token_pool=kv_part(scenario, pool) if demand.state_bytes else None,
    )


def over_lengths(scenario: Scenario, lengths: list[int], made: MemoryPlan) -> tuple[list[int], int]:
    """What the runtime takes beyond the plan ``made`` at each maximum length, and the pool."""
    engine, layout = scenario.engine, layout_of(scenario.deployment)
    layers = _fullest(scenario.model.architecture, layout.pipeline_parallel)
    fraction = defaults(engine, scenario.accelerator, scenario.deployment).fraction
    demand, pool = _cache_beside(scenario, layers, made.fixed["weights"], fraction)
    here = _table(engine, demand, pool, engine.max_model_len)
    return [_table(engine, demand, pool, length) - here for length in lengths], pool


def _fullest(arch: Architecture, pipeline_parallel: int) -> Architecture:
    return max((stage.arch for stage in stages_of(arch, pipeline_parallel)), key=lambda a: a.layers)


def _cache_beside(
    scenario: Scenario, layers: Architecture, weights: int, fraction: float
) -> tuple[CacheDemand, int]:
    before = free_at_start(scenario)
    pool = static_pool(before, before - weights, fraction)
    return demand_in(scenario, layers, layout_of(scenario.deployment).attention_parallel, pool)


def _table(engine: Engine, demand: CacheDemand, pool: int, length: int) -> int:
    """Bytes of the table of requests and tokens."""
    sequences = engine.max_num_seqs or max_running_requests(demand.tokens_in(pool, length), length)
    return sequences * (length + 4) * _TABLE_ROW


def state_slots(scenario: Scenario, pool: int, demand: CacheDemand) -> int | None:
    """Recurrent states kept at once; None where the model has none."""
    if not demand.state_bytes:
        return None
    slots = (pool - kv_part(scenario, pool)) // demand.state_bytes - 1
    return max(0, min(slots, scenario.engine.max_num_seqs or slots))


def max_running_requests(tokens: int, length: int) -> int:
    """Requests at once at most when it is not set (recalled: between 2,048 and 4,096)."""
    return max(1, min(4096, max(2048, tokens // max(1, length) * 512)))


def _activations(arch: Architecture, chunk: int, tp: int) -> int:
    widths = (g.channel_mixer.intermediate for g in arch.kinds if isinstance(g.channel_mixer, DenseMlp))
    per_token = 3 * max(widths, default=0) / tp + 3 * arch.hidden
    return math.ceil(2 * chunk * per_token) + math.ceil(4 * arch.vocabulary * 16)


def _graphs(batch: int) -> int:
    # Sizes 1, 2, 4, 8 and then every eighth.
    sizes = 4 + max(0, batch - 8) // 8
    return round(sizes * float(rules()["graph_gib_per_size"]["value"]) * GIB)


def index_keys_counted(engine: Engine) -> bool:
    """Whether the size of the pool counts the indexer's keys; before they came on top of it."""
    return version_tuple(engine.version) >= version_tuple(rules()["index_keys_left_out_before"]["value"])


def token_bytes(
    scenario: Scenario, arch: Architecture, tensor_parallel: int, counted_only: bool = False
) -> Fraction:
    """Bytes of a token on one device.  ``counted_only``: as the engine divides its pool."""
    total = Fraction(0)
    for kind in layer_kinds(arch, scenario.precision.kv_cache, tensor_parallel):
        if not (counted_only and kind.what == "index_keys"):
            total += kind.layers * kind.token_bytes
    return total


def demand_in(
    scenario: Scenario, arch: Architecture, tensor_parallel: int, pool: int
) -> tuple[CacheDemand, int]:
    """The cache of one device, and the pool that it really takes.

    Windowed layers share a pool of their own, sized for the window; a state takes a slot.
    """
    engine = scenario.engine
    states = sum(n * size for n, size in state_layers(arch, tensor_parallel, _STATE_BITS))
    if not index_keys_counted(engine):
        counted = token_bytes(scenario, arch, tensor_parallel, counted_only=True)
        if counted:
            real = token_bytes(scenario, arch, tensor_parallel)
            pool = math.floor(pool * real / counted)
    groups = [
        PageGroup(math.ceil(kind.layers * kind.token_bytes), 1, kind.window, kind.window_kind)
        for kind in layer_kinds(arch, scenario.precision.kv_cache, tensor_parallel)
    ]
    return CacheDemand(tuple(_merged(groups)), states), pool


def _merged(groups: list[PageGroup]) -> list[PageGroup]:
    sums: dict[tuple[int | None, str], PageGroup] = {}
    for group in groups:
        key = (group.window, group.window_kind)
        seen = sums.get(key)
        size = group.page_bytes + (seen.page_bytes if seen else 0)
        sums[key] = PageGroup(size, 1, group.window, group.window_kind)
    return list(sums.values())


def kv_part(scenario: Scenario, pool: int) -> int:
    """The part of a pool that holds KV where a state pool takes its share."""
    engine = scenario.engine
    states = state_layers(
        scenario.model.architecture, scenario.deployment.attention_tensor_parallel, _STATE_BITS
    )
    if not states:
        return pool
    if engine.max_mamba_cache_size is not None:
        each = sum(n * size for n, size in states)
        return max(0, pool - (engine.max_mamba_cache_size + 1) * each)
    return math.floor(pool / (1 + float(rules()["state_ratio"]["value"])))
