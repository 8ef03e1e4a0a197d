"""Trying any cause is one step: what it changes stands in the scenario, and one undo takes it back."""

from collections.abc import Callable
from functools import partial

import pytest

from core.estimator import estimate
from core.evidence.causes import slower, what_ifs
from core.evidence.run import Origin, Run, Setting
from core.files import scenario_file
from core.spec.change import get_value
from gui.frame.window import MainWindow

LISTED = {
    *("kv_cache_format", "graphs_off", "utilization", "thermal_limit", "power_limit", "speculation"),
    *("prefix_hits", "link_pcie_host"),
}


@pytest.mark.parametrize("heat", [{"temperature": 90.0}, {"power": 1e4}], ids=["hot", "at its limit"])
def test_each_cause_is_tried_in_one_step_and_taken_back_in_one(
    make_window: Callable[[], MainWindow], samples: list, heat: dict[str, float]
) -> None:
    window = make_window()
    window.show()
    scenario = scenario_file.load(samples[1])
    window.document.replace(scenario, "open")
    page = window.stack.page("validate")
    clock = 0.6e6 * scenario.accelerator.boost_mhz
    figures = {(name, "mean"): value for name, value in {"core_clock": clock, **heat}.items()}
    run = Run(Origin("vllm_serve"), Setting(engine="vllm"), figures, {"kv_cache": 1e10})
    tried = {}
    for what in what_ifs(run, scenario):
        before, steps = window.document.scenario, window.document.undo_stack.index()
        page.causes.put(what.changes, partial(str, what.key), scenario)
        if window.document.scenario == before:
            continue  # as it is already
        tried[what.key] = what
        assert window.document.undo_stack.index() == steps + 1, what.key
        for change in what.changes:
            assert get_value(window.document.scenario, change.path) == change.value, what.key
        window.document.undo()
        assert window.document.scenario == before, what.key
    heated = {"thermal_limit", "power_limit"} & tried.keys()
    assert len(heated) == 1 and LISTED - {"thermal_limit", "power_limit"} <= tried.keys()
    slow = slower(scenario.accelerator, 0.6)
    assert tried[heated.pop()].changes[0].value.peak_tflops == slow.peak_tflops
    assert estimate(scenario).speed is not None
