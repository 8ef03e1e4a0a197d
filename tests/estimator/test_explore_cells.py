"""Cells of grids that are easily taken for others: each is what the estimator says, to the last digits."""

import math

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InvalidScenario
from core.estimator import estimate
from core.planning.explore import Grid, explore, result_of, turned
from core.planning.explore_axes import Axis, axes_for, axis_for
from core.planning.explore_columns import SettingRows
from core.spec.base import field_meta
from core.spec.change import get_value, with_values
from core.spec.checks import check
from core.spec.scenario import Scenario

LLAMA = {"engine.name": "llamacpp", "engine.version": "b6000", "precision.weights": "gguf_q4_k_m"}
ARRIVALS = {"workload.load": "requests", "engine.max_model_len": 100_000}


@pytest.fixture(scope="module")
def base() -> Scenario:
    return Scenario(model=load_model("qwen3-8b"), accelerator=load_accelerator("H100 SXM5 80GB"))


def cell_of(scenario: Scenario, grid: Grid, row: int, column: int) -> Scenario | None:
    """The scenario of a cell; None where it is refused."""
    x, y = grid.x, grid.y
    try:
        if turned(scenario, x, y):
            cell = y.apply(x.apply(scenario, column), row)
        else:
            cell = x.apply(y.apply(scenario, row), column)
    except InvalidScenario:
        return None
    return None if any(p.severity == "error" for p in check(cell)) else cell


def compare(scenario: Scenario, grid: Grid, most: int = 12) -> int:
    """Compare some cells, the same ones every time; how many of them start."""
    shape = grid.values.shape
    picked = np.random.default_rng(7).permutation(shape[0] * shape[1])[:most]
    started = 0
    for row, column in zip(*np.unravel_index(picked, shape), strict=True):
        cell = cell_of(scenario, grid, int(row), int(column))
        value = grid.values[row, column]
        if cell is None:
            assert not grid.starts[row, column] and math.isnan(value)
            continue
        point = estimate(cell)
        assert grid.starts[row, column] == (point.speed is not None)
        if point.speed is None:
            continue
        started += 1
        expected = result_of(point, grid.result)
        assert value == pytest.approx(expected, rel=1e-9), (grid.y.values[row], grid.x.values[column])
    return started


@pytest.mark.parametrize("path", ["workload.users", "workload.prompt_tokens", "precision.weights"])
def test_plain_formulas_know_no_drafts(base, path):
    scenario = with_values(base, {"engine.name": "textbook", "speculative.kind": "ngram"})
    x, y = axis_for(scenario, "speculative.acceptance", 5), axis_for(scenario, path, 3)
    for result in ("output_throughput", "time_per_output_token"):
        assert compare(scenario, explore(scenario, x, y, result), 15)


@pytest.mark.parametrize("load", ["users", "requests"])
@pytest.mark.parametrize(
    "path",
    ["workload.users", "accelerator.memory_bandwidth_gbps", "precision.weights", "workload.prompt_tokens"],
)
def test_only_refused_columns_are_empty(base, load, path):
    """A step with room for fewer tokens than sequences is refused; the others are not."""
    scenario = with_values(base, {"engine.max_num_seqs": 1024, "workload.load": load})
    path = "workload.request_rate" if (path, load) == ("workload.users", "requests") else path
    x, y = axis_for(scenario, "engine.max_num_batched_tokens", 9), axis_for(scenario, path, 4)
    refused = [value < 1024 for value in x.values]
    assert any(refused) and not all(refused)
    for across, down in ((x, y), (y, x)):
        grid = explore(scenario, across, down, "output_throughput")
        starts = grid.starts if across is x else grid.starts.T
        assert not starts[:, refused].any() and starts[:, np.logical_not(refused)].any(axis=0).all()
        assert compare(scenario, grid)


def test_refused_columns_at_the_end(base):
    scenario = with_values(base, {"engine.max_num_seqs": 1024})
    values = tuple(reversed(axis_for(scenario, "engine.max_num_batched_tokens", 9).values))
    grid = explore(
        scenario,
        Axis("engine.max_num_batched_tokens", values),
        axis_for(scenario, "accelerator.memory_bandwidth_gbps", 3),
        "output_throughput",
    )
    assert grid.starts.any()
    assert compare(scenario, grid, 27)


@pytest.mark.parametrize("path", ["workload.users", "workload.prompt_tokens"])
def test_values_that_a_field_does_not_take_leave_the_others(base, path):
    x = Axis(path, (0, 1, 64))
    grid = explore(base, x, axis_for(base, "precision.kv_cache"), "output_throughput")
    assert not grid.starts[:, 0].any() and grid.starts[:, 1:].all()
    assert np.isnan(grid.values[:, 0]).all()


@pytest.mark.parametrize("path", ["precision.kv_cache", "accelerator", "workload.output_tokens"])
@pytest.mark.parametrize("result", ["kv_tokens", "time_to_first_token", "output_throughput"])
def test_a_cache_on_the_host_is_that_of_each_column(path, result):
    """The weights do not fit the first columns' memory; the cache takes none of it."""
    device = load_accelerator("RTX 4090")
    scenario = with_values(
        Scenario(model=load_model("qwen3-32b"), accelerator=device), {**LLAMA, "engine.kv_on_host": True}
    )
    x, y = axis_for(scenario, "accelerator.memory_gb_nominal", 3), axis_for(scenario, path, 3)
    grid = explore(scenario, x, y, result)
    assert not grid.starts.all()
    assert compare(scenario, grid)


@pytest.mark.parametrize("load", ["users", "requests"])
@pytest.mark.parametrize("engine", ["vllm", "llamacpp", "transformers", "textbook"])
def test_devices_by_formats_are_worked_out_side_by_side(base, engine, load):
    own = LLAMA if engine == "llamacpp" else {"engine.name": engine}
    scenario = with_values(base, {**own, "workload.load": load})
    x, y = axis_for(scenario, "accelerator"), axis_for(scenario, "precision.weights")
    for result in ("output_throughput", "time_to_first_token"):
        assert compare(scenario, explore(scenario, x, y, result), 25)


OVERLOADED = (
    ("vllm", "0.21", 4000, 2, 20.0),
    ("vllm", "0.21", 30_000, 8, 5.0),
    ("vllm", "0.21", 60_000, 1, 20.0),
    ("vllm", "0.21", 4000, 64, 50.0),
    ("sglang", "0.5", 8000, 2, 100.0),
    ("trtllm", "1.0", 50_000, 200, 1.0),
    ("vllm", "0.21", 500, 200, 10.0),
)
OVER = (
    ("accelerator.memory_bandwidth_gbps", "workload.output_tokens"),
    ("accelerator.memory_bandwidth_gbps", "accelerator"),
    ("workload.prompt_tokens", "workload.output_tokens"),
    ("workload.prompt_tokens", "workload.request_rate"),
    ("workload.output_tokens", "engine.gpu_memory_utilization"),
)


@pytest.mark.parametrize("pair", OVER, ids=[" ".join(p) for p in OVER])
@pytest.mark.parametrize("case", OVERLOADED, ids=[" ".join(map(str, c)) for c in OVERLOADED])
def test_arrivals_meet_what_the_estimator_says(case, pair):
    """Beyond the ceiling and below it, also where more inside carry less."""
    engine, version, prompt, output, rate = case
    scenario = with_values(
        Scenario(model=load_model("llama-3.1-8b-instruct"), accelerator=load_accelerator("H100 SXM5 80GB")),
        {
            **ARRIVALS,
            "engine.name": engine,
            "engine.version": version,
            "workload.prompt_tokens": prompt,
            "workload.output_tokens": output,
            "workload.request_rate": rate,
        },
    )
    if engine != "vllm" and "engine.gpu_memory_utilization" in pair:
        pytest.skip("an input that this engine has not")
    x, y = (axis_for(scenario, path, 9) for path in pair)
    for result in ("output_throughput", "time_to_first_token", "time_per_output_token"):
        assert compare(scenario, explore(scenario, x, y, result))


@pytest.mark.parametrize("turn", [1, -1])
def test_drafts_over_bandwidths_are_rows_of_one_plan(base, turn):
    """Both inputs are numbers of a point: rows that share a plan are worked out together."""
    scenario = with_values(base, {**ARRIVALS, "speculative.kind": "ngram"})
    paths = ("speculative.acceptance", "accelerator.memory_bandwidth_gbps")
    x, y = (axis_for(scenario, path, 8) for path in paths[::turn])
    rows = SettingRows(x, y.path)
    plans = [rows.row(y.apply(scenario, row), row).service.plan for row in range(2)]
    assert plans[0].base is plans[1].base
    assert all(plan.reading is not None and plan.gained is not None for plan in plans)
    for result in ("output_throughput", "time_to_first_token"):
        assert compare(scenario, explore(scenario, x, y, result), 25)


def test_arrivals_do_not_need_room_for_the_users_of_another_load(base):
    """The plain formulas come up where one request has room, however many users were typed before."""
    points = [
        estimate(
            with_values(
                base,
                {
                    "engine.name": "textbook",
                    **ARRIVALS,
                    "workload.request_rate": 0.01,
                    "workload.users": users,
                },
            )
        )
        for users in (1, 100, 100_000)
    ]
    assert all(point.speed is not None for point in points)
    assert len({(point.ledger, point.verdict) for point in points}) == 1


@pytest.mark.parametrize("load", ["users", "requests"])
@pytest.mark.parametrize("path", ["workload.prompt_tokens", "workload.output_tokens"])
def test_plain_formulas_start_in_a_grid_where_they_start_alone(base, load, path):
    scenario = with_values(
        base,
        {
            "engine.name": "textbook",
            "workload.load": load,
            "workload.users": 60,
            "workload.request_rate": 3.0,
        },
    )
    y = axis_for(scenario, "accelerator.memory_gb_nominal", 7)
    x = axis_for(scenario, path, 7)
    grid = explore(scenario, x, y, "output_throughput")
    assert not grid.starts.all()
    assert compare(scenario, grid, 25)


@pytest.mark.parametrize(
    "changes",
    [
        {"workload.load": "requests", "workload.request_rate": 1e6},
        {"workload.load": "requests", "workload.request_rate": 1e-6},
        {"workload.users": 10**6},
        {"accelerator.memory_bandwidth_gbps": 1e6},
    ],
)
def test_axes_end_where_their_field_does(base, changes):
    scenario = with_values(base, changes)
    path = next(reversed(changes))
    axis = axis_for(scenario, path, 9)
    part, _, name = path.partition(".")
    meta = field_meta(type(getattr(scenario, part)), name)
    assert len(axis.values) > 1
    for index in range(len(axis.values)):
        applied = get_value(axis.apply(scenario, index), path)
        assert meta.maximum is None or applied <= meta.maximum


ROOMS = (
    ("accelerator.memory_gb_nominal", "engine.max_num_batched_tokens"),
    ("workload.prompt_tokens", "workload.shared_prefix_tokens"),
    ("accelerator", "precision.weights"),
)


@pytest.mark.parametrize("engine", ["vllm", "llamacpp", "transformers"])
@pytest.mark.parametrize("load", ["users", "requests"])
@pytest.mark.parametrize("pair", ROOMS, ids=[" ".join(p) for p in ROOMS])
def test_cells_beside_those_in_which_nothing_starts(base, engine, load, pair):
    """What does not start is not asked for its speed; the others are what they would be without it."""
    released = {"vllm": "0.21", "llamacpp": "b6000", "transformers": "4.50"}[engine]
    changes = {"engine.name": engine, "engine.version": released, "workload.load": load}
    changes |= LLAMA if engine == "llamacpp" else {}
    scenario = with_values(base, changes | {"workload.shared_prefix_tokens": 100})
    if not set(pair) <= set(axes_for(scenario)):
        pytest.skip("an input that this engine has not")
    x, y = (axis_for(scenario, path, 12) for path in pair)
    for result in ("output_throughput", "time_to_first_token", "memory_per_device"):
        grid = explore(scenario, x, y, result)
        assert compare(scenario, grid, 30)
        for row, column in np.argwhere(~grid.starts)[::5]:
            cell = cell_of(scenario, grid, row, column)
            needed = (
                np.nan if cell is None or result != "memory_per_device" else result_of(estimate(cell), result)
            )
            assert grid.values[row, column] == pytest.approx(needed, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("turn", [False, True])
def test_a_count_that_the_layout_does_not_divide_shows_no_other_count(base, turn):
    paths = ("deployment.accelerators", "deployment.tensor_parallel")
    x, y = (axis_for(base, path) for path in (reversed(paths) if turn else paths))
    grid = explore(base, x, y, "price")
    counts, degrees = (y, x) if turn else (x, y)
    starts = grid.starts if not turn else grid.starts.T
    for row, degree in enumerate(degrees.values):
        for column, count in enumerate(counts.values):
            assert starts[row, column] == (count % degree == 0)
    assert compare(base, grid, 32)


@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
@pytest.mark.parametrize(
    "pair", [("workload.users", "workload.prompt_tokens"), ("workload.users", "engine.max_model_len")]
)
def test_users_without_a_slot_take_no_memory(base, engine, pair):
    changes = LLAMA | {"engine.name": engine, "engine.version": "b6000" if engine == "llamacpp" else "0.12"}
    scenario = with_values(base, changes | {"engine.n_parallel": 2, "workload.users": 7})
    x, y = (axis_for(scenario, path, 12) for path in pair)
    assert compare(scenario, explore(scenario, x, y, "memory_per_device"), 60)
    two = with_values(scenario, {"workload.users": 2})
    assert estimate(scenario).ledger.needed_bytes == estimate(two).ledger.needed_bytes


@pytest.mark.parametrize("gb", [5.2, 6.0, 8.0, 12.0, 24.0])
def test_plain_formulas_hold_as_many_of_the_arrivals_as_have_room(gb):
    """Nothing is reserved for the longest request: where it has no room, the others still have some."""
    card = Scenario(model=load_model("qwen3-8b"), accelerator=load_accelerator("RTX 4090"))
    work = {"workload.load": "requests", "workload.request_rate": 20.0, "workload.output_tokens": 300}
    scenario = with_values(card, {"engine.name": "textbook", "precision.weights": "int4", **work})
    x, y = Axis("accelerator.memory_gb_nominal", (gb,)), Axis("workload.prompt_tokens", (100,))
    point = estimate(y.apply(x.apply(scenario, 0), 0))
    assert explore(scenario, x, y, "memory_per_device").values[0, 0] == point.ledger.needed_bytes


def test_bytes_of_a_mean_number_of_requests_are_whole():
    """Between two numbers of requests the fraction of a byte is a whole one, as in the ledger."""
    model = load_model("HuggingFaceTB/SmolLM2-135M-Instruct")
    card = Scenario(model=model, accelerator=load_accelerator("RTX 4090"))
    work = {"workload.load": "requests", "workload.request_rate": 3.0, "workload.output_tokens": 300}
    scenario = with_values(card, {**LLAMA, "precision.kv_cache": "q5_0", **work})
    x, y = Axis("workload.prompt_tokens", (450, 610)), Axis("precision.kv_cache", ("q4_0", "q5_1"))
    grid = explore(scenario, x, y, "memory_per_device")
    for row in range(2):
        for column in range(2):
            point = estimate(y.apply(x.apply(scenario, column), row))
            assert grid.values[row, column] == point.ledger.needed_bytes
