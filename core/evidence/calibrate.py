"""Calibration: a few named factors fitted to chosen runs, with a refusal where the data cannot carry them.

The line through the errors at the profile's own values is fitted (``core.evidence.calibration_fit``); what
was found is then put into the model itself and checked.  Errors before and after are of figures that were
left out run by run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.evidence.calibration_blend import blended
from core.evidence.calibration_fit import (
    PRIORS,
    Column,
    Model,
    absolute,
    direction,
    left_out,
    model_with,
    posterior,
    scaled_best,
    solve,
)
from core.evidence.calibration_made import bands_of, calibration_of, reserve_gib, sources_of
from core.evidence.calibration_rows import Linear, Rows, linear_of, rows_of
from core.evidence.measure_next import Measurement, plan_of
from core.evidence.pairing import Comparison, Pair
from core.evidence.repeats import contradiction, settings_of, too_few, without_copies
from core.quantities import FloatArray
from core.spec.calibration import (
    FACTORS,
    Calibration,
    CalibrationErrors,
    FactorName,
)
from core.spec.checks import LABELS
from core.spec.scenario import Scenario
from core.units import show_count
from core.words import Phrase, percent

# Figures that are fitted to; of those in one row the first that a run has.
FITTED = (
    ("time_to_first_token", "prompt_throughput"),
    ("time_per_output_token", "decode_throughput", "inter_token_latency", "user_throughput"),
    ("output_throughput", "total_throughput", "request_throughput", "end_to_end"),
)
_LEAST_RUNS = 3
_SEEN, _ALIKE = 0.8, 0.9  # posterior over prior above which a factor is not seen; correlation of a pair
_HALVINGS = 4
_WHOLE = 0.95  # of what the runs suggest, from which on nothing is said


@dataclass(frozen=True, slots=True)
class Fitted:
    """One factor: its value, how far it was free to go and how well the data tell it (logarithms)."""

    name: FactorName
    value: float
    prior: float
    posterior: float

    @property
    def seen(self) -> bool:
        """Whether the data say more about it than was known before."""
        return self.posterior < _SEEN * self.prior


@dataclass(frozen=True, slots=True)
class Point:
    """A figure of the fit: errors (predicted over measured less one, of times; of rates the reverse)."""

    pair: int  # index of the pair
    figure: str
    before: float
    after: float  # with its own run left out


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """``calibration`` None: refused, and ``refused`` says why; ``next`` is what to measure."""

    calibration: Calibration | None
    factors: tuple[Fitted, ...]
    points: tuple[Point, ...]
    before: float  # absolute median errors, shares
    after: float
    refused: tuple[Phrase, ...]
    remarks: tuple[Phrase, ...]
    next: tuple[Measurement, ...]


def calibrate(
    pairs: Sequence[Pair], name: str, wanted: tuple[FactorName, ...] | None = None
) -> CalibrationResult:
    """Fit to the runs of ``pairs``.

    ``wanted``: fit exactly these factors, or refuse; None: as many as the data carry.
    """
    pairs = _where_told(pairs)
    chosen = [(i, c) for i in without_copies(pairs) for c in fitted_figures(pairs[i])]
    base = next((pair.scenario for pair in pairs if pair.scenario is not None), None)
    refused = _unfit(pairs, chosen)
    contrary = contradiction(chosen)
    doubts = () if contrary is None else (contrary,)
    if refused or base is None:
        return _refusal((*doubts, *refused), base, None, None)
    # Repetitions of a setting are left out together: one would tell the other.
    rows = rows_of([c.case for _, c in chosen], (), settings_of(chosen))
    linear = linear_of(rows)
    found, refused = _wanted(rows, linear, wanted) if wanted is not None else _carried(rows, linear)
    if refused or found is None:
        return _refusal((*doubts, *refused), base, rows, linear, chosen)
    model, out = found.model, found.left_out
    phi = _checked(model, found.phi, rows, linear, name)
    before, after = (float(np.median(absolute(e[linear.fitted]))) for e in (linear.errors, out))
    errors = CalibrationErrors(
        figures=int(linear.fitted.sum()),
        runs=len({i for i, _ in chosen}),
        before=round(before, 4),
        after=round(after, 4),
    )
    reserve = reserve_gib([pair for pair in pairs if pair.scenario is not None])
    calibration = calibration_of(name, model, phi, rows).model_copy(
        update={
            **bands_of(rows, linear, out),
            "reserve_gib": round(reserve, 3),
            "errors": errors,
            "source": sources_of(pairs, chosen),
        }
    )
    factors, plan = _factors(model, phi, rows, linear), plan_of(base, rows, linear)
    remarks = [*found.remarks]
    # What no load would tell is said as that alone.
    for key, names in (("left_alone", sorted(found.alone - set(plan.beyond))), ("beyond", plan.beyond)):
        if names:
            remarks.append(Phrase(f"calibrate.remarks.{key}", {"names": _names(names)}))
    return CalibrationResult(
        calibration,
        factors,
        _points(chosen, linear.errors, out),
        before,
        after,
        (),
        (*doubts, *remarks),
        plan.runs,
    )


def fitted_figures(pair: Pair) -> tuple[Comparison, ...]:
    """The comparisons of a run that are fitted to, one of each kind."""
    if pair.scenario is None:
        return ()
    found: dict[str, Comparison] = {}
    for comparison in pair.comparisons:
        known = found.get(comparison.figure)
        if known is None or (known.statistic != "mean" and comparison.statistic == "mean"):
            found[comparison.figure] = comparison
    first = (next((found[f] for f in kind if f in found), None) for kind in FITTED)
    return tuple(comparison for comparison in first if comparison is not None)


def _where_told(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Beside runs that name their GPU, those that do not and were taken to another one count for nothing: a
    start-up log names none, and the open scenario's may be any.
    """
    named = {
        p.scenario.accelerator.name for p in pairs if p.scenario is not None and p.run.setting.accelerator
    }
    if len(named) != 1:
        return pairs
    (device,) = named
    return [
        replace(p, scenario=None, comparisons=(), ledger=())
        if p.scenario is not None and not p.run.setting.accelerator and p.scenario.accelerator.name != device
        else p
        for p in pairs
    ]


def _unfit(pairs: Sequence[Pair], chosen: Sequence[tuple[int, Comparison]]) -> tuple[Phrase, ...]:
    if not chosen:
        return (Phrase("calibrate.refused.nothing"),)
    scenarios = [pair.scenario for pair in pairs if pair.scenario is not None]
    engines = sorted({s.engine.name for s in scenarios})
    devices = sorted({s.accelerator.name for s in scenarios})
    if len(engines) > 1:
        names = tuple(LABELS.get(engine, engine) for engine in engines)
        return (Phrase("calibrate.refused.engines", {"names": names}),)
    if len(devices) > 1:
        return (Phrase("calibrate.refused.devices", {"names": tuple(devices)}),)
    few = too_few(pairs, chosen, _LEAST_RUNS)
    return () if few is None else (few,)


def _refusal(
    refused: tuple[Phrase, ...],
    base: Scenario | None,
    rows: Rows | None,
    linear: Linear | None,
    chosen: Sequence[tuple[int, Comparison]] = (),
) -> CalibrationResult:
    plan = () if base is None else plan_of(base, rows, linear).runs
    if linear is None:
        return CalibrationResult(None, (), (), 0.0, 0.0, refused, (), plan)
    median = float(np.median(absolute(linear.errors)))
    points = _points(chosen, linear.errors, linear.errors)
    return CalibrationResult(None, (), points, median, median, refused, (), plan)


@dataclass(frozen=True, eq=False)
class _Found:
    """Columns with their values, and errors (n,) of figures whose own runs were left out.

    ``alone``: factors that stay nearly as they are.
    """

    model: Model
    phi: FloatArray
    left_out: FloatArray
    remarks: tuple[Phrase, ...] = ()
    alone: frozenset[str] = frozenset()


def _wanted(
    rows: Rows, linear: Linear, wanted: tuple[FactorName, ...]
) -> tuple[_Found | None, tuple[Phrase, ...]]:
    """Exactly these factors, or why not."""
    columns = [Column(name, -1, PRIORS[name]) for name in wanted]
    model = model_with("wanted", columns, rows, linear)
    phi = _solved(model, rows, linear)
    spread = posterior(model, rows, linear, phi)
    seen = {c.name: float(np.sqrt(spread[i, i])) < _SEEN * c.prior for i, c in enumerate(model.columns)}
    unseen = [name for name in wanted if not seen.get(name, False)]
    if unseen:
        return None, (Phrase("calibrate.refused.unseen_factors", {"names": _names(unseen)}),)
    tied = _tied(model, spread)
    if tied:
        return None, (Phrase("calibrate.refused.apart", {"names": _names(sorted(tied))}),)
    return _Found(model, phi, left_out(model, rows, linear)), ()


def _carried(rows: Rows, linear: Linear) -> tuple[_Found | None, tuple[Phrase, ...]]:
    """As much as the data carry, or why nothing."""
    if not linear.fitted.any():
        return None, (Phrase("calibrate.refused.unseen"),)
    errors = linear.errors[linear.fitted]
    now = float(np.median(absolute(errors)))
    blend = blended(rows, linear)
    out = blend.left_out(rows, linear) if blend is not None else linear.errors
    # What run after run left out does not bear is not told as a gain.
    if blend is None or float(np.median(absolute(out[linear.fitted]))) >= now:
        figures = show_count(len(errors))
        values = {"now": percent(now, 1), "floor": percent(scaled_best(errors), 1), "figures": figures}
        return None, (Phrase("calibrate.refused.as_good", values),)
    remarks = []
    of_all = any(column.setup < 0 for column in blend.columns)
    alone = untold(rows, linear) if of_all else frozenset()
    if blend.share < _WHOLE:
        remarks.append(Phrase("calibrate.remarks.partly", {"share": percent(blend.share)}))
    model = blend.model(rows, linear)
    phi = blend.phi(model.columns, rows, linear)
    return _Found(model, phi, out, tuple(remarks), alone), ()


def untold(rows: Rows, linear: Linear) -> frozenset[str]:
    """Factors that the data do not see; of those that they cannot tell apart all but one."""
    model = model_with("factors", [Column(name, -1, PRIORS[name]) for name in FACTORS], rows, linear)
    spread = posterior(model, rows, linear, _solved(model, rows, linear))
    sizes = np.sqrt(np.diag(spread))
    told = {c.name for c, size in zip(model.columns, sizes, strict=True) if size <= _SEEN * c.prior}
    there = {c.name for c in model.columns}
    return frozenset(there - told | set(sorted(_tied(model, spread))[1:]))


def _solved(model: Model, rows: Rows, linear: Linear) -> FloatArray:
    keep = linear.fitted
    return solve(linear.errors[keep], model.slopes[keep], rows.scales[keep], model.priors)


def _names(names: Sequence[str]) -> Phrase:
    """Names of factors one after the other."""
    if len(names) == 1:
        return Phrase(f"calibrate.factors.{names[0]}")
    first, rest = Phrase(f"calibrate.factors.{names[0]}"), _names(names[1:])
    return Phrase("calibrate.and", {"first": first, "second": rest})


def _tied(model: Model, spread: FloatArray) -> set[str]:
    """Factors of all runs that the data cannot tell from one another."""
    found: set[str] = set()
    sizes = np.sqrt(np.diag(spread))
    alike = np.abs(spread / np.outer(sizes, sizes)) > _ALIKE
    for i, first in enumerate(model.columns):
        for j in range(i):
            if alike[i, j] and first.setup == model.columns[j].setup == -1:
                found |= {first.name, model.columns[j].name}
    return found


def _checked(model: Model, phi: FloatArray, rows: Rows, linear: Linear, name: str) -> FloatArray:
    """The factors put into the model itself: halved where the line led too far, then moved by what the
    model bends away from it.
    """
    keep = linear.fitted
    line, slopes, scales = linear.errors[keep], model.slopes[keep], rows.scales[keep]

    def cost(errors: FloatArray) -> float:
        return float(np.mean(np.minimum(np.abs(errors) / scales, 3.0)))

    def reached(at: FloatArray) -> FloatArray:
        return rows.errors(calibration_of(name, model, at, rows))[keep]

    now, errors = cost(line), reached(phi)
    for _ in range(_HALVINGS):
        if cost(errors) <= now:
            break
        phi = phi / 2
        errors = reached(phi)
    bent = errors - (line + slopes @ phi)
    moved = phi + solve(line + bent, slopes, scales, model.priors) - solve(line, slopes, scales, model.priors)
    return moved if cost(reached(moved)) < cost(errors) else phi


def _factors(model: Model, phi: FloatArray, rows: Rows, linear: Linear) -> tuple[Fitted, ...]:
    """The factors of all runs that were moved, with what the data tell of each by itself."""
    theta = np.zeros(len(FACTORS))
    for column, value in zip(model.columns, phi.tolist(), strict=True):
        if column.setup < 0:
            theta += value * direction(column.name)
    moved = [Column(name, -1, PRIORS[name]) for i, name in enumerate(FACTORS) if theta[i]]
    alone = model_with("factors", moved, rows, linear)
    values = np.array([theta[FACTORS.index(column.name)] for column in alone.columns])
    sizes = np.sqrt(np.diag(posterior(alone, rows, linear, values)))
    return tuple(
        Fitted(name, float(np.exp(theta[i])), PRIORS[name], float(sizes[place]))
        for i, name in enumerate(FACTORS)
        for place, column in enumerate(alone.columns)
        if column.name == name
    )


def _points(
    chosen: Sequence[tuple[int, Comparison]], before: FloatArray, after: FloatArray
) -> tuple[Point, ...]:
    return tuple(
        Point(pair, c.figure, float(np.expm1(b)), float(np.expm1(a)))
        for (pair, c), b, a in zip(chosen, before, after, strict=True)
    )
