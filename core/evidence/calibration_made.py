"""The calibration that is written: values of columns as factors, bands that are left, runs it is of."""

from collections.abc import Sequence

import numpy as np

from core.evidence.calibration_fit import Model, direction
from core.evidence.calibration_rows import Linear, Rows
from core.evidence.pairing import Comparison, Pair
from core.quantities import FloatArray
from core.spec.calibration import FACTORS, Calibration, CalibrationSource, SetupFactors
from core.spec.checks import LABELS
from core.strict_json import shortened

_LEAST_FIGURES = 3
_BAND_ROWS = 10.0  # figures from which on the band is half the data's own
_RESERVE_PRIOR, _RESERVE_NOISE, _RESERVE_SURE = 0.5, 0.15, 2.0  # GiB, GiB, standard errors
_LEAST, _MOST = 0.05, 20.0
_LONGEST_NAME = 60


def name_of(pairs: Sequence[Pair]) -> str:
    """The name that a calibration to these runs suggests itself: their engine and device; "" for none."""
    scenario = next((pair.scenario for pair in pairs if pair.scenario is not None), None)
    if scenario is None:
        return ""
    engine = LABELS.get(scenario.engine.name, scenario.engine.name)
    return f"{engine} {scenario.accelerator.name}"[:_LONGEST_NAME].strip()


def calibration_of(name: str, model: Model, phi: FloatArray, rows: Rows) -> Calibration:
    """Values (m,) of the columns as factors of all and of set-ups."""
    whole = np.zeros(len(FACTORS))
    parts: dict[int, dict[str, float]] = {}
    for column, value in zip(model.columns, phi.tolist(), strict=True):
        if column.setup < 0:
            whole += value * direction(column.name)
        else:
            parts.setdefault(column.setup, {})[column.name] = _bounded(value)
    counts = np.bincount(rows.setup, minlength=len(rows.setups))
    setups: list[SetupFactors] = [
        rows.setups[place].model_copy(update={**values, "figures": int(counts[place])})
        for place, values in sorted(parts.items())
    ]
    scenarios = rows.scenarios
    return Calibration(
        name=name,
        engine=scenarios[0].engine.name,
        accelerators=tuple(sorted({s.accelerator.name for s in scenarios})),
        setups=tuple(setups),
    ).model_copy(
        update={factor: _bounded(value) for factor, value in zip(FACTORS, whole.tolist(), strict=True)}
    )


def _bounded(logarithm: float) -> float:
    return round(float(min(max(np.exp(logarithm), _LEAST), _MOST)), 4)


def bands_of(rows: Rows, linear: Linear, out: FloatArray) -> dict[str, tuple[float, float]]:
    """p10 and p90 of measured / predicted, of figures left out; wider, the fewer they are."""
    groups = np.array([case.group for case in rows.cases])
    found = {}
    for key, mine in (
        ("step_band", np.isin(groups, ("server TPOT", "one stream", "batches"))),
        ("first_token_band", np.isin(groups, ("server TTFT", "one prompt"))),
    ):
        errors = out[mine & linear.fitted]
        if len(errors) < _LEAST_FIGURES:
            continue
        share = len(errors) / (len(errors) + _BAND_ROWS)
        wide = 1.2816 * float(rows.scales[mine].mean())
        low, high = np.quantile(-errors, [0.1, 0.9])
        low = min(0.0, share * low - (1 - share) * wide)
        high = max(0.0, share * high + (1 - share) * wide)
        found[key] = (round(float(np.exp(low)), 3), round(float(np.exp(high)), 3))
    return found


def reserve_gib(pairs: Sequence[Pair]) -> float:
    """Memory that the start-up logs miss beside the ledger, GiB; 0 unless they agree on it."""
    missing = [
        (row.predicted - row.measured) / 2**30
        for pair in pairs
        for row in pair.ledger
        if row.line in ("kv_cache", "available_kv") and row.predicted is not None and not row.given
    ]
    if len(missing) < 2:
        return 0.0
    middle = float(np.median(missing))
    noise = max(_RESERVE_NOISE, 1.4826 * float(np.median(np.abs(np.array(missing) - middle))))
    error = noise / np.sqrt(len(missing))
    if abs(middle) < _RESERVE_SURE * error:
        return 0.0
    return float(middle * _RESERVE_PRIOR**2 / (_RESERVE_PRIOR**2 + error**2))


def sources_of(
    pairs: Sequence[Pair], chosen: Sequence[tuple[int, Comparison]]
) -> tuple[CalibrationSource, ...]:
    """The runs that were fitted to."""
    found = []
    for i in dict.fromkeys(i for i, _ in chosen):
        run = pairs[i].run
        texts = (run.origin.tool, run.origin.file, run.setting.model, run.label, run.started_at)
        tool, file, model, label, started = (shortened(text)[:60] for text in texts)
        found.append(
            CalibrationSource(
                tool=tool,
                file=file,
                line=max(0, run.origin.line),
                model=model,
                label=label,
                started_at=started,
            )
        )
    return tuple(found[:10_000])
