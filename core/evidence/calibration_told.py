"""What a calibration found, as text for a terminal and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from core.catalog.calibrations import calibration_tree
from core.errors import Problem
from core.evidence.calibrate import CalibrationResult, Fitted
from core.evidence.measure_next import Measurement
from core.reports.as_json import to_json
from core.reports.as_text import table
from core.units import show_count, three_digits
from core.words import Phrase, Words, counted, percent


def result_text(
    result: CalibrationResult, place: Path | None, problems: Sequence[Problem], words: Words
) -> str:
    """Errors before and after and the factors, where there are any; then what to measure next.

    Why it was refused is not said here: it belongs on the error stream.
    """
    lines: list[str] = []
    if result.calibration is not None:
        errors = result.calibration.errors
        lines.append(
            words(
                "cli.calibrate.done",
                name=result.calibration.name,
                figures=show_count(errors.figures),
                runs=show_count(errors.runs),
                before=words.phrase(percent(result.before, 1)),
                after=words.phrase(percent(result.after, 1)),
            )
        )
        lines += ["", *_factor_table(result, words)]
        lines += [words.phrase(remark) for remark in result.remarks]
        lines += ["", words("cli.calibrate.written", path=str(place))] if place is not None else []
    if result.next:
        lines += ["", words("cli.calibrate.next")]
        lines += [f"  {words.phrase(told(one))}" for one in result.next]
    if problems:
        lines += ["", words("cli.read.problem"), *(f"  {words.located(p)}" for p in problems)]
    text = "\n".join(lines).lstrip("\n")
    return f"{text}\n" if text else ""


def told(one: Measurement) -> Phrase:
    """A run to make, in words."""
    values: dict[str, object] = {
        "users": counted("units.users", one.users),
        "prompt": show_count(one.prompt_tokens),
        "output": show_count(one.output_tokens),
        "requests": show_count(one.requests),
    }
    if not one.tells:
        return Phrase("calibrate.measure", values)
    names = Phrase(f"calibrate.factors.{one.tells[0]}")
    if len(one.tells) > 1:
        second = Phrase(f"calibrate.factors.{one.tells[1]}")
        names = Phrase("calibrate.and", {"first": names, "second": second})
    return Phrase("calibrate.measure_for", {**values, "names": names})


def _factor_table(result: CalibrationResult, words: Words) -> list[str]:
    head = [words(f"cli.calibrate.columns.{key}") for key in ("factor", "value", "free", "told")]
    rows = [_factor_row(factor, words) for factor in result.factors]
    fitted = result.calibration
    if fitted is not None and fitted.reserve_gib:
        name = words("calibrate.factors.reserve")
        rows.append([name, f"{three_digits(fitted.reserve_gib)} GiB", "", ""])
    lines = table([head, *rows], (1, 2, 3)) if rows else []
    if fitted is not None and fitted.setups:
        lines.append(words("cli.calibrate.setups", n=show_count(len(fitted.setups))))
    return lines


def _factor_row(factor: Fitted, words: Words) -> list[str]:
    free, known = (words.phrase(percent(size)) for size in (factor.prior, factor.posterior))
    name = words(f"calibrate.factors.{factor.name}")
    return [name, f"{factor.value:.3f}", f"± {free}", f"± {known}"]


def result_json(result: CalibrationResult, place: Path | None, words: Words) -> str:
    """The same as one JSON object, the calibration's own tree in it."""
    fitted = result.calibration
    return to_json(
        {
            "calibration": None if fitted is None else calibration_tree(fitted),
            "file": None if place is None else str(place),
            "before": result.before,
            "after": result.after,
            "factors": [asdict(factor) for factor in result.factors],
            "points": [asdict(point) for point in result.points],
            "refused": [{"key": p.key, "text": words.phrase(p)} for p in result.refused],
            "remarks": [words.phrase(p) for p in result.remarks],
            "next": [{**asdict(one), "text": words.phrase(told(one))} for one in result.next],
        }
    )
