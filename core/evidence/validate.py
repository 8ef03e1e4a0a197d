"""Predicted against measured: every record, grouped errors, and what could not be predicted."""

import json
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from core.evidence.measured import read_records, read_table, record_of
from core.evidence.memory_predictions import Prediction, predict
from core.evidence.served import Seen, number_of
from core.evidence.single_stream import predictions_of_streams
from core.evidence.speed_predictions import predictions_of_points, predictions_of_records

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
    """Predictions of every figure of every record of the files.

    A file is a table of served points (.csv), or records, one JSON object a line, of memory or speed.
    They are read in the order of their names: of a run that two of them list the first counts.
    """
    found: list[Prediction] = []
    seen: Seen = set()
    for path in sorted(paths, key=lambda path: path.name):
        mine = _of_points(path, seen) if path.suffix.lower() == ".csv" else _of_records(path, seen)
        found += (replace(p, file=path.name) for p in mine)
    return tuple(found)


def _of_points(path: Path, seen: Seen) -> Iterable[Prediction]:
    return predictions_of_points(read_table(path), seen)


def _of_records(path: Path, seen: Seen) -> Iterable[Prediction]:
    records = read_records(path)
    found = [*predictions_of_records(records, seen), *predictions_of_streams(records)]
    told = {p.id for p in found}
    for number, tree in enumerate(records, 1):
        if isinstance(tree.get("observed"), dict) and "engine" in tree:
            found += predict(record_of(tree, number))
        elif (value := number_of(tree.get("value"))) and str(tree.get("id")) not in told:
            engine, metric = (str(tree.get(key) or "") for key in ("engine", "metric"))
            found.append(Prediction(str(tree.get("id")), engine, metric, value, skipped="engine"))
    return found


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
            figure = p.group or p.metric
            groups.setdefault((p.engine, figure), []).append(p)
            groups.setdefault(("all", figure), []).append(p)
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
