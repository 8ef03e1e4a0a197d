"""Advice: what is suggested was computed, helps, and is told honestly."""

import itertools
import math

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.files import scenario_file
from core.planning.advise import advise, advise_steps, effects_of, missed_keys, ranked
from core.planning.moves import cheap_moves
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Phrase, Words

WORDS = Words("en")
CASES = {
    "good": (0, {}),
    "slow": (1, {}),
    "unfit": (1, {"precision.weights": "bf16"}),
    "rate": (1, {"workload.load": "requests", "workload.request_rate": 1.0}),
    "crowd": (0, {"workload.users": 64, "targets.users": 64, "workload.prompt_tokens": 4096}),
    "textbook": (0, {"engine.name": "textbook"}),
    "eager": (0, {"engine.enforce_eager": True, "workload.users": 1,
                  "targets.time_per_output_token_ms": 15.0}),
    "length": (0, {"engine.max_model_len": 131072}),
    "v3": (2, {"workload.users": 400}),
    "llama": (0, {"engine.name": "llamacpp", "engine.version": "", "precision.weights": "gguf_q4_k_m",
                  "engine.n_gpu_layers": 10, "workload.users": 1}),
}  # fmt: skip


@pytest.fixture(scope="module")
def points(samples):
    loaded = [scenario_file.load(path) for path in samples]
    return {name: estimate(with_values(loaded[i], dict(change))) for name, (i, change) in CASES.items()}


def keys(suggestions):
    return {s.key for s in suggestions}


@pytest.mark.parametrize("name", CASES)
def test_every_effect_is_that_of_the_estimator(points, name):
    point = points[name]
    found = advise(point.scenario, point, most=100)
    assert found
    for one in found:
        changed = with_values(point.scenario, {c.path: c.value for c in one.changes})
        assert not [p for p in check(changed) if p.severity == "error"]
        again = estimate(changed)
        assert again.ledger == one.estimate.ledger and again.verdict == one.estimate.verdict
        assert one.fits == (again.speed is not None)
        told = {(e.key, e.before, e.after) for e in one.effects}
        assert told == {(e.key, e.before, e.after) for e in effects_of(point, again, missed_keys(again))}


@pytest.mark.parametrize("name", CASES)
def test_a_suggestion_helps_and_says_what_it_misses(points, name):
    point = points[name]
    missed = missed_keys(point)
    for one in advise(point.scenario, point, most=100):
        left = missed_keys(one.estimate)
        assert set(one.fixed) == set(missed) - set(left)
        if one.purpose == "fixes":
            assert not left and one.estimate.verdict.state == "good"
        elif one.purpose == "improves":
            assert not missed and not left
            assert any(e.better for e in one.effects)
        else:
            assert missed
            assert one.fixed or not one.missed
        if one.effects and missed and "memory_per_device" not in missed:
            first = one.effects[0]
            assert first.key in (*missed, "concurrent_users", "time_to_first_token"), one.key


@pytest.mark.parametrize("name", CASES)
def test_the_best_come_first_and_none_twice(points, name):
    found = advise(points[name].scenario, points[name], most=8)
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
    assert len(found) <= 8
    counts = {s.key: sum(t.key == s.key for t in found) for s in found}
    assert all(n == 1 or (key == "other_device" and n <= 2) for key, n in counts.items())
    if any(s.purpose == "fixes" for s in found):
        assert found[0].purpose == "fixes"


@pytest.mark.parametrize("name", CASES)
def test_steps_are_the_same_suggestions(points, name):
    point = points[name]
    assert ranked(advise_steps(point)) == advise(point.scenario, point)


@pytest.mark.parametrize("name", CASES)
def test_every_word_is_there(points, name):
    def spoken(phrase: Phrase) -> None:
        text = WORDS.phrase(phrase)
        assert text != phrase.key and "{" not in text, phrase

    for one in advise(points[name].scenario, points[name], most=100):
        for phrase in (one.title, one.reason, *one.cautions):
            spoken(phrase)
        for effect in one.effects:
            assert WORDS.has(f"advice.effects.{effect.key}")


def test_rules_of_the_articles_are_covered(points):
    """Article A: memory short → shorter context, fewer requests, quantise; slow generation → more
    bandwidth, quantise, speculate; low throughput → more concurrency.  Article B: capacity-bound →
    shorter context or fewer bits; bandwidth-bound → another card."""
    assert {"weights_4_bit", "more_devices", "other_device"} <= keys(advise(*_of(points["unfit"]), most=100))
    assert {"speculative", "weights_8_bit", "weights_4_bit", "other_device"} <= keys(
        advise(*_of(points["eager"]), most=100)
    )
    assert {"shared_prefix", "shorter_prompt"} <= keys(advise(*_of(points["slow"]), most=100))
    assert {"more_users"} <= keys(advise(*_of(points["good"]), most=100))
    assert {"lower_rate"} <= keys(advise(*_of(points["rate"]), most=100))
    assert {"model_length"} <= keys(advise(*_of(points["length"]), most=100))
    assert {"fewer_users", "weights_8_bit", "cache_8_bit", "second_copy"} <= keys(
        advise(*_of(points["crowd"]), most=100)
    )
    assert {"sequences"} <= keys(advise(*_of(points["llama"]), most=100))
    assert {"all_on_gpu"} <= {move.key for move in cheap_moves(points["llama"])}
    assert {"graphs"} <= {move.key for move in cheap_moves(points["eager"])}
    assert {"continuous_batching"} <= keys(advise(*_of(points["textbook"]), most=100))


def _of(point):
    return point.scenario, point


def test_room_and_speed_are_told_apart(points):
    """Hardware is suggested for memory where the cache is short, for bandwidth where that limits."""
    crowded = {s.key: s.reason.key for s in advise(*_of(points["crowd"]), most=100)}
    slow = {s.key: s.reason.key for s in advise(*_of(points["eager"]), most=100)}
    assert crowded["second_copy"] == "advice.reasons.capacity"
    assert slow["other_device"] == "advice.reasons.bandwidth"


def test_few_bits_are_cautioned_by_task(points):
    eager = points["eager"].scenario
    code = with_values(eager, {"workload.prompt_tokens": 1536, "workload.output_tokens": 64})
    chat = with_values(eager, {"workload.prompt_tokens": 1024, "workload.output_tokens": 256})
    told = {}
    for name, scenario in (("code", code), ("chat", chat)):
        found = next(s for s in advise(scenario, most=100) if s.key == "weights_4_bit")
        told[name] = found.cautions[0].key
    assert told == {"code": "advice.cautions.weights_4_careful", "chat": "advice.cautions.weights_4"}


def test_fewer_users_is_the_most_that_meets_the_targets(points):
    point = points["slow"]
    strict = estimate(
        with_values(point.scenario, {"targets.time_per_output_token_ms": 60.0, "targets.users": 10})
    )
    found = next(s for s in advise(strict.scenario, strict, most=100) if s.key == "fewer_users")
    users = found.changes[0].value
    assert found.estimate.speed.time_per_output_token.expected <= 0.060
    more = estimate(with_values(strict.scenario, {"workload.users": users + 1}))
    assert missed_keys(more)


def test_a_cheaper_device_only_where_everything_is_met():
    big = Scenario(model=load_model("Qwen/Qwen3-8B"), accelerator=load_accelerator("H100 PCIe 80GB"))
    found = [s for s in advise(with_values(big, {"workload.users": 2}), most=100) if s.key == "other_device"]
    assert found
    for one in found:
        price = next(e for e in one.effects if e.key == "price")
        assert price.after < price.before and one.estimate.verdict.state == "good"


def test_no_number_is_endless_or_unknown_without_reason(points):
    for point in points.values():
        for one in advise(*_of(point)):
            assert math.isfinite(one.score)
            for effect in one.effects:
                assert effect.after is None or not math.isnan(effect.after)


def test_no_more_sequences_than_fit_where_the_cache_is_full(samples):
    # 16 users with 16K prompts, of whom the cache holds four: vLLM lets more in and preempts them.
    changes = {
        "engine.max_model_len": 32768,
        "workload.prompt_tokens": 16384,
        "precision.weights": "awq_g128",
    }
    crowded = with_values(scenario_file.load(samples[1]), changes)
    point = estimate(crowded)
    found = {s.key: s for s in advise(crowded, point)}["fewer_sequences"]
    assert [(c.path, c.value) for c in found.changes] == [("engine.max_num_seqs", 4)]
    runs = {"simulation.requests": 96, "simulation.duration_s": 1e5}
    now, then = (simulate(with_values(s, runs)) for s in (crowded, found.estimate.scenario))
    assert now.preempted > 0 and then.preempted == 0
    assert then.output_tokens_per_second > 1.3 * now.output_tokens_per_second
    # Where both apply both agree, as the manual says.
    speed = found.estimate.speed
    assert speed.output_throughput.expected == pytest.approx(then.output_tokens_per_second, rel=0.05)
    assert speed.time_per_output_token.expected == pytest.approx(then.time_per_output_token.mean, rel=0.05)


def test_sequences_are_left_alone_where_all_users_fit(points):
    assert not points["good"].speed.users > points["good"].capacity.at_once
    assert "fewer_sequences" not in keys(advise(points["good"].scenario, points["good"], most=100))


@pytest.mark.parametrize("device", ["A10", "L40S", "RTX 5090", "A100 SXM4 80GB", "H100 SXM5 80GB"])
@pytest.mark.parametrize("users", [8, 64, 256])
def test_gpus_that_are_proposed_differ_from_each_other_and_from_the_own(scenario, device, users):
    """An edition with the same memory and bandwidth is no other advice."""
    changed = with_values(scenario, {"accelerator": load_accelerator(device), "workload.users": users})
    point = estimate(changed)
    found = [s.estimate.scenario.accelerator for s in advise_steps(point) if s.key == "other_device"]
    for one, other in itertools.combinations(found, 2):
        sizes = one.memory_gb_nominal / other.memory_gb_nominal
        rates = one.memory_bandwidth_gbps / other.memory_bandwidth_gbps
        assert max(sizes, 1 / sizes, rates, 1 / rates) > 1.14, (one.name, other.name)
    assert "A800 SXM4 80GB" not in {d.name for d in found} or device != "A100 SXM4 80GB"


def test_a_model_that_one_gpu_cannot_hold_is_split_over_as_few_as_hold_it(scenario):
    model, device = load_model("meta-llama/Llama-3.1-70B-Instruct"), load_accelerator("H100 SXM5 80GB")
    large = with_values(scenario, {"model": model, "accelerator": device})
    found = next(s for s in advise(large) if s.key == "more_devices")
    place = found.estimate.scenario.deployment
    assert (place.accelerators, place.tensor_parallel) == (4, 4)
    fewer = {"deployment.accelerators": 2, "deployment.tensor_parallel": 2}
    assert estimate(with_values(large, fewer)).speed is None  # 16 bits of 70.6e9 parameters: 66 GiB each
