"""Families that differ by more than flags: one function each."""

from typing import Any

from core.importers.hf.assemble import Layer, architecture, norm, standard_layers
from core.importers.hf.attention import FULL, MAX_HEADS, Window, attention, head_dim, heads
from core.importers.hf.channels import channels, dense_block, experts
from core.importers.hf.family import Family
from core.importers.hf.reader import Reader
from core.spec.architecture import (
    Architecture,
    Attention,
    ChannelMixer,
    DenseMlp,
    MixtureOfExperts,
    NoMixer,
    TokenMixer,
)


def shared_cache_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Hunyuan: with ``use_cla`` only the first of every few layers has keys and values."""
    own = attention(r, f, layers)
    if not r.flag("use_cla"):
        return own
    share = r.integer("cla_share_factor")
    return [
        own[i] if i % share == 0 else own[i].model_copy(update={"reuses_cache": True}) for i in range(layers)
    ]


def chatglm_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """ChatGLM names its KV heads groups, and has them only when the flag says so."""
    kv = r.integer("multi_query_group_num", high=MAX_HEADS) if r.flag("multi_query_attention") else heads(r)
    return attention(r, f, layers, lambda mixer, _: mixer.model_copy(update={"kv_heads": kv}))


def qwen1_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """The first Qwen states the sum of the gate and up halves."""
    block = dense_block(r, f)
    return [block.model_copy(update={"intermediate": max(1, block.intermediate // 2)})] * layers


def grok_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """Grok 2 runs a dense block beside the experts."""
    beside = r.integer("intermediate") if r.flag("residual_moe") else 0
    return [mixer.model_copy(update={"dense_intermediate": beside}) for mixer in channels(r, f, layers)]


def arctic_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """Arctic: a dense residual block, as wide as the model, in every layer with experts."""
    beside = r.integer("hidden") if r.flag("use_residual", True) else 0
    return [
        mixer.model_copy(update={"dense_intermediate": beside})
        if isinstance(mixer, MixtureOfExperts)
        else mixer
        for mixer in channels(r, f, layers)
    ]


def llama4_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Llama 4 attends in chunks wherever it rotates: three layers of four."""
    if r.stated("layer_types"):
        return attention(r, f, layers)
    rotated = r.per_layer(layers, "no_rope_layers") if r.items("no_rope_layers") else None
    every = r.count("no_rope_layer_interval", default=4) or 4
    if rotated is None:
        rotated = [int((i + 1) % every != 0) for i in range(layers)]
    full = attention(r, f, layers)
    chunk = r.optional("attention_chunk_size", low=1)
    return [
        mixer.model_copy(update={"window": chunk, "window_kind": "chunked"}) if rotates and chunk else mixer
        for mixer, rotates in zip(full, rotated, strict=True)
    ]


def llama4_channels(r: Reader, f: Family, layers: int) -> list[ChannelMixer]:
    """Llama 4: a shared expert as wide as a routed one; dense layers have a width of their own."""
    dense = DenseMlp(intermediate=r.integer("intermediate_size_mlp"))
    width = r.integer("intermediate")
    moe = experts(r, f, r.integer("experts_per_token"), width, 1)
    step = r.count("interleave_moe_layer_step", default=1) or 1
    listed = r.items("moe_layers")
    return [moe if (i in listed if listed else (i + 1) % step == 0) else dense for i in range(layers)]


def mimo_v2_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """MiMo V2: sliding layers have heads and widths of their own, and learned sinks."""
    pattern = r.per_layer(layers, "hybrid_layer_pattern")
    if pattern is None:
        r.fail("missing_field", "hybrid_layer_pattern")
    full = Attention(
        heads=heads(r),
        kv_heads=r.integer("kv_heads", high=MAX_HEADS),
        head_dim=head_dim(r),
        value_head_dim=r.optional("v_head_dim", low=1),
        qkv_bias=r.switch(f.qkv_bias),
        output_bias=False,
        sinks=r.flag("add_full_attention_sink_bias"),
    )
    sliding = full.model_copy(
        update={
            "heads": r.integer("swa_num_attention_heads", high=MAX_HEADS),
            "kv_heads": r.integer("swa_num_key_value_heads", high=MAX_HEADS),
            "head_dim": r.integer("swa_head_dim"),
            "value_head_dim": r.optional("swa_v_head_dim", low=1),
            "sinks": r.flag("add_swa_attention_sink_bias"),
            "window": r.integer("sliding_window", "sliding_window_size"),
        }
    )
    return [sliding if kind else full for kind in pattern]


def step35_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Step 3.5: sliding layers have more query heads; one gate a head."""
    other = r.section("attention_other_setting")
    gate = "per_head" if r.flag("use_head_wise_attn_gate") else "none"

    def make(mixer: Attention, window: Window) -> Attention:
        update: dict[str, Any] = {"output_gate": gate}
        if window != FULL and other is not None:
            update["heads"] = other.integer("heads", high=MAX_HEADS)
            update["kv_heads"] = other.integer("kv_heads", high=MAX_HEADS)
        elif window != FULL and r.stated("num_sliding_attention_heads"):
            update["heads"] = r.integer("num_sliding_attention_heads", high=MAX_HEADS)
        return mixer.model_copy(update=update)

    return attention(r, f, layers, make)


def step3_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Step 3: queries go through a narrow shared space, one key and value head."""
    rank = r.optional("share_q_dim", low=1)
    return attention(r, f, layers, lambda mixer, _: mixer.model_copy(update={"query_rank": rank}))


def nemotron_nas(r: Reader, f: Family) -> Architecture:
    """Nemotron from architecture search: each block has its own widths, or none."""
    n, hidden = r.layers, r.integer("hidden")
    blocks = r.items("block_configs", n)
    if blocks is None:
        r.fail("missing_field", "block_configs")
    layers: list[Layer] = []
    for i, raw in enumerate(blocks):
        if not isinstance(raw, dict):
            r.wrong_type("block_configs", raw)
        block = Reader(raw, r.model_type, prefix=f"block_configs.{i}.")
        token, channel = _nas_attention(r, block), _nas_mlp(block, hidden)
        norms = hidden * ((token.kind != "none") + (channel.kind != "none"))
        layers.append((token, channel, norms))
    return architecture(r, f, layers)


def _nas_attention(r: Reader, block: Reader) -> TokenMixer:
    part = block.section("attention")
    if part is None or part.flag("no_op"):
        return NoMixer()
    if part.flag("replace_with_linear"):
        part.fail("unknown_variant", "replace_with_linear")
    kv = max(1, heads(r) // part.integer("n_heads_in_group"))
    return Attention(heads=heads(r), kv_heads=kv, head_dim=head_dim(r))


def _nas_mlp(block: Reader, hidden: int) -> ChannelMixer:
    part = block.section("ffn")
    if part is None or part.flag("no_op"):
        return NoMixer()
    if part.flag("replace_with_linear"):
        part.fail("unknown_variant", "replace_with_linear")
    multiple = part.number("ffn_mult")
    if multiple is None or not 0 < multiple <= 1000:
        part.fail("missing_field", "ffn_mult")
    width = int(2 * multiple * hidden / 3)
    return DenseMlp(intermediate=max(1, -(-width // 256) * 256))


def longcat(r: Reader, f: Family) -> Architecture:
    """LongCat: two attentions and two dense blocks a layer, experts beside the first."""
    n, attend = r.layers, f.attention
    assert attend is not None
    mixer = attend(r, f, n)[0]
    dense = DenseMlp(intermediate=r.integer("ffn_hidden_size"))
    moe = experts(r, f, r.integer("experts_per_token"), r.integer("expert_intermediate"), 0)
    update = {"dense_intermediate": dense.intermediate, "zero_experts": r.count("zero_expert_num")}
    norms = 2 * norm(r, f)
    pair: list[Layer] = [(mixer, moe.model_copy(update=update), norms), (mixer, dense, norms)]
    return architecture(r, f, pair * n)


def learned_positions(r: Reader, f: Family) -> Architecture:
    """GPT-2 and its code-writing sibling: a table of positions, one KV head when multi_query."""
    kv = 1 if r.flag("multi_query", r.model_type == "gpt_bigcode") else heads(r)
    layers = [
        (token.model_copy(update={"kv_heads": kv}), channel, norms)
        for token, channel, norms in standard_layers(r, f)
    ]
    positions = r.integer("n_positions", "max_position_embeddings")
    return architecture(r, f, layers, position_parameters=positions * r.integer("hidden"))


def opt(r: Reader, f: Family) -> Architecture:
    """OPT: two spare positions; a narrow embedding has projections in and out."""
    hidden = r.integer("hidden")
    width = r.optional("word_embed_proj_dim", low=1) or hidden
    closing = r.flag("do_layer_norm_before") and not r.flag("_remove_final_layer_norm")
    return architecture(
        r,
        f,
        standard_layers(r, f),
        position_parameters=(r.integer("max_position_embeddings") + 2) * hidden,
        embedding_width=None if width == hidden else width,
        other_text_parameters=0 if width == hidden else 2 * width * hidden,
        final_norm_parameters=norm(r, f) if closing else 0,
    )


def bloom(r: Reader, f: Family) -> Architecture:
    """BLOOM has a norm behind the embedding as well."""
    return architecture(r, f, standard_layers(r, f), final_norm_parameters=2 * norm(r, f))


def mpt(r: Reader, f: Family) -> Architecture:
    """MPT: KV heads in a section, positions learned unless ALiBi."""
    part, d = r.section("attn_config"), r.integer("hidden")
    kv = part.optional("kv_n_heads", low=1, high=MAX_HEADS) if part else None
    mixer = Attention(heads=heads(r), kv_heads=kv or heads(r), head_dim=max(1, d // heads(r)))
    block = DenseMlp(intermediate=r.count("expansion_ratio", default=4) * d or d, gated=False)
    alibi = part is not None and part.flag("alibi")
    positions = 0 if alibi else r.integer("max_seq_len") * d
    layers: list[Layer] = [(mixer, block, 2 * d)] * r.layers
    return architecture(r, f, layers, position_parameters=positions)


def dbrx(r: Reader, f: Family) -> Architecture:
    """DBRX: attention and experts described in sections; their own tie flags mean nothing."""
    attention_part, expert_part = r.section("attn_config"), r.section("ffn_config")
    if attention_part is None or expert_part is None:
        r.fail("missing_field", "attn_config" if attention_part is None else "ffn_config")
    d = r.integer("hidden")
    kv = attention_part.integer("kv_n_heads", high=MAX_HEADS)
    mixer = Attention(heads=heads(r), kv_heads=kv, head_dim=max(1, d // heads(r)))
    moe = experts(expert_part, f, expert_part.integer("moe_top_k"), expert_part.integer("ffn_hidden_size"), 0)
    return architecture(r, f, [(mixer, moe, 2 * d)] * r.layers)


def falcon(r: Reader, f: Family) -> Architecture:
    """Falcon: three generations of KV heads and of norms."""
    new = r.flag("new_decoder_architecture")
    if new:
        kv = r.optional("num_kv_heads", low=1, high=MAX_HEADS) or heads(r)
    else:
        kv = 1 if r.flag("multi_query") else heads(r)
    in_parallel = r.optional("num_ln_in_parallel_attn", low=1)
    norms = (in_parallel or 2) if new else 1 if r.flag("parallel_attn") else 2
    hidden = r.integer("hidden")
    mixer = Attention(
        heads=heads(r),
        kv_heads=kv,
        head_dim=max(1, hidden // heads(r)),
        qkv_bias=r.switch(f.qkv_bias),
        output_bias=r.switch(f.output_bias),
    )
    layers: list[Layer] = [(mixer, dense_block(r, f), norms * norm(r, f))] * r.layers
    return architecture(r, f, layers)


def mllama(r: Reader, f: Family) -> Architecture:
    """Llama 3.2 Vision: some layers attend to the image instead of the text, behind two gates."""
    listed = r.items("cross_attention_layers")
    if listed is None:
        r.fail("missing_field", "cross_attention_layers")
    layers = [
        (_to_image(token), channel, norms + 2) if i in listed else (token, channel, norms)
        for i, (token, channel, norms) in enumerate(standard_layers(r, f))
    ]
    # The table has rows for the image token and its neighbours that the head has not.
    return architecture(r, f, layers, lookup_parameters=8 * r.integer("hidden"))


def _to_image(mixer: TokenMixer) -> TokenMixer:
    return mixer.model_copy(update={"source": "image", "qk_norm": "per_head"})
