"""TensorRT-LLM's ledger.

    KV pool = kv_cache_free_gpu_mem_fraction × free after engine, context and buffers

The buffers of the decoder grow with the largest batch and the vocabulary.
"""

import json
import math
from functools import cache
from typing import Any

import resources
from core.memory.demand import CacheDemand
from core.memory.device import driver_total_bytes
from core.memory.layout import layout_of, stage_weight_bytes, stages_of
from core.memory.ledger import LineKey
from core.memory.plan import MemoryPlan
from core.memory.sglang import demand_in
from core.memory.speculative import draft_of
from core.spec.architecture import Architecture, DenseMlp
from core.spec.engine import Engine
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "Engine size",
    "kv_cache": "paged KV cache",
    "kv_cache_spare": "paged KV cache",
    "activations": "execution context memory",
    "runtime": "runtime and decoder buffers",
}


@cache
def rules() -> dict[str, Any]:
    """The data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/trtllm.json"))
    return tree


def kv_fraction(engine: Engine) -> float:
    """The share of the free memory that the cache takes."""
    return engine.kv_cache_free_gpu_mem_fraction or float(rules()["kv_fraction"]["value"])


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of one device of the fullest stage."""
    engine, arch = scenario.engine, scenario.model.architecture
    layout = layout_of(scenario.deployment)
    stages = stages_of(arch, layout.pipeline_parallel)
    fmt = WEIGHT_FORMATS[scenario.precision.weights]
    layers = max((stage.arch for stage in stages), key=lambda a: a.layers)
    draft = draft_of(scenario, layout.attention_parallel)
    total = driver_total_bytes(scenario.accelerator)
    batch = engine.max_batch_size or engine.max_num_seqs or int(rules()["max_batch_size"]["value"])
    tokens = engine.max_num_batched_tokens or int(rules()["max_num_tokens"]["value"])
    buffers = float(rules()["decoder_copies"]["value"]) * batch * arch.vocabulary * 4
    context = float(rules()["context_gib"]["value"]) * GIB
    fixed: dict[LineKey, int] = {
        "weights": max(stage_weight_bytes(arch, s, fmt, layout) for s in stages) + draft.weight_bytes,
        "activations": execution_context(layers, tokens, layout.tensor_parallel),
        "runtime": round(context + buffers),
    }
    free = max(0, total - sum(fixed.values()))
    pool = math.floor(kv_fraction(engine) * free)
    demand, _ = demand_in(scenario, layers, layout.attention_parallel, pool)
    return MemoryPlan(
        device=total,
        budget=min(total, sum(fixed.values()) + pool),
        fixed=fixed,
        words=WORDS,
        demand=_in_blocks(draft.added_to(demand, engine.block_size), engine),
        replicas=scenario.deployment.replicas,
        batched_tokens=tokens,
        copies=layout.attention_copies,
        batch=batch,
    )


def _in_blocks(demand: CacheDemand, engine: Engine) -> CacheDemand:
    """The cache is paged; windows are not used where the longest request is set (recalled)."""
    size = int(rules()["tokens_per_block"]["value"]) if engine.block_size == 16 else engine.block_size
    return demand.paged(size)


def execution_context(arch: Architecture, tokens: int, tp: int) -> int:
    """Activations of the largest batch of tokens: the widest block and the hidden states, 16 bit."""
    widths = (g.channel_mixer.intermediate for g in arch.kinds if isinstance(g.channel_mixer, DenseMlp))
    return math.ceil(2 * tokens * (3 * max(widths, default=0) / tp + 3 * arch.hidden))
