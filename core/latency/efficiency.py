"""Measured efficiencies as data: which fraction of its peaks a device reaches, kernel by kernel.

A profile belongs to an engine and a family of devices and inherits what it does not state from its
parent, down to the generic one.  What an engine other than vLLM does not state comes from vLLM's
profile of the same device.  Kernels are as measured one by one; the few factors that carry them over
to a running server stand in a file of their own.  The files say on what each figure was fitted.
"""

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Literal

from pydantic import Field

import resources
from core.latency.factors import Factors, load_factors
from core.latency.machine import Identity
from core.model.work import load_work
from core.spec.accelerator import Accelerator
from core.spec.base import Spec
from core.spec.formats import ComputeFormat, WeightFormat

ModelKind = Literal["dense", "moe", "latent", "recurrent"]
_FOLDER = "data/efficiency"
_BASE_ENGINE = "vllm"
SERVER_ENGINES = ("vllm", "sglang", "trtllm")


class Fit(Spec):
    """One kernel family in one format: fractions of the dense peaks, and the start of a kernel."""

    ec: float = Field(gt=0, le=1)
    em: float = Field(gt=0, le=1)
    t0_us: float = Field(ge=0, le=10_000)


class Era(Spec):
    """What some releases of an engine do more slowly."""

    name: str
    releases: dict[str, tuple[str, str]]  # by engine: the first, and the first that is too new
    starts: float = Field(1.0, ge=1)  # of all kernels
    moe_starts: float = Field(1.0, ge=1)  # of the expert kernels
    sequence_us: float = Field(0.0, ge=0)  # of every running sequence in every step
    first_token_ms: float = Field(0.0, ge=0)  # of the server before the first token
    separate_prompts: bool = False

    def holds(self, engine: str, version: tuple[int, ...]) -> bool:
        """Whether the release is one of these."""
        if engine not in self.releases or not version:
            return False
        since, before = map(version_number, self.releases[engine])
        return since <= version < before


class Overheads(Spec):
    """What a step costs beyond its kernels, and the terms of the first token."""

    p: Literal[1, 2, 4, 8]
    slow_starts: float = Field(1.0, ge=1)  # of a release, beside those of the kernels' tables
    slow_moe_starts: float = Field(1.0, ge=1)
    expert_layer_us: float = Field(ge=0)  # more, where experts are dealt out whole
    thin_expert: float = Field(ge=0)  # width of a slice of an expert that is read at half the rate
    mixed_attention: float = Field(ge=0)  # of the shorter part, where prompts and decodes share a kernel
    step_us: float = Field(ge=0)
    sequence_us: float = Field(ge=0)
    stream_us: float = Field(ge=0)  # of one output token on the server's processor: a ceiling
    ungraphed_layer_us: float = Field(ge=0)  # launches of a layer outside the full CUDA graph
    ungraphed_moe_factor: float = Field(ge=1)
    ungraphed_step_us: float = Field(ge=0)
    eager_start: float = Field(ge=1)  # starts of kernels without graphs, of those with
    alone_ms: dict[ModelKind, float]  # server's part of the first token when no other request collides
    together_ms: dict[ModelKind, float]  # the same when many users start at the same moments
    waiting_request_ms: dict[ModelKind, float]
    own_prefill: float = Field(ge=1)
    burst: float = Field(gt=0)  # share of the others' prompts that stand before one's own
    separate_prompts: bool = False  # prompts are read in steps without decodes
    eras: tuple[Era, ...]

    def at(self, engine: str, version: str) -> "Overheads":
        """These of a release, with the eras it belongs to; a version nobody can read is current."""
        mine = [era for era in self.eras if era.holds(engine, version_number(version))]
        if not mine:
            return self
        later = sum(era.first_token_ms for era in mine)
        return self.model_copy(
            update={
                "slow_starts": max(era.starts for era in mine),
                "slow_moe_starts": max(era.moe_starts for era in mine),
                "sequence_us": self.sequence_us + sum(era.sequence_us for era in mine),
                "alone_ms": {kind: ms + later for kind, ms in self.alone_ms.items()},
                "together_ms": {kind: ms + later for kind, ms in self.together_ms.items()},
                "separate_prompts": self.separate_prompts or any(era.separate_prompts for era in mine),
            }
        )


class Band(Spec):
    """p10 and p90 of measured / predicted."""

    step: dict[ModelKind, tuple[float, float]]
    first_token: dict[ModelKind, tuple[float, float]]
    batch: tuple[float, float]  # of whole batches and offline runs, whose limits are rarely all known


class Profile(Spec):
    """A whole profile, inheritance and factors resolved."""

    name: str
    engine: str
    family: str  # of devices, as factors name it
    operators: dict[str, dict[str, Fit]]
    overheads: Overheads
    band: Band
    sources: dict[str, str]
    chain: tuple[str, ...]  # names from this profile to the generic one

    def __hash__(self) -> int:
        return hash((self.engine, self.chain))

    def fit(self, kind: str, key: str) -> Fit:
        """The fit of a kernel family in a format; a format nobody measured takes the 16-bit one."""
        family = self.operators[kind]
        return family.get(key) or family["bf16"]


class LinkFit(Spec):
    """All-reduce over one class of links; see ``core.latency.collectives``."""

    alpha_us: float = Field(ge=0)
    alpha_per_rank_us: float = Field(ge=0)
    one_shot: float | None = Field(gt=0, le=1)
    ring_us_per_rank: float = Field(ge=0)
    ring: float = Field(gt=0, le=1)
    decay: float = Field(ge=-1, le=2)  # below 0: switches help more devices more


@lru_cache(maxsize=256)
def version_number(text: str) -> tuple[int, ...]:
    """The first three numbers of a version; empty where there is none."""
    return tuple(int(digits) for digits in re.findall(r"\d{1,6}", text)[:3])


@cache
def _stored(engine: str) -> dict[str, dict[str, Any]]:
    names = resources.names(_FOLDER, ".json")
    mine = [n for n in names if n.rsplit("/", 1)[1].startswith(f"{engine}_")]
    parsed = (json.loads(resources.read_text(name)) for name in mine)
    return {p["name"]: p for p in parsed}


def profile_names(engine: str) -> tuple[str, ...]:
    """Names of all profiles of an engine."""
    return tuple(_stored(engine))


def _chain(engine: str, name: str | None) -> Iterator[dict[str, Any]]:
    while name is not None:
        stored = _stored(engine)[name]
        yield stored
        name = stored["parent"]


@cache
def stored_eras() -> tuple[dict[str, Any], ...]:
    """Releases of a time, as stored."""
    return tuple(json.loads(resources.read_text(f"{_FOLDER}/eras.json"))["eras"])


@cache
def load_links() -> dict[str, LinkFit]:
    """All-reduce fits by class of link."""
    tree = json.loads(resources.read_text(f"{_FOLDER}/links.json"))
    return {key: LinkFit.model_validate(fit) for key, fit in tree["links"].items()}


def halves_accumulation(device: Accelerator) -> bool:
    """Whether 16-bit products with FP32 accumulation run at half rate, as on GeForce cards."""
    full, half = device.peak_tflops.fp16_fp16acc, device.peak_tflops.fp16
    return bool(full and half and device.vendor == "NVIDIA" and full > 1.5 * half)


def profile_for(engine: str, device: Accelerator, factors: Factors | None = None) -> Profile:
    """The profile of a device: the most specific one whose conditions it meets.

    Engines without profiles of this kind take vLLM's.
    """
    known = engine if engine in SERVER_ENGINES else _BASE_ENGINE
    return _profile_for(known, Identity(device), Identity(factors or load_factors()))


def is_measured(engine: str, device: Accelerator, kind: str, key: str) -> bool:
    """Whether kernels of a format were measured on the device or on one of its family, under the engine or
    under the one whose profile stands in.
    """
    known = engine if engine in SERVER_ENGINES else _BASE_ENGINE
    layers = [
        layer for name in dict.fromkeys((known, _BASE_ENGINE)) for layer in _chain(name, _best(name, device))
    ]
    return any(key in p.get("operators", {}).get(kind, {}) for p in layers if p["name"] != "generic")


def sources_of(engine: str, device: Accelerator) -> tuple[tuple[str, str], ...]:
    """Names of the profiles that count for a device, the generic one left out, and where their kernel
    figures come from; vLLM's where the engine has none for it.
    """
    own = engine if engine in SERVER_ENGINES else _BASE_ENGINE
    name = _best(own, device)
    used = own if name != "generic" else _BASE_ENGINE
    chain = _chain(used, name if name != "generic" else _best(_BASE_ENGINE, device))
    return tuple((p["name"], p["sources"]["operators"]) for p in chain if p["name"] != "generic")


@lru_cache(maxsize=512)
def _profile_for(engine: str, device: Identity[Accelerator], factors: Identity[Factors]) -> Profile:
    own, base = _best(engine, device.it), _best(_BASE_ENGINE, device.it)
    return _merged(engine, own, base, device.it.memory_type.startswith("LPDDR"), factors)


@lru_cache(maxsize=256)
def _merged(engine: str, own: str, base: str, slow_reads: bool, factors: Identity[Factors]) -> Profile:
    """The profile ``own`` of an engine over vLLM's ``base``: one for all devices that both fit."""
    chain = list(_chain(engine, own))
    layers = [*chain, *([] if engine == _BASE_ENGINE else _chain(_BASE_ENGINE, base))]
    merged: dict[str, Any] = {"operators": {}, "overheads": {}, "band": {}, "sources": {}}
    for stored in reversed(layers):
        for kind, fits in stored.get("operators", {}).items():
            merged["operators"].setdefault(kind, {}).update(fits)
        for part in ("overheads", "band", "sources"):
            merged[part].update(stored.get(part, {}))
        merged["family"] = stored.get("family", merged.get("family", "generic"))
    name = own if own != "generic" else base
    merged |= {"name": name, "engine": engine, "chain": [p["name"] for p in chain]}
    _scale(merged, engine, factors.it)
    if slow_reads:
        _slow_reads(merged)
    return Profile.model_validate_json(json.dumps(merged))


def _scale(merged: dict[str, Any], engine: str, factors: Factors) -> None:
    """Carry kernel figures and overheads over to a running server."""
    family = merged["family"]
    for kind, fits in merged["operators"].items():
        starts = "moe_starts" if kind == "moe" else "starts"
        for key, fit in fits.items():
            scaled = dict(fit)
            for part in ("ec", "em"):
                factor = factors.of(f"{kind}.{part}", engine, family, key)
                most = 1.0 if part == "ec" else max(load_work().most_bandwidth, fit[part])
                scaled[part] = min(most, fit[part] * factor)
            scaled["t0_us"] = fit["t0_us"] * factors.of(starts, engine, family, key)
            fits[key] = scaled
    overheads = merged["overheads"]
    _by_kind(overheads, engine, family, factors)
    for name, value in overheads.items():
        if isinstance(value, dict):
            overheads[name] = {k: v * factors.of(name, engine, family, k) for k, v in value.items()}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            overheads[name] = value * factors.of(name, engine, family)
    overheads["eras"] = [
        {
            name: value * factors.of(f"eras.{name}", engine, family, era["name"])
            if isinstance(value, int | float) and not isinstance(value, bool)
            else value
            for name, value in era.items()
        }
        for era in stored_eras()
    ]


def _by_kind(overheads: dict[str, Any], engine: str, family: str, factors: Factors) -> None:
    """The server's terms of each kind of model: those of a dense one, times what all engines share."""
    for part in ("alone", "together"):
        base, kinds = overheads[f"{part}_ms"], overheads.pop(f"{part}_kinds")
        overheads[f"{part}_ms"] = {
            kind: base * more * factors.of(f"{part}_kinds", engine, family, kind)
            for kind, more in kinds.items()
        }


def _slow_reads(merged: dict[str, Any]) -> None:
    """Kernels measured on faster memory do not reach its share of LPDDR."""
    most = load_work().most_lpddr_bandwidth
    for fits in merged["operators"].values():
        for key, fit in fits.items():
            fits[key] = {**fit, "em": min(most, fit["em"])}


def _best(engine: str, device: Accelerator) -> str:
    best, best_score = "generic", 0
    for name, stored in _stored(engine).items():
        score = _match(stored, device)
        if score > best_score:
            best, best_score = name, score
    return best


def _match(stored: dict[str, Any], device: Accelerator) -> int:
    """Number of conditions met; 0 when one is not."""
    met = 0
    if "devices" in stored:
        if device.name not in stored["devices"]:
            return 0
        met += 8
    if "architectures" in stored:
        if device.architecture not in stored["architectures"]:
            return 0
        met += 1
    if "memory" in stored:
        if not device.memory_type.startswith(tuple(stored["memory"])):
            return 0
        met += 1
    if "half_rate_accumulate" in stored:
        if stored["half_rate_accumulate"] != halves_accumulation(device):
            return 0
        met += 1
    return met


def format_key(weights: WeightFormat, bits: float, compute: ComputeFormat) -> str:
    """Key of a fit: what the matrix is stored in and multiplied in.

    ``bits`` are those of the tensor class: the wide tensors of a narrow format count as plain.
    """
    if bits >= 16:
        return "fp32" if compute in ("fp32", "tf32") else "bf16"
    if weights.key.startswith("nf4"):
        return "nf4"
    if weights.key == "mxfp4_experts":
        return "mxfp4"
    if compute == "fp4":
        return "fp4"
    if compute == "fp8":
        return "fp8_block" if weights.key in ("fp8_block", "mxfp8") else "fp8"
    if compute == "int8":
        return "int8"
    return "int8_expanded" if bits > 6 else "int4_expanded"
