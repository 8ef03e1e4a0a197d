"""Predictions of measured servers and batches by the program's own model."""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import InferometerError
from core.evidence.served import Case
from core.latency.factors import Factors
from core.latency.step import Plan
from core.latency.textbook import TextbookPlan
from core.memory.build import build_ledger
from core.memory.capacity import capacity
from core.model.cache import kv_bytes_per_token_unbounded
from core.model.parameters import weight_bytes
from core.quantities import EXPECTED, FloatArray
from core.serving.finite_run import finite_run
from core.serving.life import Lengths
from core.serving.static_batch import static_batch
from core.serving.steady_state import Service, closed_loop, open_loop, prepare, room
from core.spec.calibration import Calibration
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import GIB

RATES = ("output", "total", "decode", "prefill", "requests")  # all other metrics are times
_RESERVED = 1.5 * GIB  # beside weights and cache, where an engine's ledger does not say


@dataclass(frozen=True)
class Run:
    """Cases that share plan, lengths and pool: one call of the model answers all."""

    scenario: Scenario
    pool: float  # tokens, all replicas
    cases: tuple[Case, ...]
    places: tuple[int, ...]  # of the cases in the list they came from


def runs_of(cases: Sequence[Case]) -> tuple[Run, ...]:
    """Group cases for fast repeated prediction."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, case in enumerate(cases):
        s, work = case.scenario, case.scenario.workload
        key = (
            id(s.model.architecture),
            s.accelerator.name,
            s.deployment,
            s.precision,
            s.engine,
            s.speculative,
            s.host,
            work.prompt_tokens,
            work.output_tokens,
            work.shared_prefix_tokens,
            case.load,
            case.pool,
            case.requests,
            case.spread,
        )
        groups.setdefault(key, []).append(place)
    runs = []
    for places in groups.values():
        found = tuple(cases[i] for i in places)
        runs.append(Run(found[0].scenario, found[0].pool or _pool(found[0].scenario), found, tuple(places)))
    return tuple(runs)


def _pool(scenario: Scenario) -> float:
    """Tokens that the caches of all replicas hold, by the engine's ledger.

    A run that was measured had room: at least what is left of 95 % of the memory.
    """
    tokens = 0.0
    with contextlib.suppress(InferometerError):
        tokens = float(capacity(scenario, build_ledger(scenario)).kv_tokens)
    device, deployment = scenario.accelerator, scenario.deployment
    total = (
        device.memory_mib_reported * 2**20 if device.memory_mib_reported else device.memory_gb_nominal * 1e9
    )
    weights = WEIGHT_FORMATS[scenario.precision.weights]
    tp = deployment.tensor_parallel
    left = 0.95 * total - weight_bytes(scenario.model.architecture, weights, tp) - _RESERVED
    arch, fmt = scenario.model.architecture, CACHE_FORMATS[scenario.precision.kv_cache]
    one = kv_bytes_per_token_unbounded(arch, fmt, deployment.attention_tensor_parallel)
    copies = deployment.replicas * deployment.attention_data_parallel
    least = 0.5 if tokens else 1.0
    return max(tokens, least * copies * max(left, 0.02 * total) / max(one, 1))


def predict_all(
    runs: Iterable[Run],
    count: int,
    factors: Factors | None = None,
    calibration: Calibration | None = None,
) -> FloatArray:
    """Predictions (3, count): optimistic, expected, pessimistic, in the unit of each case."""
    out = np.ones((3, count))
    for run in runs:
        for place, values in zip(run.places, _predict(run, factors, calibration), strict=True):
            out[:, place] = values
    return out


def _predict(run: Run, factors: Factors | None, calibration: Calibration | None) -> list[FloatArray]:
    service = prepare(run.scenario, factors, calibration)
    found = _values(service, run)
    if isinstance(service.plan, Plan) and run.cases[0].group not in (
        "server TPOT",
        "server TTFT",
        "one stream",
    ):
        found = [_widened(values, service.plan.batch_band) for values in found]
    return found


def _widened(values: FloatArray, band: tuple[float, float]) -> FloatArray:
    """Low, expected and high with the band of whole batches; rates fall along the axis, times rise."""
    expected, rises = values[EXPECTED], values[0] <= values[2]
    low, high = band if rises else (1 / band[0], 1 / band[1])
    return np.array([low * expected, expected, high * expected])


def _values(service: Service, run: Run) -> list[FloatArray]:
    if run.cases[0].spread:
        service = replace(service, lengths=replace(service.lengths, spread=run.cases[0].spread))
    if run.cases[0].group in ("batches", "one stream", "one prompt") and isinstance(service.plan, Plan):
        # No server streams the answers.
        service = replace(service, plan=replace(service.plan, stream=0.0 * service.plan.stream))
    amounts = np.array([case.amount for case in run.cases])
    load = run.cases[0].load
    if load == "batch":
        return _batches(service, run, amounts)
    if load == "full" or np.isinf(run.pool):  # as many as fit, or did: nobody is preempted
        service = replace(service, preempts=False)
    if load == "full":
        amounts = np.full(len(amounts), service.replicas * room(service, run.pool))
    unique, where = np.unique(amounts, return_inverse=True)
    if load == "rate" and run.cases[0].requests:
        curve = finite_run(service, unique, run.cases[0].requests, run.pool)
    else:
        curve = (open_loop if load == "rate" else closed_loop)(service, unique, run.pool)
    answer, whole = service.lengths.output, service.lengths.prompt + service.lengths.output
    life = curve.time_to_first_token + curve.time_per_output_token * max(answer - 1.0, 0.0)
    values = {
        "ttft": curve.time_to_first_token,
        "tpot": curve.time_per_output_token,
        "itl": curve.time_per_output_token * (1.0 - curve.prefill_share),
        "latency": life,
        "output": curve.output_tokens_per_second,
        "decode": curve.output_tokens_per_second,
        "total": curve.requests_per_second * whole,
        "prefill": curve.requests_per_second * service.lengths.prompt,
        "requests": curve.requests_per_second,
    }
    return [values[case.metric][:, where[i]] for i, case in enumerate(run.cases)]


def _batches(service: Service, run: Run, amounts: FloatArray) -> list[FloatArray]:
    assert not isinstance(service.plan, TextbookPlan)
    lengths: Lengths = service.lengths
    # A batch larger than the room runs in waves.
    most = max(
        1.0, min(service.max_num_seqs, run.pool / service.replicas / (lengths.prompt + lengths.output))
    )
    here = np.maximum(amounts / service.replicas, 1.0)
    waves = np.ceil(here / most - 1e-9)
    times = static_batch(service.plan, lengths, here / waves)
    total, first = times.total * waves, times.first_token
    values = {
        "latency": total,
        "ttft": first,
        "tpot": times.step,
        "itl": times.step,
        "output": amounts * lengths.output / total,
        "decode": amounts / times.step,
        "total": amounts * (lengths.prompt + lengths.output) / total,
        "prefill": amounts * lengths.prompt / first,
        "requests": amounts / total,
    }
    return [values[case.metric][:, i] for i, case in enumerate(run.cases)]


def log_errors(cases: Sequence[Case], predicted: FloatArray) -> FloatArray:
    """log(predicted / measured) of times; the reverse for rates, so that above 0 is always too slow."""
    measured = np.array([case.measured for case in cases])
    sign = np.array([-1.0 if case.metric in RATES else 1.0 for case in cases])
    return np.asarray(sign * np.log(predicted[EXPECTED] / measured))
