"""The ledger of a scenario, by the rules of its engine."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from core.catalog.calibrations import applying
from core.memory import textbook, vllm
from core.memory.ledger import Ledger
from core.memory.plan import MemoryPlan
from core.spec.engine import EngineName
from core.spec.scenario import Scenario

Rules = Callable[[Scenario], MemoryPlan]


def _rules_of(engine: EngineName) -> Rules:
    """The rules of an engine; those that the first scenario does not need are imported later."""
    match engine:
        case "textbook":
            return textbook.plan
        case "sglang":
            from core.memory import sglang

            return sglang.plan
        case "trtllm":
            from core.memory import tensorrt_llm

            return tensorrt_llm.plan
        case "llamacpp" | "ollama":
            from core.memory import llama_cpp

            return llama_cpp.plan
        case "transformers":
            from core.memory import transformers

            return transformers.plan
        case "mlx":
            from core.memory import mlx

            return mlx.plan
        case _:
            return vllm.plan


def plan_memory(scenario: Scenario) -> MemoryPlan:
    """What the engine's rules yield before the requests are counted in, less a calibration's reserve."""
    plan = _plan(scenario)
    found = applying(scenario)
    if found is None or not found.reserve_bytes:
        return plan
    runtime = max(0, plan.fixed.get("runtime", 0) + found.reserve_bytes)
    pool = None if plan.token_pool is None else max(0, plan.token_pool - found.reserve_bytes)
    return replace(plan, fixed={**plan.fixed, "runtime": runtime}, token_pool=pool)


@lru_cache(maxsize=16)
def _plan(scenario: Scenario) -> MemoryPlan:
    """One estimate asks several times for the same scenario; the last few are kept."""
    return _rules_of(scenario.engine.name)(scenario)


def build_ledger(scenario: Scenario, users: float | None = None) -> Ledger:
    """The memory of one device for ``users`` requests at once, each at its full length.

    None: the number of users of the workload.  The fullest replica decides.
    """
    return plan_memory(scenario).ledger(scenario.workload, users)
