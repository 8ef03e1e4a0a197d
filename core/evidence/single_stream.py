"""Measured speeds of one stream against the model: llama-bench, single batches, time to a first token.

Each record becomes a case: a plan, the steps that the measurement ran, and the seconds it took.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

import resources
from core.catalog.search import compact
from core.errors import NotFound
from core.evidence.memory_predictions import Prediction
from core.evidence.naming import device_of, model_of
from core.latency.local import LocalPlan, local_plan_of
from core.latency.local_work import Scale
from core.model.formats import stored_bits
from core.model.parameters import tensor_groups, weight_bytes
from core.quantities import FloatArray
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, gguf_key
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
    "ollama": "ollama",
    "mlx-lm": "mlx",
    "mlx-swift-lm": "mlx",
    "rapid-mlx": "mlx",
    "transformers": "transformers",
}
_SHORT_PROMPT = 32.0  # tokens, where a record of answers does not say
_SHORT_ANSWER = 128.0
_EIGHT_BITS = 8.5  # Q8_0, scales included
_PACKED = 2048.0  # tokens, a batch of prompts in one call
_METRICS = ("decode_tok_s", "output_tok_s", "prefill_tok_s", "ttft_ms", "latency_s")


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
    scale: Scale
    model: str
    gpu: str
    source: str
    metric: str
    value: float  # in the unit of the metric
    first_token: bool = False  # a server's base is part of the seconds

    @property
    def stack(self) -> str:
        """What one measured point speaks for: model, device, engine and format."""
        s = self.scenario
        engine = (s.engine.name, s.engine.backend, s.precision.weights, s.deployment.pipeline_parallel)
        return " ".join(map(str, (self.model, self.gpu, *engine)))

    @property
    def group(self) -> str:
        """In which errors are counted."""
        if self.kind == "prefill":
            return "one prompt"
        return "batches" if self.steps[-1].decoding > 1 else "one stream"


@dataclass(frozen=True)
class Refused:
    """A record that is not predicted, and the key of the reason (``cli.validate.reasons.*``)."""

    id: str
    engine: str
    metric: str
    value: float
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
    rules = _rules()["formats"]
    key = rules[engine].get(text) or gguf_key(rules["gguf"].get(text, text))
    return key if key in WEIGHT_FORMATS else None


def _tree(record: dict[str, Any], key: str) -> dict[str, Any]:
    found = record.get(key)
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _experts_on_host(offload: dict[str, Any], model: Model) -> int:
    """Layers' worth of experts that the record leaves to the processor."""
    layers = model.architecture.layers
    if "experts" in str(offload.get("device", "")):
        return layers
    some = re.search(r"(\d+) of the experts", str(offload.get("experts", "")))
    counts = [
        g.channel_mixer.experts
        for g in model.architecture.groups
        if isinstance(g.channel_mixer, MixtureOfExperts)
    ]
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


def cases_of(records: Iterable[dict[str, Any]]) -> Iterator[Case | Refused]:
    """A case, or why there is none, for each record of one stream of these engines."""
    for record in records:
        if record.get("mode") in ("llama_bench", "single_batch"):
            engine = _ENGINES.get(str(record.get("engine")).lower())
            if engine is not None and _number(record.get("value")) > 0:
                yield _of_record(record, engine)


def _of_record(record: dict[str, Any], engine: EngineName) -> Case | Refused:
    refused = partial(Refused, str(record.get("id")), engine, str(record.get("metric")), record["value"])
    for reason, ids in _rules()["refused"].items():
        if record.get("id") in ids:
            return refused(reason)
    offload = _tree(record, "cpu_offload")
    if record.get("metric") not in _METRICS:
        return refused("other_metric")
    if record.get("engine") == "ktransformers" and record["metric"] == "prefill_tok_s":
        return refused("own_kernels")
    speculative = _tree(record, "extra").get("speculative")
    if isinstance(speculative, dict) and not _number(speculative.get("num_draft_tokens")):
        return refused("speculation_of_unknown_acceptance")
    # Runs on the processor alone name no device.
    gpu = str(record.get("gpu") or str(offload.get("cpu", "")).partition(" (")[0])
    device, model = _device(gpu), _model(str(record.get("model")))
    weights = _weights(str(record.get("weight_format")), engine)
    if device is None or model is None or weights is None:
        return refused("unknown_name")
    stages = int(_number(record.get("pp")) or 1)
    scenario = Scenario(
        model=model,
        accelerator=device,
        deployment=Deployment(accelerators=stages, pipeline_parallel=stages),
        precision=Precision(weights=weights, kv_cache=_cache(str(record.get("kv_dtype") or ""))),
        engine=_engine(record, engine, model),
        host=_host(offload),
        speculative=Speculative(kind="mtp", tokens=int(speculative["num_draft_tokens"]))
        if isinstance(speculative, dict)
        else Speculative(),
    )
    return _case(record, scenario, gpu)


def _cache(name: str) -> str:
    low = name.lower()
    return low if low in CACHE_FORMATS else "fp16"


def _engine(record: dict[str, Any], engine: EngineName, model: Model) -> Engine:
    """The engine's settings as far as the record tells them."""
    extra, offload = _tree(record, "extra"), _tree(record, "cpu_offload")
    settings: dict[str, Any] = {"name": engine}
    if engine in ("llamacpp", "ollama"):
        asked = offload.get("gpu_layers", offload.get("ngl"))
        moe = _number(offload.get("n_cpu_moe")) or _experts_on_host(offload, model)
        settings |= {
            "backend": "vulkan" if "vulkan" in str(extra.get("backend", "")).lower() else "auto",
            "n_gpu_layers": None if asked is None else int(_number(asked)),
            "n_cpu_moe": int(moe),
            "n_ubatch": int(_number(extra.get("ubatch"))) or None,
            "flash_attention": False if extra.get("flash_attn") == 0 else None,
            "kv_on_host": offload.get("kv_cache") == "host memory",
        }
    return Engine(**settings)


def _model(name: str) -> Model | None:
    try:
        return model_of(_rules()["models"].get(name, name))
    except NotFound:
        return None


def _scale(record: dict[str, Any], scenario: Scenario) -> Scale:
    """From the stated size of the file.

    Files of mixtures of experts named "UD-" keep all but the experts in 8 bit (the sizes of such files
    add up so), those in 8 bit keep it wider; all other files differ from llama.cpp's mixture evenly.
    """
    known = _rules()["file_gib"].get(f"{record.get('model')} {record.get('weight_format')}", 0.0)
    stated = (_number(_tree(record, "extra").get("weights_gib")) or known) * 2**30
    if not stated:
        return Scale()
    arch, weights = scenario.model.architecture, WEIGHT_FORMATS[scenario.precision.weights]
    whole = float(weight_bytes(arch, weights))
    groups = tensor_groups(arch)
    experts = sum(
        g.parameters * float(stored_bits(arch, weights, "expert")) / 8
        for g in groups
        if g.tensor_class == "expert"
    )
    if not experts or not str(record.get("weight_format")).upper().startswith("UD-"):
        return Scale(stated / whole, stated / whole)
    others = sum(g.parameters for g in groups if g.tensor_class not in ("expert", "vision"))
    eight = others * _EIGHT_BITS / 8
    if weights.bits > _EIGHT_BITS - 1:
        eight = min(max(stated - experts, eight), 2.0 * others)
    return Scale((stated - eight) / experts, eight / (whole - experts))


def _case(record: dict[str, Any], scenario: Scenario, gpu: str) -> Case:
    extra, metric = _tree(record, "extra"), str(record["metric"])
    batch = _number(record.get("batch_or_concurrency")) or 1.0
    prompt, answer = _number(record.get("input_len")), _number(record.get("output_len"))
    value, stated = float(record["value"]), record.get("input_len") is not None
    prompt = prompt if stated else _SHORT_PROMPT
    kind: Kind = "prefill" if metric in ("prefill_tok_s", "ttft_ms") else "decode"
    steps: tuple[Step, ...] = (Step(1.0, batch, prompt + 0.5 * (answer or _SHORT_ANSWER)),)
    if kind == "prefill":
        # Prompts of a batch share micro-batches.
        tokens = max(prompt, _PACKED) if batch > 1 else prompt
        steps = (Step(1.0, 0.0, 0.0, tokens, _number(extra.get("depth"))),)
        seconds = value * 1e-3 if metric == "ttft_ms" else tokens / value
    elif metric == "latency_s" or (metric == "output_tok_s" and answer and stated):
        seconds = value if metric == "latency_s" else answer / value
        steps = (Step(1.0, 0.0, 0.0, prompt), Step(answer - 1, batch, prompt + 0.5 * answer))
    else:
        seconds = (_number(_tree(extra, "speculative").get("mean_tokens_per_step")) or 1.0) * batch / value
    return Case(
        id=str(record["id"]),
        kind=kind,
        scenario=scenario,
        steps=steps,
        seconds=seconds,
        scale=_scale(record, scenario),
        model=str(record["model"]),
        gpu=gpu,
        source=str(record.get("source_url")).partition("?")[0],
        metric=metric,
        value=value,
        first_token=metric == "ttft_ms",
    )


def unfit() -> frozenset[str]:
    """Records that are predicted but not fitted on."""
    return frozenset(_rules()["not_fitted"])


def plan_for(case: Case) -> LocalPlan:
    """The plan of a case, with the weights as large as its file."""
    s = case.scenario
    return local_plan_of(
        s.model.architecture,
        s.accelerator,
        s.deployment,
        s.precision,
        s.engine,
        s.host,
        s.speculative,
        case.scale,
    )


def seconds_of(case: Case, plan: LocalPlan) -> FloatArray:
    """Predicted seconds of a case, (4,): optimistic, expected, pessimistic, bound."""
    columns = [
        np.array([getattr(step, name) for step in case.steps])
        for name in ("decoding", "context", "prefill", "history")
    ]
    counts = np.array([step.count for step in case.steps])
    server = 1e-3 * plan.profile.serving.first_token_ms if case.first_token else 0.0
    return np.asarray((plan.seconds(slice(0, 4), *columns) * counts).sum(axis=1)) + server


def predictions_of_streams(records: Iterable[dict[str, Any]]) -> Iterator[Prediction]:
    """A prediction in the record's own unit, or the reason why there is none, for each."""
    for case in cases_of(records):
        if isinstance(case, Refused):
            yield Prediction(case.id, case.engine, case.metric, case.value, skipped=case.reason)
            continue
        seconds = seconds_of(case, plan_for(case))[:3]
        rises = case.metric in ("ttft_ms", "latency_s")
        values = case.value * (seconds / case.seconds if rises else case.seconds / seconds)
        low, expected, high = sorted(float(v) for v in values)
        yield Prediction(
            case.id,
            case.scenario.engine.name,
            case.metric,
            case.value,
            expected,
            low,
            high,
            group=case.group,
        )
