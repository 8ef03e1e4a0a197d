"""Calibration on measured runs: what it gains on figures left out, when it refuses, and what a profile does.

Served points: a part of silicon_sample.csv of NVIDIA AIConfigurator (Apache-2.0), its measured columns:
https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51c4ca8e61b66ec108d86f223f8d559ce/aic-core/src/aiconfigurator_core/systems/silicon_sample.csv
Single streams: ``single_streams.jsonl``, each line with its source.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.evidence.calibrate import calibrate
from core.evidence.calibration_blend import blended
from core.evidence.calibration_fit import absolute
from core.evidence.calibration_made import reserve_gib
from core.evidence.calibration_rows import Linear, linear_of, rows_of
from core.evidence.measured import read_records
from core.evidence.pairing import pair_runs
from core.evidence.run import Origin, Run, Setting
from core.evidence.served import Case, cases_of_points
from core.evidence.single_stream import Case as Stream
from core.evidence.single_stream import cases_of
from core.latency.calibrated import for_setup
from core.spec.calibration import FACTORS, Calibration
from core.spec.change import with_values
from core.units import show_time
from core.words import Words

HERE = Path(__file__).parent
POINTS = (HERE / "served_points.csv").read_text(encoding="utf-8")
RUNS = 24


def groups():
    """Figures by GPU and engine, of those with a dozen or more."""
    found = {}
    for case in cases_of_points(POINTS):
        if isinstance(case, Case):
            found.setdefault((case.gpu, case.scenario.engine.name), ([], []))[0].append(case)
    for case in cases_of(read_records(HERE / "single_streams.jsonl")):
        if isinstance(case, Stream):
            found.setdefault((case.gpu, case.scenario.engine.name), ([], []))[1].append(case)
    return {key: both for key, both in found.items() if len(both[0]) + len(both[1]) >= 12}


GROUPS = groups()


def gained(rows, linear, half, other):
    """Median error of the other half before and after a calibration on ``half``, shares."""
    mine, line = rows.chosen(half), Linear(linear.errors[half], linear.slopes[half], linear.fitted[half])
    blend = blended(mine, line)
    before = float(np.median(absolute(linear.errors[other])))
    if blend is None:
        return before, before
    whole = blend.model(rows, Linear(linear.errors, linear.slopes, np.ones(len(rows), dtype=bool)))
    after = linear.errors[other] + whole.slopes[other] @ blend.phi(whole.columns, mine, line)
    return before, float(np.median(absolute(after)))


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_calibrating_on_half_of_a_group_never_harms_the_other_half(group):
    rows = rows_of(*GROUPS[group])
    linear = linear_of(rows)
    changes = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(rows))
        half, other = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
        before, after = gained(rows, linear, half, other)
        assert after <= before + 0.01, seed
        changes.append(after - before)
    assert np.mean(changes) <= 0.0005


@pytest.mark.slow
def test_half_of_the_served_points_lowers_the_error_of_the_rest():
    """The groups that are large and have a bias: 12 to 15 of 100 fewer."""
    changes = []
    for group in [key for key in GROUPS if key[1] in ("vllm", "sglang")]:
        rows = rows_of(*GROUPS[group])
        linear = linear_of(rows)
        order = np.random.default_rng(1).permutation(len(rows))
        half, other = np.sort(order[::2]), np.sort(order[1::2])
        before, after = gained(rows, linear, half, other)
        changes.append(after / before)
    assert min(changes) < 0.95 and max(changes) <= 1.05


def served(scenario, truth, users, prompt=1024, output=512, noise=0.0, seed=0):
    """A run as the program would measure it if ``truth`` held."""
    from core.serving.steady_state import closed_loop, prepare

    changed = with_values(
        scenario,
        {"workload.users": users, "workload.prompt_tokens": prompt, "workload.output_tokens": output},
    )
    curve = closed_loop(prepare(changed, None, for_setup(truth, changed)), np.array([float(users)]), 1e9)
    wobble = np.exp(noise * np.random.default_rng(seed).standard_normal(2))
    setting = Setting(
        engine=scenario.engine.name,
        engine_version=scenario.engine.version,
        model=scenario.model.name,
        accelerator=scenario.accelerator.name,
        accelerators=1,
        weight_format="bf16",
        kv_cache_format="bf16",
        input_tokens=float(prompt),
        output_tokens=float(output),
        concurrency=float(users),
    )
    figures = {
        ("time_to_first_token", "mean"): float(curve.time_to_first_token[1, 0]) * wobble[0],
        ("time_per_output_token", "mean"): float(curve.time_per_output_token[1, 0]) * wobble[1],
    }
    return Run(Origin("vllm_serve", file="runs.jsonl", line=seed + 1), setting, figures, label=f"c{users}")


TRUTH = Calibration(name="truth", bandwidth=0.8, compute=0.75, layer=1.3, step=1.2, server=1.5)


@pytest.fixture(scope="module")
def many(scenario):
    loads = [(users, prompt) for users in (1, 2, 4, 8, 16, 32) for prompt in (128, 1024, 2048, 4096)]
    runs = [served(scenario, TRUTH, u, p, noise=0.01, seed=i) for i, (u, p) in enumerate(loads)]
    return pair_runs(runs, scenario)


def test_copies_and_repetitions_of_one_run_are_no_more_runs(scenario, many):
    one = served(scenario, TRUTH, 8)
    said = {}
    for words in (Words("en"), Words("zh_CN")):
        result = calibrate(pair_runs([one] * 4, scenario), "mine")
        assert result.calibration is None
        said[words.language] = " ".join(map(words.phrase, result.refused))
    assert "4 runs" in said["en"] and "one setting" in said["en"]
    assert "4" in said["zh_CN"] and "contradict" not in said["en"]
    again = [served(scenario, TRUTH, 8, noise=0.02, seed=i) for i in range(5)]
    assert calibrate(pair_runs(again, scenario), "mine").calibration is None
    # Copies of some of the runs change nothing.
    plain, twice = calibrate(many, "mine"), calibrate([*many, *many[:12]], "mine")
    assert twice.calibration is not None and twice.after == pytest.approx(plain.after)
    assert {f.name: f.value for f in twice.factors} == pytest.approx({f.name: f.value for f in plain.factors})


def test_runs_of_one_setting_that_contradict_one_another_are_told(scenario, many):
    def scaled(by):
        one = served(scenario, TRUTH, 8)
        return replace(one, figures={key: value * by for key, value in one.figures.items()})

    refused = calibrate(pair_runs([scaled(x) for x in (1, 10, 0.1, 3, 0.3)], scenario), "mine").refused
    said = Words("en").phrase(refused[0])
    first = scaled(1).figures["time_to_first_token", "mean"]
    assert "5 runs of one setting contradict" in said
    assert str(show_time(10 * first)) in said and str(show_time(0.1 * first)) in said
    assert "互相矛盾" in Words("zh_CN").phrase(refused[0])
    remarks = calibrate([*many, *pair_runs([scaled(1), scaled(2)], scenario)], "mine").remarks
    assert any(phrase.key == "calibrate.contradict" for phrase in remarks)
    assert not any(phrase.key == "calibrate.contradict" for phrase in calibrate(many, "mine").remarks)


def test_factors_that_runs_were_made_with_are_found(many):
    result = calibrate(many, "mine")
    assert not result.refused and result.calibration is not None
    assert result.before > 0.15 and result.after < 0.03
    found = {factor.name: factor for factor in result.factors}
    assert not result.calibration.setups
    assert found["bandwidth"].value == pytest.approx(TRUTH.bandwidth, rel=0.1)
    assert found["compute"].value == pytest.approx(TRUTH.compute, rel=0.1)
    assert found["server"].value == pytest.approx(TRUTH.server, rel=0.15)
    assert "link" not in found  # one device


def test_wanted_factors_are_found_or_refused_by_name(many):
    result = calibrate(many, "mine", ("bandwidth", "compute"))
    values = {factor.name: factor.value for factor in result.factors}
    assert values["bandwidth"] < 0.9 and values["compute"] < 0.9
    one = calibrate(many[:4], "mine", ("bandwidth", "link"))  # nothing crosses a link on one device
    assert one.calibration is None and one.refused[0].key == "calibrate.refused.unseen_factors"


def test_runs_alike_cannot_tell_bandwidth_from_launches(scenario):
    """One load again and again, but for a token: its time may be either."""
    runs = [served(scenario, TRUTH, 1, 128 + i, noise=0.01, seed=i) for i in range(6)]
    result = calibrate(pair_runs(runs, scenario), "mine", ("bandwidth", "layer"))
    assert result.calibration is None
    assert result.refused[0].key in ("calibrate.refused.unseen_factors", "calibrate.refused.apart")
    assert len(result.next) == 3
    assert len({(m.users, m.prompt_tokens) for m in result.next}) == 3


def test_what_is_known_is_not_measured_again(scenario, many):
    """Twenty-four loads tell compute; step overhead hides behind 16 GB of weights at every load."""
    result = calibrate(many, "mine")
    known = {f.name: f.posterior / f.prior for f in result.factors}
    assert known["compute"] < 0.5
    told = {name for one in result.next for name in one.tells}
    assert "compute" not in told and "bandwidth" not in told and all(one.tells for one in result.next)
    few = calibrate([pair for pair in many if pair.run.setting.input_tokens == 1024], "mine")
    assert "compute" in {name for one in few.next for name in one.tells}
    (beyond,) = (phrase for phrase in result.remarks if phrase.key == "calibrate.remarks.beyond")
    said = Words("en").phrase(beyond)
    assert "step overhead" in said and "link" not in said and "bandwidth" not in said
    assert "每步开销" in Words("zh_CN").phrase(beyond)


def test_a_factor_that_moved_far_is_not_said_to_have_stayed(scenario, many):
    """Little is known of it, and it moved all the same: the remark speaks of the doubt alone."""
    few = [pair for pair in many if pair.run.setting.input_tokens == 1024]
    result = calibrate(few, "mine")
    said = " ".join(Words("en").phrase(phrase) for phrase in result.remarks)
    moved = [f for f in result.factors if abs(f.value - 1) > f.prior / 4 and not f.seen]
    assert moved and said
    assert "stay" not in said and "ardly moved" not in said
    assert "保持" not in " ".join(Words("zh_CN").phrase(phrase) for phrase in result.remarks)


def test_a_profile_that_is_right_is_left_alone(scenario):
    as_is = Calibration(name="as is")
    runs = [served(scenario, as_is, u, noise=0.05, seed=u) for u in range(1, 13)]
    result = calibrate(pair_runs(runs, scenario), "mine")
    assert result.calibration is None and result.refused[0].key == "calibrate.refused.as_good"
    figures = len(result.points)
    for language, said in (("en", f"all {figures} figures"), ("zh_CN", f"全部 {figures} 个指标")):
        assert said in Words(language).phrase(result.refused[0]), "which errors these are the median of"


def test_what_few_runs_suggest_moves_no_figure_far(scenario):
    """Eight figures that scatter by twice their bias: at most a hundredth is taken, and now and then some."""
    pairs = pair_runs([served(scenario, Calibration(name="-"), users) for users in range(1, 9)], scenario)
    cases = [c.case for pair in pairs for c in pair.comparisons if c.figure == "time_per_output_token"]
    rows = rows_of(cases, (), list(range(len(cases))))
    slopes, everywhere = rows.slopes(), np.ones(len(rows), dtype=bool)
    moved = []
    for seed in range(12):
        errors = 0.03 + 0.06 * np.random.default_rng(seed).standard_normal(len(rows))
        line = Linear(errors, slopes, everywhere)
        blend = blended(rows, line)
        if blend is not None:
            model = blend.model(rows, line)
            moved.append(np.abs(model.slopes @ blend.phi(model.columns, rows, line)).max())
    assert moved and max(moved) <= 0.0101
    sure = Linear(np.full(len(rows), 0.2), slopes, everywhere)  # beyond doubt: nearly all of it
    blend = blended(rows, sure)
    model = blend.model(rows, sure)
    left = sure.errors + model.slopes @ blend.phi(model.columns, rows, sure)
    assert np.abs(left).max() < 0.1


def test_no_calibration_is_made_that_its_own_runs_left_out_do_not_bear(scenario):
    """Eight runs a little slower than the profile: where one is made, its error after is the lower one."""
    made = 0
    for noise in range(4):
        runs = [
            served(scenario, Calibration(name="-", bandwidth=0.9), users, noise=0.04, seed=10 * noise + users)
            for users in range(1, 9)
        ]
        result = calibrate(pair_runs(runs, scenario), "mine")
        assert result.calibration is None or result.after < result.before
        made += result.calibration is not None
    assert made


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_runs_are_refused(many, count):
    result = calibrate(many[:count], "mine")
    assert result.calibration is None and len(result.refused) == 1


def test_runs_of_two_devices_are_refused(many, scenario):
    other = many[0].run.setting
    moved = Run(
        many[0].run.origin,
        Setting(**{**_fields(other), "accelerator": "H100 SXM5 80GB"}),
        many[0].run.figures,
    )
    result = calibrate([*many, *pair_runs([moved], scenario)], "mine")
    assert result.refused[0].key == "calibrate.refused.devices"


def test_a_log_without_a_gpu_does_not_stand_for_the_open_scenarios(many, scenario):
    """Beside runs that name theirs; a start-up log names none, and another scenario may be open."""
    setting = Setting(engine="vllm", model=scenario.model.name, weight_format="bf16")
    log = Run(Origin("vllm_log"), setting, {}, {"kv_cache": 2.0**32})
    elsewhere = scenario.model_copy(update={"accelerator": load_accelerator("H100 SXM5 80GB")})
    (pair,) = pair_runs([log], elsewhere)
    assert pair.scenario is not None and pair.scenario.accelerator.name == "H100 SXM5 80GB"
    alone, beside = calibrate(many, "mine").calibration, calibrate([*many, pair, pair], "mine").calibration
    assert beside == alone


def _fields(setting):
    return {name: getattr(setting, name) for name in Setting.__dataclass_fields__}


def test_the_calibrated_model_predicts_the_runs(many, scenario):
    found = calibrate(many, "mine").calibration
    again = pair_runs([pair.run for pair in many], scenario, calibration=found)
    before = np.median([abs(c.error) for pair in many for c in pair.comparisons])
    after = np.median([abs(c.error) for pair in again for c in pair.comparisons])
    assert after < 0.03 < 0.15 < before


def test_what_is_fitted_says_on_which_runs(many):
    found = calibrate(many, "mine").calibration
    assert len(found.source) == len(many)
    assert (found.source[0].tool, found.source[0].file, found.source[0].line) == (
        "vllm_serve",
        "runs.jsonl",
        1,
    )
    assert found.errors.runs == len(many) and found.errors.after < found.errors.before
    low, high = found.step_band
    assert 0.85 < low <= 1 <= high < 1.15


def test_reserve_is_what_start_up_logs_miss(scenario):
    point = estimate(scenario)
    pool = point.ledger.kv_pool_bytes
    setting = Setting(
        engine="vllm",
        engine_version=scenario.engine.version,
        model=scenario.model.name,
        accelerator=scenario.accelerator.name,
        context_limit=scenario.engine.max_model_len,
        utilization=scenario.engine.gpu_memory_utilization,
        weight_format="bf16",
    )
    runs = [Run(Origin("vllm_log"), setting, {}, {"kv_cache": float(pool - 2**30)}) for _ in range(3)]
    pairs = pair_runs(runs, scenario)
    assert [row.line for row in pairs[0].ledger] == ["kv_cache"]
    assert reserve_gib(pairs) == pytest.approx(1.0, abs=0.1)
    assert reserve_gib(pairs[:1]) == 0.0


def test_every_factor_has_an_effect_in_its_own_direction(scenario):
    plain = estimate(scenario).speed
    for name in FACTORS:
        fitted = Calibration.model_validate({"name": "x", name: 1.5})
        run = served(scenario, fitted, scenario.workload.users)
        first = run.figures["time_to_first_token", "mean"] / plain.time_to_first_token.expected
        each = run.figures["time_per_output_token", "mean"] / plain.time_per_output_token.expected
        if name == "link":
            assert first == pytest.approx(1) and each == pytest.approx(1)  # one device
        elif name in ("bandwidth", "compute"):
            assert first * each < 1
        else:
            assert first * each > 1


def test_the_records_are_what_they_say():
    assert len(GROUPS) >= 2
    assert all(
        json.loads(line)["source_url"] for line in (HERE / "single_streams.jsonl").read_text().splitlines()
    )


def test_figures_next_to_nothing_take_no_part():
    """Their error is beyond all numbers, of which nothing is said on the error stream."""
    cases, _ = GROUPS[next(iter(GROUPS))]
    rows = rows_of([replace(cases[0], measured=5e-324), *cases[1:4]], [])
    line = linear_of(rows)
    assert line.fitted.tolist()[0] is False and line.fitted[1:].any()
