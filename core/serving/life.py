"""The life of a request in terms, and the equations that ``core.serving.lifecycle`` solves.

    TPOT (O-1) = (O-1) t_d(n) + (b-1) u D
    TTFT = base + own + 0.17 D + t_d/2 + (b-1)(s D + w) + z t_d + q own

b requests are in the engine.  D is the time that one prompt adds to the steps it shares (of engines
that read prompts in steps of their own: those steps; prompts that wait are read together), "own" the
time of the steps that carry it.  Of each other request's prompt the share s is read before the own one,
the share u while this request decodes.  With p pipeline stages a step carries n / p requests, and a
prompt occupies each stage for 1/p of D; with speculative decoding a request gains several tokens a step.

Open loop: arrivals see the engine as it is on average in time.  A request decodes for a share f of its
life, so n = b f.  Those that came while it waited and was read are read beside its answer, too; as many
wait when it ends, if that is a step with a prompt: u = f + (1 - c) ((1 + q) own / life - s), c the share of
the decode steps with prompts.  With r the share of time with a prompt in the step and k prompts that a step
has room for,

    q = r / (2 (1 - r / k))        s = q own / life (1 - 1 / k)

the wait of regular service (M/D/1) where a prompt fills a step; where more have room, those that have
come are read side by side in the next one.  The server takes w for each that waits, s of the others.

Closed loop: a user asks when an answer ends, that is when a step ends, and in steps prompts are short
however long they take: those who read and those who decode go through the same steps.  So nobody waits
(and s is the burst of users who start together, as benchmarks do), until prompts fill every step:

    z = max(0, b m - (O-1) - m - w_s)   steps more than a life takes by itself, m steps for a prompt
    s = max(burst, z / (m (b-1)))       u = 1 - s - (w_s t) / life

since each other prompt is read once in every life: before the own one, beside the answer, or while the
request is on its way through the server, w_s steps of mean time t.
An engine that takes every prompt for which there is room at the moment gives the room of each answer that
ends to prompts that wait, and takes back from the last of them what the others grow meanwhile.  What was
given up so comes in again together with a new prompt, in the same steps: D and "own" are those of a prompt
and of the tokens that are read again (``core.serving.steady_state`` says how many).  Here q = 0, and n
follows from steps too: b (O-1) / (all steps of a life).

The form and the constants (in the efficiency profiles) were found on served measurements.
"""

from dataclasses import dataclass

import numpy as np

from core.quantities import FloatArray
from core.serving.load import Terms

_LEAST_CHUNK = 1.0  # tokens of a prompt in a step that carries one: that many must decode fewer at once


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of a request, and of a step; of n points each may be an array (n,)."""

    prompt: float  # to read, without the shared prefix
    prefix: float  # shared, already cached
    output: float
    token_budget: float  # of one step
    spread: float = 0.0  # standard deviation of the answers' lengths over their mean
    anew: FloatArray | float = 0.0  # tokens that are read again after preemptions, of each request

    @property
    def reading(self) -> FloatArray | float:
        """Tokens that are read for each request."""
        return self.prompt + self.anew

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


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps that carry prompts, (n,) each."""

    carriers: FloatArray  # of one prompt; no whole number, so that nothing jumps where one more begins
    together: FloatArray  # whole prompts that share a step: those that wait come together
    each: FloatArray  # for each prompt
    occupied: FloatArray  # of a stage, for each prompt


@dataclass(frozen=True, slots=True)
class Reading:
    """How prompts are read at a guess of how many decode, expected quantile, (n,) each."""

    steps: Steps
    step: FloatArray  # s, a step that only decodes
    added: FloatArray  # s that one prompt adds to the steps it shares
    own: FloatArray  # s of the steps that carry it
    reads: FloatArray  # s from the queue to the first token


@dataclass(frozen=True, slots=True)
class Waits:
    """What a request waits for beside its own steps, (n,) each."""

    before: FloatArray  # of each other request's prompt, the share that is read first
    beside: FloatArray  # and the share that is read while this one decodes
    full: FloatArray  # decode steps that pass first because every step is full of prompts
    busy: FloatArray  # prompts' worth of waiting for what is being read
