"""Which operator of a layer a matrix is, by its shape: (inputs, outputs) on one of several devices.

Engines merge matrices that read the same input (queries, keys and values; gate and up), so both the single
and the merged ones are listed.  A shape that two operators have is neither's.
"""

import re
from collections.abc import Iterator

from core.spec.architecture import Architecture, Attention, DenseMlp, LatentAttention, MixtureOfExperts

_NAMED = re.compile(r" \[(\d{1,9})×(\d{1,9})\]$")
_PADDED = 64  # the head's outputs are padded to a multiple of this on each device
Shape = tuple[int, int]


def named(kernel: str, shape: Shape) -> str:
    """The name under which a profile keeps a kernel with the shape of its matrix."""
    return f"{kernel} [{shape[0]}×{shape[1]}]"


def shape_of(name: str) -> Shape | None:
    """The shape in a name that ``named`` made."""
    found = _NAMED.search(name)
    return None if found is None else (int(found[1]), int(found[2]))


def matrix_shape(dims: object) -> Shape | None:
    """Inputs and outputs of a product, from the "Input Dims" of its operator.

    The first list of two or more dimensions is the activations (…, k), the next with k in it the matrix.
    """
    if not isinstance(dims, list) or len(dims) > 64:
        return None
    sized = [d for d in dims if isinstance(d, list) and len(d) >= 2 and all(type(n) is int for n in d)]
    if len(sized) < 2 or len(sized[1]) != 2:
        return None
    inputs, (rows, columns) = sized[0][-1], sized[1]
    outputs = columns if rows == inputs else rows if columns == inputs else 0
    return (inputs, outputs) if 0 < inputs < 10**9 and 0 < outputs < 10**9 else None


def parts_by_shape(arch: Architecture, tensor_parallel: int) -> dict[Shape, str]:
    """Operator key by shape: "projections", "mlp", "shared_experts", "router" or "head"."""
    found: dict[Shape, str] = {}
    doubtful: set[Shape] = set()
    for shape, part in _shapes(arch, max(1, tensor_parallel)):
        if found.setdefault(shape, part) != part:
            doubtful.add(shape)
    return {shape: part for shape, part in found.items() if shape not in doubtful}


def _shapes(arch: Architecture, tp: int) -> Iterator[tuple[Shape, str]]:
    h = arch.hidden
    for group in arch.kinds:
        mixer, channel = group.token_mixer, group.channel_mixer
        if isinstance(mixer, Attention):
            yield from ((shape, "projections") for shape in _attention(mixer, h, tp))
        elif isinstance(mixer, LatentAttention):
            yield from ((shape, "projections") for shape in _latent(mixer, h, tp))
        if isinstance(channel, DenseMlp):
            yield from ((shape, "mlp") for shape in _block(h, channel.intermediate, tp))
        elif isinstance(channel, MixtureOfExperts):
            yield (h, channel.experts), "router"
            if channel.shared_intermediate:
                yield from ((s, "shared_experts") for s in _block(h, channel.shared_intermediate, tp))
            if channel.dense_intermediate:
                yield from ((shape, "mlp") for shape in _block(h, channel.dense_intermediate, tp))
    for outputs in {-(-arch.vocabulary // tp), -(-arch.vocabulary // (_PADDED * tp)) * _PADDED}:
        yield (h, outputs), "head"


def _attention(mixer: Attention, h: int, tp: int) -> Iterator[Shape]:
    queries = mixer.heads * mixer.head_dim // tp
    keys = max(1, mixer.kv_heads // tp) * mixer.head_dim  # heads are copied where they are too few
    values = max(1, mixer.kv_heads // tp) * (mixer.value_head_dim or mixer.head_dim)
    gated = 2 * queries if mixer.output_gate == "elementwise" else queries
    for outputs in (gated + keys + values, gated, queries, keys, values, keys + values):
        yield h, outputs
    yield mixer.heads * (mixer.value_head_dim or mixer.head_dim) // tp, h


def _latent(mixer: LatentAttention, h: int, tp: int) -> Iterator[Shape]:
    heads, cached = mixer.heads // tp, mixer.kv_rank + mixer.rope_head_dim
    queries = heads * (mixer.nope_head_dim + mixer.rope_head_dim)
    rank = mixer.query_rank
    yield h, cached
    yield from ((h, rank + cached), (h, rank), (rank, queries)) if rank else ((h, queries),)
    yield mixer.kv_rank, heads * (mixer.nope_head_dim + mixer.value_head_dim)
    yield heads * mixer.value_head_dim, h


def _block(h: int, width: int, tp: int) -> Iterator[Shape]:
    yield h, 2 * width // tp
    yield h, width // tp
    yield width // tp, h
