"""What an engine does not run on is told as what cannot run, and what runs there is offered."""

import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.files import scenario_file
from core.planning.advise import advise, missed_keys
from core.planning.compare import difference_table, headline
from core.planning.explore import explore
from core.planning.explore_axes import Axis
from core.spec.change import with_values
from core.spec.checks import unsupported
from core.spec.support import engines_on, supported_weights

CASES = {
    "device": ("Apple M4 Max (40-core GPU)", {"precision.weights": "awq_g128", "workload.users": 1}),
    "bf16": ("V100 SXM2 32GB", {"precision.weights": "bf16", "workload.users": 1}),
    "fp8": ("V100 SXM2 32GB", {"precision.weights": "fp8", "workload.users": 1}),
    "trtllm": ("A100 SXM4 80GB", {"engine.name": "trtllm", "precision.weights": "fp8"}),
}


@pytest.fixture(params=CASES)
def refused(request, samples):
    name, changes = CASES[request.param]
    scenario = scenario_file.load(samples[0])
    return with_values(scenario, {"accelerator": load_accelerator(name), **changes})


def test_no_verdict_is_good_where_the_engine_does_not_run(refused):
    point = estimate(refused)
    assert point.speed is not None  # its rules would give figures
    assert point.verdict.state == "bad" and "cannot_run" in missed_keys(point)
    assert point.verdict.headline.key.startswith("verdict.cannot_run")


def test_advice_offers_only_what_runs(refused):
    point = estimate(refused)
    found = advise(refused, point)
    assert "what_runs" in {one.key for one in found}
    for one in found:
        assert unsupported(one.estimate.scenario) is None


def test_formats_that_the_device_has_are_near_in_bits(refused):
    key = supported_weights(refused)
    changed = with_values(refused, {"precision.weights": key})
    if unsupported(refused).code != "engine_not_for_device":
        assert unsupported(changed) is None
    assert supported_weights(changed) == key


def test_engines_on_a_device_run_there(refused):
    for name in engines_on(refused, refused.accelerator):
        changed = refused.engine.model_copy(update={"name": name})
        problem = unsupported(refused.model_copy(update={"engine": changed}))
        assert problem is None or problem.code != "engine_not_for_device"


def test_no_cell_meets_targets_where_the_engine_does_not_run(refused):
    users, prompt = Axis("workload.users", (1, 4)), Axis("workload.prompt_tokens", (512, 1024))
    assert not explore(refused, users, prompt, "time_per_output_token").meets.any()
    layers = Axis("deployment.tensor_parallel", (1,))
    assert not explore(refused, users, layers, "time_per_output_token").meets.any()


def test_a_comparison_praises_nothing_that_cannot_run(refused):
    point = estimate(refused)
    assert headline((point,), ("A",)).key == "compare.none_starts"
    rows = difference_table((point, point), only_differences=False)
    assert rows and all(cell.state == "" for row in rows for cell in row.cells)


@pytest.mark.parametrize("users", [4, 16, 64])
def test_an_engine_is_advised_once(samples, users):
    """What runs where MLX does not is tried for that reason, and not again for its batches."""
    given = {"engine.name": "mlx", "engine.version": "", "workload.users": users}
    scenario = with_values(scenario_file.load(samples[0]), given)
    moved = [{c.path: c.value for c in one.changes} for one in advise(scenario, most=100)]
    engines = [changes["engine.name"] for changes in moved if "engine.name" in changes]
    assert "vllm" in engines and engines.count("vllm") == 1
