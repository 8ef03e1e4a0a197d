"""What one step of each phase says: a bar, and a row for each operator; no painting here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.planning.request_life import prompt_step_tokens
from core.planning.started import Started
from core.serving.load import OperatorTime, Phase
from core.spec.scenario import Scenario
from core.units import memory_steps, show_count, show_time, show_tokens, three_digits
from core.words import Phrase, Words, counted, percent

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))
NONE = "–"
LEAST_KERNEL = 1e-6  # s; the start of one kernel takes a few times as long
_LEAST_SAID = 0.005  # share of a bound that the summary still names


@dataclass(frozen=True, slots=True)
class StepRow:
    """One operator, as texts."""

    key: str
    name: str
    time: str
    share: str
    bound: str
    flops: str
    bytes: str
    part: float  # of the step


@dataclass(frozen=True, slots=True)
class StepPhase:
    """One step."""

    title: str
    what: str
    total: str
    caption: str
    rows: tuple[StepRow, ...]  # the longest first
    spoken: str


def steps_of(started: Started, words: Words) -> tuple[StepPhase, StepPhase]:
    """Prefill and decode step of an estimate."""
    speed, scenario = started.speed, started.estimate.scenario
    tokens = show_tokens(prompt_step_tokens(scenario, speed))
    running = requests_in(speed.decode.requests)
    return (
        _phase(speed.prefill, "prefill", _read(scenario, tokens, words), words),
        _phase(speed.decode, "decode", _decoded(scenario, running, words), words),
    )


def _read(scenario: Scenario, tokens: str, words: Words) -> str:
    """What a step with a prompt reads; copies of the attention each read one."""
    place = scenario.deployment
    copies = min(place.attention_data_parallel, place.tensor_parallel)
    if copies < 2:
        return words("plots.step_time.prefill_of", tokens=tokens)
    return words("plots.step_time.prefill_of_copies", tokens=tokens, copies=copies)


def _decoded(scenario: Scenario, running: Phrase, words: Words) -> str:
    """What a decode step is for; with a draft each request has its drafted tokens and one more checked."""
    draft = scenario.speculative
    if draft.kind == "none":
        return words("plots.step_time.decode_of", requests=running)
    return words("plots.step_time.verify_of", requests=running, n=draft.tokens + 1)


def requests_in(running: float) -> Phrase:
    """Requests of a decode step, a mean: "1.3 requests", "16 requests"; a rounded 1 would be another step."""
    shown = max(1.0, round(running, 1))
    if shown < 4 and not shown.is_integer():
        return Phrase("units.requests", {"n": f"{shown:.1f}"})
    return counted("units.requests", round(shown))


def _phase(phase: Phase, key: str, what: str, words: Words) -> StepPhase:
    rows = tuple(_row(op, phase.seconds, words) for op in gathered(phase.operators) if op.seconds > 0)
    shares = sorted(phase.shares.items(), key=lambda pair: -pair[1])
    said = words("plots.step_time.list_mark").join(
        words(
            "plots.step_time.bound_share",
            bound=words(f"plots.bounds.{bound}"),
            share=share_text(share, words),
        )
        for bound, share in shares
        if share >= _LEAST_SAID
    )
    title = words(f"plots.step_time.{key}")
    total = str(show_time(phase.seconds))
    caption = words("plots.step_time.limited", bounds=said)
    spoken = words("plots.step_time.list_mark").join(f"{row.name} {row.time} {row.share}" for row in rows)
    return StepPhase(title, what, total, caption, rows, f"{title}, {what}, {total}. {caption}. {spoken}")


def gathered(operators: Sequence[OperatorTime]) -> tuple[OperatorTime, ...]:
    """Operators without those that take less than starting any kernel does: no kernel of their own.

    Their time goes to the scheduling and launches, so that the parts still add up.
    """
    small = [op for op in operators if op.seconds < LEAST_KERNEL and op.key != "overhead"]
    if not small or not any(op.key == "overhead" for op in operators):
        return tuple(operators)
    more = sum(op.seconds for op in small)
    kept = [replace(op, seconds=op.seconds + more) if op.key == "overhead" else op for op in operators]
    return tuple(sorted((op for op in kept if op not in small), key=lambda op: -op.seconds))


def _row(op: OperatorTime, total: float, words: Words) -> StepRow:
    part = op.seconds / total if 0 < total < math.inf and 0 <= op.seconds < math.inf else 0.0
    return StepRow(
        op.key,
        words(f"operators.{op.key}"),
        str(show_time(op.seconds)),
        share_text(part, words),
        words(f"plots.bounds.{op.bound}"),
        scaled(op.flops),
        binary(op.bytes),
        part,
    )


def share_text(share: float, words: Words) -> str:
    """A share: 76 %, 0.4 %, < 0.1 %."""
    if not math.isfinite(share):
        return NONE
    if share >= 0.0995:
        return words.phrase(percent(share))
    return words.phrase(percent(share, 1)) if share >= 0.0005 else f"< {words.phrase(percent(0.001, 1))}"


def scaled(count: float) -> str:
    """A count with a decimal prefix: 11.5 T; a dash for none."""
    if not math.isfinite(count):
        return NONE
    for size, letter in _PREFIXES:
        if count >= 0.9995 * size:
            return f"{three_digits(count / size)} {letter}"
    return show_count(count) if count > 0 else NONE


def binary(count: float) -> str:
    """Bytes in the unit that suits them; a dash for none."""
    if not math.isfinite(count):
        return NONE
    for size, unit in memory_steps():
        if count >= 0.9995 * size:
            return f"{three_digits(count / size)} {unit}"
    return f"{count:.0f} B" if count > 0 else NONE
