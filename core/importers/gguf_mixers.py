"""Token and channel mixers of one layer, read off the tensors of its GGUF file."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from core.errors import InvalidScenario, Problem
from core.importers.gguf import TensorInfo
from core.importers.gguf_keys import Keys
from core.spec.architecture import (
    Attention,
    ChannelMixer,
    DenseMlp,
    LatentAttention,
    MixtureOfExperts,
    NoMixer,
    RecurrentMixer,
    SparseIndexer,
    TokenMixer,
)

# Where the file only states a window: every which layer looks at everything (llama.cpp,
# src/llama-model.cpp, set_swa_pattern).  Not listed: a stated window holds in every layer.
_FULL_EVERY = {
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "cohere2": 4,
    "exaone4": 4,
    "exaone-moe": 4,
    "olmo2": 4,
    "afmoe": 4,
    "llama4": 4,
    "plamo3": 8,
    "smallthinker": 4,
}
_CHUNK = 8192  # of llama4, which no key states
# State elements are computed alike for all but two (llama.cpp, src/llama-hparams.cpp, n_embd_s).
_RECURRENT: dict[str, Literal["gated_delta", "kimi_delta", "mamba", "mamba2", "lightning", "short_conv"]] = {
    "qwen3next": "gated_delta",
    "qwen35": "gated_delta",
    "qwen35moe": "gated_delta",
    "kimi-linear": "kimi_delta",
    "mamba": "mamba",
    "jamba": "mamba",
    "lfm2": "short_conv",
    "lfm2moe": "short_conv",
}
_OLD_EXPERT = re.compile(r"ffn_(gate|down|up)\.(\d{1,5})\.weight")


@dataclass(slots=True)
class Block:
    """One layer: its tensors by the name behind "blk.N.", and those that are accounted for."""

    keys: Keys
    layer: int
    layers: int
    tensors: dict[str, TensorInfo]
    used: set[str] = field(default_factory=set)

    def rows(self, name: str) -> int:
        """Outputs of a matrix, 0 when the layer has none of the name; marks it as accounted for."""
        tensor = self.tensors.get(name)
        if tensor is None:
            return 0
        self.used.add(name)
        return tensor.elements // tensor.shape[0]

    def has(self, name: str) -> bool:
        """Whether the tensor is there; marks it."""
        if name in self.tensors:
            self.used.add(name)
            return True
        return False

    @property
    def hidden(self) -> int:
        """Width of the model."""
        return self.keys.number("embedding_length")

    def fail(self, name: str, value: object) -> Any:
        """Refuse a tensor whose shape contradicts the keys."""
        path = f"blk.{self.layer}.{name}"
        raise InvalidScenario(Problem("importer.gguf_shape", (path,), {"name": path, "value": value}))


def token_mixers(block: Block) -> list[TokenMixer]:
    """None, one or two mixers."""
    names = block.tensors
    recurrent = any(name.startswith(("ssm_", "shortconv.")) for name in names)
    if any(name.startswith("time_mix") for name in names):
        path = "general.architecture"
        values = {"architecture": block.keys.arch}
        raise InvalidScenario(Problem("importer.gguf_unknown", (path,), values))
    mixers: list[TokenMixer] = []
    if "attn_kv_a_mqa.weight" in names:
        mixers.append(_latent(block))
    elif "attn_output.weight" in names and ("attn_q.weight" in names or "attn_qkv.weight" in names):
        mixers.append(_attention(block))
    if recurrent:
        mixers.append(_recurrent(block))
    return mixers


def _attention(block: Block) -> Attention:
    keys, layer = block.keys, block.layer
    heads = keys.number("attention.head_count", layer)
    kv_heads = keys.number("attention.head_count_kv", layer, heads) or heads
    if not heads:
        block.fail("attn_q.weight", heads)
    head_dim = keys.number("attention.key_length", default=max(1, block.hidden // heads))
    value_dim = keys.number("attention.value_length", default=head_dim)
    keys_rows, value_rows = block.rows("attn_k.weight"), block.rows("attn_v.weight")
    query_rows = block.rows("attn_q.weight")
    fused = block.rows("attn_qkv.weight")
    if fused:
        keys_rows, value_rows = kv_heads * head_dim, kv_heads * value_dim
        query_rows = fused - keys_rows - value_rows
    elif keys_rows:
        if keys_rows % kv_heads:
            block.fail("attn_k.weight", keys_rows)
        head_dim = keys_rows // kv_heads
        value_dim = value_rows // kv_heads if value_rows else head_dim
    elif query_rows % heads == 0 and query_rows:
        head_dim = value_dim = query_rows // heads
    shared = keys.number("attention.shared_kv_layers", default=0)
    reuses = (not keys_rows) or layer >= block.layers - shared
    gate: Literal["none", "per_head", "elementwise"] = "none"
    if query_rows == 2 * heads * head_dim:
        gate = "elementwise"
    elif query_rows != heads * head_dim:
        block.fail("attn_q.weight", query_rows)
    gate_rows = block.rows("attn_gate.weight")
    if gate_rows:
        gate = "per_head" if gate_rows == heads else "elementwise"
    block.has("attn_output.weight")
    window, kind = _window(block)
    if heads % kv_heads:
        values = {"name": "attention.head_count_kv", "value": kv_heads, "heads": heads}
        raise InvalidScenario(Problem("importer.heads_uneven", ("attention.head_count_kv",), values))
    return Attention(
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_head_dim=None if value_dim == head_dim else value_dim,
        window=window,
        window_kind=kind,
        qkv_bias=_bias(block),
        output_bias=block.has("attn_output.bias"),
        qk_norm=_norm(block, head_dim),
        output_gate=gate,
        sinks=block.has("attn_sinks.weight"),
        reuses_cache=reuses,
        key_is_value=bool(keys_rows) and not value_rows,
    )


def _bias(block: Block) -> bool:
    """Whether queries, keys and values have biases; one without the others stays among the norms."""
    if block.has("attn_qkv.bias"):
        return True
    three = ("attn_q.bias", "attn_k.bias", "attn_v.bias")
    return all(name in block.tensors for name in three) and all(block.has(name) for name in three)


def _norm(block: Block, head_dim: int) -> Literal["none", "per_head", "full"]:
    norm = block.tensors.get("attn_q_norm.weight")
    if norm is None:
        return "none"
    if len(norm.shape) > 1:  # one for each head and element: counted with the layer's norms
        return "none"
    block.has("attn_q_norm.weight")
    block.has("attn_k_norm.weight")
    return "per_head" if norm.shape[0] == head_dim else "full"


def _window(block: Block) -> tuple[int | None, Literal["sliding", "chunked"]]:
    keys, layer = block.keys, block.layer
    if keys.arch == "llama4":
        full = (layer + 1) % _FULL_EVERY["llama4"] == 0
        return (None if full else _CHUNK, "chunked")
    window = keys.number("attention.sliding_window", default=0)
    if not window or window >= keys.number("context_length", default=0) > 0 or keys.arch == "phi3":
        return None, "sliding"
    pattern = keys.values("attention.sliding_window_pattern")
    if isinstance(pattern, tuple) and pattern:
        slides = bool(pattern[min(layer, len(pattern) - 1)])
    else:
        stated = pattern if isinstance(pattern, int) and not isinstance(pattern, bool) else 0
        every = stated if 0 < stated <= block.layers else _FULL_EVERY.get(keys.arch, 0)
        slides = not every or (layer + 1) % every != 0
    return window if slides else None, "sliding"


def _latent(block: Block) -> LatentAttention:
    keys, layer = block.keys, block.layer
    heads = keys.number("attention.head_count", layer)
    rank = block.rows("attn_q_a.weight") or None
    query_rows = block.rows("attn_q_b.weight") or block.rows("attn_q.weight")
    rope = keys.number("rope.dimension_count", default=64)
    kv_rank = block.rows("attn_kv_a_mqa.weight") - rope
    if not heads or query_rows % heads or kv_rank < 1:
        block.fail("attn_kv_a_mqa.weight", kv_rank + rope)
    nope = query_rows // heads - rope
    output = block.tensors.get("attn_output.weight")
    value_dim = output.shape[0] // heads if output is not None else nope
    for name in ("attn_output", "attn_k_b", "attn_v_b", "attn_kv_b", "attn_q_a_norm", "attn_kv_a_norm"):
        block.has(f"{name}.weight")
    return LatentAttention(
        heads=heads,
        query_rank=rank,
        kv_rank=kv_rank,
        nope_head_dim=max(0, nope),
        rope_head_dim=rope,
        value_head_dim=value_dim,
        indexer=_indexer(block),
    )


def _indexer(block: Block) -> SparseIndexer | None:
    keys = block.keys
    heads = keys.number("attention.indexer.head_count", default=0)
    if not heads:
        return None
    stored = any(name.startswith("indexer.") for name in block.tensors)
    for name in ("attn_k", "attn_q_b", "proj", "k_norm"):
        block.has(f"indexer.{name}.weight")
    block.has("indexer.k_norm.bias")
    return SparseIndexer(
        heads=heads,
        head_dim=keys.number("attention.indexer.key_length"),
        top_k=keys.number("attention.indexer.top_k"),
        reuses_choice=not stored,
    )


def _recurrent(block: Block) -> RecurrentMixer:
    keys, arch = block.keys, block.keys.arch
    family = _RECURRENT.get(arch, "mamba2")
    matrices = others = 0
    for name, tensor in block.tensors.items():
        if name in block.used or not name.startswith(("ssm_", "shortconv.", "attn_")) or "_norm" in name:
            continue
        block.used.add(name)
        if len(tensor.shape) > 1 and "conv1d" not in name and ".conv." not in name and name[-2:] != "_a":
            matrices += tensor.elements
        else:
            others += tensor.elements
    kernel = max(1, keys.number("ssm.conv_kernel", default=4))
    inner, state = keys.number("ssm.inner_size", default=0), keys.number("ssm.state_size", default=0)
    groups, heads = keys.number("ssm.group_count", default=0), keys.number("ssm.time_step_rank", default=1)
    if family == "short_conv":
        cache = max(1, keys.number("shortconv.l_cache", default=3))
        elements, convolution, heads = 0, block.hidden * (cache - 1), 1
    elif family == "kimi_delta":
        dim = keys.number("kda.head_dim")
        heads = keys.number("attention.head_count", block.layer) or 1
        elements, convolution = heads * dim * dim, 3 * heads * dim * (kernel - 1)
    else:
        spread = 0 if family == "mamba" else 2 * groups * state
        elements, convolution = inner * state, (inner + spread) * (kernel - 1)
    return RecurrentMixer(
        family=family,
        heads=max(1, heads),
        state_elements=elements,
        convolution_elements=convolution,
        state_bits=32,
        projection_parameters=matrices,
        other_parameters=others,
    )


def channel_mixer(block: Block) -> ChannelMixer:
    """A dense block, a mixture of experts, or nothing."""
    if "ffn_down_exps.weight" in block.tensors:
        return _experts(block)
    if any(_OLD_EXPERT.fullmatch(name) for name in block.tensors):
        return _separate_experts(block)
    width, gated = _dense(block)
    if not width:
        return NoMixer()
    bias = "ffn_up.bias" in block.tensors and "ffn_down.bias" in block.tensors
    if bias and gated and "ffn_gate.weight" in block.tensors and "ffn_gate.bias" not in block.tensors:
        bias = False
    for name in ("ffn_up.bias", "ffn_down.bias", "ffn_gate.bias") if bias else ():
        block.has(name)
    return DenseMlp(intermediate=width, gated=gated, bias=bias)


def _dense(block: Block) -> tuple[int, bool]:
    """Width and gating of the dense block; a gate and an up half may be one matrix."""
    up = block.rows("ffn_up.weight")
    down = block.tensors.get("ffn_down.weight")
    gated = block.has("ffn_gate.weight")
    block.has("ffn_down.weight")
    if up and down is not None and up == 2 * down.shape[0] and not gated:
        return up // 2, True
    return up, gated


def _experts(block: Block) -> MixtureOfExperts:
    keys = block.keys
    down = block.tensors["ffn_down_exps.weight"]
    if len(down.shape) != 3:
        block.fail("ffn_down_exps.weight", len(down.shape))
    inner, width, count = down.shape
    fused = block.has("ffn_gate_up_exps.weight")
    gated = block.has("ffn_gate_exps.weight") or fused
    for name in ("ffn_down_exps.weight", "ffn_up_exps.weight"):
        block.has(name)
    bias = "ffn_down_exps.bias" in block.tensors
    for name in ("ffn_down_exps.bias", "ffn_up_exps.bias", "ffn_gate_exps.bias", "ffn_gate_up_exps.bias"):
        block.has(name)
    return _mixture(block, count, inner, gated, bias, None if width == block.hidden else width, keys)


def _separate_experts(block: Block) -> MixtureOfExperts:
    """Files of early 2024 hold each expert as tensors of its own."""
    numbers: set[int] = set()
    inner = 0
    for name, tensor in block.tensors.items():
        match = _OLD_EXPERT.fullmatch(name)
        if match:
            block.used.add(name)
            numbers.add(int(match[2]))
            inner = tensor.shape[0] if match[1] == "down" else inner
    gated = any(name.startswith("ffn_gate.") for name in block.tensors)
    return _mixture(block, len(numbers), inner, gated, False, None, block.keys)


def _mixture(
    block: Block, count: int, inner: int, gated: bool, bias: bool, latent: int | None, keys: Keys
) -> MixtureOfExperts:
    shared = block.rows("ffn_up_shexp.weight")
    shared_gate = block.has("ffn_gate_inp_shexp.weight")
    for name in ("ffn_down_shexp.weight", "ffn_gate_shexp.weight", "ffn_gate_inp.weight"):
        block.has(name)
    biases = [name for name in ("exp_probs_b.bias", "exp_probs_b", "ffn_gate_inp.bias") if block.has(name)]
    dense, _ = _dense(block)
    return MixtureOfExperts(
        experts=count,
        experts_per_token=min(count, max(1, keys.number("expert_used_count", block.layer))),
        intermediate=inner,
        gated=gated,
        expert_bias=bias,
        shared_intermediate=shared,
        shared_gate=shared_gate,
        router_bias=bool(biases),
        dense_intermediate=dense,
        latent_width=latent,
    )
