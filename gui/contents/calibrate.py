"""What the pages for calibrating and diagnosing say."""

import math
from typing import TYPE_CHECKING

from core.evidence.diagnose import Diagnosis, Suspect
from core.evidence.runs_told import shown_figure
from core.units import three_digits
from core.words import Words, percent
from gui.contents.validate import between
from gui.widgets.grid_table import Cell, Column, Row

if TYPE_CHECKING:
    from core.evidence.calibrate import CalibrationResult

_DASH = "–"


def calibration_headline(found: "CalibrationResult", words: Words) -> str:
    """What fitting has brought, or the first reason why not."""
    if found.calibration is None:
        return words.phrase(found.refused[0]) if found.refused else words("validating.calibrate.refused")
    before, after = (words.phrase(percent(value, 1)) for value in (found.before, found.after))
    return words("validating.calibrate.done", before=before, after=after)


def factor_table(found: "CalibrationResult", words: Words) -> tuple[list[Column], list[Row]]:
    """Each factor before and after, and how surely the runs tell it."""
    columns = [
        Column(words("cli.calibrate.columns.factor"), stretch=True),
        Column(words("validating.columns.before"), right=True),
        Column(words("validating.columns.after"), right=True),
        Column(words("cli.calibrate.columns.free"), right=True),
        Column(words("cli.calibrate.columns.told"), right=True),
    ]
    rows = []
    for factor in found.factors:
        name = words(f"calibrate.factors.{factor.name}")
        free, known = (f"± {words.phrase(percent(size))}" for size in (factor.prior, factor.posterior))
        cells = (
            Cell(name),
            Cell("1.00 ×", colour="ink3"),
            Cell(f"{factor.value:.2f} ×", "body_medium"),
            Cell(free, colour="ink3"),
            Cell(known, colour="ink" if factor.seen else "ink3"),
        )
        rows.append(Row(cells, f"{name}: {factor.value:.2f}"))
    fitted = found.calibration
    if fitted is not None and fitted.reserve_gib:
        name, value = words("calibrate.factors.reserve"), f"{three_digits(fitted.reserve_gib)} GiB"
        cells = (Cell(name), Cell("0 GiB", colour="ink3"), Cell(value, "body_medium"), Cell(), Cell())
        rows.append(Row(cells, f"{name}: {value}"))
    return columns, rows


def plan(found: "CalibrationResult", words: Words) -> list[str]:
    """The runs to make next."""
    from core.evidence.calibration_told import told  # with the fit, which the page opens without

    return [words.phrase(told(one)) for one in found.next]


def placed_table(found: Diagnosis, words: Words) -> tuple[list[Column], list[Row]]:
    """Observations between bound and estimate."""
    columns = [
        Column(words(f"diagnose.columns.{key}"), right=key != "figure", stretch=key == "figure")
        for key in ("figure", "bound", "estimate", "band", "observed")
    ]
    rows = []
    for one in found.placed:
        name = words(f"diagnose.figures.{one.figure}")
        bound, observed = (shown_figure(one.figure, v, words) for v in (one.bound, one.observed))
        expected = one.expected
        middle = _DASH if expected is None else shown_figure(one.figure, expected.expected, words)
        band = _DASH
        if expected is not None and math.isfinite(expected.low):
            low, high = (shown_figure(one.figure, v, words) for v in (expected.low, expected.high))
            band = between(low, high)
        bad = one.misses or one.state in ("worse", "much_worse", "below_bound")
        fine = one.state in ("as_estimated", "better")
        cells = (
            Cell(name),
            Cell(bound, colour="ink2"),
            Cell(middle, "body_medium"),
            Cell(band, "caption", "ink3"),
            Cell(
                observed,
                "body_semibold",
                "warn" if bad else "ink",
                icon="cross" if bad else "tick" if fine else "",
                icon_colour="warn" if bad else "good",
            ),
        )
        rows.append(Row(cells, words.phrase(one.sentence)))
    return columns, rows


def suspect_notes(suspect: Suspect, words: Words) -> list[str]:
    """Evidence, what to check, what helps."""
    lines = [words.phrase(suspect.evidence)]
    if suspect.cause is not None:
        check, remedy = (words.phrase(p) for p in (suspect.cause.check, suspect.cause.remedy))
        lines += [words("diagnose.check", text=check), words("diagnose.remedy", text=remedy)]
    return lines
