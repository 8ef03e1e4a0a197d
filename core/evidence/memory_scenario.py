"""From a measured run to the scenario that describes it."""

import re

from pydantic import ValidationError

from core.evidence import naming
from core.evidence.measured import MeasuredMemory
from core.model.formats import gguf_format
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.speculative import DraftKind, Speculative
from core.strict_json import shortened

# Buffers of llama.cpp do not depend on the device: any with much memory will do.
_ANY_DEVICE = "MI300X"
_LLAMA = ("llamacpp", "ollama")
_NEWEST_OF = {"0.2": "0.27", "0.1": "0.17"}  # "0.2x" in a note means a late release of that decade
_LEGACY = "0.7.3"


class Unpredictable(Exception):
    """A record that cannot be turned into a scenario; the argument is a text key below ``cli.validate``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def scenario_of(record: MeasuredMemory) -> Scenario:
    """The scenario of a run.  Raises Unpredictable with the reason."""
    name = naming.engine_of(record.engine)
    if name is None:
        raise Unpredictable("engine")
    model = naming.model_of(record.model)
    if model is None:
        raise Unpredictable("model")
    device = _device(record, name)
    if device is None:
        raise Unpredictable("device")
    weights = _weights(record, name, model)
    if weights is None:
        raise Unpredictable("weight_format")
    try:
        scenario = Scenario(
            name=record.id[:300],
            model=model,
            accelerator=device,
            deployment=_deployment(record),
            precision=Precision(weights=weights, kv_cache=_cache_format(record, weights)),
            engine=_engine(record, name, model),
            speculative=_speculative(record),
        )
    except ValidationError:
        raise Unpredictable("settings") from None
    if scenario.deployment.pipeline_parallel > model.architecture.layers:
        raise Unpredictable("settings")
    return scenario


def _device(record: MeasuredMemory, name: str) -> Accelerator | None:
    total = record.setting("device_total_gib") or naming.visible_gib(record.gpu)
    if name not in _LLAMA and total is None and naming.of_several_sizes(record.gpu):
        return None
    device = naming.device_of(record.gpu) if record.gpu else None
    if device is None and name in _LLAMA:
        device = naming.device_of(_ANY_DEVICE)
    if device is not None and total is not None and 0.1 <= total <= 100_000:
        device = device.model_copy(update={"memory_gib_driver": total})
    return device


def _weights(record: MeasuredMemory, name: str, model: Model) -> str | None:
    if name in _LLAMA:
        kind = naming.gguf_type_of(record.weight_format)
        if kind is None:
            # Which tensors lie where is not told: the cache is still known.
            return "bf16" if record.weight_format.lower().startswith("gguf") else None
        if kind == "q4_k_xl":
            # Unsloth's mixes narrow the experts more than the rest.
            kind = "q4_k_s" if has_experts(model) else "q4_k_m"
        found = gguf_format(kind)
        return found.key if found else None
    known = naming.weight_format_of(record.weight_format)
    if known == "mxfp4" and "gpt-oss" in model.name.lower():
        return "mxfp4_experts"
    return known


def has_experts(model: Model) -> bool:
    """Whether any layer has experts."""
    return any(isinstance(g.channel_mixer, MixtureOfExperts) for g in model.architecture.kinds)


def weights_told(record: MeasuredMemory) -> bool:
    """Whether a GGUF record names the type of its weights and leaves all of them on the devices."""
    low = record.weight_format.lower()
    return naming.gguf_type_of(low) is not None and "cpu" not in low


def _cache_format(record: MeasuredMemory, weights: str) -> str:
    found = naming.cache_format_of(record.cache_format)
    return "fp32" if weights == "fp32" and found == "bf16" else found


def _deployment(record: MeasuredMemory) -> Deployment:
    tp, pp = record.tensor_parallel, record.pipeline_parallel
    if naming.engine_of(record.engine) in _LLAMA:
        pp = max(pp, record.devices // tp)
    copies = int(record.setting("dp_attention", "attention_dp", "attention_data_parallel") or 1)
    dp = int(record.setting("dp", "data_parallel") or 1) if copies == 1 else 1
    ep = record.expert_parallel
    return Deployment(
        accelerators=max(1, tp * pp * dp),
        tensor_parallel=tp,
        pipeline_parallel=pp,
        expert_parallel=ep if tp % max(1, ep) == 0 else 1,
        attention_data_parallel=copies if tp % max(1, copies) == 0 else 1,
    )


def _speculative(record: MeasuredMemory) -> Speculative:
    kind = str(record.extra.get("speculative", record.extra.get("spec", ""))).lower()
    kinds: tuple[DraftKind, ...] = ("mtp", "ngram", "eagle")
    return next((Speculative(kind=known) for known in kinds if known in kind), Speculative())


def version_of(record: MeasuredMemory, name: str) -> str:
    """The engine's version in plain digits."""
    if "ik_llama" in record.engine:
        return shortened(f"ik {record.version}")[:40]
    vague = re.match(r"\s*(\d+\.\d)x", record.version)
    found = re.search(r"\d+(?:\.\d+){1,2}", record.version)
    stated = found[0] if found else shortened(record.version)[:40]
    version = _NEWEST_OF.get(vague[1], vague[1]) if vague else stated
    if name == "vllm":
        if not found and not vague:
            version = "0.19"
        if record.extra.get("engine_generation") == "v0" and version.startswith(("0.8", "0.9", "0.10")):
            return _LEGACY
    if name == "sglang" and "before" in record.version:
        return "0.5.0"
    return version or "0"


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value >= 1 else None


def _engine(record: MeasuredMemory, name: str, model: Model) -> Engine:
    key: EngineName = name  # type: ignore[assignment]
    length = record.max_model_len or model.max_context or 8192
    if not 0.05 <= record.utilization <= 1:
        share: float | None = None
    else:
        share = record.utilization
    static = record.setting("mem_fraction_static")
    fraction = record.setting("kv_fraction", "kv_cache_free_gpu_mem_fraction", "free_gpu_memory_fraction")
    single = name in _LLAMA and not _serves(record)
    return Engine(
        name=key,
        version=version_of(record, name),
        max_model_len=length,
        gpu_memory_utilization=share if share is not None else 0.9,
        max_num_seqs=record.sequences or None,
        max_num_batched_tokens=record.batched_tokens or None,
        block_size=record.block_size or 16,
        enforce_eager=record.enforce_eager,
        max_loras=int(record.setting("lora_max_loras", "max_loras") or 0),
        lora_rank=int(record.setting("lora_rank", "max_lora_rank") or 16),
        mem_fraction_static=static if static is not None and 0.05 <= static <= 1 else None,
        chunked_prefill_size=_whole(record.setting("chunked_prefill_size")),
        max_mamba_cache_size=_whole(record.setting("mamba_cache_size", "max_mamba_cache_size")),
        kv_cache_free_gpu_mem_fraction=fraction if fraction is not None and 0.01 <= fraction <= 1 else None,
        max_batch_size=_whole(record.setting("max_batch_size")),
        n_gpu_layers=_gpu_layers(record),
        n_cpu_moe=_experts_on_host(record, model),
        n_batch=_whole(record.setting("n_batch")),
        n_ubatch=_whole(record.setting("n_ubatch", "ubatch")),
        n_parallel=_whole(record.setting("n_parallel", "n_seq_max", "slots")) or (1 if single else None),
        flash_attention=record.flag("fa"),
        kv_unified=record.flag("kv_unified"),
        attention_max_batch_mib=_whole(record.setting("amb")),
    )


def _experts_on_host(record: MeasuredMemory, model: Model) -> int:
    said = record.setting("n_cpu_moe")
    if said is None and re.search(r"experts? (on|in) (cpu|host)", record.weight_format.lower()):
        return model.architecture.layers
    return min(int(said or 0), 100_000)


def _serves(record: MeasuredMemory) -> bool:
    """Whether a llama.cpp record is of a server new enough to have four slots."""
    if "ik_llama" in record.engine or "ollama" in record.engine:
        return False
    year = re.search(r"20(\d\d)", record.version)
    build = re.search(r"\bb?(\d{4,5})\b", re.sub(r"20\d\d[-\d]*", "", record.version))
    if build:
        return int(build[1]) >= 7300
    return year is None or int(year[1]) >= 26


def _gpu_layers(record: MeasuredMemory) -> int | None:
    value = record.extra.get("ngl", record.extra.get("n_gpu_layers"))
    if isinstance(value, str):
        found = re.match(r"(\d+)(?:/\d+)?", value)
        return int(found[1]) if found else None
    return int(value) if isinstance(value, int | float) and 0 <= value <= 100_000 else None
