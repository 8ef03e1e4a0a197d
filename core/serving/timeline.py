"""What happens over time in one replica, thinned out as it grows, and the gaps between tokens."""

import math
from array import array

import numpy as np

from core.quantities import FloatArray

_MOST = 65536  # points; twice as many are halved
_PER_E_FOLD = 200  # bins of gaps: 0.5 % wide


class Timeline:
    """Points (time, waiting, running, blocks in use), and exact integrals over time."""

    __slots__ = (
        "_last",
        "_seen",
        "_state",
        "_stride",
        "blocks",
        "held",
        "queued",
        "running",
        "served",
        "time",
        "waiting",
    )

    def __init__(self) -> None:
        self.time = array("d")
        self.waiting = array("q")
        self.running = array("q")
        self.blocks = array("q")
        self.queued = self.served = self.held = 0.0  # requests x s waiting and inside, blocks x s
        self._last = 0.0
        self._state = (0, 0, 0)
        self._stride, self._seen = 1, 0

    def add(self, now: float, waiting: int, running: int, blocks: int) -> None:
        """The state from ``now`` on."""
        passed = now - self._last
        if passed:
            state = self._state
            self.queued += passed * state[0]
            self.served += passed * state[1]
            self.held += passed * state[2]
            self._last = now
        self._state = waiting, running, blocks
        self._seen += 1
        if self._seen % self._stride:
            return
        self.time.append(now)
        self.waiting.append(waiting)
        self.running.append(running)
        self.blocks.append(blocks)
        if len(self.time) >= 2 * _MOST:
            self._stride *= 2
            for column in (self.time, self.waiting, self.running, self.blocks):
                del column[::2]

    def columns(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Time, waiting, running and blocks in use."""
        return tuple(  # type: ignore[return-value]
            np.array(column, dtype=np.float64)
            for column in (self.time, self.waiting, self.running, self.blocks)
        )


class Gaps:
    """A histogram of the gaps between one token and the next, by their logarithm."""

    __slots__ = ("bins",)

    def __init__(self) -> None:
        self.bins: dict[int, int] = {}

    def add(self, seconds: float, tokens: int) -> None:
        """``tokens`` gaps of ``seconds``."""
        if tokens and seconds > 0.0:
            key = math.floor(math.log(seconds) * _PER_E_FOLD + 0.5)
            self.bins[key] = self.bins.get(key, 0) + tokens


def gap_quantiles(gaps: list[Gaps], shares: tuple[float, ...]) -> tuple[float, ...]:
    """Quantiles of the gaps of several replicas, s, to half a per cent; NaN where there are none."""
    merged: dict[int, int] = {}
    for one in gaps:
        for key, tokens in one.bins.items():
            merged[key] = merged.get(key, 0) + tokens
    if not merged:
        return tuple(math.nan for _ in shares)
    keys = np.array(sorted(merged))
    counts = np.cumsum([merged[int(k)] for k in keys])
    found = np.searchsorted(counts, np.array(shares) * counts[-1])
    return tuple(float(math.exp(keys[min(int(i), len(keys) - 1)] / _PER_E_FOLD)) for i in found)
