"""What a simulation found: distributions with confidence, shares, and what happened over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.quantities import FloatArray, Range
from core.serving.begun import full_from
from core.serving.replica import Replica
from core.serving.requests import Records
from core.serving.timeline import gap_quantiles
from core.spec.scenario import Scenario

BoolArray = NDArray[np.bool_]
SHARES = (0.5, 0.9, 0.95, 0.99)
_CONFIDENCE = 1.96  # standard deviations: 95 %
_POINTS = 1200  # of a timeline
_STRETCHES = 40  # of a run, of which one is the time over which cached prompts are counted


@dataclass(frozen=True, slots=True)
class Distribution:
    """A quantity over requests.  Each percentile with the range that holds it in 95 of 100 runs."""

    count: int
    mean: float
    p50: Range
    p90: Range
    p95: Range
    p99: Range

    def at(self, share: float) -> Range:
        """The stored percentile nearest to a share."""
        names = {0.5: self.p50, 0.9: self.p90, 0.95: self.p95, 0.99: self.p99}
        return names[min(names, key=lambda s: abs(s - share))]


@dataclass(frozen=True, slots=True, eq=False)
class Over:
    """What happened over time, (m,) points; counts are of all replicas together."""

    time: FloatArray  # s
    waiting: FloatArray  # requests, those on their way to the queue included
    running: FloatArray
    cache: FloatArray  # share of all blocks that requests hold, 0 to 1
    preemptions: FloatArray  # so far
    hits: FloatArray  # share of the prompt tokens that were cached, of those taken in just before


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """A finished run, or what is known of one that goes on.

    Distributions are of the requests that came after the warm-up, rates and goodput of what was answered
    then; ``records`` holds all.
    """

    scenario: Scenario
    finished: bool
    seconds: float  # simulated
    asked: int
    done: int
    refused: int  # longer than the cache or the model allows
    time_to_first_token: Distribution  # s
    time_per_output_token: Distribution  # s, (end to end - TTFT) / (output - 1)
    inter_token: Distribution  # s, gap between one token and the next; as certain as the requests are many
    end_to_end: Distribution  # s
    queue: Distribution  # s before the first step
    requests_per_second: float
    output_tokens_per_second: float
    goodput: float  # of these, requests a second that meet both targets
    meeting: float  # share of the requests that came after the warm-up that meet both targets
    meeting_first_token: float
    meeting_per_token: float
    stable: bool  # False: requests come faster than they are answered
    mean_waiting: float
    most_waiting: int
    mean_running: float
    most_running: int
    cache_mean: float  # share of blocks in use
    cache_most: float
    cache_full_seconds: float
    preemptions: int
    preempted: int  # requests
    swaps: int
    cached_share: float  # of the prompt tokens, found in the prefix cache
    busy: float  # share of the time that the replicas work
    reading_share: float  # of the busy time, in steps with prompts
    over: Over
    records: Records
    # Requests that rates and goodput are of: those whose answer ended after the warm-up; 0 in old files.
    answered: int = 0

    @property
    def good_share(self) -> float:
        """Share of the rate that is goodput: of what was answered, not of what came."""
        rate = self.requests_per_second
        return min(1.0, self.goodput / rate) if rate > 0 else 0.0


def summarise(
    scenario: Scenario,
    records: Records,
    replicas: Sequence[Replica],
    clock: float,
    refused: int,
    finished: bool,
) -> SimulationResult:
    """The result of a run as far as it has come."""
    arrival, first, finish = (np.array(c) for c in (records.arrival, records.first, records.finish))
    prompt, output = np.array(records.prompt, dtype=float), np.array(records.output, dtype=float)
    admitted, cached = np.array(records.admitted), np.array(records.cached, dtype=float)
    done = np.isfinite(finish)
    start, stop = _window(scenario, arrival, finish, clock, finished)
    counted = (arrival >= start) & (arrival <= stop)
    kept = done & counted
    ttft, total = (first - arrival)[kept], (finish - arrival)[kept]
    several = output[kept] > 1
    tpot = (finish - first)[kept][several] / (output[kept][several] - 1.0)
    good, good_first, good_each = _meets(scenario, first, finish, arrival, output, kept)
    # A trace that ends before its first answer is no load that goes on.
    burst = scenario.simulation.arrivals == "trace" and bool((finish[done] > stop).all())
    taken = np.array(records.replica) >= 0  # what is refused waits for nothing
    stable = (finished and burst) or settles(scenario, arrival[taken], admitted[taken], start, stop)
    since, until = (start, stop) if stable or not finished else _full(start, stop, admitted, finish)
    if finished and _brief(scenario, finish[done], since, until):
        since, until = float(arrival[0]), float(finish[done].max())
    length = max(until - since, 1e-12)
    ended = done & (finish > since) & (finish <= until)
    # Of the same requests as the throughput, so that it is never more.
    served, _, _ = _meets(scenario, first, finish, arrival, output, ended)
    over = _over(replicas, clock, admitted, prompt, cached)
    time = max(clock, 1e-12)
    busy = sum(r.busy_prompts + r.busy_decodes for r in replicas)
    reading = sum(r.busy_prompts for r in replicas)
    blocks = sum(r.pool.blocks for r in replicas if not r.hands_over)
    held = sum(r.timeline.held for r in replicas if not r.hands_over)
    counts = max(1, int(kept.sum()))
    full = over.cache >= 0.98
    return SimulationResult(
        scenario=scenario,
        finished=finished,
        seconds=clock,
        asked=len(arrival),
        done=int(done.sum()),
        refused=refused,
        time_to_first_token=distribution(ttft),
        time_per_output_token=distribution(tpot),
        inter_token=_gap_distribution(replicas, int(done.sum())),
        end_to_end=distribution(total),
        queue=distribution((admitted - arrival)[kept]),
        requests_per_second=float(ended.sum()) / length,
        output_tokens_per_second=_tokens_within(first, finish, output, done, since, until) / length,
        answered=int(ended.sum()),
        goodput=float(served.sum()) / length,
        meeting=float(good.sum()) / counts,
        meeting_first_token=float(good_first.sum()) / counts,
        meeting_per_token=float(good_each.sum()) / counts,
        stable=stable,
        mean_waiting=sum(r.timeline.queued for r in replicas) / time,
        most_waiting=_most(replicas, 1, over.waiting),
        mean_running=sum(r.timeline.served for r in replicas) / time,
        most_running=_most(replicas, 2, over.running),
        cache_mean=held / time / blocks if blocks else 0.0,
        cache_most=float(over.cache.max(initial=0)),
        cache_full_seconds=float((np.diff(over.time, append=clock) * full).sum()),
        preemptions=sum(len(r.preempted_at) for r in replicas),
        preempted=int((np.array(records.preempted) > 0).sum()),
        swaps=sum(r.swaps for r in replicas),
        cached_share=float(cached[kept].sum() / max(1.0, prompt[kept].sum())),
        busy=busy / time / len(replicas),
        reading_share=reading / busy if busy else 0.0,
        over=over,
        records=records,
    )


def _window(
    scenario: Scenario, arrival: FloatArray, finish: FloatArray, clock: float, finished: bool
) -> tuple[float, float]:
    """From the end of the warm-up to the last arrival: what comes later only empties the service.

    A warm-up lasts at least until all users are there, in a run that is long enough for that.
    """
    if not len(arrival):
        return 0.0, 0.0
    stop = float(arrival[-1]) if finished else clock
    start = float(arrival[0]) + scenario.simulation.warm_up * (stop - float(arrival[0]))
    there = full_from(scenario, arrival, finish)
    return (max(start, there) if there < stop else start), stop


def _brief(scenario: Scenario, ended: FloatArray, since: float, until: float) -> bool:
    """Whether a run is rated as a whole: none of its answers ended in the time that would be, or less than
    half of those of a trace, which is then over before its answers have begun to flow.
    """
    within = int(((ended > since) & (ended <= until)).sum())
    least = 0.5 * len(ended) if scenario.simulation.arrivals == "trace" else 1.0
    return len(ended) > 0 and within < least


def _full(start: float, stop: float, admitted: FloatArray, finish: FloatArray) -> tuple[float, float]:
    """While an overloaded service is full: from its first answer on, and long after the last arrival."""
    entered, ended = admitted[np.isfinite(admitted)], finish[np.isfinite(finish)]
    until = max(stop, float(entered.max(initial=stop)))
    first = float(ended.min(initial=until))
    return (max(start, first), until) if first < until else (start, until)


def _meets(
    scenario: Scenario,
    first: FloatArray,
    finish: FloatArray,
    arrival: FloatArray,
    output: FloatArray,
    kept: BoolArray,
) -> tuple[BoolArray, BoolArray, BoolArray]:
    targets = scenario.targets
    good_first = good_each = kept
    if targets.time_to_first_token_s is not None:
        good_first = kept & (first - arrival <= targets.time_to_first_token_s)
    if targets.time_per_output_token_ms is not None:
        each = (finish - first) / np.maximum(output - 1.0, 1.0)
        good_each = kept & (each <= 1e-3 * targets.time_per_output_token_ms)
    return good_first & good_each, good_first, good_each


def _tokens_within(
    first: FloatArray, finish: FloatArray, output: FloatArray, done: BoolArray, start: float, stop: float
) -> float:
    """Tokens put out between two times; those of an answer are spread evenly over its time."""
    begin, end, tokens = first[done], finish[done], output[done]
    length = end - begin
    inside = np.clip(np.minimum(end, stop) - np.maximum(begin, start), 0.0, None)
    shown = (begin >= start) & (begin <= stop)
    spread = np.where(length > 0, inside / np.where(length > 0, length, 1.0), 0.0)
    return float((shown + (tokens - 1.0) * spread).sum())


def settles(scenario: Scenario, arrival: FloatArray, admitted: FloatArray, start: float, stop: float) -> bool:
    """Whether the queue of requests that were taken in stops growing.

    It does when fewer wait at the end than chance brings together (the number of arrivals in a half of
    the time varies by about its root), or no more than in the middle.  Users never come faster than
    they are answered.
    """
    if scenario.workload.load == "users" and scenario.simulation.arrivals != "trace":
        return True
    entered = np.where(np.isnan(admitted), np.inf, admitted)

    def waiting(time: float) -> float:
        return float(((arrival <= time) & (entered > time)).sum())

    middle = 0.5 * (start + stop)
    came = float(((arrival > middle) & (arrival <= stop)).sum())
    queue = waiting(stop)
    return queue <= max(10.0, 4.0 * math.sqrt(came)) or queue <= 1.2 * waiting(middle)


def distribution(values: FloatArray) -> Distribution:
    """Mean and percentiles; confidence from the order statistics of as many independent values.

    rank = n q +- 1.96 sqrt(n q (1 - q)) with n reduced by the correlation of neighbours, since
    requests that meet the same queue are not independent.
    """
    values = values[np.isfinite(values)]
    n = len(values)
    if not n:
        nothing = Range(math.nan, math.nan, math.nan)
        return Distribution(0, math.nan, nothing, nothing, nothing, nothing)
    independent = n * _independence(values)
    ordered = np.sort(values)
    found = [_percentile(ordered, q, independent) for q in SHARES]
    return Distribution(n, float(values.mean()), *found)


def percentile(values: FloatArray, share: float) -> Range:
    """One percentile of values in the order of their requests, with confidence."""
    values = values[np.isfinite(values)]
    if not len(values):
        return Range(math.nan, math.nan, math.nan)
    return _percentile(np.sort(values), share, len(values) * _independence(values))


def _percentile(ordered: FloatArray, share: float, independent: float) -> Range:
    n = len(ordered)
    spread = _CONFIDENCE * math.sqrt(share * (1.0 - share) / max(independent, 1.0))
    low, high = max(0.0, share - spread), min(1.0, share + spread)
    three = np.quantile(ordered, (low, share, high)) if n > 1 else np.repeat(ordered, 3)
    return Range(*(float(v) for v in three))


def _independence(values: FloatArray) -> float:
    """Share of independent values among n correlated ones: (1 - r) / (1 + r), by ranks."""
    if len(values) < 8:
        return 1.0
    ranks = np.argsort(np.argsort(values)).astype(np.float64)
    ranks -= ranks.mean()
    energy = float(ranks @ ranks)
    if energy == 0.0:
        return 1.0
    r = min(max(float(ranks[1:] @ ranks[:-1]) / energy, 0.0), 0.999)
    return (1.0 - r) / (1.0 + r)


def _gap_distribution(replicas: Sequence[Replica], requests: int) -> Distribution:
    """Gaps of one request resemble each other, so the ranks are as certain as of ``requests`` values."""
    gaps = [r.gaps for r in replicas]
    spreads = [_CONFIDENCE * math.sqrt(q * (1.0 - q) / max(requests, 1)) for q in SHARES]
    low = gap_quantiles(gaps, tuple(max(0.0, q - d) for q, d in zip(SHARES, spreads, strict=True)))
    high = gap_quantiles(gaps, tuple(min(1.0, q + d) for q, d in zip(SHARES, spreads, strict=True)))
    three = zip(low, gap_quantiles(gaps, SHARES), high, strict=True)
    weights = [(math.exp(k / 200.0), n) for g in gaps for k, n in g.bins.items()]
    count = sum(n for _, n in weights)
    mean = sum(v * n for v, n in weights) / count if count else math.nan
    return Distribution(count, mean, *(Range(*values) for values in three))


def _over(
    replicas: Sequence[Replica],
    clock: float,
    admitted: FloatArray,
    prompt: FloatArray,
    cached: FloatArray,
) -> Over:
    """All replicas on common times."""
    preempted = np.sort(np.concatenate([np.array(r.preempted_at) for r in replicas]))

    def on(time: FloatArray, waiting: FloatArray, running: FloatArray, cache: FloatArray) -> Over:
        so_far = np.searchsorted(preempted, time, side="right").astype(np.float64)
        hits = _hits(time, clock, admitted, prompt, cached)
        return Over(time, waiting, running, cache, so_far, hits)

    columns = [r.timeline.columns() for r in replicas]
    blocks = float(sum(r.pool.blocks for r in replicas if not r.hands_over)) or 1.0
    if len(columns) == 1 and len(columns[0][0]) <= _POINTS:
        time, waiting, running, used = columns[0]
        return on(time, waiting, running, used / blocks)
    time = np.linspace(0.0, max(clock, 1e-9), _POINTS)
    shown = _busiest(columns, time)
    waiting, running, cache = np.zeros((3, _POINTS))
    for replica, (times, queued, served, used) in zip(replicas, columns, strict=True):
        if not len(times):
            continue
        waiting += _at(times, queued, shown)
        running += _at(times, served, shown)
        if not replica.hands_over:
            cache += _greatest(times, used, time)
    return on(time, waiting, running, cache / blocks)


def _busiest(columns: Sequence[tuple[FloatArray, ...]], time: FloatArray) -> FloatArray:
    """A moment of each interval that begins at ``time``, at which most requests are in one replica: a short
    peak is not lost, and what waits and what runs are of the same moment.
    """
    most, shown = np.full(len(time), -1.0), time.copy()
    for times, waiting, running, _ in columns:
        total, interval = waiting + running, np.searchsorted(time, times, side="right") - 1
        found = _greatest(times, total, time)
        better = found > most
        most = np.where(better, found, most)
        shown = np.where(better, time, shown)  # unless it comes within the interval
        peaks = np.flatnonzero(better[interval] & (total == found[interval]))[::-1]
        shown[interval[peaks]] = times[peaks]
    return shown


def _at(times: FloatArray, values: FloatArray, moments: FloatArray) -> FloatArray:
    """Values at moments; 0 before the first."""
    at = np.searchsorted(times, moments, side="right") - 1
    return np.asarray(np.where(at >= 0, values[np.maximum(at, 0)], 0.0))


def _most(replicas: Sequence[Replica], column: int, shown: FloatArray) -> int:
    """The most requests that wait (1) or run (2) at once, as shown or in a replica by itself."""
    return int(max(shown.max(initial=0), *(r.timeline.columns()[column].max(initial=0) for r in replicas)))


def _hits(
    time: FloatArray, clock: float, admitted: FloatArray, prompt: FloatArray, cached: FloatArray
) -> FloatArray:
    """Cached share of the prompts taken in during a stretch before each time; 0 where none was."""
    order = np.argsort(admitted)[: int(np.isfinite(admitted).sum())]
    times = admitted[order]
    sums = [np.concatenate([[0.0], np.cumsum(tokens[order])]) for tokens in (prompt, cached)]
    ends = np.searchsorted(times, time, side="right")
    begins = np.searchsorted(times, time - clock / _STRETCHES, side="left")
    read, found = (total[ends] - total[begins] for total in sums)
    return np.asarray(np.where(read > 0, found / np.maximum(read, 1.0), 0.0))


def _greatest(times: FloatArray, values: FloatArray, time: FloatArray) -> FloatArray:
    """The greatest value of each interval that begins at ``time``, what it begins with included."""
    if not len(times):
        return np.zeros(len(time))
    edges = np.searchsorted(times, time, side="left")
    ends = np.append(edges[1:], len(times))
    before = values[np.maximum(edges - 1, 0)] * (edges > 0)
    padded = np.append(values, 0.0)
    found = np.maximum.reduceat(padded, np.minimum(edges, len(values)))
    return np.asarray(np.maximum(before, np.where(ends > edges, found, 0.0)))
