"""vLLM's ledger, line by line as its start-up log prints it.

    budget  = gpu_memory_utilization × total memory
    KV pool = budget - model weights - peak activation - non-torch [- CUDA graphs, from 0.21]

Measured start-up logs close to 0.01 GiB by this identity.  Functional forms and figures of the activation
peak, non-torch memory and graphs are fitted to those logs (data/engines/vllm.json).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from core.memory.device import driver_total_bytes
from core.memory.layout import (
    ALL_BUT_EXPERTS,
    Layout,
    Stage,
    layout_of,
    stage_weight_bytes,
    stages_of,
)
from core.memory.ledger import LineKey
from core.memory.lora import lora_bytes
from core.memory.plan import MemoryPlan
from core.memory.speculative import draft_of
from core.memory.vllm_cache import make_demand
from core.memory.vllm_rules import (
    Band,
    band,
    context_bytes,
    is_large,
    max_num_batched_tokens,
    max_num_seqs,
    most_over_pcie,
    most_seqs,
    profiled_tokens,
    share_of_context,
    vocabulary_multiple,
)
from core.spec.architecture import Architecture, Attention, DenseMlp, LatentAttention, MixtureOfExperts
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

WORDS: dict[LineKey, str] = {
    "weights": "model weights",
    "kv_cache": "KV cache memory",
    "kv_cache_spare": "KV cache memory",
    "activations": "peak activation",
    "graphs": "graph capturing",
    "runtime": "non-torch",
}
# Weight formats whose expert kernels pad the experts, and need no workspace of their own.
_TILED = ("mxfp4", "mxfp4_experts")


def plan(scenario: Scenario) -> MemoryPlan:
    """The plan of one device of the tightest pipeline stage: the one whose pool holds the fewest tokens."""
    plans = stage_plans(scenario)
    if len(plans) == 1:
        return plans[0]
    return min(plans, key=lambda p: p.demand.tokens_in(p.pool, scenario.engine.max_model_len))


def stage_plans(scenario: Scenario) -> tuple[MemoryPlan, ...]:
    """The plans of the pipeline stages that differ, the first one first."""
    layout = layout_of(scenario.deployment, ALL_BUT_EXPERTS)
    stages = stages_of(scenario.model.architecture, layout.pipeline_parallel)
    return tuple(_stage_plan(scenario, layout, stage) for stage in stages)


def printing_plan(scenario: Scenario) -> MemoryPlan:
    """The plan of the device whose lines a log most likely shows: the first stage's.

    Before 0.8 logits are gathered on the first device of a group, which alone samples
    (model_executor/layers/logits_processor.py), so of many devices most print no such peak (16 devices:
    0.37 GiB; two ranks of one model: 8.69 and 7.46 GiB of cache).
    """
    layout = layout_of(scenario.deployment, ALL_BUT_EXPERTS)
    stage = stages_of(scenario.model.architecture, layout.pipeline_parallel)[0]
    alone = band(scenario.engine.version).profile_whole_length and layout.tensor_parallel > 2
    return _stage_plan(scenario, layout, stage, samples=not alone)


def _stage_plan(scenario: Scenario, layout: Layout, stage: Stage, samples: bool = True) -> MemoryPlan:
    engine, device, deployment = scenario.engine, scenario.accelerator, scenario.deployment
    rules, fmt, tp = band(engine.version), scenario.precision.weights, layout.tensor_parallel
    batched, seqs = max_num_batched_tokens(engine, device), max_num_seqs(engine, device)
    profiled = profiled_tokens(engine, device)
    graphs = graphs_of(scenario, stage)
    weights = loaded_bytes(
        scenario.model.architecture, stage, fmt, layout, scenario.model.max_context, rules.first
    )
    adapters = lora_bytes(stage.arch, tp, engine.max_loras, engine.lora_rank)
    draft = draft_of(scenario, layout.attention_parallel)
    fixed: dict[LineKey, int] = {
        "weights": weights + adapters + draft.weight_bytes,
        "activations": activation_bytes(
            stage.arch, fmt, tp, seqs if stage.last and samples else 0, profiled, rules.first
        ),
        "graphs": graphs,
        "runtime": _non_torch(scenario, rules),
    }
    if layout.pipeline_parallel > 1:
        # Hidden states and residuals that travel between stages.
        fixed["activations"] += 2 * batched * scenario.model.architecture.hidden * 2
    total = driver_total_bytes(device)
    budget, fixed["graphs"] = _granted(engine.gpu_memory_utilization, total, graphs, fixed, rules)
    demand = make_demand(
        stage.arch, scenario.precision.kv_cache, layout.attention_parallel, engine.block_size, rules
    )
    return MemoryPlan(
        device=total,
        budget=budget,
        fixed=fixed,
        words=WORDS,
        demand=draft.added_to(demand, engine.block_size),
        replicas=deployment.replicas,
        batched_tokens=batched,
        batch=seqs,
        copies=layout.attention_copies,
    )


def _granted(
    utilization: float, total: int, graphs: int, fixed: dict[LineKey, int], rules: Band
) -> tuple[int, int]:
    """The budget, and the graphs that lie in it beside the activations."""
    budget = math.floor(utilization * total)
    if rules.graphs_inside:
        return budget, graphs
    # These graphs come on top of what the utilisation grants; where that is more than there is, they
    # lie in the room that the profiled peak has left free again.
    kept = max(0, graphs - min(max(0, budget + graphs - total), fixed["activations"]))
    return min(budget + kept, total), kept


@dataclass(frozen=True, slots=True)
class Variants:
    """A plan at n values of a setting: what differs from ``plan``, (n,) each."""

    plan: MemoryPlan
    budget: NDArray[np.int64]
    graphs: NDArray[np.int64]
    activations: NDArray[np.int64]
    batched_tokens: NDArray[np.int64]
    batch: NDArray[np.int64]


def variants_over(scenario: Scenario, path: str, values: Sequence[float]) -> Variants | None:
    """The plan at other values of gpu_memory_utilization or max_num_batched_tokens; None where another stage
    may be the tightest.
    """
    layout = layout_of(scenario.deployment, ALL_BUT_EXPERTS)
    stages = stages_of(scenario.model.architecture, layout.pipeline_parallel)
    if len(stages) > 1 or layout.pipeline_parallel > 1:
        return None
    one, graphs = _stage_plan(scenario, layout, stages[0]), graphs_of(scenario, stages[0])
    engine, device, rules = scenario.engine, scenario.accelerator, band(scenario.engine.version)
    share: float | NDArray[np.float64] = engine.gpu_memory_utilization
    ones = np.ones(len(values), dtype=np.int64)
    activations, batched = one.fixed["activations"] * ones, one.batched_tokens * ones
    batch = (one.batch or 0) * ones
    if path == "engine.gpu_memory_utilization":
        share = np.array(values, dtype=np.float64)
    else:
        batched = np.array(values, dtype=np.int64)
        if not engine.max_num_seqs:
            batch = np.minimum(most_seqs(engine, device), batched)
        tp, fmt = layout.tensor_parallel, scenario.precision.weights
        known = (
            activation_bytes(stages[0].arch, fmt, tp, seqs, tokens, rules.first)
            for seqs, tokens in zip(batch.tolist(), batched.tolist(), strict=True)
        )
        activations = np.fromiter(known, np.int64, len(values))
    granted = np.floor(share * one.device * ones).astype(np.int64)
    if rules.graphs_inside:
        return Variants(one, granted, graphs * ones, activations, batched, batch)
    kept = np.maximum(0, graphs - np.minimum(np.maximum(0, granted + graphs - one.device), activations))
    return Variants(one, np.minimum(granted + kept, one.device), kept, activations, batched, batch)


def ignores_length(scenario: Scenario) -> bool:
    """Whether max_model_len changes nothing in a plan."""
    engine = scenario.engine
    whole = band(engine.version).profile_whole_length and not engine.max_num_batched_tokens
    return not whole and scenario.deployment.pipeline_parallel == 1


def _rules(first: tuple[int, ...]) -> Band:
    return band(".".join(map(str, first)))


@lru_cache(maxsize=4096)
def loaded_bytes(
    arch: Architecture,
    stage: Stage,
    fmt: str,
    layout: Layout,
    max_context: int,
    first: tuple[int, ...],
) -> int:
    """Bytes of a stage after loading.

    The weights with padded vocabulary, MXFP4 experts padded to the kernel's tile, the table of rotary
    angles for all positions of the model, and for MLA the two halves of its up projection once more.
    """
    weights = WEIGHT_FORMATS[fmt]
    total = stage_weight_bytes(arch, stage, weights, layout, vocabulary_multiple())
    if fmt in _TILED:
        tile = _rules(first).expert_tile
        total += math.ceil(_padding_of_experts(stage.arch, weights.bits, layout.tensor_parallel, tile))
    return total + _table_bytes(stage.arch, layout.attention_parallel, max_context)


def _table_bytes(arch: Architecture, tensor_parallel: int, max_context: int) -> int:
    rotated, absorbed = 0, 0
    for group in arch.kinds:
        match group.token_mixer:
            case Attention() as mixer:
                rotated = max(rotated, mixer.head_dim)
            case LatentAttention() as latent:
                rotated = max(rotated, latent.rope_head_dim)
                per_head = latent.kv_rank * (latent.nope_head_dim + latent.value_head_dim)
                absorbed += group.count * math.ceil(latent.heads / tensor_parallel) * per_head
    return 2 * (max_context * rotated + absorbed)


def _padding_of_experts(
    arch: Architecture, bits: Fraction, tensor_parallel: int, tile: tuple[int, int]
) -> Fraction:
    extra = Fraction(0)
    for group in arch.kinds:
        match group.channel_mixer:
            case MixtureOfExperts() as moe:
                width, inner = moe.latent_width or arch.hidden, moe.intermediate / tensor_parallel
                padded = _round_up(width, tile[0]) * _round_up(inner, tile[1])
                matrices = (3 if moe.gated else 2) * moe.experts * group.count
                extra += matrices * (padded - Fraction(width * moe.intermediate, tensor_parallel)) * bits / 8
    return max(extra, Fraction(0))


def _round_up(value: float, step: int) -> int:
    return math.ceil(value / step) * step


@lru_cache(maxsize=4096)
def activation_bytes(
    arch: Architecture, fmt: str, tensor_parallel: int, seqs: int, tokens: int, first: tuple[int, ...]
) -> int:
    """Peak of the profiling run: the sampler on a batch of ``seqs``, or the layers on ``tokens``.

    sampler = copies × seqs × vocabulary × 4 B + copies × tokens × hidden × 2 B;
    layers = tokens × (3 × intermediate / TP + 3 × hidden) × 2 B; the workspace of the expert kernels is
    part of the layers, or stays allocated beside both.
    """
    rules, width = _rules(first), 4 if fmt == "fp32" else 2
    copies = rules.logits_copies + (rules.float_logits_copy if fmt == "fp32" else 0.0)
    experts = 0.0 if fmt in _TILED else tokens * _expert_workspace(arch, tensor_parallel)
    sampler = copies * seqs * arch.vocabulary * 4 + rules.hidden_copies * tokens * arch.hidden * width
    layers = tokens * (3 * _widest_block(arch) / tensor_parallel + 3 * arch.hidden) * width
    beside = rules.activation_base + (rules.vision_gib * GIB if arch.vision_parameters else 0.0)
    if rules.kept_expert_workspace:
        return round(max(sampler, layers) + experts + beside)
    return round(max(sampler, layers + experts) + beside)


def _widest_block(arch: Architecture) -> int:
    widths = (g.channel_mixer.intermediate for g in arch.kinds if isinstance(g.channel_mixer, DenseMlp))
    return max(widths, default=0)


def _expert_workspace(arch: Architecture, tensor_parallel: int) -> float:
    """Bytes per token of a fused expert kernel: its two intermediate results, the larger kinds only."""
    largest = 0.0
    for group in arch.kinds:
        match group.channel_mixer:
            case MixtureOfExperts() as moe:
                inner = moe.intermediate / tensor_parallel
                first = max(2 * inner, moe.latent_width or arch.hidden)
                largest = max(largest, moe.experts_per_token * (first + inner) * 2)
    return largest


@cache
def graph_bytes(arch: Architecture, tensor_parallel: int, first: tuple[int, ...]) -> int:
    """CUDA graphs: linear in layers, hidden width and the share of a device, more with experts."""
    rules = _rules(first)
    moe = any(isinstance(g.channel_mixer, MixtureOfExperts) for g in arch.groups)
    size = rules.graph_base + rules.graph_per_layer * arch.layers + rules.graph_per_hidden * arch.hidden
    size += rules.graph_undivided / tensor_parallel + (rules.graph_moe if moe else 0.0)
    return max(0, round(size))


def graphs_of(scenario: Scenario, stage: Stage) -> int:
    """CUDA graphs of a device of a stage, whether or not the budget counts them."""
    if scenario.engine.enforce_eager:
        return 0
    first, tp = band(scenario.engine.version).first, scenario.deployment.tensor_parallel
    if tp > most_over_pcie() and not linked(scenario):
        return round(_rules(first).graph_unjoined * stage.arch.layers)
    return graph_bytes(stage.arch, tp, first)


def granted_pool(scenario: Scenario, plan: MemoryPlan) -> int:
    """The pool that the engine sizes by its utilisation, whether or not the graphs then find room."""
    used = sum(plan.fixed.values())
    if not band(scenario.engine.version).graphs_inside:
        used -= plan.fixed["graphs"]
    return math.floor(scenario.engine.gpu_memory_utilization * plan.device) - used


def linked(scenario: Scenario) -> bool:
    """Whether devices of a replica exchange data over a switched scale-up link.

    Its buffers show in the logs of such servers only: pairs joined by a bridge and devices on PCIe
    keep about what one device does (rows of 3090, L40S).
    """
    deployment, link = scenario.deployment, scenario.accelerator.scale_up
    return (
        deployment.tensor_parallel > 1
        and deployment.link in ("auto", "scale_up")
        and link.gbps_per_direction is not None
        and "bridge" not in link.kind
        and deployment.tensor_parallel <= scenario.accelerator.scale_up.max_devices
    )


def _non_torch(scenario: Scenario, rules: Band) -> int:
    if scenario.deployment.pipeline_parallel > 1 and scenario.deployment.tensor_parallel == 1:
        return round(rules.non_torch["stages"])
    base = rules.non_torch["large" if is_large(scenario.accelerator) else "small"]
    base *= share_of_context(scenario.accelerator)
    return round(base + (rules.non_torch["link"] if linked(scenario) else 0.0))


def context(scenario: Scenario) -> int:
    """Bytes that are gone on a device before vLLM starts to count."""
    return context_bytes(linked(scenario))


def prints_by_length(scenario: Scenario) -> bool:
    """Whether the printed "GPU KV cache size" is the maximum concurrency times max_model_len."""
    return band(scenario.engine.version).hybrid_cache
