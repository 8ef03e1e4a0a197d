"""Families that mix layers with a cache and layers with a state."""

from typing import Any

from core.importers.hf.assemble import Layer, architecture, norm
from core.importers.hf.attention import attention, head_dim, heads, latent_attention
from core.importers.hf.channels import channels, dense_block, experts
from core.importers.hf.family import Family
from core.importers.hf.reader import MAX_LAYERS, Reader, brief
from core.importers.hf.recurrent import (
    MAX_DIM,
    gated_delta,
    kimi_delta,
    lightning,
    mamba1,
    mamba2,
    short_convolution,
)
from core.spec.architecture import (
    Architecture,
    ChannelMixer,
    DenseMlp,
    MixtureOfExperts,
    NoMixer,
    RecurrentMixer,
    TokenMixer,
)

_LINEAR = ("linear_attention", "recurrent", "mamba", "conv", "linear")
_FULL = ("full_attention", "attention", "hybrid")


def attends(r: Reader, layers: int) -> list[bool]:
    """Which layers attend: a list of types, or every n-th."""
    kinds = r.items("layer_types", layers)
    if kinds is None:
        every = r.integer("full_attention_interval")
        return [(i + 1) % every == 0 for i in range(layers)]
    for kind in kinds:
        if kind not in _LINEAR + _FULL:
            r.fail("unknown_layer", "layer_types", value=brief(kind))
    return [kind in _FULL for kind in kinds]


def _either(attending: list[bool], full: list[TokenMixer], other: TokenMixer) -> list[TokenMixer]:
    return [mixer if attend else other for mixer, attend in zip(full, attending, strict=True)]


def _without_types(r: Reader) -> Reader:
    """The same file without its list of layer types, which names layers that do not attend."""
    config = {key: value for key, value in r.config.items() if key != "layer_types"}
    return Reader(config, r.model_type, r.defaults, r.prefix)


def qwen_next_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Qwen3-Next and Qwen3.5: gated attention in every fourth layer, Gated DeltaNet in the others."""
    full = attention(_without_types(r), f, layers)
    return _either(attends(r, layers), full, gated_delta(r))


def kimi_linear_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Kimi Linear: layers are listed from 1 on; the others are Kimi Delta Attention."""
    part = r.section("linear_attn_config")
    if part is None:
        r.fail("missing_field", "linear_attn_config")
    listed = part.items("full_attn_layers")
    if listed is None:
        part.fail("missing_field", "full_attn_layers")
    full = {part.check("full_attn_layers", number, 0, MAX_LAYERS) for number in listed[:MAX_LAYERS]}
    linear = kimi_delta(
        r,
        part.integer("num_heads", high=65536),
        part.integer("head_dim", high=65536),
        part.integer("short_conv_kernel_size", high=1024),
        full_gate=part.flag("use_full_rank_gate"),
    )
    attending = [i + 1 in full for i in range(layers)]
    return _either(attending, _gated_latent(r, f, layers), linear)


def _gated_latent(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    gate = "elementwise" if r.flag("mla_use_output_gate") else f.output_gate
    return [m.model_copy(update={"output_gate": gate}) for m in latent_attention(r, f, layers)]


def kimi_linear(r: Reader, f: Family) -> Architecture:
    """Kimi Linear and K3, whose experts may work in a narrower space with a norm of its own."""
    n, h = r.layers, r.integer("hidden")
    width = r.optional("routed_expert_hidden_size", low=1)
    extra = (width or 0) if r.flag("latent_moe_use_norm") else 0
    mixers = [
        mixer.model_copy(update={"latent_width": width, "other_parameters": extra})
        if isinstance(mixer, MixtureOfExperts)
        else mixer
        for mixer in channels(r, f, n)
    ]
    # Attention over the residuals of blocks of layers: a query and a norm before each half layer.
    residual = r.stated("attn_res_block_size")
    norms = 2 * norm(r, f) + (4 * h if residual else 0)
    layers: list[Layer] = [
        (token, channel, norms) for token, channel in zip(kimi_linear_attention(r, f, n), mixers, strict=True)
    ]
    closing = norm(r, f) + (2 * h if residual else 0)
    return architecture(r, f, layers, final_norm_parameters=closing)


def bailing_hybrid_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Ling 3: the last layer of each group is latent attention, gated by head."""
    size = r.integer("layer_group_size")
    whole = r.flag("no_kda_lora")
    linear = kimi_delta(
        r, heads(r), head_dim(r), r.integer("short_conv_kernel_size"), full_decay=whole, full_gate=whole
    )
    attending = [(i + 1) % size == 0 or i >= layers // size * size for i in range(layers)]
    return _either(attending, _gated_latent(r, f, layers), linear)


def minimax_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """MiniMax-01: softmax attention in every eighth layer, lightning attention in the others."""
    flags = r.per_layer(layers, "attn_type_list")
    attending = attends(r, layers) if flags is None else [flag != 0 for flag in flags]
    full = attention(_without_types(r), f, layers)
    return _either(attending, full, lightning(r, heads(r), head_dim(r)))


def jamba_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Jamba: attention once in a period, Mamba with inner norms elsewhere."""
    h = r.integer("hidden")
    period, offset = r.integer("attn_layer_period"), r.count("attn_layer_offset")
    state_space = mamba1(
        r,
        inner=r.integer("mamba_expand", high=64) * h,
        state=r.integer("mamba_d_state", high=65536),
        taps=r.integer("mamba_d_conv", high=1024),
        rank=_rank(r, "mamba_dt_rank", h),
        normed=True,
    )
    attending = [i % period == offset for i in range(layers)]
    return _either(attending, attention(r, f, layers), state_space)


def _rank(r: Reader, name: str, hidden: int) -> int:
    value = r.find(name)[1]
    return -(-hidden // 16) if value in (None, "auto") else r.integer(name, high=65536)


def jamba_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """Jamba: experts once in a period of their own."""
    period, offset = r.integer("expert_layer_period"), r.count("expert_layer_offset")
    dense: ChannelMixer = dense_block(r, f)
    if r.integer("experts") == 1:
        return [dense] * layers
    moe: ChannelMixer = experts(r, f, r.integer("experts_per_token"), r.integer("intermediate"), 0)
    return [moe if i % period == offset else dense for i in range(layers)]


def mamba(r: Reader, f: Family) -> Architecture:
    """Mamba, first generation: nothing but state-space layers."""
    h = r.integer("hidden")
    inner = r.optional("intermediate_size", "d_inner", low=1) or r.count("expand", default=2) * h
    mixer = mamba1(
        r,
        inner=inner,
        state=r.integer("state_size", high=65536),
        taps=r.integer("conv_kernel", high=1024),
        rank=_rank(r, "time_step_rank", h),
    )
    return architecture(r, f, [(mixer, NoMixer(), norm(r, f))] * r.layers)


def mamba2_only(r: Reader, f: Family) -> Architecture:
    """Mamba, second generation."""
    mixer = mamba2(
        r,
        heads=r.integer("num_heads", high=MAX_DIM),
        inner=r.integer("num_heads", high=MAX_DIM) * r.integer("head_dim", high=65536),
        state=r.integer("state_size", high=65536),
        groups=r.integer("n_groups", high=65536),
        taps=r.integer("conv_kernel", high=1024),
    )
    return architecture(r, f, [(mixer, NoMixer(), norm(r, f))] * r.layers)


_PATTERN = {"M": "mamba", "-": "mlp", "*": "attention", "E": "moe"}


def _blocks(r: Reader, letters: str, names: str) -> list[str]:
    """Kinds of block, from a string of letters or a list of names."""
    pattern = r.text(letters)
    found: list[Any] = [_PATTERN.get(letter, letter) for letter in pattern[: MAX_LAYERS + 1]]
    if not pattern:
        found = list(r.items(names) or ())[: MAX_LAYERS + 1]
    for kind in found:
        if kind not in _PATTERN.values():
            r.fail("unknown_layer", letters if pattern else names, value=brief(kind))
    if len(found) > MAX_LAYERS:
        r.fail("out_of_range", letters if pattern else names, value=len(found), low=1, high=MAX_LAYERS)
    return found


def _block(r: Reader, f: Family, kind: str) -> Layer:
    """One block of Nemotron-H: it mixes tokens or channels, never both."""
    norms = norm(r, f)
    match kind:
        case "mamba":
            many = r.integer("mamba_num_heads", high=MAX_DIM)
            mixer = mamba2(
                r,
                heads=many,
                inner=many * r.integer("mamba_head_dim", high=65536),
                state=r.integer("ssm_state_size", high=65536),
                groups=r.integer("n_groups", high=65536),
                taps=r.integer("conv_kernel", high=1024),
            )
            return mixer, NoMixer(), norms
        case "attention":
            return attention(r, f, 1)[0], NoMixer(), norms
        case "moe":
            shared = r.count("shared_experts")
            moe = experts(r, f, r.integer("experts_per_token"), r.integer("expert_intermediate"), shared)
            latent = r.optional("moe_latent_size", low=1)
            return NoMixer(), moe.model_copy(update={"latent_width": latent}), norms
    return NoMixer(), dense_block(r, f), norms


def nemotron_h(r: Reader, f: Family) -> Architecture:
    """Nemotron-H: a list of blocks of Mamba-2, attention, feed-forward and experts."""
    kinds = _blocks(r, "hybrid_override_pattern", "layers_block_type")
    if not kinds:
        r.fail("missing_field", "hybrid_override_pattern")
    made = {kind: _block(r, f, kind) for kind in set(kinds)}
    return architecture(r, f, [made[kind] for kind in kinds])


def nemotron_h_prediction(r: Reader, f: Family) -> list[Layer]:
    """The blocks of Nemotron-H's prediction module."""
    return [_block(r, f, k) for k in _blocks(r, "mtp_hybrid_override_pattern", "mtp_layers_block_type")]


def _granite_mamba(r: Reader) -> RecurrentMixer:
    many = r.integer("mamba_n_heads", high=MAX_DIM)
    each = r.find("mamba_d_head")[1]
    expanded = r.count("mamba_expand", default=2) * r.integer("hidden")
    return mamba2(
        r,
        heads=many,
        inner=expanded if each in (None, "auto") else many * r.integer("mamba_d_head", high=65536),
        state=r.integer("mamba_d_state", high=65536),
        groups=r.integer("mamba_n_groups", high=65536),
        taps=r.integer("mamba_d_conv", high=1024),
    )


def granite_hybrid(r: Reader, f: Family) -> Architecture:
    """Granite 4: Mamba-2 and attention; the "shared" width is the dense block's where none routes."""
    n = r.layers
    kinds = attends(r, n) if r.stated("layer_types") else [True] * n
    shared = r.integer("shared_intermediate_size")
    mixer: ChannelMixer = DenseMlp(intermediate=shared, bias=r.switch(f.mlp_bias))
    if r.optional("experts"):
        mixer = experts(r, f, r.integer("experts_per_token"), r.integer("intermediate"), None)
    full = attention(_without_types(r), f, n)
    tokens = full if all(kinds) else _either(kinds, full, _granite_mamba(r))
    return architecture(r, f, [(token, mixer, 2 * norm(r, f)) for token in tokens])


def falcon_h1(r: Reader, f: Family) -> Architecture:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    h, many = r.integer("hidden"), r.integer("mamba_n_heads", high=MAX_DIM)
    inner = r.optional("mamba_d_ssm", low=1, high=MAX_DIM) or r.count("mamba_expand", default=2) * h
    state_space = mamba2(
        r,
        heads=many,
        inner=inner,
        state=r.integer("mamba_d_state", high=65536),
        groups=r.integer("mamba_n_groups", high=65536),
        taps=r.integer("mamba_d_conv", high=1024),
        gated_norm=r.flag("mamba_rms_norm"),
    )
    block = dense_block(r, f)
    layers: list[Layer] = [(token, block, 2 * norm(r, f)) for token in attention(r, f, r.layers)]
    arch = architecture(r, f, layers)
    groups = tuple(group.model_copy(update={"parallel_mixer": state_space}) for group in arch.groups)
    return arch.model_copy(update={"groups": groups})


def lfm2_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """LFM2: a few attention layers among short convolutions."""
    listed = r.items("full_attn_idxs")
    attending = attends(r, layers) if listed is None else [i in listed for i in range(layers)]
    return _either(attending, attention(_without_types(r), f, layers), short_convolution(r))


def lfm2_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """LFM2: the stated width is cut to two thirds and rounded up unless the file says otherwise."""
    if r.optional("experts"):
        return channels(r, f, layers)
    width = r.integer("block_ff_dim", "intermediate_size")
    if r.flag("block_auto_adjust_ff_dim", True):
        multiplier = r.number("block_ffn_dim_multiplier")
        width = int((1.0 if multiplier is None else multiplier) * int(2 * width / 3))
        step = r.count("block_multiple_of", default=256) or 1
        width = -(-width // step) * step
    return [DenseMlp(intermediate=max(1, width))] * layers
