"""One request from its arrival to its last token, and the time between two of its tokens.

The parts are those of the point estimate, so a timeline can never disagree with a card:

    TTFT = server + queue + other prompts + own prompt (+ hand-over of the cache to another device)
    end to end = TTFT + (output - 1) TPOT
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.latency.textbook import TextbookPlan
from core.memory.build import plan_memory
from core.planning.started import Started
from core.quantities import EXPECTED, FloatArray
from core.results import Estimate, Speed
from core.serving.steady_state import Service, prepare
from core.spec.scenario import Scenario

SpanKey = Literal["server", "queue", "other_prompts", "own_prompt", "transfer", "decode"]
# Keys of ``Speed.first_token_parts`` in the order of a request's life.
_PARTS: tuple[tuple[SpanKey, str], ...] = (
    ("server", "base"),
    ("queue", "queue"),
    ("other_prompts", "other_prefills"),
    ("own_prompt", "prefill"),
    ("transfer", "transfer"),
)
_GROWTH_POINTS = 128
_PAGE = 16  # tokens


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the life, in seconds since the arrival."""

    key: SpanKey
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class TokenGaps:
    """Time from one token of a request to the next, expected quantile, seconds.

    With speculative decoding a step brings several tokens at once: the gap is between two steps.
    """

    usual: float  # a step without a prompt in it
    long: float  # a step that carries a chunk of another prompt; as ``usual`` where none ever does
    long_share: float  # of all gaps, 0 to 1
    chunk_tokens: float  # prompt tokens in such a step


@dataclass(frozen=True, slots=True)
class RequestLife:
    """The mean life of one request of the scenario."""

    spans: tuple[Span, ...]  # in order, without those that take no time
    first_token: float  # s
    end: float  # s
    chunk_ends: tuple[float, ...]  # s, where each step that carries a part of the own prompt ends
    chunk_tokens: float
    others_read: float  # prompts of other requests that are read while this one decodes, mean number
    others_seconds: float  # s of the decoding that these take
    gaps: TokenGaps
    seconds: FloatArray  # (m,) since the arrival
    tokens: FloatArray  # (m,) in the cache, a shared prefix included
    cache_bytes: FloatArray  # (m,) of one device, a shared prefix included
    bytes_per_token: int  # of one device, unbounded layers only

    def span(self, key: SpanKey) -> Span | None:
        """A part by name."""
        return next((span for span in self.spans if span.key == key), None)


def request_life(started: Started) -> RequestLife | None:
    """The life at the operating point; None when no request is ever answered (endless queue)."""
    estimate, speed = started.estimate, started.speed
    scenario = estimate.scenario
    if not math.isfinite(speed.time_to_first_token.expected):
        return None
    service = prepare(scenario)
    lengths = service.lengths
    spans, now = [], 0.0
    for key, part in _PARTS:
        seconds = speed.first_token_parts.get(part, 0.0)
        if seconds > 0:
            spans.append(Span(key, now, now + seconds))
            now += seconds
    decoding = max(lengths.output - 1.0, 0.0) * speed.time_per_output_token.expected
    first = now
    if decoding > 0:
        spans.append(Span("decode", first, first + decoding))
    chunk = _chunk(service, speed)
    own = next((span for span in spans if span.key == "own_prompt"), Span("own_prompt", first, first))
    ends = _chunk_ends(own, lengths.prompt, chunk)
    times, tokens = _growth(own, ends, first, decoding, service, chunk)
    rate = speed.request_throughput.expected / service.replicas
    return RequestLife(
        spans=tuple(spans),
        first_token=first,
        end=first + decoding,
        chunk_ends=ends,
        chunk_tokens=chunk,
        others_read=rate * decoding if speed.prefill_share > 0 else 0.0,
        others_seconds=speed.prefill_share * decoding,
        gaps=token_gaps(scenario, speed),
        seconds=times,
        tokens=tokens,
        cache_bytes=_bytes(scenario, tokens),
        bytes_per_token=estimate.capacity.kv_bytes_per_token,
    )


def token_gaps(scenario: Scenario, speed: Speed) -> TokenGaps:
    """The usual and the long gap between tokens at the operating point.

    Their mean is the time per output token (times the tokens of a step): the share of long gaps
    follows from that.
    """
    service, usual = prepare(scenario), speed.decode.seconds
    chunk = _chunk(service, speed)
    if isinstance(service.plan, TextbookPlan) or speed.prefill_share <= 0:
        return TokenGaps(usual, usual, 0.0, chunk)
    lengths, plan = service.lengths, service.plan
    before = lengths.prefix + 0.5 * (lengths.prompt - chunk)
    point = (np.array([v]) for v in (_in_a_step(service, speed), lengths.mean_context, chunk, before))
    long = max(float(plan.seconds(EXPECTED, *point)[0]), usual)
    mean = speed.time_per_output_token.expected * plan.tokens_per_step
    share = min(max((mean - usual) / (long - usual), 0.0), 1.0) if long > usual else 0.0
    return TokenGaps(usual, long, share, chunk)


def prompt_step_tokens(scenario: Scenario, speed: Speed) -> float:
    """Prompt tokens that the prefill step of ``Speed.prefill`` reads."""
    return _chunk(prepare(scenario), speed)


def _in_a_step(service: Service, speed: Speed) -> float:
    """Requests that decode in one step, as in the phases of the estimate."""
    stages = 1 if isinstance(service.plan, TextbookPlan) else service.plan.stages
    return max(speed.running / service.replicas / stages, 1.0)


def _chunk(service: Service, speed: Speed) -> float:
    if isinstance(service.plan, TextbookPlan):
        return service.lengths.prefix + service.lengths.prompt
    return float(service.lengths.chunk(_in_a_step(service, speed)))


def _chunk_ends(own: Span, prompt: float, chunk: float) -> tuple[float, ...]:
    """Steps that carry a whole chunk take the same time; the last one takes what is left."""
    if own.seconds <= 0 or chunk <= 0:
        return ()
    steps = math.ceil(prompt / chunk - 1e-9)
    return tuple(own.start + own.seconds * min(1.0, (i + 1) * chunk / prompt) for i in range(steps))


def _growth(
    own: Span, ends: tuple[float, ...], first: float, decoding: float, service: Service, chunk: float
) -> tuple[FloatArray, FloatArray]:
    """Cached tokens over time: a stair while the prompt is read, a line while the answer grows."""
    lengths = service.lengths
    times, tokens = [0.0, own.start], [0.0, 0.0]
    held = lengths.prefix
    if held:
        times.append(own.start)
        tokens.append(held)
    for end in ends[:_GROWTH_POINTS]:
        held = min(held + chunk, lengths.prefix + lengths.prompt)
        times += [end, end]
        tokens += [tokens[-1], held]
    held = lengths.prefix + lengths.prompt
    last = max(lengths.output - 1.0, 0.0)
    # Whole pages, so that the line does not show stairs that are those of its points.
    step = _PAGE * math.ceil(max(last, 1.0) / _PAGE / _GROWTH_POINTS)
    between = np.arange(math.floor(held / step) + 1, math.ceil((held + last) / step)) * float(step)
    answer = np.concatenate([[held], between[(between > held) & (between < held + last)], [held + last]])
    return (
        np.concatenate([times, first + (answer - held) / max(last, 1.0) * decoding]),
        np.concatenate([tokens, answer]),
    )


def _bytes(scenario: Scenario, tokens: FloatArray) -> FloatArray:
    """Bytes of one device for one request of so many tokens; a state is taken with the first token."""
    whole = np.ceil(tokens)
    used = np.asarray(plan_memory(scenario).demand.request_bytes(whole), dtype=np.float64)
    return np.where(tokens > 0, used, 0.0)


__all__ = [
    "Estimate",
    "RequestLife",
    "Span",
    "TokenGaps",
    "prompt_step_tokens",
    "request_life",
    "token_gaps",
]
