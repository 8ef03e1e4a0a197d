"""The cache of one replica in whole blocks, from the memory plan of its engine.

A request holds blocks that grow with its tokens and, where the model has windows or states, a part
of fixed size.  Blocks of a prefix that all requests share are set aside once.
"""

import math
from dataclasses import dataclass

from core.memory.build import plan_memory
from core.memory.demand import CacheDemand, PageGroup
from core.spec.scenario import Scenario

_UNITS = 4096  # blocks that a pool without growing layers is divided into
ENDLESS = 2**62  # blocks where memory is no limit


@dataclass(frozen=True, slots=True)
class CachePool:
    """``blocks`` of ``block_tokens`` tokens; ``block_bytes`` each, on one device."""

    blocks: int
    block_tokens: int
    block_bytes: int
    prefix_blocks: int  # of the common prefix, set aside already
    grows: bool  # False: every layer is windowed or keeps a state
    fixed: CacheDemand | None  # windows and states of a request; None: it has none
    slots: int | None  # requests that have a place, at most

    def growing(self, tokens: int) -> int:
        """Blocks of the layers that keep every token, without the common prefix."""
        return -(-tokens // self.block_tokens) - self.prefix_blocks if self.grows else 0

    def constant(self, length: int) -> int:
        """Blocks' worth of windows and states of a request that ends with ``length`` tokens."""
        if self.fixed is None:
            return 0
        return -(-int(self.fixed.request_bytes(length)) // self.block_bytes)


def cache_pool(scenario: Scenario) -> CachePool:
    """The pool of one replica."""
    plan = plan_memory(scenario)
    work = scenario.workload
    growing = [g for g in plan.demand.groups if g.window is None]
    windowed = tuple(g for g in plan.demand.groups if g.window is not None)
    size = max((g.page_tokens for g in growing), default=1)
    block_bytes = math.ceil(sum(g.page_bytes * size / g.page_tokens for g in growing))
    tokens_only = plan.token_pool is not None and block_bytes > 0
    pool = plan.token_pool if tokens_only and plan.token_pool is not None else plan.pool
    grows = block_bytes > 0
    if not grows:
        block_bytes = max(1, pool // _UNITS)
    state = 0 if tokens_only else plan.demand.state_bytes
    fixed = CacheDemand(windowed, state) if windowed or state else None
    prefix = min(work.shared_prefix_tokens, work.prompt_tokens - 1)
    shared = prefix // size if grows else 0
    blocks = ENDLESS if scenario.engine.name == "textbook" else max(0, pool // block_bytes - shared)
    return CachePool(blocks, size, block_bytes, shared, grows, fixed, plan.slots)


def endless(scenario: Scenario) -> CachePool:
    """A pool that is never full: of devices that read prompts and hand the cache on."""
    prefix = min(scenario.workload.shared_prefix_tokens, scenario.workload.prompt_tokens - 1)
    group = PageGroup(1, 16)
    return CachePool(ENDLESS, group.page_tokens, 1, prefix // group.page_tokens, True, None, None)
