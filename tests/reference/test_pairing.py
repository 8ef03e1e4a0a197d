"""Runs beside predictions: names, what is assumed, loads, ledgers, causes of a difference, diagnosis.

The ledger is that of a published vLLM 0.11 start-up log of Llama-3.1-8B on an H100 (empirical results of
llm-d-benchmark, https://github.com/llm-d/llm-d-benchmark/blob/main/config_explorer/empirical-vllm-memory-results.md).
"""

import json
import math
import re
from dataclasses import replace

import pytest

from core.catalog import accelerators, models
from core.errors import UnreadableFile
from core.estimator import estimate
from core.evidence import pairing
from core.evidence.causes import differs, evidence_of, likely_causes, share_explained, slower, what_ifs
from core.evidence.diagnose import OBSERVED, diagnose
from core.evidence.operator_pairs import kind_of, operator_rows
from core.evidence.pairing import pair_runs
from core.evidence.pairs_told import pairs_text
from core.evidence.run import Operator, Origin, Run, Setting
from core.files.user_catalogue import save_accelerator, save_model
from core.spec.change import with_values
from core.words import Words

GIB = 2**30
EN = Words("en")


def run(figures=None, ledger=None, tool="vllm_serve", **setting):
    stated = {
        "engine": "vllm",
        "engine_version": "0.21",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "accelerator": "NVIDIA GeForce RTX 4090",
        "concurrency": 8.0,
        "input_tokens": 1024.0,
        "output_tokens": 512.0,
        **setting,
    }
    named = {(name, "mean") if isinstance(name, str) else name: v for name, v in (figures or {}).items()}
    return Run(Origin(tool), Setting(**stated), named, ledger or {})


def measured(scenario, changes=None):
    """The figures that the program itself predicts for a changed scenario, as a run's."""
    speed = estimate(with_values(scenario, changes or {})).speed
    return {
        "time_to_first_token": speed.time_to_first_token.expected,
        "time_per_output_token": speed.time_per_output_token.expected,
        "output_throughput": speed.output_throughput.expected,
    }


def one(found, base=None, folder=None):
    return pair_runs([found], base, folder)[0]


def test_a_run_of_the_open_scenario_is_predicted_as_the_estimate_says(scenario):
    pair = one(run(measured(scenario)), scenario)
    assert pair.scenario.model == scenario.model and pair.scenario.accelerator == scenario.accelerator
    assert {c.figure for c in pair.comparisons} == set(measured(scenario))
    for c in pair.comparisons:
        assert c.error == pytest.approx(0, abs=0.01) and c.low <= c.measured <= c.high
    assumed = {a.path: a.origin for a in pair.assumed}
    assert assumed["precision.kv_cache"] == assumed["engine.gpu_memory_utilization"] == "scenario"
    assert "engine.version" not in assumed and not differs(pair)


def test_without_a_scenario_what_is_not_stated_is_the_engine_s_own_and_told():
    pair = one(run({"time_per_output_token": 0.02}, engine="", engine_version=""))
    assumed = {a.path: a.origin for a in pair.assumed}
    assert assumed["engine.name"] == "default" and assumed["precision.weights"] == "model"
    assert pair.scenario.engine.name == "vllm" and pair.scenario.precision.weights == "bf16"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"engine": "strange"}, "engine"),
        ({"model": "nobody/knows-7b-this"}, "model"),
        ({"accelerator": "Abacus 3000"}, "device"),
        ({"weight_format": "q17_z"}, "weight_format"),
        ({"tensor_parallel": 7, "accelerators": 7}, "settings"),
    ],
)
def test_a_run_that_cannot_be_predicted_says_why(setting, reason):
    pair = one(run({"time_per_output_token": 0.02}, **setting))
    assert pair.scenario is None and pair.reason == reason and not pair.comparisons
    for words in (EN, Words("zh_CN")):
        assert words.has(f"cli.validate.reasons.{reason}")


def test_names_are_found_in_the_user_s_own_folders(tmp_path, scenario):
    save_model(tmp_path / "models", scenario.model.model_copy(update={"name": "ours-8b-tuned"}))
    save_accelerator(
        tmp_path / "accelerators",
        scenario.accelerator.model_copy(update={"name": "Our Card 24", "aliases": ()}),
    )
    found = run({"time_per_output_token": 0.02}, model="ours-8b-tuned", accelerator="Our Card 24")
    assert one(found).reason in ("model", "device")
    pair = one(found, None, tmp_path)
    assert (pair.scenario.model.name, pair.scenario.accelerator.name) == ("ours-8b-tuned", "Our Card 24")
    models.forget()
    accelerators.forget()


def test_percentiles_and_readings_are_left_out_with_a_reason():
    pair = one(run({("time_to_first_token", "p99"): 1.0, "temperature": 70.0, "power": 300.0}))
    assert {(left.figure, left.reason) for left in pair.left} == {
        ("time_to_first_token", "percentile"),
        ("temperature", "reading"),
        ("power", "reading"),
    }


def test_what_was_not_compared_is_told_reason_by_reason():
    figures = {
        "time_to_first_token": 0.2,
        ("time_per_output_token", "p99"): 0.05,
        "time_per_output_token": 0.02,
    }
    unknown, stated = run({**figures, "acceptance_length": 2.8}, drafts="on"), run(figures, drafts="on")
    reasons = {(left.figure, left.reason) for left in one(unknown).left}
    assert ("time_per_output_token", "speculation_of_unknown_kind") in reasons
    assert ("time_per_output_token", "speculation_of_unknown_acceptance") in {
        (left.figure, left.reason) for left in one(stated).left
    }
    for words in (EN, Words("zh_CN")):
        said = pairs_text([one(unknown)], (), words)
        for _, reason in reasons:
            assert words(f"cli.validate.reasons.{reason}") in said


def test_llama_bench_is_one_batch_with_its_depth_in_the_cache():
    setting = {
        "engine": "llamacpp",
        "engine_version": "",
        "model": "Llama-3.1-8B",
        "weight_format": "Q4_K_M",
        "concurrency": 1.0,
        "input_tokens": None,
        "output_tokens": 128.0,
        "tool": "llama_bench",
    }
    shallow = one(run({"decode_throughput": 130.0}, **setting)).comparisons[0]
    deep = one(run({"decode_throughput": 130.0}, context_tokens=16384, **setting)).comparisons[0]
    assert shallow.case.load == "batch" and shallow.case.scenario.precision.weights == "gguf_q4_k_m"
    # Weights of 4.6 GiB at 1,008 GB/s: 4.9 ms at best; measured tables say 6 to 8 ms.
    assert 110 < shallow.predicted < 180
    assert deep.predicted < 0.9 * shallow.predicted


def test_the_size_that_llama_bench_states_is_that_of_the_file():
    """Qwen3-8B of Q4_K_M: 4.68 GiB of tensors, of which the token table stays on the host."""
    setting = {"engine": "llamacpp", "engine_version": "", "model": "Qwen3-8B", "weight_format": "Q4_K_M"}
    ledger = {"weights": 4.68 * GIB}
    table = one(run({"decode_throughput": 140.0}, ledger, "llama_bench", **setting)).ledger
    assert [row.line for row in table] == ["model_file"]
    assert table[0].low <= table[0].measured <= table[0].high
    assert table[0].predicted == pytest.approx(table[0].measured, rel=0.005)
    log = one(run({"decode_throughput": 140.0}, ledger, "llama_cpp_log", **setting)).ledger
    assert log[0].line == "weights" and log[0].predicted < 0.95 * table[0].predicted


def test_a_run_that_names_no_model_is_told_so_and_what_to_do():
    bare = run({"user_throughput": 34.6}, engine="ollama", model="", accelerator="")
    assert one(bare).reason == "model_unstated"
    no_device = run({"user_throughput": 34.6}, engine="ollama", accelerator="")
    assert one(no_device).reason == "device_unstated"
    unknown = run({"user_throughput": 34.6}, model="no-such-model")
    assert one(unknown).reason == "model"
    for language in ("en", "zh_CN"):
        for reason in ("model_unstated", "device_unstated"):
            assert "--scenario" in Words(language)(f"cli.validate.reasons.{reason}")


def test_a_user_s_rate_is_one_over_the_time_of_a_token():
    pair = one(run({"user_throughput": 50.0, "time_per_output_token": 0.02}))
    rate, time_ = pair.comparisons
    assert rate.predicted == pytest.approx(1 / time_.predicted)
    assert rate.low <= rate.predicted <= rate.high
    assert rate.slow_error == pytest.approx(time_.slow_error)


def test_an_arrival_rate_is_an_open_loop():
    pair = one(run({"time_to_first_token": 0.1}, request_rate=0.5, requests=200, concurrency=None))
    assert pair.comparisons[0].case.load == "rate" and pair.scenario.workload.request_rate == 0.5
    burst = one(run({"output_throughput": 900.0}, request_rate=math.inf, requests=100, concurrency=None))
    assert burst.comparisons[0].case.load == "batch"


LEDGER = {
    "weights": 14.99 * GIB,
    "activation_peak": 4.76 * GIB,
    "non_torch": 0.13 * GIB,
    "kv_cache": 51.38 * GIB,
    "device_total": 79.18 * GIB,
    "kv_cache_tokens": 51.38 * GIB / 131072,
}


def start_up(**changes):
    setting = {
        "accelerator": "H100-80GB",
        "engine_version": "0.11.0",
        "context_limit": 16000,
        "utilization": 0.9,
        "block_size": 128,
        "concurrency": None,
        "input_tokens": None,
        "output_tokens": None,
        **changes,
    }
    return run({}, dict(LEDGER), "vllm_log", **setting)


def test_the_ledger_of_a_published_log_stands_beside_ours_in_the_engine_s_words():
    rows = {row.line: row for row in one(start_up()).ledger}
    assert rows["weights"].engine_word == "model weights"
    for line, near in (("weights", 0.02), ("kv_cache", 0.06), ("kv_cache_tokens", 0.06)):
        assert rows[line].predicted == pytest.approx(rows[line].measured, rel=near)
    assert rows["kv_cache_tokens"].is_count and not rows["weights"].is_count


def test_another_share_of_the_memory_is_found_in_the_ledger():
    pair = one(start_up(utilization=None))
    wrong = replace(pair, scenario=with_values(pair.scenario, {"engine.gpu_memory_utilization": 0.8}))
    again = pair_runs([pair.run], wrong.scenario)[0]
    best = likely_causes(again)[0]
    assert best.key == "utilization" and best.changes[0].value == pytest.approx(0.9)
    assert best.after < 0.05 < best.before


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"precision.weights": "awq_g128"}, "weight_format"),
        ({"workload.shared_prefix_tokens": 920}, "prefix_hits"),
        ({"speculative.kind": "ngram"}, "speculation"),
    ],
)
def test_what_really_differs_is_among_the_causes_and_explains_it(scenario, change, key):
    pair = one(run(measured(scenario, change)), scenario)
    assert differs(pair)
    found = {cause.key: cause for cause in likely_causes(pair)}
    assert found[key].explained > 0.65 and found[key].after < found[key].before
    changed = with_values(scenario, {c.path: c.value for c in found[key].changes})
    assert changed != scenario  # one click applies it
    ranks = [cause.rank for cause in likely_causes(pair)]
    assert ranks == sorted(ranks, reverse=True)


def test_low_clocks_of_a_monitor_explain_slow_prompts(scenario):
    device = scenario.accelerator
    hot = with_values(scenario, {"accelerator": slower(device, 0.5)})
    figures = {**measured(hot), "core_clock": 0.5e6 * device.boost_mhz, "temperature": 90.0}
    causes = likely_causes(one(run(figures), scenario))
    assert causes[0].key == "thermal_limit" and causes[0].plausibility == 1.0
    assert "90.0 °C" in EN.phrase(causes[0].text) and "50 %" in EN.phrase(causes[0].text)
    plain = {w.key: w for w in what_ifs(run(measured(hot)), scenario)}
    assert plain["clocks"].plausibility < 0.5  # nothing speaks for it


def test_what_the_run_states_is_an_unlikely_cause(scenario):
    told = {w.key: w for w in what_ifs(run({}, graphs=True, weight_format="bf16"), scenario)}
    free = {w.key: w for w in what_ifs(run({}), scenario)}
    assert told["graphs_off"].plausibility < free["graphs_off"].plausibility
    assert "weight_format" in free and "weight_format" not in told, "stated: no other is offered"


def test_links_are_tried_where_there_are_several_devices(scenario):
    two = with_values(scenario, {"deployment.accelerators": 2, "deployment.tensor_parallel": 2})
    keys = {w.key for w in what_ifs(run({}), two)}
    assert "link_pcie_host" in keys
    assert not any(w.key.startswith("link") for w in what_ifs(run({}), scenario))


def counted(monkeypatch, *names):
    """How often functions of the pairing are called, by name."""
    calls = dict.fromkeys(names, 0)

    def watch(name, function):
        def watched(*given, **named):
            calls[name] += 1
            return function(*given, **named)

        monkeypatch.setattr(pairing, name, watched)

    for name in names:
        watch(name, getattr(pairing, name))
    return calls


def test_ten_thousand_runs_ask_the_model_as_often_as_a_hundred_of_their_settings(scenario, monkeypatch):
    few = [run(measured(scenario), concurrency=float(1 + i % 100)) for i in range(100)]
    calls = counted(monkeypatch, "described", "predict_all")
    pair_runs(few, scenario)
    once = dict(calls)
    assert once["described"] == 100 and 1 <= once["predict_all"] <= 100
    many = pair_runs(few * 100, scenario)
    assert len(many) == 10_000 and all(len(pair.comparisons) == 3 for pair in many)
    assert {name: calls[name] - once[name] for name in calls} == once


def test_observations_are_placed_between_bound_and_estimate(scenario):
    speed = estimate(scenario).speed
    usual = diagnose(scenario, {"time_per_output_token": speed.time_per_output_token.expected})
    assert usual.placed[0].state == "as_estimated"
    assert usual.placed[0].bound < speed.time_per_output_token.low
    # 16.06 GB of weights at 1,008 GB/s: no token in less than 15.9 ms.
    assert usual.placed[0].bound > 0.0159
    assert usual.suspects[0].cause.key == "bandwidth"
    states = {}
    for value in (0.001, 0.026, 0.2):
        states[value] = diagnose(scenario, {"time_per_output_token": value}).placed[0].state
    assert states == {0.001: "below_bound", 0.026: "worse", 0.2: "much_worse"}
    rate = diagnose(scenario, {"output_throughput": 1e5}).placed[0]
    assert rate.state == "below_bound" and rate.bound > speed.output_throughput.expected


def test_what_is_within_the_range_is_not_called_the_estimate(scenario):
    expected = estimate(scenario).speed
    near = {"time_to_first_token": 0.98 * expected.time_to_first_token.high}
    placed = diagnose(scenario, near).placed[0]
    assert placed.state == "as_estimated"
    assert "within the estimate's range" in EN.phrase(placed.sentence)


def test_the_share_that_is_explained_is_that_of_the_errors_told():
    # From 1.43 to 1.22 times, 49 % of the difference is gone; of the logarithms it would be 44 %.
    said = EN.phrase(evidence_of(math.log(1.43), math.log(1.22)))
    assert re.findall(r"\d[\d.]*(?: %)?", said) == ["1.43", "1.22", "49 %"]
    assert share_explained(math.log(1.43), math.log(1.22)) == pytest.approx(0.21 / 0.43)


def test_links_that_come_to_the_same_are_told_once(scenario):
    two = {"deployment.accelerators": 2, "deployment.tensor_parallel": 2}
    card = {"accelerator": accelerators.load_accelerator("RTX 3090"), "precision.weights": "awq_g128"}
    fast = with_values(scenario, {**two, **card})
    slow = measured(fast, {"deployment.link": "pcie_host"})
    assert slow == measured(fast, {"deployment.link": "pcie"})  # such cards copy through the host anyway
    found = diagnose(fast, slow).suspects
    assert sum(s.what_if is not None and s.what_if.key.startswith("link_") for s in found) == 1


def test_more_users_than_thought_are_found(scenario):
    seen = measured(scenario, {"workload.users": 32})
    found = diagnose(scenario, seen)
    first = next(s for s in found.suspects if s.what_if is not None)
    assert first.what_if.key == "more_users" and first.what_if.changes[0].value == 32
    assert first.weight == max(s.weight for s in found.suspects)


def test_every_state_and_cause_has_its_words(scenario):
    found = diagnose(scenario, dict.fromkeys(OBSERVED, 1.0) | {"memory_used": 3e10})
    for words in (EN, Words("zh_CN")):
        for placed in found.placed:
            assert words.has(placed.sentence.key)
        for key in {w.key for w in what_ifs(run({}), scenario)}:
            assert words.has(f"causes.{key}")


def test_nothing_observed_is_refused(scenario):
    with pytest.raises(UnreadableFile):
        diagnose(scenario, {})
    with pytest.raises(UnreadableFile):
        diagnose(scenario, {"time_per_output_token": -1.0})


def test_a_scenario_that_does_not_start_is_told_so(scenario):
    large = with_values(scenario, {"engine.gpu_memory_utilization": 0.3})
    found = diagnose(large, {"memory_used": 24e9, "time_per_output_token": 0.02})
    assert {p.figure: p.state for p in found.placed}["time_per_output_token"] in ("no_estimate", "worse")
    assert any(s.symptom.key == "out_of_memory" for s in found.suspects)


def test_the_changes_of_a_cause_can_be_written(scenario):
    from core.evidence.pairs_told import cause_tree

    pair = one(run(measured(scenario, {"precision.weights": "awq_g128"})), scenario)
    for cause in likely_causes(pair):
        assert json.dumps(cause_tree(cause, EN))


KERNELS = (
    # Names as traces of vLLM on Hopper hold them.
    ("nvjet_tst_192x8_64x12_2x1_v_bz_TNT", "matrices"),
    ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<...>>>", "attention"),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "exchange"),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(...)", "exchange"),
    ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, ...>", "cache"),
    ("fused_moe_kernel", "experts"),
    ("triton_red_fused_add_mean_mul_pow_rsqrt_0", "elementwise"),
    ("Memcpy DtoD (Device -> Device)", "copies"),
    ("some_unheard_of_thing", "other"),
)


@pytest.mark.parametrize(("name", "kind"), KERNELS)
def test_kernels_are_told_by_their_names(name, kind):
    assert kind_of(name) == kind


def test_a_profile_stands_beside_the_predicted_step(scenario):
    operators = (Operator("nvjet_tst", 0.9, 100), Operator("flash_fwd", 0.08, 32), Operator("odd", 0.02, 5))
    rows = {row.kind: row for row in operator_rows(operators, estimate(scenario))}
    assert rows["matrices"].measured == pytest.approx(0.9) and rows["matrices"].calls == 100
    # Eight users on 1.3K tokens: 16 GB of weights against 1.4 GB of cache a step.
    assert 0.8 < rows["matrices"].decode < 0.97
    for share in ("measured", "decode", "prefill"):
        assert sum(getattr(row, share) for row in rows.values()) == pytest.approx(1)
    assert rows["other"].decode == 0
    assert operator_rows((), None) == () and operator_rows(operators, None)[0].decode is None
