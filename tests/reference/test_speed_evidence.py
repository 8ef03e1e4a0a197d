"""Reading measured servers and batches, and the fit: what rows mean, what is no measurement, what it finds.

Shapes of rows as in public tables of served points; figures of the examples are made up.
"""

import csv
import io

import numpy as np
import pytest

from core.evidence.fit import bands_of, believed, calibrated, fit, problem_of, thinned, with_values
from core.evidence.page import accuracy_page, summary
from core.evidence.served import Case, Refused, cases_of_points
from core.evidence.served_records import cases_of_records
from core.evidence.speed import predict_all, runs_of
from core.evidence.speed_predictions import predictions_of_points, predictions_of_records
from core.evidence.validate import predictions_of
from core.latency.factors import Factor, Factors, load_factors
from core.quantities import EXPECTED
from core.words import Words

HEAD = [
    "id",
    "backend",
    "backend_version",
    "model_path",
    "system",
    "precision",
    "isl",
    "osl",
    "batch_size",
    "tp_size",
    "pp_size",
    "attention_dp_size",
    "moe_tp_size",
    "moe_ep_size",
    "measured_on",
    "silicon_ttft_ms",
    "silicon_tpot_ms",
]
ROW = {
    "id": "2026_03_25_gpt_oss_120b_h100_sxm_vllm_fp4_agg_1024x1024_c16_tp4_0_ep1_0_900",
    "backend": "vllm",
    "backend_version": "0.18.0",
    "model_path": "openai/gpt-oss-120b",
    "system": "h100_sxm",
    "precision": "fp4",
    "isl": "1024",
    "osl": "1024",
    "tp_size": "4",
    "attention_dp_size": "1.0",
    "moe_tp_size": "4",
    "moe_ep_size": "1",
    "silicon_ttft_ms": "90.0",
    "silicon_tpot_ms": "6.1",
}


def table(*rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, HEAD)
    writer.writeheader()
    writer.writerows({**ROW, **row} for row in rows)
    return out.getvalue()


def points(*rows):
    return list(cases_of_points(table(*rows)))


def test_a_row_is_two_figures_with_the_concurrency_of_its_id_and_shorter_lengths():
    first, per_token = points({})
    assert (first.metric, per_token.metric) == ("ttft", "tpot")
    assert per_token.amount == 16 and per_token.load == "users"
    work, precision = per_token.scenario.workload, per_token.scenario.precision
    assert (work.prompt_tokens, work.output_tokens) == (922, 922)  # uniform in 0.8-1.0 of the nominal
    assert (precision.weights, precision.kv_cache) == ("mxfp4_experts", "bf16")
    assert per_token.measured == pytest.approx(6.1e-3)


@pytest.mark.parametrize(
    ("columns", "devices", "copies", "experts"),
    [
        ({"id": "a_b200_x_c64_tp8_ep8_1", "tp_size": "64", "moe_tp_size": "8", "moe_ep_size": "8"}, 8, 1, 8),
        ({"id": "a_b200_x_c64_cfg1", "tp_size": "16", "moe_tp_size": "4", "moe_ep_size": "4"}, 4, 1, 4),
        ({"id": "a_b200_x_c64_cfg1", "tp_size": "8", "moe_tp_size": "8", "moe_ep_size": "1"}, 8, 1, 1),
        (
            {
                "id": "a_b200_x_c64_cfg1",
                "tp_size": "1",
                "attention_dp_size": "64.0",
                "moe_tp_size": "8",
                "moe_ep_size": "8",
            },
            8,
            8,
            8,
        ),
        (
            {
                "id": "a_h100_x_c8_tp4_epnone_3",
                "attention_dp_size": "",
                "moe_tp_size": "1",
                "moe_ep_size": "4",
            },
            4,
            1,
            4,
        ),
    ],
)
def test_columns_are_not_always_what_they_are_called(columns, devices, copies, experts):
    deployment = points(columns)[0].scenario.deployment
    assert deployment.tensor_parallel == devices
    assert deployment.attention_data_parallel == copies
    assert deployment.expert_parallel == experts


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"id": "2026_04_06_deepseek_r1_gb200_trtllm_fp4_agg_1024x1024_c32_tp36_ep1_11"}, "disaggregated"),
        (
            {"id": "2026_03_25_deepseek_r1_h200_sxm_trtllm_fp8_agg_1024x1024_c4_tp8_0_ep1_0_9"},
            "unrecorded_speculation",
        ),
        (
            {"id": "qwen_qwen3_235b_x_h200_sxm_vllm_agg_1000x100_c8_tp4_epnone_1"},
            "slow_kernels_of_one_release",
        ),
        ({"silicon_ttft_ms": "45000"}, "cache_overflow"),
        ({"silicon_ttft_ms": "20", "silicon_tpot_ms": "0.03"}, "prompts_cached"),
    ],
)
def test_rows_that_are_no_measurement_of_what_they_say(columns, reason):
    found = points(columns)
    assert all(isinstance(f, Refused) and f.ruled for f in found)
    assert {f.reason for f in found} == {reason}


def test_a_run_listed_twice_counts_once():
    again = points({}, {"id": ROW["id"].replace("_900", "_77")})
    assert [isinstance(f, Case) for f in again] == [True, True, False, False]
    assert again[3].reason == "same_run_twice"


RECORD = {
    "id": "r1",
    "engine": "TensorRT-LLM",
    "engine_version": "1.2.0",
    "model": "Llama-3.1-8B",
    "gpu": "NVIDIA H100 SXM5 80GB",
    "gpu_count": 1,
    "tp": 1,
    "weight_format": "FP8",
    "mode": "offline_throughput",
    "input_len": 128,
    "output_len": 128,
    "metric": "output_tok_s",
    "value": 20000.0,
    "extra": {},
}


def test_records_of_all_loads_are_read():
    kinds = [
        ({}, "full", "batches"),
        ({"batch_or_concurrency": 64, "metric": "latency_s", "value": 1.0}, "batch", "batches"),
        ({"mode": "server", "metric": "tpot_ms", "value": 9.0, "request_rate": 2.0}, "rate", "server TPOT"),
        (
            {"mode": "server", "metric": "ttft_ms", "value": 90.0, "batch_or_concurrency": 8},
            "users",
            "server TTFT",
        ),
        (
            {"mode": "single_batch", "metric": "ttft_ms", "value": 20.0, "output_len": 1},
            "batch",
            "one prompt",
        ),
    ]
    for change, load, group in kinds:
        (case,) = cases_of_records([{**RECORD, **change}])
        assert (case.load, case.group) == (load, group)
        assert case.scenario.precision.kv_cache == "fp8"
        values = predict_all(runs_of([case]), 1)
        assert np.isfinite(values).all() and (values > 0).all()
    assert list(cases_of_records([{**RECORD, "engine": "llama.cpp"}])) == []


@pytest.mark.parametrize(
    "change",
    [
        {"model": None},
        {"gpu": "???"},
        {"weight_format": 7},
        {"value": "many"},
        {"metric": None},
        {"statistic": "p99"},
        {"extra": None, "input_len": "x"},
        {"mode": "server", "request_rate": "inf"},
        {"tp": -3},
    ],
)
def test_damaged_records_are_refused_or_read_never_raised(change):
    for found in cases_of_records([{**RECORD, **change}]):
        assert found.id == "r1"
    assert len(predictions_of_records([{**RECORD, **change}])) == 1


def synthetic():
    """Rows whose figures are the model's own with one factor moved."""
    rows = [
        {
            "id": f"x_h100_sxm_vllm_c{c}_tp{t}_epnone_{t}{c}",
            "isl": "1000",
            "osl": "500",
            "silicon_ttft_ms": str(50 + c),
            "silicon_tpot_ms": str(5 + c / 9 + t),
        }
        for c in (4, 16, 64)
        for t in (1, 2, 4)
    ]
    return [c for c in points(*rows) if isinstance(c, Case)]


def test_the_fit_finds_a_factor_that_was_moved():
    cases = synthetic()
    truth = Factors((Factor(term="moe.em", value=0.7, start=1.0, spread=0.5),))
    made = predict_all(runs_of(cases), len(cases), truth)[EXPECTED]
    cases = [c.__class__(**{**vars(c), "measured": float(v)}) for c, v in zip(cases, made, strict=True)]
    start = Factors((Factor(term="moe.em", value=1.0, start=1.0, spread=0.5),))
    problem = problem_of(thinned(cases), start)
    theta, _ = fit(problem)
    assert np.exp(theta[0]) == pytest.approx(0.7, rel=0.02)
    assert np.abs(problem.errors(theta)).max() < 0.01


def test_one_point_removes_the_offset_of_a_stack():
    cases = synthetic()
    errors = np.log(np.where([c.group == "server TPOT" for c in cases], 1.3, 0.8))
    left = calibrated(cases, errors)
    assert np.nanmax(np.abs(left)) < 1e-12
    assert np.isnan(left).sum() == len({(c.stack, c.group) for c in cases})


def test_bands_hold_four_fifths():
    cases = synthetic()
    errors = np.linspace(-0.3, 0.3, len(cases))
    bands = bands_of(cases, [errors])
    assert set(bands) == {"step", "first_token", "batch"}
    kinds = (*bands["step"].values(), *bands["first_token"].values(), bands["batch"])
    assert all(low <= 1 <= high for low, high in kinds)


def test_factors_stand_in_their_file_with_start_and_spread():
    for factor in load_factors().entries:
        assert abs(np.log(factor.value / factor.start)) < 4 * factor.spread, factor.name
    moved = with_values(load_factors(), np.zeros(len(load_factors().entries)))
    assert moved.of("starts", "vllm", "hopper") == 1.0


def test_the_page_names_groups_bias_and_reasons():
    predictions = predictions_of_points(table({}, {"id": "qwen_qwen3_235b_x_h200_sxm_vllm_c8_tp4_1"}))
    page = accuracy_page(predictions, Words("en"))
    for text in ("server TPOT", "server TTFT", "Bias", "moe.em/", "Not predicted"):
        assert text in page
    assert "{" not in page


def test_summary_of_errors():
    found = summary(np.log([1.1, 0.9, 1.2, float("nan")]).tolist())
    assert found == {"n": 3, "median": 0.1, "p90": 0.2, "bias": 0.1}


def test_a_point_is_believed_as_far_as_stacks_differ():
    """Noise alone is not believed, differences of stacks alone wholly, equal parts of both by half."""
    rng = np.random.default_rng(3)
    stacks, points, others = rng.normal(size=(3, 4000))
    assert believed(points, others - points) < 0.05
    assert believed(stacks, 0.0 * stacks) == 1.0
    assert believed(stacks + points, others - points) == pytest.approx(0.5, abs=0.05)
    assert believed(np.array([]), np.array([])) == 0.0


def test_files_count_the_same_in_whatever_order_they_are_named(tmp_path):
    """Two tables list one run: the page does not hang on which is named first."""
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(table({}), encoding="utf-8")
    second.write_text(table({"id": f"{ROW['id']}_again"}, {"isl": "2048"}), encoding="utf-8")
    assert predictions_of([first, second]) == predictions_of([second, first])
