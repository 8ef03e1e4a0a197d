"""What an engine can be told beside its hardware: settings to try where an offer just misses a target.

Fewer prompt tokens in a step keep answers even, more of them bring the first token sooner; fewer
sequences at once are faster each, and as many as the cache holds spare preemptions; a larger share of the
memory holds more of them.  A prediction module that the model brings drafts tokens.  Prompts that have a
beginning in common need not be read from it again.
"""

from typing import Any

from core.memory.build import plan_memory
from core.serving.limits import batch_limits
from core.serving.policies import policy_of
from core.spec.checks import drafts_of
from core.spec.engine import EngineName
from core.spec.scenario import Scenario

# Names and values of fields of the engine; of other parts of a scenario with the part before a dot.
Settings = tuple[tuple[str, float | int | bool | str], ...]

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
    "ollama": "n_parallel",
}
_MEMORY: dict[EngineName, tuple[str, float]] = {
    "vllm": ("gpu_memory_utilization", 0.95),
    "trtllm": ("kv_cache_free_gpu_mem_fraction", 0.95),
}
_FEWER = (0.75, 0.5)  # of the sequences that run


def variants(scenario: Scenario, missed: tuple[str, ...]) -> tuple[Settings, ...]:
    """Settings that may mend what is ``missed`` (reasons of the search), the most promising first."""
    engine, found = scenario.engine, list[Settings]()
    if "per_token" in missed and _drafts(scenario):
        found.append((("speculative.kind", "mtp"),))
    if "first_token" in missed and _reads_again(scenario):
        found.append((("simulation.prefix_caching", True),))
    if engine.enforce_eager and engine.name in ("vllm", "sglang"):
        found.append((("enforce_eager", False),))
    if "users" in missed and engine.name in _MEMORY:
        name, share = _MEMORY[engine.name]
        if (getattr(engine, name) or 0.9) < share:
            found.append(((name, share),))
    if "first_token" in missed or "per_token" in missed:
        found += _budgets(scenario, sooner="first_token" in missed)
    found += _as_many_as_fit(scenario)
    if "per_token" in missed and "first_token" not in missed:
        found += _fewer(scenario)
    return tuple(found)


def faster(scenario: Scenario) -> tuple[Settings, ...]:
    """Settings that may put out more tokens a second."""
    found = list[Settings]()
    if _drafts(scenario):
        found.append((("speculative.kind", "mtp"),))
    found += _as_many_as_fit(scenario)
    present = batch_limits(scenario.engine, scenario.accelerator)[1]
    if present < scenario.workload.prompt_tokens:
        found += [b for b in _budgets(scenario, sooner=True) if float(b[0][1]) > present][:1]
    return tuple(found)


def changed_settings(scenario: Scenario, settings: Settings) -> dict[str, Any]:
    """The parts of a scenario with the settings, by their names."""
    parts: dict[str, dict[str, Any]] = {}
    for name, value in settings:
        part, _, field = name.rpartition(".")
        parts.setdefault(part or "engine", {})[field] = value
    return {part: getattr(scenario, part).model_copy(update=values) for part, values in parts.items()}


def path_of(name: str) -> str:
    """The path of a setting in a scenario."""
    return name if "." in name else f"engine.{name}"


def _drafts(scenario: Scenario) -> bool:
    """Whether the model brings a prediction module that is not in use."""
    module = bool(scenario.model.architecture.mtp_groups)
    return module and scenario.speculative.kind == "none" and "mtp" in drafts_of(scenario.engine.name)


def _reads_again(scenario: Scenario) -> bool:
    """Whether prompts have beginnings in common that are read for each."""
    settings, work = scenario.simulation, scenario.workload
    common = settings.turns > 1 or settings.arrivals == "trace" or work.shared_prefix_tokens > 0
    return common and not settings.prefix_caching


def _as_many_as_fit(scenario: Scenario) -> list[Settings]:
    """Where the engine takes in more than its cache holds, and gives some of them up again."""
    work, name = scenario.workload, _SEQUENCES_FIELD.get(scenario.engine.name)
    if name is None or work.load != "users" or policy_of(scenario, False).victim != "last":
        return []
    replicas = max(1, scenario.deployment.replicas)
    room = plan_memory(scenario).most_users(work.tokens_per_request, work.shared_prefix_tokens) // replicas
    inside = min(work.users / replicas, batch_limits(scenario.engine, scenario.accelerator)[0])
    return [((name, room),)] if 1 <= room < inside else []


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
    least = (engine.max_num_seqs or 0) if engine.name == "vllm" else 0  # fewer do not start
    return [((name, budget),) for budget in order if budget >= least]


def _fewer(scenario: Scenario) -> list[Settings]:
    engine, work = scenario.engine, scenario.workload
    name = _SEQUENCES_FIELD.get(engine.name)
    if name is None or work.load != "users":
        return []
    replicas = max(1, scenario.deployment.replicas)
    room = plan_memory(scenario).most_users(work.tokens_per_request, work.shared_prefix_tokens)
    running = min(work.users, room, int(min(batch_limits(engine, scenario.accelerator)[0], 1e6))) / replicas
    return [((name, max(1, round(share * running))),) for share in _FEWER if running >= 4]
