"""Measured servers and batches as cases: a scenario, a load, and what was measured.

Two kinds of record: rows of a table of served points (``server_points.csv``: time to the first token
and per output token by concurrency), and objects with one metric each (``speed.jsonl``).
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import resources
from core.errors import InferometerError
from core.evidence.naming import device_of, engine_of, model_of
from core.importers.hf_config import model_from_config
from core.latency.efficiency import SERVER_ENGINES
from core.model.operators import Layout
from core.model.parameters import weight_bytes
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, LatentAttention, MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Workload

# users: so many at a time; rate: arrivals a second; batch: all at once, none follows; full: as many as
# fit, for ever; pool: users beside which a whole queue waits.
Load = Literal["users", "rate", "batch", "full"]
Group = Literal["server TPOT", "server TTFT", "server throughput", "batches", "one stream", "one prompt"]

_SYSTEMS = {
    "h100_sxm": "H100 SXM5 80GB",
    "h200_sxm": "H200 SXM 141GB",
    "b200_sxm": "B200 SXM",
    "b300_sxm": "B300 SXM",
    "gb200": "GB200 (one GPU)",
    "gb300": "GB300 (one GPU)",
    "a100_sxm": "A100 SXM4 80GB",
    "l40s": "L40S",
    "rtx_pro_6000_server": "RTX PRO 6000 Blackwell Server",
    "h20_sxm": "H20 96GB",
    "mi300x": "Instinct MI300X",
    "mi325x": "Instinct MI325X",
    "mi355x": "Instinct MI355X",
    "gb10": "DGX Spark (GB10)",
}
_ENGINES = {"lmdeploy (turbomind)": "trtllm"}
_LONGEST = 10**6


@dataclass(frozen=True)
class Case:
    """One measured value."""

    id: str
    group: Group
    metric: str  # "ttft", "tpot", "itl" in s; "output", "total" in tokens/s; "latency" in s
    measured: float
    scenario: Scenario = field(repr=False)
    load: Load
    amount: float  # of the load
    model: str  # families that are left out together
    gpu: str
    stack: str  # what one offset belongs to: model, device, engine and layout
    pool: float = 0.0  # tokens that the cache holds, where the record states it
    requests: float = 0.0  # of the whole run, where the record states it
    spread: float = 0.0  # of the answers' lengths, over their mean


@dataclass(frozen=True)
class Refused:
    """A value that is not predicted, and the key of the reason; ``ruled`` by the rules of the data file."""

    id: str
    metric: str
    measured: float
    reason: str
    ruled: bool


Found = Case | Refused


@cache
def _rules() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/evidence/served.json"))
    return tree


def cases_of_points(text: str) -> Iterator[Found]:
    """Cases of a table of served points, two a row; a run listed twice counts once."""
    seen: set[tuple[str, ...]] = set()
    for row in csv.DictReader(io.StringIO(text)):
        yield from _point(row, seen)


def _point(row: dict[str, str], seen: set[tuple[str, ...]]) -> Iterator[Found]:
    name = row.get("id", "")
    values = {m: _number(row.get(f"silicon_{m}_ms")) / 1e3 for m in ("ttft", "tpot")}
    reasons = {m: _ruled(name, m, row, values["ttft"]) for m in values}
    shape = _shape(row)
    users = re.search(r"_c(\d+)(?:_|$)", name)
    key = (row["system"], row["backend"], row["isl"], row["osl"], users[1] if users else "", str(shape))
    key += tuple(f"{1e3 * v:.1f}" for v in values.values())
    twice, known = key in seen, None
    seen.add(key)
    model, device = model_of(row["model_path"]), _system(row["system"])
    if not users:
        known = "no_concurrency"
    elif model is None or device is None or row["backend"] not in SERVER_ENGINES:
        known = "unknown_name"
    for metric, value in values.items():
        if value <= 0:
            continue
        if reasons[metric] or twice:
            yield Refused(name, metric, value, reasons[metric] or "same_run_twice", ruled=True)
        elif known or model is None or device is None or users is None:
            yield Refused(name, metric, value, known or "unknown_name", ruled=False)
        else:
            yield _served_point(row, metric, value, model, device, float(users[1]), shape)


def _ruled(name: str, metric: str, row: dict[str, str], first_token: float) -> str:
    rules = _rules()
    for rule in rules["refused"]:
        if re.search(rule["pattern"], name):
            return str(rule["reason"])
    if first_token > rules["overflow_seconds"]:
        return "cache_overflow"
    if metric == "ttft":
        for rule in rules["refused_first_token"]:
            versions = not rule.get("without_version") or not row["backend_version"]
            if versions and re.search(rule["pattern"], name):
                return str(rule["reason"])
    return ""


def _shape(row: dict[str, str]) -> Layout:
    """Devices and their division: the columns are not always what they are called."""
    named = re.search(r"_tp(\d+)", row["id"])
    tp, ep = int(_number(row["moe_tp_size"]) or 1), int(_number(row["moe_ep_size"]) or 1)
    devices = int(named[1]) if named else (tp if tp == ep else tp * ep)
    dealt = re.search(r"_ep(\d+)", row["id"])
    experts = int(dealt[1]) if dealt else (devices if tp == ep > 1 else ep)
    copies = devices if _number(row.get("attention_dp_size")) > 1 else 1
    return Layout(devices, copies, min(max(1, experts), devices))


def _served_point(
    row: dict[str, str],
    metric: str,
    value: float,
    model: Model,
    device: Accelerator,
    users: float,
    shape: Layout,
) -> Case:
    rule = _rules()["uniform_lengths"]
    factor = rule["factor"] if re.search(rule["pattern"], row["id"]) else 1.0
    weights = _point_weights(row["precision"], row["model_path"], model.architecture)
    lengths = [max(1, round(factor * _number(row[key]))) for key in ("isl", "osl")]
    sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds)
    scenario = Scenario(
        model=model,
        accelerator=device,
        deployment=Deployment(
            accelerators=shape.devices,
            tensor_parallel=shape.devices,
            expert_parallel=shape.expert_parallel if sparse else 1,
            attention_data_parallel=shape.data_parallel,
        ),
        precision=Precision(
            weights=weights, kv_cache=_point_cache(row["backend"], weights, model.architecture, device)
        ),
        engine=Engine(name=row["backend"], version=row["backend_version"] or "new", max_model_len=_LONGEST),  # type: ignore[arg-type]
        workload=Workload(prompt_tokens=lengths[0], output_tokens=lengths[1], users=int(users)),
    )
    stack = f"{model.name}|{device.name}|{row['backend']} {row['backend_version']}|{weights}|{shape}"
    group: Group = "server TTFT" if metric == "ttft" else "server TPOT"
    family = _family(row["model_path"])
    return Case(row["id"], group, metric, value, scenario, "users", users, family, device.name, stack)


def _family(name: str) -> str:
    """Models of one shape are left out together."""
    low = name.lower().rsplit("/", 1)[-1]
    for pattern, family in (
        (r"deepseek-(r1|v3)(?!-distill)", "DeepSeek-V3"),
        (r"llama-?3.*8b", "Llama-3-8B"),
        (r"(llama-?3|nemotron).*70b", "Llama-3-70B"),
        (r"gpt-oss", "gpt-oss"),
        (r"qwen3-235b", "Qwen3-235B"),
        (r"qwen3\.5", "Qwen3.5"),
    ):
        if re.search(pattern, low):
            return family
    return name.rsplit("/", 1)[-1]


def _point_weights(precision: str, path: str, arch: Architecture) -> str:
    low = path.lower()
    latent = any(isinstance(m, LatentAttention) for k in arch.kinds for m in k.token_mixers)
    sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in arch.kinds)
    if "gpt-oss" in low:
        return "mxfp4_experts"
    if precision == "fp8":
        return "fp8_block" if sparse else "fp8"
    if precision == "fp4":
        if not sparse:
            return "nvfp4"
        return "nvfp4_mlp" if latent else "nvfp4_experts"
    if precision.startswith("int4"):
        return "int4_g32_experts" if sparse else "int4_g128"
    return "bf16"


def _point_cache(backend: str, weights: str, arch: Architecture, device: Accelerator) -> str:
    """What the runs must have held: TensorRT-LLM FP8 beside narrow weights, vLLM for dense FP8 models,
    SGLang on Blackwell for latents; else 16 bit.
    """
    if WEIGHT_FORMATS[weights].bits >= 16:
        return "bf16"
    latent = any(isinstance(m, LatentAttention) for k in arch.kinds for m in k.token_mixers)
    if backend == "trtllm" or (backend == "vllm" and weights == "fp8"):
        return "fp8"
    return "fp8" if backend == "sglang" and latent and "Blackwell" in device.architecture else "bf16"


def _system(name: str) -> Accelerator | None:
    try:
        return device_of(_SYSTEMS.get(name, name))
    except InferometerError:
        return None


# --- records with one metric each ---


def cases_of_records(records: Iterable[dict[str, Any]]) -> Iterator[Found]:
    """Cases of the records of servers and batches; those of other engines are passed over."""
    seen: set[tuple[Any, ...]] = set()
    for tree in records:
        engine = str(tree.get("engine") or "").lower()
        key = _ENGINES.get(engine) or engine_of(engine)
        if key in SERVER_ENGINES and tree.get("mode") in ("server", "offline_throughput", "single_batch"):
            yield _record(tree, str(key), seen)


_METRICS = {
    "tpot_ms": ("tpot", 1e-3),
    "itl_ms": ("itl", 1e-3),
    "ttft_ms": ("ttft", 1e-3),
    "latency_s": ("latency", 1.0),
    "output_tok_s": ("output", 1.0),
    "decode_tok_s": ("decode", 1.0),
    "total_tok_s": ("total", 1.0),
    "prefill_tok_s": ("prefill", 1.0),
}


def _record(tree: dict[str, Any], engine: str, seen: set[tuple[Any, ...]]) -> Found:
    name, extra = str(tree.get("id")), tree.get("extra") or {}
    metric, unit = _METRICS.get(str(tree.get("metric")), ("", 1.0))
    measured = _number(tree.get("value")) * unit

    def refuse(reason: str, ruled: bool = False) -> Refused:
        return Refused(name, metric, measured, reason, ruled)

    for reason, ids in _rules()["speed_refused"].items():
        if name in ids:
            return refuse(reason)
    if extra.get("published_via"):
        return refuse("same_run_twice", ruled=True)  # a sample of the table of served points
    if extra.get("speculative"):
        return refuse("speculation_of_unknown_acceptance")
    if not metric or measured <= 0 or tree.get("cpu_offload"):
        return refuse("other_metric")
    if tree.get("statistic") not in (None, "mean", "median"):
        return refuse("percentile")
    model, device = _record_model(str(tree.get("model"))), _record_device(str(tree.get("gpu")))
    weights = _record_weights(str(tree.get("weight_format") or ""), model)
    if model is None or device is None or weights is None:
        return refuse("unknown_name")
    load, amount, group = _record_load(tree, metric, extra)
    if not load:
        return refuse("load_not_stated")
    prompt, answer = _number(tree.get("input_len")), _number(tree.get("output_len"))
    if extra.get("suite"):
        usual = _rules()["suites"].get(str(extra.get("benchmark")).removesuffix(".9").removesuffix("-99"))
        prompt, answer = prompt or (usual or (0, 0))[0], answer or (usual or (0, 0))[1]
    if extra.get("suite") and (prompt <= 0 or answer <= 0):
        return refuse("lengths_not_stated")
    prompt = prompt or 64.0
    answer = answer or (1.0 if metric in ("ttft", "prefill") else 128.0)
    layout = _record_layout(tree, extra, model)
    if tree.get("tp") is None and extra.get("suite"):
        layout = _smallest(model, device, weights)
    source = str(tree.get("source_url") or "")
    for pattern, link in _rules()["links_by_source"].items():
        if re.search(pattern, source):
            layout = layout.model_copy(update={"link": link})
    cache = str(tree.get("kv_dtype") or "").lower()
    narrow = cache.startswith("fp8") or (
        engine == "trtllm" and not cache and WEIGHT_FORMATS[weights].bits < 16
    )
    total = int(_number(tree.get("gpu_count")) or layout.tensor_parallel)
    scenario = Scenario(
        model=model,
        accelerator=device,
        deployment=layout.model_copy(update={"accelerators": max(total, layout.tensor_parallel)}),
        precision=Precision(weights=weights, kv_cache="fp8" if narrow else "bf16"),
        engine=Engine(
            name=engine,  # type: ignore[arg-type]
            version=_version(tree),
            max_model_len=_LONGEST,
            max_num_seqs=int(_number(extra.get("max_num_seqs"))) or None,
            max_num_batched_tokens=_tokens(extra),
            enforce_eager=extra.get("cuda_graphs") is False,
        ),
        workload=Workload(
            prompt_tokens=max(1, round(prompt)),
            output_tokens=max(1, round(answer)),
            users=max(1, round(amount)) if load == "users" else 1,
        ),
    )
    family = _family(str(tree.get("model")))
    stack = f"{model.name}|{device.name}|{engine} {tree.get('engine_version')}|{weights}|{layout}"
    pool = _number(extra.get("kv_capacity_tokens"))
    requests = _number(extra.get("num_requests")) or _number(extra.get("completed"))
    return Case(
        name,
        group,
        metric,
        measured,
        scenario,
        load,  # type: ignore[arg-type]
        amount,
        family,
        device.name,
        stack,
        pool,
        requests,
        1.0 if extra.get("dataset") else 0.0,  # conversations: about exponential
    )


@cache
def _record_model(name: str) -> Model | None:
    config = _rules()["models"].get(name)
    return model_from_config(config, name) if config else model_of(name)


def _smallest(model: Model, device: Accelerator, weights: str) -> Deployment:
    """The fewest devices that hold the weights and leave two fifths for the cache."""
    room = 0.6 * device.memory_gb_nominal * 1e9
    held = weight_bytes(model.architecture, WEIGHT_FORMATS[weights])
    devices = next((n for n in (1, 2, 4) if held / n <= room), 8)
    return Deployment(accelerators=devices, tensor_parallel=devices)


def _tokens(extra: dict[str, Any]) -> int | None:
    return int(_number(extra.get("max_num_batched_tokens"))) or None


def _version(tree: dict[str, Any]) -> str:
    """As stated; collections that state none are of an age."""
    stated = str(tree.get("engine_version") or "")
    known = re.search(r"about (\d[\d.]*)", stated)
    if stated:
        return known[1] if known else stated
    source = str(tree.get("source_url") or "")
    for pattern, version in _rules().get("versions_by_source", {}).items():
        if re.search(pattern, source):
            return str(version)
    return "new"


def _record_device(name: str) -> Accelerator | None:
    plain = re.sub(r"(?i)^(nvidia|amd|intel)\s+", "", name)
    if "64GB (HBM2e, 1593 MHz)" in name:
        base = device_of("H100 SXM5 80GB")
        change = {"memory_gb_nominal": 64.0, "memory_mib_reported": 65247, "memory_bandwidth_gbps": 1631.0}
        return base and base.model_copy(update={"name": "H100 64GB (HBM2e)", **change})
    try:
        return device_of({"B200 180GB": "B200 SXM", "GB10 (DGX Spark)": "DGX Spark (GB10)"}.get(plain, plain))
    except InferometerError:
        return None


def _record_weights(name: str, model: Model | None) -> str | None:
    low = name.lower()
    sparse = model is not None and any(
        isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds
    )
    latent = model is not None and any(
        isinstance(m, LatentAttention) for k in model.architecture.kinds for m in k.token_mixers
    )
    if low in ("nvfp4", "fp4"):
        return "nvfp4" if not sparse else ("nvfp4_mlp" if latent else "nvfp4_experts")
    if low == "fp8" and latent:
        return "fp8_block"
    found = {
        "fp16": "fp16",
        "bf16": "bf16",
        "f16": "fp16",
        "fp8": "fp8",
        "mxfp4": "mxfp4_experts",
        "awq-int4": "awq_g128",
        "gptq-int4": "gptq_g128",
        "int4": "int4_g128",
        "int8": "w8a8",
    }
    return found.get(low)


def _record_layout(tree: dict[str, Any], extra: dict[str, Any], model: Model) -> Deployment:
    devices = max(1, int(_number(tree.get("tp")) or 1))
    stages = max(1, int(_number(tree.get("pp")) or 1))
    experts = max(1, int(_number(tree.get("ep")) or 1))
    copies = extra.get("attention_dp")
    count = int(_number(tree.get("gpu_count")) or devices)
    sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds)
    data = 1
    if isinstance(copies, int | float) and not isinstance(copies, bool) and copies > 1:
        data, devices = int(copies), max(devices, int(copies))
    elif isinstance(copies, str) and "enabled" in copies and sparse and devices > 1:
        data, experts = devices, devices
    if experts > devices and experts <= count:
        devices = experts
    return Deployment(
        accelerators=devices * stages,
        tensor_parallel=devices,
        pipeline_parallel=stages,
        expert_parallel=min(experts, devices) if sparse else 1,
        attention_data_parallel=data,
    )


def _record_load(tree: dict[str, Any], metric: str, extra: dict[str, Any]) -> tuple[Load | str, float, Group]:
    """How requests came, how many, and in which group the errors are counted."""
    mode, rate = tree["mode"], tree.get("request_rate")
    at_once = _number(tree.get("batch_or_concurrency"))
    if mode == "single_batch":
        return "batch", max(1.0, at_once), "one prompt" if metric in ("ttft", "prefill") else "one stream"
    if mode == "offline_throughput":
        if at_once and (metric == "latency" or extra.get("batching")):
            return "batch", at_once, "batches"
        return ("users", at_once, "batches") if at_once else ("full", 0.0, "batches")
    group: Group = {"ttft": "server TTFT", "tpot": "server TPOT", "itl": "server TPOT"}.get(
        metric, "server throughput"
    )  # type: ignore[assignment]
    if extra.get("mean_running"):
        return "users", float(extra["mean_running"]), group
    if isinstance(rate, int | float) and not isinstance(rate, bool):
        return "rate", float(rate), group
    if at_once:
        return "users", at_once, group
    if extra.get("suite") and str(extra.get("scenario")).lower() == "server":
        # A submission is as fast as its limits on latency let it be: close to full.
        return ("full", 0.0, group) if metric in ("output", "total") else ("", 0.0, group)
    return "", 0.0, group


def _number(value: Any) -> float:
    if isinstance(value, bool):
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0
