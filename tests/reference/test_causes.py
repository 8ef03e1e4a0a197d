"""Every listed cause: a run as the program would measure it under that cause, and what is suspected then.

The measured figures scatter by 4 % around what is predicted under the cause, and the run states no more than
a benchmark's file and a monitor beside it do.
"""

import numpy as np
import pytest

from core.estimator import estimate
from core.evidence.causes import likely_causes, slower
from core.evidence.pairing import ledger_rows, pair_runs
from core.evidence.run import Origin, Run, Setting
from core.files import scenario_file
from core.spec.change import with_values

FIGURES = ("time_to_first_token", "time_per_output_token", "output_throughput")
LINES = ("weights", "kv_cache", "kv_cache_tokens")
SCATTER = 0.04


@pytest.fixture(scope="module")
def sample(samples):
    return [scenario_file.load(path) for path in samples]


def of(scenario, changes, seed, monitor=None, *, log=False, scatter=SCATTER, **stated):
    """The run of ``scenario``'s set-up that was measured with ``changes``."""
    changed, work = with_values(scenario, changes), scenario.workload
    speed, random = estimate(changed).speed, np.random.default_rng(seed)
    figures = {
        (name, "mean"): getattr(speed, name).expected * float(np.exp(scatter * random.standard_normal()))
        for name in FIGURES
    }
    figures |= {(name, "mean"): value for name, value in (monitor or {}).items()}
    place = scenario.deployment
    setting = Setting(
        engine=scenario.engine.name,
        engine_version=scenario.engine.version,
        model=scenario.model.name,
        accelerator=scenario.accelerator.name,
        accelerators=place.tensor_parallel,
        tensor_parallel=place.tensor_parallel,
        concurrency=float(work.users),
        input_tokens=float(work.prompt_tokens),
        output_tokens=float(work.output_tokens),
        **stated,
    )
    ledger = {}
    if log:
        asked = Run(Origin("vllm_log"), setting, {}, dict.fromkeys(LINES, 1.0))
        ledger = {row.line: float(row.predicted) for row in ledger_rows(asked, changed) if row.predicted}
    return Run(Origin("vllm_serve"), setting, figures, ledger)


def first_two(scenario, run):
    causes = likely_causes(pair_runs([run], scenario)[0])
    return {cause.key.removesuffix("_in_memory") for cause in causes[:2]}, causes


def long(scenario):
    tokens = min(12_000, scenario.engine.max_model_len - 600)
    return with_values(scenario, {"workload.prompt_tokens": tokens, "workload.users": 8})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
def test_a_cache_of_another_format_is_suspected(sample, number, seed):
    scenario = long(sample[number])
    run = of(scenario, {"precision.kv_cache": "fp8"}, seed, log=True)
    assert "kv_cache_format" in first_two(scenario, run)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
def test_graphs_that_are_off_are_suspected(sample, number, seed):
    scenario = with_values(sample[number], {"workload.users": 2, "workload.prompt_tokens": 512})
    # On one card that is busy with 16 GB of weights they cost 3 %: nobody sees that through 4 %.
    run = of(scenario, {"engine.enforce_eager": True}, seed, scatter=0.005)
    assert "graphs_off" in first_two(scenario, run)[0]


@pytest.mark.parametrize("share", [0.8, 0.95])
@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
def test_another_share_of_the_memory_is_suspected(sample, number, share):
    run = of(sample[number], {"engine.gpu_memory_utilization": share}, 0, log=True)
    keys, causes = first_two(sample[number], run)
    assert "utilization" in keys
    found = next(cause for cause in causes if cause.key == "utilization")
    assert found.changes[0].value == pytest.approx(share)


@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
@pytest.mark.parametrize("key", ["thermal_limit", "power_limit", "clocks"])
def test_a_device_held_back_is_suspected_by_what_the_monitor_says(sample, number, key):
    device = sample[number].accelerator
    monitor = {"core_clock": 0.6e6 * device.boost_mhz}
    monitor |= {"temperature": 90.0} if key == "thermal_limit" else {}
    monitor |= {"power": 0.98 * device.tdp_w} if key == "power_limit" else {}
    run = of(sample[number], {"accelerator": slower(device, 0.6)}, 1, monitor)
    assert key in first_two(sample[number], run)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
@pytest.mark.parametrize("told", [False, True], ids=["", "told"])
def test_drafts_are_suspected(sample, number, seed, told):
    length = {"acceptance_length": 1.9} if told else {}
    run = of(sample[number], {"speculative.kind": "ngram"}, seed, length)
    assert "speculation" in first_two(sample[number], run)[0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(3), ids=["one", "two", "eight"])
def test_hits_of_the_prefix_cache_are_suspected(sample, number, seed):
    length = min(6_000, sample[number].engine.max_model_len - 600)
    scenario = with_values(sample[number], {"workload.prompt_tokens": length})
    run = of(scenario, {"workload.shared_prefix_tokens": int(0.9 * length)}, seed)
    assert "prefix_hits" in first_two(scenario, run)[0]


@pytest.mark.parametrize("link", ["pcie", "pcie_host", "pcie_sockets"])
@pytest.mark.parametrize("number", [1, 2], ids=["two", "eight"])
def test_slower_links_are_suspected(sample, number, link):
    if sample[number].deployment.link == link:
        pytest.skip("its own link")
    run = of(sample[number], {"deployment.link": link}, 0)
    keys, _ = first_two(sample[number], run)
    assert any(key.startswith("link_") for key in keys)


def test_nothing_is_suspected_of_a_run_as_predicted(sample):
    for scenario in sample:
        causes = likely_causes(pair_runs([of(scenario, {}, 0)], scenario)[0])
        assert all(cause.before < 0.2 for cause in causes)
