"""What an engine's memory rules yield, before the requests are counted in."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.memory.demand import CacheDemand
from core.memory.ledger import LINE_ORDER, Ledger, LedgerLine, LineKey
from core.quantities import FloatArray, as_array
from core.spec.workload import Workload


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

    @property
    def pool(self) -> int:
        """Bytes left for the cache, 0 when the rest exceeds the budget."""
        return max(0, self.budget - sum(self.fixed.values()))

    def users_on_one(self, users: float) -> int:
        """Requests at once in the fullest replica, of ``users`` in all."""
        return max(0, math.ceil(users / self.replicas - 1e-9))

    def cache_bytes(self, users: float, tokens: int, prefix: int) -> int:
        """Bytes of the cache that ``users`` requests of ``tokens`` fill, a common prefix once."""
        count = self.users_on_one(users)
        if count == 0:
            return 0
        each = int(self.demand.request_bytes(tokens, prefix))
        return count * each + int(self.demand.shared_bytes(tokens, prefix))

    def needed_over(self, users: Any, tokens: Any, prefix: int = 0) -> FloatArray:
        """All bytes that a device needs; ``users`` and ``tokens`` broadcast."""
        count = np.maximum(np.ceil(as_array(users) / self.replicas - 1e-9), 0.0)
        length = as_array(tokens)
        common = np.minimum(prefix, length)
        cache = count * self.demand.request_bytes(length, common)
        cache = cache + np.where(count > 0, self.demand.shared_bytes(length, common), 0.0)
        return as_array(cache + float(sum(self.fixed.values())))

    def most_users(self, tokens: int, prefix: int) -> int:
        """Requests of ``tokens`` that the pools of all replicas hold at once."""
        left = self.pool - int(self.demand.shared_bytes(tokens, prefix))
        each = int(self.demand.request_bytes(tokens, prefix))
        return self.replicas * max(0, left // each) if each else 0

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
        return Ledger(lines, self.device, self.budget, self.pool)
