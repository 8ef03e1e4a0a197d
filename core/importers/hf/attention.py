"""Token mixers: grouped-query attention with its windows, and latent attention."""

from collections.abc import Callable
from typing import Any, Literal, NoReturn

from core.importers.hf.family import Family
from core.importers.hf.reader import Reader, brief
from core.spec.architecture import Attention, LatentAttention, SparseIndexer, TokenMixer

MAX_HEADS = 4096
MAX_CONTEXT = 10**9  # more than this is a way of saying that nothing is said
Window = tuple[int | None, Literal["sliding", "chunked"]]
FULL: Window = (None, "sliding")
_FULL_NAMES = ("full_attention", "attention", "global", "global_attention")


CONTEXT_NAMES = (
    "max_position_embeddings",
    "max_position_embedding",
    "model_max_length",
    "max_seq_len",
    "max_sequence_length",
    "n_positions",
    "seq_length",
)


def max_context(r: Reader) -> int | None:
    """The longest context that the file states, tokens."""
    stated = [r.config.get(name, r.defaults.get(name)) for name in CONTEXT_NAMES]
    lengths = [int(n) for n in stated if isinstance(n, int | float) and 1 < n <= MAX_CONTEXT]
    return max(lengths, default=None)


def refuse_context(*places: Reader) -> NoReturn:
    """Say why there is no longest context: the value that cannot be, else the name that nothing is under."""
    for r in places:
        for name in CONTEXT_NAMES:
            if r.stated(name):
                value = r.config[name]
                if isinstance(value, bool) or not isinstance(value, int | float):
                    r.wrong_type(name, value)
                r.fail("out_of_range", name, value=brief(value), low=2, high=MAX_CONTEXT)
    places[0].fail("missing_field", CONTEXT_NAMES[0])


def windows(r: Reader, f: Family, layers: int) -> list[Window]:
    """For each layer how far it looks back, and how the window moves."""
    types = r.items("layer_types", layers)
    if types is not None:
        return [_typed_window(r, kind) for kind in types]
    window = r.optional("sliding_window")
    if f.window == "none" or not window or (f.window == "flag" and not r.flag("use_sliding_window")):
        return [FULL] * layers
    bounded: Window = (_useful(r, window), "sliding")
    if f.window == "all":
        return [bounded] * layers
    if f.window == "flag":
        first = r.count("max_window_layers")
        return [bounded if i >= first else FULL for i in range(layers)]
    return [FULL if last else bounded for last in _pattern(r, f, layers)]


def _pattern(r: Reader, f: Family, layers: int) -> list[bool]:
    """Which layers look at everything."""
    names = (
        "sliding_window_pattern",
        "_sliding_window_pattern",
        "layer_switch",
        "global_attn_every_n_layers",
    )
    name, value = r.find(*names)
    if isinstance(value, str):  # "LLLG": local, local, local, global
        if not value or set(value) - set("LG"):
            r.wrong_type(name, value)
        return [value[i % len(value)] == "G" for i in range(layers)]
    every = r.optional(*names, low=1) or f.pattern
    return [(i + 1) % every == 0 for i in range(layers)]


def _typed_window(r: Reader, kind: Any) -> Window:
    if kind == "sliding_attention":
        return (_useful(r, r.integer("sliding_window")), "sliding")
    if kind == "chunked_attention":
        return (_useful(r, r.integer("attention_chunk_size")), "chunked")
    if kind not in _FULL_NAMES:
        r.fail("unknown_layer", "layer_types", value=brief(kind))
    return FULL


def _useful(r: Reader, window: int) -> int | None:
    """A window beyond the context bounds nothing."""
    longest = max_context(r)
    return None if longest is not None and window > longest else window


def heads(r: Reader) -> int:
    """Number of query heads."""
    return r.integer("heads", high=MAX_HEADS)


def head_dim(r: Reader) -> int:
    """Stated, or hidden divided by heads."""
    stated = r.optional("head_dim", low=1, high=65536)
    return max(1, r.integer("hidden") // heads(r)) if stated is None else stated


def kv_heads(r: Reader) -> int:
    """Key and value heads; multi-head attention where the file says nothing."""
    stated, queries = r.optional("kv_heads", low=1, high=MAX_HEADS), heads(r)
    if stated is None:
        return queries
    if queries % stated:  # each of them serves as many query heads as any other
        r.fail("heads_uneven", r.find("kv_heads")[0], value=stated, heads=queries)
    return stated


def attention(
    r: Reader, f: Family, layers: int, make: Callable[[Attention, Window], Attention] | None = None
) -> list[TokenMixer]:
    """Grouped-query attention of every layer.  ``make`` adapts a mixer to its window."""
    norm = f.qk_norm if not f.qk_norm_flag or r.flag(f.qk_norm_flag) else "none"
    base = Attention(
        heads=heads(r),
        kv_heads=kv_heads(r),
        head_dim=head_dim(r),
        qkv_bias=r.switch(f.qkv_bias),
        output_bias=r.switch(f.output_bias),
        qk_norm=norm,
        output_gate=f.output_gate,
        sinks=f.sinks,
    )
    made: dict[Window, TokenMixer] = {}
    for window in (kinds := windows(r, f, layers)):
        if window not in made:
            bounded = base.model_copy(update={"window": window[0], "window_kind": window[1]})
            made[window] = make(bounded, window) if make else bounded
    return [made[window] for window in kinds]


def latent_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Multi-head latent attention, with the sparse indexer where the file has one."""
    n, rank = heads(r), r.optional("q_lora_rank", low=1, high=65536)
    value_dim = r.optional("v_head_dim", low=1, high=65536)
    kv_rank, rope = r.integer("kv_lora_rank", high=65536), r.count("qk_rope_head_dim")
    # A query and a latent bias, and one behind the output.
    biased = r.switch(f.output_bias)
    mixer = LatentAttention(
        heads=n,
        query_rank=rank,
        kv_rank=kv_rank,
        nope_head_dim=r.integer("qk_nope_head_dim", low=0, high=65536),
        rope_head_dim=rope,
        value_head_dim=max(1, r.integer("hidden") // n) if value_dim is None else value_dim,
        other_parameters=((rank or 0) + kv_rank + rope + r.integer("hidden")) if biased else 0,
    )
    if not r.stated("index_n_heads"):
        return [mixer] * layers
    indexer = SparseIndexer(
        heads=r.integer("index_n_heads", high=MAX_HEADS),
        head_dim=r.integer("index_head_dim", high=65536),
        top_k=r.integer("index_topk"),
    )
    choosing = mixer.model_copy(update={"indexer": indexer})
    following = mixer.model_copy(update={"indexer": indexer.model_copy(update={"reuses_choice": True})})
    kinds = r.items("indexer_types", layers) or ["full"] * layers
    return [following if kind == "shared" else choosing for kind in kinds]
