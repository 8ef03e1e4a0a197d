"""A simulation in words, as JSON and as a table of its requests."""

import csv
import io
import math
from typing import Any

from core.planning.simulated_cost import simulated_cost
from core.quantities import Range
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.serving.begun import Begun, asked_by_users, begun
from core.serving.results import Distribution, Over, SimulationResult
from core.serving.simulator import Progress
from core.units import show_count, show_time, three_digits
from core.words import Phrase, Words, counted, percent

FORMAT = "inferometer-simulation"
SCHEMA = 1
_LONGER = 2.0  # times what it takes until all users are there: as long again is measured
_ABOUT = 0.03  # by which those who came and those who were answered differ unsaid
_SHOWN = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def headline(result: SimulationResult) -> Phrase:
    """The sentence: what nineteen of twenty requests get."""
    if not result.done:
        return Phrase("simulate.headline.nothing")
    if not result.stable:
        values = {"rate": three_digits(result.requests_per_second)}
        return Phrase("simulate.headline.overloaded", values)
    if there := _not_reached(result):
        values = {"begun": show_count(there.users), "users": show_count(there.of)}
        return Phrase(f"simulate.headline.{'just_full' if there.last else 'too_short'}", values)
    values = {"time": _time(result.time_to_first_token.p95.expected)}
    if result.refused:
        values |= {"refused": show_count(result.refused), "asked": show_count(result.asked)}
        return Phrase("simulate.headline.refused", values)
    return Phrase("simulate.headline.first_token", values)


def detail(result: SimulationResult) -> tuple[Phrase, ...]:
    """Sentences that follow."""
    values = {"requests": counted("units.requests", result.done), "time": _time(result.seconds)}
    said = [Phrase("simulate.detail.run" if result.finished else "simulate.detail.so_far", values)]
    if there := _not_reached(result):
        said.append(Phrase("simulate.detail.too_short", {"time": _time(_LONGER * there.seconds)}))
    targets = result.scenario.targets
    if result.done and (targets.time_to_first_token_s or targets.time_per_output_token_ms):
        said.append(_meeting(result))
    if result.cache_full_seconds > 0.0:
        said.append(Phrase("simulate.detail.cache_full", {"time": _time(result.cache_full_seconds)}))
    if result.preempted:
        said.append(counted("simulate.detail.preempted", result.preempted))
    if result.refused:
        said.append(counted("simulate.detail.refused", result.refused))
    if result.done and _in_step(result):
        said.append(Phrase("simulate.detail.in_step"))
    return tuple(said)


def so_far(progress: Progress) -> Phrase:
    """How far a run has come: of those that have come by now, and how many there will be."""
    values = {"done": show_count(progress.done), "asked": show_count(progress.asked)}
    values |= {"time": _time(progress.clock), "whole": show_count(progress.whole)}
    return Phrase("simulate.so_far_of" if progress.whole else "simulate.so_far", values)


def _meeting(result: SimulationResult) -> Phrase:
    """Of whom the share is, where the rates are of others: those who came late are still waiting."""
    share, good = percent(result.meeting), percent(result.good_share)
    came, ended = result.time_to_first_token.count, result.answered
    if not ended or (came and abs(ended / came - 1.0) <= _ABOUT):
        if not ended or share.values == good.values:
            return Phrase("simulate.detail.meeting", {"share": share})
        return Phrase("simulate.detail.meeting_both", {"share": share, "good": good})
    values = {"share": share, "came": show_count(came), "ended": show_count(ended)}
    return Phrase("simulate.detail.meeting_of", values)


def _in_step(result: SimulationResult) -> bool:
    """Whether nothing varies: users who ask again at once, with prompts and answers of one length."""
    settings = result.scenario.simulation
    fixed = settings.prompt_lengths == settings.output_lengths == "fixed" and settings.turns == 1
    return asked_by_users(result.scenario) and fixed and not settings.think_time_s


def _not_reached(result: SimulationResult) -> Begun | None:
    """The users of a finished run that ended before its load was there."""
    there = begun(result.scenario, result.records) if result.finished and result.done else None
    return there if there is not None and not there.reached else None


def simulation_text(result: SimulationResult, words: Words) -> str:
    """Headline, percentiles with their confidence, rates, the cache."""
    said = words.sentences(words.phrase(part) for part in detail(result))
    head = ["", words("simulate.mean"), *_SHOWN, words("simulate.p95_range")]
    named = (
        ("time_to_first_token", result.time_to_first_token),
        ("time_per_output_token", result.time_per_output_token),
        ("inter_token", result.inter_token),
        ("end_to_end", result.end_to_end),
        ("queue", result.queue),
    )
    rows = [head, *(_row(words(f"simulate.quantities.{key}"), d) for key, d in named if d.count)]
    cost = simulated_cost(result)
    figures = [
        ("requests_per_second", three_digits(result.requests_per_second)),
        ("goodput", goodput(result, words)),
        ("output_tokens_per_second", three_digits(result.output_tokens_per_second)),
        ("mean_running", three_digits(result.mean_running)),
        ("mean_waiting", three_digits(result.mean_waiting)),
        ("most_waiting", show_count(result.most_waiting)),
        ("cache_mean", words.phrase(percent(result.cache_mean))),
        ("preemptions", show_count(result.preemptions)),
        ("cached_share", words.phrase(percent(result.cached_share))),
        ("busy", words.phrase(percent(result.busy))),
        ("watts", three_digits(cost.watts)),
        ("joules_per_token", three_digits(cost.joules_per_token.expected)),
    ]
    lines = table([[words(f"simulate.quantities.{key}"), value] for key, value in figures], right=(1,))
    block = "\n".join(f"  {line}" for line in table(rows, right=range(1, 7)))
    rest = "\n".join(f"  {line}" for line in lines)
    return f"{words.phrase(headline(result))}\n  {said}\n\n{block}\n\n{rest}\n"


def goodput(result: SimulationResult, words: Words) -> str:
    """The rate, and its share of what was answered."""
    return f"{three_digits(result.goodput)} ({words.phrase(percent(result.good_share))})"


def _row(label: str, values: Distribution) -> list[str]:
    times = [values.mean, *(getattr(values, name).expected for name in _SHOWN)]
    span = f"{_time(values.p95.low)} – {_time(values.p95.high)}"
    return [label, *(_time(t) for t in times), span]


def simulation_json(result: SimulationResult, words: Words) -> str:
    """All figures; times in s; NaN and infinity are null."""
    return to_json(simulation_tree(result, words))


def simulation_tree(result: SimulationResult, words: Words) -> dict[str, Any]:
    """All figures but those of single requests.

    ``{"format", "schema", "headline", "scenario", "requests": {…}, "latency_s": {quantity: {"count",
    "mean", "p50": {"low", "expected", "high"}, …}}, "throughput": {…}, "targets": {…}, "queue": {…},
    "cache": {…}, "energy": {…}, "over": {"time_s": […], …}}``
    """
    cost = simulated_cost(result)
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "headline": words.phrase(headline(result)),
        "scenario": result.scenario.model_dump(mode="json"),
        "finished": result.finished,
        "seconds": result.seconds,
        "stable": result.stable,
        "requests": {"asked": result.asked, "done": result.done, "refused": result.refused},
        "latency_s": {
            "time_to_first_token": _distribution(result.time_to_first_token),
            "time_per_output_token": _distribution(result.time_per_output_token),
            "inter_token": _distribution(result.inter_token),
            "end_to_end": _distribution(result.end_to_end),
            "queue": _distribution(result.queue),
        },
        "throughput": {
            "requests_per_s": result.requests_per_second,
            "output_tokens_per_s": result.output_tokens_per_second,
            "goodput_requests_per_s": result.goodput,
            "goodput_share": result.good_share,
        },
        "targets": {
            "meeting": result.meeting,
            "meeting_first_token": result.meeting_first_token,
            "meeting_per_token": result.meeting_per_token,
        },
        "queue": {
            "mean_waiting": result.mean_waiting,
            "most_waiting": result.most_waiting,
            "mean_running": result.mean_running,
            "most_running": result.most_running,
        },
        "cache": {
            "mean_use": result.cache_mean,
            "most_use": result.cache_most,
            "full_s": result.cache_full_seconds,
            "preemptions": result.preemptions,
            "preempted_requests": result.preempted,
            "swaps": result.swaps,
            "cached_prompt_share": result.cached_share,
        },
        "energy": {
            "busy": result.busy,
            "watts": cost.watts,
            "joules_per_token": cost.joules_per_token.expected,
            "usd_per_hour": cost.usd_per_hour,
            "usd_per_million_tokens": None
            if cost.usd_per_million_tokens is None
            else cost.usd_per_million_tokens.expected,
        },
        "over": _over(result.over),
    }


def _distribution(values: Distribution) -> dict[str, Any]:
    percentiles = {name: _three(getattr(values, name)) for name in _SHOWN}
    return {"count": values.count, "mean": values.mean, **percentiles}


def _three(value: Range) -> dict[str, float]:
    return {"low": value.low, "expected": value.expected, "high": value.high}


def _over(over: Over) -> dict[str, list[float]]:
    return {
        "time_s": over.time.tolist(),
        "waiting": over.waiting.tolist(),
        "running": over.running.tolist(),
        "cache": over.cache.tolist(),
        "preemptions": over.preemptions.tolist(),
        "cached_prompt_share": over.hits.tolist(),
    }


_COLUMNS = (
    "number",
    "arrival_s",
    "admitted_s",
    "first_token_s",
    "finish_s",
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "preempted",
    "replica",
)


def requests_csv(result: SimulationResult) -> str:
    """One line a request; what has not happened is empty."""
    records = result.records
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    times = (records.arrival, records.admitted, records.first, records.finish)
    counts = (records.prompt, records.output, records.cached, records.preempted, records.replica)
    for number, row in enumerate(zip(*times, *counts, strict=True)):
        shown = ["" if math.isnan(t) else f"{t:.6f}" for t in row[:4]]
        writer.writerow([number, *shown, *row[4:]])
    return out.getvalue()


def _time(seconds: float) -> str:
    shown = show_time(seconds)
    return f"{shown.number} {shown.unit}".strip()
