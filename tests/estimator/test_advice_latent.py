"""Mixtures with latent attention are offered the layouts that serve them: DP attention, experts whole."""

import pytest

from core.catalog.models import load_model
from core.estimator import estimate
from core.files import scenario_file
from core.planning.advise import advise
from core.planning.latent_moves import latent_moves
from core.planning.suggestion import lead
from core.spec.change import with_values
from core.spec.support import releases_of
from core.words import Words

CROWD = {
    "deployment.accelerators": 16,
    "deployment.tensor_parallel": 16,
    "workload.users": 200,
    "workload.prompt_tokens": 4096,
    "workload.output_tokens": 500,
    "targets.users": 200,
    "targets.time_to_first_token_s": 2.0,
    "targets.time_per_output_token_ms": 50.0,
}


def served(samples, engine, **changes):
    named = {"engine.name": engine, "engine.version": releases_of(engine)[0], "precision.kv_cache": "bf16"}
    return with_values(scenario_file.load(samples[2]), {**named, **CROWD, **changes})


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_copies_of_the_attention_are_offered(samples, engine):
    found = advise(served(samples, engine), most=100)
    one = next(s for s in found if s.key == "dp_attention")
    assert one.estimate.capacity.at_once > 4 * 200  # each request's cache is kept once
    effects = {e.key: e.better for e in one.effects}
    assert effects["time_to_first_token"] and effects["time_per_output_token"]


def test_with_them_sets_reach_the_targets(samples):
    scenario = served(samples, "sglang")
    found = advise(scenario)
    above = lead(estimate(scenario).verdict.state, found)
    assert above is not None and above.key.startswith("advice.no_single")
    best = next(s for s in found if s.purpose == "fixes")
    assert best.estimate.scenario.deployment.attention_data_parallel > 1
    assert best.estimate.verdict.state == "good"


@pytest.mark.parametrize(
    ("engine", "changes", "keys"),
    [
        ("sglang", {}, {"dp_attention", "expert_split", "dp_experts"}),
        ("sglang", {"deployment.attention_data_parallel": 8}, {"expert_split"}),
        ("sglang", {"deployment.expert_parallel": 16}, {"dp_attention"}),
        ("sglang", {"deployment.tensor_parallel": 1}, set()),
    ],
)
def test_what_is_tried(samples, engine, changes, keys):
    point = estimate(served(samples, engine, **changes))
    assert {move.key for move in latent_moves(point)} == keys


def test_others_are_not_offered_them(samples):
    assert not list(latent_moves(estimate(served(samples, "sglang", model=load_model("Qwen3-32B")))))
    assert not list(latent_moves(estimate(served(samples, "sglang", model=load_model("Qwen3-30B-A3B")))))


def test_tensorrt_llm_knows_one_copy_on_each_device_only(samples):
    moves = latent_moves(estimate(served(samples, "trtllm")))
    copies = {c.value for m in moves for c in m.changes if c.path == "deployment.attention_data_parallel"}
    assert copies == {16}


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_they_are_told_in_both_languages(samples, language):
    words = Words(language)
    for move in latent_moves(estimate(served(samples, "sglang"))):
        for text in (words.phrase(move.title), words(f"advice.reasons.{move.key}")):
            assert text and "advice." not in text
        assert move.cautions
