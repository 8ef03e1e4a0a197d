"""Records with one metric each as cases: servers, offline runs, static batches and single requests."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from core.errors import InferometerError
from core.evidence.measured import publisher
from core.evidence.naming import device_of, engine_of, model_of
from core.evidence.served import (
    LONGEST,
    Case,
    Found,
    Group,
    Load,
    Refused,
    Seen,
    family_of,
    number_of,
    point,
    rules,
)
from core.importers.hf_config import model_from_config
from core.latency.efficiency import SERVER_ENGINES
from core.model.parameters import weight_bytes
from core.spec.accelerator import Accelerator
from core.spec.architecture import LatentAttention, MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.strict_json import shortened

# Whose FP8 checkpoints are scaled by blocks; NVIDIA's own for TensorRT-LLM are not.
_BLOCK_FAMILIES = ("qwen3", "glm", "minimax")
_AT_ONCE = 1000.0  # requests a second, where a benchmark sends all of them at the start
_ENGINES = {"lmdeploy (turbomind)": "trtllm"}


def cases_of_records(records: Iterable[dict[str, Any]], seen: Seen | None = None) -> Iterator[Found]:
    """Cases of the records of servers and batches; those of other engines are passed over.

    A record that names the row of a table of served points is read as that row.
    """
    known: Seen = set() if seen is None else seen
    rows: dict[str, list[dict[str, Any]]] = {}
    for tree in records:
        engine = str(tree.get("engine") or "").lower()
        key = _ENGINES.get(engine) or engine_of(engine)
        if key not in SERVER_ENGINES or tree.get("mode") not in (
            "server",
            "offline_throughput",
            "single_batch",
        ):
            continue
        source = (tree.get("extra") or {}).get("source_row")
        if source:
            rows.setdefault(str(source), []).append({**tree, "engine": key})
        else:
            yield _record(tree, str(key))
    for name, found in rows.items():
        yield from _sampled(name, found, known)


def _sampled(name: str, found: list[dict[str, Any]], seen: Seen) -> Iterator[Found]:
    first, extra = found[0], found[0].get("extra") or {}
    device = _record_device(str(first.get("gpu")))
    precision = {"NVFP4": "fp4", "MXFP4": "fp4", "FP8": "fp8", "BF16": "bf16", "FP16": "bf16"}
    row = {
        "id": name,
        "backend": str(first["engine"]),
        "backend_version": str(first.get("engine_version") or ""),
        "model_path": str(first.get("model")),
        "system": device.name if device is not None else "",
        "precision": precision.get(str(first.get("weight_format")), str(first.get("weight_format")).lower()),
        "isl": str(first.get("input_len")),
        "osl": str(first.get("output_len")),
        "attention_dp_size": str(extra.get("attention_dp") or 1),
        "moe_tp_size": str(extra.get("moe_tp") or first.get("tp") or 1),
        "moe_ep_size": str(first.get("ep") or 1),
    }
    for tree in found:
        row[f"silicon_{tree.get('metric')}"] = str(tree.get("value"))
    names = {str(tree.get("metric")).removesuffix("_ms"): str(tree.get("id")) for tree in found}
    for case in point({"silicon_ttft_ms": "", "silicon_tpot_ms": "", **row}, seen):
        if case.metric in names:
            yield replace(case, id=names[case.metric])


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


def _known_reason(tree: dict[str, Any], metric: str, measured: float) -> str:
    """Why a record cannot be predicted, from the record alone; empty when it can."""
    for reason, ids in rules()["speed_refused"].items():
        if tree.get("id") in ids:
            return str(reason)
    if (tree.get("extra") or {}).get("speculative"):
        return "speculation_of_unknown_acceptance"
    if not metric or measured <= 0 or tree.get("cpu_offload"):
        return "other_metric"
    return "" if tree.get("statistic") in (None, "mean", "median") else "percentile"


def _record(tree: dict[str, Any], engine: str) -> Found:
    name, extra = str(tree.get("id")), tree.get("extra") or {}
    metric, unit = _METRICS.get(str(tree.get("metric")), ("", 1.0))
    measured = number_of(tree.get("value")) * unit

    def refuse(reason: str, ruled: bool = False) -> Refused:
        return Refused(name, metric, measured, reason, ruled)

    known = _known_reason(tree, metric, measured)
    if known:
        return refuse(known)
    model, device = _record_model(str(tree.get("model"))), _record_device(str(tree.get("gpu")))
    weights = _record_weights(str(tree.get("weight_format") or ""), model, engine)
    if model is None or device is None or weights is None:
        return refuse("unknown_name")
    load, amount, group = _record_load(tree, metric, extra)
    if not load:
        return refuse("load_not_stated")
    prompt, answer = number_of(tree.get("input_len")), number_of(tree.get("output_len"))
    if extra.get("suite"):
        usual = rules()["suites"].get(str(extra.get("benchmark")).removesuffix(".9").removesuffix("-99"))
        prompt, answer = prompt or (usual or (0, 0))[0], answer or (usual or (0, 0))[1]
    if extra.get("suite") and (prompt <= 0 or answer <= 0):
        return refuse("lengths_not_stated")
    prompt = prompt or 64.0
    answer = answer or (1.0 if metric in ("ttft", "prefill") else 128.0)
    layout = _record_layout(tree, extra, model)
    if tree.get("tp") is None and extra.get("suite"):
        layout = _smallest(model, device, weights)
    source = str(tree.get("source_url") or "")
    for pattern, link in rules()["links_by_source"].items():
        if re.search(pattern, source):
            layout = layout.model_copy(update={"link": link})
    cache = str(tree.get("kv_dtype") or "").lower()
    narrow = cache.startswith("fp8") or (
        engine == "trtllm" and not cache and WEIGHT_FORMATS[weights].bits < 16
    )
    total = int(number_of(tree.get("gpu_count")) or layout.tensor_parallel)
    scenario = Scenario(
        model=model,
        accelerator=device,
        deployment=layout.model_copy(update={"accelerators": max(total, layout.tensor_parallel)}),
        precision=Precision(weights=weights, kv_cache="fp8" if narrow else "bf16"),
        engine=Engine(
            name=engine,  # type: ignore[arg-type]
            version=_version(tree),
            max_model_len=LONGEST,
            max_num_seqs=int(number_of(extra.get("max_num_seqs"))) or None,
            max_num_batched_tokens=_tokens(extra),
            enforce_eager=extra.get("cuda_graphs") is False,
        ),
        workload=Workload(
            prompt_tokens=max(1, round(prompt)),
            output_tokens=max(1, round(answer)),
            users=max(1, round(amount)) if load == "users" else 1,
        ),
    )
    family = family_of(str(tree.get("model")))
    stack = f"{model.name}|{device.name}|{engine} {tree.get('engine_version')}|{weights}|{layout}"
    # A batch that was counted while it ran had room, whoever waited beside it.
    pool = math.inf if extra.get("mean_running") else number_of(extra.get("kv_capacity_tokens"))
    requests = _requests(extra)
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
        publisher(source.partition("?")[0]),
    )


@cache
def _record_model(name: str) -> Model | None:
    config = rules()["models"].get(name)
    return model_from_config(config, name) if config else model_of(name)


def _smallest(model: Model, device: Accelerator, weights: str) -> Deployment:
    """The fewest devices that hold the weights and leave two fifths for the cache."""
    room = 0.6 * device.memory_gb_nominal * 1e9
    held = weight_bytes(model.architecture, WEIGHT_FORMATS[weights])
    devices = next((n for n in (1, 2, 4) if held / n <= room), 8)
    return Deployment(accelerators=devices, tensor_parallel=devices)


def _requests(extra: dict[str, Any]) -> float:
    """Of the whole run, 0 where the record does not say: "ShareGPT, 1000 prompts" says it in words."""
    stated = number_of(extra.get("num_requests")) or number_of(extra.get("completed"))
    told = re.search(r"\b(\d{1,6}) prompts\b", str(extra.get("dataset") or ""))
    return stated or (float(told[1]) if told else 0.0)


def _tokens(extra: dict[str, Any]) -> int | None:
    return int(number_of(extra.get("max_num_batched_tokens"))) or None


def _version(tree: dict[str, Any]) -> str:
    """As stated; collections that state none are of an age."""
    stated = str(tree.get("engine_version") or "")
    known = re.search(r"about (\d[\d.]*)", stated)
    if stated:
        return known[1] if known else shortened(stated)[:40]
    source = str(tree.get("source_url") or "")
    for pattern, version in rules().get("versions_by_source", {}).items():
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


def _record_weights(name: str, model: Model | None, engine: str) -> str | None:
    low = name.lower()
    sparse = model is not None and any(
        isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds
    )
    latent = model is not None and any(
        isinstance(m, LatentAttention) for k in model.architecture.kinds for m in k.token_mixers
    )
    if low in ("nvfp4", "fp4"):
        return "nvfp4" if not sparse else ("nvfp4_mlp" if latent else "nvfp4_experts")
    published = "" if model is None else model.published_weight_format
    family = "" if model is None else model.name.lower()
    if low == "fp8" and (latent or published == "fp8_block"):
        return "fp8_block"
    if low == "fp8" and engine != "trtllm" and family.startswith(_BLOCK_FAMILIES):
        return "fp8_block"
    if low == "int4" and published.startswith("int4"):
        return published
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
    devices = max(1, int(number_of(tree.get("tp")) or 1))
    stages = max(1, int(number_of(tree.get("pp")) or 1))
    experts = max(1, int(number_of(tree.get("ep")) or 1))
    copies = extra.get("attention_dp")
    count = int(number_of(tree.get("gpu_count")) or devices)
    sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds)
    if copies is None and sparse and experts > 1:
        copies = extra.get("data_parallel")  # of the attention: the experts are shared
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
    at_once = number_of(tree.get("batch_or_concurrency"))
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
    if rate == "inf" and _requests(extra):
        return "rate", _AT_ONCE, group
    if at_once:
        return "users", at_once, group
    if extra.get("suite") and str(extra.get("scenario")).lower() == "server":
        # A submission is as fast as its limits on latency let it be: close to full.
        return ("full", 0.0, group) if metric in ("output", "total") else ("", 0.0, group)
    return "", 0.0, group
