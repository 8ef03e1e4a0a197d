"""The working of the memory ledger: each line, the budget, and the sum."""

from fractions import Fraction

from core.explain.activations import activation_steps, graph_steps, runtime_steps
from core.explain.cache_steps import cache_line
from core.explain.derivation_types import Derivation, Step, given, worked
from core.explain.expression import Expr, Sym, added, whole_down, whole_up
from core.explain.ledger_names import (
    budget_key,
    line_name,
    of_cache,
    of_device,
    outside_key,
    title_of,
)
from core.explain.textbook_rules import why_cache, why_ledger
from core.memory import textbook
from core.memory.layout import layout_of
from core.memory.ledger import LINE_ORDER
from core.memory.uncertainty import band_of
from core.model.formats import stored_bits
from core.model.parameters import TensorGroup, stored_parameters, tensor_groups
from core.quantities import Range
from core.results import Estimate
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, TensorClass
from core.spec.scenario import Scenario
from core.units import GIB
from core.words import Phrase

_MODEL = "derivation.sources.model"
_RULE = "derivation.sources.textbook"
_ENGINE = "derivation.sources.engine"
_SHARES = ("vllm", "textbook")  # engines whose budget is a share of the device
# By ``budget_key``: the symbol of what limits the memory, and its meaning.
_LIMITS = {"budget": ("M_b", "M_b"), "taken": ("M_b", "M_t"), "device": ("M_d", "M_d")}
# The figure of the start-up logs that a line was compared with, by engine; its unit ends its name.
_METRICS = {
    "vllm": {
        "weights": "weights_gib",
        "activations": "activation_peak_gib",
        "graphs": "cuda_graph_gib",
        "runtime": "non_torch_gib",
    },
    "sglang": {"weights": "weights_gib"},
    "trtllm": {"weights": "weights_gib", "activations": "activation_peak_gib"},
    "llamacpp": {"weights": "model_buffer_mib", "activations": "compute_buffer_mib"},
    "ollama": {"weights": "model_buffer_mib"},
}


def line(point: Estimate, key: str) -> Derivation | None:
    """The working of one line; None where the ledger has none of this name."""
    found = next((entry for entry in point.ledger.lines if entry.key == key), None)
    if found is None:
        return None
    scenario, title = (
        point.scenario,
        Phrase("derivation.titles.ledger", {"line": title_of(point, key)}),
    )
    steps = _steps(point, key, found.bytes)
    rule: tuple[Step, ...] = ()
    why: tuple[Phrase, ...] = ()
    if scenario.engine.name != "textbook":
        rule, why = _textbook(scenario, key)
    band, source = _band(point, key)
    return Derivation(f"ledger.{key}", title, steps, band, source, rule, why)


def _band(point: Estimate, key: str) -> tuple[Range, Phrase] | tuple[None, None]:
    """The 80 % band of a line that start-up logs were compared with."""
    engine = point.scenario.engine.name
    metric = _METRICS.get(engine, {}).get(key)
    if metric is None:
        return None, None
    unit = GIB if metric.endswith("gib") else 2**20
    value = float(point.ledger.bytes_of(key))  # type: ignore[arg-type]
    low, high = band_of(engine, metric, value / unit, point.scenario)
    source = Phrase("derivation.range_sources.logs", {"engine": Phrase(f"choices.engines.{engine}")})
    return Range(max(0.0, low) * unit, value, high * unit), source


def _steps(point: Estimate, key: str, size: int) -> tuple[Step, ...]:
    scenario = point.scenario
    match key:
        case "weights":
            return weight_steps(scenario, size)
        case "kv_cache":
            return cache_line(point, size)
        case "kv_cache_spare":
            return spare_steps(point)
        case "outside":
            return outside_steps(point)
        case "activations":
            return activation_steps(scenario, size)
        case "graphs":
            return graph_steps(scenario, size)
    return runtime_steps(scenario, size)


def outside_steps(point: Estimate) -> tuple[Step, ...]:
    """What the budget leaves of the device."""
    whole = Sym("M_d", point.ledger.device_bytes, "GiB", "M_d")
    budget = budget_symbol(point)
    left = worked(outside_key(point), "M_o", whole - budget, "GiB", Phrase(_ENGINE))
    return (*budget_steps(point), left)


def spare_steps(point: Estimate) -> tuple[Step, ...]:
    """What all other lines leave of the budget; less than nothing where they do not fit."""
    parts: list[Expr] = []
    steps = list(budget_steps(point))
    for entry in point.ledger.lines:
        if entry.key in ("kv_cache_spare", "outside") or not entry.bytes:
            continue
        symbol = Sym(f"M_{entry.key}", entry.bytes, "GiB", f"M_{entry.key}")
        steps.append(
            Step(
                line_name(entry.key, point.scenario.accelerator),
                symbol,
                symbol,
                Phrase(_ENGINE),
                more=f"ledger.{entry.key}",
            )
        )
        parts.append(symbol)
    budget = budget_symbol(point)
    name = of_cache(point.scenario.engine.name, "spare")
    return (*steps, worked(name, "M_s", budget - added(parts), "GiB", Phrase(_ENGINE), "kv_cache"))


def budget_steps(point: Estimate) -> tuple[Step, ...]:
    """What the engine may use, or takes at its start."""
    ledger, engine = point.ledger, point.scenario.engine
    device = Sym("M_d", ledger.device_bytes, "GiB", "M_d")
    name = of_device(point.scenario.accelerator, "device")
    first = given(name, device, "derivation.sources.driver", "gib")
    if budget_key(point) == "device":
        return (first,)
    told = given(budget_key(point), budget_symbol(point), _ENGINE)
    if engine.name not in _SHARES:
        return first, told
    share = Sym("u", engine.gpu_memory_utilization, "share", "u")
    rule = whole_down(share * device)
    tried = worked("budget", "M_b", rule, "GiB", Phrase(_ENGINE), "gpu_memory_utilization")
    if abs(tried.value - ledger.budget_bytes) <= 1:
        return first, tried
    graphs = ledger.bytes_of("graphs")
    on_top = worked(
        "budget_with_graphs", "M_b", rule + Sym("M_g", graphs, "GiB", "M_g"), "GiB", Phrase(_ENGINE)
    )
    if abs(on_top.value - ledger.budget_bytes) <= 1:
        return first, on_top
    return first, told


def budget_symbol(point: Estimate) -> Sym:
    """What the engine may use, or takes at its start, as a symbol."""
    name, meaning = _LIMITS[budget_key(point)]
    return Sym(name, point.ledger.budget_bytes, "GiB", meaning)


def device(point: Estimate) -> Derivation:
    """All that a device needs: the sum of the lines."""
    parts: list[Expr] = []
    steps = []
    for key in LINE_ORDER:
        size = point.ledger.bytes_of(key)
        if key in ("kv_cache_spare", "outside") or not size:
            continue
        symbol = Sym(f"M_{key}", size, "GiB", f"M_{key}")
        steps.append(
            Step(
                line_name(key, point.scenario.accelerator),
                symbol,
                symbol,
                Phrase(_ENGINE),
                _GLOSSARY.get(key, ""),
                f"ledger.{key}",
            )
        )
        parts.append(symbol)
    total = worked("needed", "M", added(parts), "GiB", Phrase(_ENGINE), "memory_ledger")
    rule: tuple[Step, ...] = ()
    if point.scenario.engine.name != "textbook":
        rule = _textbook_sum(point.scenario)
    why = (why_ledger(point), *why_cache(point.scenario)) if rule else ()
    title = Phrase(of_device(point.scenario.accelerator, "derivation.titles.memory_per_device"))
    return Derivation("memory_per_device", title, (*steps, total), textbook=rule, why=why)


_GLOSSARY = {
    "weights": "weights",
    "kv_cache": "kv_cache",
    "activations": "activations",
    "graphs": "cuda_graphs",
    "runtime": "runtime_memory",
}


def weight_steps(scenario: Scenario, size: int) -> tuple[Step, ...]:
    """Parameters of each class × bits ÷ 8, and what the engine adds to them."""
    arch, fmt = scenario.model.architecture, WEIGHT_FORMATS[scenario.precision.weights]
    if scenario.engine.name == "textbook":
        return _textbook_weights(scenario)
    layout, place = layout_of(scenario.deployment), scenario.deployment
    steps: list[Step] = []
    parts: list[Expr] = []
    plain = place.pipeline_parallel == 1 and layout.expert_parallel == 1
    for cls, groups in _classes(tensor_groups(arch)).items():
        copied = layout.attention_parallel if cls in layout.copied else layout.tensor_parallel
        held = float(sum((g.on_one_device(copied) for g in groups), Fraction(0)))
        if not held or not plain:
            continue
        count, bits = (
            Sym(f"N_{cls}", held, "G", "N_class"),
            Sym(f"b_{cls}", float(stored_bits(arch, fmt, cls)), "bits", "bits"),
        )
        steps.append(
            Step(
                Phrase(f"derivation.classes.{cls}"),
                Sym(f"W_{cls}", float(count.value * bits.value / 8), "GiB", "W_class"),
                count * bits / 8,
                Phrase(_MODEL),
                "quantisation" if bits.value < 16 else "weights",
            )
        )
        parts.append(steps[-1].symbol)
    rest = size - sum(step.value for step in steps)
    if parts and abs(rest) >= 1:
        # Tied embeddings and files whose tables stay on the host make it less than nothing.
        name = "weights_more" if rest > 0 else "weights_less"
        steps.append(given(name, Sym("W_rest", rest, "GiB", "W_rest"), _ENGINE))
        parts.append(steps[-1].symbol)
    if not parts:
        whole = Sym("N", float(stored_parameters(arch)), "G", "N")
        rate = Sym("bits", 8 * size / max(1.0, whole.value), "bits", "bits")
        return given("parameters", whole, _MODEL, "weights"), worked(
            "weights_share", "W", whole * rate / 8, "GiB", Phrase(_ENGINE), "weights"
        )
    return (*steps, worked("weights", "W", added(parts), "GiB", Phrase(_MODEL), "weights"))


def _classes(groups: tuple[TensorGroup, ...]) -> dict[TensorClass, list[TensorGroup]]:
    found: dict[TensorClass, list[TensorGroup]] = {}
    for group in groups:
        found.setdefault(group.tensor_class, []).append(group)
    return found


def _textbook_weights(scenario: Scenario) -> tuple[Step, ...]:
    arch, fmt = scenario.model.architecture, WEIGHT_FORMATS[scenario.precision.weights]
    count = Sym("N", float(stored_parameters(arch)), "G", "N")
    size = Sym("w", int(fmt.bits) / 8, "B", "bytes_per_parameter")
    shared = Sym("TP", float(scenario.deployment.tensor_parallel), "count", "TP")
    return (
        given("parameters", count, _MODEL, "weights"),
        worked("weights", "W", whole_up(count * size / shared), "GiB", Phrase(_RULE), "weights"),
    )


def _textbook(scenario: Scenario, key: str) -> tuple[tuple[Step, ...], tuple[Phrase, ...]]:
    """The plain rule for a line, and why it differs."""
    if key == "weights":
        fmt = WEIGHT_FORMATS[scenario.precision.weights]
        why = [Phrase("derivation.why.weights_engine")]
        if fmt.bits != int(fmt.bits) or fmt.narrow:
            why.insert(0, Phrase("derivation.why.scales", {"bits": f"{float(fmt.bits):.3g}"}))
        return _textbook_weights(scenario), tuple(why)
    if key == "kv_cache":
        return textbook_cache(scenario), why_cache(scenario)
    if key == "activations":
        weights = _textbook_weights(scenario)[-1]
        share = Sym("a", float(textbook.ACTIVATION_SHARE), "share", "activation_share")
        step = worked(
            "activations", "A", whole_up(weights.symbol * share), "GiB", Phrase(_RULE), "activations"
        )
        return (weights, step), (Phrase("derivation.why.activations"),)
    return (), ()


def textbook_token(scenario: Scenario) -> tuple[Step, ...]:
    """2 × layers × hidden × bytes for each token."""
    arch, fmt = scenario.model.architecture, CACHE_FORMATS[scenario.precision.kv_cache]
    layers, hidden = (
        Sym("n_l", float(arch.layers), "count", "n_l"),
        Sym("h", float(arch.hidden), "count", "h"),
    )
    size = Sym("w_kv", int(fmt.bits) / 8, "B", "bytes_per_element")
    shared = Sym("TP", float(scenario.deployment.tensor_parallel), "count", "TP")
    rule = whole_up(2 * layers * hidden * size / shared)
    return (worked("kv_token", "k", rule, "B", Phrase(_RULE), "kv_cache"),)


def textbook_cache(scenario: Scenario) -> tuple[Step, ...]:
    """That, times tokens and requests."""
    token = textbook_token(scenario)
    work, place = scenario.workload, scenario.deployment
    length = Sym("L", float(work.tokens_per_request), "tokens", "L_all")
    users = Sym("C_1", float(-(-work.users // place.replicas)), "count", "C_1")
    total = token[0].symbol * length * users
    return (*token, worked("kv_cache", "K", total, "GiB", Phrase(_RULE), "kv_cache"))


def _textbook_sum(scenario: Scenario) -> tuple[Step, ...]:
    weights, cache = _textbook_weights(scenario)[-1], textbook_cache(scenario)
    share = Sym("a", float(textbook.ACTIVATION_SHARE), "share", "activation_share")
    active = worked("activations", "A", whole_up(weights.symbol * share), "GiB", Phrase(_RULE), "activations")
    total = worked(
        "needed",
        "M",
        weights.symbol + cache[-1].symbol + active.symbol,
        "GiB",
        Phrase(_RULE),
        "memory_ledger",
    )
    return (weights, *cache, active, total)
