"""A search for the greatest load in words and as JSON."""

from dataclasses import replace
from typing import Any

from core.planning.capacity_search import CapacityFound, LatencyCurve, ReplicasFound, Trial
from core.quantities import Range
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.units import show_count, show_time, three_digits
from core.words import Phrase, Words, counted, percent

FORMAT = "inferometer-capacity"
SCHEMA = 1


def headline(found: CapacityFound) -> Phrase:
    """The greatest load with its range."""
    if not found.most.expected:
        return Phrase(f"capacity.none.{found.limit}", {"share": percent(found.percentile)})
    show = show_count if found.by == "users" else three_digits
    values: dict[str, object] = {
        "low": show(found.most.low),
        "high": show(found.most.high),
        "share": percent(found.percentile),
        "limit": Phrase(f"capacity.limits.{found.limit}"),
    }
    if found.by == "users":
        users = counted("units.users", round(found.most.expected))
        exact = values["low"] == values["high"]
        return Phrase(f"capacity.{'users_exactly' if exact else 'users'}", {**values, "users": users})
    return Phrase("capacity.rate", {**values, "rate": three_digits(found.most.expected)})


def capacity_text(
    found: CapacityFound,
    words: Words,
    curve: LatencyCurve | None = None,
    replicas: ReplicasFound | None = None,
) -> str:
    """The answer, the trials, the knee and the copies where they were asked for."""
    said = [headline(found)]
    if refused := max((one.refused for one in found.trials), default=0):
        said.append(counted("simulate.detail.refused", refused))
    blocks = [words.sentences(words.phrase(part) for part in said), _table(found, found.trials, words)]
    if replicas is not None:
        told = [replicas_sentence(replicas), *_why_fewer(found, replicas)]
        blocks.append(words.sentences(words.phrase(part) for part in told))
    if curve is not None and curve.knee >= 0:
        blocks.append(words("capacity.knee", rate=three_digits(curve.trials[curve.knee].load)))
        blocks.append(_table(replace(found, by="requests"), curve.trials, words))
    return "\n\n".join(blocks) + "\n"


def replicas_sentence(found: ReplicasFound) -> Phrase:
    """How many copies carry the rate."""
    if not found.replicas:
        return Phrase("capacity.replicas.none")
    copies = counted("capacity.copies", found.replicas)
    return Phrase("capacity.replicas.found", {"copies": copies, "devices": show_count(found.accelerators)})


def _why_fewer(found: CapacityFound, replicas: ReplicasFound) -> list[Phrase]:
    """Why each copy carries more than one by itself: what is dealt out in turn comes evenly."""
    trial, alone = replicas.trial, found.most.high
    if (
        found.by == "users"
        or trial is None
        or not replicas.replicas
        or trial.load <= alone * replicas.replicas
    ):
        return []
    each = three_digits(trial.load / replicas.replicas)
    return [Phrase("capacity.replicas.evenly", {"each": each, "alone": three_digits(found.most.expected)})]


def _table(found: CapacityFound, trials: tuple[Trial, ...], words: Words) -> str:
    by_users = found.by == "users"
    columns = ("load_users" if by_users else "load_rate", "first_token", "per_token", "speed", "meets")
    rows = [[words(f"capacity.columns.{key}", p=f"{100 * found.percentile:g}") for key in columns]]
    for one in trials:
        meets = words("capacity.meets" if one.meets else f"capacity.limits.{one.limit}")
        rows.append(
            [
                show_count(one.load) if by_users else three_digits(one.load),
                _time(one.time_to_first_token.expected),
                _time(one.time_per_output_token.expected),
                three_digits(one.output_tokens_per_second),
                meets,
            ]
        )
    return "\n".join(f"  {line}" for line in table(rows, right=range(4)))


def _time(seconds: float) -> str:
    shown = show_time(seconds)
    return f"{shown.number} {shown.unit}".strip()


def capacity_json(
    found: CapacityFound,
    words: Words,
    curve: LatencyCurve | None = None,
    replicas: ReplicasFound | None = None,
) -> str:
    """The answer and all trials.

    ``{"format", "schema", "headline", "by", "most": {"low", "expected", "high"}, "limit", "percentile",
    "trials": [trial, …], "replicas": null or {"replicas", "accelerators"},
    "curve": null or {"knee", "trials"}}``
    """
    return to_json(
        {
            "format": FORMAT,
            "schema": SCHEMA,
            "headline": words.phrase(headline(found)),
            "by": found.by,
            "most": _range(found.most),
            "limit": found.limit,
            "percentile": found.percentile,
            "trials": [_trial(t) for t in found.trials],
            "replicas": None
            if replicas is None
            else {"replicas": replicas.replicas, "accelerators": replicas.accelerators},
            "curve": None
            if curve is None
            else {"knee": curve.knee, "trials": [_trial(t) for t in curve.trials]},
        }
    )


def _range(value: Range) -> dict[str, float]:
    return {"low": value.low, "expected": value.expected, "high": value.high}


def _trial(one: Trial) -> dict[str, Any]:
    return {
        "load": one.load,
        "time_to_first_token_s": _range(one.time_to_first_token),
        "time_per_output_token_s": _range(one.time_per_output_token),
        "end_to_end_mean_s": one.end_to_end,
        "requests_per_s": one.requests_per_second,
        "output_tokens_per_s": one.output_tokens_per_second,
        "stable": one.stable,
        "meets": one.meets,
        "limit": one.limit,
        "refused": one.refused,
    }
