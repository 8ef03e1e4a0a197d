"""Where an engine throws requests out of a full cache and reads them again."""

import math

from core.errors import Problem
from core.memory.capacity import Capacity
from core.serving.limits import batch_limits
from core.serving.policies import policy_of
from core.spec.checks import LABELS
from core.spec.scenario import Scenario


def crowding_notes(scenario: Scenario, ceiling: Capacity) -> tuple[Problem, ...]:
    """A note where more users wait than the cache holds and the engine takes them in all the same.

    It admits a request when its prompt has room and preempts when the answers outgrow the cache; what
    was preempted is read again.  The steady state counts the reading; who waits for how long it cannot say,
    nor what prompts cost that come in with their first chunk and are thrown out half read.
    """
    work, policy = scenario.workload, policy_of(scenario, False)
    if work.load != "users" or policy.victim == "none":
        return ()
    asked = min(work.users, math.inf if ceiling.max_running is None else ceiling.max_running)
    if not 1 <= ceiling.max_users < asked:
        return ()
    values: dict[str, object] = {
        "engine": LABELS[scenario.engine.name],
        "room": ceiling.max_users,
        "users": work.users,
    }
    in_parts = (
        work.prompt_tokens - work.shared_prefix_tokens
        > batch_limits(scenario.engine, scenario.accelerator)[1]
    )
    half_read = in_parts and policy.admission == "chunk"
    code = "requests_half_read" if half_read else "requests_preempted"
    return (Problem(code, ("workload.users",), values, "note"),)
