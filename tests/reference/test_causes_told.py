"""What is told of a cause is what is drawn, the same wherever it is told, and true once it is tried."""

import math
import re

import pytest

from core.estimator import estimate
from core.evidence.causes import judged, likely_causes, share_explained, what_ifs
from core.evidence.diagnose import OBSERVED, diagnose
from core.evidence.pairing import pair_runs
from core.evidence.run import Origin, Run, Setting
from core.evidence.run_scenario import describe, that_starts
from core.files import scenario_file
from core.spec.change import with_values
from core.words import Words

EN, ZH = Words("en"), Words("zh_CN")
MAKERS_NAME = "NVIDIA GeForce RTX 3090"


@pytest.fixture(scope="module")
def two_cards(samples):
    return scenario_file.load(samples[1])


def slow_run(scenario, key="other_program"):
    """A run of the scenario while a cause holds, with the many figures that a benchmark's file has."""
    setting = Setting(
        engine="vllm",
        engine_version="0.21",
        model="Qwen/Qwen3-32B-AWQ",
        accelerator=MAKERS_NAME,
        tensor_parallel=2,
        accelerators=2,
        concurrency=8.0,
        input_tokens=3000.0,
        output_tokens=400.0,
    )
    blank = Run(Origin("vllm_serve"), setting)
    own = describe(blank, scenario).scenario
    (changes,) = (w.changes for w in what_ifs(blank, own) if w.key == key)
    speed = estimate(that_starts(with_values(own, {c.path: c.value for c in changes}))).speed
    first, step = speed.time_to_first_token.expected, speed.time_per_output_token.expected
    rate = speed.output_throughput.expected
    figures = {
        ("time_to_first_token", "p50"): 1.5 * first,
        ("time_to_first_token", "mean"): 1.02 * first,
        ("time_per_output_token", "mean"): 1.1 * step,
        ("time_per_output_token", "p50"): step,
        ("inter_token_latency", "mean"): step,
        ("inter_token_latency", "p50"): 3 * step,
        ("end_to_end", "mean"): first + 399 * step,
        ("output_throughput", "mean"): 0.97 * rate,
        ("total_throughput", "mean"): 8.5 * rate,
        ("request_throughput", "mean"): rate / 400,
    }
    return Run(Origin("vllm_serve"), setting, figures)


def test_what_follows_from_other_figures_is_not_judged_again(two_cards):
    (pair,) = pair_runs([slow_run(two_cards)], two_cards)
    assert len(pair.comparisons) == 10
    assert {(c.figure, c.statistic) for c in judged(pair.comparisons)} == {
        ("time_to_first_token", "mean"),
        ("time_per_output_token", "mean"),
        ("output_throughput", "mean"),
    }
    others = tuple(c for c in pair.comparisons if c.figure in ("end_to_end", "inter_token_latency"))
    assert judged(others) == others, "where a run has nothing else"


def test_a_cause_has_one_size_for_the_run_and_for_its_observations(two_cards):
    (pair,) = pair_runs([slow_run(two_cards)], two_cards)
    observed = {f: value for f in OBSERVED if (value := pair.run.figure(f)) is not None}
    found = diagnose(that_starts(pair.scenario), observed, pair.run.setting)
    told = {s.what_if.key: s for s in found.suspects if s.what_if is not None}
    causes = {cause.key: cause for cause in likely_causes(pair)}
    assert "other_program" in causes and "other_program" in told
    for key in causes.keys() & told.keys():
        assert EN.phrase(causes[key].evidence) == EN.phrase(told[key].evidence)
        assert told[key].share == share_explained(causes[key].before, causes[key].after)


@pytest.mark.parametrize("words", [EN, ZH], ids=["en", "zh"])
@pytest.mark.parametrize("factor", [0.9, 1.0, 1.6, 3.0])
def test_a_share_that_is_told_is_the_one_that_is_drawn(two_cards, factor, words):
    speed = estimate(two_cards).speed
    observed = {
        "time_to_first_token": 1.2 * factor * speed.time_to_first_token.expected,
        "time_per_output_token": factor * speed.time_per_output_token.expected,
        "output_throughput": speed.output_throughput.expected / factor,
    }
    suspects = diagnose(two_cards, observed).suspects
    shares = [s.share for s in suspects if s.what_if is None]
    assert shares and shares == sorted(shares, reverse=True)
    for one in suspects:
        said = [int(n) for n in re.findall(r"(\d+) ?%", words.phrase(one.evidence))]
        if said:
            assert said[0] == int(f"{100 * one.share:.0f}")


def test_shares_of_small_differences_are_those_of_the_factors():
    assert share_explained(math.log(1.42), math.log(1.13)) == pytest.approx(0.29 / 0.42)
    assert share_explained(math.log(100), math.log(10)) == pytest.approx(0.5)
    assert share_explained(0.0, 0.0) == 0.0 and share_explained(0.1, 0.2) == 0.0


def test_a_cause_that_is_tried_does_what_it_promised(two_cards):
    """The run names its device as the maker does; the open scenario's own is meant."""
    run = slow_run(two_cards)
    (pair,) = pair_runs([run], two_cards)
    cause = next(c for c in likely_causes(pair) if c.key == "other_program")
    tried = with_values(two_cards, {c.path: c.value for c in cause.changes})
    (after,) = pair_runs([run], tried)
    assert after.scenario.accelerator == tried.accelerator
    assert after.comparisons == cause.comparisons != pair.comparisons
    keys = {w.key for w in what_ifs(run, after.scenario)}
    assert not keys & {"other_program", "clocks"}, "it is there already"


def test_the_device_of_another_name_stays_the_catalogues(two_cards):
    other = with_values(two_cards, {"accelerator": {**two_cards.accelerator.model_dump(), "name": "My own"}})
    assert describe(slow_run(two_cards), other).scenario.accelerator.name == "RTX 3090"
