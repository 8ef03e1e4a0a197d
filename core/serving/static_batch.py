"""A batch that starts together and ends together: no request joins, none waits.

The prompts are read first, in steps of the token budget, then all sequences decode side by side.
"""

from dataclasses import dataclass

import numpy as np

from core.latency.protocol import BOUND, StepPlan
from core.quantities import FloatArray
from core.serving.life import Lengths

_PIECES = 16  # of the answer, to follow the growing cache


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """Times of batches (3, n) by quantile, s."""

    first_token: FloatArray  # all prompts read
    total: FloatArray
    step: FloatArray  # mean decode step

    def throughput(self, batch: FloatArray, tokens: float) -> FloatArray:
        """Tokens of all sequences per second."""
        return np.asarray(batch * tokens / self.total)


def static_batch(plan: StepPlan, lengths: Lengths, batch: FloatArray) -> BatchTimes:
    """``batch`` (n,) requests at once, no server around them."""
    n = len(batch)
    rows, stages = slice(0, BOUND), float(plan.stages)
    tokens = batch * lengths.prompt
    chunk = np.minimum(tokens, max(lengths.token_budget, 1.0))
    # Whole prompts in a step where they fit; else a part of one.
    history = lengths.prefix + 0.5 * np.maximum(lengths.prompt - chunk, 0.0)
    zero = np.zeros(n)
    steps = tokens / chunk
    whole = np.maximum(chunk / lengths.prompt, 1.0)
    reading = plan.seconds(rows, zero, zero, chunk, history)
    if (whole > 1).any():
        # Attention of prompts side by side: each sees itself only.
        alone = plan.seconds(rows, zero, zero, np.minimum(chunk, lengths.prompt), history)
        short = plan.seconds(rows, zero, zero, chunk, _side_by_side(chunk, lengths.prompt))
        reading = np.maximum(np.minimum(reading, short), alone)
    first = (steps + stages - 1.0) / stages * reading
    answer = max(lengths.output - 1.0, 0.0)
    step = np.zeros((BOUND, n))
    for piece in range(_PIECES):
        context = np.full(n, lengths.prefix + lengths.prompt + answer * (piece + 0.5) / _PIECES)
        step += plan.seconds(rows, batch / stages, context, zero, zero) / _PIECES
    total = first + answer / plan.tokens_per_step * step
    return BatchTimes(first, total, step / plan.tokens_per_step)


def _side_by_side(chunk: FloatArray, prompt: float) -> FloatArray:
    """A history that gives one chunk the causal pairs of ``chunk / prompt`` prompts side by side.

    chunk (h + chunk / 2) = chunk prompt / 2; negative where the prompts are shorter than the chunk.
    """
    return np.asarray(0.5 * (prompt - chunk))
