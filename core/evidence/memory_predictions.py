"""What the ledgers say about the figures of a measured run, metric by metric."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.evidence import naming
from core.evidence.measured import MeasuredMemory
from core.evidence.memory_scenario import Unpredictable, scenario_of, weights_told
from core.memory import llama_cpp, sglang, tensorrt_llm, vllm
from core.memory.build import plan_memory
from core.memory.layout import stages_of
from core.memory.ledger import LineKey
from core.memory.llama_compute import fetches_experts, file_type
from core.memory.llama_rules import n_ubatch
from core.memory.plan import MemoryPlan
from core.memory.uncertainty import band_of
from core.memory.vllm_compressed import compresses
from core.model.formats import bits_per_weight
from core.model.parameters import stored_parameters
from core.spec.scenario import Scenario
from core.units import GIB

MIB = 2**20
_LINES: dict[str, LineKey] = {
    "weights_gib": "weights",
    "activation_peak_gib": "activations",
    "non_torch_gib": "runtime",
    "cuda_graph_gib": "graphs",
}
_LLAMA = ("llamacpp", "ollama")
_LIKE = {"model_file_mib": "bpw"}  # a file is off by what the bits of its weights are off


@dataclass(frozen=True, slots=True)
class Prediction:
    """One metric of one record.  ``skipped`` is a reason, a text key below ``cli.validate.reasons``;
    ``given`` names what of the log itself the prediction starts from."""

    id: str
    engine: str
    metric: str
    measured: float
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    skipped: str = ""
    given: str = ""
    group: str = ""  # in which errors are counted; empty: the engine's figure
    file: str = ""  # name of the file that the record stands in


def predict(record: MeasuredMemory) -> tuple[Prediction, ...]:
    """A prediction, or the reason why there is none, for every observed metric."""
    try:
        scenario = scenario_of(record)
    except Unpredictable as reason:
        return tuple(
            Prediction(record.id, record.engine, metric, seen, skipped=reason.reason)
            for metric, seen in record.observed.items()
        )
    return tuple(predictions_with(record, scenario))


def predictions_with(record: MeasuredMemory, scenario: Scenario) -> Iterator[Prediction]:
    """The same for a record whose scenario is known."""
    name = naming.engine_of(record.engine) or ""
    values = _VALUES[name](record, scenario) if name in _VALUES else _plain(scenario)
    for metric, seen in record.observed.items():
        found = values.get(metric, "metric")
        if isinstance(found, str):
            yield Prediction(record.id, record.engine, metric, seen, skipped=found)
            continue
        value, given = found if isinstance(found, tuple) else (found, "")
        measured = max(0.0, seen) if metric == "cuda_graph_gib" else seen
        low, high = band_of(name, _LIKE.get(metric, metric), value, scenario)
        yield Prediction(record.id, record.engine, metric, measured, value, low, high, given=given)


# A metric's value, a value with what it starts from, or the reason why there is none.
Value = float | tuple[float, str] | str
Values = dict[str, Value]


def _lines(plan: MemoryPlan) -> Values:
    return {metric: plan.fixed.get(line, 0) / GIB for metric, line in _LINES.items()}


def _plain(scenario: Scenario) -> Values:
    plan = plan_memory(scenario)
    values = _lines(plan)
    values["kv_cache_gib"] = plan.pool / GIB
    values["kv_tokens"] = float(plan.kv_tokens(scenario.engine.max_model_len))
    return values


def _vllm(record: MeasuredMemory, scenario: Scenario) -> Values:
    # Printed lines are those of one rank, token counts those of the tightest.
    plan, first = plan_memory(scenario), vllm.printing_plan(scenario)
    values = _lines(first)
    stage = stages_of(scenario.model.architecture, scenario.deployment.pipeline_parallel)[0]
    values["cuda_graph_gib"] = vllm.graphs_of(scenario, stage) / GIB
    seen, given = record.observed.get("kv_cache_gib"), ""
    pool = max(0, vllm.granted_pool(scenario, plan))
    length = scenario.engine.max_model_len
    needed = plan.demand.reserved_bytes(length, plan.batched_tokens)
    values["kv_needed_gib"] = needed / GIB
    values["kv_cache_gib"] = max(0, vllm.granted_pool(scenario, first)) / GIB
    if "weight_format" in record.inferred and "weights_gib" in record.observed:
        # A guessed format tests nothing: the printed weights stand in for ours.
        shift = first.fixed["weights"] - round(record.observed["weights_gib"] * GIB)
        pool, given = max(0, vllm.granted_pool(scenario, plan) + shift), "weights_gib"
        values["weights_gib"] = "inferred"
        values["kv_cache_gib"] = (max(0, vllm.granted_pool(scenario, first) + shift) / GIB, given)
    values["total_gib"] = min(first.device, first.budget + vllm.context(scenario)) / GIB
    if not record.utilization or record.extra.get("util_doubtful") is True:
        values["kv_cache_gib"] = values["total_gib"] = "utilization"
        given = "kv_cache_gib"
        if seen is None or seen <= 0:
            return {**values, **dict.fromkeys(("kv_tokens", "max_concurrency", "gpu_blocks"), "utilization")}
        pool = round(seen * GIB)
    elif seen is not None and seen <= 0:
        values["kv_cache_gib"] = "no_room"
    if compresses(scenario.model.architecture) and not record.batched_tokens:
        # States are held for all tokens of a batch, and its peak is large: its size decides.
        cache = ("kv_cache_gib", "kv_needed_gib", "kv_tokens", "max_concurrency", "gpu_blocks")
        return {**values, **dict.fromkeys(cache, "compressed")}
    page = {group.page_bytes for group in plan.demand.groups}
    usable = plan.demand.whole_pages(pool)
    concurrency = usable / needed if needed else 0.0
    tokens = concurrency * length if vllm.prints_by_length(scenario) else _tokens(plan, pool, length)
    values["max_concurrency"] = (concurrency, given) if given else concurrency
    values["kv_tokens"] = (tokens, given) if given else tokens
    if len(page) == 1 and not plan.demand.state_bytes:
        blocks = float(pool // page.pop())
        values["gpu_blocks"] = (blocks, given) if given else blocks
    elif plan.demand.is_plain:
        blocks = tokens / plan.demand.groups[0].page_tokens
        values["gpu_blocks"] = (blocks, given) if given else blocks
    if not record.max_model_len:
        values["max_concurrency"] = "length"
        if vllm.prints_by_length(scenario) and not plan.demand.is_plain:
            values["kv_tokens"] = "length"
    return values


def _tokens(plan: MemoryPlan, pool: int, length: int) -> float:
    return float(plan.demand.tokens_in(pool, length))


def _sglang(record: MeasuredMemory, scenario: Scenario) -> Values:
    plan = plan_memory(scenario)
    values = _lines(plan)
    pool, given = plan.pool, ""
    before, after = _free_before(record), record.setting("avail_after_weights_gib")
    if before is None and after is not None and "weights_gib" in record.observed:
        before = after + record.observed["weights_gib"]
    if before is not None and after is not None:
        fraction = sglang.defaults(scenario.engine, scenario.accelerator, scenario.deployment).fraction
        pool = sglang.static_pool(round(before * GIB), round(after * GIB), fraction)
        given = "free_memory"
    kv = sglang.kv_part(scenario, pool)
    tp = scenario.deployment.attention_tensor_parallel
    per_token = float(sglang.token_bytes(scenario, scenario.model.architecture, tp))
    seen = record.observed.get("kv_cache_gib")
    stated = record.setting("mem_fraction_static")
    tokens = kv / per_token if per_token else 0.0
    values["kv_cache_gib"] = (kv / GIB, given) if given else kv / GIB
    values["kv_tokens"] = (tokens, given) if given else tokens
    if stated is None and not given:
        values["kv_cache_gib"] = "fraction"
        if seen and per_token:
            values["kv_tokens"] = (seen * GIB / per_token, "kv_cache_gib")
    return values


def _free_before(record: MeasuredMemory) -> float | None:
    return record.setting("avail_before_weights_gib", "avail_before_gib") or naming.free_gib(record.gpu)


def _trtllm(record: MeasuredMemory, scenario: Scenario) -> Values:
    plan = plan_memory(scenario)
    values = _lines(plan)
    pool, given = plan.pool, ""
    free = record.setting("available_gib", "free_gib")
    if free is not None:
        # Other engines on the same card, and settings of the build, are in this figure.
        pool, given = round(tensorrt_llm.kv_fraction(scenario.engine) * free * GIB), "free_memory"
    tokens = float(plan.demand.tokens_in(pool, scenario.engine.max_model_len))
    page = sum(group.page_bytes for group in plan.demand.groups)
    values["kv_cache_gib"] = (pool / GIB, given) if given else pool / GIB
    values["kv_tokens"] = (tokens, given) if given else tokens
    values["gpu_blocks"] = (float(pool // page), given) if page else "metric"
    return values


def _llama(record: MeasuredMemory, scenario: Scenario) -> Values:
    found, host = llama_cpp.buffers(scenario)
    del host
    kind = file_type(scenario.precision.weights) or "BF16"
    model, cache = sum(b.model for b in found), sum(b.cache for b in found)
    compute = sum(b.compute for b in found)
    values: Values = {
        "model_buffer_mib": model / MIB,
        "model_file_mib": llama_cpp.file_sizes(scenario).bytes / MIB,
        "kv_buffer_mib": cache / MIB,
        "compute_buffer_mib": compute / MIB,
        "weights_gib": model / GIB,
        "kv_cache_gib": cache / GIB,
        "total_gib": (model + cache + compute) / GIB,
        "bpw": bits_per_weight(scenario.model.architecture, kind),
        "params": float(stored_parameters(scenario.model.architecture)),
    }
    if not weights_told(record):
        of_types = ("model_buffer_mib", "model_file_mib", "weights_gib", "total_gib", "bpw")
        values |= dict.fromkeys(of_types, "tensors")
        tokens = n_ubatch(scenario.engine)
        if any(fetches_experts(scenario, part, tokens) for part in llama_cpp.parts(scenario)):
            # The buffer holds a copy of a stack of experts, of a type that is not told.
            values["compute_buffer_mib"] = "tensors"
    if "rpc" in record.gpu.lower():
        # The other machine has its own log; the buffers here are its complement.
        values |= {"model_buffer_mib": "partial", "kv_buffer_mib": "partial"}
        values["compute_buffer_mib"] = llama_cpp.alone_compute_bytes(scenario) / MIB
    if not record.max_model_len:
        values |= dict.fromkeys(("kv_buffer_mib", "compute_buffer_mib", "kv_cache_gib"), "length")
    if scenario.engine.version.startswith("ik") and scenario.engine.n_ubatch is None:
        values["compute_buffer_mib"] = "micro_batch"
    return values


_VALUES = {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm, "llamacpp": _llama, "ollama": _llama}
