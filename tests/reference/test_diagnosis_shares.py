"""What a diagnosis lays to a cause is a share that the estimate really has."""

import math

import pytest

from core.estimator import estimate
from core.evidence.diagnose import diagnose
from core.evidence.diagnosis_told import diagnosis_text
from core.evidence.run import Origin, Run, Setting
from core.evidence.run_scenario import describe
from core.explain.symptoms import cause_weights
from core.files import scenario_file
from core.spec.change import with_values
from core.units import show_limit
from core.words import Words
from gui.contents.calibrate import placed_table


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


def test_what_explains_the_difference_comes_before_the_parts_that_were_expected(scenario):
    expected = estimate(scenario).speed
    seen = estimate(with_values(scenario, {"workload.users": 32})).speed
    apart = {
        "time_to_first_token": 3 * seen.time_to_first_token.expected,
        "time_per_output_token": 1.6 * expected.time_per_output_token.expected,
        "output_throughput": 0.9 * expected.output_throughput.expected,
    }
    suspects = diagnose(scenario, apart).suspects
    kinds = [s.what_if is not None for s in suspects]
    assert True in kinds and False in kinds
    assert kinds == sorted(kinds, reverse=True)
    for group in (True, False):
        weights = [s.weight for s, kind in zip(suspects, kinds, strict=True) if kind is group]
        assert weights == sorted(weights, reverse=True)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_a_missed_target_is_said_though_the_value_is_within_the_range(scenario, language):
    words, expected = Words(language), estimate(scenario).speed.time_to_first_token
    high = 0.98 * expected.high
    assert high > 1.25 * expected.expected
    tight = with_values(scenario, {"targets.time_to_first_token_s": high / 2})
    loose = with_values(scenario, {"targets.time_to_first_token_s": high * 2})
    seen = {"time_to_first_token": high}
    missed, met = (diagnose(s, seen).placed[0] for s in (tight, loose))
    assert missed.state == met.state == "as_estimated" and missed.misses and not met.misses
    target = str(show_limit(high / 2))
    assert target in words.phrase(missed.sentence) and target not in words.phrase(met.sentence)
    open_to_others = {"en": "not ruled out", "zh_CN": "不排除"}[language]
    assert open_to_others in words.phrase(met.sentence)
    middle = diagnose(loose, {"time_to_first_token": expected.expected}).placed[0]
    assert open_to_others not in words.phrase(middle.sentence)
    for found, icon in ((tight, "cross"), (loose, "tick")):
        _, rows = placed_table(diagnose(found, seen), words)
        assert rows[0].cells[-1].icon == icon


def test_the_heading_promises_no_explanation_where_there_is_none(scenario):
    expected = estimate(scenario).speed
    usual = diagnose(scenario, {"time_per_output_token": expected.time_per_output_token.expected})
    assert usual.heading.key == "diagnose.where.parts"
    # Tokens four times as slow at the estimated throughput and first token: nothing is like that.
    odd = {
        "time_per_output_token": 4 * expected.time_per_output_token.expected,
        "output_throughput": expected.output_throughput.expected,
        "time_to_first_token": expected.time_to_first_token.expected,
    }
    found = diagnose(scenario, odd)
    assert all(s.what_if is None for s in found.suspects)
    assert found.heading.key == "diagnose.where.unexplained"
    like = estimate(with_values(scenario, {"workload.users": 32})).speed
    seen = {"time_to_first_token": like.time_to_first_token.expected}
    assert diagnose(scenario, seen).heading.key == "diagnose.where.explained"
    for language in ("en", "zh_CN"):
        for one in (usual, found):
            assert Words(language).has(one.heading.key)


@pytest.fixture
def two_cards(samples):
    return scenario_file.load(samples[1])


@pytest.mark.parametrize("factor", [0.08, 0.4, 2.3, 4.0])
def test_suspects_come_by_what_they_explain(two_cards, factor):
    """The heading promises it: the error that is left only grows from one to the next."""
    speed = estimate(two_cards).speed
    found = diagnose(two_cards, {"time_per_output_token": factor * speed.time_per_output_token.expected})
    left = [one.what_if.after for one in found.suspects if one.what_if is not None]
    assert left == sorted(left)
    if factor > 1:
        assert len(left) >= 2


def test_weights_that_do_not_fit_or_are_wider_explain_no_faster_token(two_cards):
    for seen in (0.008, 0.05):
        found = diagnose(two_cards, {"time_per_output_token": seen})
        changed = [one.what_if for one in found.suspects if one.what_if is not None]
        assert changed, "something is suspected"
        assert all(cause.key != "weight_format" for cause in changed)


def test_the_settings_of_a_run_keep_the_targets_of_the_scenario(two_cards):
    """A run states no target: those that it is held against are the person's own."""
    own = with_values(two_cards, {"targets.time_to_first_token_s": 4.0, "targets.users": 3})
    run = Run(Origin("vllm_serve"), Setting(concurrency=16.0, input_tokens=4096.0, output_tokens=512.0))
    scenario = describe(run, own).scenario
    assert scenario.targets == own.targets
    placed = diagnose(scenario, {"time_to_first_token": 9.0}).placed[0]
    assert placed.target == 4.0 and "4 s" in Words("en").phrase(placed.sentence)


def test_a_time_beside_an_endless_queue_is_no_multiple_of_it(scenario):
    crowded = with_values(scenario, {"workload.load": "requests", "workload.request_rate": 500.0})
    found = diagnose(crowded, {"time_to_first_token": 0.5})
    (placed,) = found.placed
    assert placed.expected is not None and math.isinf(placed.expected.expected)
    for language, wrong in (("en", "0 ×"), ("zh_CN", "0 倍")):
        words = Words(language)
        said = diagnosis_text(found, words)
        assert words.phrase(placed.sentence) in said and wrong not in said and "– – –" not in said
        cells = placed_table(found, words)[1][0].cells
        assert cells[2].text == cells[3].text == "–"
