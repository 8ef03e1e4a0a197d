"""Measured efficiencies of engines that serve one stream first: llama.cpp and its kin, MLX, Transformers.

A profile belongs to an engine and a class of devices and inherits what it does not state from its
parent, down to the generic one.  ``fractions`` of the data sheet's rates, ``microseconds`` of
what is launched, and factors of single devices where enough of them was measured.
"""

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from pydantic import Field

import resources
from core.latency.machine import Identity
from core.spec.accelerator import Accelerator
from core.spec.base import Spec

_FOLDER = "data/efficiency"
# Settings of an engine that share the profiles of another.
_SAME = {"ollama": "llamacpp"}


class DeviceFactor(Spec):
    """What a measured device takes beside its class: factors of times."""

    decode: float = Field(1.0, gt=0)
    prefill: float = Field(1.0, gt=0)


_ALIKE = DeviceFactor(decode=1.0, prefill=1.0)


class Spread(Spec):
    """p10 and p90 of measured / predicted times."""

    decode: tuple[float, float]
    prefill: tuple[float, float]


class Serving(Spec):
    """The engine's own server, outside the steps."""

    first_token_ms: float = Field(ge=0)
    waiting_request_ms: float = Field(ge=0)
    burst: float = Field(gt=0)  # share of the others' prompts that stand before one's own


class Shapes(Spec):
    """Values of the forms that no class of devices has to itself."""

    narrow_hidden: float = Field(ge=0)  # narrow matrices lose rate: hidden / (hidden + this)
    softmax_operations: float = Field(ge=0)  # of one pair of query and key in one head, FP32
    power_exponent: float = Field(ge=0)  # rate x (W per TFLOP/s / full power)^exponent
    full_power_w_per_tflops: float = Field(gt=0)
    most_power_w_per_tflops: float = Field(gt=0)  # more than this raises no rate
    old_instructions: dict[str, float]  # share of the peak that older matrix instructions reach
    padded_tokens: float = Field(ge=0)  # more are multiplied in a batch whose tiles are not full
    full_tile: float = Field(gt=0)
    score_bytes: float = Field(ge=0)  # of one pair and head, where scores are written
    plain_cache_read_by_each_head: tuple[str, ...]  # vendors; elsewhere once for a group of heads
    two_dies: tuple[str, ...]  # devices whose two dies wait for each other in every layer


@cache
def load_shapes() -> Shapes:
    """The packaged values; the data file says on what each rests."""
    tree = json.loads(resources.read_text(f"{_FOLDER}/local_shapes.json"))
    return Shapes.model_validate_json(json.dumps({name: tree[name] for name in Shapes.model_fields}))


class LocalProfile(Spec):
    """A whole profile, inheritance resolved."""

    name: str
    engine: str
    accumulate: str  # "fp16" or "fp32": the sums of 16-bit products, which some cards do at half rate
    fractions: dict[str, float]
    microseconds: dict[str, float]
    serving: Serving
    spread: Spread  # of devices that were measured
    spread_unseen: Spread
    devices: dict[str, DeviceFactor]
    sources: dict[str, str]
    chain: tuple[str, ...]  # names from this profile to the generic one

    def __hash__(self) -> int:
        return hash((self.engine, self.chain))

    def factor(self, device: Accelerator) -> DeviceFactor:
        """The device's own factor; 1 where nobody measured it."""
        return self.devices.get(device.name, _ALIKE)

    def band(self, device: Accelerator) -> Spread:
        """The spread that applies to the device."""
        return self.spread if device.name in self.devices else self.spread_unseen


@cache
def stored_profiles(engine: str) -> dict[str, dict[str, Any]]:
    """The files of an engine as they are, by name."""
    names = resources.names(_FOLDER, ".json")
    mine = [n for n in names if n.rsplit("/", 1)[1].startswith(f"{engine}_")]
    parsed = (json.loads(resources.read_text(name)) for name in mine)
    return {p["name"]: p for p in parsed}


def profile_names(engine: str) -> tuple[str, ...]:
    """Names of all profiles of an engine."""
    return tuple(stored_profiles(_SAME.get(engine, engine)))


@cache
def load_local_profile(engine: str, name: str) -> LocalProfile:
    """A profile by name, with everything it inherits."""
    chain = list(_chain(engine, name))
    merged: dict[str, Any] = {"devices": {}}
    for stored in reversed(chain):
        for part in ("fractions", "microseconds", "devices", "sources"):
            merged[part] = {**merged.get(part, {}), **stored.get(part, {})}
        for part in ("serving", "accumulate"):
            if part in stored:
                merged[part] = stored[part]
        for part in ("spread", "spread_unseen"):
            merged[part] = {**merged.get(part, {}), **stored.get(part, {})}
    merged |= {"name": name, "engine": engine, "chain": [p["name"] for p in chain]}
    return LocalProfile.model_validate_json(json.dumps(merged))


def _chain(engine: str, name: str | None) -> Iterator[dict[str, Any]]:
    while name is not None:
        stored = stored_profiles(engine)[name]
        yield stored
        name = stored["parent"]


def local_profile_for(engine: str, device: Accelerator, backend: str = "auto") -> LocalProfile:
    """The most specific profile of the engine whose conditions the device meets."""
    return _profile_for(_SAME.get(engine, engine), Identity(device), backend)


@lru_cache(maxsize=512)
def _profile_for(engine: str, device: Identity[Accelerator], backend: str) -> LocalProfile:
    best, best_score = "generic", 0
    for name, stored in stored_profiles(engine).items():
        score = _match(stored, device.it, backend)
        if score > best_score:
            best, best_score = name, score
    return load_local_profile(engine, best)


def _match(stored: dict[str, Any], device: Accelerator, backend: str) -> int:
    """Number of conditions met; 0 when one is not."""
    conditions: dict[str, bool] = {
        "backends": backend in stored.get("backends", ["auto"]),
        "vendors": device.vendor in stored.get("vendors", ()),
        "architectures": device.architecture in stored.get("architectures", ()),
        "kinds": device.kind in stored.get("kinds", ()),
        "names": device.name.startswith(tuple(stored.get("names", ()))),
        "memory": device.memory_type.startswith(tuple(stored.get("memory", ()))),
    }
    wanted = [key for key in conditions if key in stored]
    if not wanted or not all(conditions[key] for key in wanted):
        return 0
    # A profile that names no back end is that of the vendor's own.
    return len(wanted) if conditions["backends"] else 0
