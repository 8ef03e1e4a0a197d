"""The time of a step as a table, so that a simulation asks for it in microseconds.

Decode steps lie over (sequences, mean context), steps that carry prompts over (sequences, context,
prompt tokens, mean depth).  The depth is the number of tokens that a prompt token sees on average;
it stands for cached history and for several prompts side by side.  Between the points of the table
times are interpolated linearly; the points come from the plan in a few vectorised calls.

    depth of one chunk = history + tokens / 2        depth of several = sum tokens depth / sum tokens
"""

from bisect import bisect_right

import numpy as np

from core.latency.protocol import StepPlan
from core.latency.textbook import TextbookPlan
from core.quantities import EXPECTED, FloatArray

_DENSE = 32  # sequences up to which every number has a column
_TILES = 32  # of 16 sequences, where the time of a matrix jumps
_LONGEST = 10**7  # tokens; the last column goes on in a straight line
_DEPTHS = (0.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0, 131072.0, 524288.0, 2097152.0)


class StepTable:
    """Seconds of one step, of one quantile of a plan.

    ``decode(n, context)``: n sequences decode one token each (a draft each with speculation) on
    ``context`` cached tokens, mean.  ``mixed(n, context, tokens, depth)``: the same beside
    ``tokens`` of prompts.  With s pipeline stages a step holds n / s sequences; a prompt occupies
    each stage for 1 / s of its time, ``lag`` is what its first token waits longer.
    """

    def __init__(
        self,
        plan: StepPlan | TextbookPlan,
        sequences: int,
        context: float,
        tokens: float,
        quantile: int = EXPECTED,
    ) -> None:
        self._plan, self._row = plan, quantile
        self.stages = 1 if isinstance(plan, TextbookPlan) else plan.stages
        self.gained = 1.0 if isinstance(plan, TextbookPlan) else plan.tokens_per_step
        tiles = {float(16 * i + j) for i in range(1, _TILES + 1) for j in (0, 1) if 16 * i < sequences}
        self._counts = sorted(tiles.union(_grid(sequences, 1.12, _DENSE)))
        self._count_at = _positions(self._counts, sequences)
        self._contexts = [0.0, *_grid(context, 1.15, 0, 64.0)]
        counts, contexts = np.meshgrid(self._counts, self._contexts, indexing="ij")
        self._width = len(self._contexts)
        zero = np.zeros(counts.size)
        self._decode: list[float] = self._seconds(counts.ravel(), contexts.ravel(), zero, zero).tolist()
        self._few = [0.0, *_grid(sequences, 1.4, 2)]
        self._few_at = _positions(self._few, sequences)
        self._far = [0.0, *_grid(context, 2.0, 0, 128.0)]
        few, far = np.meshgrid(self._few, self._far, indexing="ij")
        self._few_far = few.ravel(), far.ravel()
        self._tokens = _grid(tokens, 1.3, 1)
        self._slabs: dict[tuple[int, int], list[float]] = {}

    def _seconds(
        self, counts: FloatArray, contexts: FloatArray, tokens: FloatArray, history: FloatArray
    ) -> FloatArray:
        plan = self._plan
        if isinstance(plan, TextbookPlan):
            arithmetic = 2 * plan.parameters * (counts + tokens) / plan.peak
            return np.where(counts > 0, np.maximum(arithmetic, plan.read_bytes / plan.bandwidth), arithmetic)
        here = np.where(counts > 0, np.maximum(counts / plan.stages, 1.0), 0.0)
        return plan.seconds(self._row, here, contexts, tokens, history)

    def decode(self, sequences: int, context: float) -> float:
        """Seconds of a step that only decodes."""
        i, right = self._count_at[sequences]
        contexts = self._contexts
        j = bisect_right(contexts, context) - 1
        if j > self._width - 2:
            j = self._width - 2
        low = contexts[j]
        up = (context - low) / (contexts[j + 1] - low)
        table, at = self._decode, i * self._width + j
        first: float = table[at]
        first += up * (table[at + 1] - first)
        if right == 0.0:
            return first
        at += self._width
        second = table[at]
        second += up * (table[at + 1] - second)
        return first + right * (second - first)

    def mixed(self, sequences: int, context: float, tokens: float, depth: float) -> float:
        """Seconds by which a step with ``tokens`` of prompts holds up the sequences beside it."""
        whole = self._look_up(sequences, context, tokens, depth)
        if self.stages == 1:
            return whole
        if not sequences:
            return whole / self.stages
        alone = self.decode(sequences, context)
        return alone + max(0.0, whole - alone) / self.stages

    def lag(self, sequences: int, context: float, tokens: float, depth: float) -> float:
        """Seconds that the prompt is still on its way through later stages when the step ends."""
        if self.stages == 1:
            return 0.0
        whole = self._look_up(sequences, context, tokens, depth)
        return whole - self.mixed(sequences, context, tokens, depth)

    def _look_up(self, sequences: int, context: float, tokens: float, depth: float) -> float:
        """Linear in each of the four directions."""
        i, across = _position(self._tokens, tokens)
        j, down = _position(_DEPTHS, depth)
        column, right = self._few_at[sequences]
        far, width = self._far, len(self._far)
        row = min(bisect_right(far, context) - 1, width - 2)
        up = (context - far[row]) / (far[row + 1] - far[row])
        at = column * width + row
        slabs = self._slabs
        total = 0.0
        for key, share in (
            ((i, j), (1.0 - across) * (1.0 - down)),
            ((i, j + 1), (1.0 - across) * down),
            ((i + 1, j), across * (1.0 - down)),
            ((i + 1, j + 1), across * down),
        ):
            if share == 0.0:
                continue
            slab = slabs.get(key) or self._corner(*key)
            first = slab[at] + up * (slab[at + 1] - slab[at])
            if right:
                second = slab[at + width] + up * (slab[at + width + 1] - slab[at + width])
                first += right * (second - first)
            total += share * first
        return total

    def _corner(self, i: int, j: int) -> list[float]:
        slab = self._slabs.get((i, j))
        if slab is None:
            counts, contexts = self._few_far
            tokens = np.full(len(counts), self._tokens[i])
            history = np.full(len(counts), _DEPTHS[j] - 0.5 * self._tokens[i])
            slab = self._seconds(counts, contexts, tokens, history).tolist()
            self._slabs[i, j] = slab
        return slab


def _grid(end: float, ratio: float, dense: int, start: float = 1.0) -> list[float]:
    """1, 2, ... ``dense``, then in steps of ``ratio`` from ``start`` to ``end`` or just beyond."""
    end = min(max(float(end), 2.0 * start), _LONGEST)
    points = [float(i) for i in range(1, dense + 1)]
    point = points[-1] * ratio if points else start
    while not points or points[-1] < end:
        points.append(float(round(point)))
        point = max(point * ratio, points[-1] + 1)
    if len(points) < 2:
        points.append(points[-1] + 1)
    return points


def _position(grid: list[float] | tuple[float, ...], value: float) -> tuple[int, float]:
    i = min(max(bisect_right(grid, value) - 1, 0), len(grid) - 2)
    return i, (value - grid[i]) / (grid[i + 1] - grid[i])


def _positions(grid: list[float], most: int) -> list[tuple[int, float]]:
    """For every whole number up to ``most`` its column, and how far it lies towards the next."""
    return [_position(grid, float(n)) for n in range(most + 2)]
