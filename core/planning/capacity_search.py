"""How much load a service carries: the largest rate, or number of users, that meets the targets.

Bisection on the simulator.  A trial meets the targets when the chosen percentile of both times is
within them and the queue does not grow.  The percentiles of a trial have a range; where their upper
ends meet the targets bounds the answer from below, where their lower ends do from above.  Of a trace the
load is its replay, faster or slower, so that its mean rate is the load (``core.planning.replay``).
"""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from core.memory.build import build_ledger
from core.memory.capacity import capacity
from core.planning.replay import replay, replay_ceiling, replays, with_mean_lengths
from core.quantities import EXPECTED, Range, distinct
from core.serving.results import SimulationResult, percentile, settles
from core.serving.simulator import simulate
from core.serving.steady_state import closed_loop, open_loop, prepare
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario

_RESOLUTION = 0.01  # of the answer
_MOST_TRIALS = 24
_LONG = 1e8  # s: a trial ends by the number of its requests
_CURVE = (0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.87, 0.93, 0.97, 1.02)  # of the ceiling
_MOST_REPLICAS = 512
_FASTEST = 8.0  # times the ceiling: a trace that is replayed faster comes all at once


@dataclass(frozen=True, slots=True)
class Trial:
    """One load simulated; times at the chosen percentile, s."""

    load: float  # requests a second, or users
    time_to_first_token: Range
    time_per_output_token: Range
    end_to_end: float  # mean
    requests_per_second: float
    output_tokens_per_second: float
    stable: bool
    meets: bool
    surely: bool  # with the upper end of the range
    hardly: bool  # with the lower end
    limit: str  # what is missed, or nearest to be: "first_token", "per_token" or "rate"
    refused: int = 0  # requests that no load lets in


@dataclass(frozen=True, slots=True)
class CapacityFound:
    """The state of a search.  ``most`` 0: not even the lightest load meets the targets."""

    by: str  # "requests" or "users"
    most: Range
    limit: str  # what ends it: that of a trial, or "trace", which is too short to fill the service
    percentile: float
    trials: tuple[Trial, ...]  # by rising load
    finished: bool


def find_capacity(
    scenario: Scenario, requests: int | None = None, trace: Trace | None = None
) -> Iterator[CapacityFound]:
    """Narrow the largest load down, a trial at a time; the last state is the answer.

    ``requests`` of a trial; None: enough for the percentile.  Raises InvalidScenario as the simulator and
    the replay.
    """
    traced = replays(scenario, trace)
    by = "requests" if traced else scenario.workload.load
    count = requests or trial_requests(scenario.simulation.percentile)
    trials: dict[float, Trial] = {}

    def tried(load: float) -> Trial:
        if load not in trials:
            trials[load] = trial(scenario, load, count, trace)
        return trials[load]

    whole = by == "users"
    guess = 0.7 * ceiling(scenario, trace) if traced else _guess(with_mean_lengths(scenario, trace))
    fastest = _FASTEST * guess / 0.7 if traced else math.inf
    low, high = 0.0, math.inf
    load = max(1.0, round(guess)) if whole else guess
    for _ in range(_MOST_TRIALS):
        if tried(load).meets:
            low = max(low, load)
        else:
            high = min(high, load)
        yield _found(by, trials, scenario, finished=False)
        if whole and (high - low <= 1 or high - low <= _RESOLUTION * low):
            break
        if not whole and math.isfinite(high) and low > 0 and high - low <= _RESOLUTION * high:
            break
        if math.isinf(high):
            load = 1.5 * low
            if load > fastest:
                break
        elif low == 0.0:
            load = 0.5 * high
            if load < 1e-3 * guess or (whole and high <= 1):
                break
        else:
            load = 0.5 * (low + high)
        load = max(1.0, float(round(load))) if whole else load
    last = _found(by, trials, scenario, finished=True)
    yield replace(last, limit="trace") if traced and math.isinf(high) else last


def trial_requests(share: float) -> int:
    """Requests for a steady percentile: a hundred beyond it, 1,000 to 8,000."""
    return round(min(8000, max(1000, 100 / max(1e-6, 1.0 - share))))


def trial(scenario: Scenario, load: float, requests: int, trace: Trace | None = None) -> Trial:
    """Simulate one load; of a trace its replay, as long as it is."""
    if trace is not None and replays(scenario, trace):
        result = replay(scenario, trace, load)
        return trial_of(result, load, _settles(result))
    changes: dict[str, object] = {"simulation.requests": requests, "simulation.duration_s": _LONG}
    if scenario.workload.load == "users":
        changes["workload.users"] = max(1, round(load))
        changes["simulation.requests"] = max(requests, 12 * round(load))
    else:
        changes["workload.request_rate"] = load
    return trial_of(simulate(with_values(scenario, changes), trace), load)


def trial_of(result: SimulationResult, load: float, settled: bool | None = None) -> Trial:
    """What a finished run says about its load.  ``settled``: whether a replay keeps up with its rate."""
    share, targets = result.scenario.simulation.percentile, result.scenario.targets
    first, each = times_at(result, share)
    most_first = math.inf if targets.time_to_first_token_s is None else targets.time_to_first_token_s
    most_each = (
        math.inf if targets.time_per_output_token_ms is None else targets.time_per_output_token_ms / 1e3
    )
    closed = result.scenario.workload.load == "users"
    stable = result.stable or closed if settled is None else settled

    def within(pick: Callable[[Range], float]) -> bool:
        return stable and not pick(first) > most_first and not pick(each) > most_each

    ratios = {"first_token": first.expected / most_first, "per_token": each.expected / most_each}
    limit = "rate" if not stable else max(ratios, key=lambda key: ratios[key])
    return Trial(
        load,
        first,
        each,
        result.end_to_end.mean,
        result.requests_per_second,
        result.output_tokens_per_second,
        stable,
        within(lambda r: r.expected),
        within(lambda r: r.high),
        within(lambda r: r.low),
        limit,
        result.refused,
    )


def times_at(result: SimulationResult, share: float) -> tuple[Range, Range]:
    """Any percentile of the time to the first token and per output token, s, after the warm-up."""
    records = result.records
    arrival, first, finish = (np.array(c) for c in (records.arrival, records.first, records.finish))
    output = np.array(records.output, dtype=np.float64)
    if not len(arrival):
        nothing = Range(math.nan, math.nan, math.nan)
        return nothing, nothing
    start = arrival[0] + result.scenario.simulation.warm_up * (arrival[-1] - arrival[0])
    kept = np.isfinite(finish) & (arrival >= start)
    several = kept & (output > 1)
    each = (finish - first)[several] / (output[several] - 1.0)
    return percentile((first - arrival)[kept], share), percentile(each, share)


def _settles(result: SimulationResult) -> bool:
    """Whether a replay's queue stops growing, were it over before its first answer or not."""
    records = result.records
    taken = np.array(records.replica) >= 0
    arrival, admitted = np.array(records.arrival), np.array(records.admitted)
    start = result.scenario.simulation.warm_up * float(arrival[-1])
    return settles(result.scenario, arrival[taken], admitted[taken], start, float(arrival[-1]))


def ceiling(scenario: Scenario, trace: Trace | None = None) -> float:
    """Requests a second that the full service answers, by the steady state; of a trace by simulation."""
    if trace is not None and replays(scenario, trace):
        return replay_ceiling(scenario, trace)
    scenario = with_mean_lengths(scenario, trace)
    tokens = capacity(scenario, build_ledger(scenario, 1.0)).kv_tokens
    return float(open_loop(prepare(scenario), np.array([1e9]), tokens).requests_per_second[EXPECTED, 0])


def _guess(scenario: Scenario) -> float:
    """The load whose mean times are a little within the targets, by the steady state."""
    service, targets = prepare(scenario), scenario.targets
    tokens = capacity(scenario, build_ledger(scenario, 1.0)).kv_tokens
    if scenario.workload.load == "users":
        loads = distinct(np.round(np.geomspace(1, 4096 * service.replicas, 80)))
        curve = closed_loop(service, loads, tokens)
    else:
        loads = ceiling(scenario) * np.linspace(0.02, 0.98, 49)
        curve = open_loop(service, loads, tokens)
    good = curve.stable > 0
    if targets.time_to_first_token_s is not None:
        good &= curve.time_to_first_token[EXPECTED] <= 0.8 * targets.time_to_first_token_s
    if targets.time_per_output_token_ms is not None:
        good &= curve.time_per_output_token[EXPECTED] <= 0.95e-3 * targets.time_per_output_token_ms
    return float(loads[np.flatnonzero(good)[-1]]) if good.any() else float(loads[0])


def _found(by: str, trials: dict[float, Trial], scenario: Scenario, finished: bool) -> CapacityFound:
    order = [trials[load] for load in sorted(trials)]
    low, most, high = (_last(order, degree) for degree in (_SURELY, _MEETS, _HARDLY))
    failing = next((t for t in order if not t.meets), None)
    limit = failing.limit if failing is not None else order[-1].limit
    share = scenario.simulation.percentile
    return CapacityFound(
        by, Range(min(low, most), most, max(high, most)), limit, share, tuple(order), finished
    )


_SURELY, _MEETS, _HARDLY = (operator.attrgetter(name) for name in ("surely", "meets", "hardly"))


def _last(order: list[Trial], good: Callable[[Trial], bool]) -> float:
    """The largest load up to which every trial is good, 0 where none is."""
    last = 0.0
    for one in order:
        if not good(one):
            break
        last = one.load
    return last


@dataclass(frozen=True, slots=True)
class ReplicasFound:
    """How many copies carry a rate."""

    replicas: int  # 0: none within the limit
    accelerators: int
    trial: Trial | None
    finished: bool


def find_replicas(
    scenario: Scenario, requests: int | None = None, trace: Trace | None = None
) -> Iterator[ReplicasFound]:
    """The fewest copies that carry ``workload.request_rate`` within the targets, doubling and halving."""
    count = requests or trial_requests(scenario.simulation.percentile)
    place = scenario.deployment
    group = place.tensor_parallel * place.pipeline_parallel
    one = with_values(scenario, {"workload.load": "requests"})

    def tried(copies: int) -> Trial:
        changed = with_values(one, {"deployment.accelerators": copies * group})
        return trial(changed, scenario.workload.request_rate, max(count, 200 * copies), trace)

    single = ceiling(with_values(one, {"deployment.accelerators": group}), trace)
    low, high = 0, max(1, math.ceil(scenario.workload.request_rate / max(single, 1e-9)))
    best: Trial | None = None
    while True:
        if high > _MOST_REPLICAS:
            yield ReplicasFound(0, 0, best, finished=True)
            return
        latest = tried(high)
        yield ReplicasFound(high, high * group, latest, finished=False)
        if latest.meets:
            best = latest
            break
        low, high = high, max(high + 1, round(1.4 * high))
    while high - low > 1:
        middle = (low + high) // 2
        latest = tried(middle)
        if latest.meets:
            high, best = middle, latest
        else:
            low = middle
        yield ReplicasFound(high, high * group, best, finished=False)
    yield ReplicasFound(high, high * group, best, finished=True)


@dataclass(frozen=True, slots=True)
class LatencyCurve:
    """Latency against load, as far as it is simulated; ``knee`` is a number in ``trials``, -1: none yet."""

    trials: tuple[Trial, ...]
    knee: int
    finished: bool


def latency_curve(
    scenario: Scenario, requests: int = 1000, trace: Trace | None = None
) -> Iterator[LatencyCurve]:
    """Simulate rates up to just beyond the ceiling.

    The knee is where rate over mean time to the last token is greatest (Kleinrock's power): beyond it
    the time grows faster than the throughput.
    """
    one = with_values(scenario, {"workload.load": "requests"})
    top = ceiling(one, trace)
    trials: list[Trial] = []
    for number, share in enumerate(_CURVE, 1):
        trials.append(trial(one, top * share, requests, trace))
        yield LatencyCurve(tuple(trials), knee(trials), number == len(_CURVE))


def knee(trials: list[Trial]) -> int:
    """Number of the trial at the knee, -1 for none."""
    power = [t.requests_per_second / t.end_to_end if t.end_to_end > 0 else 0.0 for t in trials]
    return int(np.argmax(power)) if power else -1
