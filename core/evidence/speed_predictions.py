"""What the time model says about measured servers and batches, record by record."""

from collections.abc import Iterable, Iterator
from typing import Any

from core.evidence.memory_predictions import Prediction
from core.evidence.served import Case, Found, Seen, cases_of_points
from core.evidence.served_records import cases_of_records
from core.evidence.speed import predict_all, runs_of

# Names of the figures in the records, and what one of their units is in ours.
_UNITS = {
    "tpot": ("tpot_ms", 1e3),
    "itl": ("itl_ms", 1e3),
    "ttft": ("ttft_ms", 1e3),
    "latency": ("latency_s", 1.0),
    "output": ("output_tok_s", 1.0),
    "decode": ("decode_tok_s", 1.0),
    "total": ("total_tok_s", 1.0),
    "prefill": ("prefill_tok_s", 1.0),
}


def predictions_of_points(text: str, seen: Seen | None = None) -> tuple[Prediction, ...]:
    """Predictions of a table of served points, two figures a row."""
    return tuple(predictions_of_cases(cases_of_points(text, seen)))


def predictions_of_records(
    records: Iterable[dict[str, Any]], seen: Seen | None = None
) -> tuple[Prediction, ...]:
    """Predictions of records of servers and batches; those of other engines are passed over."""
    return tuple(predictions_of_cases(cases_of_records(records, seen)))


def predictions_of_cases(found: Iterable[Found]) -> Iterator[Prediction]:
    """A prediction, or the reason why there is none, for each."""
    kept = list(found)
    cases = [case for case in kept if isinstance(case, Case)]
    predicted = predict_all(runs_of(cases), len(cases))
    place = 0
    for case in kept:
        name, unit = _UNITS.get(case.metric, (case.metric, 1.0))
        if not isinstance(case, Case):
            yield Prediction(case.id, "", name, case.measured * unit, skipped=case.reason)
            continue
        low, high = sorted((predicted[0, place], predicted[2, place]))
        yield Prediction(
            case.id,
            case.scenario.engine.name,
            name,
            case.measured * unit,
            float(predicted[1, place]) * unit,
            float(low) * unit,
            float(high) * unit,
            group=case.group,
        )
        place += 1
