"""The KV cache and the recurrent state that a model keeps for each sequence."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import numpy as np

from core.quantities import FloatArray, as_array
from core.spec.architecture import Architecture, Attention, LatentAttention, RecurrentMixer
from core.spec.formats import CacheFormat

CacheWhat = Literal["full", "sliding", "chunked", "mla", "index_keys"]


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Layers that cache alike.  ``elements`` are per token and layer on one device."""

    what: CacheWhat
    layers: int
    elements: int
    window: int | None = None  # tokens kept at most; None: all of them
    bits: Fraction | None = None  # None: the bits of the cache format

    def bytes_per_token(self, fmt: CacheFormat) -> Fraction:
        """Bytes of one token over these layers, the window not applied."""
        return self.layers * self.elements * (self.bits or fmt.bits) / 8


def _attention_elements(mixer: Attention, tensor_parallel: int) -> int:
    # With more devices than KV heads every device still holds one whole head.
    heads = max(1, math.ceil(mixer.kv_heads / tensor_parallel))
    value_dim = mixer.head_dim if mixer.value_head_dim is None else mixer.value_head_dim
    return heads * (mixer.head_dim + value_dim)


@cache
def cache_kinds(arch: Architecture, tensor_parallel: int = 1) -> tuple[CacheKind, ...]:
    """Kinds of cache in order of first appearance; layers that reuse a cache count in none."""
    merged: dict[tuple[CacheWhat, int, int | None], int] = {}

    def add(what: CacheWhat, layers: int, elements: int, window: int | None = None) -> None:
        key = (what, elements, window)
        merged[key] = merged.get(key, 0) + layers

    for group in arch.kinds:
        match group.token_mixer:
            case Attention() as mixer if not mixer.reuses_cache:
                what: CacheWhat = "full" if mixer.window is None else mixer.window_kind
                add(what, group.count, _attention_elements(mixer, tensor_parallel), mixer.window)
            case LatentAttention() as latent:
                # One latent serves all heads, so it is not divided among devices.
                add("mla", group.count, latent.kv_rank + latent.rope_head_dim)
                if latent.indexer is not None and not latent.indexer.reuses_choice:
                    add("index_keys", group.count, latent.indexer.head_dim)
    return tuple(
        CacheKind(what, layers, elements, window) for (what, elements, window), layers in merged.items()
    )


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


def recurrent_state_bytes(arch: Architecture, tensor_parallel: int = 1) -> int:
    """Bytes of one sequence's recurrent and convolution state on one device, any length."""
    bits = 0
    for group in arch.kinds:
        match group.token_mixer:
            case RecurrentMixer() as mixer:
                bits += group.count * (
                    mixer.state_elements * mixer.state_bits + mixer.convolution_elements * 16
                )
    return math.ceil(Fraction(bits, 8 * tensor_parallel))
