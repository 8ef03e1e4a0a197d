"""An estimate as a page of text for a terminal."""

import math
from collections.abc import Callable, Iterable, Sequence

from core.explain.engine_notes import engine_notes
from core.explain.ledger_names import budget_key, line_name, taken_at_start
from core.memory.capacity import users_meant
from core.planning.cost import Cost, running_cost
from core.quantities import Range
from core.results import Estimate, Speed
from core.spec.deployment import Deployment
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import (
    hundredths,
    memory_size,
    memory_unit,
    show_count,
    show_time,
    show_tokens,
    three_digits,
    time_in,
)
from core.words import Words, counted, percent

_MARKS = {"good": "✓", "warn": "!", "bad": "✗"}
_PHASES = ("prefill", "decode")


def estimate_text(estimate: Estimate, words: Words) -> str:
    """Verdict, memory of one device, speeds with their 80 % ranges, capacity, notes."""
    blocks = [_title(estimate.scenario, words), _verdict(estimate, words), _memory(estimate, words)]
    if estimate.speed is not None:
        blocks.append(_speed(estimate.speed, words, estimate.scenario.deployment))
        if (cost := running_cost(estimate)) is not None:
            blocks.append(_cost(cost, words))
    blocks.append(_capacity(estimate, words))
    said = [*map(words.problem, estimate.notes), *map(words.phrase, engine_notes(estimate))]
    if said:
        blocks.append("\n".join([words("report.notes"), *(f"  {sentence}" for sentence in said)]))
    return "\n\n".join(blocks) + "\n"


def table(rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Rows as lines with aligned columns, those in ``right`` flush right."""
    cells = [list(row) for row in rows]
    widths = [max(width(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    flush = set(right)
    return [
        "  ".join(_pad(cell, widths[i], i in flush) for i, cell in enumerate(row)).rstrip() for row in cells
    ]


def width(text: str) -> int:
    """Columns on a terminal: Chinese characters take two."""
    return sum(2 if "\u1100" <= c <= "\u115f" or "\u2e80" <= c <= "\uffe6" else 1 for c in text)


def _pad(text: str, columns: int, right: bool) -> str:
    space = " " * (columns - width(text))
    return space + text if right else text + space


def _indented(rows: Iterable[Sequence[str]], right: Iterable[int]) -> list[str]:
    return [f"  {line}" for line in table(rows, right)]


def _title(scenario: Scenario, words: Words) -> str:
    engine = words(f"report.engine.{scenario.engine.name}")
    weights, cache = scenario.precision.weights, scenario.precision.kv_cache
    work = scenario.workload
    load = (
        words.phrase(counted("units.users", work.users))
        if work.load == "users"
        else words("report.rate", rate=three_digits(work.request_rate))
    )
    return words(
        "report.title",
        model=scenario.model.name,
        count=show_count(scenario.deployment.accelerators),
        device=scenario.accelerator.name,
        engine=f"{engine} {scenario.engine.version}".strip(),
        weights=WEIGHT_FORMATS[weights].label if weights in WEIGHT_FORMATS else weights,
        cache=CACHE_FORMATS[cache].label if cache in CACHE_FORMATS else cache,
        load=load,
        prompt=show_tokens(work.prompt_tokens),
        output=show_tokens(work.output_tokens),
    )


def _verdict(estimate: Estimate, words: Words) -> str:
    verdict = estimate.verdict
    return f"{_MARKS[verdict.state]} {words.phrase(verdict.headline)}\n  {words.phrase(verdict.detail)}"


def _memory(estimate: Estimate, words: Words) -> str:
    """Two decimals that add up, as in the window's account; shares are of the budget."""
    ledger = estimate.ledger
    inside = [line for line in ledger.lines if line.key != "outside"]
    shown = hundredths([line.bytes for line in inside], sum(line.bytes for line in inside))
    rows = [
        (
            words.phrase(line_name(line.key, estimate.scenario.accelerator, "report.ledger")),
            *_gib(cents),
            words.phrase(percent(line.bytes / ledger.budget_bytes)),
            line.engine_word,
        )
        for line, cents in zip(inside, shown, strict=True)
    ]
    spare = sum(c for line, c in zip(inside, shown, strict=True) if line.key == "kv_cache_spare")
    device, budget = (
        round(100 * size / memory_size()) for size in (ledger.device_bytes, ledger.budget_bytes)
    )
    local = taken_at_start(estimate)
    totals = {"needed": sum(shown) - spare, "budget_bytes": budget, "outside": device - budget}
    if local:
        totals = {"needed": sum(shown) - spare, "taken": budget, "unused": device - budget}
    limit = budget_key(estimate)
    if not ledger.fits:
        name = "device_bytes" if limit == "device" else "budget_bytes"
        totals = {"needed": sum(shown), name: budget, "too_much": sum(shown) - budget}
    totals["device_bytes"] = device
    rows += [(words(f"report.ledger.{key}"), *_gib(cents), "", "") for key, cents in totals.items()]
    lines = _indented(rows, (1, 3))
    rule = max(width(line) for line in lines) - 2
    lines.insert(len(inside), f"  {'─' * rule}")
    return "\n".join([words("report.memory" if limit == "budget" else f"report.memory_{limit}"), *lines])


def _gib(cents: int) -> tuple[str, str]:
    return f"{cents / 100:,.2f}", memory_unit()


def _speed(speed: Speed, words: Words, place: Deployment) -> str:
    copies = min(place.attention_data_parallel, place.tensor_parallel)  # that take every step together
    rows = [
        _time_row(words("report.time_to_first_token"), speed.time_to_first_token),
        *_parts(speed, words),
        _time_row(words("report.time_per_output_token"), speed.time_per_output_token),
        _range_row(words("report.output_throughput"), speed.output_throughput, "tok/s", three_digits),
        _range_row(words("report.request_throughput"), speed.request_throughput, "req/s", three_digits),
    ]
    lines = [words("report.speed"), *_indented(rows, (1,))]
    for name in _PHASES:
        phase = getattr(speed, name)
        share = percent(phase.shares[phase.bottleneck])
        text = words(
            f"report.{name}" if copies < 2 else f"report.{name}_copies",
            copies=copies,
            time=show_time(phase.seconds),
            bound=words(f"report.bound.{phase.bottleneck}"),
            share=share,
            format=phase.compute_format.upper(),
            requests=three_digits(phase.requests),
            tokens=show_tokens(phase.prompt_tokens),
        )
        lines.append(f"  {text}")
    return "\n".join(lines)


def _time_row(label: str, value: Range) -> tuple[str, str, str, str]:
    unit = show_time(value.expected).unit
    return _range_row(label, value, unit, lambda seconds: time_in(seconds, unit))


def _range_row(
    label: str, value: Range, unit: str, show: Callable[[float], str]
) -> tuple[str, str, str, str]:
    """The value and its range, in one unit; no range where it has no end or says no more."""
    low, high = show(value.low), show(value.high)
    bounded = math.isfinite(value.expected) and math.isfinite(value.high)
    beside = f"({low} – {high} {unit})" if bounded and low != high else ""
    return label, show(value.expected), unit, beside


_PARTS = ("queue", "other_prefills", "prefill", "transfer", "base")


def _parts(speed: Speed, words: Words) -> list[tuple[str, str, str, str]]:
    """What the first token waits for; together they are its time."""
    if not math.isfinite(speed.time_to_first_token.expected):
        return []
    shown = {key: speed.first_token_parts.get(key, 0.0) for key in _PARTS}
    return [
        (f"  {words(f'report.first_token.{key}')}", *show_time(seconds), "")
        for key, seconds in shown.items()
        if seconds > 0
    ]


def _cost(cost: Cost, words: Words) -> str:
    """Power and money of all devices; what has no price is left out."""
    joules, million = cost.joules_per_token, cost.usd_per_million_tokens
    rows = [
        (words("report.power"), f"{cost.watts:,.0f}", "W", ""),
        _range_row(words("report.energy"), joules, "J", three_digits),
    ]
    if cost.usd_per_hour is not None:
        rows.append((words("report.per_hour"), f"{cost.usd_per_hour:,.2f}", "USD", ""))
    if million is not None:
        rows.append(_range_row(words("report.per_million"), million, "USD", three_digits))
    return "\n".join([words("report.cost"), *_indented(rows, (1,))])


def _capacity(estimate: Estimate, words: Words) -> str:
    capacity = estimate.capacity
    work = estimate.scenario.workload
    users, model_length = (
        show_tokens(work.tokens_per_request),
        show_tokens(estimate.scenario.engine.longest_request),
    )
    rows = [
        (words("report.kv_tokens"), _exact(capacity.kv_tokens)),
        (words("report.max_users", length=users), _exact(capacity.max_users)),
        (
            words("report.max_users_at_model_length", length=model_length),
            _exact(capacity.max_users_at_model_length),
        ),
        (
            words(
                "report.max_length",
                users=words.phrase(counted("units.users", users_meant(estimate.scenario))),
            ),
            _exact(capacity.max_length),
        ),
        (words("report.kv_bytes_per_token"), _exact(capacity.kv_bytes_per_token)),
    ]
    return "\n".join([words("report.capacity"), *_indented(rows, (1,))])


def _exact(count: int) -> str:
    """A whole number to its last digit: these are compared with the engine's log."""
    return f"{count:,}"
