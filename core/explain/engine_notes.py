"""Quiet notes on where the speeds come from: formats, profiles, what they inherit, what is assumed."""

import re
from typing import cast

from core.explain.assumptions import assumptions
from core.latency.efficiency import (
    SERVER_ENGINES,
    format_key,
    halves_accumulation,
    is_measured,
    profile_for,
    sources_of,
)
from core.latency.machine import activation_format, compute_format, is_native, peak_flops
from core.memory.vllm_rules import version_tuple
from core.results import Estimate
from core.spec.architecture import CompressedAttention
from core.spec.checks import runs_on
from core.spec.formats import WEIGHT_FORMATS, ComputeFormat
from core.spec.scenario import Scenario
from core.spec.support import releases_of
from core.units import show_count
from core.words import Phrase, counted

_GENERIC = "generic"
_FASTER = 1.1  # a narrow format with a peak below this times that of 16 bits brings prefill nothing
_SAME = {"ollama": "llamacpp"}  # engines that share the profiles of another
_WORK = r"(?P<work>[^,: ]+ [0-9a-f]{7})"
_SOURCES = {
    "source_fitted": re.compile(
        _WORK + r", measured kernels \((?P<licence>.+?)\), fitted, (?P<release>.+?) on (?P<devices>.+?)"
        r"(?: \([a-zA-Z0-9 ]+ from (?P<other>\S+ [^: ]+).*\)|, (?:fractions )?of .+)?"
    ),
    "source_rates": re.compile(_WORK + ": best matrix rates (?P<rates>.+) of peak"),
}
COMPUTE_LABELS = {
    "fp32": "FP32",
    "tf32": "TF32",
    "bf16": "BF16",
    "fp16": "FP16",
    "fp8": "FP8",
    "int8": "INT8",
    "fp4": "FP4",
    "int4": "INT4",
}


def engine_notes(estimate: Estimate) -> tuple[Phrase, ...]:
    """Sentences that a person should know and need not act on; ``Words.phrase`` gives the text."""
    scenario = estimate.scenario
    assumed, unknown = assumptions(scenario), not_measured(scenario)
    own = (unknown,) if unknown is not None and unknown.key == "engine_notes.generic_format" else ()
    release = _release(scenario)
    return (
        *_precision(estimate, scenario),
        *_profile(scenario),
        *own,
        *release,
        *assumed,
        *_memory(scenario),
    )


def _release(scenario: Scenario) -> tuple[Phrase, ...]:
    """By whose rules a server's release is told that is newer than all that are known."""
    engine = scenario.engine
    if engine.name not in SERVER_ENGINES or not any(letter.isdigit() for letter in engine.version):
        return ()
    newest = releases_of(engine.name)[0]
    known = version_tuple(newest)
    if version_tuple(engine.version)[: len(known)] <= known:
        return ()
    name = Phrase(f"engine_notes.engines.{engine.name}")
    return (Phrase("engine_notes.release", {"engine": name, "version": engine.version, "known": newest}),)


def _memory(scenario: Scenario) -> tuple[Phrase, ...]:
    """Where the ledger was never laid beside a log."""
    name = Phrase(f"engine_notes.engines.{scenario.engine.name}")
    if scenario.engine.name in ("mlx", "transformers"):
        return (Phrase(f"engine_notes.memory_{scenario.engine.name}", {"engine": name}),)
    kinds = (mixer for group in scenario.model.architecture.kinds for mixer in group.token_mixers)
    if scenario.engine.name != "textbook" and any(isinstance(m, CompressedAttention) for m in kinds):
        values = {"engine": name, "model": scenario.model.name}
        paged = "_paged" if scenario.engine.name == "vllm" else ""
        return (Phrase(f"engine_notes.memory_compressed{paged}", values),)
    return ()


def _precision(estimate: Estimate, scenario: Scenario) -> tuple[Phrase, ...]:
    """How the weights are multiplied."""
    device, weights = scenario.accelerator, WEIGHT_FORMATS[scenario.precision.weights]
    compute: str = compute_format(device, weights)
    native = is_native(device, weights)
    if estimate.speed is not None:
        compute, native = estimate.speed.prefill.compute_format, estimate.speed.prefill.native
    found = []
    if weights.bits < 16 and device.kind == "cpu" and weights.gguf:
        # ggml multiplies blocks of both sides in 8 bits and adds up in FP32, whatever the data sheet has.
        found.append(Phrase("engine_notes.blocks", {"format": weights.label, "gpu": device.name}))
    elif weights.bits < 16 and not native:
        values = {
            "format": weights.label,
            "compute": COMPUTE_LABELS.get(compute, compute),
            "gpu": device.name,
        }
        found.append(Phrase("engine_notes.expanded", values))
    elif weights.bits < 16:
        values = {
            "format": weights.label,
            "compute": COMPUTE_LABELS.get(compute, compute),
            "gpu": device.name,
        }
        plain = peak_flops(device, activation_format(device))
        gains = peak_flops(device, cast(ComputeFormat, compute)) > _FASTER * plain
        found.append(Phrase(f"engine_notes.{'native' if gains else 'native_no_faster'}", values))
    servers = scenario.engine.name in SERVER_ENGINES
    if servers and compute in ("bf16", "fp16") and halves_accumulation(device):
        found.append(Phrase("engine_notes.half_rate", {"gpu": device.name}))
    return tuple(found)


def not_measured(scenario: Scenario) -> Phrase | None:
    """That nobody measured the GPU, or the format on it, or one of its family; None where somebody did."""
    engine, device = scenario.engine.name, scenario.accelerator
    if engine == "textbook":
        return None
    values: dict[str, object] = {"engine": Phrase(f"engine_notes.engines.{engine}"), "gpu": device.name}
    if _chain(scenario)[1] == _GENERIC and not _one_class(scenario):
        return Phrase("engine_notes.generic_profile", values)
    weights = WEIGHT_FORMATS[scenario.precision.weights]
    kind = "gemm" if "mlp" in weights.narrow else "moe"
    key = format_key(weights, float(weights.bits), compute_format(device, weights))
    if engine not in SERVER_ENGINES or weights.bits >= 16 or is_measured(engine, device, kind, key):
        return None
    return Phrase("engine_notes.generic_format", {**values, "format": weights.label})


def _chain(scenario: Scenario) -> tuple[tuple[str, ...], str]:
    """Names of the profiles from the engine's own to the generic one, and of the one that counts."""
    engine, device = scenario.engine.name, scenario.accelerator
    if engine in SERVER_ENGINES:
        profile = profile_for(engine, device)
        return profile.chain, profile.name
    from core.latency.local_profile import local_profile_for  # not needed by servers

    local = local_profile_for(engine, device, scenario.engine.backend)
    return local.chain, local.name


def _one_class(scenario: Scenario) -> bool:
    """Whether the engine's only profile is of measurements: it runs on one class of devices."""
    from core.latency.local_profile import stored_profiles  # not needed by servers

    if scenario.engine.name in SERVER_ENGINES or not runs_on(scenario):
        return False
    stored = stored_profiles(_SAME.get(scenario.engine.name, scenario.engine.name))
    return len(stored) == 1 and bool(_grounds(scenario))


def _grounds(scenario: Scenario) -> dict[str, int]:
    """How many measurements a local engine's profile was fitted to, of how many devices; empty for none."""
    from core.latency.local_profile import local_profile_for, stored_profiles

    engine = scenario.engine
    if engine.name in SERVER_ENGINES or engine.name == "textbook":
        return {}
    name = local_profile_for(engine.name, scenario.accelerator, engine.backend).name
    grounds = stored_profiles(_SAME.get(engine.name, engine.name))[name].get("fitted_on", {})
    return dict(grounds) if grounds.get("measurements") else {}


def _profile(scenario: Scenario) -> tuple[Phrase, ...]:
    """Which measured profile is in use, and what it falls back on."""
    name = Phrase(f"engine_notes.engines.{scenario.engine.name}")
    if scenario.engine.name == "textbook":
        return (Phrase("engine_notes.textbook"),)
    own, base = _chain(scenario)
    if base == _GENERIC:
        if _one_class(scenario):
            return (_rests_on(scenario),)
        return (Phrase("engine_notes.generic_profile", {"engine": name, "gpu": scenario.accelerator.name}),)
    above: tuple[object, ...] = tuple(profile_label(n) for n in own[1:])
    if own[0] == _GENERIC:
        # The engine has no figures of its own for this device: those of vLLM stand in.
        return (Phrase("engine_notes.borrowed_profile", {"engine": name, "profile": profile_label(base)}),)
    values: dict[str, object] = {"engine": name, "profile": profile_label(own[0]), "parent": above[0]}
    rests = (_rests_on(scenario),) if _grounds(scenario) else ()
    if len(above) == 1:
        return (Phrase("engine_notes.profile", values), *rests)
    return (Phrase("engine_notes.profile_of_two", {**values, "grandparent": above[-1]}), *rests)


def _rests_on(scenario: Scenario) -> Phrase:
    """What a local engine's profile was fitted to, and whether the device was among it."""
    from core.latency.local_profile import local_profile_for

    engine, device = scenario.engine, scenario.accelerator
    profile, grounds = local_profile_for(engine.name, device, engine.backend), _grounds(scenario)
    values: dict[str, object] = {
        "engine": Phrase(f"engine_notes.engines.{engine.name}"),
        "measurements": show_count(grounds["measurements"]),
        "devices": counted("engine_notes.gpus", grounds["devices"]),
        "gpu": device.name,
    }
    seen = "own" if device.name in profile.devices else "others"
    if seen == "own" and grounds["devices"] == 1:
        seen = "alone"
    return Phrase(f"engine_notes.rests_on_{seen}", values)


def profile_sources(scenario: Scenario) -> tuple[Phrase, ...]:
    """Where the figures of the profiles in use were measured, the nearest first; empty for generic ones."""
    engine = scenario.engine.name
    if engine not in SERVER_ENGINES:
        return ()  # what local profiles rest on is said in the notes
    return tuple(
        _source(profile_label(name), told.partition(";")[0])
        for name, told in sources_of(engine, scenario.accelerator)
        if not told.startswith("as its parent")  # which is named by itself
    )


def _source(profile: Phrase, told: str) -> Phrase:
    """A source in the reader's language, where it has one of the two usual forms; else as it is written."""
    for key, form in _SOURCES.items():
        if found := form.fullmatch(told):
            values = {name: text.replace(" and ", ", ") for name, text in found.groupdict().items() if text}
            besides = "_besides" if "other" in values else ""
            return Phrase(f"engine_notes.{key}{besides}", {"profile": profile, **values})
    return Phrase("engine_notes.source", {"profile": profile, "source": told})


def profile_label(name: str) -> Phrase:
    """The name of a profile in words."""
    plain = "".join(c if c.isalnum() else " " for c in name.lower())
    return Phrase(f"profiles.{'_'.join(plain.split())}")
