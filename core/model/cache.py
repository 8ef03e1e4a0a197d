"""The KV cache and the recurrent state that a model keeps for each sequence."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np

from core.quantities import FloatArray, as_array
from core.spec.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    LayerGroup,
    RecurrentMixer,
    SparseIndexer,
)
from core.spec.formats import CacheFormat

CacheWhat = Literal[
    "full", "sliding", "chunked", "mla", "index_keys", "shared_vector", "compressed", "image_tokens"
]


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Layers that cache alike.  ``elements`` are per entry and layer on one device.

    An entry stands for ``tokens_per_entry`` tokens, one unless the layer compresses what it keeps.
    """

    what: CacheWhat
    layers: int
    elements: int
    window: int | None = None  # tokens kept at most; None: all of them
    bits: Fraction | None = None  # None: the bits of the cache format
    tokens_per_entry: int = 1

    def bytes_per_token(self, fmt: CacheFormat) -> Fraction:
        """Bytes of one token over these layers, the window not applied."""
        return self.layers * self.elements * (self.bits or fmt.bits) / (8 * self.tokens_per_entry)


def _attention_elements(mixer: Attention, tensor_parallel: int) -> int:
    # With more devices than KV heads every device still holds one whole head.
    heads = max(1, math.ceil(mixer.kv_heads / tensor_parallel))
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    return heads * (mixer.head_dim + value_dim)


def _of_mixer(mixer: object, tensor_parallel: int) -> Iterator[CacheKind]:
    """What one layer keeps of each token."""
    match mixer:
        case Attention() if mixer.reuses_cache:
            return
        case Attention():
            what: CacheWhat = "full" if mixer.window is None else mixer.window_kind
            what = "image_tokens" if mixer.source == "image" else what
            yield CacheKind(what, 1, _attention_elements(mixer, tensor_parallel), mixer.window)
            yield from _index_keys(mixer.indexer)
        case LatentAttention():
            # One latent serves all heads, so it is not divided among devices.
            yield CacheKind("mla", 1, mixer.kv_rank + mixer.rope_head_dim)
            yield from _index_keys(mixer.indexer)
        case CompressedAttention():
            yield CacheKind("shared_vector", 1, mixer.head_dim, mixer.window)
            if mixer.tokens_per_entry is not None:
                yield CacheKind("compressed", 1, mixer.head_dim, tokens_per_entry=mixer.tokens_per_entry)
            yield from _index_keys(mixer.indexer)


def _index_keys(indexer: SparseIndexer | None) -> Iterator[CacheKind]:
    if indexer is not None and not indexer.reuses_choice:
        yield CacheKind("index_keys", 1, indexer.head_dim, tokens_per_entry=indexer.tokens_per_key)


def _merged(groups: Iterable[LayerGroup], tensor_parallel: int) -> tuple[CacheKind, ...]:
    merged: dict[CacheKind, int] = {}
    for group in groups:
        for mixer in group.token_mixers:
            for kind in _of_mixer(mixer, tensor_parallel):
                merged[kind] = merged.get(kind, 0) + group.count
    return tuple(replace(kind, layers=layers) for kind, layers in merged.items())


@cache
def cache_kinds(arch: Architecture, tensor_parallel: int = 1) -> tuple[CacheKind, ...]:
    """Kinds of cache that text fills, in order of first appearance.

    Layers that reuse a cache count in none; the prediction module has its own (``mtp_cache_kinds``),
    and so has what layers keep of an image (``image_cache_kinds``).
    """
    return tuple(kind for kind in _merged(arch.kinds, tensor_parallel) if kind.what != "image_tokens")


@cache
def image_cache_kinds(arch: Architecture, tensor_parallel: int = 1) -> tuple[CacheKind, ...]:
    """What cross-attending layers keep of each token of an image."""
    return tuple(kind for kind in _merged(arch.kinds, tensor_parallel) if kind.what == "image_tokens")


@cache
def mtp_cache_kinds(arch: Architecture, tensor_parallel: int = 1) -> tuple[CacheKind, ...]:
    """What the layers of the multi-token-prediction module keep of each token."""
    return _merged(arch.mtp_groups, tensor_parallel)


def kv_bytes_per_token(arch: Architecture, fmt: CacheFormat, tensor_parallel: int = 1) -> int:
    """Bytes of one token on one device, all layers, as if no window applied."""
    kinds = cache_kinds(arch, tensor_parallel)
    return math.ceil(sum((k.bytes_per_token(fmt) for k in kinds), Fraction(0)))


def kv_bytes_per_token_unbounded(arch: Architecture, fmt: CacheFormat, tensor_parallel: int = 1) -> int:
    """Bytes that one more token adds at long context: windowed layers left out."""
    kinds = (k for k in cache_kinds(arch, tensor_parallel) if k.window is None)
    return math.ceil(sum((k.bytes_per_token(fmt) for k in kinds), Fraction(0)))


def kv_bytes(arch: Architecture, fmt: CacheFormat, tokens: Any, tensor_parallel: int = 1) -> FloatArray:
    """Bytes of one sequence of ``tokens`` on one device, windows applied.  Shape of ``tokens``."""
    length = as_array(tokens)
    total = np.zeros_like(length)
    for kind in cache_kinds(arch, tensor_parallel):
        kept = length if kind.window is None else np.minimum(length, kind.window)
        total = total + float(kind.bytes_per_token(fmt)) * kept
    return total


def _recurrent_layers(arch: Architecture) -> Iterator[tuple[int, RecurrentMixer]]:
    for group in arch.kinds:
        for mixer in group.token_mixers:
            if isinstance(mixer, RecurrentMixer):
                yield group.count, mixer


def recurrent_state_elements(arch: Architecture) -> tuple[int, int]:
    """Elements of one sequence's convolution states and of its recurrent states, all layers."""
    layers = tuple(_recurrent_layers(arch))
    return (
        sum(n * mixer.convolution_elements for n, mixer in layers),
        sum(n * mixer.state_elements for n, mixer in layers),
    )


def recurrent_state_bytes(arch: Architecture, tensor_parallel: int = 1, state_bits: int | None = None) -> int:
    """Bytes of one sequence's recurrent and convolution state on one device, any length.

    ``state_bits``: of the recurrent state where an engine decides, None: as the model says.
    """
    bits = sum(
        n * (mixer.state_elements * (state_bits or mixer.state_bits) + mixer.convolution_elements * 16)
        for n, mixer in _recurrent_layers(arch)
    )
    return math.ceil(Fraction(bits, 8 * tensor_parallel))
