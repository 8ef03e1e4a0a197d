"""The estimate says where it leaves preemption out, and only there."""

import pytest

from core.estimator import estimate
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.scenario import Scenario


def noted(scenario: Scenario) -> bool:
    return any(p.code == "requests_preempted" for p in estimate(scenario).notes)


@pytest.fixture
def room(scenario: Scenario) -> int:
    return estimate(scenario).capacity.max_users


def test_it_is_said_where_the_simulator_preempts(scenario: Scenario, room: int) -> None:
    crowd = {"workload.users": 2 * room, "simulation.requests": 6 * room, "simulation.duration_s": 1e7}
    crowded = with_values(scenario, crowd)
    assert simulate(crowded).preemptions > 0 and noted(crowded)
    roomy = with_values(crowded, {"workload.users": max(1, room // 2)})
    assert simulate(roomy).preemptions == 0 and not noted(roomy)


def test_prompts_that_come_in_by_their_first_chunk_are_told_apart(scenario: Scenario, room: int) -> None:
    """Since 0.19 all of a prompt needs room: github.com/vllm-project/vllm/pull/37307."""
    long = {"workload.prompt_tokens": 6000, "engine.max_model_len": 8192, "workload.users": 4 * room}
    crowded = with_values(scenario, {**long, "engine.max_num_batched_tokens": 2048})
    codes = {
        version: {p.code for p in estimate(with_values(crowded, {"engine.version": version})).notes}
        for version in ("0.17", "0.21")
    }
    assert "requests_half_read" in codes["0.17"] and "requests_preempted" not in codes["0.17"]
    assert "requests_preempted" in codes["0.21"] and "requests_half_read" not in codes["0.21"]


def test_it_is_not_said_where_nobody_is_thrown_out(scenario: Scenario, room: int) -> None:
    crowded = with_values(scenario, {"workload.users": 2 * room})
    few = with_values(crowded, {"engine.max_num_seqs": max(1, room // 2)})  # the rest waits outside
    assert noted(crowded) and not noted(few)
    guaranteed = with_values(crowded, {"engine.name": "trtllm"})
    assert guaranteed.simulation.batching == "guaranteed_no_evict" and not noted(guaranteed)
    assert not noted(with_values(crowded, {"workload.load": "requests"}))
