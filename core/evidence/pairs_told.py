"""Runs beside their predictions as text for a terminal and as JSON."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from core.errors import Problem
from core.estimator import estimate
from core.evidence.causes import Cause, differs, likely_causes
from core.evidence.operator_pairs import rows_of_run
from core.evidence.pairing import Comparison, LedgerRow, Pair
from core.evidence.run import Run
from core.evidence.run_scenario import that_starts
from core.evidence.runs_told import shown_figure
from core.memory.capacity import Change
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.results import Estimate
from core.spec.checks import LABELS
from core.units import show_bytes, show_count, show_time, three_digits
from core.words import Words, counted, percent

_MOST_RUNS = 40  # shown one by one on a terminal
_MOST_CAUSES = 5  # runs whose causes are looked for


def pairs_text(pairs: Sequence[Pair], problems: Sequence[Problem], words: Words) -> str:
    """Errors by engine, GPU and figure; each run; ledgers; likely causes; what was not compared."""
    lines = [*_groups(pairs, words)]
    compared = [pair for pair in pairs if pair.comparisons]
    if compared:
        lines += ["", words("cli.validate.run_by_run"), *_figures(compared[:_MOST_RUNS], words)]
        if len(compared) > _MOST_RUNS:
            lines.append(words("cli.validate.more_runs", n=len(compared) - _MOST_RUNS))
    lines += _left(pairs, words)
    for pair in [pair for pair in pairs if pair.ledger][:_MOST_RUNS]:
        lines += ["", words("cli.validate.ledger", run=name_of(pair.run)), *_ledger(pair.ledger, words)]
    for pair in [pair for pair in pairs if pair.run.operators][:_MOST_RUNS]:
        lines += ["", words("cli.validate.operators", run=name_of(pair.run)), *_operators(pair, words)]
    for pair, causes in _causes(pairs):
        lines += ["", words("cli.validate.causes", run=name_of(pair.run))]
        lines += [f"  {cause_text(cause, words)}" for cause in causes]
    unpaired = [pair for pair in pairs if pair.scenario is None]
    if unpaired:
        lines += ["", words.phrase(counted("cli.validate.runs_skipped", len(unpaired)))]
        reasons = [
            [name_of(pair.run), words(f"cli.validate.reasons.{pair.reason}")]
            for pair in unpaired[:_MOST_RUNS]
        ]
        lines += table(reasons)
    if problems:
        lines += ["", words("cli.read.problem"), *(f"  {words.located(p)}" for p in problems)]
    return "\n".join(lines).lstrip("\n") + "\n"


def cause_text(cause: Cause, words: Words) -> str:
    """A cause with its evidence in one line."""
    return words("causes.line", cause=words.phrase(cause.text), evidence=words.phrase(cause.evidence))


def name_of(run: Run) -> str:
    """What a run is called: its label and the place it was read from."""
    place = f"{run.origin.file}:{run.origin.line}" if run.origin.line else run.origin.file
    return " ".join(part for part in (run.label, place) if part) or run.origin.tool


def _groups(pairs: Sequence[Pair], words: Words) -> list[str]:
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for pair in pairs:
        for c in pair.comparisons:
            if pair.scenario is not None:
                key = (pair.scenario.engine.name, pair.scenario.accelerator.name, c.figure)
                groups.setdefault(key, []).append(c)
    if not groups:
        return [] if any(pair.ledger for pair in pairs) else [words("cli.validate.nothing")]
    keys = ("engine", "gpu", "metric", "n", "median", "bias", "inside")
    rows = [[words(f"cli.validate.{key}") for key in keys]]
    for (engine, device, figure), found in sorted(groups.items()):
        errors = [c.error for c in found]
        inside = sum(c.low <= c.measured <= c.high for c in found) / len(found)
        shares = (
            percent(statistics.median(map(abs, errors)), 1),
            percent(statistics.median(errors), 1, "+"),
            percent(inside),
        )
        name = words(f"measured.figures.{figure}")
        rows.append([LABELS.get(engine, engine), device, name, str(len(found)), *map(words.phrase, shares)])
    return table(rows, (3, 4, 5, 6))


def _figures(pairs: Sequence[Pair], words: Words) -> list[str]:
    keys = ("run", "metric", "statistic", "measured", "predicted", "band", "error")
    rows = [[words(f"cli.validate.{key}") for key in keys]]
    for pair in pairs:
        for c in pair.comparisons:
            shown = [
                shown_figure(c.figure, value, words) for value in (c.measured, c.predicted, c.low, c.high)
            ]
            rows.append(
                [
                    name_of(pair.run),
                    words(f"measured.figures.{c.figure}"),
                    words(f"measured.statistics.{c.statistic}"),
                    *shown[:2],
                    f"{shown[2]} – {shown[3]}",
                    words.phrase(percent(c.error, 1, "+")),
                ]
            )
    return table(rows, (3, 4, 5, 6))


def _left(pairs: Sequence[Pair], words: Words) -> list[str]:
    """Reason by reason how many measured figures were not compared, and which."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        for left in pair.left:
            found.setdefault(left.reason, []).append(words(f"measured.figures.{left.figure}"))
    if not found:
        return []
    mark = words("units.list_mark")
    rows = [
        [str(len(names)), words(f"cli.validate.reasons.{reason}"), mark.join(dict.fromkeys(names))]
        for reason, names in found.items()
    ]
    return ["", words("cli.validate.not_compared"), *(f"  {line}" for line in table(rows, (0,)))]


def _ledger(rows: Sequence[LedgerRow], words: Words) -> list[str]:
    keys = ("line", "log_word", "measured", "predicted", "error")
    shown = [[words(f"cli.validate.{key}") for key in keys]]
    for row in rows:
        name = words(f"cli.validate.lines.{row.line}")
        measured = _amount(row, row.measured)
        if row.predicted is None:
            reason = words(f"cli.validate.reasons.{row.reason}") if row.reason else "–"
            shown.append([name, row.engine_word, measured, "–", reason])
            continue
        error = row.predicted / row.measured - 1 if row.measured else 0.0
        said = words.phrase(percent(error, 1, "+"))
        shown.append([name, row.engine_word, measured, _amount(row, row.predicted), said])
    return [f"  {line}" for line in table(shown, (2, 3, 4))]


def _operators(pair: Pair, words: Words) -> list[str]:
    rows = rows_of_run(pair.run, _point(pair))
    timed = any(row.step_seconds is not None and row.decode_seconds is not None for row in rows)
    keys = ("kind", "time", "calls", "measured", "in_decode", "in_prefill")
    of_step = ("a_step", "a_decode_step", "a_prefill_step") if timed else ()
    shown = [[words(f"cli.validate.{key}") for key in (*keys, *of_step)]]
    for row in rows:
        shares = (
            "–" if s is None else words.phrase(percent(s)) for s in (row.measured, row.decode, row.prefill)
        )
        spent = [str(show_time(row.seconds)), show_count(row.calls)]
        times = (row.step_seconds, row.decode_seconds, row.prefill_seconds) if timed else ()
        of_one = ("–" if s is None else str(show_time(s)) for s in times)
        shown.append([words(row.text_key), *spent, *shares, *of_one])
    return [f"  {line}" for line in table(shown, range(1, len(shown[0])))]


def _point(pair: Pair) -> Estimate | None:
    return None if pair.scenario is None else estimate(that_starts(pair.scenario))


def _amount(row: LedgerRow, value: float) -> str:
    if row.line == "max_concurrency":
        return three_digits(value)
    return show_count(value) if row.is_count else str(show_bytes(value))


def _causes(pairs: Iterable[Pair]) -> list[tuple[Pair, tuple[Cause, ...]]]:
    """Causes of the runs that are furthest off."""
    far = sorted((p for p in pairs if p.scenario is not None and differs(p)), key=_distance, reverse=True)
    found = ((pair, likely_causes(pair)) for pair in far[:_MOST_CAUSES])
    return [(pair, causes) for pair, causes in found if causes]


def _distance(pair: Pair) -> float:
    return max((abs(c.slow_error) for c in pair.comparisons), default=0.0)


def pairs_json(pairs: Sequence[Pair], problems: Sequence[Problem], words: Words) -> str:
    """The same as one JSON object."""
    causes = {id(pair): found for pair, found in _causes(pairs)}
    tree = {
        "runs": [_pair_tree(pair, causes.get(id(pair), ()), words) for pair in pairs],
        "problems": [{"code": p.code, "paths": list(p.paths), "text": words.located(p)} for p in problems],
    }
    return to_json(tree)


def _pair_tree(pair: Pair, causes: Sequence[Cause], words: Words) -> dict[str, Any]:
    origin = pair.run.origin
    return {
        "label": pair.run.label,
        "tool": origin.tool,
        "file": origin.file,
        "line": origin.line,
        "reason": pair.reason or None,
        "assumed": [{"field": a.path, "from": a.origin} for a in pair.assumed],
        "figures": [
            {
                "figure": c.figure,
                "statistic": c.statistic,
                "measured": c.measured,
                "predicted": c.predicted,
                "low": c.low,
                "high": c.high,
            }
            for c in pair.comparisons
        ],
        "ledger": [
            {
                "line": row.line,
                "engine_word": row.engine_word,
                "measured": row.measured,
                "predicted": row.predicted,
                "low": row.low,
                "high": row.high,
                "reason": row.reason or None,
            }
            for row in pair.ledger
        ],
        "operators": [asdict(row) for row in rows_of_run(pair.run, _point(pair))]
        if pair.run.operators
        else [],
        "not_compared": [
            {"figure": left.figure, "statistic": left.statistic, "reason": left.reason} for left in pair.left
        ],
        "causes": [cause_tree(cause, words) for cause in causes],
    }


def cause_tree(cause: Cause, words: Words) -> dict[str, Any]:
    """A cause for other programs: the change with its effect."""
    return {
        "key": cause.key,
        "text": words.phrase(cause.text),
        "explained": cause.explained,
        "plausibility": cause.plausibility,
        "before": cause.before,
        "after": cause.after,
        "changes": [_change_tree(change) for change in cause.changes],
    }


def _change_tree(change: Change) -> dict[str, Any]:
    value: Any = change.value
    dump = getattr(value, "model_dump", None)
    return {"path": change.path, "value": json.loads(json.dumps(dump(mode="json"))) if dump else value}
