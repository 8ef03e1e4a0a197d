"""The life of a request inside the engine, from its place in the batch to its last token.

    TPOT (O-1) = (O-1) t_d(n) + (b-1) f D,   n = b f
    TTFT = base + 1.17 own + t_d/2 + (b-1)(s D + w) + 0.17 r/(1-r) own,   s >= 1-f

With s pipeline stages a step carries n / s requests, and a prompt occupies each stage for 1/s of D;
with speculative decoding a request gains several tokens a step.

b requests are in the engine and each decodes for a share f of its life, so n decode at a time.  D is
the time that one prompt adds to the steps it shares (of engines that read prompts in steps of their
own: those steps; prompts that wait are read together), "own" the time of the steps that carry it, r
the share of time with a prompt in the step.  The form and the constants (in the efficiency profiles)
were found on served measurements; s >= 1-f, less the share of the base, keeps the prompts that wait
for each other within the rate at which prompts can be read at all.  Users who start together (a
closed loop) collide: the base and s are larger than for requests that arrive independently.
"""

from dataclasses import dataclass

import numpy as np

from core.latency.protocol import BOUND, StepPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.load import Terms

ROUNDS = 4  # of the iteration
_LEAST_CHUNK = 256.0  # tokens of a prompt that a step takes even when decoding fills the budget
_LEAST_SLOPE = 0.2  # of what is left of the share's equation; less would overshoot
_BUSIEST = 0.95  # share of time with prompts beyond which the burst term stays as it is


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a request, and of a step; of n points each may be an array (n,)."""

    prompt: float  # to read, without the shared prefix
    prefix: float  # shared, already cached
    output: float
    token_budget: float  # of one step
    spread: float = 0.0  # standard deviation of the answers' lengths over their mean

    @property
    def mean_context(self) -> float:
        """Cached tokens of a running request: halfway through its answer, and long answers run longer."""
        return self.prefix + self.prompt + 0.5 * self.output * (1.0 + self.spread**2)

    def room(self, running: FloatArray | float) -> FloatArray:
        """Prompt tokens that a step has room for beside ``running`` decoding requests."""
        return np.maximum(self.token_budget - running, _LEAST_CHUNK)

    def chunk(self, running: FloatArray | float) -> FloatArray:
        """Tokens of one prompt in a step beside ``running`` decoding requests."""
        return np.minimum(self.room(running), self.prompt)


@dataclass(frozen=True, slots=True)
class Life:
    """Times of one request, arrays (3, n) by quantile unless stated; no queue in them."""

    share: FloatArray  # (n,) of the life spent decoding
    base: FloatArray  # s, server and first step
    own: FloatArray  # s, own prompt
    others: FloatArray  # s, other prompts read first
    per_token: FloatArray  # s a token after the first
    total: FloatArray  # s
    prefill_share: FloatArray  # (n,) of the decoding time that goes to other prompts
    terms: Terms


def live(
    plan: StepPlan,
    lengths: Lengths,
    inside: FloatArray,
    together: bool,
    near: FloatArray | None = None,
) -> Life:
    """Solve for ``inside`` (n,) requests in the engine, at least one each.

    ``together``: they start at the same moments, as users of a benchmark do.
    ``near``: shares close to the solution, if known.
    """
    n = len(inside)
    over, stages = plan.overheads, float(plan.stages)
    steps = np.maximum(lengths.output - 1.0, 0.0) / plan.tokens_per_step
    shared = 0.0 if over.separate_prompts else 1.0  # whether decodes go on beside a prompt
    others = inside - 1.0
    least_burst = over.burst if together else 0.0
    base = 1e-3 * over.alone_ms[plan.kind] * np.ones(n)
    wait = 1e-3 * over.waiting_request_ms[plan.kind]
    if together:
        base += 1e-3 * (over.together_ms[plan.kind] - over.alone_ms[plan.kind]) * others / inside
    # The first n columns are steps that only decode, the others carry a chunk of a prompt.
    decoding, context = np.empty(2 * n), np.empty(2 * n)
    context.reshape(2, n)[:] = lengths.mean_context
    prefill, history = np.zeros(2 * n), np.zeros(2 * n)
    both = decoding.reshape(2, n)

    def fill(share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Steps that carry one prompt, and whole prompts that share a step: those that wait come together."""
        # A step holds at least one request, however many stages stand idle.
        running = np.maximum(inside * share / stages, np.minimum(inside * share, 1.0))
        both[:] = running
        if over.separate_prompts:
            decoding[n:] = 0.0
        room = lengths.room(running)
        waiting = 1.0 + others * np.maximum(least_burst, 1.0 - share)
        together_read = np.minimum(waiting, np.maximum(room / lengths.prompt, 1.0))
        prefill[n:] = chunk = np.minimum(room, together_read * lengths.prompt)
        # Prompts side by side see themselves only: the pairs of one mean prompt a token.
        history[n:] = lengths.prefix + 0.5 * (lengths.prompt - chunk)
        return np.maximum(lengths.prompt / room, 1.0), together_read

    def ahead_of_one(share: FloatArray, decode: FloatArray, step: FloatArray) -> FloatArray:
        """Share of the others that are at their prompts: not decoding, nor on the way to the engine."""
        arriving = share * (base + 0.5 * step) / np.maximum(decode, 1e-12)
        return np.maximum(least_burst, 1.0 - share - np.minimum(arriving, 1.0 - share))

    def decoding_share(share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The share that follows from ``share``, and the waiting for prompts come just before, in prompts."""
        carriers, prompts = fill(share)
        seconds = plan.seconds(EXPECTED, decoding, context, prefill, history)
        step, one = seconds[:n], seconds[n:] / stages
        added = carriers * (one - shared * step / stages) / prompts
        mixed = added + (stages - 1.0) * one + shared * carriers * step / stages
        decode = steps * step + others * share * added
        before = ahead_of_one(share, decode, step)
        ahead = others * (before * added + np.minimum(before * (wait / over.burst), wait))
        life = decode + base + 0.5 * step + over.own_prefill * mixed + ahead
        reading = np.clip(inside * added / life, 0.0, _BUSIEST)
        busy = over.arrival * reading / (1.0 - reading)
        return decode / (life + busy * mixed), busy

    # Secant steps towards the share that follows from itself; far prompts need more than damping.
    last, share = np.ones(n), np.where(steps > 0, 0.9, 0.0) * np.ones(n) if near is None else near
    last_off = np.full(n, -0.1)
    busy = np.zeros(n)
    for _ in range(ROUNDS if near is None else 1):
        following, busy = decoding_share(share)
        off = following - share
        slope = np.minimum((off - last_off) / np.where(share == last, 1.0, share - last), -_LEAST_SLOPE)
        last, last_off = share, off
        share = np.clip(share - off / slope, 0.0, 1.0)

    carriers, prompts = fill(share)
    every = plan.seconds(slice(0, BOUND + 1), decoding, context, prefill, history)
    step, mixed, bound = every[:BOUND, :n], every[:BOUND, n:], every[BOUND]
    added = carriers * np.maximum(mixed - shared * step, 0.0) / (stages * prompts)
    own = added + ((stages - 1.0) * mixed + shared * carriers * step) / stages
    decode = steps * step + others * share * added
    first, last = step[EXPECTED], added[EXPECTED]
    low, high = plan.first_token_band
    band = np.array([[low], [1.0], [high]])
    before = ahead_of_one(share, decode[EXPECTED], first)
    wait_for_each = np.minimum(before * (wait / over.burst), wait)
    ahead = others * (before * last + wait_for_each) + busy * own[EXPECTED]
    several = steps > 0
    start, reads = base + 0.5 * first, over.own_prefill * own[EXPECTED]
    spread = (decode + own) / (decode + own)[EXPECTED]
    return Life(
        share=share,
        base=band * start,
        own=np.maximum(band * reads, carriers * (bound[n:] - shared * bound[:n]) / (stages * prompts)),
        others=band * ahead,
        per_token=np.where(
            several, decode / np.maximum(lengths.output - 1.0, 1e-9), step / plan.tokens_per_step
        ),
        total=spread * (decode[EXPECTED] + start + reads + ahead),
        prefill_share=np.where(several, others * share * last / np.maximum(decode[EXPECTED], 1e-12), 0.0),
        terms=Terms(
            inside=inside,
            share=share,
            decoding=both[0],
            step=first,
            mixed=mixed[EXPECTED],
            room=lengths.room(both[0]),
            carriers=carriers,
            together=prompts,
            added=last,
            own=own[EXPECTED],
            before=before,
            wait=wait_for_each,
            busy=busy,
            server=base,
        ),
    )
