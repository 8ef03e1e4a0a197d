"""Fit the factors of ``core.latency.factors`` to measured servers: a shrunken, robust least squares.

    minimise  sum_i rho((log predicted_i - log measured_i) / s_g) + sum_j ((theta_j - start_j) / spread_j)^2

theta_j is the logarithm of a factor, rho the soft L1 loss 2 (sqrt(1 + r^2) - 1), s_g the scale of a
group.  Rows of one stack (model, device, engine and layout) share their errors, so a dozen of them at
most take part.  Leaving a model or a device out re-fits with the same slopes and
looks at what was left out; so does one measured point of a stack used as a scale.

    python -m core.evidence.fit SERVER_POINTS.csv SPEED.jsonl [--write | --grounds]

``--grounds`` leaves the values as they are and only counts anew what each was fitted on.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import resources
from core.evidence import grounds
from core.evidence.measured import read_records, read_table
from core.evidence.page import LEFT_OUT, summary
from core.evidence.served import Case, Seen, cases_of_points
from core.evidence.served_records import cases_of_records
from core.evidence.speed import Run, log_errors, predict_all, runs_of
from core.latency.efficiency import SERVER_ENGINES, ModelKind, profile_for
from core.latency.factors import FILE, Factors, load_factors
from core.latency.step import model_kind
from core.model.operator_rows import operators_of
from core.quantities import FloatArray

SCALES = {
    "server TPOT": 0.07,
    "server TTFT": 0.25,
    "batches": 0.12,
    "one stream": 0.07,
    "one prompt": 0.2,
}
ROWS_OF_A_STACK = 12
_STEP = 0.04  # in the logarithm, for slopes
_ROUNDS, _INNER = 4, 4
_LEAST_SHARE, _ENOUGH = 0.05, 0.01  # of a step; of the loss, to go on
_MOST = 3.0  # log errors beyond are as bad
_FEW = 30  # rows of a kind, for a band of its own
KINDS: tuple[ModelKind, ...] = ("dense", "moe", "latent", "recurrent")
# Families of devices with tables of kernels; all others keep the generic band.
MEASURED_FAMILIES = ("ampere", "ada", "hopper", "blackwell_hbm", "blackwell_gddr")
_BASE_ENGINE = "vllm"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is fitted: cases in runs, weights, factors with starts and spreads."""

    cases: tuple[Case, ...]
    runs: tuple[Run, ...]
    weights: FloatArray  # (n,)
    factors: Factors
    starts: FloatArray  # (m,) log
    spreads: FloatArray  # (m,)

    def errors(self, theta: FloatArray, runs: Sequence[Run] | None = None) -> FloatArray:
        """log(predicted / measured) of all cases, or of those of some runs."""
        chosen = self.runs if runs is None else runs
        predicted = predict_all(chosen, len(self.cases), with_values(self.factors, theta))
        errors = log_errors(self.cases, predicted)
        return np.clip(np.nan_to_num(errors, nan=_MOST, posinf=_MOST, neginf=-_MOST), -_MOST, _MOST)


def with_values(factors: Factors, theta: FloatArray) -> Factors:
    """The factors with other values."""
    entries = zip(factors.entries, np.exp(theta).tolist(), strict=True)
    return Factors(tuple(entry.model_copy(update={"value": value}) for entry, value in entries))


def thinned(cases: Sequence[Case]) -> list[Case]:
    """At most a dozen rows of each stack and group, evenly from its list, of the groups that are fitted."""
    stacks: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if case.group in SCALES:
            stacks.setdefault((case.stack, case.group), []).append(case)
    kept = []
    for found in stacks.values():
        ordered = sorted(found, key=lambda c: (c.amount, c.scenario.workload.prompt_tokens, c.id))
        places = np.linspace(0, len(ordered) - 1, min(len(ordered), ROWS_OF_A_STACK)).round()
        kept += [ordered[int(place)] for place in places]
    return kept


def problem_of(cases: Sequence[Case], factors: Factors) -> Problem:
    """The fit of ``factors`` to ``cases``, which are few of each stack (``thinned``)."""
    scales = np.array([SCALES.get(c.group, 1.0) for c in cases])
    return Problem(
        tuple(cases),
        runs_of(cases),
        1.0 / scales**2,
        factors,
        np.log([f.start for f in factors.entries]),
        np.array([f.spread for f in factors.entries]),
    )


def slopes(problem: Problem, theta: FloatArray, errors: FloatArray, first: int = 0) -> FloatArray:
    """Change of each error with each factor (n, m), 0 of those before ``first``."""
    out = np.zeros((len(errors), len(theta)))
    families = [profile_for(r.scenario.engine.name, r.scenario.accelerator).family for r in problem.runs]
    for column, entry in list(enumerate(problem.factors.entries))[first:]:
        moved = theta.copy()
        moved[column] += _STEP
        touched = [
            run
            for run, family in zip(problem.runs, families, strict=True)
            if entry.engine in ("", run.scenario.engine.name) and entry.family in ("", family)
        ]
        places = [place for run in touched for place in run.places]
        changed = problem.errors(moved, touched)[places]
        out[places, column] = (changed - errors[places]) / _STEP
    return out


def solve(
    problem: Problem, theta: FloatArray, errors: FloatArray, slope: FloatArray, keep: FloatArray
) -> FloatArray:
    """One step towards the optimum over the rows with ``keep`` 1."""
    scales = np.array([SCALES.get(c.group, 1.0) for c in problem.cases])
    robust = 1.0 / np.sqrt(1.0 + (errors / scales) ** 2)  # derivative of the soft L1 loss
    weight = problem.weights * robust * keep
    prior = 1.0 / problem.spreads**2
    left = slope.T @ (weight[:, None] * slope) + np.diag(prior)
    right = -slope.T @ (weight * errors) - prior * (theta - problem.starts)
    return np.asarray(np.linalg.solve(left, right))


def loss(problem: Problem, theta: FloatArray, errors: FloatArray) -> float:
    """What is minimised."""
    scales = np.array([SCALES.get(c.group, 1.0) for c in problem.cases])
    robust = 2.0 * scales**2 * (np.sqrt(1.0 + (errors / scales) ** 2) - 1.0)
    return float(problem.weights @ robust + (((theta - problem.starts) / problem.spreads) ** 2).sum())


def fit(problem: Problem, say: Callable[[str], object] = lambda _: None) -> tuple[FloatArray, FloatArray]:
    """The best factors (m,) as logarithms, and the slopes there."""
    theta = problem.starts.copy()
    errors, keep = problem.errors(theta), np.ones(len(problem.cases))
    best = loss(problem, theta, errors)
    for round_ in range(_ROUNDS):
        slope = slopes(problem, theta, errors)
        before = best
        for _ in range(_INNER):
            step, share = np.clip(solve(problem, theta, errors, slope, keep), -0.5, 0.5), 1.0
            while share > _LEAST_SHARE:
                moved = problem.errors(theta + share * step)
                found = loss(problem, theta + share * step, moved)
                if found < best:
                    theta, errors, best = theta + share * step, moved, found
                    break
                share *= 0.4
            if share <= _LEAST_SHARE:
                break
        say(f"round {round_ + 1}: loss {before:.1f} to {best:.1f}")
        if before - best < _ENOUGH * before:
            break
    return theta, slope


def left_out(
    problem: Problem,
    theta: FloatArray,
    slope: FloatArray,
    every: Problem,
    key: Callable[[Case], str],
) -> FloatArray:
    """Errors of each case of ``every`` with all of its key left out of the fit."""
    fitted = np.array([key(case) for case in problem.cases])
    keys = np.array([key(case) for case in every.cases])
    out = np.zeros(len(keys))
    start = problem.errors(theta)
    for name in np.unique(keys):
        keep = (fitted != name).astype(np.float64)
        other, errors = theta, start
        if not keep.all():
            for _ in range(2):
                other = other + np.clip(solve(problem, other, errors, slope, keep), -0.4, 0.4)
                errors = problem.errors(other)
        mine = np.flatnonzero(keys == name)
        out[mine] = problem_of([every.cases[i] for i in mine], every.factors).errors(other)
    return out


class OfAStack(Protocol):
    """A measurement: its group, and what one measured point speaks for."""

    @property
    def group(self) -> str:
        """In which errors are counted."""

    @property
    def stack(self) -> str:
        """Model, device, engine and layout."""


def calibrated(cases: Sequence[OfAStack], errors: FloatArray) -> FloatArray:
    """Errors after one point of each stack and group was taken as a scale, that point not counted (nan).

    A point is believed as far as stacks differ more than points of one stack: with t the deviation of
    points taken and s that of the others from them, the scale is the point's error to the power
    1 - s^2 / (2 t^2), as half of s^2 is the point's own noise.
    """
    out = errors.copy()
    seen: dict[str, dict[str, list[int]]] = {}
    for place, case in enumerate(cases):
        seen.setdefault(case.group, {}).setdefault(case.stack, []).append(place)
    for stacks in seen.values():
        taken = {places[len(places) // 2]: places for places in stacks.values()}
        others = [errors[i] - errors[at] for at, places in taken.items() for i in places if i != at]
        far = [errors[at] for at, places in taken.items() if len(places) > 1]
        share = believed(np.array(far), np.array(others))
        for at, places in taken.items():
            out[places] = errors[places] - share * errors[at]
            out[at] = np.nan
    return out


def believed(points: FloatArray, differences: FloatArray) -> float:
    """How far errors of single points are those of their stacks, 0 to 1; see ``calibrated``."""
    if not len(points) or not len(differences):
        return 0.0
    whole, noise = (float(np.median(np.abs(e))) ** 2 for e in (points, differences))
    return min(1.0, max(0.0, 1.0 - 0.5 * noise / whole)) if whole > 0 else 0.0


def grounds_of(problem: Problem, slope: FloatArray) -> list[dict[str, int]]:
    """Rows that move with each factor, and of how many models, devices and sources they are."""
    moves = np.abs(slope) >= grounds.MOVES
    return [
        grounds.counted(problem.cases[i] for i in np.flatnonzero(moves[:, column]))
        for column in range(slope.shape[1])
    ]


def store_overheads(cases: Sequence[Case], factors: Factors) -> None:
    """Count anew what the servers' overheads rest on, beside the values in their files."""
    values = [*grounds.values_of_eras()]
    for engine in SERVER_ENGINES:
        values += grounds.values_of(engine)
    owned = grounds.probes(values)
    probed = problem_of(cases, Factors((*factors.entries, *(factor for _, factor in owned))))
    now = np.log([f.value for f in probed.factors.entries])
    slope = slopes(probed, now, probed.errors(now), first=len(factors.entries))
    owners = [place for place, _ in owned]
    grounds.store(values, grounds.grounds(cases, values, owners, slope[:, len(factors.entries) :]))


def bands_of(cases: Sequence[Case], errors: Sequence[FloatArray]) -> dict[str, Any]:
    """p10 and p90 of measured / predicted by kind of model, of steps and of first tokens.

    ``errors`` are lists for ``cases`` in a row: fitted and left out together, since a user's stack is
    between a known and an unknown one.
    """
    kinds = np.array([_kind(case) for case in cases])
    groups = np.array([case.group for case in cases])
    bands: dict[str, Any] = {"step": {}, "first_token": {}}
    whole = np.isin(groups, ("batches", "one prompt", "server throughput"))
    # Wider, as one band serves whole batches, offline runs and rates, of which rates scatter most.
    bands["batch"] = _band(np.concatenate([e[whole] for e in errors]), 0.08) if whole.any() else [0.65, 1.5]
    for name, mine in (
        ("step", np.isin(groups, ("server TPOT", "one stream"))),
        ("first_token", groups == "server TTFT"),
    ):
        pooled = np.concatenate([e[mine] for e in errors])
        for kind in KINDS:
            chosen = np.concatenate([e[mine & (kinds == kind)] for e in errors])
            if len(chosen) < _FEW * len(errors):
                chosen = pooled
            bands[name][kind] = _band(chosen)
    return bands


def _band(errors: FloatArray, tail: float = 0.1) -> list[float]:
    low, high = np.exp(-np.quantile(errors, [1 - tail, tail])).tolist()
    return [round(min(low, 1.0), 2), round(max(high, 1.0), 2)]


def _kind(case: Case) -> ModelKind:
    return model_kind(operators_of(case.scenario.model.architecture, "bf16", "bf16"))


def reading(points: Path, records: Path) -> tuple[Case, ...]:
    """All cases of the two files, each run once."""
    seen: Seen = set()
    found = [*cases_of_points(read_table(points), seen), *cases_of_records(read_records(records), seen)]
    return tuple(case for case in found if isinstance(case, Case))


def main(arguments: Sequence[str]) -> int:
    """Fit, print what was reached and, with ``--write``, store factors and left-out figures."""
    cases = reading(Path(arguments[0]), Path(arguments[1]))
    factors = load_factors()
    problem, every = problem_of(thinned(cases), factors), problem_of(cases, factors)
    if "--grounds" in arguments:
        now = np.log([f.value for f in factors.entries])
        _store(grounds_of(problem, slopes(problem, now, problem.errors(now))))
        store_overheads(problem.cases, factors)
        return 0
    theta, slope = fit(problem, print)
    known = every.errors(theta)
    out = {
        "model": left_out(problem, theta, slope, every, lambda case: case.model),
        "device": left_out(problem, theta, slope, every, lambda case: case.gpu),
    }
    out["pooled"] = np.concatenate([out["model"], out["device"]])
    point = np.concatenate([calibrated(cases, out["model"]), calibrated(cases, out["device"])])
    out["beside"] = np.where(np.isnan(point), np.nan, out["pooled"])  # the rows of the next, not scaled
    out["point"] = point
    groups: dict[str, dict[str, dict[str, float]]] = {}
    for group in SCALES:
        mine = np.array([case.group == group for case in cases])
        if not mine.any():
            continue
        print(f"{group:18} fitted {summary(known[mine].tolist())}")
        for kind, errors in out.items():
            chosen = mine if len(errors) == len(mine) else np.concatenate([mine, mine])
            if np.isfinite(errors[chosen]).any():
                groups.setdefault(group, {})[kind] = summary(errors[chosen].tolist())
                print(f"{'':18} {kind:7} {groups[group][kind]}")
    bands = bands_of(cases, (known, out["model"], out["device"]))
    print(bands)
    if "--write" in arguments:
        _write(theta, groups, bands)
        _store(grounds_of(problem, slope))
        store_overheads(problem.cases, with_values(factors, theta))
    return 0


def _store(grounds: Sequence[dict[str, int]]) -> None:
    place = Path(resources.__file__).parent / FILE
    tree = json.loads(place.read_text(encoding="utf-8"))
    for entry, found in zip(tree["factors"], grounds, strict=True):
        entry["fitted_on"] = found
    place.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def _write(theta: FloatArray, groups: dict[str, Any], bands: dict[str, Any]) -> None:
    root = Path(resources.__file__).parent
    place = root / FILE
    tree = json.loads(place.read_text(encoding="utf-8"))
    for entry, value in zip(tree["factors"], np.exp(theta).tolist(), strict=True):
        entry["value"] = round(value, 3)
    for family in MEASURED_FAMILIES:
        profile = root / f"data/efficiency/{_BASE_ENGINE}_{family}.json"
        content = json.loads(profile.read_text(encoding="utf-8"))
        content["band"] = bands
        content["sources"]["band"] = (
            "p10-p90 of measured / predicted of served models and batches, core.evidence.fit"
        )
        profile.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    for path, content in (
        (place, tree),
        (root / LEFT_OUT, {"about": "By core.evidence.fit.", "groups": groups}),
    ):
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
