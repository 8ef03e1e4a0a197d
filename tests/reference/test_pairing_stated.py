"""What a run itself states or implies, in comparisons and causes."""

import pytest

from core.evidence.causes import what_ifs
from core.evidence.diagnose import diagnose
from core.evidence.pairing import pair_runs
from core.evidence.run import Origin, Run, Setting
from core.spec.change import with_values


def run(figures=None, **setting):
    stated = {
        "engine": "vllm",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "accelerator": "NVIDIA GeForce RTX 4090",
        "concurrency": 16.0,
        "input_tokens": 2048.0,
        "output_tokens": 256.0,
        **setting,
    }
    return Run(Origin("vllm_serve"), Setting(**stated), figures or {}, {"weights": 2.0**33})


def test_the_mean_gap_is_the_mean_time_of_a_token_and_the_median_the_bare_step(scenario):
    """Every gap is one token without drafts, so both means are of the same gaps (a measured run of two
    RTX 3090 printed 59.80 ms and 59.71 ms, its median gap 38.22 ms)."""
    figures = {("time_per_output_token", "mean"): 0.0598}
    figures |= {("inter_token_latency", name): value for name, value in (("mean", 0.0597), ("p50", 0.0382))}
    told = {(c.figure, c.statistic): c for c in pair_runs([run(figures)], scenario)[0].comparisons}
    mean = told["inter_token_latency", "mean"].predicted
    assert mean == pytest.approx(told["time_per_output_token", "mean"].predicted)
    assert told["inter_token_latency", "p50"].predicted < 0.9 * mean


def test_with_drafts_a_gap_is_a_step_of_several_tokens(scenario):
    base = with_values(scenario, {"speculative.kind": "ngram"})
    figures = {("time_per_output_token", "mean"): 0.0598, ("inter_token_latency", "mean"): 0.09}
    token, gap = (c.predicted for c in pair_runs([run(figures)], base)[0].comparisons)
    assert gap != pytest.approx(token, rel=0.01)


@pytest.mark.parametrize(
    ("setting", "absent"),
    [
        ({"model": "Qwen/Qwen3-32B-AWQ"}, "weight_format"),
        ({"weight_format": "awq_marlin"}, "weight_format"),
        ({"kv_cache_format": "fp8_e4m3"}, "kv_cache_format"),
    ],
)
def test_another_format_than_the_stated_one_is_not_offered(scenario, setting, absent):
    keys = {tried.key for tried in what_ifs(run(**setting), scenario)}
    assert not {absent, f"{absent}_in_memory"} & keys
    assert absent in {tried.key for tried in what_ifs(run(), scenario)}


def test_a_diagnosis_of_a_run_offers_no_other_format_either(scenario):
    base = with_values(scenario, {"precision.weights": "awq_g128"})
    seen = {"time_to_first_token": 3.0, "time_per_output_token": 0.05}
    told = {}
    for stated in (None, Setting(model="some/model-AWQ")):
        found = diagnose(base, seen, stated).suspects
        told[stated] = {one.what_if.key for one in found if one.what_if is not None}
    assert [("weight_format" in keys) for keys in told.values()] == [True, False]
    assert "other_program" in told[Setting(model="some/model-AWQ")]
