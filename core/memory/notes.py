"""Remarks on a ledger: what the engine would refuse, and where the plain rules differ from it."""

from core.errors import Problem
from core.memory import textbook, vllm
from core.memory.build import plan_memory
from core.memory.capacity import longest_reserved, refuses_long
from core.memory.ledger import Ledger
from core.memory.plan import MemoryPlan
from core.model.cache import cache_kinds, kv_bytes_per_token
from core.spec.architecture import Attention, LatentAttention
from core.spec.checks import LABELS
from core.spec.formats import CACHE_FORMATS
from core.spec.scenario import Scenario
from core.units import three_digits


def memory_notes(scenario: Scenario, ledger: Ledger) -> tuple[Problem, ...]:
    """Remarks as problems of severity "warning" or "note"."""
    if scenario.engine.name == "textbook":
        return _cache_rule(scenario)
    plan = plan_memory(scenario)
    if scenario.engine.name != "vllm":
        return _model_length(scenario, plan, ledger)
    return (*_start(scenario, plan), *_model_length(scenario, plan, ledger))


def _start(scenario: Scenario, plan: MemoryPlan) -> tuple[Problem, ...]:
    """The engine does not start when it may use more than is free at its start."""
    free = plan.device - vllm.context(scenario)
    asked = scenario.engine.gpu_memory_utilization
    if asked * plan.device <= free:
        return ()
    most = max(0.0, int(100 * free / plan.device) / 100)
    values: dict[str, object] = {"asked": f"{asked:.2f}", "most": f"{most:.2f}"}
    return (Problem("utilization_not_free", ("engine.gpu_memory_utilization",), values, "warning"),)


def _model_length(scenario: Scenario, plan: MemoryPlan, ledger: Ledger) -> tuple[Problem, ...]:
    """Nor does it start when one request of max_model_len exceeds the pool; SGLang cuts the length."""
    length = scenario.engine.longest_request
    if not ledger.fits or plan.demand.reserved_bytes(length, plan.batched_tokens) <= ledger.kv_pool_bytes:
        return ()
    most = longest_reserved(plan)
    values: dict[str, object] = {"engine": LABELS[scenario.engine.name], "length": length, "most": most}
    code = "model_length_exceeds_pool" if most else "model_length_never_fits"
    if not refuses_long(scenario):
        if not most:
            return ()
        code = "model_length_cut"
    return (Problem(code, ("engine.max_model_len",), values, "warning"),)


def _cache_rule(scenario: Scenario) -> tuple[Problem, ...]:
    """Why an engine keeps less cache than the rule for multi-head attention says."""
    arch = scenario.model.architecture
    fmt, tp = CACHE_FORMATS[scenario.precision.kv_cache], scenario.deployment.tensor_parallel
    by_rule = textbook.cache_bytes_per_token(arch, fmt, tp)
    real = kv_bytes_per_token(arch, fmt, tp)
    if real == 0 or 0.99 <= by_rule / real <= 1.01:
        windows = [kind.window for kind in cache_kinds(arch, tp) if kind.window is not None]
        if not windows:
            return ()
        return (Problem("rule_window", ("engine.name",), {"window": min(windows)}, "note"),)
    values: dict[str, object] = {"ratio": three_digits(by_rule / real), "rule": by_rule, "real": real}
    mixers = [g.token_mixer for g in arch.kinds]
    grouped = next((m for m in mixers if isinstance(m, Attention) and m.kv_heads < m.heads), None)
    if any(isinstance(m, LatentAttention) for m in mixers):
        return (Problem("rule_mla", ("engine.name",), values, "note"),)
    if grouped is not None:
        values |= {"heads": grouped.heads, "kv_heads": grouped.kv_heads}
        return (Problem("rule_gqa", ("engine.name",), values, "note"),)
    return (Problem("rule_width", ("engine.name",), values, "note"),)
