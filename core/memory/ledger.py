"""The shape of a memory ledger: what one device holds, line by line, in the engine's own words."""

from dataclasses import dataclass
from typing import Literal

LineKey = Literal[
    "weights",
    "kv_cache",  # what the scenario's requests hold when each has its full length
    "kv_cache_spare",  # reserved for the cache and not needed by the scenario
    "activations",
    "graphs",
    "runtime",  # context, communication buffers, workspaces
    "outside",  # beyond the engine's budget, left to the driver and others
]
LINE_ORDER: tuple[LineKey, ...] = (
    "weights",
    "kv_cache",
    "kv_cache_spare",
    "activations",
    "graphs",
    "runtime",
    "outside",
)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One line.  ``engine_word`` is what the engine's log calls it, never translated."""

    key: LineKey
    bytes: int
    engine_word: str = ""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Memory of one device, bytes.

    It fits when ``needed_bytes`` (all lines but spare cache and outside) is within
    ``budget_bytes``; then the lines add up to ``device_bytes`` exactly.  When it does not fit
    there is no spare cache and no outside line, and the lines add up to ``needed_bytes``.
    ``kv_pool_bytes`` is what the engine sets aside for the cache (0 when nothing is left).
    """

    lines: tuple[LedgerLine, ...]
    device_bytes: int
    budget_bytes: int
    kv_pool_bytes: int
    host_bytes: int = 0  # beside it in the host's memory: layers, experts or cache that were left there

    @property
    def needed_bytes(self) -> int:
        """Bytes that the scenario needs at its full load."""
        return sum(line.bytes for line in self.lines if line.key not in ("kv_cache_spare", "outside"))

    @property
    def fits(self) -> bool:
        """Whether all that is needed lies within the budget."""
        return self.needed_bytes <= self.budget_bytes

    def bytes_of(self, key: LineKey) -> int:
        """Bytes of one line, 0 when it is absent."""
        return sum(line.bytes for line in self.lines if line.key == key)
