"""Measured efficiencies as data: which fraction of its peaks a device reaches, kernel by kernel.

A profile belongs to an engine and a family of devices and inherits what it does not state from its
parent, down to the generic one.  The files say on what each figure was fitted.
"""

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Literal

from pydantic import Field

import resources
from core.latency.machine import Identity
from core.spec.accelerator import Accelerator
from core.spec.base import Spec
from core.spec.formats import ComputeFormat, WeightFormat

ModelKind = Literal["dense", "moe", "latent", "recurrent"]
_FOLDER = "data/efficiency"


class Fit(Spec):
    """One kernel family in one format: fractions of the dense peaks, and the start of a kernel."""

    ec: float = Field(gt=0, le=1)
    em: float = Field(gt=0, le=1)
    t0_us: float = Field(ge=0, le=10_000)


class Era(Spec):
    """Releases before a version start their kernels more slowly."""

    before: str
    starts: float = Field(ge=1)


class Overheads(Spec):
    """What a step costs beyond its kernels, and the terms of the first token."""

    p: Literal[1, 2, 4, 8]
    kernel_overlap: float = Field(gt=0)  # share of the kernels' starts that a CUDA graph leaves
    moe_overlap: float = Field(gt=0)  # the same for the expert kernels
    latent_layer_us: float = Field(ge=0)
    recurrent_layer_us: float = Field(ge=0)
    step_us: float = Field(ge=0)
    sequence_us: float = Field(ge=0)
    stream_us: float = Field(ge=0)  # of one output token on the server's processor: a ceiling
    ungraphed_layer_us: float = Field(ge=0)  # launches of a layer outside the full CUDA graph
    ungraphed_moe_factor: float = Field(ge=1)
    ungraphed_step_us: float = Field(ge=0)
    alone_ms: dict[ModelKind, float]  # server's part of the first token when no other request collides
    together_ms: dict[ModelKind, float]  # the same when many users start at the same moments
    waiting_request_ms: dict[ModelKind, float]
    own_prefill: float = Field(ge=1)
    burst: float = Field(gt=0)  # share of the others' prompts that stand before one's own
    arrival: float = Field(ge=0)
    eras: tuple[Era, ...]

    def start_factor(self, version: str) -> float:
        """How much longer the kernels of a release take to start; a version nobody can read is current."""
        wanted = _version(version)
        slow = [era.starts for era in self.eras if wanted and wanted < _version(era.before)]
        return max(slow, default=1.0)


class Band(Spec):
    """p10 and p90 of measured / predicted."""

    step: dict[ModelKind, tuple[float, float]]
    first_token: tuple[float, float]


class Profile(Spec):
    """A whole profile, inheritance resolved."""

    name: str
    engine: str
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
    decay: float = Field(ge=-1, le=1)  # below 0: switches help more devices more


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d{1,6}", text)[:2])


@cache
def _stored(engine: str) -> dict[str, dict[str, Any]]:
    names = resources.names(_FOLDER, ".json")
    mine = [n for n in names if n.rsplit("/", 1)[1].startswith(f"{engine}_")]
    parsed = (json.loads(resources.read_text(name)) for name in mine)
    return {p["name"]: p for p in parsed}


def profile_names(engine: str) -> tuple[str, ...]:
    """Names of all profiles of an engine."""
    return tuple(_stored(engine))


@cache
def load_profile(engine: str, name: str) -> Profile:
    """A profile by name, with everything it inherits."""
    chain = list(_chain(engine, name))
    merged: dict[str, Any] = {"operators": {}, "overheads": {}, "band": {}, "sources": {}}
    for stored in reversed(chain):
        for kind, fits in stored.get("operators", {}).items():
            merged["operators"].setdefault(kind, {}).update(fits)
        for part in ("overheads", "band", "sources"):
            merged[part].update(stored.get(part, {}))
    merged |= {"name": name, "engine": engine, "chain": [p["name"] for p in chain]}
    return Profile.model_validate_json(json.dumps(merged))


def _chain(engine: str, name: str | None) -> Iterator[dict[str, Any]]:
    while name is not None:
        stored = _stored(engine)[name]
        yield stored
        name = stored["parent"]


@cache
def load_links() -> dict[str, LinkFit]:
    """All-reduce fits by class of link."""
    tree = json.loads(resources.read_text(f"{_FOLDER}/links.json"))
    return {key: LinkFit.model_validate(fit) for key, fit in tree["links"].items()}


def halves_accumulation(device: Accelerator) -> bool:
    """Whether 16-bit products with FP32 accumulation run at half rate, as on GeForce cards."""
    full, half = device.peak_tflops.fp16_fp16acc, device.peak_tflops.fp16
    return bool(full and half and device.vendor == "NVIDIA" and full > 1.5 * half)


def profile_for(engine: str, device: Accelerator) -> Profile:
    """The profile of a device: the most specific one whose conditions it meets."""
    return _profile_for(engine, Identity(device))


@lru_cache(maxsize=512)
def _profile_for(engine: str, device: Identity[Accelerator]) -> Profile:
    best, best_score = "generic", 0
    for name, stored in _stored(engine).items():
        score = _match(stored, device.it)
        if score > best_score:
            best, best_score = name, score
    return load_profile(engine, best)


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
