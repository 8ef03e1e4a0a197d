"""Ceilings that follow from a ledger, and the smallest change that makes a scenario fit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from core.errors import InvalidScenario
from core.memory.build import plan_memory
from core.memory.ledger import Ledger
from core.memory.plan import MemoryPlan
from core.quantities import FloatArray
from core.spec.architecture import MixtureOfExperts
from core.spec.change import with_values
from core.spec.checks import CACHE_FORMATS_OF, check, heads_divide
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

LONGEST = 10**9  # tokens, the largest length a scenario may have
_MOST_DEVICES, _MOST_SHARING = 4096, 1024  # what a deployment may have, in all and in one group


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the cache pool of all replicas holds, whole numbers."""

    kv_bytes_per_token: int  # of one device, unbounded layers only: the growth at long context
    kv_tokens: int  # tokens the pool holds at the scenario's request length
    max_users: int  # at the scenario's request length
    max_users_at_model_length: int  # each as long as a request may be
    # Tokens that a request may have with the scenario's users, as many as run at once; of arrivals alone.
    max_length: int
    max_running: int | None = None  # requests the scheduler runs at once; None: as many as fit

    @property
    def at_once(self) -> int:
        """Requests served at once, each at its full length: what memory and scheduler allow."""
        return self.max_users if self.max_running is None else min(self.max_users, self.max_running)


@dataclass(frozen=True, slots=True)
class Change:
    """One field set to another value, by dotted path."""

    path: str
    value: object


def capacity(scenario: Scenario, ledger: Ledger) -> Capacity:
    """The ceilings of a scenario.  ``ledger`` is its ledger and decides the pool.

    ``kv_tokens`` and ``max_users_at_model_length`` leave a common prefix out, as an engine's log does;
    the latter counts what the engine reserves for a request.  ``max_users`` counts the prefix once.
    """
    plan, work = plan_memory(scenario), scenario.workload
    reserved = plan.demand.reserved_bytes(scenario.engine.longest_request, plan.batched_tokens)
    return Capacity(
        kv_bytes_per_token=plan.demand.bytes_per_token(),
        kv_tokens=plan.kv_tokens(work.tokens_per_request),
        max_users=plan.most_users(work.tokens_per_request, work.shared_prefix_tokens),
        max_users_at_model_length=plan.replicas
        * plan.copies
        * (ledger.kv_pool_bytes // reserved if reserved else plan.free_users),
        max_length=longest(plan, plan.counted(users_meant(scenario)), work.shared_prefix_tokens),
        max_running=plan.most_running(),
    )


def users_meant(scenario: Scenario) -> int:
    """The users that a length is shared with: arrivals have none, whatever the other load's field holds."""
    return scenario.workload.users if scenario.workload.load == "users" else 1


def longest(plan: MemoryPlan, users: int, prefix: int) -> int:
    """Tokens that each of ``users`` requests may have; 0 when not even one fits."""
    if prefix == 0 and plan.demand.is_plain and plan.demand.bytes_per_token():
        found = plan.demand.tokens_in(plan.pool // max(1, plan.users_on_one(users)), 1)
    else:
        room = plan.budget - sum(plan.fixed.values())
        found = _last(lambda tokens: plan.cache_bytes(users, tokens, min(prefix, tokens)) <= room)
    return min(LONGEST if plan.slot_tokens is None else plan.slot_tokens, found)


def longest_reserved(plan: MemoryPlan) -> int:
    """The largest max_model_len of which the engine can reserve one request; 0 when there is none."""
    room = plan.budget - sum(plan.fixed.values())
    return _last(lambda tokens: plan.demand.reserved_bytes(tokens, plan.batched_tokens) <= room)


def _last(fits: Callable[[int], bool]) -> int:
    """The largest number of tokens that fits, by bisection; all shorter lengths fit too."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= LONGEST and fits(high):
        low, high = high, high * 2
    if high > LONGEST:
        return LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def printed_concurrency(scenario: Scenario, ledger: Ledger) -> float:
    """The "Maximum concurrency for … tokens per request" that vLLM prints for one replica.

    Whole blocks of the pool over the blocks that are reserved for a request of max_model_len.
    Times max_model_len it is the printed "GPU KV cache size".
    """
    plan = plan_memory(scenario)
    reserved = plan.demand.reserved_bytes(scenario.engine.max_model_len, plan.batched_tokens)
    return plan.demand.whole_pages(ledger.kv_pool_bytes) / reserved if reserved else 0.0


def memory_over_users(scenario: Scenario, users: Any, tokens_per_request: Any) -> FloatArray:
    """Bytes that one device needs for ``users`` requests of ``tokens_per_request``; the two broadcast.

    Equals ``needed_bytes`` of the ledger at the scenario's own point.
    """
    prefix = scenario.workload.shared_prefix_tokens
    return plan_memory(scenario).needed_over(users, tokens_per_request, prefix)


def places(scenario: Scenario) -> float:
    """Requests for which the engine keeps a place in memory, a slot each; inf where it keeps none."""
    return plan_memory(scenario).places


def smallest_changes(scenario: Scenario) -> tuple[tuple[Change, ...], ...]:
    """For each kind of change the smallest that makes the scenario fit; kinds that cannot are left out.

    From mild to costly: a shorter maximum length, fewer users, a shorter prompt, an 8-bit cache, 8- or
    4-bit weights, more devices of the same kind that share the model.  Empty when it fits already.
    """
    if starts(scenario):
        return ()
    found = (kind(scenario) for kind in _KINDS)
    return tuple(changes for changes in found if changes)


def smallest_change_that_fits(scenario: Scenario) -> tuple[Change, ...] | None:
    """The mildest change by itself; None when it fits already or no single change is enough.

    Less load comes first; when the weights alone exceed the budget no load helps, so narrower weights
    and then more devices remain.
    """
    return next(iter(smallest_changes(scenario)), None)


def _fits(scenario: Scenario, changes: tuple[Change, ...]) -> bool:
    try:
        changed = with_values(scenario, {c.path: c.value for c in changes})
    except InvalidScenario:
        return False
    if any(p.severity == "error" for p in check(changed)):
        return False
    return starts(changed)


def queues(scenario: Scenario) -> bool:
    """Whether requests beyond the cache wait (continuous batching) instead of failing (one static batch)."""
    return scenario.engine.name != "textbook"


def at_least(scenario: Scenario) -> int:
    """Requests that need room at once for the service to come up: every user of a static batch.

    Of arrivals nobody knows how many meet: one.
    """
    work = scenario.workload
    return 1 if queues(scenario) or work.load == "requests" else work.users


def starts(scenario: Scenario) -> bool:
    """Whether the service comes up.

    An engine that queues needs room for one request of the workload and, where it asks for that at its
    start, one of max_model_len; a static batch needs room for all requests at once.
    """
    plan = plan_memory(scenario)
    if not _load_fits(scenario, plan):
        return False
    if not refuses_long(scenario):
        return True
    return plan.demand.reserved_bytes(scenario.engine.longest_request, plan.batched_tokens) <= plan.pool


def _load_fits(scenario: Scenario, plan: MemoryPlan) -> bool:
    work = scenario.workload
    cache = plan.cache_bytes(at_least(scenario), work.tokens_per_request, work.shared_prefix_tokens)
    return cache + sum(plan.fixed.values()) <= plan.budget


def refuses_long(scenario: Scenario) -> bool:
    """Whether the engine does not start where one request of max_model_len exceeds its pool.

    SGLang starts and turns away what exceeds its pool (scheduler.py, max_req_len); MLX, Transformers and
    the plain formulas reserve nothing.
    """
    return scenario.engine.name not in ("sglang", "mlx", "transformers", "textbook")


def _first_that_fits(scenario: Scenario, candidates: Iterator[tuple[Change, ...]]) -> tuple[Change, ...]:
    return next((changes for changes in candidates if _fits(scenario, changes)), ())


def length_that_starts(scenario: Scenario) -> int:
    """A round max_model_len with which the engine starts, no longer than the model's context; 0 without one.

    Nothing where the requests of the workload themselves have no room, or the length is not what is short.
    """
    plan = plan_memory(scenario)
    if not queues(scenario) or not _load_fits(scenario, plan):
        return 0
    most = min(longest_reserved(plan), scenario.model.max_context or LONGEST)
    length = most // 1024 * 1024 if most >= 2048 else most
    return length if scenario.workload.tokens_per_request <= length < scenario.engine.max_model_len else 0


def _shorter_length(scenario: Scenario) -> tuple[Change, ...]:
    length = length_that_starts(scenario)
    return _first_that_fits(scenario, iter([(Change("engine.max_model_len", length),)] if length else []))


def _fewer_users(scenario: Scenario) -> tuple[Change, ...]:
    work = scenario.workload
    most = plan_memory(scenario).most_users(work.tokens_per_request, work.shared_prefix_tokens)
    if work.load != "users" or queues(scenario) or not 1 <= most < work.users:
        return ()
    return _first_that_fits(scenario, iter([(Change("workload.users", most),)]))


def _shorter_prompt(scenario: Scenario) -> tuple[Change, ...]:
    work = scenario.workload
    length = longest(plan_memory(scenario), at_least(scenario), work.shared_prefix_tokens)
    prompt = min(length - work.output_tokens, work.prompt_tokens - 1)

    def fits(tokens: int) -> bool:
        return tokens < work.prompt_tokens and _fits(scenario, (Change("workload.prompt_tokens", tokens),))

    # Where what a prompt needs on the way grows with it, there may be room for a longer one.
    if prompt < 1 or not fits(prompt) or fits(prompt + 1):
        prompt = _last(fits)
    return (Change("workload.prompt_tokens", prompt),) if prompt else ()


def _cache_8_bit(scenario: Scenario) -> tuple[Change, ...]:
    narrow = cache_8_bit(scenario)
    return _first_that_fits(scenario, iter([(Change("precision.kv_cache", narrow),)])) if narrow else ()


def narrower_weights(scenario: Scenario) -> tuple[str, ...]:
    """Weight formats with fewer bits than the scenario's that its engine and device take, wide to narrow."""
    bits = WEIGHT_FORMATS[scenario.precision.weights].bits
    formats = _NARROWER.get(scenario.engine.name)
    if formats is None:
        peak = scenario.accelerator.peak_tflops
        formats = ("fp8" if peak.fp8 else "w8a8" if peak.int8 else "w8a16", "awq_g128")
    return tuple(f for f in formats if WEIGHT_FORMATS[f].bits < bits)


def cache_8_bit(scenario: Scenario) -> str | None:
    """The 8-bit cache format of the engine; None where it has none or the cache is no wider."""
    if CACHE_FORMATS[scenario.precision.kv_cache].bits <= CACHE_FORMATS["q8_0"].bits:
        return None
    allowed = CACHE_FORMATS_OF.get(scenario.engine.name, ("int8",))
    return next((f for f in ("fp8", "int8", "q8_0") if f in allowed), None)


def _narrower_weights(scenario: Scenario) -> tuple[Change, ...]:
    formats = narrower_weights(scenario)
    return _first_that_fits(scenario, ((Change("precision.weights", f),) for f in formats))


# From wide to narrow; servers take what the device computes with.
_NARROWER: dict[str, tuple[str, ...]] = {
    "textbook": ("int8", "int4"),
    "llamacpp": ("gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m", "gguf_q3_k_m", "gguf_q2_k"),
    "ollama": ("gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m", "gguf_q3_k_m", "gguf_q2_k"),
    "mlx": ("mlx_8bit", "mlx_6bit", "mlx_4bit"),
    "transformers": ("w8a16", "nf4_dq"),
}
_LAYERS_ON_ONE = ("llamacpp", "ollama", "transformers", "mlx")


def _more_devices(scenario: Scenario) -> tuple[Change, ...]:
    deployment = scenario.deployment
    # Engines at home lay whole layers on each device, servers cut every layer.
    stages = scenario.engine.name in _LAYERS_ON_ONE
    field = "pipeline_parallel" if stages else "tensor_parallel"
    now, other = (
        (deployment.pipeline_parallel, deployment.tensor_parallel)
        if stages
        else (deployment.tensor_parallel, deployment.pipeline_parallel)
    )
    linked = max(8, scenario.accelerator.scale_up.max_devices)
    copies = deployment.replicas + deployment.readers
    most = min(linked, _MOST_DEVICES // (other * copies))
    most = min(most, scenario.model.architecture.layers if stages else _MOST_SHARING)
    sizes = (n for n in range(now + 1, most + 1) if stages or _divides(scenario, n))
    readers = deployment.readers
    changes = (
        (
            Change("deployment.accelerators", size * other * copies),
            Change(f"deployment.{field}", size),
            *((Change("deployment.prefill_accelerators", size * other * readers),) if readers else ()),
        )
        for size in sizes
        if size * other * copies % deployment.nodes == 0
    )
    return _first_that_fits(scenario, changes)


def _divides(scenario: Scenario, devices: int) -> bool:
    """Whether a group of so many devices can be divided as the scenario asks."""
    deployment = scenario.deployment
    copies = deployment.attention_data_parallel
    if devices % copies or devices % deployment.expert_parallel:
        return False
    return scenario.engine.name == "textbook" or heads_divide(scenario.model.architecture, devices // copies)


def _layers_to_host(scenario: Scenario) -> tuple[Change, ...]:
    """llama.cpp: experts of the fewest layers, else the fewest whole layers, in the host's memory."""
    if scenario.engine.name not in ("llamacpp", "ollama"):
        return ()
    layers = scenario.model.architecture.layers
    experts = any(isinstance(g.channel_mixer, MixtureOfExperts) for g in scenario.model.architecture.kinds)
    if experts:
        kept = range(scenario.engine.n_cpu_moe + 1, layers + 1)
        found = _least_that_fits(scenario, "engine.n_cpu_moe", kept)
        if found:
            return found
    on_device = layers + 1 if scenario.engine.n_gpu_layers is None else scenario.engine.n_gpu_layers
    return _least_that_fits(scenario, "engine.n_gpu_layers", range(min(on_device, layers + 1) - 1, -1, -1))


def _least_that_fits(scenario: Scenario, path: str, values: range) -> tuple[Change, ...]:
    """The first of values each of which needs less memory than the one before, by bisection."""
    if not values or not _fits(scenario, (Change(path, values[-1]),)):
        return ()
    low, high = -1, len(values) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fits(scenario, (Change(path, values[middle]),)) else (middle, high)
    return (Change(path, values[high]),)


def _share_devices(scenario: Scenario) -> tuple[Change, ...]:
    """The devices that are there hold fewer copies of the model, each spread over more of them."""
    deployment = scenario.deployment
    count = deployment.accelerators // deployment.pipeline_parallel
    sizes = (n for n in range(deployment.tensor_parallel + 1, count + 1) if count % n == 0)
    return _first_that_fits(scenario, ((Change("deployment.tensor_parallel", size),) for size in sizes))


_KINDS: tuple[Callable[[Scenario], tuple[Change, ...]], ...] = (
    _share_devices,
    _shorter_length,
    _fewer_users,
    _shorter_prompt,
    _cache_8_bit,
    _narrower_weights,
    _layers_to_host,
    _more_devices,
)
