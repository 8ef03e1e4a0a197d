"""Which point of an exploration is named: not the far edge of a plateau."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.planning.explore import explore
from core.planning.explore_axes import Axis, axis_for
from core.planning.explore_best import ALIKE, best_of

EVERY = np.ones((2, 4), dtype=bool)


def test_of_a_plateau_the_least_load_is_named(scenario):
    x, y = Axis("workload.users", (1, 8, 64, 512)), Axis("workload.prompt_tokens", (1000, 2000))
    values = np.array([[10.0, 99.5, 100.0, 100.2], [5.0, 50.0, 60.0, 70.0]])
    best = best_of(scenario, x, y, values, EVERY, lower=False)
    assert (best.row, best.column, best.alike) == (0, 1, 3)


def test_what_misses_a_target_is_never_named(scenario):
    x, y = Axis("workload.users", (1, 8, 64, 512)), Axis("workload.prompt_tokens", (1000, 2000))
    values = np.array([[10.0, 99.5, 100.0, 100.2], [5.0, 50.0, 60.0, 70.0]])
    meets = EVERY.copy()
    meets[0] = False
    best = best_of(scenario, x, y, values, meets, lower=False)
    assert (best.row, best.column, best.alike) == (1, 3, 1)
    assert best_of(scenario, x, y, values, ~EVERY, lower=False) is None


def test_the_cheaper_of_equal_devices_and_the_wider_of_equal_formats(scenario):
    cheap, dear = load_accelerator("RTX 3090"), load_accelerator("H100 SXM5 80GB")
    assert cheap.price_usd < dear.price_usd
    x = Axis("accelerator", (dear, cheap), ("dear", "cheap"))
    y = Axis("precision.weights", ("awq_g128", "bf16"), ("4 bit", "16 bit"))
    best = best_of(scenario, x, y, np.full((2, 2), 7.0), np.ones((2, 2), dtype=bool), lower=True)
    assert (x.labels[best.column], y.labels[best.row], best.alike) == ("cheap", "16 bit", 4)


def test_among_equals_the_nearest_to_the_scenario(scenario):
    own = scenario.engine.gpu_memory_utilization
    x = Axis("engine.gpu_memory_utilization", (0.5, own - 0.01, 0.98))
    y = Axis("workload.prompt_tokens", (scenario.workload.prompt_tokens,))
    best = best_of(scenario, x, y, np.full((1, 3), 3.0), np.ones((1, 3), dtype=bool), lower=False)
    assert best.column == 1


@pytest.mark.parametrize("result", ["output_throughput", "time_per_output_token", "price"])
def test_the_named_point_is_as_good_as_the_best(scenario, result):
    x, y = axis_for(scenario, "workload.users", 24), axis_for(scenario, "accelerator")
    grid = explore(scenario, x, y, result)
    lower = result != "output_throughput"
    best = best_of(scenario, x, y, grid.values, grid.meets, lower)
    good = grid.values[grid.meets & np.isfinite(grid.values)]
    top = good.min() if lower else good.max()
    named = grid.values[best.row, best.column]
    assert grid.meets[best.row, best.column]
    assert abs(named - top) <= ALIKE * abs(top)


def test_gpus_of_ones_own_choice_stand_beside_the_scenarios(scenario):
    axis = axis_for(scenario, "accelerator", devices=("H200 SXM 141GB", "L4"))
    assert set(axis.labels) == {scenario.accelerator.name, "H200 SXM 141GB", "L4"}
    rates = [d.memory_bandwidth_gbps for d in axis.values]
    assert rates == sorted(rates)
