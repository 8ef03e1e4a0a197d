"""How vLLM pages the cache: block size, groups of layers, padding layers, pages of states."""

import math
from fractions import Fraction
from functools import lru_cache

from core.memory.demand import CacheDemand, PageGroup, WindowKind
from core.memory.kinds import layer_kinds, padded_heads, state_layers
from core.memory.vllm_compressed import compressed_groups, compresses
from core.memory.vllm_rules import Band
from core.model.cache import recurrent_state_bytes
from core.spec.architecture import Architecture

# From this ratio of layer counts on, the larger type is cut into groups as large as the smaller;
# below it the smaller is padded to the larger (vLLM v1/core/kv_cache_utils.py).
_PAD_BELOW = 1.25
# A block is enlarged in steps of this many tokens until it holds a state (vLLM platforms/interface.py).
_STATE_STEP = 16

_Type = tuple[int | None, WindowKind]


@lru_cache(maxsize=4096)
def demand(
    arch: Architecture,
    cache_format: str,
    tensor_parallel: int,
    block: int,
    hybrid: bool,
    unequal: bool,
    latent: bool = True,
) -> CacheDemand:
    """Pages of one device.  MLA is not divided by TP and KV heads are never cut (``core.model.cache``).

    Layers of one page size and several windows are cut into groups of equal layer count, the last of
    each type filled with padding layers; a block serves one group.  Before the hybrid cache
    manager, and before 0.21 where page sizes differ, every layer keeps all tokens.
    With recurrent layers a block is enlarged until it holds a state, and a state takes a whole page.
    """
    if compresses(arch):
        states_of = recurrent_state_bytes(arch, tensor_parallel)
        return CacheDemand(compressed_groups(arch, cache_format, block), states_of)
    tokens: dict[_Type, list[tuple[int, Fraction]]] = {}
    kinds = layer_kinds(arch, cache_format, tensor_parallel)
    for kind in kinds if latent else padded_heads(arch, cache_format, tensor_parallel):
        tokens.setdefault((kind.window, kind.window_kind), []).append((kind.layers, kind.token_bytes))
    states = state_layers(arch, tensor_parallel)
    sizes = {size for type_ in tokens.values() for _, size in type_}
    if states and hybrid and len(sizes) == 1:
        return _with_states(tokens, states, block)
    pages = {kind: [(n, math.ceil(size * block)) for n, size in layers] for kind, layers in tokens.items()}
    if len(pages) <= 1 or (hybrid and unequal and len(sizes) > 1):
        groups = [_sum_of(kind, layers, block) for kind, layers in pages.items()]
    elif hybrid and len(sizes) == 1:
        groups = _equal_groups(pages, block)
    elif pages:
        groups = [
            PageGroup(math.ceil(max(sizes) * block) * sum(n for t in pages.values() for n, _ in t), block)
        ]
    else:
        groups = []
    return CacheDemand(tuple(groups), recurrent_state_bytes(arch, tensor_parallel))


def make_demand(
    arch: Architecture, cache_format: str, tensor_parallel: int, block: int, band: Band
) -> CacheDemand:
    """The demand under the rules of a version."""
    return demand(
        arch, cache_format, tensor_parallel, block, band.hybrid_cache, band.unequal_pages, band.latent_cache
    )


def _with_states(
    tokens: dict[_Type, list[tuple[int, Fraction]]], states: list[tuple[int, int]], block: int
) -> CacheDemand:
    per_token = next(iter(tokens.values()))[0][1]
    largest = max(size for _, size in states)
    needed = math.ceil(largest / per_token / _STATE_STEP) * _STATE_STEP
    enlarged = max(block, needed)
    page = math.ceil(per_token * enlarged)
    pages: dict[_Type, list[tuple[int, int]]] = {
        kind: [(n, page) for n, _ in layers] for kind, layers in tokens.items()
    }
    pages[(1, "state")] = [(n, page) for n, _ in states]
    return CacheDemand(tuple(_equal_groups(pages, enlarged)))


def _sum_of(kind: _Type, layers: list[tuple[int, int]], block: int) -> PageGroup:
    return PageGroup(sum(n * page for n, page in layers), block, *kind)


def _equal_groups(pages: dict[_Type, list[tuple[int, int]]], block: int) -> list[PageGroup]:
    counts = {kind: sum(n for n, _ in layers) for kind, layers in pages.items()}
    page = next(iter(pages.values()))[0][1]
    least, most = min(counts.values()), max(counts.values())
    size = most if most < _PAD_BELOW * least else least
    groups = []
    for kind, n in counts.items():
        # Each group of a type has blocks of its own, so a state costs one page in each.
        groups.append(PageGroup(page * size * math.ceil(n / size), block, *kind))
    return groups
