"""The comparison as text and as JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from core.evidence.memory_predictions import Prediction
from core.evidence.validate import GroupErrors, grouped
from core.reports.as_text import table
from core.words import Words


def validation_text(predictions: Iterable[Prediction], words: Words) -> str:
    """Errors of each group, then every figure that could not be predicted and why."""
    found = tuple(predictions)
    head = [
        words(f"cli.validate.{key}") for key in ("engine", "metric", "n", "median", "p90", "bias", "inside")
    ]
    rows = [_row(group) for group in grouped(found)]
    lines = table([head, *rows], range(2, 7)) if rows else [words("cli.validate.nothing")]
    skipped = [p for p in found if p.skipped]
    if skipped:
        lines += ["", words("cli.validate.skipped", n=len(skipped))]
        reasons = [[p.id, p.metric, words(f"cli.validate.reasons.{p.skipped}")] for p in skipped]
        lines += table(reasons)
    given = sorted({p.id for p in found if p.given})
    if given:
        lines += ["", words("cli.validate.given", n=len(given))]
    return "\n".join(lines) + "\n"


def _row(group: GroupErrors) -> list[str]:
    scale = 100.0 if group.unit == "%" else 1.0
    amounts = (group.median * scale, group.p90 * scale)
    return [
        group.engine,
        group.metric,
        str(group.n),
        *(f"{amount:.3f} {group.unit}" for amount in amounts),
        f"{group.bias * scale:+.3f} {group.unit}",
        f"{group.inside:.0%}",
    ]


def validation_json(predictions: Iterable[Prediction]) -> str:
    """The groups and the skipped figures as one JSON object."""
    found = tuple(predictions)
    tree = {
        "groups": [asdict(group) for group in grouped(found)],
        "skipped": [{"id": p.id, "metric": p.metric, "reason": p.skipped} for p in found if p.skipped],
        "given": [{"id": p.id, "metric": p.metric, "given": p.given} for p in found if p.given],
    }
    return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"
