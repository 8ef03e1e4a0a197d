"""Prompts and answers on different devices: one pool reads, another decodes, the cache goes across.

    TTFT = queue + base + wait + read + transfer + t_d / 2
    wait = D r / (2 (1 - r)),   r = rate D' / readers
    TPOT = t_d(n / decoders),   n = rate (O - 1) t_d

No prompt disturbs a decode, and the two pools are sized apart.  D is the time that one prompt takes by
itself, D' its share of a step that prompts fill; the wait is that of regular service under random
arrivals (M/D/1).  The transfer is the prompt's cache over the link of one device: nothing of it hides
behind the reading.  What the decoders have no room for queues before everything else.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.latency.protocol import BOUND, StepPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.life import Lengths
from core.serving.load import LoadCurve

BoolArray = NDArray[np.bool_]
_ROUNDS = 28  # of halving, in the logarithm
_LEAST_RUNNING, _MOST_RUNNING = 1e-9, 1e6
_LEAST_STEPS = 1e-6  # for answers of one token, which need no decode step
_LEAST_QUEUE = 1e-3  # of the time inside; less is what the solution is off by
_FULL = 0.999  # share of its time that the busier pool can work


@dataclass(frozen=True, slots=True)
class Pools:
    """Both sides: a plan and a number of copies each, and the way between."""

    reading: StepPlan
    readers: int
    decoding: StepPlan
    decoders: int
    max_running: float | FloatArray  # requests that one decoder holds at a time
    transfer_bytes_per_token: float
    link_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Parts:
    """Times at a rate, by quantile: (3, n) s."""

    base: FloatArray  # server and half a decode step
    wait: FloatArray
    read: FloatArray
    step: FloatArray
    transfer: FloatArray  # (n,)

    @property
    def first_token(self) -> FloatArray:
        """All of it up to the first token, without a queue."""
        return np.asarray(self.base + self.wait + self.read + self.transfer)


@dataclass(frozen=True, slots=True)
class DisaggregatedLoad:
    """Speeds by load (n,) and quantile (3, n)."""

    requests_per_second: FloatArray  # (n,)
    time_to_first_token: FloatArray
    transfer_seconds: FloatArray  # (n,) part of it
    time_per_output_token: FloatArray
    reading_share: FloatArray  # (n,) of the readers' time in use
    queue_seconds: FloatArray  # (n,) part of the time to the first token
    parts: Parts
    stable: FloatArray  # (n,) 0 where requests arrive faster than they are answered


class _Reader:
    """Times of the reading pool, which do not depend on the load; arrays (n,) as the lengths may be."""

    def __init__(self, pools: Pools, lengths: Lengths, n: int) -> None:
        plan, stages = pools.reading, float(pools.reading.stages)
        prompt, room = _wide(lengths.prompt, n), _wide(lengths.room(0.0), n)
        seconds = _reading(plan, lengths, np.minimum(room, prompt))
        low, high = plan.first_token_band
        self.band = np.array([[low], [1.0], [high]])
        passes = (np.maximum(1.0, prompt / room) + stages - 1.0) / stages
        self.alone = passes * seconds[EXPECTED]
        self.read = np.maximum(self.band * self.alone, passes * seconds[BOUND])
        self.busy = _reading(plan, lengths, room)[EXPECTED] * prompt / room / stages
        self.most = _FULL * pools.readers / self.busy  # requests per second that all readers carry
        self.transfer = prompt * pools.transfer_bytes_per_token / pools.link_bytes_per_second
        over = plan.overheads
        self.base = 1e-3 * over.alone_ms[plan.kind]
        self.together = 1e-3 * (over.together_ms[plan.kind] - over.alone_ms[plan.kind])


def _wide(value: FloatArray | float, n: int) -> FloatArray:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (n,))


def _reading(plan: StepPlan, lengths: Lengths, chunk: FloatArray) -> FloatArray:
    """Seconds (4, n) of a step of ``chunk`` tokens, of one prompt or of several side by side."""
    zero = np.zeros(len(chunk))
    history = _wide(lengths.prefix + 0.5 * (lengths.prompt - chunk), len(chunk))
    return plan.seconds(slice(0, BOUND + 1), zero, zero, np.ascontiguousarray(chunk), history)


def disaggregated(pools: Pools, lengths: Lengths, users: FloatArray) -> DisaggregatedLoad:
    """Closed loop: ``users`` (n,) in the system, each waits for an answer before the next question."""
    users = np.asarray(users, dtype=np.float64).reshape(-1)
    reader, steps = _Reader(pools, lengths, len(users)), _steps(pools, lengths)
    ceiling = _ceiling(pools, lengths, reader)
    crowd = 1.0 - pools.readers / np.maximum(users, pools.readers)

    def beyond(rate: FloatArray, step: FloatArray) -> BoolArray:
        parts = _parts(pools, reader, rate, step[None, :], crowd)
        inside = rate * (parts.first_token[EXPECTED] + steps * step)
        return np.asarray((inside > users) | (rate > ceiling))

    rate, step = _solve(pools, lengths, len(users), beyond)
    parts = _parts(pools, reader, rate, step, crowd)
    whole = parts.first_token[EXPECTED] + steps * step[EXPECTED]
    queue = users / rate - whole
    queue = np.where(queue > _LEAST_QUEUE * whole, queue, 0.0)
    unread = np.where(ceiling == reader.most, queue, 0.0)  # those wait to be read, not for room
    parts, queue = replace(parts, wait=parts.wait + unread), queue - unread
    return _load(pools, reader, parts, rate, queue, np.ones(len(users)))


def disaggregated_open(pools: Pools, lengths: Lengths, rate: FloatArray) -> DisaggregatedLoad:
    """Open loop at ``rate`` (n,) requests per second; beyond the ceiling the queue is endless."""
    rate = np.asarray(rate, dtype=np.float64).reshape(-1)
    reader = _Reader(pools, lengths, len(rate))
    ceiling = _ceiling(pools, lengths, reader)
    served = np.minimum(rate, ceiling)
    _, step = _solve(pools, lengths, len(rate), lambda found, _step: np.asarray(found > served))
    parts = _parts(pools, reader, served, step, 0.0)
    over = rate >= ceiling
    return _load(pools, reader, parts, served, np.where(over, np.inf, 0.0), (~over).astype(np.float64))


def _solve(
    pools: Pools, lengths: Lengths, n: int, beyond: Callable[[FloatArray, FloatArray], BoolArray]
) -> tuple[FloatArray, FloatArray]:
    """Rate (n,) and step (3, n) at the most running requests that are not ``beyond`` the load asked for.

    Everything follows from the requests that run in one decoder; ``beyond`` takes rate and step (n,).
    """
    steps = np.maximum(_steps(pools, lengths), _LEAST_STEPS)
    low = np.full(n, math.log(_LEAST_RUNNING))
    high = np.log(_most_running(pools, n))
    for turn in range(_ROUNDS):
        logs = 0.5 * (low + high) if turn else high
        running = np.exp(logs)
        step = _step(pools, lengths, running, EXPECTED)
        over = beyond(pools.decoders * running / (steps * step), step)
        low, high = np.where(over, low, logs), np.where(over, logs, high)
    running = np.exp(low)
    found = _step(pools, lengths, running, slice(0, BOUND))
    return pools.decoders * running / (steps * found[EXPECTED]), found


def curve_of_pools(
    pools: Pools, lengths: Lengths, load: DisaggregatedLoad, users: FloatArray | None
) -> LoadCurve:
    """The load as a curve; ``users`` None: as many as the rate keeps inside."""
    parts, steps, rate = load.parts, _steps(pools, lengths), load.requests_per_second
    shape = parts.step.shape
    rest = parts.first_token + steps * parts.step
    stable = load.stable > 0
    queue = np.broadcast_to(load.queue_seconds, shape)
    whole = np.where(stable, queue, 0.0) + rest
    served = np.broadcast_to(rate, shape)
    inside = np.where(stable, rate * whole[EXPECTED], np.inf)
    if users is not None:
        inside, served = users, rate * whole[EXPECTED] / whole
    return LoadCurve(
        users=inside,
        running=served * steps * parts.step,
        time_to_first_token=load.time_to_first_token,
        queue_seconds=queue,
        prefill_seconds=parts.read,
        other_prefills_seconds=parts.wait,
        base_seconds=parts.base,
        time_per_output_token=load.time_per_output_token,
        output_tokens_per_second=served * lengths.output,
        requests_per_second=served,
        prefill_share=np.zeros(shape),
        stable=load.stable,
        transfer_seconds=np.broadcast_to(parts.transfer, shape),
    )


def _load(
    pools: Pools, reader: _Reader, parts: Parts, rate: FloatArray, queue: FloatArray, stable: FloatArray
) -> DisaggregatedLoad:
    return DisaggregatedLoad(
        requests_per_second=rate,
        time_to_first_token=queue + parts.first_token,
        transfer_seconds=parts.transfer,
        time_per_output_token=parts.step / pools.decoding.tokens_per_step,
        reading_share=rate * reader.busy / pools.readers,
        queue_seconds=queue,
        parts=parts,
        stable=stable,
    )


def _steps(pools: Pools, lengths: Lengths) -> FloatArray:
    """Decode steps of one answer."""
    return np.asarray(np.maximum(lengths.output - 1.0, 0.0) / pools.decoding.tokens_per_step)


def _most_running(pools: Pools, n: int) -> FloatArray:
    """Requests that one decoder has room for (n,)."""
    return np.clip(_wide(pools.max_running, n), 1.0, _MOST_RUNNING)


def _ceiling(pools: Pools, lengths: Lengths, reader: _Reader) -> FloatArray:
    """Requests per second (n,) that the busier pool can carry."""
    steps = np.maximum(_steps(pools, lengths), _LEAST_STEPS)
    most = _most_running(pools, len(reader.busy))
    decoded = pools.decoders * most / (steps * _step(pools, lengths, most, EXPECTED))
    return np.asarray(np.minimum(reader.most, decoded))


def _step(pools: Pools, lengths: Lengths, running: FloatArray, rows: slice | int) -> FloatArray:
    """Seconds ([3,] n) of a decode step of a decoder that has ``running`` (n,) requests."""
    zero, context = np.zeros(len(running)), _wide(lengths.mean_context, len(running))
    inside = np.maximum(running / float(pools.decoding.stages), 1.0)
    return pools.decoding.seconds(rows, inside, context, zero, zero)


def _parts(
    pools: Pools, reader: _Reader, rate: FloatArray, step: FloatArray, crowd: FloatArray | float
) -> Parts:
    busy = np.minimum(rate * reader.busy / pools.readers, _FULL)
    wait = reader.band * (reader.alone * busy / (2.0 * (1.0 - busy)))
    middle = step[EXPECTED] if len(step) > 1 else step[0]
    base = reader.band * (reader.base + reader.together * crowd + 0.5 * middle)
    read = np.broadcast_to(reader.read, base.shape)
    return Parts(base, wait, read, step, reader.transfer)
