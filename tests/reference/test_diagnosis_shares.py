"""What a diagnosis lays to a cause is a share that the estimate really has."""

import pytest

from core.estimator import estimate
from core.evidence.diagnose import diagnose
from core.explain.symptoms import cause_weights
from core.spec.change import with_values


def test_a_common_start_that_is_not_told_has_no_share(scenario):
    assert not scenario.workload.shared_prefix_tokens
    weights = cause_weights("slow_first_token", estimate(scenario))
    assert "cold_prefix" not in weights
    expected = estimate(scenario).speed.time_to_first_token.expected
    found = diagnose(scenario, {"time_to_first_token": expected}).suspects
    assert all(s.cause is None or s.cause.key != "cold_prefix" for s in found)


def test_parts_of_a_throughput_are_of_all_the_time_and_of_what_still_fits(scenario):
    long = with_values(scenario, {"workload.prompt_tokens": 7000, "workload.output_tokens": 200})
    busy = estimate(long)
    most = busy.capacity.at_once
    full = estimate(with_values(long, {"workload.users": most}))
    weights = cause_weights("low_throughput", full)
    assert full.speed.prefill_share > 0.3
    assert weights["prompts_between"] == pytest.approx(full.speed.prefill_share)
    assert weights["small_batch"] + weights["prompts_between"] <= 1 + 1e-9
    assert weights["small_batch"] < 0.1, "no more fit than run already"
    alone = with_values(scenario, {"workload.users": 1, "workload.prompt_tokens": 128})
    few = cause_weights("low_throughput", estimate(alone))
    assert few["small_batch"] > 0.5, "one request reads all weights for itself"
