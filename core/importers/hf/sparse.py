"""Families that read only a part of a long context, picked by a small attention of its own."""

from core.importers.hf.assemble import Layer, architecture, norm
from core.importers.hf.attention import MAX_HEADS, attention, head_dim, heads, latent_attention
from core.importers.hf.channels import channels
from core.importers.hf.family import Family
from core.importers.hf.hybrid import attends, qwen_next_attention
from core.importers.hf.reader import Reader
from core.importers.hf.recurrent import kimi_delta
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    SparseIndexer,
    TokenMixer,
)

_MAX_NGRAM_TABLES = 64


def hyper_connection(hidden: int, streams: int) -> int:
    """Manifold-constrained hyper-connections around both halves of a layer."""
    mixed = streams * streams + 2 * streams
    return 2 * (mixed * streams * hidden + mixed + 3)


def hyper_head(hidden: int, streams: int) -> int:
    """What joins the streams behind the last layer."""
    return streams * streams * hidden + streams + 1


def v4_mixer(r: Reader, ratio: int) -> CompressedAttention:
    """DeepSeek V4: a window, and beyond it entries of 4 tokens that an indexer picks, or of many."""
    dim = head_dim(r)
    base = CompressedAttention(
        heads=heads(r),
        head_dim=dim,
        query_rank=r.integer("q_lora_rank", high=65536),
        output_groups=r.integer("o_groups", high=MAX_HEADS),
        output_rank=r.integer("o_lora_rank", high=65536),
        window=r.integer("sliding_window"),
        sinks=True,
    )
    if not ratio:
        return base
    update: dict[str, object] = {
        "tokens_per_entry": ratio,
        "compressor_projections": 2,  # value and gate
        "other_parameters": ratio * dim,  # a bias for each place in an entry
    }
    if ratio <= 16:
        # Neighbouring entries overlap, so there are two of everything.
        index_dim = r.integer("index_head_dim", high=65536)
        update |= {"compressor_projections": 4, "other_parameters": 2 * ratio * dim}
        update["indexer"] = SparseIndexer(
            heads=r.integer("index_n_heads", high=MAX_HEADS),
            head_dim=index_dim,
            top_k=r.integer("index_topk") * ratio,
            tokens_per_key=ratio,
            key_projections=4,
            # One norm instead of two, and the places' biases.
            other_parameters=max(0, (2 * ratio - 1) * index_dim),
        )
    return base.model_copy(update=update)


def deepseek_v4(r: Reader, f: Family) -> Architecture:
    """DeepSeek V4: compressed attention, experts everywhere, hyper-connections."""
    n, h = r.layers, r.integer("hidden")
    ratios = r.per_layer(n, "compress_ratios")
    if ratios is None:
        r.fail("missing_field", "compress_ratios")
    made = {ratio: v4_mixer(r, ratio) for ratio in set(ratios)}
    streams = r.count("hc_mult", default=4) or 1
    layers: list[Layer] = [
        (made[ratio], channel, 2 * norm(r, f))
        for ratio, channel in zip(ratios, channels(r, f, n), strict=True)
    ]
    return architecture(
        r,
        f,
        layers,
        other=hyper_connection(h, streams),
        other_text_parameters=hyper_head(h, streams),
    )


def minimax_m3_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """MiniMax-M3: grouped-query attention whose indexer picks blocks of tokens."""
    full = attention(r, f, layers)
    part = r.section("sparse_attention_config")
    if part is None or not part.flag("use_sparse_attention", True):
        return full
    indexer = SparseIndexer(
        heads=part.integer("sparse_num_index_heads", high=MAX_HEADS),
        head_dim=part.integer("sparse_index_dim", high=65536),
        top_k=part.integer("sparse_topk_blocks") * part.integer("sparse_block_size"),
        head_weights=False,
    )
    sparse = part.per_layer(layers, "sparse_attention_freq") or [1] * layers
    return [
        mixer.model_copy(update={"indexer": indexer}) if chosen else mixer
        for mixer, chosen in zip(full, sparse, strict=True)
    ]


def qwen4_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """Qwen4: as Qwen3-Next, and full layers read what an indexer over pooled keys picks."""
    indexer = SparseIndexer(
        heads=r.integer("indexer_n_heads", high=MAX_HEADS),
        head_dim=r.integer("indexer_head_dim", high=65536),
        top_k=r.integer("indexer_budget"),
        tokens_per_key=r.integer("indexer_compress_ratio", high=10**6),
        key_projections=r.integer("indexer_kv_heads", high=64),
        head_weights=False,
    )
    return [
        mixer.model_copy(update={"indexer": indexer}) if isinstance(mixer, Attention) else mixer
        for mixer in qwen_next_attention(r, f, layers)
    ]


def qwen4(r: Reader, f: Family) -> Architecture:
    """Qwen4: gated residual streams instead of norms, and hashed n-grams looked up in a few layers."""
    n, h = r.layers, r.integer("hidden")
    streams, rank = r.integer("hc_count", high=64), r.integer("hc_lowrank", high=65536)
    wide = streams * h
    mixer = wide + 2 * wide * rank  # norm, down, up
    lookups = {r.check("ple_layer_ids", i, 1, n) for i in (r.items("ple_layer_ids") or ())[:n]}
    width = r.integer("ple_embed_dim", high=10**6) if lookups else 0
    taps = r.count("ple_conv_kernel_size", default=4)
    lookup = width * (wide + h) + 3 * wide + wide * taps
    tokens, mixers = qwen4_attention(r, f, n), channels(r, f, n)
    layers: list[Layer] = [(token, channel, 0) for token, channel in zip(tokens, mixers, strict=True)]
    around = 2 * (mixer + streams * wide)
    return architecture(
        r,
        f,
        layers,
        [around + (lookup if i in lookups else 0) for i in range(1, n + 1)],
        final_norm_parameters=0,
        other_text_parameters=mixer,
        lookup_parameters=_ngram_tables(r, len(lookups), width),
    )


def _ngram_tables(r: Reader, tables: int, width: int) -> int:
    """Rows are primes from the stated base on, one for each hash, all tables padded to a multiple."""
    hashes = (r.integer("ngram_size", high=16) - 1) * r.integer("heads_per_ngram", high=64) if tables else 0
    if not hashes:
        return 0
    if tables * hashes > _MAX_NGRAM_TABLES:
        r.fail("out_of_range", "heads_per_ngram", value=tables * hashes, low=1, high=_MAX_NGRAM_TABLES)
    rows = _primes_from(r.integer("ngram_vocab_size_base"), tables * hashes)
    step = r.count("make_ngram_vocab_size_divisible_by", default=1) or 1
    per_table = (sum(rows[i * hashes : (i + 1) * hashes]) for i in range(tables))
    return sum(-(-total // step) * step for total in per_table) * (width // hashes)


def _primes_from(start: int, count: int) -> list[int]:
    found: list[int] = []
    candidate = max(2, start)
    while len(found) < count:
        if candidate == 2 or (candidate % 2 and all(candidate % d for d in range(3, _root(candidate), 2))):
            found.append(candidate)
        candidate += 1
    return found


def _root(number: int) -> int:
    return int(number**0.5) + 2 if number > 8 else 3


def glm5_next_attention(r: Reader, f: Family, layers: int) -> list[TokenMixer]:
    """GLM-5 Next: Kimi Delta Attention, and latent attention with an indexer over pooled keys."""
    pooled = r.integer("index_kpool", high=10**6)
    config = {key: value for key, value in r.config.items() if key != "layer_types"}
    full = latent_attention(Reader(config, r.model_type, r.defaults, r.prefix), f, layers)
    linear = kimi_delta(
        r,
        r.integer("linear_num_heads", high=65536),
        r.integer("linear_head_dim", high=65536),
        r.integer("linear_conv_kernel_dim", high=1024),
    )
    attending = attends(r, layers)
    return [
        _pooled(mixer, pooled) if attend else linear for mixer, attend in zip(full, attending, strict=True)
    ]


def _pooled(mixer: TokenMixer, pooled: int) -> TokenMixer:
    if not isinstance(mixer, LatentAttention) or mixer.indexer is None:
        return mixer
    update = {
        "tokens_per_key": pooled,
        "key_projections": 2,  # key and gate of the pooling
        "other_parameters": pooled * mixer.indexer.head_dim,
    }
    return mixer.model_copy(update={"indexer": mixer.indexer.model_copy(update=update)})


def glm5_next(r: Reader, f: Family) -> Architecture:
    """GLM-5 Next: hybrid attention, experts, hyper-connections."""
    n, h = r.layers, r.integer("hidden")
    streams = r.count("hc_mult", default=4) or 1
    layers: list[Layer] = [
        (token, channel, 2 * norm(r, f))
        for token, channel in zip(glm5_next_attention(r, f, n), channels(r, f, n), strict=True)
    ]
    return architecture(r, f, layers, hyper_connection(h, streams))
