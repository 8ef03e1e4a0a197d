"""How vLLM pages a compressed cache (DeepSeek V4): one pool of blocks, as large as the largest group's.

    entries   one block of 256 tokens of every compressed layer and of its indexer's keys
    windows   blocks of 64 tokens of every layer's last tokens
    states    what the compressors have not compressed yet, FP32, in blocks of a few tokens

Every group takes blocks of the same pool.  A state looks back a few tokens only, but while a batch is
written all its tokens are held, so a request reserves max_num_batched_tokens / 4 blocks and more.
"""

import math
from collections import Counter
from collections.abc import Iterator

from core.memory.demand import PageGroup
from core.memory.vllm_rules import compressed_rules
from core.spec.architecture import Architecture, CompressedAttention
from core.spec.formats import CACHE_FORMATS

_FP32 = 4
_BOTH = 2  # keys' sums and their weights


def compresses(arch: Architecture) -> bool:
    """Whether any layer keeps compressed entries."""
    return any(isinstance(m, CompressedAttention) for g in arch.kinds for m in g.token_mixers)


def compressed_groups(arch: Architecture, cache_format: str, block: int) -> tuple[PageGroup, ...]:
    """The groups of one device; its share of a group of devices is the whole."""
    rules = compressed_rules()
    block = max(block, int(rules["block"]))
    layers = [
        (group.count, mixer)
        for group in arch.kinds
        for mixer in group.token_mixers
        if isinstance(mixer, CompressedAttention)
    ]
    entries = sum(n * _entries(mixer, cache_format, block) for n, mixer in layers)
    window_block = int(rules["window_block"])
    window = sum(n * _aligned(window_block * _entry(mixer, cache_format)) for n, mixer in layers)
    states: Counter[tuple[int, int]] = Counter()
    for n, mixer in layers:
        for looks_back, tokens, size in _states(mixer, cache_format, block):
            states[looks_back, tokens] += n * size
    # A block of the pool is as large as the largest group's; the windows are cut into groups of that size.
    page = max([entries, *states.values()]) or window
    found = [PageGroup(page, block)] if entries else []
    longest = max((mixer.window for _, mixer in layers), default=1)
    found += [PageGroup(page, window_block, longest)] * max(1, math.ceil(window / page))
    found += [PageGroup(page, tokens, looks_back) for looks_back, tokens in states]
    return tuple(found)


def _aligned(size: float) -> int:
    step = int(compressed_rules()["alignment"])
    return math.ceil(size / step) * step


def _entry(mixer: CompressedAttention, cache_format: str) -> int:
    """Bytes of one vector: in FP8 with its rotary part in 16 bits and its scales."""
    if cache_format == "fp8":
        return mixer.head_dim + int(compressed_rules()["beside_fp8"])
    return math.ceil(mixer.head_dim * CACHE_FORMATS[cache_format].bits / 8)


def _entries(mixer: CompressedAttention, cache_format: str, block: int) -> int:
    if mixer.tokens_per_entry is None:
        return 0
    size = _aligned(math.ceil(block / mixer.tokens_per_entry) * _entry(mixer, cache_format))
    if mixer.indexer is None or mixer.indexer.reuses_choice:
        return size
    keys = math.ceil(block / mixer.indexer.tokens_per_key)
    return size + _aligned(keys * mixer.indexer.head_dim * (1 + _FP32 / 128))


def _states(mixer: CompressedAttention, cache_format: str, block: int) -> Iterator[tuple[int, int, int]]:
    """Tokens that a compressor looks back, tokens of a block, bytes of a block; the indexer's beside it.

    Ratios up to four overlap: two entries are in the making.  A block is the power of two that a page of
    entries holds.
    """
    ratio = mixer.tokens_per_entry
    if ratio is None:
        return
    overlap = 2 if mixer.compressor_projections >= 4 else 1
    each = _BOTH * overlap * mixer.head_dim * _FP32
    room = _aligned(math.ceil(block / 4) * _entry(mixer, cache_format))
    tokens = 1 << max(0, int(math.log2(max(1, room // each))))
    yield overlap * ratio, tokens, _aligned(tokens * each)
    if mixer.indexer is not None and not mixer.indexer.reuses_choice:
        yield overlap * ratio, tokens, _aligned(tokens * _BOTH * overlap * mixer.indexer.head_dim * _FP32)
