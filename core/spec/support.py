"""What is offered for each engine: formats, their nearest counterparts, releases."""

import json
from collections.abc import Mapping
from functools import cache

import resources
from core.spec.accelerator import Accelerator
from core.spec.checks import CACHE_FORMATS_OF, LABELS, loads, runs_on, unsupported
from core.spec.engine import SERVERS, EngineName
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

# Formats of the plain textbook rules, and what an engine has in their place.
TEXTBOOK_FORMATS: Mapping[str, str] = {"int8": "w8a16", "int4": "int4_g128"}


@cache
def weight_formats_of(engine: EngineName) -> tuple[str, ...]:
    """Keys of the weight formats to offer, in the order of the table.

    Fewer than an engine may load: nobody serves MLX files with vLLM.
    """
    return tuple(key for key in WEIGHT_FORMATS if loads(engine, key) and _customary(engine, key))


def _customary(engine: EngineName, key: str) -> bool:
    if engine == "textbook":
        return True
    foreign = engine in (*SERVERS, "transformers") and (WEIGHT_FORMATS[key].gguf or key.startswith("mlx_"))
    return not foreign and key not in TEXTBOOK_FORMATS


def cache_formats_of(engine: EngineName, weights: str = "") -> tuple[str, ...]:
    """Keys of the cache formats that an engine keeps beside weights of a format."""
    known = CACHE_FORMATS_OF.get(engine, tuple(CACHE_FORMATS))
    return (*known, "fp32") if weights == "fp32" and engine in SERVERS else known


# What people use where nothing else is said, wide to narrow.
_GGUF = ("gguf_bf16", "gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m", "gguf_q3_k_m")
_CUSTOMARY: Mapping[EngineName, tuple[str, ...]] = {
    "vllm": ("bf16", "fp8", "awq_g128"),
    "sglang": ("bf16", "fp8", "awq_g128"),
    "trtllm": ("bf16", "fp8", "awq_g128"),
    "llamacpp": _GGUF,
    "ollama": _GGUF,
    "transformers": ("bf16", "w8a16", "nf4_dq"),
    "mlx": ("bf16", "mlx_8bit", "mlx_6bit", "mlx_4bit"),
    "textbook": ("bf16", "int8", "int4"),
}
# The same weights as another engine's files hold them.
_COUNTERPARTS = {
    **TEXTBOOK_FORMATS,
    "mxfp4_experts": "gguf_mxfp4_moe",
    "gguf_mxfp4_moe": "mxfp4_experts",
    "gguf_bf16": "bf16",
    "gguf_f16": "fp16",
    "gguf_f32": "fp32",
}


def nearest_weights(engine: EngineName, weights: str) -> str:
    """``weights`` where the engine loads it, else its customary format of as many bits or nearly so."""
    offered = weight_formats_of(engine)
    if weights in offered or weights not in WEIGHT_FORMATS:
        return weights
    counterpart = _COUNTERPARTS.get(weights)
    if counterpart in offered:
        return str(counterpart)
    bits = int(WEIGHT_FORMATS[weights].bits)  # whole bits: what scales add says nothing of the kind
    return min(_CUSTOMARY[engine], key=lambda key: abs(int(WEIGHT_FORMATS[key].bits) - bits))


def nearest_cache(engine: EngineName, cache_format: str, weights: str = "") -> str:
    """``cache_format`` where the engine keeps it, else the one nearest in bits."""
    offered = cache_formats_of(engine, weights)
    if cache_format in offered or cache_format not in CACHE_FORMATS:
        return cache_format
    bits = CACHE_FORMATS[cache_format].bits
    return min(offered, key=lambda key: abs(CACHE_FORMATS[key].bits - bits))


@cache
def releases_of(engine: EngineName) -> tuple[str, ...]:
    """Releases that are offered, newest first; one empty name where releases make no difference."""
    return tuple(json.loads(resources.read_bytes("data/engines/versions.json"))["releases"][engine])


def engines_on(scenario: Scenario, device: Accelerator) -> tuple[EngineName, ...]:
    """Engines that run on a device, those for many users first; where none is made for it, any."""
    tried = scenario.model_copy(update={"accelerator": device})
    names: tuple[EngineName, ...] = tuple(LABELS)  # type: ignore[arg-type]
    engines = {name: scenario.engine.model_copy(update={"name": name}) for name in names}
    return tuple(name for name in names if runs_on(tried.model_copy(update={"engine": engines[name]})))


def supported_weights(scenario: Scenario) -> str:
    """The weight format of a scenario where its engine has it on the device, else the nearest in bits."""
    now = scenario.precision.weights
    problem = unsupported(scenario)
    if problem is None or problem.code == "engine_not_for_device":
        return now

    def runs(key: str) -> bool:
        precision = scenario.precision.model_copy(update={"weights": key})
        return unsupported(scenario.model_copy(update={"precision": precision})) is None

    offered = [key for key in weight_formats_of(scenario.engine.name) if runs(key)]
    bits = WEIGHT_FORMATS[now].bits
    return min(offered, key=lambda key: abs(WEIGHT_FORMATS[key].bits - bits), default=now)
