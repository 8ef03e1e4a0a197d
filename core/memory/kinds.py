"""What the layers of a model keep on one device, in bytes, as the servers store it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from core.memory.demand import WindowKind
from core.model.cache import CacheKind, cache_kinds, mtp_cache_kinds
from core.spec.architecture import Architecture, LatentAttention, RecurrentMixer
from core.spec.formats import CACHE_FORMATS

# The keys of a sparse indexer are kept in FP8 with a scale of 4 bytes for each 128; beside them an FP8
# latent has 4 scales of 4 bytes for 512 elements and its rotary part in 16 bits
# (https://github.com/sgl-project/sglang/pull/11309: 656 + 132 bytes a layer).
_INDEX_SCALE = Fraction(4, 128)
_LATENT = ("mla", "index_keys")
_HEAD_STEP = 256
_LATENT_SCALE = Fraction(16, 512)


@dataclass(frozen=True, slots=True)
class LayerKind:
    """Layers that keep the same bytes of a token.  ``window``: tokens kept at most, None: all."""

    what: str
    layers: int
    token_bytes: Fraction
    window: int | None
    window_kind: WindowKind


@cache
def layer_kinds(arch: Architecture, cache_format: str, tensor_parallel: int) -> tuple[LayerKind, ...]:
    """The kinds of cache of one device, as the servers with paged caches store them."""
    return _stored(arch, cache_kinds(arch, tensor_parallel), cache_format)


@cache
def draft_kinds(arch: Architecture, cache_format: str, tensor_parallel: int) -> tuple[LayerKind, ...]:
    """The same of the model's own prediction module."""
    return _stored(arch, mtp_cache_kinds(arch, tensor_parallel), cache_format)


def _stored(arch: Architecture, kinds: tuple[CacheKind, ...], cache_format: str) -> tuple[LayerKind, ...]:
    sparse = any(kind.what == "index_keys" for kind in kinds)
    return tuple(
        LayerKind(
            kind.what,
            kind.layers,
            _token_bytes(kind, cache_format, sparse, arch) / kind.tokens_per_entry,
            kind.window,
            "chunked" if kind.what == "chunked" else "sliding",
        )
        for kind in kinds
    )


@cache
def padded_heads(arch: Architecture, cache_format: str, tensor_parallel: int) -> tuple[LayerKind, ...]:
    """The kinds of an engine that knows no latent: keys and values of every head, padded to a head size
    that its kernels have (vLLM 0.6.6: 192 to 256; ledger of DeepSeek-V3 on 16 devices)."""
    latent = []
    for group in arch.kinds:
        for mixer in group.token_mixers:
            if isinstance(mixer, LatentAttention):
                size = -(-(mixer.nope_head_dim + mixer.rope_head_dim) // _HEAD_STEP) * _HEAD_STEP
                elements = 2 * max(1, math.ceil(mixer.heads / tensor_parallel)) * size
                bits = CACHE_FORMATS[cache_format].bits
                latent.append(LayerKind("full", group.count, elements * bits / 8, None, "sliding"))
    others = (k for k in layer_kinds(arch, cache_format, tensor_parallel) if k.what not in _LATENT)
    return (*latent, *others)


def _token_bytes(kind: CacheKind, cache_format: str, sparse: bool, arch: Architecture) -> Fraction:
    if kind.what == "index_keys":
        return kind.elements * (1 + _INDEX_SCALE)
    if kind.what == "mla" and sparse and cache_format == "fp8":
        rotary = _rotary(arch)
        latent = kind.elements - rotary
        return latent * (1 + _LATENT_SCALE) + 2 * rotary
    return kind.elements * Fraction(kind.bits or CACHE_FORMATS[cache_format].bits) / 8


def _rotary(arch: Architecture) -> int:
    widths = (getattr(mixer, "rope_head_dim", 0) for g in arch.kinds for mixer in g.token_mixers)
    return max(widths, default=0)


@cache
def state_layers(arch: Architecture, tensor_parallel: int, least_bits: int = 16) -> list[tuple[int, int]]:
    """Layers with a recurrent state and the bytes of one state on one device.

    ``least_bits``: an engine may keep the recurrent part wider than the model says.
    """
    found = []
    for group in arch.kinds:
        for mixer in group.token_mixers:
            if isinstance(mixer, RecurrentMixer):
                bits = (
                    mixer.state_elements * max(mixer.state_bits, least_bits) + mixer.convolution_elements * 16
                )
                found.append((group.count, math.ceil(Fraction(bits, 8 * tensor_parallel))))
    return found
