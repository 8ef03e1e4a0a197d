"""Every cell of a grid is what the estimator says of the changed scenario."""

import math

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InvalidScenario
from core.estimator import estimate
from core.planning.explore import RESULTS, explore, explore_grid, family, is_fast, result_of, turned
from core.planning.explore_axes import Axis, axes_for, axis_for, coarse_first
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Words

PAIRS = (
    ("workload.users", "workload.prompt_tokens"),
    ("workload.prompt_tokens", "workload.output_tokens"),
    ("accelerator", "workload.users"),
    ("precision.weights", "workload.prompt_tokens"),
    ("engine.gpu_memory_utilization", "workload.users"),
    ("workload.shared_prefix_tokens", "workload.users"),
    ("deployment.tensor_parallel", "precision.kv_cache"),
    ("engine.max_model_len", "workload.output_tokens"),
    ("engine.gpu_memory_utilization", "engine.max_model_len"),
    ("accelerator.memory_gb_nominal", "engine.max_num_batched_tokens"),
    ("accelerator.memory_gb_nominal", "accelerator.memory_bandwidth_gbps"),
    ("accelerator.memory_bandwidth_gbps", "engine.gpu_memory_utilization"),
    ("workload.prompt_tokens", "accelerator.memory_gb_nominal"),
    ("precision.weights", "engine.max_model_len"),
    ("precision.weights", "accelerator.memory_bandwidth_gbps"),
    ("accelerator.memory_bandwidth_gbps", "accelerator"),
    ("accelerator.memory_bandwidth_gbps", "deployment.accelerators"),
    ("speculative.acceptance", "accelerator.memory_bandwidth_gbps"),
    ("speculative.acceptance", "precision.weights"),
    ("deployment.accelerators", "accelerator"),
    ("precision.kv_cache", "deployment.accelerators"),
    ("workload.output_tokens", "engine.gpu_memory_utilization"),
    ("engine.max_num_batched_tokens", "workload.prompt_tokens"),
    ("engine.max_num_batched_tokens", "engine.gpu_memory_utilization"),
)


LLAMA = {"engine.name": "llamacpp", "engine.version": "b6000", "precision.weights": "gguf_q4_k_m"}


def scenarios(scenario):
    h200 = load_accelerator("H200 SXM 141GB")
    models = ("google/gemma-3-27b-it", "Qwen/Qwen3-Next-80B-A3B-Instruct")
    return {
        "plain": scenario,
        "copies": with_values(scenario, {"deployment.accelerators": 3, "workload.shared_prefix_tokens": 300}),
        "rate": with_values(scenario, {"workload.load": "requests"}),
        "old": with_values(scenario, {"engine.version": "0.6"}),
        "draft": with_values(scenario, {"speculative.kind": "ngram"}),
        "transformers": with_values(scenario, {"engine.name": "transformers", "engine.version": "4.50"}),
        "textbook": with_values(scenario, {"engine.name": "textbook"}),
        "llamacpp": with_values(scenario, LLAMA),
        "offloaded": with_values(scenario, {**LLAMA, "engine.n_gpu_layers": 12}),
        "draft rate": with_values(scenario, {"speculative.kind": "ngram", "workload.load": "requests"}),
        "sglang": with_values(scenario, {"engine.name": "sglang", "engine.version": "0.5"}),
        **{m: Scenario(model=load_model(m), accelerator=h200) for m in models},
    }


NAMES = (
    "plain",
    "copies",
    "rate",
    "old",
    "draft",
    "transformers",
    "textbook",
    "llamacpp",
    "offloaded",
    "draft rate",
    "sglang",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pair", PAIRS, ids=[" ".join(p) for p in PAIRS])
def test_cells_equal_the_estimator(scenario, name, pair):
    base = scenarios(scenario)[name]
    paths = [
        "workload.request_rate" if base.workload.load == "requests" and p == "workload.users" else p
        for p in pair
    ]
    if not set(paths) <= set(axes_for(base)):
        pytest.skip("an input that this engine has not")
    x, y = (axis_for(base, path, 7) for path in paths)
    swap = turned(base, x, y)
    for result in (
        "time_to_first_token",
        "output_throughput",
        "concurrent_users",
        "memory_per_device",
        "throughput_per_price",
    ):
        grid = explore(base, x, y, result)
        assert grid.values.shape == grid.starts.shape == grid.meets.shape == (len(y.values), len(x.values))
        for i, j in {
            (0, 0),
            (len(y.values) - 1, len(x.values) - 1),
            (len(y.values) // 2, len(x.values) // 3),
        }:
            try:
                cell = y.apply(x.apply(base, j), i) if swap else x.apply(y.apply(base, i), j)
            except InvalidScenario:
                cell = None
            if cell is None or any(p.severity == "error" for p in check(cell)):
                assert not grid.starts[i, j]
                continue
            point = estimate(cell)
            assert grid.starts[i, j] == (point.speed is not None)
            assert grid.meets[i, j] == (point.verdict.state == "good")
            expected = result_of(point, result)
            if math.isfinite(expected) and (point.speed is not None or result == "memory_per_device"):
                # Of a load by rate the users in the ledger are a mean, which rounds up to a byte.
                assert grid.values[i, j] == pytest.approx(expected, rel=1e-6)


def test_a_grid_fills_coarse_first_and_the_arrays_stay(scenario):
    x, y = axis_for(scenario, "workload.users", 30), axis_for(scenario, "workload.prompt_tokens", 16)
    pictures = [
        (share, grid, int(np.isfinite(grid.values).any(axis=1).sum()))
        for share, grid in explore_grid(scenario, x, y, "time_to_first_token")
    ]
    assert [share for share, _, _ in pictures] == pytest.approx([(i + 1) / 16 for i in range(16)])
    assert len({id(grid.values) for _, grid, _ in pictures}) == 1
    assert pictures[-1][2] == 16


@pytest.mark.parametrize("count", [1, 2, 7, 16, 200])
def test_rows_come_in_an_order_that_sharpens(count):
    order = coarse_first(count)
    assert sorted(order) == list(range(count))
    gaps = np.diff(sorted(order[: max(2, count // 4)]))
    assert count < 8 or gaps.max() <= 8


def test_the_result_decides_the_unit_and_every_result_has_words(scenario):
    words = Words("en")
    for result in RESULTS:
        assert words.has(f"explore.results.{result}")
        assert result_of(estimate(scenario), result) > 0
    for path in axes_for(scenario):
        axis = axis_for(scenario, path, 5)
        assert words.has(axis.name.key), axis.name.key
        assert len(axis.values) >= 2
        assert str(axis.shown(0)) != str(axis.shown(len(axis.values) - 1))


def test_what_is_quick_is_known(scenario):
    users, gpu = axis_for(scenario, "workload.users"), axis_for(scenario, "accelerator")
    assert is_fast(scenario, users, gpu) and is_fast(scenario, gpu, users)
    assert not is_fast(scenario, gpu, axis_for(scenario, "precision.weights"))
    bandwidth = axis_for(scenario, "accelerator.memory_bandwidth_gbps")
    assert is_fast(scenario, gpu, bandwidth)
    for path in ("engine.max_model_len", "engine.gpu_memory_utilization", "accelerator.memory_gb_nominal"):
        assert is_fast(scenario, axis_for(scenario, path), bandwidth)
        assert turned(scenario, bandwidth, axis_for(scenario, path))


def test_a_prompt_shorter_than_the_common_prefix_refuses_its_column_alone(scenario):
    x, y = (
        axis_for(scenario, "workload.prompt_tokens", 9),
        axis_for(scenario, "workload.shared_prefix_tokens", 5),
    )
    grid = explore(scenario, x, y, "time_to_first_token")
    for row, prefix in enumerate(y.values):
        for column, prompt in enumerate(x.values):
            if prefix >= prompt:
                assert not grid.starts[row, column]
    assert grid.starts[-1].any() and grid.starts[-2].any()


def test_an_input_that_is_none_is_refused(scenario):
    with pytest.raises(InvalidScenario):
        axis_for(scenario, "notes")


def test_an_axis_may_have_one_value(scenario):
    grid = explore(
        scenario, Axis("workload.users", (8,)), Axis("workload.prompt_tokens", (1024,)), "kv_tokens"
    )
    assert grid.values.tolist() == [[estimate(scenario).capacity.kv_tokens]]
    assert family(grid) == (0,)
