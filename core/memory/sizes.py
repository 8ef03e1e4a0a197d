"""Memory plans at many values of one input, where the rules of an engine take it plainly: one plan is made
and only what differs is worked out again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.memory.device import driver_total_bytes, nominal_bytes
from core.memory.plan import MemoryPlan
from core.spec.scenario import Scenario

IntArray = NDArray[np.int64]
LENGTH, SHARE, SIZE, PROMPT = (
    "engine.max_model_len",
    "engine.gpu_memory_utilization",
    "accelerator.memory_gb_nominal",
    "workload.prompt_tokens",
)


@dataclass(frozen=True, slots=True)
class Sizes:
    """A plan at n values of an input: bytes (n,) each, or (1,) where they are alike."""

    plan: MemoryPlan
    budget: IntArray
    fixed: IntArray
    batched_tokens: IntArray
    taken: IntArray | None = None  # cache that is there whatever is asked of it; 0: as much as is asked


def plainly(scenario: Scenario) -> tuple[str, ...]:
    """The inputs that ``sizes_over`` knows, those that ask least first."""
    match scenario.engine.name:
        case "textbook":
            return (LENGTH, SHARE, SIZE)
        case "transformers":
            return (SIZE, PROMPT) if scenario.engine.static_cache else (LENGTH, SIZE, PROMPT)
        case "trtllm":
            return (LENGTH, SIZE)
        case "llamacpp" | "ollama":
            return (SIZE,)
        case "sglang":
            return (LENGTH,)
        case _:
            return ()


def sizes_over(scenario: Scenario, path: str, records: Sequence[Any], plan: MemoryPlan) -> Sizes:
    """``plan``, that of the scenario, with each of the records that hold the input."""
    name = path.partition(".")[2]
    values = records if path == SIZE else np.array([getattr(record, name) for record in records])
    return _RULES[scenario.engine.name](scenario, path, values, plan)


def _same(plan: MemoryPlan) -> tuple[IntArray, IntArray, IntArray]:
    """Budget, what is fixed, tokens of a step."""
    return np.array([plan.budget]), np.array([sum(plan.fixed.values())]), np.array([plan.batched_tokens])


def _textbook(scenario: Scenario, path: str, values: Any, plan: MemoryPlan) -> Sizes:
    budget, fixed, batched = _same(plan)
    if path == LENGTH:
        return Sizes(plan, budget, fixed, values)
    share: Any = scenario.engine.gpu_memory_utilization if path == SIZE else values
    device = np.array([nominal_bytes(one) for one in values]) if path == SIZE else plan.device
    return Sizes(plan, np.floor(share * device).astype(np.int64), fixed, batched)


def _transformers(scenario: Scenario, path: str, values: Any, plan: MemoryPlan) -> Sizes:
    from core.memory import transformers

    budget, fixed, batched = _same(plan)
    if path == LENGTH:
        return Sizes(plan, budget, fixed, values)
    if path == PROMPT:
        place = scenario.deployment.tensor_parallel
        peaks = transformers.prompt_peaks(scenario.model.architecture, values, place)
        return Sizes(plan, budget, fixed - plan.fixed["activations"] + peaks, batched)
    totals = _totals(values)
    lost = [transformers.lost_bytes(total) for total in totals.tolist()]
    return Sizes(plan, totals, fixed - plan.fixed["runtime"] + np.array(lost), batched)


def _tensorrt_llm(scenario: Scenario, path: str, values: Any, plan: MemoryPlan) -> Sizes:
    from core.memory import tensorrt_llm

    budget, fixed, batched = _same(plan)
    if path == LENGTH:
        return Sizes(plan, budget, fixed, batched)
    totals = _totals(values)
    pool = np.floor(tensorrt_llm.kv_fraction(scenario.engine) * np.maximum(0, totals - fixed))
    return Sizes(plan, np.minimum(totals, fixed + pool.astype(np.int64)), fixed, batched)


def _llama_cpp(_scenario: Scenario, _path: str, values: Any, plan: MemoryPlan) -> Sizes:
    _, fixed, batched = _same(plan)
    cache = plan.budget - fixed if plan.most_cache is None else np.array([plan.least_cache])
    totals = _totals(values)
    taken = np.where(fixed + cache > totals, cache, 0)
    return Sizes(plan, np.minimum(totals, fixed + cache), fixed, batched, taken)


def _sglang(scenario: Scenario, _path: str, values: Any, plan: MemoryPlan) -> Sizes:
    from core.memory import sglang

    _, fixed, batched = _same(plan)
    beyond, pool = sglang.over_lengths(scenario, values.tolist(), plan)
    fixed = fixed + np.array(beyond)
    return Sizes(plan, np.minimum(plan.device, fixed + pool), fixed, batched)


def _totals(devices: Sequence[Any]) -> IntArray:
    return np.array([driver_total_bytes(device) for device in devices], dtype=np.int64)


_RULES: dict[str, Callable[[Scenario, str, Any, MemoryPlan], Sizes]] = {
    "textbook": _textbook,
    "transformers": _transformers,
    "trtllm": _tensorrt_llm,
    "llamacpp": _llama_cpp,
    "ollama": _llama_cpp,
    "sglang": _sglang,
}
