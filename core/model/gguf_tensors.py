"""The tensors of a model as a GGUF file holds them: names, row widths and sizes.

Names and shapes follow llama.cpp (gguf-py tensor names); where an architecture keeps only a sum
(state-space projections), the sum stands as one tensor.  Vision and audio towers are in a file of
their own and not among these.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
from core.spec.formats import TensorClass

OUTSIDE = -1  # the layer of tensors that belong to none


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor, or the small ones of a layer together.

    ``columns`` is the length of a row, which block formats divide; ``matrix`` is False for what
    stays in 32 bit (norms, biases, routers); ``stacked`` for three-dimensional ones.
    """

    name: str
    tensor_class: TensorClass
    layer: int
    columns: int
    elements: int
    matrix: bool = True
    stacked: bool = False


# Name, class, row width, elements, matrix, stacked: a tensor before it has a layer.
_Part = tuple[str, TensorClass, int, int, bool, bool]


def _matrix(name: str, cls: TensorClass, columns: int, rows: int, stacked: bool = False) -> _Part:
    return (f"{name}.weight", cls, columns, columns * rows, True, stacked)


def _vector(name: str, cls: TensorClass, elements: int) -> _Part:
    return (name, cls, elements, elements, False, False)


def _attention(mixer: Attention, hidden: int) -> Iterator[_Part]:
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    queries = mixer.heads * mixer.head_dim
    keys = 0 if mixer.reuses_cache else mixer.kv_heads * mixer.head_dim
    values = 0 if mixer.reuses_cache or mixer.key_is_value else mixer.kv_heads * value_dim
    small = mixer.other_parameters
    if keys:
        yield _matrix("attn_k", "attention", hidden, keys)
    yield _matrix("attn_output", "attention", mixer.heads * value_dim, hidden)
    gate = {"none": 0, "per_head": mixer.heads, "elementwise": mixer.heads * value_dim}[mixer.output_gate]
    if gate:
        yield _matrix("attn_gate", "attention", hidden, gate)
    if mixer.query_rank is None:
        yield _matrix("attn_q", "attention", hidden, queries)
    else:
        yield _matrix("attn_q_a", "attention", hidden, mixer.query_rank)
        yield _matrix("attn_q_b", "attention", mixer.query_rank, queries)
        small += mixer.query_rank
    if values:
        yield _matrix("attn_v", "attention", hidden, values)
    small += queries + keys + values if mixer.qkv_bias else 0
    small += hidden if mixer.output_bias else 0
    small += mixer.heads if mixer.sinks else 0
    if mixer.qk_norm == "per_head":
        small += (1 if mixer.reuses_cache else 2) * mixer.head_dim
    elif mixer.qk_norm == "full":
        small += queries + keys
    yield from _indexer(mixer.indexer, hidden, hidden if mixer.query_rank is None else mixer.query_rank)
    yield _vector("attn_small", "norm", small)


def _latent_attention(mixer: LatentAttention, hidden: int) -> Iterator[_Part]:
    heads, nope = mixer.heads, mixer.nope_head_dim
    queries = heads * (nope + mixer.rope_head_dim)
    gate = {"none": 0, "per_head": heads, "elementwise": heads * mixer.value_head_dim}[mixer.output_gate]
    if gate:
        yield _matrix("attn_gate", "attention", hidden, gate)
    # The expansion is stored in two halves, the keys' transposed.
    if nope:
        yield _matrix("attn_k_b", "attention", nope, mixer.kv_rank * heads, stacked=True)
    yield _matrix("attn_kv_a_mqa", "attention", hidden, mixer.kv_rank + mixer.rope_head_dim)
    yield _matrix("attn_output", "attention", heads * mixer.value_head_dim, hidden)
    if mixer.query_rank is None:
        yield _matrix("attn_q", "attention", hidden, queries)
    else:
        yield _matrix("attn_q_a", "attention", hidden, mixer.query_rank)
        yield _matrix("attn_q_b", "attention", mixer.query_rank, queries)
    yield _matrix("attn_v_b", "attention", mixer.kv_rank, mixer.value_head_dim * heads, stacked=True)
    small = mixer.kv_rank + (mixer.query_rank or 0) + mixer.other_parameters
    width = hidden if mixer.query_rank is None else mixer.query_rank
    yield from _indexer(mixer.indexer, hidden, width)
    yield _vector("attn_small", "norm", small)


def _compressed_attention(mixer: CompressedAttention, hidden: int) -> Iterator[_Part]:
    width, groups = mixer.heads * mixer.head_dim, mixer.output_groups
    yield _matrix("attn_kv", "attention", hidden, mixer.head_dim)
    yield _matrix("attn_output_a", "attention", max(1, width // groups), mixer.output_rank * groups)
    yield _matrix("attn_output_b", "attention", groups * mixer.output_rank, hidden)
    yield _matrix("attn_q_a", "attention", hidden, mixer.query_rank)
    yield _matrix("attn_q_b", "attention", mixer.query_rank, width)
    if mixer.compressor_projections:
        yield _matrix("attn_compress", "attention", hidden, mixer.compressor_projections * mixer.head_dim)
    yield from _indexer(mixer.indexer, hidden, mixer.query_rank)
    norms = mixer.query_rank + mixer.head_dim * (1 if mixer.tokens_per_entry is None else 2)
    sinks = mixer.heads if mixer.sinks else 0
    yield _vector("attn_small", "norm", norms + sinks + mixer.other_parameters)


def _indexer(indexer: SparseIndexer | None, hidden: int, query_input: int) -> Iterator[_Part]:
    if indexer is None or indexer.reuses_choice:
        return
    dim = indexer.head_dim
    yield _matrix("indexer.attn_k", "attention", hidden, indexer.key_projections * dim)
    yield _matrix("indexer.attn_q_b", "attention", query_input, indexer.heads * dim)
    if indexer.head_weights:
        yield _matrix("indexer.proj", "attention", hidden, indexer.heads)
    yield _vector("indexer_small", "norm", 2 * dim + indexer.other_parameters)


def _token_mixer(mixer: TokenMixer, hidden: int) -> Iterator[_Part]:
    match mixer:
        case Attention():
            yield from _attention(mixer, hidden)
        case LatentAttention():
            yield from _latent_attention(mixer, hidden)
        case CompressedAttention():
            yield from _compressed_attention(mixer, hidden)
        case RecurrentMixer():
            yield from _recurrent(mixer, hidden)


def _recurrent(mixer: RecurrentMixer, hidden: int) -> Iterator[_Part]:
    yield ("ssm_in.weight", "attention", hidden, mixer.projection_parameters, True, False)
    yield _vector("ssm_small", "norm", mixer.other_parameters)


def _block(suffix: str, cls: TensorClass, width: int, inner: int, gated: bool) -> Iterator[_Part]:
    yield _matrix(f"ffn_down{suffix}", cls, inner, width)
    if gated:
        yield _matrix(f"ffn_gate{suffix}", cls, width, inner)
    yield _matrix(f"ffn_up{suffix}", cls, width, inner)


def _experts(mixer: MixtureOfExperts, hidden: int) -> Iterator[_Part]:
    width, n = mixer.latent_width or hidden, mixer.experts
    yield _matrix("ffn_down_exps", "expert", mixer.intermediate, width * n, stacked=True)
    if mixer.gated:
        yield _matrix("ffn_gate_exps", "expert", width, mixer.intermediate * n, stacked=True)
    yield _matrix("ffn_up_exps", "expert", width, mixer.intermediate * n, stacked=True)
    outputs = n + mixer.zero_experts
    yield _vector("ffn_gate_inp", "router", hidden * outputs + (hidden if mixer.shared_gate else 0))
    if mixer.shared_intermediate:
        yield from _block("_shexp", "shared_expert", hidden, mixer.shared_intermediate, mixer.gated)
    if mixer.dense_intermediate:
        yield from _block("", "mlp", hidden, mixer.dense_intermediate, mixer.gated)
    if mixer.latent_width is not None:
        yield _matrix("ffn_latent", "mlp", hidden, 2 * mixer.latent_width)
    bias = n * ((2 if mixer.gated else 1) * mixer.intermediate + width) if mixer.expert_bias else 0
    small = bias + mixer.other_parameters + (outputs if mixer.router_bias else 0)
    yield _vector("ffn_small", "norm", small)


def _layer(group: LayerGroup, hidden: int) -> Iterator[_Part]:
    for mixer in group.token_mixers:
        yield from _token_mixer(mixer, hidden)
    match group.channel_mixer:
        case DenseMlp() as mlp:
            yield from _block("", "mlp", hidden, mlp.intermediate, mlp.gated)
            if mlp.bias:
                bias = (2 if mlp.gated else 1) * mlp.intermediate + hidden
                yield _vector("ffn_small", "norm", bias)
        case MixtureOfExperts() as moe:
            yield from _experts(moe, hidden)
    yield _vector("norms", "norm", group.norm_parameters)
    yield _vector("other", "router", group.other_parameters)


def _outside_layers(arch: Architecture) -> Iterator[_Part]:
    width = arch.embedding_width or arch.hidden
    if not arch.tied_embeddings:
        yield _matrix("output", "head", width, arch.vocabulary)
    yield _matrix("token_embd", "embedding", width, arch.vocabulary)
    if arch.lookup_parameters:
        yield ("per_layer_token_embd.weight", "embedding", 256, arch.lookup_parameters, True, False)
    if arch.position_parameters:
        yield _vector("position_embd", "embedding", arch.position_parameters)
    if arch.other_text_parameters:
        yield ("other.weight", "mlp", arch.hidden, arch.other_text_parameters, True, False)
    yield _vector("norms", "norm", arch.final_norm_parameters + (arch.vocabulary if arch.head_bias else 0))


def outside_tensors(arch: Architecture) -> tuple[GgufTensor, ...]:
    """Tensors outside the layers."""
    return tuple(
        GgufTensor(name, cls, OUTSIDE, columns, elements, matrix, stacked)
        for name, cls, columns, elements, matrix, stacked in _outside_layers(arch)
        if elements
    )


def tensors_of_group(group: LayerGroup, first: int, hidden: int) -> tuple[GgufTensor, ...]:
    """The tensors of the first of a group's layers, which has the number ``first``; the others are alike."""
    return tuple(
        GgufTensor(f"blk.{first}.{name}", cls, first, columns, elements, matrix, stacked)
        for name, cls, columns, elements, matrix, stacked in _layer(group, hidden)
        if elements
    )


def gguf_tensors(arch: Architecture) -> Iterator[GgufTensor]:
    """Tensors outside the layers, then those of each layer, in the order in which types are chosen."""
    yield from outside_tensors(arch)
    layer = 0
    for group in arch.groups:
        for _ in range(group.count):
            yield from tensors_of_group(group, layer, arch.hidden)
            layer += 1
