"""The roofline with measured efficiency.

    t = t0 + ((FLOPs / (ec peak))^p + (bytes / (em bandwidth))^p)^(1/p)

``p`` is a power of two so that squaring and square roots do; p of 2.5 and more fits measured
matrix products as well as a hard maximum does, p = 1 is worse.
"""

import numpy as np

from core.quantities import FloatArray


def smooth_max(a: FloatArray, b: FloatArray, p: int) -> FloatArray:
    """(a^p + b^p)^(1/p) for non-negative arrays and p in 1, 2, 4, 8.  Never below max(a, b)."""
    doublings = p.bit_length() - 1
    left, right = a, b
    for _ in range(doublings):
        left, right = left * left, right * right
    total = left + right
    for _ in range(doublings):
        total = np.sqrt(total)
    return total


def smooth_max_of_halves(stacked: FloatArray, rows: int, p: int) -> FloatArray:
    """``smooth_max`` of the first ``rows`` and the other rows of axis -2; ``stacked`` is overwritten."""
    doublings = p.bit_length() - 1
    for _ in range(doublings):
        np.multiply(stacked, stacked, out=stacked)
    total = stacked[..., :rows, :] + stacked[..., rows:, :]
    for _ in range(doublings):
        np.sqrt(total, out=total)
    return total


def slowest(kernels: FloatArray, launches: FloatArray, stream: FloatArray) -> FloatArray:
    """``smooth_max`` of the first two with p = 4 and of the third with p = 8; the arguments are overwritten.

    The power between both is never taken back: (k^4 + u^4)^2 is the eighth power of the former.
    """
    for power in (kernels, launches, stream):
        np.multiply(power, power, out=power)
        np.multiply(power, power, out=power)
    kernels += launches
    kernels *= kernels
    stream *= stream
    kernels += stream
    for _ in range(3):
        np.sqrt(kernels, out=kernels)
    return kernels
