"""vLLM spreads experts over all devices of a group or none: what is offered, told and written is that."""

import pytest

from core.files import scenario_file
from core.importers.command_text import command_for
from core.importers.engine_command import apply_command, parse_command
from core.spec.change import with_values
from core.spec.checks import check
from core.words import Words
from gui.forms.choices import attention_copies, expert_groups
from gui.forms.consequences import engine_changes

WORDS = Words("en")


@pytest.fixture
def v3(samples):
    return scenario_file.load(samples[2])


def test_only_all_or_none_is_offered(v3):
    assert [choice.value for choice in expert_groups(v3, WORDS)] == [1, 8]
    other = with_values(v3, {"engine.name": "sglang", "engine.version": ""})
    assert [choice.value for choice in expert_groups(other, WORDS)] == [1, 2, 4, 8]


@pytest.mark.parametrize(("degree", "told"), [(1, False), (2, True), (4, True), (8, False)])
def test_a_part_of_the_group_is_told(v3, degree, told):
    scenario = with_values(v3, {"deployment.expert_parallel": degree})
    assert ("ep_all" in {problem.code for problem in check(scenario)}) == told
    sglang = with_values(scenario, {"engine.name": "sglang", "engine.version": ""})
    assert "ep_all" not in {problem.code for problem in check(sglang)}


def test_another_engine_s_part_becomes_all(v3):
    scenario = with_values(
        v3, {"engine.name": "sglang", "engine.version": "", "deployment.expert_parallel": 2}
    )
    for path, value in engine_changes(scenario, "vllm 0.21"):
        scenario = with_values(scenario, {path: value})
    assert scenario.deployment.expert_parallel == 8


def test_copies_tell_the_engine_s_own_degree(v3):
    assert attention_copies(v3, WORDS)[-1].label == "DP 8 × TP 1"


@pytest.mark.parametrize("experts", [1, 8])
@pytest.mark.parametrize("copies", [1, 4, 8])
def test_the_command_says_what_is_computed(v3, experts, copies):
    changes = {"deployment.expert_parallel": experts, "deployment.attention_data_parallel": copies}
    scenario = with_values(v3, changes)
    again, _ = apply_command(parse_command(command_for(scenario)), scenario)
    assert again.deployment == scenario.deployment
