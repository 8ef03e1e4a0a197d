"""Runs of the simulator off the interface thread: what is known so far, as arrays that nobody changes."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.files.atomic import read_limited
from core.files.results_file import KeptRun
from core.planning.capacity_search import (
    CapacityFound,
    ReplicasFound,
    Trial,
    ceiling,
    find_capacity,
    find_replicas,
    knee,
    latency_curve,
    trial,
    trial_requests,
)
from core.planning.replay import at_own_rate, replays
from core.quantities import FloatArray
from core.results import Estimate
from core.serving.requests import Records
from core.serving.results import SimulationResult
from core.serving.simulator import Progress, Run
from core.serving.trace import MAX_BYTES, Trace, parse_trace
from core.spec.scenario import Scenario

_PORTION = 100  # events between two looks at the interface
_EVERY_S = 0.2  # between two pictures of a run
_LOAD_SHARES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0, 1.2, 1.5, 1.8, 2.2)  # of the largest number of users
_OWN_WITHIN = 8.0  # times the largest number: the scenario's own is shown as well
_TRIALS = 22  # that a study takes, about
QUICK_REQUESTS = 20_000  # of a run that needs no asking


@dataclass(frozen=True, slots=True, eq=False)
class Fates:
    """What became of each request; arrays (n,) of s and tokens, nan until it has happened."""

    arrival: FloatArray
    admitted: FloatArray
    first: FloatArray
    finish: FloatArray
    prompt: FloatArray
    output: FloatArray
    cached: FloatArray
    preempted: NDArray[np.int64]
    replica: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.arrival)


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A run as far as it has come."""

    scenario: Scenario
    result: SimulationResult
    fates: Fates
    progress: Progress
    seconds: float  # of computing
    finished: bool


def fates_of(records: Records) -> Fates:
    """A copy of the records, as long as all columns are."""
    columns = [
        np.array(column)
        for column in (
            records.arrival,
            records.admitted,
            records.first,
            records.finish,
            records.prompt,
            records.output,
            records.cached,
            records.preempted,
            records.replica,
        )
    ]
    count = min(len(column) for column in columns)
    return Fates(*(column[:count] for column in columns))


def shots(scenario: Scenario, trace: Trace | None) -> Iterator[Shot | None]:
    """A picture now and then, None in between, the complete one last.

    Raises InvalidScenario for a service that does not start.
    """
    begun = last = time.perf_counter()
    run, pause = Run(scenario, trace), 0.04  # the first rows come at once
    for progress in run.steps(_PORTION):
        now = time.perf_counter()
        if not run.finished and now - last < pause:
            yield None
            continue
        result = run.result()
        fates = fates_of(run.records)
        made = time.perf_counter()
        yield Shot(scenario, result, fates, progress, made - begun, run.finished)
        # Pictures take a fifth of the time at most, however long the records grow.
        last, pause = made, max(_EVERY_S, 5.0 * (made - now))


@dataclass(frozen=True, slots=True)
class Study:
    """The largest load that meets the targets, and the curve around it; ``knee`` -1: none yet.

    ``replicas``: the copies that the scenario's own rate takes; None where users are given.
    """

    scenario: Scenario
    found: CapacityFound
    trials: tuple[Trial, ...]  # by rising load
    knee: int
    share: float
    finished: bool
    replicas: ReplicasFound | None = None


def study(scenario: Scenario, trace: Trace | None = None) -> Iterator[Study]:
    """First the largest load, then latency against load.  A trace is replayed faster and slower, and the
    scenario's own rate is that of the trace.  Raises InvalidScenario like the simulator and the replay.
    """
    scenario = at_own_rate(scenario, trace)
    found: CapacityFound | None = None
    for found in find_capacity(scenario, None, trace):
        yield _studied(scenario, found, {}, finished=False)
    assert found is not None
    curve: dict[float, Trial] = {}
    # As long as those of the search: points of shorter runs between them would make the curve a zigzag.
    requests = trial_requests(scenario.simulation.percentile)
    if found.by == "requests":
        rate = scenario.workload.request_rate
        if replays(scenario, trace) or rate <= ceiling(scenario, trace):
            curve[rate] = trial(scenario, rate, requests, trace)
            yield _studied(scenario, found, curve, finished=False)
        own_rate = dict(curve)
        for state in latency_curve(scenario, requests, trace):
            curve = own_rate | {one.load: one for one in state.trials}
            yield _studied(scenario, found, curve, finished=False)
    else:
        top, own = max(found.most.expected, 2.0), float(scenario.workload.users)
        loads = {max(1.0, float(round(top * share))) for share in _LOAD_SHARES}
        for load in sorted(loads | ({own} if own <= _OWN_WITHIN * top else set())):
            curve[load] = trial(scenario, load, requests, trace)
            yield _studied(scenario, found, curve, finished=False)
    last = _studied(scenario, found, curve, finished=True)
    if found.by == "requests":
        for copies in find_replicas(scenario, None, trace):
            yield replace(last, replicas=copies, share=0.97, finished=copies.finished)
    else:
        yield last


def _studied(scenario: Scenario, found: CapacityFound, curve: dict[float, Trial], finished: bool) -> Study:
    merged = {one.load: one for one in found.trials} | curve
    if not found.most.expected and curve:
        merged = curve  # the search went down to loads that nobody has
    order = [merged[load] for load in sorted(merged)]
    top = 3.0 * found.most.expected if found.most.expected > 0 else float("inf")
    if found.by == "users" and scenario.workload.users <= _OWN_WITHIN * max(2.0, found.most.expected):
        top = max(top, float(scenario.workload.users))
    shown = [one for one in order if one.load <= top] or order
    at = knee(shown) if finished else -1
    done = 1.0 if finished else min(0.95, (len(found.trials) + len(curve)) / _TRIALS)
    return Study(scenario, found, tuple(shown), at, done, finished)


def kept_shot(kept: KeptRun) -> Shot:
    """The picture of a run that was kept with the file."""
    result = kept.result
    progress = Progress(1.0, result.seconds, result.asked, result.done)
    return Shot(kept.scenario, result, fates_of(result.records), progress, kept.seconds, True)


def expected_requests(scenario: Scenario, estimate: Estimate | None, trace: Trace | None) -> float:
    """How many requests a run will have, by the steady state."""
    settings = scenario.simulation
    if settings.arrivals == "trace":
        rows = 0 if trace is None else len(trace)
        return float(min(rows, settings.requests or rows))
    rate = scenario.workload.request_rate
    if scenario.workload.load == "users":
        speed = None if estimate is None else estimate.speed
        rate = 1.0 if speed is None else speed.request_throughput.expected
    count = rate * settings.duration_s
    return min(count, settings.requests) if settings.requests else count


def read_trace(path: Path) -> Iterator[Trace]:
    """The requests of a file.  Raises InferometerError."""
    yield parse_trace(read_limited(path, MAX_BYTES))
