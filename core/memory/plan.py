"""What an engine's memory rules yield, before the requests are counted in."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.memory.demand import CacheDemand
from core.memory.ledger import LINE_ORDER, Ledger, LedgerLine, LineKey
from core.quantities import FloatArray, as_array
from core.spec.workload import Workload

# Where nothing that requests keep takes room, as many as one can think of.
NO_LIMIT = 10**9  # requests
_NO_TOKEN_LIMIT = 10**15  # tokens of all requests


def free_tokens(users: Any, length: Any) -> Any:
    """Tokens of ``users`` requests of ``length``, numbers or arrays, that take no room in a cache."""
    return np.where(np.equal(users, NO_LIMIT), _NO_TOKEN_LIMIT, users * length)


def filled_between(users: FloatArray, caches: Any, each: Any, common: Any) -> FloatArray:
    """Whole bytes of the fullest of ``caches`` with a mean number of users: as ``MemoryPlan.cache_bytes``.

    What all share appears with the first request.
    """

    def filled(count: FloatArray) -> FloatArray:
        return as_array(np.ceil(count / caches) * each + np.minimum(count, 1.0) * common)

    below = np.floor(users)
    low, high = filled(below), filled(np.ceil(users))
    return as_array(low + np.ceil((users - below) * (high - low)))


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """One device of a replica, bytes.

    ``budget`` is what the engine may use in all, ``fixed`` what it takes whatever the load, and
    ``words`` what its log calls each line.
    """

    device: int
    budget: int
    fixed: dict[LineKey, int]
    words: dict[LineKey, str]
    demand: CacheDemand
    replicas: int
    batched_tokens: int
    # Groups of requests inside a replica that have a cache of their own (attention data parallelism).
    copies: int = 1
    least_cache: int = 0  # the engine allocates this much for the cache, used or not
    most_cache: int | None = None  # nor does it ever take more for the cache than this
    slots: int | None = None  # requests that have a place in memory, at most
    slot_tokens: int | None = None  # tokens of a request that such a place holds, at most
    batch: int | None = None  # requests that the scheduler runs at once, at most
    token_pool: int | None = None  # part of the pool that tokens may take, the rest is for states
    host: int = 0  # bytes in the host's memory

    @property
    def pool(self) -> int:
        """Bytes left for the cache, 0 when the rest exceeds the budget."""
        return max(0, self.budget - sum(self.fixed.values()))

    @property
    def free_users(self) -> int:
        """Requests in one cache where none of them takes room in it."""
        if sum(self.fixed.values()) > self.budget:
            return 0
        return NO_LIMIT if self.slots is None else self.slots

    @property
    def places(self) -> float:
        """Requests for which all replicas keep a place in memory; inf where none is kept for any."""
        return math.inf if self.slots is None else float(self.replicas * self.copies * self.slots)

    def users_on_one(self, users: int) -> int:
        """Requests at once in the fullest cache, of ``users`` in all."""
        return -(-users // (self.replicas * self.copies))

    def cache_bytes(self, users: float, tokens: int, prefix: int) -> int:
        """Bytes of the cache that ``users`` requests of ``tokens`` fill, a common prefix once.

        Requests for which there is no place wait outside.
        A mean number of users between two whole ones takes the straight line between these.
        """
        each = int(self.demand.request_bytes(tokens, prefix))
        common = int(self.demand.shared_bytes(tokens, prefix))

        def filled(count: int) -> int:
            return self.users_on_one(count) * each + (common if count else 0)

        users = min(users, self.places)
        below, above = math.floor(users), math.ceil(users)
        low = filled(below)
        total = low if above == below else low + math.ceil((users - below) * (filled(above) - low))
        most = total if self.most_cache is None else min(self.most_cache, total)
        return max(self.least_cache, most)

    def needed_over(self, users: Any, tokens: Any, prefix: int = 0) -> FloatArray:
        """All bytes that a device needs; ``users`` and ``tokens`` broadcast.  As ``cache_bytes``."""
        count, length = np.minimum(as_array(users), self.places), as_array(tokens)
        prefixes = np.minimum(prefix, length)
        each = self.demand.request_bytes(length, prefixes)
        common = self.demand.shared_bytes(length, prefixes)
        filled = filled_between(count, self.replicas * self.copies, each, common)
        cache = np.maximum(filled, float(self.least_cache))
        if self.most_cache is not None:
            cache = np.minimum(cache, float(self.most_cache))
        # Where the bytes of a request do not depend on its length the axis of lengths is still there.
        shape = np.broadcast_shapes(count.shape, length.shape)
        return as_array(np.broadcast_to(cache + float(sum(self.fixed.values())), shape))

    def kv_tokens(self, length: int) -> int:
        """Tokens that the pools of all replicas hold in requests of ``length``."""
        if not self.demand.request_bytes(length):
            held = int(free_tokens(self.free_users, length))
        elif self.token_pool is not None and self.demand.bytes_per_token():
            held = self.token_pool // self.demand.bytes_per_token()
        else:
            held = self.demand.tokens_in(self.pool, length)
        return self.replicas * self.copies * held

    def most_users(self, tokens: int, prefix: int) -> int:
        """Requests of ``tokens`` that the pools of all replicas hold at once.

        No limit where a request keeps nothing of its own; none where it is longer than a place for it.
        """
        if self.slot_tokens is not None and tokens > self.slot_tokens:
            return 0
        left = self.pool - int(self.demand.shared_bytes(tokens, prefix))
        each = int(self.demand.request_bytes(tokens, prefix))
        held = max(0, left // each) if each else self.free_users
        if self.token_pool is not None and each > self.demand.state_bytes:
            held = min(held, self.token_pool // (each - self.demand.state_bytes))
        return self.replicas * self.copies * (held if self.slots is None else min(held, self.slots))

    def most_running(self) -> int | None:
        """Requests that the schedulers of all replicas run at once; None: as many as memory holds."""
        return None if self.batch is None else self.replicas * self.copies * self.batch

    def counted(self, users: int) -> int:
        """Of so many users those that hold a cache at once: no more than run, or have a place."""
        most = self.most_running()
        return int(min(users, self.places, math.inf if most is None else most))

    def ledger(self, workload: Workload, users: float | None) -> Ledger:
        """The ledger for ``users`` requests at once (None: the workload's own number)."""
        tokens, prefix = workload.tokens_per_request, workload.shared_prefix_tokens
        count = workload.users if users is None else users
        amounts: dict[LineKey, int] = dict(self.fixed)
        amounts["kv_cache"] = self.cache_bytes(count, tokens, prefix)
        needed = sum(amounts.values())
        if needed <= self.budget:
            amounts["kv_cache_spare"] = self.budget - needed
            amounts["outside"] = self.device - self.budget
        lines = tuple(LedgerLine(k, amounts[k], self.words.get(k, "")) for k in LINE_ORDER if k in amounts)
        return Ledger(lines, self.device, self.budget, self.pool, self.host)
