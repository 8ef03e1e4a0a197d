"""A diagnosis as text for a terminal and as JSON."""

import math
from typing import Any

from core.catalog.calibrations import applying
from core.evidence.diagnose import Diagnosis, Placed, Suspect
from core.evidence.pairs_told import cause_tree, name_of
from core.evidence.run import Run
from core.evidence.runs_told import shown_figure
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.spec.scenario import Scenario
from core.words import Words

_MOST = 6


def diagnosis_text(found: Diagnosis, words: Words, of: Run | None = None) -> str:
    """Bound, estimate and observation of each figure, then where to look; ``of``: whose settings it is of."""
    keys = ("figure", "bound", "estimate", "band", "observed")
    rows = [[words(f"diagnose.columns.{key}") for key in keys]]
    rows += [_row(placed, words) for placed in found.placed]
    lines = [*table(rows, (1, 2, 3, 4)), ""]
    if of is not None:
        lines.append(words("validating.diagnose.of_run", run=name_of(of)))
    lines += [words.phrase(one) for one in found.contradictions]
    lines += [words.phrase(placed.sentence) for placed in found.placed]
    lines += ["", words.phrase(found.heading) if found.suspects else words("diagnose.none")]
    for number, suspect in enumerate(found.suspects[:_MOST], 1):
        lines += [f"{number}. {suspect_title(suspect, words)}", f"   {words.phrase(suspect.evidence)}"]
        if suspect.cause is not None:
            check, remedy = (words.phrase(p) for p in (suspect.cause.check, suspect.cause.remedy))
            lines += [
                f"   {words('diagnose.check', text=check)}",
                f"   {words('diagnose.remedy', text=remedy)}",
            ]
    return "\n".join(lines) + "\n"


def suspect_title(suspect: Suspect, words: Words) -> str:
    """A cause, led by the symptom it belongs to, or by the figure that is better than estimated."""
    cause = suspect.what_if.text if suspect.what_if is not None else None
    if cause is None and suspect.cause is not None:
        cause = suspect.cause.text
    symptom = (
        words("diagnose.better", figure=words(f"diagnose.figures.{suspect.figure}"))
        if suspect.symptom is None
        else words.phrase(suspect.symptom.name)
    )
    return symptom if cause is None else words("diagnose.title", symptom=symptom, cause=words.phrase(cause))


def _row(placed: Placed, words: Words) -> list[str]:
    def shown(value: float) -> str:
        return shown_figure(placed.figure, value, words)

    expected = placed.expected
    known = expected is not None and math.isfinite(expected.low)
    band = f"{shown(expected.low)} – {shown(expected.high)}" if expected is not None and known else "–"
    middle = "–" if expected is None else shown(expected.expected)
    name = words(f"diagnose.figures.{placed.figure}")
    return [name, shown(placed.bound), middle, band, shown(placed.observed)]


def diagnosis_json(found: Diagnosis, scenario: Scenario, words: Words) -> str:
    """The same as one JSON object; times in s, rates in tok/s, memory in bytes."""
    return to_json(
        {
            "figures": [_placed_tree(placed, words) for placed in found.placed],
            "contradictions": [{"key": one.key, "text": words.phrase(one)} for one in found.contradictions],
            "suspects": [_suspect_tree(suspect, words) for suspect in found.suspects],
            "calibration": None if applying(scenario) is None else scenario.engine.calibration,
        }
    )


def _placed_tree(placed: Placed, words: Words) -> dict[str, Any]:
    e = placed.expected
    return {
        "figure": placed.figure,
        "observed": placed.observed,
        "bound": placed.bound,
        "estimate": None if e is None else {"low": e.low, "expected": e.expected, "high": e.high},
        "target": placed.target,
        "state": placed.state,
        "text": words.phrase(placed.sentence),
    }


def _suspect_tree(suspect: Suspect, words: Words) -> dict[str, Any]:
    cause = suspect.cause
    return {
        "figure": suspect.figure,
        "symptom": None if suspect.symptom is None else suspect.symptom.key,
        "weight": suspect.weight,
        "share": suspect.share,
        "evidence": words.phrase(suspect.evidence),
        "cause": None
        if cause is None
        else {
            "key": cause.key,
            "text": words.phrase(cause.text),
            "check": words.phrase(cause.check),
            "remedy": words.phrase(cause.remedy),
        },
        "what_if": None if suspect.what_if is None else cause_tree(suspect.what_if, words),
    }
