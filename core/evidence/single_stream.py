"""Measured speeds of one stream against the model: llama-bench, single batches, time to a first token.

Each record becomes a case: a plan, the steps that the measurement ran, and the seconds it took.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

import resources
from core.catalog.search import compact
from core.errors import NotFound
from core.evidence.naming import device_of, model_of
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
from core.spec.formats import WEIGHT_FORMATS, gguf_key
from core.spec.host import Host
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative

Kind = Literal["decode", "prefill"]
# Engines of the records that run like one of ours.
_ENGINES: dict[str, EngineName] = {
    "llama.cpp": "llamacpp",
    "ik_llama.cpp": "llamacpp",
    "ktransformers": "llamacpp",
    "exllama": "llamacpp",
    "exllamav2": "llamacpp",
    "mlc-llm": "llamacpp",
    "mlx-lm": "mlx",
    "mlx-swift-lm": "mlx",
    "rapid-mlx": "mlx",
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "trtllm",
    "tensorrt-edge-llm": "trtllm",
    "lmdeploy (turbomind)": "trtllm",
    "ctranslate2": "trtllm",
    "deepspeed": "vllm",
    "transformers": "transformers",
}
LOCAL = frozenset({"llamacpp", "ollama", "mlx", "transformers"})
_SHORT_PROMPT = 32.0  # tokens, where a record of answers does not say
_SHORT_ANSWER = 128.0


@dataclass(frozen=True)
class Step:
    """``count`` steps alike: arguments of ``StepPlan.seconds``."""

    count: float
    decoding: float
    context: float
    prefill: float = 0.0
    history: float = 0.0


@dataclass(frozen=True)
class Case:
    """One measurement: what ran, in which steps, and the seconds they took together."""

    id: str
    kind: Kind
    scenario: Scenario = field(repr=False)
    steps: tuple[Step, ...]
    seconds: float
    weight_scale: float
    model: str
    gpu: str
    engine: str  # as the record names it
    first_token: bool = False  # a server's base is part of the seconds


@dataclass(frozen=True)
class Refused:
    """A record that is not predicted, and the key of the reason (``evidence.reasons.*``)."""

    id: str
    reason: str


@cache
def _rules() -> dict[str, Any]:
    tree: dict[str, Any] = TypeAdapter(dict[str, Any]).validate_json(
        resources.read_bytes("data/evidence/single_stream.json")
    )
    return tree


@cache
def _extra_devices() -> dict[str, Accelerator]:
    tree = TypeAdapter(dict[str, Any]).validate_json(resources.read_bytes("data/evidence/devices.json"))
    parsed = TypeAdapter(tuple[Accelerator, ...]).validate_python(tree["devices"], strict=False)
    return {compact(name): device for device in parsed for name in (device.name, *device.aliases)}


def _device(name: str) -> Accelerator | None:
    bare = re.sub(r"\(.*?\)", "", name)
    plain = re.sub(r"(?i)^(nvidia|amd|intel)\s+", "", bare).strip()
    known = _extra_devices()
    for candidate in (plain, bare):
        if compact(candidate) in known:
            return known[compact(candidate)]
    try:
        return device_of(plain) or device_of(name)
    except NotFound:
        return None


def _weights(name: str, engine: EngineName) -> str | None:
    """Key of the weight format of a record."""
    text = name.upper().removeprefix("UD-").replace("_XL", "_M")
    alike = {"Q8_K_M": "Q8_0", "MXFP4": "MXFP4_MOE", "Q3_K_M": "Q3_K_M"}
    if engine == "llamacpp":
        text = {"INT4": "Q4_0", "INT8": "Q8_0", "FP16": "F16"}.get(text, text)
        key = gguf_key(alike.get(text, text))
        return key if key in WEIGHT_FORMATS else None
    if engine == "mlx":
        return {"4BIT": "mlx_4bit", "6BIT": "mlx_6bit", "8BIT": "mlx_8bit", "MXFP4": "mxfp4"}.get(text, "bf16")
    plain = {
        "FP16": "fp16",
        "F16": "fp16",
        "BF16": "bf16",
        "FP8": "fp8",
        "NVFP4": "nvfp4",
        "MXFP4": "mxfp4_experts",
        "AWQ-INT4": "awq_g128",
        "GPTQ-INT4": "gptq_g128",
        "INT4": "int4_g128",
        "INT8": "w8a8",
    }
    return plain.get(text)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _experts_on_host(offload: dict[str, Any], model: Model) -> int:
    """Layers' worth of experts that the record leaves to the processor."""
    layers = model.architecture.layers
    if "experts" in str(offload.get("device", "")):
        return layers
    some = re.search(r"(\d+) of the experts", str(offload.get("experts", "")))
    counts = [g.channel_mixer.experts for g in model.architecture.groups if isinstance(g.channel_mixer, MixtureOfExperts)]
    return round(layers * (1 - int(some[1]) / counts[0])) if some and counts else 0


def _host(offload: dict[str, Any]) -> Host:
    """Bandwidth and cores as far as the record tells them."""
    text = " ".join(str(value) for value in offload.values())
    stated = re.search(r"about (\d+) GB/s", text)
    channels = re.search(r"(\d+) channels DDR5-(\d+)", text)
    sockets = _number(offload.get("numa_copies")) or 1.0
    cores = re.search(r"\((\d+) cores\)", text)
    host = _rules()["hosts"].get(str(offload.get("cpu", "")).split(",")[0], {})
    bandwidth = host.get("memory_bandwidth_gbps", 89.6)
    if stated:
        bandwidth = float(stated[1])
    if channels:
        bandwidth = sockets * int(channels[1]) * int(channels[2]) * 8e-3
    return Host(
        memory_bandwidth_gbps=bandwidth,
        cores=int(cores[1]) if cores else host.get("cores", 16),
        gflops_per_core=host.get("gflops_per_core", 128.0),
    )


def case_of(record: dict[str, Any]) -> Case | Refused:
    """The case of one record of speeds, or why it is none."""
    name = str(record.get("id"))
    rules = _rules()
    for reason, ids in rules["refused"].items():
        if name in ids:
            return Refused(name, reason)
    shown = str(record.get("engine"))
    engine = _ENGINES.get(shown.lower())
    if engine is None:
        return Refused(name, "unknown_engine")
    extra, offload = record.get("extra") or {}, record.get("cpu_offload") or {}
    if shown == "ktransformers" and record["metric"] == "prefill_tok_s":
        return Refused(name, "own_kernels")
    speculative = extra.get("speculative")
    if isinstance(speculative, dict) and "num_draft_tokens" not in speculative:
        return Refused(name, "draft_unknown")
    gpu = str(record.get("gpu") or str(offload.get("cpu", "")).removesuffix(" (64 cores)"))
    device, model = _device(gpu), _model(str(record.get("model")))
    weights = _weights(str(record.get("weight_format")), engine)
    if device is None or model is None or weights is None:
        return Refused(name, "unknown_name")
    experts = _experts_on_host(offload, model)
    asked = offload.get("gpu_layers", offload.get("ngl"))
    settings: dict[str, Any] = {"name": engine, "version": _version(record)}
    if engine == "llamacpp":
        backend = "vulkan" if "vulkan" in str(extra.get("backend", "")).lower() else "auto"
        micro = int(_number(extra.get("ubatch")))
        settings |= {
            "backend": backend,
            "n_gpu_layers": None if asked is None else int(asked),
            "n_cpu_moe": int(_number(offload.get("n_cpu_moe")) or experts),
            "n_ubatch": micro or None,
            "flash_attention": False if extra.get("flash_attn") == 0 else None,
            "kv_on_host": offload.get("kv_cache") == "host memory",
        }
    tensor = int(_number(record.get("tp")) or 1)
    stages = int(_number(record.get("pp")) or 1)
    cache = str(record.get("kv_dtype") or "").lower()
    scenario = Scenario(
        model=model,
        accelerator=device,
        deployment=Deployment(
            accelerators=tensor * stages, tensor_parallel=tensor, pipeline_parallel=stages
        ),
        precision=Precision(weights=weights, kv_cache="fp8" if cache == "fp8" else "bf16"),
        engine=Engine(**settings),
        host=_host(offload),
        speculative=Speculative(kind="mtp", tokens=int(speculative["num_draft_tokens"]))
        if isinstance(speculative, dict)
        else Speculative(),
    )
    return _case(record, scenario, shown, gpu)


def _model(name: str) -> Model | None:
    try:
        return model_of(_rules()["models"].get(name, name))
    except NotFound:
        return None


def _version(record: dict[str, Any]) -> str:
    stated = record.get("engine_version")
    # Tables without a version are those of 2024 (source's own dates).
    return str(stated) if stated else {"vllm": "0.4", "tensorrt-llm": "0.9"}.get(str(record["engine"]).lower(), "")


def _case(record: dict[str, Any], scenario: Scenario, shown: str, gpu: str) -> Case:
    extra = record.get("extra") or {}
    batch = _number(record.get("batch_or_concurrency")) or 1.0
    prompt, answer = _number(record.get("input_len")), _number(record.get("output_len"))
    value, metric = _number(record.get("value")), str(record["metric"])
    stated = _number(extra.get("weights_gib")) * 2**30
    scale = 1.0
    if stated:
        from core.model.parameters import weight_bytes

        scale = stated / weight_bytes(scenario.model.architecture, WEIGHT_FORMATS[scenario.precision.weights])
    bench = record["mode"] == "llama_bench"
    if record.get("input_len") is None:
        prompt = _SHORT_PROMPT
    kind: Kind = "decode"
    if metric == "prefill_tok_s":
        kind = "prefill"
        depth = _number(extra.get("depth"))
        tokens = max(prompt, 2048.0) if batch > 1 else prompt
        steps: tuple[Step, ...] = (Step(1.0, 0.0, 0.0, tokens, depth),)
        seconds = tokens / value
    elif metric == "ttft_ms":
        kind = "prefill"
        steps = (Step(1.0, 0.0, 0.0, prompt, 0.0),)
        seconds = value * 1e-3
    elif metric == "latency_s" or (metric == "output_tok_s" and answer and record.get("input_len") is not None):
        seconds = value if metric == "latency_s" else answer / value
        steps = (Step(1.0, 0.0, 0.0, prompt), Step(answer - 1, batch, prompt + 0.5 * answer))
    else:
        gained = _number((extra.get("speculative") or {}).get("mean_tokens_per_step")) or 1.0
        seconds = gained * batch / value
        steps = (Step(1.0, batch, prompt + 0.5 * (answer or _SHORT_ANSWER)),)
    del bench
    return Case(
        id=str(record["id"]),
        kind=kind,
        scenario=scenario,
        steps=steps,
        seconds=seconds,
        weight_scale=scale,
        model=str(record["model"]),
        gpu=gpu,
        engine=shown,
        first_token=metric == "ttft_ms",
    )


def seconds_of(case: Case, plan: Any) -> np.ndarray[Any, Any]:
    """Predicted seconds of a case, (4,): optimistic, expected, pessimistic, bound."""
    columns = [np.array([getattr(step, name) for step in case.steps]) for name in
               ("decoding", "context", "prefill", "history")]
    counts = np.array([step.count for step in case.steps])
    return np.asarray((plan.seconds(slice(0, 4), *columns) * counts).sum(axis=1))
