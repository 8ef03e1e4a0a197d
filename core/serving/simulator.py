"""A service over time: requests come, wait, are read and answered, by the rules of the engine's scheduler.

Discrete events on the step-time function of the steady state.  Beside the steps a request spends the
server's own time, between its prompt and its answer (``core.serving.lifecycle``: base, and what other
waiting requests cost), so that both meet where both apply.  Nothing is random but the seeded streams of
``core.serving.source``: the same scenario and seed give the same bytes.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from core.errors import InvalidScenario, Problem
from core.latency.textbook import TextbookPlan
from core.memory.build import build_ledger
from core.memory.capacity import at_least, capacity, starts
from core.pauses import pause
from core.quantities import EXPECTED
from core.serving.cache_pool import cache_pool, endless
from core.serving.load import LoadCurve
from core.serving.policies import STATIC_ENGINES, Settings, policy_of
from core.serving.replica import NEVER, Replica
from core.serving.requests import Active, Records
from core.serving.results import SimulationResult, summarise
from core.serving.routing import Router
from core.serving.source import Asked, Source
from core.serving.static_batches import StaticReplica
from core.serving.steady_state import Service, closed_loop, prepare
from core.serving.step_table import StepTable
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import counted

_MOST_SEQUENCES = 4096  # of one replica, where the engine sets no limit
_MOST_BUDGET = 10**7
_ALIKE, _KNOWN = 128, 20_000  # tokens of context that count alike; prompts whose time is kept
_PORTION = 2000  # events between two reports of progress
_UNWATCHED = 100  # events between two pauses of a run that nobody watches


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    share: float  # 0 to 1
    clock: float  # s of simulated time
    asked: int  # requests so far
    done: int  # of them answered
    whole: int = 0  # requests that will have come in the end, where that is known


class Run:
    """One simulation.  ``steps`` carries it on, ``result`` says what is known so far.

    Leaving the iterator cancels the run.  Raises InvalidScenario with ``simulate.does_not_start`` for
    a service that has no room for a request, ``simulate.not_all_at_once`` for one that takes all of its
    users at once and has no room for them.
    """

    def __init__(self, scenario: Scenario, trace: Trace | None = None, quantile: int = EXPECTED) -> None:
        traced = trace is not None and scenario.simulation.arrivals == "trace"
        if traced or not scenario.simulation.prefix_caching:
            # A trace holds whole prompts; what they share is in its own columns.  Without prefix caching
            # what all prompts begin with is read for each.
            scenario = with_values(scenario, {"workload.shared_prefix_tokens": 0})
        if not starts(scenario):
            raise InvalidScenario(_no_start(scenario))
        self.scenario, self.trace = scenario, trace
        self.records = Records()
        service = prepare(scenario)
        self._build(service, quantile)
        self._router = Router(scenario.simulation.routing, self._first_stop)
        steady = self._steady(service)
        self._source = Source(scenario, trace, _life(steady, scenario))
        self._server = _server(service, None if self._source.from_trace else steady)
        self._limit = math.inf if scenario.engine.name == "textbook" else scenario.engine.longest_request
        self.clock = 0.0
        self.done = self.refused = 0
        self.finished = False
        self._events: list[tuple[float, int, Asked | tuple[Active, Replica]]] = []
        self._order = 0
        self._own_times: dict[tuple[int, int, int], tuple[float, float, float]] = {}

    # -- building ----------------------------------------------------------------------------------

    def _build(self, service: Service, quantile: int) -> None:
        scenario, settings = self.scenario, self.scenario.simulation
        pool = cache_pool(scenario)
        static = scenario.engine.name in STATIC_ENGINES
        most = min(float(settings.static_batch) if static else service.max_num_seqs, _MOST_SEQUENCES)
        if pool.slots is not None:
            most = min(most, pool.slots)
        budget = int(min(service.lengths.token_budget, _MOST_BUDGET))
        longest = float(scenario.engine.longest_request)
        if scenario.engine.name == "textbook":
            longest = 4.0 * scenario.workload.tokens_per_request
        table = StepTable(service.plan, int(most), longest, float(budget), quantile)
        apart = not isinstance(service.plan, TextbookPlan) and service.plan.overheads.separate_prompts
        policy = policy_of(scenario, apart)
        self._static = policy.static
        verified = 1 + scenario.speculative.tokens if scenario.speculative.kind != "none" else 1
        link = (scenario.accelerator.pcie.gbps_per_direction or 16.0) * 1e9
        host = int(settings.swap_space_gib * 2**30 / pool.block_bytes) if policy.swaps else 0
        readers = self._readers(service)
        common = Settings(
            policy=policy,
            most=int(most),
            budget=budget,
            prefix=min(scenario.workload.shared_prefix_tokens, scenario.workload.prompt_tokens - 1),
            verified=verified,
            swap_blocks=host,
            swap_seconds=pool.block_bytes / link,
            batch_wait=settings.batch_wait_s,
        )
        kind = StaticReplica if policy.static else Replica

        def replica(number: int, reads_only: bool) -> Replica:
            room = endless(scenario) if reads_only else pool
            return kind(number, table, room, common, self.records, reads_only)

        self.replicas = [replica(n, n < readers) for n in range(readers + service.replicas)]
        self._first_stop = self.replicas[:readers] if readers else self.replicas
        self._decoders = self.replicas[readers:]
        self._transfer = service.hand_over

    def _readers(self, service: Service) -> int:
        """Replicas that only read prompts; each copy of the attention counts, as in the service."""
        place = self.scenario.deployment
        return place.readers * (service.replicas // place.replicas)

    def _steady(self, service: Service) -> LoadCurve | None:
        """The steady state of users; None for an arrival rate."""
        work = self.scenario.workload
        if work.load != "users":
            return None
        tokens = capacity(self.scenario, build_ledger(self.scenario, 1.0)).kv_tokens
        return closed_loop(service, np.array([float(work.users)]), tokens)

    # -- running -----------------------------------------------------------------------------------

    def steps(self, portion: int = _PORTION) -> Iterator[Progress]:
        """Carry the run on, ``portion`` events at a time, to its end."""
        settings = self.scenario.simulation
        most = settings.requests or 10**12
        last = NEVER if self._source.from_trace else settings.duration_s
        opening = self._source.opening()
        coming = next(opening, None)
        events, count = self._events, 0
        replicas, single = self.replicas, self.replicas[0]
        several = len(replicas) > 1
        while True:
            at = coming.time if coming is not None else NEVER
            if at > last or len(self.records) >= most:
                coming, at = None, NEVER
            event = events[0][0] if events else NEVER
            replica = min(replicas, key=_end) if several else single
            end = replica.end
            if end <= event and end <= at:
                if end == NEVER:
                    break
                self.clock = end
                for active in replica.advance():
                    self._ended(active, replica, end)
            elif event <= at:
                _, _, what = heappop(events)
                self.clock = event
                if isinstance(what, Asked):
                    if event <= last and len(self.records) < most:
                        self._ask(what)
                else:
                    what[1].arrive(what[0], event)
            elif coming is not None:
                self.clock = at
                self._ask(coming)
                coming = next(opening, None)
            count += 1
            if count % portion == 0:
                yield self._progress(last, most)
        self.finished = True
        yield self._progress(last, most)

    def _progress(self, last: float, most: int) -> Progress:
        asked, whole = len(self.records), 0
        if self._source.from_trace and self.trace is not None:
            whole = min(most, len(self.trace))
        if self.finished:
            share = 1.0
        elif whole:
            share = (self.done + self.refused) / whole
        else:
            by_count = (self.done + self.refused) / min(most, 10**12)
            by_time = min(1.0, self.clock / last) * (self.done + self.refused) / max(1, asked)
            share = max(by_count, by_time)
        return Progress(min(1.0, share), self.clock, asked, self.done, whole)

    def _push(self, time: float, what: Asked | tuple[Active, Replica]) -> None:
        self._order += 1
        heappush(self._events, (time, self._order, what))

    def _ask(self, asked: Asked) -> None:
        """A request is sent."""
        index = self.records.add(asked.time, asked.prompt, asked.output)
        replica = self._router.choose(asked.chain, asked.own)
        active = Active(index, asked.prompt, asked.output)
        active.chain, active.own, active.user = asked.chain, asked.own, asked.user
        fits = all(r.fits(asked.prompt, asked.output) for r in (replica, self._decoders[0]))
        if not fits or asked.prompt + asked.output > self._limit:
            self.refused += 1
            return
        self.records.replica[index] = replica.number
        server, inside = self._server, replica.inside
        if server is None:
            replica.approaching += 1
            replica.arrive(active, asked.time)
            return
        own, lag, work = self._own(replica, asked.prompt, asked.output > 1)
        way = server.base + server.own * work + lag
        if server.inside:
            way += server.each * min(inside, server.inside)
            # In an engine that is not full yet there are fewer to collide with.
            active.collides = server.half_step + server.collide * min(1.0, inside / server.inside)
            active.crowded, active.alone = server.crowded, own
        else:
            waiting = len(replica.waiting) + len(replica.reading) + replica.approaching
            way += server.each * min(waiting, len(replica.running))
        replica.approach(asked.time)
        if self._static:
            self._push(asked.time + way, (active, replica))
            return
        active.way = way
        replica.arrive(active, asked.time)

    def _own(self, replica: Replica, prompt: int, answers: bool) -> tuple[float, float, float]:
        """Seconds of the steps that carry a prompt, without what else is in the queue; what its last
        step still takes in later pipeline stages when the others go on (the way comes before the queue
        here, which changes no sum); and the first beyond steps that only decode.
        """
        prefix, budget, table = replica.settings.prefix, replica.settings.budget, replica.table
        left = max(1, prompt - prefix)
        chunk = min(left, budget)
        n = replica.decoding.n if replica.mixes else 0
        key = prompt, n, int(replica.mean_context) // _ALIKE if n else -int(answers)
        found = self._own_times.get(key)
        if found is None:
            context, depth = (key[2] + 0.5) * _ALIKE if n else 0.0, prefix + 0.5 * left
            lag = table.lag(n, context, chunk, depth) if table.stages > 1 else 0.0
            own = left / chunk * table.mixed(n, context, chunk, depth)
            least = 1 if answers and replica.mixes else 0
            beside = left / chunk * table.decode(max(n, least), context) if n or least else 0.0
            found = own, lag, max(0.0, own - beside)
            if len(self._own_times) < _KNOWN:
                self._own_times[key] = found
        return found

    def _ended(self, active: Active, replica: Replica, now: float) -> None:
        records, index = self.records, active.index
        if replica.hands_over and active.made < active.output:
            target = min(self._decoders, key=lambda r: (r.inside, r.number))
            moved = Active(index, active.prompt, active.output)
            moved.made, moved.ready, moved.user = active.made, True, active.user
            records.replica[index] = target.number
            target.approach(now)
            self._push(now + active.way + active.prompt * self._transfer, (moved, target))
            return
        self.done += 1
        if active.user >= 0:
            asked = self._source.following(active.user, records.finish[index])
            if asked is not None:
                self._push(asked.time, asked)

    # -- results -----------------------------------------------------------------------------------

    def result(self) -> SimulationResult:
        """What is known so far; of a finished run everything."""
        return summarise(self.scenario, self.records, self.replicas, self.clock, self.refused, self.finished)


@dataclass(frozen=True, slots=True)
class _Server:
    """The server's own time; the terms are those of ``core.serving.lifecycle``."""

    base: float  # s
    own: float  # of the time of the own prompt
    each: float  # s for each other request: of users each, of a stream one that waits at the moment
    inside: float = 0.0  # users: others that count at most; 0: those that wait at the moment
    collide: float = 0.0  # s by which users who start together wait for each other's prompts
    half_step: float = 0.0  # s of the step that runs when it comes
    crowded: bool = False  # users wait for room besides


def _no_start(scenario: Scenario) -> Problem:
    """Why the service does not come up."""
    users = at_least(scenario)
    if users == 1:
        return Problem("simulate.does_not_start", ("deployment.accelerators",))
    return Problem("simulate.not_all_at_once", ("workload.users",), {"users": counted("units.users", users)})


def _server(service: Service, steady: LoadCurve | None) -> _Server | None:
    """None by the textbook rules, which know no server.

    In a schedule users soon keep out of each other's way; as they are measured, they collide.  A request
    that has waited less shows its first token that much later, and has its last one when it would have:
    what is read before one's own prompt is not read beside one's answer.
    """
    plan = service.plan
    if isinstance(plan, TextbookPlan):
        return None
    over, kind = plan.overheads, plan.kind
    base, each = 1e-3 * over.alone_ms[kind], 1e-3 * over.waiting_request_ms[kind]
    own = 0.0 if service.readers else over.own_prefill - 1.0
    terms = None if steady is None else steady.terms
    if terms is None:
        return _Server(base, own, each)
    others = max(float(terms.inside[0]) - 1.0, 1e-9)
    collide, half = over.burst * others * float(terms.added[0]), 0.5 * float(terms.step[0])
    crowded = bool(steady is not None and steady.queue_seconds[EXPECTED, 0] > 0.0)
    return _Server(float(terms.server[0]), own, float(terms.wait[0]), others, collide, half, crowded)


def _life(steady: LoadCurve | None, scenario: Scenario) -> float:
    """Seconds that a request stays: users begin anywhere within one such time."""
    if steady is None:
        return 1.0
    first, each = steady.time_to_first_token[EXPECTED, 0], steady.time_per_output_token[EXPECTED, 0]
    return float(first + max(0, scenario.workload.output_tokens - 1) * each)


def _end(replica: Replica) -> float:
    return replica.end


def simulate(
    scenario: Scenario,
    trace: Trace | None = None,
    progress: Callable[[Progress], bool] | None = None,
    quantile: int = EXPECTED,
) -> SimulationResult:
    """Run to the end.  ``progress`` is told now and then and returns False to stop early."""
    run = Run(scenario, trace, quantile)
    for state in run.steps(_UNWATCHED if progress is None else _PORTION):
        if progress is not None and not progress(state):
            break
        pause()
    return run.result()
