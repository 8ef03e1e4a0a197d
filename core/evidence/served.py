"""Measured servers and batches as cases: a scenario, a load, and what was measured.

Two kinds of record: rows of a table of served points (``server_points.csv``: time to the first token
and per output token by concurrency), and objects with one metric each (``speed.jsonl``).
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast

import resources
from core.errors import InferometerError, Problem, UnreadableFile
from core.evidence.naming import device_of, model_of
from core.latency.efficiency import SERVER_ENGINES
from core.latency.machine import compute_format, peak_flops
from core.model.operators import Layout
from core.model.parameters import active_parameters
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, LatentAttention, MixtureOfExperts
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
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
LONGEST = 10**6
# That a table must have; others may be missing.
COLUMNS = (
    *("id", "model_path", "system", "backend", "backend_version", "precision", "isl", "osl"),
    *("moe_tp_size", "moe_ep_size", "silicon_ttft_ms", "silicon_tpot_ms"),
)
_MOST_OF_PEAK = 0.7  # that a whole server has been seen to reach, prompts and answers


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
    pool: float = 0.0  # tokens that the cache holds, where the record states it; inf: room for all
    requests: float = 0.0  # of the whole run, where the record states it
    spread: float = 0.0  # of the answers' lengths, over their mean
    source: str = ""  # who measured: a repository, one of its issues, a campaign of a table of points


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
def rules() -> dict[str, Any]:
    """The rules of the data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/evidence/served.json"))
    return tree


Seen = set[tuple[str, ...]]


def cases_of_points(text: str, seen: Seen | None = None) -> Iterator[Found]:
    """Cases of a table of served points, two a row; a run in ``seen`` or listed twice counts once."""
    known: Seen = set() if seen is None else seen
    rows = csv.DictReader(io.StringIO(text))
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise UnreadableFile(Problem("evidence.columns", values={"columns": ", ".join(missing)}))
    for row in rows:
        yield from point({key: value or "" for key, value in row.items() if key is not None}, known)


def point(row: dict[str, str], seen: Seen) -> Iterator[Found]:
    """The two cases of one row."""
    name = row.get("id", "")
    values = {m: number_of(row.get(f"silicon_{m}_ms")) / 1e3 for m in ("ttft", "tpot")}
    reasons = {m: _ruled(name, m, row, values["ttft"]) for m in values}
    shape = _shape(row)
    users = re.search(r"_c(\d+)(?:_|$)", name)
    model, device = model_of(row["model_path"]), known_system(row["system"])
    place = device.name if device is not None else row["system"]
    key: tuple[str, ...] = (
        place,
        row["backend"],
        row["isl"],
        row["osl"],
        users[1] if users else "",
        str(shape),
    )
    key += tuple(f"{1e3 * v:.1f}" for v in values.values())
    twice, known = key in seen or (name,) in seen, None
    seen |= {key, (name,)}
    if (
        model is not None
        and device is not None
        and users
        and _too_fast(row, values, model, device, shape, users[1])
    ):
        reasons = dict.fromkeys(values, "prompts_cached")
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
            yield _servedpoint(row, metric, value, model, device, float(users[1]), shape)


def _too_fast(
    row: dict[str, str],
    values: dict[str, float],
    model: Model,
    device: Accelerator,
    shape: Layout,
    users: str,
) -> bool:
    """Whether all prompts together need more than the device can compute: some were not read at all."""
    life = values["ttft"] + (number_of(row["osl"]) - 1) * values["tpot"]
    if life <= 0 or not (values["ttft"] and values["tpot"]):
        return False
    weights = WEIGHT_FORMATS[_point_weights(row["precision"], row["model_path"], model.architecture)]
    tokens = float(users) / life * (number_of(row["isl"]) + number_of(row["osl"]))
    peak = peak_flops(device, compute_format(device, weights)) * shape.devices
    return 2.0 * active_parameters(model.architecture) * tokens > _MOST_OF_PEAK * peak


def _ruled(name: str, metric: str, row: dict[str, str], first_token: float) -> str:
    for rule in rules()["refused"]:
        if re.search(rule["pattern"], name):
            return str(rule["reason"])
    if first_token > rules()["overflow_seconds"]:
        return "cache_overflow"
    if metric == "ttft":
        for rule in rules()["refused_first_token"]:
            versions = not rule.get("without_version") or not row["backend_version"]
            if versions and re.search(rule["pattern"], name):
                return str(rule["reason"])
    return ""


def _shape(row: dict[str, str]) -> Layout:
    """Devices and their division: the columns are not always what they are called."""
    named = re.search(r"_tp(\d+)", row["id"])
    tp, ep = int(number_of(row["moe_tp_size"]) or 1), int(number_of(row["moe_ep_size"]) or 1)
    devices = int(named[1]) if named else (tp if tp == ep else tp * ep)
    dealt = re.search(r"_ep(\d+)", row["id"])
    experts = int(dealt[1]) if dealt else (devices if tp == ep > 1 else ep)
    copies = devices if number_of(row.get("attention_dp_size")) > 1 else 1
    return Layout(devices, copies, min(max(1, experts), devices))


def _servedpoint(
    row: dict[str, str],
    metric: str,
    value: float,
    model: Model,
    device: Accelerator,
    users: float,
    shape: Layout,
) -> Case:
    rule = rules()["uniform_lengths"]
    factor = rule["factor"] if re.search(rule["pattern"], row["id"]) else 1.0
    weights = _point_weights(row["precision"], row["model_path"], model.architecture)
    lengths = [max(1, round(factor * number_of(row[key]))) for key in ("isl", "osl")]
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
        engine=Engine(
            name=cast(EngineName, row["backend"]),
            version=row["backend_version"] or _by_date(row),
            max_model_len=LONGEST,
        ),
        workload=Workload(prompt_tokens=lengths[0], output_tokens=lengths[1], users=int(users)),
    )
    stack = f"{model.name}|{device.name}|{row['backend']} {row['backend_version']}|{weights}|{shape}"
    group: Group = "server TTFT" if metric == "ttft" else "server TPOT"
    family = family_of(row["model_path"])
    return Case(
        row["id"],
        group,
        metric,
        value,
        scenario,
        "users",
        users,
        family,
        device.name,
        stack,
        source=_campaign(row["id"]),
    )


def _campaign(name: str) -> str:
    """Which of the campaigns that a table of served points collects a row is of."""
    return next((str(who) for pattern, who in rules()["campaigns"]["names"] if re.search(pattern, name)), "")


def _by_date(row: dict[str, str]) -> str:
    """The release that was current when a row without one was measured."""
    day = row.get("measured_on") or ""
    for month, version in rules()["versions_by_date"].get(row["backend"], ()):
        if day and day[:7] <= month:
            return str(version)
    return "new"


def family_of(name: str) -> str:
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
        return "fp8_block" if sparse or "qwen3" in low else "fp8"
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


def known_system(name: str) -> Accelerator | None:
    """The device of a system's short name in tables of served points, or of its own name."""
    try:
        return device_of(_SYSTEMS.get(name, name))
    except InferometerError:
        return None


def number_of(value: Any) -> float:
    """A finite number, or 0."""
    if isinstance(value, bool):
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0
