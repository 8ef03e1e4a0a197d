"""Gemma 3n and Gemma 4: layers that reuse a cache, embeddings of their own for every layer."""

from core.importers.hf.assemble import architecture, norm
from core.importers.hf.attention import FULL, Window, attention, head_dim
from core.importers.hf.channels import dense_block, experts
from core.importers.hf.family import Family
from core.importers.hf.reader import Reader
from core.spec.architecture import Architecture, Attention, DenseMlp, TokenMixer


def reusing(r: Reader, mixers: list[TokenMixer]) -> list[TokenMixer]:
    """The last layers take keys and values from earlier ones."""
    shared = r.count("num_kv_shared_layers")
    first = len(mixers) - shared
    return [
        mixer.model_copy(update={"reuses_cache": True}) if i >= first else mixer
        for i, mixer in enumerate(mixers)
    ]


def _inputs_of_layers(r: Reader, f: Family, layers: int) -> tuple[int, int, int]:
    """Embeddings that each layer looks up for itself: in each layer, before them, and the table."""
    h, width = r.integer("hidden"), r.count("hidden_size_per_layer_input")
    if not width:
        return 0, 0, 0
    rows = r.integer("vocab_size_per_layer_input", "vocabulary", high=10**7)
    return 2 * h * width + norm(r, f), h * layers * width + width, rows * layers * width


def gemma4_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Gemma 4: full layers have wider and fewer heads, whose values are their keys."""
    global_dim = r.optional("global_head_dim", low=1) or head_dim(r)
    same = r.flag("attention_k_eq_v")
    global_kv = r.optional("num_global_key_value_heads", low=1) if same else None

    def make(mixer: Attention, window: Window) -> Attention:
        if window != FULL:
            return mixer
        kv = mixer.kv_heads if global_kv is None else global_kv
        return mixer.model_copy(update={"head_dim": global_dim, "kv_heads": kv, "key_is_value": same})

    return attention(r, f, layers, make)


def gemma4(r: Reader, f: Family) -> Architecture:
    """Gemma 4: dense, with a dense block beside experts, or with embeddings for every layer."""
    hidden, n = r.integer("hidden"), r.layers
    tokens = reusing(r, gemma4_attention(r, f, n))
    block = dense_block(r, f)
    if not r.flag("enable_moe_block"):
        wide = r.flag("use_double_wide_mlp")
        double = block.model_copy(update={"intermediate": 2 * block.intermediate}) if wide else block
        own = [double if _reuses(token) else block for token in tokens]
        inner, before, table = _inputs_of_layers(r, f, n)
        layers = [(t, b, f.norms * hidden) for t, b in zip(tokens, own, strict=True)]
        return architecture(
            r,
            f,
            layers,
            other=inner,
            lookup_parameters=table,
            other_text_parameters=before,
        )
    moe = experts(r, f, r.integer("experts_per_token"), r.integer("expert_intermediate"), 0)
    # The router scales its input and each expert's output.
    moe = moe.model_copy(
        update={"dense_intermediate": block.intermediate, "other_parameters": hidden + moe.experts}
    )
    return architecture(r, f, [(token, moe, (f.norms + 3) * hidden) for token in tokens])


def _reuses(mixer: TokenMixer) -> bool:
    return isinstance(mixer, Attention) and mixer.reuses_cache


def gemma3n(r: Reader, f: Family) -> Architecture:
    """Gemma 3n: several residual streams (AltUp), a narrow side path (LAuReL), inputs for every layer."""
    h, n = r.integer("hidden"), r.layers
    tokens = reusing(r, attention(r, f, n))
    widths = r.per_layer(n, "intermediate")
    if widths is None:
        r.fail("missing_field", "intermediate_size")
    streams, rank = r.count("altup_num_inputs", default=4), r.count("laurel_rank", default=64)
    laurel = 2 * h * rank + h
    # Scale, correction, prediction, router and its norm.
    altup = h + streams * streams + streams**3 + h * streams + h
    inner, before, table = _inputs_of_layers(r, f, n)
    layers = [
        (token, DenseMlp(intermediate=max(1, width)), f.norms * h)
        for token, width in zip(tokens, widths, strict=True)
    ]
    return architecture(
        r,
        f,
        layers,
        other=laurel + altup + inner,
        lookup_parameters=table,
        other_text_parameters=before + 2 * max(0, streams - 1) * h * h,
    )
