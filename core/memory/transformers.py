"""The ledger of Transformers' generate(): no paging, one static batch, PyTorch's allocator.

A dynamic cache grows by concatenation, so one layer exists twice for a moment; a static one is
allocated for the full length.  The prompt's hidden states and the logits of the last position are the peak.
"""

import json
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import resources
from core.memory.demand import CacheDemand, PageGroup
from core.memory.device import driver_total_bytes
from core.memory.kinds import layer_kinds, state_layers
from core.memory.layout import layout_of, stage_weight_bytes, stages_of
from core.memory.ledger import LineKey
from core.memory.plan import MemoryPlan
from core.spec.architecture import Architecture, DenseMlp
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "get_memory_footprint()",
    "kv_cache": "past_key_values",
    "kv_cache_spare": "free",
    "activations": "peak of the prompt",
    "runtime": "CUDA context, reserved but unallocated",
}
_CONTEXT = "context, reserved but unallocated"  # of devices without CUDA


@cache
def rules() -> dict[str, Any]:
    """The data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/transformers.json"))
    return tree


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of one device of the fullest stage (device_map "auto" lays layers one after the other)."""
    arch, engine, work = scenario.model.architecture, scenario.engine, scenario.workload
    layout = layout_of(scenario.deployment)
    stages = stages_of(arch, layout.pipeline_parallel)
    fmt = WEIGHT_FORMATS[scenario.precision.weights]
    layers = max((stage.arch for stage in stages), key=lambda a: a.layers)
    total = driver_total_bytes(scenario.accelerator)
    fixed: dict[LineKey, int] = {
        "weights": max(stage_weight_bytes(arch, s, fmt, layout) for s in stages),
        "activations": prompt_peak(arch, work.prompt_tokens, layout.tensor_parallel),
        "runtime": lost_bytes(total),
    }
    return MemoryPlan(
        device=total,
        budget=total,
        fixed=fixed,
        words=WORDS if scenario.accelerator.vendor in ("NVIDIA", "") else {**WORDS, "runtime": _CONTEXT},
        demand=_demand(scenario, layers, layout.tensor_parallel),
        replicas=scenario.deployment.replicas,
        batched_tokens=engine.max_model_len,
        batch=1,  # one request after the other
    )


def lost_bytes(total: int) -> int:
    """What the context takes, and what is reserved and never used."""
    share = float(rules()["fragmentation"]["value"])
    return round(float(rules()["context_gib"]["value"]) * GIB + share * total)


def prompt_peak(arch: Architecture, tokens: int, tp: int) -> int:
    """Bytes while one prompt is read: widest block, hidden states, and FP32 logits of one position."""
    return math.ceil(2 * tokens * _widths(arch, tp)) + 4 * arch.vocabulary


def prompt_peaks(arch: Architecture, tokens: NDArray[np.int64], tp: int) -> NDArray[np.int64]:
    """The same of several prompts (n,)."""
    return np.asarray(np.ceil(2 * tokens * _widths(arch, tp)).astype(np.int64) + 4 * arch.vocabulary)


def _widths(arch: Architecture, tp: int) -> float:
    """Numbers that a token of a prompt has at once."""
    widths = (g.channel_mixer.intermediate for g in arch.kinds if isinstance(g.channel_mixer, DenseMlp))
    return 3 * max(widths, default=0) / tp + 4 * arch.hidden


def _demand(scenario: Scenario, arch: Architecture, tp: int) -> CacheDemand:
    kinds = layer_kinds(arch, scenario.precision.kv_cache, tp)
    whole = scenario.engine.max_model_len if scenario.engine.static_cache else 1
    copies = 0.0 if scenario.engine.static_cache else float(rules()["growth_copies"]["value"])
    groups = []
    for kind in kinds:
        layers = kind.layers + (copies if kind is kinds[0] else 0)
        page = math.ceil(layers * kind.token_bytes * whole)
        window = kind.window if whole == 1 else None
        groups.append(PageGroup(page, whole, window, kind.window_kind))
    return CacheDemand(tuple(groups), sum(n * size for n, size in state_layers(arch, tp)))
