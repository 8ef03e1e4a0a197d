"""The ledger of a run as the record of measured memory that the predictions of ledgers are made for."""

from dataclasses import dataclass

from core.evidence.measured import MeasuredMemory
from core.evidence.run import Run
from core.spec.scenario import Scenario

GIB, MIB = 2.0**30, 2.0**20
COUNTS = frozenset({"kv_cache_tokens", "gpu_blocks", "max_concurrency"})
_METRICS: dict[str, tuple[str, float]] = {
    "weights": ("weights_gib", GIB),
    "kv_cache": ("kv_cache_gib", GIB),
    "available_kv": ("kv_cache_gib", GIB),
    "activation_peak": ("activation_peak_gib", GIB),
    "non_torch": ("non_torch_gib", GIB),
    "cuda_graph": ("cuda_graph_gib", GIB),
    "total": ("total_gib", GIB),
    "kv_cache_tokens": ("kv_tokens", 1.0),
    "gpu_blocks": ("gpu_blocks", 1.0),
    "max_concurrency": ("max_concurrency", 1.0),
}
_LLAMA_METRICS: dict[str, tuple[str, float]] = {
    **_METRICS,
    "weights": ("model_buffer_mib", MIB),
    "kv_cache": ("kv_buffer_mib", MIB),
    "compute_buffer": ("compute_buffer_mib", MIB),
    "model_file": ("model_file_mib", MIB),
}
MONITOR = "nvidia_smi"
OF_FILE = "llama_bench"  # states all tensors of the file, those that stay on the host too
_LOCAL = ("llamacpp", "ollama")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record, and for each line of the run's ledger the metric and what one of its units is."""

    record: MeasuredMemory
    metrics: dict[str, tuple[str, float]]


def ledger_of(run: Run) -> dict[str, float]:
    """The ledger of a run; a monitor's reading of a device is its total, what llama-bench states the file."""
    if run.origin.tool == OF_FILE and "weights" in run.ledger:
        return {"model_file" if line == "weights" else line: size for line, size in run.ledger.items()}
    used = run.figure("memory_used", "max", "mean") if run.origin.tool == MONITOR else None
    return {**run.ledger, "total": used} if used else dict(run.ledger)


def memory_record(run: Run, scenario: Scenario) -> RunRecord:
    """The record of a run whose scenario is known."""
    setting, place = run.setting, scenario.deployment
    local = scenario.engine.name in _LOCAL
    known = _LLAMA_METRICS if local else _METRICS
    ledger = ledger_of(run)
    metrics = {line: known[line] for line in ledger if line in known}
    if run.ledger.get("kv_cache") == run.ledger.get("available_kv"):
        metrics.pop("available_kv", None)  # one line of the log under two names
    extra: dict[str, object] = {}
    for line, name in (("device_total", "device_total_gib"), ("free_before", "avail_before_weights_gib")):
        if line in run.ledger:
            extra[name] = run.ledger[line] / GIB
    if scenario.engine.name == "sglang" and setting.utilization is not None:
        extra["mem_fraction_static"] = setting.utilization
    record = MeasuredMemory(
        id=run.label,
        engine=scenario.engine.name,
        version=scenario.engine.version,
        model=scenario.model.name,
        gpu=setting.accelerator,
        devices=place.accelerators,
        tensor_parallel=place.tensor_parallel,
        pipeline_parallel=place.pipeline_parallel,
        expert_parallel=place.expert_parallel,
        weight_format=f"gguf {setting.weight_format}" if local else setting.weight_format,
        cache_format=setting.kv_cache_format,
        max_model_len=setting.context_limit or 0,
        # The share is the scenario's own where the run does not state one: told as assumed.
        utilization=scenario.engine.gpu_memory_utilization,
        batched_tokens=setting.batched_tokens or 0,
        sequences=setting.sequences or 0,
        block_size=setting.block_size or 0,
        enforce_eager=scenario.engine.enforce_eager,
        extra=extra,
        observed={metric: ledger[line] / unit for line, (metric, unit) in metrics.items()},
    )
    return RunRecord(record, metrics)
