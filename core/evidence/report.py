"""The comparison as text and as JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from core.evidence.memory_predictions import Prediction
from core.evidence.outcomes import file_head, file_row, outcomes_of, reason_head, reason_rows
from core.evidence.validate import GroupErrors, grouped
from core.reports.as_text import table
from core.words import Words, counted, percent


def validation_text(predictions: Iterable[Prediction], words: Words) -> str:
    """Errors of each group, then every figure that could not be predicted and why."""
    found = tuple(predictions)
    head = [
        words(f"cli.validate.{key}") for key in ("engine", "metric", "n", "median", "p90", "bias", "inside")
    ]
    rows = [_row(group, words) for group in grouped(found)]
    lines = table([head, *rows], range(2, 7)) if rows else [words("cli.validate.nothing")]
    skipped = [p for p in found if p.skipped]
    if skipped:
        files = outcomes_of(found)
        lines += ["", *table([file_head(words), *(file_row(one, words) for one in files)], range(1, 5))]
        single = [one for one in files if one.file]
        lines += ["", *table([reason_head(words), *reason_rows(single, words)], range(3, 5))]
        lines += ["", words.phrase(counted("cli.validate.skipped", len(skipped)))]
        reasons = [[p.id, p.metric, words(f"cli.validate.reasons.{p.skipped}")] for p in skipped]
        lines += table(reasons)
    given = sorted({p.id for p in found if p.given})
    if given:
        lines += ["", words.phrase(counted("cli.validate.given", len(given)))]
    return "\n".join(lines) + "\n"


def _row(group: GroupErrors, words: Words) -> list[str]:
    return [group.engine, group.metric, str(group.n), *error_cells(group, words, 3)]


def error_cells(group: GroupErrors, words: Words, digits: int) -> list[str]:
    """Median, 90th percentile and bias of the errors with ``digits`` decimals, and the share in the band."""
    errors = ((group.median, ""), (group.p90, ""), (group.bias, "+"))
    if group.unit == "%":
        shown = [words.phrase(percent(error, digits, sign)) for error, sign in errors]
    else:
        shown = [f"{error:{sign}.{digits}f} {group.unit}" for error, sign in errors]
    return [*shown, words.phrase(percent(group.inside))]


def validation_json(predictions: Iterable[Prediction]) -> str:
    """The groups and the skipped figures as one JSON object."""
    found = tuple(predictions)
    tree = {
        "groups": [asdict(group) for group in grouped(found)],
        "files": [asdict(one) for one in outcomes_of(found)],
        "skipped": [{"id": p.id, "metric": p.metric, "reason": p.skipped} for p in found if p.skipped],
        "given": [{"id": p.id, "metric": p.metric, "given": p.given} for p in found if p.given],
    }
    return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
