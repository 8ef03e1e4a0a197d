"""What can be chosen where it depends on the scenario."""

import re
from collections.abc import Callable
from functools import wraps
from typing import get_args

from core.catalog.calibrations import calibration_names
from core.explain.automatic import automatic, backend_of
from core.latency.efficiency import halves_accumulation
from core.latency.machine import link_of
from core.spec.architecture import MixtureOfExperts
from core.spec.checks import drafts_of
from core.spec.engine import EngineName
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.speculative import DraftKind
from core.spec.support import cache_formats_of, releases_of, weight_formats_of
from core.words import Words
from gui.fields.choice_edit import Choice
from gui.forms.consequences import has_experts
from gui.forms.layouts import Layout, allowed_layouts, layout_of

_Offer = Callable[[Scenario, Words], list[Choice]]


def _for_the_same(*parts: str) -> Callable[[_Offer], _Offer]:
    """The list as it was while these parts of the scenario are the same: most edits are of others."""

    def keeping(offer: _Offer) -> _Offer:
        last: list[object] = []
        offered: list[Choice] = []

        @wraps(offer)
        def kept(scenario: Scenario, words: Words) -> list[Choice]:
            now = [words, words.language, *(getattr(scenario, part) for part in parts)]
            if len(last) != len(now) or any(a is not b for a, b in zip(last, now, strict=True)):
                offered[:] = offer(scenario, words)
                last[:] = now
            return list(offered)

        return kept

    return keeping


@_for_the_same("model", "precision", "engine")
def weight_formats(scenario: Scenario, words: Words) -> list[Choice]:
    """The formats that the engine loads and that narrow something the model has."""
    now = scenario.precision.weights
    offered = weight_formats_of(scenario.engine.name)
    experts = has_experts(scenario.model)
    shown = []
    for key, known in WEIGHT_FORMATS.items():
        fits = key in offered and (experts or "_experts" not in key)
        if fits or key == now:
            # Mixtures have no width of their own: it depends on the model.
            bits = words("choices.bits", bits=f"{float(known.bits):.3g}") if known.bits else ""
            shown.append(Choice(key, known.label, bits))
    return shown


@_for_the_same("precision", "engine")
def cache_formats(scenario: Scenario, words: Words) -> list[Choice]:
    """The formats that the engine can keep its cache in."""
    now = scenario.precision.kv_cache
    offered = cache_formats_of(scenario.engine.name, scenario.precision.weights)
    return [
        Choice(key, known.label, words("choices.bits", bits=f"{float(known.bits):.3g}"))
        for key, known in CACHE_FORMATS.items()
        if key in offered or key == now
    ]


@_for_the_same("engine")
def engines(scenario: Scenario, words: Words) -> list[Choice]:
    """Engine and release as one choice, "name release"; the release in use is always among them."""
    shown = []
    for name in get_args(EngineName):
        releases = list(releases_of(name))
        if scenario.engine.name == name and scenario.engine.version not in releases and name != "textbook":
            releases.insert(0, scenario.engine.version)
        shown += [Choice(f"{name} {release}", engine_label(name, release, words)) for release in releases]
    return shown


def calibrations(scenario: Scenario, words: Words) -> list[Choice]:
    """None, and those that apply here; the one in use is always among them."""
    now = scenario.engine.calibration
    names = {*calibration_names(scenario.engine.name, scenario.accelerator.name), *([now] if now else [])}
    return [Choice("", words("choices.no_calibration")), *(Choice(name, name) for name in sorted(names))]


def engine_label(name: str, release: str, words: Words) -> str:
    """ "vLLM 0.21", "llama.cpp"; a fork has a name of its own."""
    fork = f"choices.engines.{name}_{release}"
    if words.has(fork):
        return words(fork)
    return f"{words(f'choices.engines.{name}')} {release}".strip()


def engine_of(scenario: Scenario) -> str:
    """The value of the engine choice."""
    engine = scenario.engine
    return f"{engine.name} {'' if engine.name == 'textbook' else engine.version}"


@_for_the_same("model", "accelerator", "deployment", "precision", "engine", "speculative", "host")
def layouts(scenario: Scenario, words: Words) -> list[Choice]:
    """Ways to divide the devices, with the number of copies that remain."""
    now = layout_of(scenario)
    found = allowed_layouts(scenario, scenario.deployment.accelerators)
    if now not in found:
        found = [*found, now]
    return [Choice(layout, layout_label(layout, words)) for layout in found]


def layout_label(layout: Layout, words: Words) -> str:
    """ "TP 2", "PP 2", "TP 4 × PP 2", "TP 1 × 2 copies"."""
    parts = []
    if layout.tensor > 1 or layout.pipeline == 1:
        parts.append(words("choices.tp", degree=layout.tensor))
    if layout.pipeline > 1:
        parts.append(words("choices.pp", stages=layout.pipeline))
    if layout.copies > 1:
        parts.append(words("choices.copies", copies=layout.copies))
    return " × ".join(parts)


def expert_groups(scenario: Scenario, words: Words) -> list[Choice]:
    """Experts cut over the group, or divided whole over parts of it or all of it."""
    most = max(
        (
            g.channel_mixer.experts
            for g in scenario.model.architecture.kinds
            if isinstance(g.channel_mixer, MixtureOfExperts)
        ),
        default=1,
    )
    degrees = [n for n in _divisors(scenario.deployment.tensor_parallel) if n <= most]
    now = scenario.deployment.expert_parallel
    if scenario.engine.name == "vllm":  # it spreads them over all devices of the group or none
        degrees = [n for n in degrees if n in (1, scenario.deployment.tensor_parallel)]
    return [
        Choice(n, words("choices.ep", degree=n) if n > 1 else words("choices.off"))
        for n in sorted({*degrees, now})
    ]


def attention_copies(scenario: Scenario, words: Words) -> list[Choice]:
    """Attention shared by the group, or copied in it; vLLM's own TP is then what shares one copy."""
    group = scenario.deployment.tensor_parallel
    degrees = {*_divisors(group), scenario.deployment.attention_data_parallel}
    key = "choices.dp_tp" if scenario.engine.name == "vllm" else "choices.dp"
    return [
        Choice(n, words(key, degree=n, tp=max(1, group // n)) if n > 1 else words("choices.off"))
        for n in sorted(degrees)
    ]


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def links(scenario: Scenario, words: Words) -> list[Choice]:
    """The links that the device has; "auto" is the fast one where that joins the whole group, else PCIe,
    or the network where one server does not hold the group.
    """
    device, place = scenario.accelerator, scenario.deployment
    now = place.link
    group = place.tensor_parallel if place.tensor_parallel > 1 else place.group
    if group > 1 and link_of(device, place, group, False).kind == "network":
        return [Choice(now, words("choices.links.network"))]
    joined = group <= device.scale_up.max_devices or now == "scale_up"
    if device.scale_up.gbps_per_direction is None and device.pcie.gbps_per_direction is None:
        return [Choice(now, words("choices.links.unknown"))]
    pcie = words("choices.links.pcie")
    if device.pcie.gen:
        pcie = words("choices.links.pcie_gen", gen=device.pcie.gen, lanes=device.pcie.lanes or 16)
    if device.scale_up.gbps_per_direction is None or not joined:
        return [Choice(now if now in ("pcie", "scale_up") else "auto", pcie), *_ways(scenario, words, pcie)]
    fast = "scale_up" if now == "scale_up" else "auto"
    slow = [Choice("pcie", pcie), *_ways(scenario, words, pcie)]
    return [Choice(fast, link_name(device.scale_up.kind, words)), *slow]


def _ways(scenario: Scenario, words: Words, pcie: str) -> list[Choice]:
    """Other ways that PCIe joins the devices of a server; without peer access all lead through the host."""
    apart = halves_accumulation(scenario.accelerator)
    offered = [
        way
        for way in ("pcie_switch", "pcie_sockets", "pcie_host")
        if not apart or way in ("pcie_host", scenario.deployment.link)
    ]
    return [Choice(way, words(f"choices.links.{way}", pcie=pcie)) for way in offered]


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


def on_off(scenario: Scenario, words: Words) -> list[Choice]:
    """A switch."""
    return [Choice(False, words("choices.off")), Choice(True, words("choices.on"))]


def auto_on_off(path: str) -> Callable[[Scenario, Words], list[Choice]]:
    """A switch that the engine may set itself, with what it sets."""

    def offered(scenario: Scenario, words: Words) -> list[Choice]:
        became = words("choices.on" if automatic(scenario, path) else "choices.off")
        return [Choice(None, words("choices.auto_is", value=became)), *reversed(on_off(scenario, words))]

    return offered


def cache_places(scenario: Scenario, words: Words) -> list[Choice]:
    """Where the cache lies."""
    return [Choice(False, words("choices.on_gpu")), Choice(True, words("choices.on_host"))]


def backends(scenario: Scenario, words: Words) -> list[Choice]:
    """What llama.cpp computes with."""
    own = backend_of(scenario)
    auto = words("choices.backends.auto_is", backend=own) if own else words("choices.backends.auto")
    return [Choice("auto", auto), Choice("vulkan", words("choices.backends.vulkan"))]


def drafts(scenario: Scenario, words: Words) -> list[Choice]:
    """What proposes tokens, as far as the engine knows it; the model's own module only where it has one."""
    now, known = scenario.speculative.kind, drafts_of(scenario.engine.name)
    module = bool(scenario.model.architecture.mtp_groups)
    kinds = [k for k in get_args(DraftKind) if k == now or (k in known and (k != "mtp" or module))]
    return [Choice(kind, words(f"choices.drafts.{kind}")) for kind in kinds]
