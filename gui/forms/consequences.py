"""What else changes with a choice, so that it makes sense at once and is undone at once."""

from collections.abc import Mapping

from core.errors import InferometerError
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.change import with_value
from core.spec.checks import check
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario

Changes = list[tuple[str, object]]
_PLAIN = ("bf16", "fp16", "fp32")
# Formats of the textbook rules, and what an engine has in their place.
TEXTBOOK_ONLY = {"int8": "w8a16", "int4": "int4_g128"}


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
    was the former model's own narrow format, or it narrows experts that the model does not have.
    """
    now, published = scenario.precision.weights, published_format(model)
    if published not in _PLAIN:
        return published
    came_with_model = now not in _PLAIN and now == published_format(scenario.model)
    without_experts = now.endswith("_experts") and not has_experts(model)
    return "bf16" if came_with_model or without_experts else now


def allowed_tensor_parallel(scenario: Scenario, count: int) -> list[int]:
    """Degrees that divide the count and cut no head of the model."""
    allowed = []
    for degree in range(1, min(count, 1024) + 1):
        if count % degree:
            continue
        deployment = scenario.deployment.model_copy(update={"accelerators": count, "tensor_parallel": degree})
        tried = scenario.model_copy(update={"deployment": deployment})
        if not any("deployment.tensor_parallel" in p.paths and p.severity == "error" for p in check(tried)):
            allowed.append(degree)
    return allowed or [1]


def fitting_tensor_parallel(scenario: Scenario, count: int, intent: tuple[int, int]) -> int:
    """A degree for ``count`` devices in the spirit of ``intent`` (devices, degree) before the change.

    One copy over all devices stays one copy over all; otherwise the degree stays where it can.
    """
    allowed = allowed_tensor_parallel(scenario, count)
    devices, degree = intent
    wanted = count if degree == devices else degree
    return max((n for n in allowed if n <= wanted), default=1)


def model_changes(scenario: Scenario, model: Model) -> Changes:
    """Choose a model: precision, lengths and parallelism follow where they must."""
    changes: Changes = [("precision.weights", weights_for(scenario, model))]
    limit = min(scenario.engine.max_model_len, model.max_context)
    changes.append(("engine.max_model_len", limit))
    changes += _lengths_within(scenario, limit)
    tried = scenario.model_copy(update={"model": model})
    deployment = scenario.deployment
    intent = (deployment.accelerators, deployment.tensor_parallel)
    degree = fitting_tensor_parallel(tried, deployment.accelerators, intent)
    changes.append(("deployment.tensor_parallel", degree))
    return [("model", model), *_only_new(scenario, changes)]


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


def count_changes(scenario: Scenario, count: object, intent: tuple[int, int]) -> Changes:
    """Set the number of devices; the parallelism follows."""
    changes: Changes = [("deployment.accelerators", count)]
    if isinstance(count, int) and 1 <= count <= 4096:
        changes.append(("deployment.tensor_parallel", fitting_tensor_parallel(scenario, count, intent)))
    return changes


def engine_changes(scenario: Scenario, engine: object) -> Changes:
    """Choose engine and version, given as "name version"; formats that it lacks are exchanged."""
    name, _, version = str(engine).partition(" ")
    changes: Changes = [("engine.name", name)]
    if version:
        changes.append(("engine.version", version))
    cache = scenario.precision.kv_cache
    if name == "vllm" and cache not in ("bf16", "fp16", "fp8", "fp32"):
        narrow = CACHE_FORMATS[cache].bits <= 10 if cache in CACHE_FORMATS else False
        changes.append(("precision.kv_cache", "fp8" if narrow else "bf16"))
    if name == "vllm" and scenario.precision.weights in TEXTBOOK_ONLY:
        changes.append(("precision.weights", TEXTBOOK_ONLY[scenario.precision.weights]))
    if name == "vllm":
        engined = scenario.model_copy(update={"engine": scenario.engine.model_copy(update={"name": name})})
        deployment = scenario.deployment
        intent = (deployment.accelerators, deployment.tensor_parallel)
        degree = fitting_tensor_parallel(engined, deployment.accelerators, intent)
        changes.append(("deployment.tensor_parallel", degree))
        needed = scenario.workload.tokens_per_request
        if needed > scenario.engine.max_model_len:
            changes.append(("engine.max_model_len", needed))
    return changes


def preset_changes(scenario: Scenario, preset: Mapping[str, object]) -> Changes:
    """Take over the lengths of a preset; the maximum length rises when it must and may."""
    prompt = int(str(preset["prompt_tokens"]))
    output = int(str(preset["output_tokens"]))
    prefix = int(str(preset["shared_prefix_tokens"]))
    limit, longest = scenario.engine.max_model_len, scenario.model.max_context
    changes: Changes = []
    if prompt + output > limit:
        limit = next((n for n in (2**k for k in range(10, 31)) if n >= prompt + output), limit)
        limit = max(scenario.engine.max_model_len, min(limit, longest))
        changes.append(("engine.max_model_len", limit))
    if prompt + output > limit:
        prompt = max(1, limit - output)
        prefix = min(prefix, prompt - 1)
    return [
        *changes,
        ("workload.prompt_tokens", prompt),
        ("workload.output_tokens", output),
        ("workload.shared_prefix_tokens", prefix),
    ]
