"""Changes worth trying on a scenario, cheapest first.  Whether one helps is decided by estimating it."""

from collections.abc import Iterator

import numpy as np

from core.explain.crowding import crowding_notes
from core.explain.precision import cache_caution, task_of, weight_caution
from core.memory.capacity import Change, cache_8_bit, length_that_starts, narrower_weights, starts
from core.model.parameters import stored_parameters
from core.planning.explore_memory import BoolArray
from core.planning.slots import slot_settings
from core.planning.suggestion import FREE, Move
from core.quantities import EXPECTED, FloatArray, distinct
from core.results import Estimate
from core.serving.limits import batch_limits
from core.serving.steady_state import Service, closed_loop, open_loop, prepare
from core.spec.change import with_values
from core.spec.checks import runs_on, unsupported
from core.spec.engine import LLAMA, SERVERS
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import (
    engines_on,
    nearest_cache,
    nearest_weights,
    releases_of,
    supported_weights,
)
from core.units import show_tokens
from core.words import Phrase, counted, percent

BY_LAYERS = ("llamacpp", "ollama", "transformers", "mlx")
_LEAST_SHARED = 512  # tokens of a prompt that are worth sharing
_UTILIZATION = 0.95  # of a card that nothing else uses; more leaves the driver too little
_MANY_USERS = 4  # from here on an engine for one user is the wrong one
_CHUNKS = {
    "vllm": "max_num_batched_tokens",
    "trtllm": "max_num_batched_tokens",
    "sglang": "chunked_prefill_size",
}


def cheap_moves(point: Estimate) -> Iterator[Move]:
    """Changes of settings and formats on the hardware there is."""
    yield from _what_runs(point.scenario)
    yield from _settings(point)
    yield from shared_prefix(point.scenario)
    yield from narrower_cache(point.scenario)
    yield from less_load(point)
    yield from weights(point.scenario)
    yield from _engines(point.scenario)
    yield from speculation(point.scenario)


def _settings(point: Estimate) -> Iterator[Move]:
    scenario, engine = point.scenario, point.scenario.engine
    if engine.enforce_eager and engine.name in SERVERS:
        yield Move("graphs", Phrase("advice.titles.graphs"), (Change("engine.enforce_eager", False),), 1)
    if engine.name in LLAMA and (engine.n_gpu_layers is not None or engine.n_cpu_moe):
        changes: tuple[Change, ...] = (
            Change("engine.n_gpu_layers", None),
            Change("engine.n_cpu_moe", 0),
        )
        yield Move("all_on_gpu", Phrase("advice.titles.all_on_gpu"), changes, 1)
    if engine.name in ("vllm", "textbook") and engine.gpu_memory_utilization < _UTILIZATION - 0.01:
        title = Phrase("advice.titles.utilization", {"share": f"{_UTILIZATION:.2f}"})
        caution = (Phrase("advice.cautions.utilization"),)
        changes = (Change("engine.gpu_memory_utilization", _UTILIZATION),)
        yield Move("utilization", title, changes, 3, caution)
    yield from _model_length(point)
    yield from chunks(scenario)
    yield from _slots(point)
    # TensorRT-LLM calls them its batch, and takes that where both are set.
    field = "max_batch_size" if engine.name == "trtllm" and engine.max_batch_size else "max_num_seqs"
    if point.speed is not None and getattr(engine, field) is not None and engine.name in SERVERS:
        seqs = batch_limits(engine, scenario.accelerator)[0]
        wanted = 2 ** int(np.ceil(np.log2(max(2.0, min(point.speed.users, 1e5)))))
        if seqs < point.speed.users:
            title = Phrase("advice.titles.sequences", {"n": f"{wanted:,}"})
            yield Move("sequences", title, (Change(f"engine.{field}", wanted),), 1)
    yield from _as_many_as_fit(point)


def _as_many_as_fit(point: Estimate) -> Iterator[Move]:
    """Where the engine takes in more than the cache holds: as many as fit, so that none is preempted."""
    if point.speed is None or not crowding_notes(point.scenario, point.capacity):
        return
    each = point.capacity.max_users // point.scenario.deployment.replicas
    if each >= 1:
        field = "max_batch_size" if point.scenario.engine.name == "trtllm" else "max_num_seqs"
        title = counted("advice.titles.fewer_sequences", each)
        yield Move("fewer_sequences", title, (Change(f"engine.{field}", each),), 1)


def _slots(point: Estimate) -> Iterator[Move]:
    """llama.cpp: a slot and room in the context for every user, or for as many as the device holds."""
    scenario, work = point.scenario, point.scenario.workload
    wanted = max(work.users if work.load == "users" else 1, scenario.targets.users or 1)
    if scenario.engine.name not in LLAMA or wanted <= point.capacity.at_once:
        return
    low, high = point.capacity.at_once, wanted + 1
    while high - low > 1:
        middle = (low + high) // 2
        changed = with_values(scenario, {c.path: c.value for c in _slot_changes(scenario, middle)})
        low, high = (middle, high) if starts(changed) else (low, middle)
    if low <= point.capacity.at_once:
        return
    changes = _slot_changes(scenario, low)
    values: dict[str, object] = {"n": f"{low:,}"}
    key = "sequences"
    if len(changes) > 1:
        key, values["tokens"] = "context", show_tokens(float(str(changes[1].value)))
    yield Move("sequences", Phrase(f"advice.titles.{key}", values), changes, 2)


def _slot_changes(scenario: Scenario, slots: int) -> tuple[Change, ...]:
    return tuple(Change(f"engine.{name}", value) for name, value in slot_settings(scenario, slots))


def _model_length(point: Estimate) -> Iterator[Move]:
    """Where one request of the maximum length has no room the engine does not start."""
    scenario = point.scenario
    if point.speed is not None or not point.ledger.fits:
        return
    length = length_that_starts(scenario)
    if length:
        title = Phrase("advice.titles.model_length", {"tokens": show_tokens(length)})
        yield Move("model_length", title, (Change("engine.max_model_len", length),), 0)


def chunks(scenario: Scenario) -> Iterator[Move]:
    """Half and twice the prompt tokens of a step."""
    engine = scenario.engine
    field = _CHUNKS.get(engine.name)
    if field is None:
        return
    now = batch_limits(engine, scenario.accelerator)[1]
    for key, factor in (("smaller_chunk", 0.25), ("larger_chunk", 4.0)):
        tokens = int(now * factor)
        if 512 <= tokens <= 32768 and not (factor > 1 and now >= 2 * scenario.workload.prompt_tokens):
            title = Phrase("advice.titles.chunk", {"tokens": show_tokens(tokens)})
            yield Move(key, title, (Change(f"engine.{field}", tokens),), 1)


def shared_prefix(scenario: Scenario) -> Iterator[Move]:
    """Half of the prompt in common, where the prompt is long and nothing much is shared yet."""
    work = scenario.workload
    step = 1024 if work.prompt_tokens >= 4096 else 256
    shared = work.prompt_tokens // 2 // step * step
    if scenario.engine.name not in SERVERS or shared < _LEAST_SHARED or work.shared_prefix_tokens >= shared:
        return
    title = Phrase("advice.titles.shared_prefix", {"tokens": show_tokens(shared)})
    changes = (Change("workload.shared_prefix_tokens", shared),)
    cautions = (Phrase("advice.cautions.shared_prefix"), Phrase(FREE))
    yield Move("shared_prefix", title, changes, 4, cautions)


def narrower_cache(scenario: Scenario) -> Iterator[Move]:
    """The KV cache in 8 bits."""
    narrow = cache_8_bit(scenario)
    if narrow is None:
        return
    title = Phrase("advice.titles.cache", {"format": CACHE_FORMATS[narrow].label})
    caution = (cache_caution(task_of(scenario.workload)),)
    yield Move("cache_8_bit", title, (Change("precision.kv_cache", narrow),), 6, caution)


def weights(scenario: Scenario) -> Iterator[Move]:
    """Weights in about 8 and about 4 bits."""
    task = task_of(scenario.workload)
    told: set[int] = set()
    for fmt in narrower_weights(scenario):
        bits = int(WEIGHT_FORMATS[fmt].bits)
        if bits not in (8, 4) or bits in told:
            continue
        told.add(bits)
        title = Phrase("advice.titles.weights", {"format": WEIGHT_FORMATS[fmt].label})
        effort = 7.0 if bits == 8 else 14.0
        caution = (weight_caution(bits, task),)
        yield Move(f"weights_{bits}_bit", title, (Change("precision.weights", fmt),), effort, caution)


def less_load(point: Estimate) -> Iterator[Move]:
    """Fewer users or requests, and shorter prompts, as many as meet every target."""
    if point.scenario.workload.load == "users":
        yield from _users(point)
    else:
        yield from _rate(point)
    yield from _shorter_prompts(point)


def most_users_within(point: Estimate, most: int) -> int:
    """The most users up to ``most`` that meet the targets of both times and have room; 0: not even one."""
    scenario = point.scenario
    users = distinct(np.round(np.geomspace(1, max(1, most), 96)))
    if point.capacity.at_once:
        users = users[users <= point.capacity.at_once]
    service = prepare(scenario)
    good = _good(point, service, users)
    if not good.any():
        return 0
    last = np.flatnonzero(good)[-1]
    least, beyond = int(users[last]), int(users[last + 1]) if last + 1 < len(users) else int(users[last]) + 1
    between = np.arange(least, beyond, dtype=np.float64)  # what the steps left out
    if len(between) > 1:
        return int(between[np.flatnonzero(_good(point, service, between))[-1]])
    return least


def _good(point: Estimate, service: Service, users: FloatArray) -> BoolArray:
    """Which numbers of users meet the targets of both times."""
    targets = point.scenario.targets
    curve = closed_loop(service, users, point.capacity.kv_tokens)
    good = np.ones(len(users), dtype=bool)
    if targets.time_to_first_token_s is not None:
        good &= curve.time_to_first_token[EXPECTED] <= targets.time_to_first_token_s
    if targets.time_per_output_token_ms is not None:
        good &= curve.time_per_output_token[EXPECTED] <= targets.time_per_output_token_ms / 1e3
    return good


def _users(point: Estimate) -> Iterator[Move]:
    work = point.scenario.workload
    if point.speed is None:
        most = point.capacity.at_once
        if 1 <= most < work.users:
            yield _serve(most, "fewer_users")
        return
    if point.verdict.state == "good":
        most = most_users_within(point, max(1, point.capacity.at_once))
        if most >= 1.25 * work.users:
            yield _serve(most, "more_users")
        return
    # Where not even one user meets the targets, at least nobody waits for room.
    most = most_users_within(point, work.users) or point.capacity.at_once
    if 1 <= most < work.users:
        yield _serve(most, "fewer_users")


def _serve(users: int, key: str) -> Move:
    title = Phrase(f"advice.titles.{key}", {"users": counted("units.users", users)})
    effort = 10.0 if key == "fewer_users" else 0.0
    return Move(key, title, (Change("workload.users", users),), effort)


def _rate(point: Estimate) -> Iterator[Move]:
    """The highest rate that meets the targets; also where there is room for a higher one."""
    scenario, targets = point.scenario, point.scenario.targets
    now = scenario.workload.request_rate
    if point.speed is None:
        return
    rates = now * np.geomspace(0.02, 8.0, 96)
    curve = open_loop(prepare(scenario), rates, point.capacity.kv_tokens)
    good = (curve.stable > 0) & (curve.users <= max(1, point.capacity.at_once))
    if targets.time_to_first_token_s is not None:
        good &= curve.time_to_first_token[EXPECTED] <= targets.time_to_first_token_s
    if targets.time_per_output_token_ms is not None:
        good &= curve.time_per_output_token[EXPECTED] <= targets.time_per_output_token_ms / 1e3
    if not good.any():
        return
    rate = float(f"{rates[np.flatnonzero(good)[-1]] * 0.995:.2g}")
    key = "lower_rate" if rate < now else "higher_rate"
    if rate > 0 and (rate < 0.98 * now or (rate > 1.25 * now and point.verdict.state == "good")):
        title = Phrase(f"advice.titles.{key}", {"rate": f"{rate:g}"})
        effort = 10.0 if key == "lower_rate" else 0.0
        yield Move(key, title, (Change("workload.request_rate", rate),), effort)


def _shorter_prompts(point: Estimate) -> Iterator[Move]:
    """Half the prompt; when nothing starts, the longest one that does."""
    work = point.scenario.workload
    tokens = work.prompt_tokens // 2
    if point.speed is None:
        tokens = min(tokens, point.capacity.max_length - work.output_tokens)
    step = 1024 if tokens >= 4096 else 256 if tokens >= 512 else 1
    tokens = tokens // step * step
    if tokens < 1 or tokens <= work.shared_prefix_tokens or point.verdict.state == "good":
        return
    title = Phrase("advice.titles.shorter_prompt", {"tokens": show_tokens(tokens)})
    caution = (Phrase("advice.cautions.shorter_prompt"),)
    yield Move("shorter_prompt", title, (Change("workload.prompt_tokens", tokens),), 12, caution)


def _what_runs(scenario: Scenario) -> Iterator[Move]:
    """Where the engine does not run on the device, or not with such weights: what does."""
    refused = unsupported(scenario)
    if refused is None:
        return
    if refused.code != "engine_not_for_device":
        key = supported_weights(scenario)
        title = Phrase("advice.titles.weights", {"format": WEIGHT_FORMATS[key].label})
        yield Move("what_runs", title, (Change("precision.weights", key),), 0)
        return
    for name in engines_on(scenario, scenario.accelerator):
        title = Phrase("advice.titles.engine", {"engine": Phrase(f"choices.engines.{name}")})
        yield Move("what_runs", title, engine_changes(scenario, name, releases_of(name)[0]), 0)


def _engines(scenario: Scenario) -> Iterator[Move]:
    """Continuous batching in place of static batches or an engine for one user."""
    engine, work, device = scenario.engine, scenario.workload, scenario.accelerator
    many = work.load == "requests" or work.users >= _MANY_USERS
    if engine.name in SERVERS or not many or device.kind != "gpu" or device.vendor not in ("NVIDIA", "AMD"):
        return
    if not runs_on(scenario):
        return  # every engine that runs there is tried already
    yield Move(
        "continuous_batching",
        Phrase("advice.titles.engine", {"engine": Phrase("choices.engines.vllm")}),
        engine_changes(scenario, "vllm", releases_of("vllm")[0]),
        9,
        (Phrase("advice.cautions.engine"),),
    )


def engine_changes(scenario: Scenario, name: str, version: str) -> tuple[Change, ...]:
    """Another engine, with formats and a layout that it knows."""
    tensor, stages = scenario.deployment.tensor_parallel, scenario.deployment.pipeline_parallel
    weights_now, cache_now = scenario.precision.weights, scenario.precision.kv_cache
    new_weights = nearest_weights(name, weights_now)  # type: ignore[arg-type]
    changes = [
        Change("engine.name", name),
        Change("engine.version", version),
        Change("precision.weights", new_weights),
        Change("precision.kv_cache", nearest_cache(name, cache_now, new_weights)),  # type: ignore[arg-type]
    ]
    if (name in BY_LAYERS) != (scenario.engine.name in BY_LAYERS) and min(tensor, stages) == 1:
        changes.append(Change("deployment.tensor_parallel", stages))
        changes.append(Change("deployment.pipeline_parallel", tensor))
    if name not in SERVERS:  # what only these divide
        alone = {"expert_parallel": 1, "attention_data_parallel": 1, "prefill_accelerators": 0}
        place = scenario.deployment
        changes += [Change(f"deployment.{k}", v) for k, v in alone.items() if getattr(place, k) != v]
    return tuple(changes)


def speculation(scenario: Scenario) -> Iterator[Move]:
    """The model's own prediction module, else a head of one layer (arXiv:2401.15077)."""
    arch = scenario.model.architecture
    if scenario.speculative.kind != "none" or scenario.engine.name not in SERVERS:
        return
    kind = "mtp" if arch.mtp_groups else "eagle"
    changes = [Change("speculative.kind", kind)]
    if kind == "eagle":
        changes.append(Change("speculative.draft_parameters", stored_parameters(arch) // max(1, arch.layers)))
    share = percent(scenario.speculative.acceptance)
    cautions = [Phrase("advice.cautions.acceptance", {"share": share})]
    if kind == "eagle":
        cautions.append(Phrase("advice.cautions.draft_head"))
    title = Phrase("advice.titles.speculative", {"kind": Phrase(f"choices.drafts.{kind}")})
    # The kind alone would be refused for an EAGLE head of no size.
    yield Move("speculative", title, tuple(reversed(changes)), 8, tuple(cautions))
