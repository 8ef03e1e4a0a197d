"""What else changes with a choice, so that it makes sense at once and is undone at once."""

from collections.abc import Mapping

from core.errors import InferometerError, Problem
from core.model.parameters import mtp_parameters, stored_parameters
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.change import with_value
from core.spec.checks import drafts_of
from core.spec.engine import Engine, EngineName
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.support import nearest_cache, nearest_weights, releases_of, weight_formats_of
from gui.forms.layouts import Layout, customary, fitting_layout, layout_of

Changes = list[tuple[str, object]]
_PLAIN = ("bf16", "fp16", "fp32")
_LLAMA = ("llamacpp", "ollama")
_OF_EXPERTS = {key for key in WEIGHT_FORMATS if key.endswith(("_experts", "_moe"))}


def has_experts(model: Model) -> bool:
    """Whether any layer routes to experts."""
    return any(isinstance(g.channel_mixer, MixtureOfExperts) for g in model.architecture.kinds)


def published_format(model: Model) -> str:
    """Key of the weight format that a model is published in; "bf16" where the source is silent."""
    said = model.published_weight_format.lower()
    if said in WEIGHT_FORMATS:
        return said
    if "nvfp4" in said:
        return "nvfp4"
    if "mxfp4" in said:
        return "mxfp4_experts" if "expert" in said else "mxfp4"
    if said.startswith("int4") and "expert" in said:
        return "int4_g32_experts"
    if said.startswith("fp8"):
        return "fp8_block" if "128" in said or "block" in said else "fp8"
    if said.startswith("int8"):
        return "w8a16"
    return next((key for key in _PLAIN if said.startswith(key)), "bf16")


def weights_for(scenario: Scenario, model: Model) -> str:
    """The weight format to use after choosing a model.

    The current one stays, unless the model is published narrower than 16 bits, or the current one
    was the former model's own narrow format, or it narrows experts that the model does not have.  What
    the engine does not load is exchanged for its own files of that kind.
    """
    now, published = scenario.precision.weights, published_format(model)
    engine = scenario.engine.name
    if published not in _PLAIN:
        return nearest_weights(engine, published)
    came_with_model = now not in _PLAIN and now == nearest_weights(engine, published_format(scenario.model))
    without_experts = now in _OF_EXPERTS and not has_experts(model)
    return "bf16" if came_with_model or without_experts else now


def layout_changes(scenario: Scenario, layout: Layout) -> Changes:
    """Set the layout; divisions inside a group follow where they no longer divide it."""
    place = scenario.deployment
    tp, old = layout.tensor, place.tensor_parallel
    experts = tp if place.expert_parallel == old and old > 1 else place.expert_parallel
    if scenario.engine.name == "vllm" and experts > 1:
        experts = tp  # it knows no part of a group
    copies = tp if place.attention_data_parallel == old and old > 1 else place.attention_data_parallel
    changes: Changes = [
        ("deployment.tensor_parallel", tp),
        ("deployment.pipeline_parallel", layout.pipeline),
        ("deployment.expert_parallel", experts if tp % experts == 0 else 1),
        ("deployment.attention_data_parallel", copies if tp % copies == 0 else 1),
    ]
    return [changes[0], *_only_new(scenario, changes[1:] + _apart(scenario, layout))]


def _apart(scenario: Scenario, layout: Layout) -> Changes:
    """Servers and devices for prompts, as far as the layout allows them."""
    place, group = scenario.deployment, layout.group
    nodes = place.nodes
    each = layout.devices // nodes
    if layout.devices % nodes or (each % layout.tensor and layout.tensor % each):
        nodes = 1
    prompts = min(place.prefill_accelerators // group * group, layout.devices - group)
    return [("deployment.nodes", nodes), ("deployment.prefill_accelerators", max(0, prompts))]


def model_changes(scenario: Scenario, model: Model) -> Changes:
    """Choose a model: precision, lengths and parallelism follow where they must."""
    changes: Changes = [("precision.weights", weights_for(scenario, model))]
    changes += _limited(scenario, model)
    tried = scenario.model_copy(update={"model": model})
    changes += _placed(tried)
    changes += _draft_of(tried)
    return [("model", model), *_only_new(scenario, changes)]


def edited_model_changes(scenario: Scenario, model: Model) -> Changes:
    """The model's numbers were edited: formats stay, lengths and parallelism follow where they must."""
    tried = scenario.model_copy(update={"model": model})
    changes: Changes = _limited(scenario, model)
    changes += [*_placed(tried), *_draft_of(tried)]
    return [("model", model), *_only_new(scenario, changes)]


def _limited(scenario: Scenario, model: Model) -> Changes:
    """No request is longer than the model's context: the maximum length, and the lengths within it."""
    engine = scenario.engine
    limit = min(engine.max_model_len, engine.separate_slots * model.max_context)
    each = engine.model_copy(update={"max_model_len": limit}).longest_request
    return [("engine.max_model_len", limit), *_lengths_within(scenario, min(each, model.max_context))]


def _placed(tried: Scenario, before: Scenario | None = None) -> Changes:
    """The layout of a scenario where it is allowed, else the nearest; experts are only spread if any."""
    intent = customary(layout_of(tried), before or tried, tried)
    layout = fitting_layout(tried, tried.deployment.accelerators, intent)
    changes = layout_changes(tried, layout)
    if not has_experts(tried.model):
        changes = [c for c in changes if c[0] != "deployment.expert_parallel"]
        changes.append(("deployment.expert_parallel", 1))
    return changes


def _draft_of(tried: Scenario) -> Changes:
    """A model without a prediction module cannot draft with it."""
    gone = tried.speculative.kind == "mtp" and not tried.model.architecture.mtp_groups
    return [("speculative.kind", "none")] if gone and not tried.speculative.draft_parameters else []


def _about(count: float) -> int:
    """A number with two digits, as a customary size is known; at least 1."""
    return max(1, int(float(f"{count:.1e}")))


def draft_changes(scenario: Scenario, kind: object) -> Changes:
    """Choose what drafts.  A draft that the model does not bring starts with a customary size.

    EAGLE heads are one layer wide (arXiv:2401.15077); a separate draft is about a twentieth of the model.
    """
    arch = scenario.model.architecture
    stored = stored_parameters(arch)
    size = {"eagle": _about(stored / max(1, arch.layers)), "draft_model": _about(stored / 20)}
    known = scenario.speculative.draft_parameters
    wanted = 0 if kind == "mtp" and mtp_parameters(arch) else size.get(str(kind), known)
    return [("speculative.kind", kind), *_only_new(scenario, [("speculative.draft_parameters", wanted)])]


def _lengths_within(scenario: Scenario, limit: int) -> Changes:
    """Prompt and answer that fit into ``limit`` tokens; the answer gives way last."""
    work = scenario.workload
    if work.tokens_per_request <= limit:
        return []
    output = min(work.output_tokens, max(1, limit // 2))
    prompt = max(1, limit - output)
    prefix = min(work.shared_prefix_tokens, prompt - 1)
    # In this order, so that no step of it is refused.
    return [
        ("workload.shared_prefix_tokens", prefix),
        ("workload.output_tokens", output),
        ("workload.prompt_tokens", prompt),
    ]


def _only_new(scenario: Scenario, changes: Changes) -> Changes:
    kept: Changes = []
    for path, value in changes:
        try:
            if with_value(scenario, path, value) == scenario:
                continue
        except InferometerError:
            pass  # the document says why
        kept.append((path, value))
    return kept


def accelerator_changes(scenario: Scenario, accelerator: Accelerator) -> Changes:
    """Choose a device: a link that it does not have is dropped."""
    changes: Changes = [("accelerator", accelerator)]
    if scenario.deployment.link == "scale_up" and accelerator.scale_up.gbps_per_direction is None:
        changes.append(("deployment.link", "auto"))
    return changes


def count_changes(scenario: Scenario, count: object, intent: Layout) -> Changes:
    """Set the number of devices; the parallelism follows in the spirit of ``intent``."""
    changes: Changes = [("deployment.accelerators", count)]
    if isinstance(count, int) and 1 <= count <= 4096:
        changes += layout_changes(scenario, fitting_layout(scenario, count, intent))
    return changes


def engine_changes(scenario: Scenario, engine: object) -> Changes:
    """Choose engine and release, given as "name release"; what it lacks is exchanged."""
    name, _, version = str(engine).partition(" ")
    changes: Changes = [("engine.name", name)]
    if name != "textbook":
        changes.append(("engine.version", version))
    try:
        known = Engine.model_validate({**scenario.engine.model_dump(), "name": name})
    except ValueError:
        return changes  # the document says why
    engined = scenario.model_copy(update={"engine": known})
    weights = nearest_weights(known.name, scenario.precision.weights)
    changes += [
        ("precision.weights", weights),
        ("precision.kv_cache", _cache_for(known, scenario.precision.kv_cache, weights)),
        *_placed(engined, scenario),
    ]
    if known.name != "textbook" and scenario.workload.tokens_per_request > known.longest_request:
        changes.append(("engine.max_model_len", known.length_for(scenario.workload.tokens_per_request)))
    if known.name not in ("vllm", "sglang", "trtllm"):
        changes += [("deployment.expert_parallel", 1), ("deployment.attention_data_parallel", 1)]
        changes.append(("deployment.prefill_accelerators", 0))
    if scenario.speculative.kind not in drafts_of(known.name):
        changes.append(("speculative.kind", "none"))
    return [changes[0], *_only_new(scenario, changes[1:])]


def _cache_for(engine: Engine, cache: str, weights: str) -> str:
    """The engine's own 16 bits stand for the other engine's."""
    if engine.name in _LLAMA and cache == "bf16":
        return "fp16"
    if cache == "fp16" and engine.name not in (*_LLAMA, "textbook") and weights != "fp16":
        return "bf16"
    return nearest_cache(engine.name, cache, weights)


def preset_changes(scenario: Scenario, preset: Mapping[str, object], usual: int | None = None) -> Changes:
    """Take over the lengths of a preset; the maximum length rises when it must and may.

    ``usual``: the maximum length that holds where the preset needs no more, by default the present one.
    """
    prompt = int(str(preset["prompt_tokens"]))
    output = int(str(preset["output_tokens"]))
    prefix = int(str(preset["shared_prefix_tokens"]))
    engine = scenario.engine
    now, longest = engine.max_model_len, engine.separate_slots * scenario.model.max_context
    needed = engine.length_for(prompt + output)
    limit = least = now if usual is None else min(usual, max(longest, now))
    if needed > limit:
        limit = next((n for n in (2**k for k in range(10, 31)) if n >= needed), limit)
        limit = max(least, min(limit, longest))
    room: Changes = [("engine.max_model_len", limit)] if limit != now else []
    each = engine.model_copy(update={"max_model_len": limit}).longest_request
    if prompt + output > each:
        prompt = max(1, each - output)
        prefix = min(prefix, prompt - 1)
    return [
        *room,
        ("workload.prompt_tokens", prompt),
        ("workload.output_tokens", output),
        ("workload.shared_prefix_tokens", prefix),
    ]


def settled(scenario: Scenario, before: Scenario) -> tuple[Scenario, tuple[Problem, ...]]:
    """An imported scenario made to agree with itself, and what was changed for that.

    What was imported is kept; what the document had before gives way.
    """
    notes: list[Problem] = []
    scenario = _with_engine_for_format(scenario, before, notes)
    cache = nearest_cache(scenario.engine.name, scenario.precision.kv_cache, scenario.precision.weights)
    steps: list[Changes] = [
        _draft_of(scenario),
        _draft_size(scenario),
        [("precision.kv_cache", cache)],
        _placed(_spread_as(scenario, before)),
        _lengths_within(scenario, min(scenario.engine.longest_request, scenario.model.max_context)),
    ]
    if scenario.deployment.link == "scale_up" and scenario.accelerator.scale_up.gbps_per_direction is None:
        steps.append([("deployment.link", "auto")])
    told: set[str] = set()
    for changes in steps:
        for path, value in _only_new(scenario, changes):
            scenario = with_value(scenario, path, value)
            told.add(path)
    named = tuple(sorted(told - {"speculative.draft_parameters"}))
    notes += [Problem("intake.followed", (path,), {}, "note") for path in named]
    if "speculative.draft_parameters" in told:
        notes.append(Problem("intake.draft_size", ("speculative.draft_parameters",), {}, "note"))
    return scenario, tuple(notes)


def _with_engine_for_format(scenario: Scenario, before: Scenario, notes: list[Problem]) -> Scenario:
    """A file's format decides the engine where the one in use does not serve it."""
    weights = scenario.precision.weights
    if weights in weight_formats_of(scenario.engine.name) or scenario.engine != before.engine:
        return scenario
    servers: tuple[EngineName, ...] = ("llamacpp", "mlx", "vllm", "transformers")
    name = next((e for e in servers if weights in weight_formats_of(e)), None)
    if name is None:
        return scenario
    for path, value in engine_changes(scenario, f"{name} {releases_of(name)[0]}"):
        scenario = with_value(scenario, path, value)
    values = {"format": WEIGHT_FORMATS[weights].label}
    notes.append(Problem("intake.engine_changed", ("engine.name",), values, "note"))
    return scenario


def _spread_as(scenario: Scenario, before: Scenario) -> Scenario:
    """Other devices are divided in the spirit of those before them."""
    if scenario.accelerator == before.accelerator or scenario.engine != before.engine:
        return scenario
    layout = fitting_layout(scenario, scenario.deployment.accelerators, layout_of(before))
    for path, value in layout_changes(scenario, layout):
        scenario = with_value(scenario, path, value)
    return scenario


def _draft_size(scenario: Scenario) -> Changes:
    """A draft whose size nobody stated gets a customary one."""
    draft = scenario.speculative
    missing = draft.kind in ("eagle", "draft_model") and not draft.draft_parameters
    return draft_changes(scenario, draft.kind) if missing else []
