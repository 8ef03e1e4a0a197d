"""The ledger of a scenario, by the rules of its engine."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from core.catalog.calibrations import applying
from core.memory import textbook, vllm
from core.memory.ledger import Ledger
from core.memory.plan import MemoryPlan
from core.memory.sizes import Sizes, plainly, sizes_over
from core.spec.engine import EngineName
from core.spec.scenario import Scenario

VARIED = ("engine.gpu_memory_utilization", "engine.max_num_batched_tokens")
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
    return _with_reserve(_plan(scenario), scenario)


def plan_of_many(scenario: Scenario) -> MemoryPlan:
    """The same for one of many scenarios, each of which is asked for once: nothing is kept."""
    return _with_reserve(_rules_of(scenario.engine.name)(scenario), scenario)


def plan_once(scenario: Scenario) -> MemoryPlan:
    """``plan_memory`` of one of many scenarios: what follows asks for this very object, later nobody does."""
    if not (_latest and _latest[0][0] is scenario):
        _latest[:] = [(scenario, _rules_of(scenario.engine.name)(scenario))]
    return plan_memory(scenario)


def ignores(scenario: Scenario, path: str) -> bool:
    """Whether an input is known to change nothing in the plan."""
    return (
        path == "engine.max_model_len"
        and _rules_of(scenario.engine.name) is vllm.plan
        and vllm.ignores_length(scenario)
    )


def variants_over(scenario: Scenario, path: str, values: Sequence[object]) -> vllm.Variants | None:
    """The plan at other values of an input, where rules tell them without making each anew; else None."""
    if path not in VARIED or _rules_of(scenario.engine.name) is not vllm.plan:
        return None
    found = vllm.variants_over(scenario, path, [float(v) for v in values])  # type: ignore[arg-type]
    return None if found is None else replace(found, plan=_with_reserve(found.plan, scenario))


def simply_over(scenario: Scenario) -> tuple[str, ...]:
    """Inputs at many values of which ``sizes_of`` tells the plan; a calibration's reserve is another rule."""
    found = applying(scenario)
    return () if found is not None and found.reserve_bytes else plainly(scenario)


def sizes_of(scenario: Scenario, path: str, records: Sequence[Any]) -> Sizes:
    """The plan with each of the records that hold one of the inputs of ``simply_over``."""
    return sizes_over(scenario, path, records, _rules_of(scenario.engine.name)(scenario))


def _with_reserve(plan: MemoryPlan, scenario: Scenario) -> MemoryPlan:
    found = applying(scenario)
    if found is None or not found.reserve_bytes:
        return plan
    runtime = max(0, plan.fixed.get("runtime", 0) + found.reserve_bytes)
    pool = None if plan.token_pool is None else max(0, plan.token_pool - found.reserve_bytes)
    return replace(plan, fixed={**plan.fixed, "runtime": runtime}, token_pool=pool)


_latest: list[tuple[Scenario, MemoryPlan]] = []


def _plan(scenario: Scenario) -> MemoryPlan:
    """One estimate asks several times for the same scenario, most often for the very same object."""
    if _latest and (latest := _latest[0])[0] is scenario:
        return latest[1]
    plan = _known(scenario)
    _latest[:] = [(scenario, plan)]
    return plan


@lru_cache(maxsize=16)
def _known(scenario: Scenario) -> MemoryPlan:
    """The last few are kept."""
    return _rules_of(scenario.engine.name)(scenario)


def build_ledger(scenario: Scenario, users: float | None = None) -> Ledger:
    """The memory of one device for ``users`` requests at once, each at its full length.

    None: the number of users of the workload.  The fullest replica decides.
    """
    return plan_memory(scenario).ledger(scenario.workload, users)
