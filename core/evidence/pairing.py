"""Measured runs beside what the program predicts for them: figures, and ledgers line by line.

Equal settings share one scenario, and figures of one scenario one call of the model, so that ten thousand
runs take seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from core.errors import InferometerError
from core.evidence.memory_predictions import predictions_with
from core.evidence.pair_cases import KINDS, cases_of_run
from core.evidence.run import Run
from core.evidence.run_record import COUNTS, ledger_of, memory_record
from core.evidence.run_scenario import Assumed, Described, described
from core.evidence.served import Case
from core.evidence.speed import RATES, predict_all, runs_of
from core.memory.build import plan_memory
from core.memory.ledger import LineKey
from core.quantities import EXPECTED, FloatArray
from core.spec.calibration import Calibration
from core.spec.scenario import Scenario

# Lines of a run's ledger → those of ours, for the engine's words.
_LINES: dict[str, LineKey] = {
    "weights": "weights",
    "kv_cache": "kv_cache",
    "available_kv": "kv_cache",
    "activation_peak": "activations",
    "non_torch": "runtime",
    "cuda_graph": "graphs",
}


# What an engine's log calls lines for which our ledger has no word.
_WORDS: dict[str, dict[str, str]] = {
    "vllm": {
        "available_kv": "Available KV cache memory",
        "gpu_blocks": "GPU blocks",
        "kv_cache_tokens": "GPU KV cache size",
        "max_concurrency": "Maximum concurrency",
    },
    "sglang": {"kv_cache_tokens": "max_total_num_tokens"},
    "trtllm": {"kv_cache_tokens": "max tokens in paged KV cache"},
    "llamacpp": {"compute_buffer": "compute buffer", "kv_cache_tokens": "KV cells", "model_file": "size"},
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure.  ``low`` to ``high`` is the predicted band that holds 80 % of measured cases."""

    figure: str
    statistic: str
    measured: float  # in the unit of ``core.evidence.run.FIGURES``
    predicted: float
    low: float
    high: float
    case: Case = field(repr=False, compare=False)

    @property
    def error(self) -> float:
        """Predicted over measured less one."""
        return self.predicted / self.measured - 1.0

    @property
    def slow_error(self) -> float:
        """Logarithm of how much slower than measured it is predicted; of rates the reverse."""
        kind = KINDS[self.figure]
        sign = -1.0 if kind.inverse or kind.metric in RATES else 1.0
        return sign * float(np.log(self.predicted / self.measured))


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One line of the ledger: bytes, or a count where the line is one (``is_count``)."""

    line: str
    engine_word: str  # what the engine's log calls it; "" where it has no word
    measured: float
    predicted: float | None
    low: float | None
    high: float | None
    is_count: bool
    reason: str = ""  # why it is not predicted, a key below ``cli.validate.reasons``
    given: str = ""  # what of the log itself the prediction starts from


@dataclass(frozen=True, slots=True)
class Left:
    """A figure that is not compared, and the key of the reason below ``cli.validate.reasons``."""

    figure: str
    statistic: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A run beside its prediction.  ``scenario`` None: it cannot be predicted, ``reason`` says why."""

    run: Run
    scenario: Scenario | None
    assumed: tuple[Assumed, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    ledger: tuple[LedgerRow, ...] = ()
    left: tuple[Left, ...] = ()
    reason: str = ""
    codes: tuple[str, ...] = ()  # of the problems of the settings, where these are the reason


def pair_runs(
    runs: Sequence[Run],
    base: Scenario | None = None,
    folder: Path | None = None,
    calibration: Calibration | None = None,
) -> tuple[Pair, ...]:
    """Every run with its prediction.

    ``base``: the open scenario, which lends what a run does not state, its calibration among it;
    ``folder``: the user's catalogue; ``calibration``: use this one in place of the scenario's.
    """
    known: dict[tuple[object, ...], Described] = {}
    found, cases, left = [], [], []
    for run in runs:
        hits = run.figure("prefix_hit_share")
        key = (run.setting, hits)
        if key not in known:
            known[key] = described(run.setting, hits, base, folder)
        scenario = known[key].scenario
        mine = cases_of_run(run, scenario) if scenario is not None else ([], [])
        found.append(known[key])
        cases.append(mine[0])
        left.append(tuple(Left(*missing) for missing in mine[1]))
    flat = [case for some in cases for _, _, case in some]
    predicted = _predictions(flat, calibration)
    pairs, at = [], 0
    for run, what, some, missing in zip(runs, found, cases, left, strict=True):
        values = predicted[:, at : at + len(some)]
        at += len(some)
        if what.scenario is None:
            pairs.append(Pair(run, None, reason=what.reason, codes=what.codes))
            continue
        comparisons, absent = _compared(run, some, values)
        ledger = ledger_rows(run, what.scenario)
        pairs.append(Pair(run, what.scenario, what.assumed, comparisons, ledger, (*missing, *absent)))
    return tuple(pairs)


def _predictions(cases: Sequence[Case], calibration: Calibration | None) -> FloatArray:
    """Predictions (3, n); nan where the model has none for a set-up."""
    out = np.full((3, len(cases)), np.nan)
    for run in runs_of(cases):
        alone = replace(run, places=tuple(range(len(run.places))))
        try:
            out[:, list(run.places)] = predict_all([alone], len(run.places), None, calibration)
        except (InferometerError, ArithmeticError, AssertionError):
            continue  # the figures stay without a prediction
    return out


def predicted_again(pair: Pair, scenario: Scenario) -> tuple[Comparison, ...]:
    """The comparisons of a run with another scenario in place of its own."""
    cases, _ = cases_of_run(pair.run, scenario)
    return _compared(pair.run, cases, _predictions([case for _, _, case in cases], None))[0]


def _compared(
    run: Run, cases: Sequence[tuple[str, str, Case]], values: FloatArray
) -> tuple[tuple[Comparison, ...], tuple[Left, ...]]:
    kept, left = [], []
    for (figure, statistic, case), column in zip(cases, values.T, strict=True):
        measured = run.figures[figure, statistic]
        own = 1.0 / column if KINDS[figure].inverse else column
        if not np.isfinite(own).all() or (own <= 0).any():
            left.append(Left(figure, statistic, "no_number"))
            continue
        low, high = sorted((float(own[0]), float(own[2])))
        kept.append(Comparison(figure, statistic, measured, float(own[EXPECTED]), low, high, case))
    return tuple(kept), tuple(left)


def ledger_rows(run: Run, scenario: Scenario) -> tuple[LedgerRow, ...]:
    """The ledger of a start-up log beside ours, line by line in the engine's words."""
    ledger = ledger_of(run)
    if not ledger or scenario.engine.name == "textbook":
        return ()
    record = memory_record(run, scenario)
    try:
        words = plan_memory(scenario).words
        found = {p.metric: p for p in predictions_with(record.record, scenario)}
    except (InferometerError, ArithmeticError):
        return ()
    rows = []
    for line, (metric, unit) in record.metrics.items():
        p = found.get(metric)
        if p is None:
            continue
        values = (None if v is None else v * unit for v in (p.predicted, p.low, p.high))
        predicted, low, high = values
        own = _WORDS.get(scenario.engine.name, {}).get(line, "")
        word = own or (words.get(_LINES[line], "") if line in _LINES else "")
        rows.append(
            LedgerRow(
                line,
                word,
                ledger[line],
                predicted,
                low,
                high,
                line in COUNTS,
                p.skipped,
                p.given,
            )
        )
    return tuple(rows)
