"""The formats of a typed question: those that it says, else those that a named model or engine comes with.

What was open before decides nothing where a model or an engine is named: the same words give the same
weights.  Where only other things are named, formats stay as they are.
"""

from dataclasses import dataclass

from core.spec.accelerator import Accelerator
from core.spec.engine import LLAMA, EngineName
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, gguf_key
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.support import nearest_cache, nearest_weights, supported_weights
from gui.forms.consequences import Changes, published_format
from gui.palette.terms import Terms

_KEYS = {
    "4": "awq_g128",
    "8": "fp8",
    "int4": "awq_g128",
    "awq": "awq_g128",
    "w4a16": "awq_g128",
    "gptq": "gptq_g128",
    "int8": "w8a8",
}
# Formats that a common name means where a model is published in one of them.
_ALSO_MEANT = {"fp8": ("fp8_block",), "8": ("fp8_block",)}
# What people load where an engine has files of its own: the default of Ollama's library and of llama.cpp's
# downloads, and the format in which most MLX files are published.
OWN_FILES: dict[EngineName, str] = {
    "llamacpp": "gguf_q4_k_m",
    "ollama": "gguf_q4_k_m",
    "mlx": "mlx_4bit",
}
_PLAIN = ("bf16", "fp16", "fp32")
_PLAIN_BITS = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """One format to set.  ``label`` is empty where there is nothing to tell; ``said``: it was typed."""

    path: str
    key: str
    label: str
    said: bool

    def changes(self, scenario: Scenario) -> Changes:
        """The format; what is not told is set only where it differs."""
        now = getattr(scenario.precision, self.path.partition(".")[2])
        return [(self.path, self.key)] if self.label or now != self.key else []


def placed(
    scenario: Scenario, device: Accelerator, engine: EngineName, weights: str = "", model: Model | None = None
) -> Scenario:
    """The scenario on a device under an engine, with weights and a model where they are given."""
    precision = scenario.precision.model_copy(update={"weights": weights} if weights else {})
    named = scenario.engine.model_copy(update={"name": engine})
    changed = {"accelerator": device, "engine": named, "precision": precision}
    return scenario.model_copy(update={**changed, "model": model or scenario.model})


def customary_weights(engine: EngineName, model: Model) -> str:
    """What a model is run in where nobody says it: as published, or the usual file of the engine's own."""
    published = published_format(model)
    near, own = nearest_weights(engine, published), OWN_FILES.get(engine)
    return near if own is None or near == "gguf_mxfp4_moe" else own


def formats(
    terms: Terms, engine: EngineName, scenario: Scenario, model: Model | None, device: Accelerator | None
) -> list[Asked]:
    """The formats to set; a format that nobody has goes to the terms that were refused."""
    named = model is not None or terms.engine is not None or engine != scenario.engine.name
    wanted, now = _said_weights(terms, engine, model or scenario.model), scenario.precision
    said = bool(wanted)
    if not said and named:
        wanted = customary_weights(engine, model or scenario.model)
    wanted = wanted or now.weights
    if not _is_file(terms) and (said or named or device is not None):
        wanted = supported_weights(
            placed(scenario, device or scenario.accelerator, engine, wanted, model or scenario.model)
        )
    found: list[Asked] = []
    if said or named or wanted != now.weights:
        plain = {wanted, now.weights} <= set(_PLAIN)
        label = "" if plain and not said else WEIGHT_FORMATS[wanted].label.split(",")[0]
        found.append(Asked("precision.weights", wanted, label, said))
    return [*found, *_cache(terms, engine, scenario, wanted, named)]


def _is_file(terms: Terms) -> bool:
    return bool(terms.gguf) and gguf_key(terms.gguf) in WEIGHT_FORMATS


def _said_weights(terms: Terms, engine: EngineName, model: Model) -> str:
    if _is_file(terms):
        return gguf_key(terms.gguf)
    if terms.gguf:
        terms.refused.append(terms.gguf)
    if not terms.weights:
        return ""
    published = published_format(model)
    meant = published in _ALSO_MEANT.get(terms.weights, ())
    return nearest_weights(engine, published if meant else _KEYS.get(terms.weights, terms.weights))


def _cache(terms: Terms, engine: EngineName, scenario: Scenario, weights: str, named: bool) -> list[Asked]:
    """The cache that was said; a narrow one from before goes with what it was chosen for."""
    if not terms.cache and not named:
        return []
    usual = "fp16" if engine in LLAMA or weights == "fp16" else "bf16"
    near = nearest_cache(engine, terms.cache or usual, weights)
    told = terms.cache or is_narrow_cache(scenario)
    label = f"KV {CACHE_FORMATS[near].label}" if told else ""
    return [Asked("precision.kv_cache", near, label, bool(terms.cache))]


def is_narrow_cache(scenario: Scenario) -> bool:
    """Whether the KV cache is not in the 16 bits that every engine begins with."""
    known = CACHE_FORMATS.get(scenario.precision.kv_cache)
    return known is not None and known.bits != _PLAIN_BITS
