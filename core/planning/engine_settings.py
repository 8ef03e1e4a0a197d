"""What an engine can be told beside its hardware: settings to try where an offer just misses a target.

Fewer prompt tokens in a step keep answers even, more of them bring the first token sooner; fewer
sequences at once are faster each; a larger share of the memory holds more of them.
"""

from core.memory.build import plan_memory
from core.serving.limits import batch_limits
from core.spec.engine import EngineName
from core.spec.scenario import Scenario

# Names and values of fields of the engine.
Settings = tuple[tuple[str, float | int | bool], ...]

_BUDGETS = (1024, 2048, 4096, 8192, 16384)  # prompt tokens of a step
_BUDGET_FIELD: dict[EngineName, str] = {
    "vllm": "max_num_batched_tokens",
    "sglang": "chunked_prefill_size",
    "trtllm": "max_num_batched_tokens",
    "llamacpp": "n_batch",
}
_SEQUENCES_FIELD: dict[EngineName, str] = {
    "vllm": "max_num_seqs",
    "sglang": "max_num_seqs",
    "trtllm": "max_batch_size",
    "llamacpp": "n_parallel",
}
_MEMORY: dict[EngineName, tuple[str, float]] = {
    "vllm": ("gpu_memory_utilization", 0.95),
    "trtllm": ("kv_cache_free_gpu_mem_fraction", 0.95),
}
_FEWER = (0.75, 0.5)  # of the sequences that run


def variants(scenario: Scenario, missed: tuple[str, ...]) -> tuple[Settings, ...]:
    """Settings that may mend what is ``missed`` (reasons of the search), the most promising first."""
    engine, found = scenario.engine, list[Settings]()
    if engine.enforce_eager and engine.name in ("vllm", "sglang"):
        found.append((("enforce_eager", False),))
    if "users" in missed and engine.name in _MEMORY:
        name, share = _MEMORY[engine.name]
        if (getattr(engine, name) or 0.9) < share:
            found.append(((name, share),))
    if "first_token" in missed or "per_token" in missed:
        found += _budgets(scenario, sooner="first_token" in missed)
    if "per_token" in missed and "first_token" not in missed:
        found += _fewer(scenario)
    return tuple(found)


def _budgets(scenario: Scenario, sooner: bool) -> list[Settings]:
    """Other token budgets: larger ones, next to the present one first, for a sooner first token."""
    engine = scenario.engine
    name = _BUDGET_FIELD.get(engine.name)
    if name is None:
        return []
    present = batch_limits(engine, scenario.accelerator)[1]
    larger = [b for b in _BUDGETS if b > present]
    smaller = [b for b in reversed(_BUDGETS) if b < present]
    order = (larger + smaller) if sooner else (smaller + larger)
    return [((name, budget),) for budget in order]


def _fewer(scenario: Scenario) -> list[Settings]:
    engine, work = scenario.engine, scenario.workload
    name = _SEQUENCES_FIELD.get(engine.name)
    if name is None or work.load != "users":
        return []
    replicas = max(1, scenario.deployment.replicas)
    room = plan_memory(scenario).most_users(work.tokens_per_request, work.shared_prefix_tokens)
    running = min(work.users, room, int(min(batch_limits(engine, scenario.accelerator)[0], 1e6))) / replicas
    return [((name, max(1, round(share * running))),) for share in _FEWER if running >= 4]
