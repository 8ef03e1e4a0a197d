"""Weights of a model: counts by part, and bytes on one device.

Formulas: the projections, feed-forward blocks, experts and latent attention as the reference
implementations of these layers allocate them; the totals are checked against published
checkpoints to the last parameter by the data-file tests.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Literal

from core.model.formats import stored_bits
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    RecurrentMixer,
    SparseIndexer,
    TokenMixer,
)
from core.spec.formats import TensorClass, WeightFormat

Part = Literal[
    "embedding",
    "head",
    "attention",
    "recurrent",
    "mlp",
    "experts",
    "shared_experts",
    "router",
    "norms",
    "vision",
    "audio",
    "lookup",
    "other",
]
ANY_SHARDS = 2**20  # can be divided among any number of devices
REPLICATED = 1


@dataclass(frozen=True, slots=True)
class TensorGroup:
    """Tensors of one part and one storage class, over all layers.

    ``parameters`` are stored, ``active`` of them are read for one decoded token.  Under tensor
    parallelism a device holds 1/min(tp, ``shards``) of them: ``shards`` is 1 for replicated
    tensors and the number of KV heads for key and value projections.  ``rows`` is the vocabulary
    of tables that engines pad, else 0.
    """

    tensor_class: TensorClass
    part: Part
    parameters: int
    active: int
    shards: int = ANY_SHARDS
    rows: int = 0

    @property
    def split(self) -> Literal["sharded", "replicated"]:
        """Whether tensor parallelism divides the group at all."""
        return "replicated" if self.shards == REPLICATED else "sharded"

    def on_one_device(self, tensor_parallel: int) -> Fraction:
        """Parameters that one of ``tensor_parallel`` devices holds."""
        return Fraction(self.parameters, min(tensor_parallel, self.shards))


def _always(tensor_class: TensorClass, part: Part, parameters: int, shards: int = ANY_SHARDS) -> TensorGroup:
    return TensorGroup(tensor_class, part, parameters, parameters, shards)


def _attention(mixer: Attention, hidden: int) -> Iterator[TensorGroup]:
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    queries = mixer.heads * mixer.head_dim
    keys = 0 if mixer.reuses_cache else mixer.kv_heads * mixer.head_dim
    values = 0 if mixer.reuses_cache or mixer.key_is_value else mixer.kv_heads * value_dim
    query_input = hidden if mixer.query_rank is None else mixer.query_rank
    gate = {"none": 0, "per_head": mixer.heads, "elementwise": mixer.heads * value_dim}[mixer.output_gate]
    output = mixer.heads * value_dim
    yield _always("attention", "attention", query_input * queries + hidden * (gate + output), mixer.heads)
    yield _always("attention", "attention", hidden * (keys + values), mixer.kv_heads)
    if mixer.query_rank is not None:
        yield _always("attention", "attention", hidden * mixer.query_rank, REPLICATED)
        yield _always("norm", "norms", mixer.query_rank, REPLICATED)
    if mixer.qkv_bias:
        yield _always("norm", "attention", queries, mixer.heads)
        yield _always("norm", "attention", keys + values, mixer.kv_heads)
    if mixer.output_bias:
        yield _always("norm", "attention", hidden, REPLICATED)
    if mixer.sinks:
        yield _always("norm", "attention", mixer.heads, mixer.heads)
    if mixer.qk_norm == "per_head":
        yield _always("norm", "norms", (1 if mixer.reuses_cache else 2) * mixer.head_dim, REPLICATED)
    elif mixer.qk_norm == "full":
        yield _always("norm", "norms", queries + keys, REPLICATED)
    yield from _indexer(mixer.indexer, hidden, query_input)
    if mixer.other_parameters:
        yield _always("norm", "attention", mixer.other_parameters, REPLICATED)


def _latent_attention(mixer: LatentAttention, hidden: int) -> Iterator[TensorGroup]:
    queries = mixer.heads * (mixer.nope_head_dim + mixer.rope_head_dim)
    expanded = mixer.heads * (mixer.nope_head_dim + mixer.value_head_dim)
    query_input = hidden if mixer.query_rank is None else mixer.query_rank
    output = mixer.heads * mixer.value_head_dim
    gate = {"none": 0, "per_head": mixer.heads, "elementwise": output}[mixer.output_gate]
    sharded = query_input * queries + mixer.kv_rank * expanded + hidden * (output + gate)
    yield _always("attention", "attention", sharded, mixer.heads)
    # The down projections serve every head, so every device keeps them whole.
    down = hidden * (mixer.kv_rank + mixer.rope_head_dim) + hidden * (mixer.query_rank or 0)
    yield _always("attention", "attention", down, REPLICATED)
    yield _always("norm", "norms", mixer.kv_rank + (mixer.query_rank or 0), REPLICATED)
    yield from _indexer(mixer.indexer, hidden, query_input)
    if mixer.other_parameters:
        yield _always("norm", "attention", mixer.other_parameters, REPLICATED)


def _compressed_attention(mixer: CompressedAttention, hidden: int) -> Iterator[TensorGroup]:
    width = mixer.heads * mixer.head_dim
    # Each group narrows its own heads, then all groups together widen to the hidden state.
    narrow = width * mixer.output_rank
    widen = mixer.output_groups * mixer.output_rank * hidden
    yield _always("attention", "attention", mixer.query_rank * width, mixer.heads)
    yield _always("attention", "attention", narrow + widen, mixer.output_groups)
    entry = mixer.compressor_projections * hidden * mixer.head_dim
    down = hidden * (mixer.query_rank + mixer.head_dim) + entry
    yield _always("attention", "attention", down, REPLICATED)
    norms = mixer.query_rank + mixer.head_dim * (1 if mixer.tokens_per_entry is None else 2)
    yield _always("norm", "norms", norms, REPLICATED)
    if mixer.sinks:
        yield _always("norm", "attention", mixer.heads, mixer.heads)
    yield from _indexer(mixer.indexer, hidden, mixer.query_rank)
    if mixer.other_parameters:
        yield _always("norm", "attention", mixer.other_parameters, REPLICATED)


def _indexer(indexer: SparseIndexer | None, hidden: int, query_input: int) -> Iterator[TensorGroup]:
    if indexer is None or indexer.reuses_choice:
        return
    heads, dim = indexer.heads, indexer.head_dim
    matrices = query_input * heads * dim + indexer.key_projections * hidden * dim
    matrices += hidden * heads if indexer.head_weights else 0
    yield _always("attention", "attention", matrices, REPLICATED)
    yield _always("norm", "norms", 2 * dim + indexer.other_parameters, REPLICATED)


def _recurrent(mixer: RecurrentMixer) -> Iterator[TensorGroup]:
    yield _always("attention", "recurrent", mixer.projection_parameters, mixer.heads)
    if mixer.other_parameters:
        yield _always("norm", "recurrent", mixer.other_parameters, mixer.heads)


def _block(width: int, intermediate: int, gated: bool) -> int:
    return (3 if gated else 2) * width * intermediate


def _block_bias(width: int, intermediate: int, gated: bool) -> int:
    return (2 if gated else 1) * intermediate + width


def _experts(mixer: MixtureOfExperts, hidden: int) -> Iterator[TensorGroup]:
    width = mixer.latent_width or hidden
    one = _block(width, mixer.intermediate, mixer.gated)
    used = min(mixer.experts, mixer.experts_per_token)
    yield TensorGroup("expert", "experts", mixer.experts * one, used * one)
    if mixer.expert_bias:
        bias = _block_bias(width, mixer.intermediate, mixer.gated)
        yield TensorGroup("norm", "experts", mixer.experts * bias, used * bias)
    outputs = mixer.experts + mixer.zero_experts
    yield _always("router", "router", hidden * outputs, REPLICATED)
    if mixer.router_bias:
        yield _always("norm", "router", outputs, REPLICATED)
    if mixer.shared_intermediate:
        shared = _block(hidden, mixer.shared_intermediate, mixer.gated)
        yield _always("shared_expert", "shared_experts", shared)
    if mixer.shared_gate:
        yield _always("router", "shared_experts", hidden, REPLICATED)
    if mixer.dense_intermediate:
        yield _always("mlp", "mlp", _block(hidden, mixer.dense_intermediate, mixer.gated))
    if mixer.latent_width is not None:
        yield _always("mlp", "experts", 2 * hidden * mixer.latent_width)
    if mixer.other_parameters:
        yield _always("norm", "experts", mixer.other_parameters, REPLICATED)


def _token_mixer(mixer: TokenMixer, hidden: int) -> Iterator[TensorGroup]:
    match mixer:
        case Attention():
            yield from _attention(mixer, hidden)
        case LatentAttention():
            yield from _latent_attention(mixer, hidden)
        case CompressedAttention():
            yield from _compressed_attention(mixer, hidden)
        case RecurrentMixer():
            yield from _recurrent(mixer)


def _layer(group: LayerGroup, hidden: int) -> Iterator[TensorGroup]:
    for mixer in group.token_mixers:
        yield from _token_mixer(mixer, hidden)
    match group.channel_mixer:
        case DenseMlp() as mlp:
            yield _always("mlp", "mlp", _block(hidden, mlp.intermediate, mlp.gated))
            if mlp.bias:
                yield _always("norm", "mlp", _block_bias(hidden, mlp.intermediate, mlp.gated), REPLICATED)
        case MixtureOfExperts() as moe:
            yield from _experts(moe, hidden)
    if group.norm_parameters:
        yield _always("norm", "norms", group.norm_parameters, REPLICATED)
    if group.other_parameters:
        yield _always("router", "other", group.other_parameters, REPLICATED)


def _outside_layers(arch: Architecture) -> Iterator[TensorGroup]:
    width = arch.embedding_width or arch.hidden
    table = arch.vocabulary * width
    # A tied table is read whole for every token because it is the head as well.
    read = table if arch.tied_embeddings else 0
    yield TensorGroup("embedding", "embedding", table, read, rows=arch.vocabulary)
    if not arch.tied_embeddings:
        yield TensorGroup("head", "head", table, table, rows=arch.vocabulary)
    if arch.head_bias:
        yield _always("norm", "head", arch.vocabulary)
    if arch.position_parameters:
        yield _always("embedding", "embedding", arch.position_parameters, REPLICATED)
    if arch.final_norm_parameters:
        yield _always("norm", "norms", arch.final_norm_parameters, REPLICATED)
    if arch.lookup_parameters:
        yield TensorGroup("embedding", "lookup", arch.lookup_parameters, 0)
    if arch.other_text_parameters:
        yield _always("mlp", "other", arch.other_text_parameters, REPLICATED)
    if arch.vision_parameters:
        yield TensorGroup("vision", "vision", arch.vision_parameters, 0)
    if arch.audio_parameters:
        yield TensorGroup("vision", "audio", arch.audio_parameters, 0)


def _scaled(groups: tuple[TensorGroup, ...], total: int) -> tuple[TensorGroup, ...]:
    """All groups scaled so that their sum is exactly ``total``; the largest takes the remainder."""
    scale = Fraction(total, max(1, sum(g.parameters for g in groups)))
    scaled = [
        replace(g, parameters=math.floor(g.parameters * scale), active=math.floor(g.active * scale))
        for g in groups
    ]
    largest = max(range(len(scaled)), key=lambda i: scaled[i].parameters)
    rest = total - sum(g.parameters for g in scaled)
    grown = scaled[largest]
    active = grown.active + (rest if grown.active == grown.parameters else 0)
    scaled[largest] = replace(grown, parameters=grown.parameters + rest, active=active)
    return tuple(scaled)


@cache
def tensor_groups(arch: Architecture) -> tuple[TensorGroup, ...]:
    """Every tensor that a server loads, grouped by class, part and split.  No MTP module."""
    merged: dict[tuple[TensorClass, Part, int, int], list[int]] = {}

    def add(group: TensorGroup, times: int) -> None:
        key = (group.tensor_class, group.part, group.shards, group.rows)
        sums = merged.setdefault(key, [0, 0])
        sums[0] += times * group.parameters
        sums[1] += times * group.active

    for group in _outside_layers(arch):
        add(group, 1)
    for kind in arch.kinds:
        for group in _layer(kind, arch.hidden):
            add(group, kind.count)
    groups = tuple(
        TensorGroup(cls, part, stored, active, shards, rows)
        for (cls, part, shards, rows), (stored, active) in merged.items()
        if stored
    )
    return groups if arch.stated_parameters is None else _scaled(groups, arch.stated_parameters)


@cache
def parameters_by_part(arch: Architecture) -> dict[str, int]:
    """Stored parameters by part; sums to ``stored_parameters``."""
    parts: dict[str, int] = {}
    for group in tensor_groups(arch):
        parts[group.part] = parts.get(group.part, 0) + group.parameters
    return parts


def stored_parameters(arch: Architecture) -> int:
    """Every weight a server loads: text, vision, audio; a tied embedding once; no MTP module."""
    return sum(group.parameters for group in tensor_groups(arch))


def active_parameters(arch: Architecture) -> int:
    """Weights read for one decoded token: without unselected experts and looked-up tables."""
    return sum(group.active for group in tensor_groups(arch))


def active_parameters_with_embedding(arch: Architecture) -> int:
    """The same with the input table counted, as many publishers do."""
    tables = (g for g in tensor_groups(arch) if g.part == "embedding")
    return active_parameters(arch) + sum(g.parameters - g.active for g in tables)


def mtp_parameters(arch: Architecture) -> int:
    """Weights of the multi-token-prediction module, which no other count includes."""
    layers = sum(
        group.count * part.parameters for group in arch.mtp_groups for part in _layer(group, arch.hidden)
    )
    return layers + arch.mtp_other_parameters


@cache
def _weight_bits(arch: Architecture, weights: WeightFormat, tensor_parallel: int, multiple: int) -> Fraction:
    total = Fraction(0)
    step = math.lcm(multiple, tensor_parallel) if multiple > 1 else 1
    for group in tensor_groups(arch):
        held = group.on_one_device(tensor_parallel)
        if group.rows:
            held *= Fraction(math.ceil(group.rows / step) * step, group.rows)
        total += held * stored_bits(arch, weights, group.tensor_class)
    return total


def weight_bytes(
    arch: Architecture, weights: WeightFormat, tensor_parallel: int = 1, vocabulary_multiple: int = 1
) -> int:
    """Bytes of all weights on one device of a tensor-parallel group.

    ``vocabulary_multiple``: engines pad the vocabulary to a multiple of this (and of the number
    of devices), 1 for none.
    """
    return math.ceil(_weight_bits(arch, weights, tensor_parallel, vocabulary_multiple) / 8)


def plain_weight_bytes(arch: Architecture, weights: WeightFormat, tensor_parallel: int = 1) -> int:
    """The textbook rule: parameters × bytes of the element, on one device.

    Scales and what stays wider are left out: FP16 2, INT8 1, INT4 0.5 bytes.
    """
    return math.ceil(Fraction(stored_parameters(arch) * math.floor(weights.bits), 8 * tensor_parallel))
