"""The ledger of mlx-lm: unified memory, of which the GPU may keep a part resident (the wired limit)."""

import json
import math
from functools import cache
from typing import Any

import resources
from core.memory.demand import CacheDemand, PageGroup
from core.memory.device import driver_total_bytes
from core.memory.kinds import layer_kinds, state_layers
from core.memory.layout import layout_of, stage_weight_bytes, stages_of
from core.memory.ledger import LineKey
from core.memory.plan import MemoryPlan
from core.memory.transformers import prompt_peak
from core.spec.architecture import Architecture, MixtureOfExperts
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "model",
    "kv_cache": "KV cache",
    "kv_cache_spare": "free",
    "activations": "peak memory of the prompt",
    "runtime": "Metal",
    "outside": "beyond the wired limit",
}


@cache
def rules() -> dict[str, Any]:
    """The data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/mlx.json"))
    return tree


def wired_limit(scenario: Scenario, total: int) -> int:
    """Bytes that the GPU may keep resident: as set, else the share that the system recommends."""
    if scenario.engine.wired_limit_gib is not None:
        return min(total, round(scenario.engine.wired_limit_gib * GIB))
    rule = rules()["wired_share"]
    return math.floor(total * float(rule["large" if total >= rule["large_gib"] * GIB else "small"]))


def _chosen_experts(arch: Architecture, tokens: int, tp: int) -> int:
    """Results of the experts of all tokens of a chunk at once (mlx_lm switch_layers.py), 16 bit."""
    widest = 0.0
    for group in arch.kinds:
        if isinstance(group.channel_mixer, MixtureOfExperts):
            moe = group.channel_mixer
            widest = max(widest, moe.experts_per_token * (2 * moe.intermediate / tp + arch.hidden))
    return math.ceil(2 * tokens * widest)


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of one device."""
    arch, work = scenario.model.architecture, scenario.workload
    layout = layout_of(scenario.deployment)
    stages = stages_of(arch, layout.pipeline_parallel)
    fmt = WEIGHT_FORMATS[scenario.precision.weights]
    layers = max((stage.arch for stage in stages), key=lambda a: a.layers)
    total, step = driver_total_bytes(scenario.accelerator), int(rules()["cache_step"]["value"])
    chunk = min(work.prompt_tokens, int(rules()["prefill_chunk"]["value"]))
    fixed: dict[LineKey, int] = {
        "weights": max(stage_weight_bytes(arch, s, fmt, layout) for s in stages),
        "activations": prompt_peak(arch, chunk, layout.tensor_parallel)
        + _chosen_experts(arch, chunk, layout.tensor_parallel),
        "runtime": round(float(rules()["runtime_gib"]["value"]) * GIB),
    }
    groups = tuple(
        PageGroup(math.ceil(kind.layers * kind.token_bytes * step), step, kind.window, kind.window_kind)
        for kind in layer_kinds(layers, scenario.precision.kv_cache, layout.tensor_parallel)
    )
    states = sum(n * size for n, size in state_layers(layers, layout.tensor_parallel))
    limit = wired_limit(scenario, total) if scenario.accelerator.unified_memory else total
    return MemoryPlan(
        device=total,
        budget=limit,
        fixed=fixed,
        words=WORDS,
        demand=CacheDemand(groups, states),
        replicas=scenario.deployment.replicas,
        batched_tokens=chunk,
        batch=1,  # mlx_lm.server answers one request after the other
    )
