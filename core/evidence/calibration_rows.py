"""What a calibration is fitted to: figures of runs, their errors under any factors, and slopes.

An error is the logarithm of how much slower than measured a figure is predicted, so times and rates
read alike.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.errors import InferometerError
from core.evidence import single_stream
from core.evidence.served import Case
from core.evidence.speed import RATES, predict_all, runs_of
from core.latency.calibrated import for_setup, setup_of
from core.latency.local import local_plan_of
from core.quantities import EXPECTED, FloatArray
from core.spec.calibration import FACTORS, Calibration, SetupFactors
from core.spec.scenario import Scenario

# What one figure of a kind scatters by from its model, in the logarithm.
SCALES = {
    "server TPOT": 0.07,
    "server TTFT": 0.25,
    "server throughput": 0.12,
    "batches": 0.12,
    "one stream": 0.07,
    "one prompt": 0.2,
}
_STEP = 0.05  # in the logarithm, to both sides
FARTHEST = 3.0  # errors beyond are as bad
# Beyond these a figure tells of queues at the edge of capacity or of another setting, not of the factors.
_FITTED_ERROR, _STEEPEST = 1.0, 4.0
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rows:
    """n figures.  ``run`` tells which are of one run, ``setup`` which are of one set-up."""

    cases: tuple[Case, ...]
    streams: tuple[single_stream.Case, ...]  # after the cases
    run: Ints  # (n,)
    setup: Ints  # (n,) index into ``setups``
    setups: tuple[SetupFactors, ...]
    scales: FloatArray  # (n,)

    def __len__(self) -> int:
        return len(self.cases) + len(self.streams)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Of every figure."""
        return (*(c.scenario for c in self.cases), *(c.scenario for c in self.streams))

    def errors(self, calibration: Calibration | None = None) -> FloatArray:
        """Errors (n,) with these factors; None: as the profile is."""
        given = calibration or Calibration(name="-")
        first = _errors_of_cases(self.cases, given)
        second = [_error_of_stream(case, given) for case in self.streams]
        whole = np.nan_to_num(np.append(first, second), nan=FARTHEST)
        return np.asarray(np.clip(whole, -FARTHEST, FARTHEST))

    def slopes(self) -> FloatArray:
        """Change of each error with the logarithm of each factor, (n, factors)."""
        columns, here = [], self.errors()
        for name in FACTORS:
            high, low = (
                self.errors(Calibration.model_validate({"name": "-", name: float(np.exp(move))}))
                for move in (_STEP, -_STEP)
            )
            # A rate at its ceiling moves one way only.
            up, down = (high - here) / _STEP, (here - low) / _STEP
            columns.append(np.where(np.abs(up) > np.abs(down), up, down))
        return np.stack(columns, axis=1) if len(self) else np.zeros((0, len(FACTORS)))

    def chosen(self, keep: Ints) -> "Rows":
        """Some of the figures."""
        first = [i for i in keep.tolist() if i < len(self.cases)]
        second = [i - len(self.cases) for i in keep.tolist() if i >= len(self.cases)]
        order = np.array([*first, *(i + len(self.cases) for i in second)], dtype=np.intp)
        return Rows(
            tuple(self.cases[i] for i in first),
            tuple(self.streams[i] for i in second),
            self.run[order],
            self.setup[order],
            self.setups,
            self.scales[order],
        )


def rows_of(
    cases: Sequence[Case], streams: Sequence[single_stream.Case] = (), runs: Sequence[object] | None = None
) -> Rows:
    """Figures for a fit.  ``runs``: of each figure what names its run; None: guessed from its load."""
    setups: dict[tuple[str | int, ...], int] = {}
    kept: list[SetupFactors] = []
    places = []
    for scenario in (*(c.scenario for c in cases), *(c.scenario for c in streams)):
        setup = setup_of(scenario)
        if setup.key not in setups:
            setups[setup.key] = len(kept)
            kept.append(setup)
        places.append(setups[setup.key])
    names: dict[object, int] = {}
    told = runs if runs is not None else [*map(_run_of, cases), *(c.id for c in streams)]
    numbers = [names.setdefault(name, len(names)) for name in told]
    scales = [SCALES[group] for group in (*(c.group for c in cases), *(c.group for c in streams))]
    return Rows(
        tuple(cases),
        tuple(streams),
        np.array(numbers, dtype=np.intp),
        np.array(places, dtype=np.intp),
        tuple(kept),
        np.array(scales),
    )


def _run_of(case: Case) -> object:
    work = case.scenario.workload
    return (case.stack, case.load, case.amount, work.prompt_tokens, work.output_tokens)


def _errors_of_cases(cases: Sequence[Case], calibration: Calibration) -> FloatArray:
    predicted = np.full(len(cases), np.nan)
    for run in runs_of(cases):
        alone = replace(run, places=tuple(range(len(run.places))))
        try:
            found = predict_all([alone], len(run.places), None, calibration)[EXPECTED]
        except (InferometerError, ArithmeticError, AssertionError):
            continue
        predicted[list(run.places)] = found
    measured = np.array([case.measured for case in cases])
    sign = np.array([-1.0 if case.metric in RATES else 1.0 for case in cases])
    # What is beyond all numbers takes no part in the fit.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(sign * np.log(predicted / measured))


def _error_of_stream(case: single_stream.Case, calibration: Calibration) -> float:
    s = case.scenario
    plan = local_plan_of(
        *(s.model.architecture, s.accelerator, s.deployment, s.precision, s.engine, s.host, s.speculative),
        case.scale,
        for_setup(calibration, s),
    )
    return float(np.log(single_stream.seconds_of(case, plan)[EXPECTED] / case.seconds))


@dataclass(frozen=True, eq=False)
class Linear:
    """Errors as a straight line in the logarithms of the factors: e + J theta."""

    errors: FloatArray  # (n,)
    slopes: FloatArray  # (n, factors)
    fitted: NDArray[np.bool_]  # (n,) whether a figure takes part in the fit


def linear_of(rows: Rows, errors_of: Callable[[], FloatArray] | None = None) -> Linear:
    """The line at the profile's own values."""
    errors = rows.errors() if errors_of is None else errors_of()
    slopes = rows.slopes()
    fitted = (np.abs(errors) <= _FITTED_ERROR) & (np.abs(slopes).max(axis=1, initial=0.0) <= _STEEPEST)
    return Linear(errors, slopes, fitted)
