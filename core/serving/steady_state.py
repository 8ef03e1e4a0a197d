"""What users feel in the long run, from the time of one step.

Closed loop: C users, each waits for an answer before the next question; those beyond what the
cache or the batch holds queue.  Open loop: requests arrive at a rate, whatever the service does.
Both take the life of a request from ``core.serving.lifecycle`` and work on arrays over the load.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.latency.calibrated import for_setup, in_use
from core.latency.efficiency import SERVER_ENGINES
from core.latency.factors import Factors
from core.latency.machine import hand_over_of
from core.latency.protocol import StepPlan
from core.latency.step import layout_of, plan_of
from core.latency.textbook import TextbookPlan, textbook_plan
from core.memory.build import plan_memory
from core.quantities import EXPECTED, HIGH, LOW, FloatArray
from core.serving.breakdown import engine_phases, textbook_phase
from core.serving.life import Lengths, Life
from core.serving.lifecycle import EVERY, Quantiles, live
from core.serving.limits import batch_limits, occupancy
from core.serving.load import LoadCurve, Phase
from core.serving.met import met, repeated
from core.serving.met_cells import waiting
from core.serving.policies import policy_of
from core.serving.textbook_load import textbook_closed, textbook_open
from core.spec.calibration import Calibration
from core.spec.scenario import Scenario

if TYPE_CHECKING:
    from core.serving.disaggregated import Pools

_NEVER_FULL = 8.0  # standard deviations
_SHORT = 6.0  # answers long; prompts twice as long are read anew as a whole or not at all
_FEW = 7.7  # prompts in the cache
_LOGISTIC = 1.702  # that makes a logistic curve a normal distribution, nearly


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """A scenario made ready for any load."""

    plan: StepPlan | TextbookPlan = field(repr=False)
    replicas: int  # groups of requests that never share a step: copies of the model, or of its attention
    lengths: Lengths
    max_num_seqs: float  # of one replica
    occupancy: float = 0.52  # share of its answer for which a running request holds room
    preempts: bool = False  # prompts come in that are given up when the cache is full, and read anew
    watermark: float = 0.0  # share of the cache that a prompt which comes in leaves free
    whole_prompts: bool = False  # a prompt comes in when all of it has room
    readers: int = 0  # copies beside ``replicas`` that only read prompts; 0: all do both
    hand_over: float = 0.0  # s, for one token of a prompt to go from a reader to a decoder

    @property
    def profile_name(self) -> str:
        """Which efficiency profile the times rest on; "textbook" for the plain formulas."""
        return "textbook" if isinstance(self.plan, TextbookPlan) else self.plan.profile_name


def prepare(
    scenario: Scenario, factors: Factors | None = None, calibration: Calibration | None = None
) -> Service:
    """All that does not depend on the load; the plan in it is cached by model, device and settings.

    ``factors`` replace the packaged ones of ``core.latency.factors``, ``calibration`` the one that the
    scenario names.
    """
    calibration = for_setup(calibration, scenario) if calibration is not None else in_use(scenario)
    work, engine, deployment = scenario.workload, scenario.engine, scenario.deployment
    seqs, budget = batch_limits(engine, scenario.accelerator)
    prefix = min(float(work.shared_prefix_tokens), work.prompt_tokens - 1.0)
    lengths = Lengths(work.prompt_tokens - prefix, prefix, float(work.output_tokens), budget)
    replicas = deployment.replicas
    if engine.name in SERVER_ENGINES:
        replicas *= layout_of(deployment).data_parallel
    plan = _plan(scenario, factors, calibration)
    apart = not isinstance(plan, TextbookPlan) and plan.overheads.separate_prompts
    policy = policy_of(scenario, apart)
    evicts = policy.admission in ("chunk", "prompt")
    held = occupancy(engine, evicts)
    preempts = evicts and not policy.swaps
    entire = policy.admission == "prompt"
    service = Service(plan, replicas, lengths, seqs, held, preempts, policy.watermark, whole_prompts=entire)
    if not deployment.readers or engine.name not in SERVER_ENGINES:
        return service
    link = hand_over_of(scenario.accelerator, deployment)
    each = plan_memory(scenario).demand.bytes_per_token() / link.bytes_per_second
    readers = deployment.readers * (replicas // deployment.replicas)
    return replace(service, readers=readers, hand_over=each)


def _pools(service: Service, kv_tokens: float | FloatArray) -> "Pools | None":
    """Both sides of a service that reads prompts apart; None of any other."""
    plan = service.plan
    if not service.readers or isinstance(plan, TextbookPlan):
        return None
    from core.serving.disaggregated import Pools  # few need it, so that it is not loaded at the start

    most = room(service, kv_tokens)
    return Pools(plan, service.readers, plan, service.replicas, most, service.hand_over, 1.0)


def _server_plan(scenario: Scenario, factors: Factors | None, calibration: Calibration | None) -> StepPlan:
    draft = scenario.speculative if scenario.speculative.kind != "none" else None
    return plan_of(
        scenario.model.architecture,
        scenario.accelerator,
        scenario.deployment,
        scenario.precision,
        scenario.engine,
        draft,
        factors,
        calibration,
    )


def _plan(
    scenario: Scenario, factors: Factors | None, calibration: Calibration | None
) -> StepPlan | TextbookPlan:
    """The plan by the rules of the scenario's engine."""
    if scenario.engine.name == "textbook":
        return textbook_plan(
            scenario.model.architecture, scenario.accelerator, scenario.deployment, scenario.precision
        )
    if scenario.engine.name in SERVER_ENGINES:
        return _server_plan(scenario, factors, calibration)
    # Half of the scenarios never need the rules of local engines.
    from core.latency.local import plan_of_scenario

    return plan_of_scenario(scenario, calibration)


def closed_loop(
    service: Service,
    users: FloatArray,
    kv_tokens: float | FloatArray,
    quantiles: Quantiles = EVERY,
) -> LoadCurve:
    """Speeds with ``users`` (n,), one or more each, in the system.

    ``kv_tokens`` is what the cache pools of all replicas hold together.  Where ``quantiles`` are but the
    expected one, it stands for the others.
    """
    users = np.asarray(users, dtype=np.float64).reshape(-1)
    limit, lengths = room(service, kv_tokens), service.lengths
    if isinstance(service.plan, TextbookPlan):
        prompt = lengths.prefix + lengths.prompt
        return textbook_closed(service.plan, users, service.replicas, limit, prompt, lengths.output)
    if (pools := _pools(service, kv_tokens)) is not None:
        from core.serving.disaggregated import curve_of_pools, disaggregated

        return curve_of_pools(pools, lengths, disaggregated(pools, lengths, users), users)
    here = np.maximum(users / service.replicas, 1.0)
    # With fewer users than replicas some replicas idle.
    busy = np.minimum(users, service.replicas)
    inside = np.minimum(here, limit)
    anew = read_anew(service, here, kv_tokens)
    lengths = replace(lengths, anew=anew) if np.ndim(anew) else lengths
    life = live(service.plan, lengths, inside, True, None, quantiles)
    queue = (here / inside - 1.0) * life.total
    rate = busy * inside / life.total
    return curve_of(service, users, busy * inside * life.share, life, queue, rate, np.ones_like(users))


def read_anew(service: Service, here: FloatArray, kv_tokens: float | FloatArray) -> FloatArray | float:
    """Tokens read anew for each request, ``here`` (n,) of a replica, while the cache is full and more
    prompts may come in than stay.

    Prompts take all that an answer which ends gives back, but for the headroom h: what decodes take in
    the same step, or the watermark.  What is free then goes up by a whole request L and down by tokens,
    between nothing, where requests are thrown out, and h, where prompts come in.  Without headroom that
    is as many tokens as an answer O has; a walk without drift meets the end of a wide strip L^2 / 2h
    times: between both, O / (1 + 2 O h / L^2).

    The share of the time that it is full: sizes are spread evenly between the prompt and the whole, so
    their sum is spread by sqrt(n / 12) answers.
    """
    if not service.preempts:
        return 0.0
    lengths = service.lengths
    held = _cache_room(service, kv_tokens)
    spread = np.sqrt(held / 12.0) * lengths.output / (lengths.prompt + 0.5 * lengths.output)
    left = (held - here) / spread
    if left.min() > _NEVER_FULL:
        return 0.0
    full = 1.0 / (1.0 + np.exp(np.clip(_LOGISTIC * left, -50.0, 50.0)))
    full = np.where(left > _NEVER_FULL, 0.0, full)
    more = np.clip((service.max_num_seqs - held) * lengths.prompt, 0.0, lengths.output)
    pool = kv_tokens / service.replicas
    headroom = service.watermark * pool if service.watermark else np.minimum(here, held)
    whole = (lengths.prompt + lengths.output) ** 2 + (lengths.spread * lengths.output) ** 2
    share = 1.0 / (1.0 + 2.0 * lengths.output * headroom / whole)
    if service.whole_prompts:
        own = pool - lengths.prefix
        more = _at_the_brim(own, lengths.prompt, lengths.output, service.max_num_seqs, more)
    return np.asarray(full * more * share)


def _at_the_brim(pool: Any, prompt: Any, answer: Any, most: Any, evenly: Any) -> Any:
    """Tokens read anew where a prompt comes in as a whole and is long beside an answer.

    N prompts P that fill the pool nearly to the brim x = pool - N P leave too little for their answers O:
    one of them comes in again and again, and is thrown out.  Where x is far from (N - 1/2) O / 2, what
    answers hold when all ages meet, none is.  On average over x it is an answer's tokens, ``evenly``, as
    many as short prompts read anew.  Width and height of the hump are those of simulations with 5 to 73
    prompts; ``most``: sequences at once.
    """
    ratio = np.clip(prompt / answer / _SHORT - 1.0, 0.0, 1.0)
    if np.max(ratio) <= 0.0:
        return evenly
    thrown = 0.0
    for fewer in range(3):
        held = np.maximum(np.floor(pool / prompt) - fewer, 1.0)
        root = np.sqrt(held)
        low, high = 1.0 + 0.45 * root, 0.3 + 0.4 * root
        off = (pool - held * prompt) / answer - 0.5 * (held - 0.5)
        beside = (off + 0.5 * (low - high)) / (0.5 * (low + high))
        height = 1.5 * np.clip(_FEW / held, 0.5, 1.0) / (low + high)
        thrown = thrown + np.where(held <= most, height, 0.0) * np.maximum(0.0, 1.0 - beside**2)
    return (1.0 - ratio) * evenly + ratio * prompt * np.minimum(thrown, 1.0)


def open_loop(
    service: Service,
    request_rate: FloatArray,
    kv_tokens: float | FloatArray,
    quantiles: Quantiles = EVERY,
) -> LoadCurve:
    """Speeds at ``request_rate`` (n,) requests per second over all replicas.

    ``kv_tokens`` and the lengths may differ from point to point, (n,).  Where ``quantiles`` are but the
    expected one, it stands for the others.

    Where requests arrive faster than they are answered, ``stable`` is 0, ``users`` and the time to
    the first token are inf, and the other values are those of the full engine.
    """
    rate = np.asarray(request_rate, dtype=np.float64).reshape(-1)
    limit, lengths = room(service, kv_tokens), service.lengths
    if isinstance(service.plan, TextbookPlan):
        prompt = lengths.prefix + lengths.prompt
        return textbook_open(service.plan, rate, service.replicas, limit, prompt, lengths.output)
    if (pools := _pools(service, kv_tokens)) is not None:
        from core.serving.disaggregated import curve_of_pools, disaggregated_open

        return curve_of_pools(pools, lengths, disaggregated_open(pools, lengths, rate), None)
    n, here = len(rate), rate / service.replicas
    found = met(service.plan, lengths, here, limit, quantiles)
    others, each = np.minimum(found.seen + 1.0, limit).reshape(-1), len(quantiles)
    life = live(service.plan, repeated(lengths, each, n), others, False, found.near, quantiles)
    if each > 1:
        life = _own_quantile(life, n)
    load = here / found.ceiling
    waits = np.minimum(load, 1 - 1e-9)
    queue = life.total * waiting(waits, limit)
    over = load >= 1.0
    queue[over] = np.inf
    stable = ~over[quantiles.index(EXPECTED)]
    users = np.where(stable, rate * (life.total + queue)[quantiles.index(EXPECTED)], np.inf)
    served = service.replicas * np.where(over, found.ceiling, here)
    # Two roads to the same number: nobody decodes who is not in the system.
    running = np.minimum(service.replicas * found.seen * life.share, rate * (life.total + queue))
    return curve_of(
        service,
        users,
        running,
        life,
        queue,
        served,
        stable.astype(np.float64),
    )


def phases(service: Service, running: float) -> tuple[Phase, Phase]:
    """One step of each phase, prefill then decode, at ``running`` decoding requests over all replicas."""
    lengths = service.lengths
    here = max(running / service.replicas, 1.0)
    if not isinstance(service.plan, TextbookPlan):
        here = max(here / service.plan.stages, 1.0)
    if isinstance(service.plan, TextbookPlan):
        prompt = lengths.prefix + lengths.prompt
        return textbook_phase(service.plan, 0.0, prompt), textbook_phase(service.plan, here, 0.0)
    chunk = float(lengths.chunk(0.0 if service.readers else here))
    before = lengths.prefix + 0.5 * (lengths.prompt - chunk)
    prefill, decode = engine_phases(
        service.plan, (0.0, 0.0, chunk, before), (here, lengths.mean_context, 0.0, 0.0)
    )
    return prefill, decode


def room(service: Service, kv_tokens: Any) -> Any:
    """Requests that one replica holds at a time; a number or an array (n,), as ``kv_tokens`` is."""
    return np.minimum(service.max_num_seqs, _cache_room(service, kv_tokens))


def _cache_room(service: Service, kv_tokens: Any) -> Any:
    """Requests that its cache holds, one at least."""
    lengths = service.lengths
    pool = np.maximum(0.0, kv_tokens / service.replicas - lengths.prefix)
    held = lengths.prompt + service.occupancy * lengths.output * (1.0 + lengths.spread**2)
    return np.maximum(1.0, pool / held)


def _own_quantile(life: Life, n: int) -> Life:
    """Of a life solved for three loads of n points, each load's own quantile: (3, 3 n) to (3, n)."""

    def own(values: FloatArray) -> FloatArray:
        if values.ndim == 1:
            return values.reshape(3, n)
        return values.reshape(3, 3, n).diagonal().T

    return Life(
        own(life.share),
        own(life.base),
        own(life.own),
        own(life.others),
        own(life.per_token),
        own(life.total),
        own(life.prefill_share),
        life.terms.part(slice(n, 2 * n)),
    )


def _rising(times: FloatArray) -> FloatArray:
    """Times (3 or 1, n) whose first row is not above the second, nor the last below it.

    Each row is solved for a load of its own, in few steps: where they lie close they may cross.
    """
    if len(times) > 1:
        times = times.copy()
        np.minimum(times[LOW], times[EXPECTED], out=times[LOW])
        np.maximum(times[HIGH], times[EXPECTED], out=times[HIGH])
    return times


def _falling(rates: FloatArray) -> FloatArray:
    """The same of throughputs, which fall."""
    return _rising(rates[::-1])[::-1]


def curve_of(
    service: Service,
    users: FloatArray,
    running: FloatArray,
    life: Life,
    queue: FloatArray,
    requests: FloatArray,
    stable: FloatArray,
) -> LoadCurve:
    """The load curve of lives with a queue before them."""
    requests = _falling(requests)

    def every(values: FloatArray) -> FloatArray:
        shape = (3, values.shape[-1])
        return values if values.shape == shape else np.broadcast_to(values, shape)

    return LoadCurve(
        users=users,
        running=every(running),
        time_to_first_token=every(_rising(queue + life.base + life.own + life.others)),
        queue_seconds=every(queue),
        prefill_seconds=every(life.own),
        other_prefills_seconds=every(life.others),
        base_seconds=every(life.base),
        transfer_seconds=np.zeros((3, len(users))),
        time_per_output_token=every(_rising(life.per_token)),
        output_tokens_per_second=every(requests * service.lengths.output),
        requests_per_second=every(requests),
        prefill_share=every(life.prefill_share),
        stable=stable,
        terms=life.terms,
    )
