"""What can be chosen where it depends on the scenario."""

import re

from core.spec.checks import VLLM_CACHE_FORMATS
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Words
from gui.fields.choice_edit import Choice
from gui.forms.consequences import TEXTBOOK_ONLY, allowed_tensor_parallel, has_experts

VLLM_VERSIONS = ("0.21", "0.19", "0.17", "0.11", "0.8")


def weight_formats(scenario: Scenario, words: Words) -> list[Choice]:
    """All formats that narrow something the model has, widest knowledge first as in the table."""
    now = scenario.precision.weights
    textbook = scenario.engine.name == "textbook"
    experts = has_experts(scenario.model)
    shown = []
    for key, known in WEIGHT_FORMATS.items():
        fits = (experts or not key.endswith("_experts")) and (textbook or key not in TEXTBOOK_ONLY)
        if fits or key == now:
            # Mixtures have no width of their own: it depends on the model.
            bits = words("choices.bits", bits=f"{float(known.bits):.3g}") if known.bits else ""
            shown.append(Choice(key, known.label, bits))
    return shown


def cache_formats(scenario: Scenario, words: Words) -> list[Choice]:
    """The formats that the engine can keep its cache in."""
    now = scenario.precision.kv_cache
    textbook = scenario.engine.name == "textbook"
    wide = scenario.precision.weights == "fp32"
    shown = []
    for key, known in CACHE_FORMATS.items():
        if textbook or key in VLLM_CACHE_FORMATS or key == now or (wide and key == "fp32"):
            shown.append(Choice(key, known.label, words("choices.bits", bits=f"{float(known.bits):.3g}")))
    return shown


def engines(scenario: Scenario, words: Words) -> list[Choice]:
    """Engine and version as one choice, "name version"."""
    now = scenario.engine.version
    versions = list(VLLM_VERSIONS) if now in VLLM_VERSIONS else [now, *VLLM_VERSIONS]
    shown = [Choice(f"vllm {v}", f"vLLM {v}") for v in versions]
    return [*shown, Choice(f"textbook {now}", words("choices.engines.textbook"))]


def engine_of(scenario: Scenario) -> str:
    """The value of the engine choice."""
    return f"{scenario.engine.name} {scenario.engine.version}"


def tensor_parallel(scenario: Scenario, words: Words) -> list[Choice]:
    """Degrees that divide count and heads, with the number of copies that remain."""
    count = scenario.deployment.accelerators
    degrees = allowed_tensor_parallel(scenario, count)
    now = scenario.deployment.tensor_parallel
    if now not in degrees:
        degrees = sorted({*degrees, now})
    return [Choice(n, parallel_label(n, max(1, count // n), words)) for n in degrees]


def parallel_label(degree: int, copies: int, words: Words) -> str:
    """ "TP 2", or "TP 1 × 2 copies"."""
    key = "choices.tp" if copies == 1 else "choices.tp_copies"
    return words(key, degree=degree, copies=copies)


def links(scenario: Scenario, words: Words) -> list[Choice]:
    """The links that the device has; the fast one stands for "auto" too."""
    device, now = scenario.accelerator, scenario.deployment.link
    pcie = words("choices.links.pcie")
    if device.pcie.gen:
        pcie = words("choices.links.pcie_gen", gen=device.pcie.gen, lanes=device.pcie.lanes or 16)
    if device.scale_up.gbps_per_direction is None:
        return [Choice("auto" if now == "auto" else now, pcie)]
    fast = "scale_up" if now == "scale_up" else "auto"
    return [Choice(fast, link_name(device.scale_up.kind, words)), Choice("pcie", pcie)]


def link_name(kind: str, words: Words) -> str:
    """Name of a fast link: "nvlink-bridge3" is an NVLink bridge; unknown kinds as they are."""
    stem = re.sub(r"[\d-].*", "", kind.replace("-bridge", "_bridge"))
    for key in (f"choices.links.{stem}", f"choices.links.{stem.removesuffix('_bridge')}"):
        name = words(key)
        if name != key:
            return name
    return kind


def loads(scenario: Scenario, words: Words) -> list[Choice]:
    """Closed or open load."""
    return [Choice(key, words(f"choices.load.{key}")) for key in ("users", "requests")]


def graphs(scenario: Scenario, words: Words) -> list[Choice]:
    """CUDA graphs on or off; the field says the opposite."""
    return [Choice(False, words("choices.on")), Choice(True, words("choices.off"))]
