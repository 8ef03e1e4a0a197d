"""Prompts and answers on different devices: one pool reads, another decodes, the cache goes across.

    TTFT = base + wait + D(prompt) + transfer + t_d / 2      wait = D r / (2 (1 - r)),   r = rate D / readers
    TPOT = t_d(n / decoders),   n = rate (O - 1) t_d

No prompt disturbs a decode, and the two pools are sized apart.  The wait is that of regular service
under random arrivals (M/D/1); the transfer is the prompt's cache over the link of one device.
"""

from dataclasses import dataclass

import numpy as np

from core.latency.protocol import BOUND, StepPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.lifecycle import Lengths

_ROUNDS = 48
_FULL = 0.999  # share of its time that the busier pool can work


@dataclass(frozen=True, slots=True)
class Pools:
    """Both sides: a plan and a number of copies each, and the way between."""

    reading: StepPlan
    readers: int
    decoding: StepPlan
    decoders: int
    max_running: float  # requests that one decoder holds at a time
    transfer_bytes_per_token: float
    link_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class DisaggregatedLoad:
    """Speeds by load (n,) and quantile (3, n)."""

    requests_per_second: FloatArray  # (n,)
    time_to_first_token: FloatArray
    transfer_seconds: float  # part of it
    time_per_output_token: FloatArray
    reading_share: FloatArray  # (n,) of the readers' time in use


def disaggregated(pools: Pools, lengths: Lengths, users: FloatArray) -> DisaggregatedLoad:
    """Closed loop: ``users`` (n,) in the system, each waits for an answer before the next question."""
    users = np.asarray(users, dtype=np.float64).reshape(-1)
    read = _reading_seconds(pools.reading, lengths)
    transfer = lengths.prompt * pools.transfer_bytes_per_token / pools.link_bytes_per_second
    steps = max(lengths.output - 1.0, 0.0) / pools.decoding.tokens_per_step
    ceiling = _FULL * pools.readers / read[EXPECTED]
    low, high = np.zeros(len(users)), np.full(len(users), ceiling)
    for _ in range(_ROUNDS):
        rate = 0.5 * (low + high)
        first, step = _times(pools, lengths, read, transfer, users, rate)
        inside = rate * (first[EXPECTED] + steps * step[EXPECTED])
        low, high = np.where(inside < users, rate, low), np.where(inside < users, high, rate)
    first, step = _times(pools, lengths, read, transfer, users, low)
    share = low * read[EXPECTED] / pools.readers
    return DisaggregatedLoad(low, first, transfer, step / pools.decoding.tokens_per_step, share)


def _reading_seconds(plan: StepPlan, lengths: Lengths) -> FloatArray:
    """Seconds (3,) of one prompt by itself."""
    chunk = float(lengths.chunk(0.0))
    zero = np.zeros(1)
    history = np.array([lengths.prefix + 0.5 * (lengths.prompt - chunk)])
    carriers = lengths.prompt / chunk
    seconds = plan.seconds(slice(0, BOUND), zero, zero, np.array([chunk]), history)[:, 0]
    return np.asarray(carriers * seconds)


def _times(
    pools: Pools,
    lengths: Lengths,
    read: FloatArray,
    transfer: float,
    users: FloatArray,
    rate: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Time to the first token and of a decode step (3, n) at ``rate`` requests a second."""
    busy = np.minimum(rate * read[EXPECTED] / pools.readers, _FULL)
    wait = read[:, None] * busy / (2.0 * (1.0 - busy))
    base = 1e-3 * pools.reading.overheads.alone_ms[pools.reading.kind]
    first = base + wait + read[:, None] + transfer
    # Those that are not at their prompts decode.
    waiting = np.minimum(rate * first[EXPECTED], users)
    running = np.clip((users - waiting) / pools.decoders, 1.0, pools.max_running)
    zero = np.zeros(len(rate))
    context = np.full(len(rate), lengths.mean_context)
    stages = float(pools.decoding.stages)
    step = pools.decoding.seconds(slice(0, BOUND), running / stages, context, zero, zero)
    return first + 0.5 * step, step
