"""Predicted against measured: every record, grouped errors, and what could not be predicted."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from core.evidence.measured import read_records, record_of
from core.evidence.memory_predictions import Prediction, predict

# Lines whose error is an amount in their own unit; all others are compared as ratios.
_AMOUNTS = ("activation_peak_gib", "non_torch_gib", "cuda_graph_gib")


@dataclass(frozen=True, slots=True)
class GroupErrors:
    """Errors of one metric of one engine: shares, or GiB where ``unit`` says so.

    ``median`` and ``p90`` are absolute, ``bias`` is the signed median, ``inside`` the share of
    measurements inside the 80 % band.
    """

    engine: str
    metric: str
    n: int
    median: float
    p90: float
    bias: float
    inside: float
    unit: str  # "%" or "GiB"


def predictions_of(paths: Iterable[Path]) -> tuple[Prediction, ...]:
    """Predictions of every metric of every memory record of the files."""
    found: list[Prediction] = []
    for path in paths:
        for number, tree in enumerate(read_records(path), 1):
            if isinstance(tree.get("observed"), dict) and "engine" in tree:
                found += predict(record_of(tree, number))
    return tuple(found)


def error_of(p: Prediction) -> float | None:
    """Predicted minus measured in GiB, or as a share of the measured; None when there is no prediction."""
    if p.predicted is None:
        return None
    if p.metric in _AMOUNTS:
        return p.predicted - p.measured
    return p.predicted / p.measured - 1 if p.measured else None


def p90(values: list[float]) -> float:
    """The ninth decile of sorted or unsorted values, the upper of two neighbours."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.9 * (len(ordered) - 1)))]


def grouped(predictions: Iterable[Prediction]) -> tuple[GroupErrors, ...]:
    """Errors by engine and metric, and by metric over all engines ("all")."""
    groups: dict[tuple[str, str], list[Prediction]] = {}
    for p in predictions:
        if error_of(p) is not None:
            groups.setdefault((p.engine, p.metric), []).append(p)
            groups.setdefault(("all", p.metric), []).append(p)
    return tuple(_errors(*key, groups[key]) for key in sorted(groups))


def _errors(engine: str, metric: str, found: list[Prediction]) -> GroupErrors:
    signed = [e for p in found if (e := error_of(p)) is not None]
    absolute = [abs(e) for e in signed]
    inside = [p.low is not None and p.high is not None and p.low <= p.measured <= p.high for p in found]
    unit = "GiB" if metric in _AMOUNTS else "%"
    return GroupErrors(
        engine,
        metric,
        len(found),
        statistics.median(absolute),
        p90(absolute),
        statistics.median(signed),
        sum(inside) / len(inside),
        unit,
    )


def lines_of(predictions: Iterable[Prediction]) -> str:
    """One JSON object a line: id, metric, measured, predicted, low, high, skipped."""
    return "".join(json.dumps(asdict(p), ensure_ascii=False) + "\n" for p in predictions)
