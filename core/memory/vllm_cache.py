"""How vLLM pages the cache: block size, groups of layers, padding layers."""

import math
from functools import cache

from core.memory.demand import CacheDemand, PageGroup
from core.memory.vllm_rules import Band
from core.model.cache import CacheKind, cache_kinds, recurrent_state_bytes
from core.spec.architecture import Architecture
from core.spec.formats import CACHE_FORMATS

# From this ratio of layer counts on, the larger type is cut into groups as large as the smaller;
# below it the smaller is padded to the larger (vLLM v1/core/kv_cache_utils.py).
_PAD_BELOW = 1.25


@cache
def demand(
    arch: Architecture, cache_format: str, tensor_parallel: int, block: int, hybrid: bool, unequal: bool
) -> CacheDemand:
    """Pages of one device.  MLA is not divided by TP and KV heads are never cut (``core.model.cache``).

    Layers of one page size and several windows are cut into groups of equal layer count, the last of
    each type filled with padding layers; a block serves one group.  Before the hybrid cache
    manager, and before 0.21 where page sizes differ, every layer keeps all tokens.
    """
    pages: dict[tuple[int | None, str], list[tuple[int, int]]] = {}
    for kind in cache_kinds(arch, tensor_parallel):
        page = _page_bytes(kind, cache_format, block)
        pages.setdefault((kind.window, _window_kind(kind)), []).append((kind.layers, page))
    state = recurrent_state_bytes(arch, tensor_parallel)
    sizes = {page for type_ in pages.values() for _, page in type_}
    if len(pages) <= 1 or (hybrid and unequal and len(sizes) > 1):
        groups = [_sum_of(window, layers, block) for window, layers in pages.items()]
    elif hybrid and len(sizes) == 1:
        groups = _equal_groups(pages, block)
    else:
        groups = [PageGroup(max(sizes) * sum(n for t in pages.values() for n, _ in t), block)]
    return CacheDemand(tuple(groups), state)


def make_demand(
    arch: Architecture, cache_format: str, tensor_parallel: int, block: int, band: Band
) -> CacheDemand:
    """The demand under the rules of a version."""
    return demand(arch, cache_format, tensor_parallel, block, band.hybrid_cache, band.unequal_pages)


def _page_bytes(kind: CacheKind, cache_format: str, block: int) -> int:
    bits = kind.bits or CACHE_FORMATS[cache_format].bits
    return math.ceil(kind.elements * bits * block / 8)


def _window_kind(kind: CacheKind) -> str:
    return "chunked" if kind.what == "chunked" else "sliding"


def _sum_of(window: tuple[int | None, str], layers: list[tuple[int, int]], block: int) -> PageGroup:
    return _group(sum(n * page for n, page in layers), window, block)


def _group(page_bytes: int, window: tuple[int | None, str], block: int) -> PageGroup:
    tokens, kind = window
    return PageGroup(page_bytes, block, tokens, "chunked" if kind == "chunked" else "sliding")


def _equal_groups(pages: dict[tuple[int | None, str], list[tuple[int, int]]], block: int) -> list[PageGroup]:
    counts = {window: sum(n for n, _ in layers) for window, layers in pages.items()}
    page = next(iter(pages.values()))[0][1]
    least, most = min(counts.values()), max(counts.values())
    size = most if most < _PAD_BELOW * least else least
    return [_group(page * size * math.ceil(n / size), window, block) for window, n in counts.items()]
