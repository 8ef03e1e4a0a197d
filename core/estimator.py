"""The one entry: a scenario in, everything the program says about it out.

Deterministic; no clock, files or globals.
"""

import numpy as np

from core.catalog.calibrations import applying
from core.explain.calibration_state import calibration_notes
from core.explain.crowding import crowding_notes
from core.explain.drafts import draft_notes
from core.explain.verdict import judge
from core.latency.textbook import TextbookPlan
from core.memory.build import build_ledger
from core.memory.capacity import Capacity, capacity, queues, starts
from core.memory.notes import memory_notes
from core.quantities import EXPECTED, HIGH, LOW, FloatArray, Range
from core.results import Estimate, Speed, Verdict
from core.serving.load import LoadCurve
from core.serving.steady_state import Service, closed_loop, open_loop, phases, prepare
from core.spec.checks import check
from core.spec.scenario import Scenario

__all__ = ["Estimate", "Speed", "Verdict", "estimate"]


def estimate(scenario: Scenario) -> Estimate:
    """Estimate memory, speed and capacity of one scenario.

    Raises nothing for a scenario that passes ``core.spec.checks.check`` without errors.
    """
    work = scenario.workload
    wanted = float(work.users) if work.load == "users" else 1.0
    ledger = build_ledger(scenario, wanted)
    ceiling = capacity(scenario, ledger)
    if queues(scenario) and ceiling.at_once < wanted:
        # The engine lets the rest wait: memory holds what fits, and to start it needs room for one.
        ledger = build_ledger(scenario, float(max(1, ceiling.at_once)))
    speed = None
    if starts(scenario):
        service = prepare(scenario)
        curve = load_at_point(scenario, service, ceiling)
        speed = _speed(service, curve)
        if work.load == "requests":
            ledger = build_ledger(scenario, max(1.0, min(speed.users, float(ceiling.at_once))))
    notes = (
        *(p for p in check(scenario) if p.severity != "error"),
        *memory_notes(scenario, ledger),
        *calibration_notes(scenario),
        *crowding_notes(scenario, ceiling),
        *draft_notes(scenario),
    )
    verdict = judge(scenario, ledger, ceiling, speed)
    fitted = applying(scenario)
    return Estimate(scenario, ledger, ceiling, speed, verdict, notes, fitted.name if fitted else "")


def load_at_point(scenario: Scenario, service: Service, ceiling: Capacity) -> LoadCurve:
    """The load curve at the scenario's own point, n = 1."""
    work = scenario.workload
    if work.load == "requests":
        return open_loop(service, np.array([work.request_rate]), ceiling.kv_tokens)
    return closed_loop(service, np.array([float(work.users)]), ceiling.kv_tokens)


def _range(values: FloatArray) -> Range:
    """Times rise along axis 0 and throughputs fall; either way low <= expected <= high."""
    low, high = sorted((float(values[LOW, 0]), float(values[HIGH, 0])))
    return Range(low, float(values[EXPECTED, 0]), high)


def _decoding(service: Service, curve: LoadCurve) -> float:
    """Requests in decode steps, of all replicas and stages: what times follow from, as it is derived.

    More than decode on average in time: steps with many last longer.
    """
    if curve.terms is None or isinstance(service.plan, TextbookPlan):
        return float(curve.running[EXPECTED, 0])
    return float(curve.terms.decoding[0]) * service.replicas * service.plan.stages


def _speed(service: Service, curve: LoadCurve) -> Speed:
    prefill, decode = phases(service, _decoding(service, curve))
    parts = {
        "queue": curve.queue_seconds,
        "other_prefills": curve.other_prefills_seconds,
        "prefill": curve.prefill_seconds,
        "base": curve.base_seconds,
    }
    if service.readers:
        parts["transfer"] = curve.transfer_seconds
    if not (np.isfinite(curve.time_per_output_token).all() and np.isfinite(curve.requests_per_second).all()):
        raise ArithmeticError("a time that is no number")  # no verdict may rest on it
    return Speed(
        time_to_first_token=_range(curve.time_to_first_token),
        first_token_parts={key: float(value[EXPECTED, 0]) for key, value in parts.items()},
        time_per_output_token=_range(curve.time_per_output_token),
        output_throughput=_range(curve.output_tokens_per_second),
        request_throughput=_range(curve.requests_per_second),
        users=float(curve.users[0]),
        running=float(curve.running[EXPECTED, 0]),
        stable=bool(curve.stable[0]),
        prefill_share=float(curve.prefill_share[EXPECTED, 0]),
        prefill=prefill,
        decode=decode,
    )
