"""What one field says against another.  Each field by itself is checked by its own record."""

from collections.abc import Iterator

from core.errors import Problem
from core.spec.architecture import Attention, LatentAttention
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

VLLM_CACHE_FORMATS = ("bf16", "fp16", "fp8")
# vLLM gives a float32 model a float32 cache and takes no other format for it.
_FOLLOWING_CACHE_FORMAT = {"fp32": "fp32"}


def check(scenario: Scenario) -> tuple[Problem, ...]:
    """All contradictions of a scenario.  With severity "error" it cannot be estimated."""
    return tuple(
        problem for rule in (_deployment, _heads, _link, _lengths, _formats) for problem in rule(scenario)
    )


def _deployment(scenario: Scenario) -> Iterator[Problem]:
    deployment = scenario.deployment
    if deployment.accelerators % deployment.tensor_parallel:
        yield Problem(
            "tp_devices",
            ("deployment.tensor_parallel", "deployment.accelerators"),
            {"tp": deployment.tensor_parallel, "devices": deployment.accelerators},
        )


def _heads(scenario: Scenario) -> Iterator[Problem]:
    tp = scenario.deployment.tensor_parallel
    if scenario.engine.name == "textbook" or tp == 1:
        return
    mixers = [
        g.token_mixer
        for g in scenario.model.architecture.kinds
        if isinstance(g.token_mixer, Attention | LatentAttention)
    ]
    for mixer in mixers:
        if not _splits(mixer, tp):
            most = scenario.deployment.accelerators
            allowed = [n for n in range(1, most + 1) if all(_splits(m, n) for m in mixers)]
            yield Problem(
                "tp_heads",
                ("deployment.tensor_parallel",),
                {"heads": mixer.heads, "tp": tp, "allowed": ", ".join(map(str, allowed))},
            )
            return


def _splits(mixer: Attention | LatentAttention, tp: int) -> bool:
    """Heads are never cut; key-value heads are divided or replicated evenly."""
    if mixer.heads % tp:
        return False
    if isinstance(mixer, LatentAttention):
        return True
    return mixer.kv_heads % tp == 0 or tp % mixer.kv_heads == 0


def _link(scenario: Scenario) -> Iterator[Problem]:
    deployment, link = scenario.deployment, scenario.accelerator.scale_up
    if deployment.link != "scale_up":
        return
    if link.gbps_per_direction is None:
        yield Problem("link_none", ("deployment.link",), {"device": scenario.accelerator.name})
    elif deployment.tensor_parallel > link.max_devices:
        yield Problem(
            "link_devices",
            ("deployment.link", "deployment.tensor_parallel"),
            {"kind": link.kind, "most": link.max_devices, "tp": deployment.tensor_parallel},
            "warning",
        )


def _lengths(scenario: Scenario) -> Iterator[Problem]:
    work, limit = scenario.workload, scenario.engine.max_model_len
    if work.tokens_per_request > limit and scenario.engine.name != "textbook":
        yield Problem(
            "request_too_long",
            ("workload.prompt_tokens", "workload.output_tokens", "engine.max_model_len"),
            {"tokens": work.tokens_per_request, "limit": limit},
        )
    longest = scenario.model.max_context
    if limit > longest and scenario.engine.name != "textbook":
        yield Problem(
            "beyond_context",
            ("engine.max_model_len",),
            {"limit": limit, "model": scenario.model.name, "longest": longest},
            "warning",
        )
    if work.shared_prefix_tokens >= work.prompt_tokens:
        yield Problem(
            "prefix_too_long",
            ("workload.shared_prefix_tokens", "workload.prompt_tokens"),
            {"prefix": work.shared_prefix_tokens, "prompt": work.prompt_tokens},
        )


def _formats(scenario: Scenario) -> Iterator[Problem]:
    weights, cache = scenario.precision.weights, scenario.precision.kv_cache
    if weights not in WEIGHT_FORMATS:
        yield Problem("format_unknown", ("precision.weights",), {"format": weights})
    if cache not in CACHE_FORMATS:
        yield Problem("format_unknown", ("precision.kv_cache",), {"format": cache})
    elif scenario.engine.name == "vllm":
        allowed = (*VLLM_CACHE_FORMATS, _FOLLOWING_CACHE_FORMAT.get(weights, ""))
        if cache not in allowed:
            yield Problem(
                "cache_format_engine",
                ("precision.kv_cache",),
                {
                    "format": CACHE_FORMATS[cache].label,
                    "engine": "vLLM",
                    "allowed": ", ".join(CACHE_FORMATS[f].label for f in allowed if f),
                },
            )
