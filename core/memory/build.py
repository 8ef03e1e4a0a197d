"""The ledger of a scenario, by the rules of its engine."""

from collections.abc import Callable
from functools import lru_cache

from core.memory import llama_cpp, mlx, sglang, tensorrt_llm, textbook, transformers, vllm
from core.memory.ledger import Ledger
from core.memory.plan import MemoryPlan
from core.spec.engine import EngineName
from core.spec.scenario import Scenario

_PLANS: dict[EngineName, Callable[[Scenario], MemoryPlan]] = {
    "vllm": vllm.plan,
    "textbook": textbook.plan,
    "sglang": sglang.plan,
    "trtllm": tensorrt_llm.plan,
    "llamacpp": llama_cpp.plan,
    "ollama": llama_cpp.plan,
    "transformers": transformers.plan,
    "mlx": mlx.plan,
}


@lru_cache(maxsize=16)
def plan_memory(scenario: Scenario) -> MemoryPlan:
    """What the engine's rules yield before the requests are counted in.

    One estimate asks several times for the same scenario; the last few are kept.
    """
    return _PLANS[scenario.engine.name](scenario)


def build_ledger(scenario: Scenario, users: float | None = None) -> Ledger:
    """The memory of one device for ``users`` requests at once, each at its full length.

    None: the number of users of the workload.  The fullest replica decides.
    """
    return plan_memory(scenario).ledger(scenario.workload, users)
