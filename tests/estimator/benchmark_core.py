"""Times of the core, run explicitly.

    pytest tests/estimator/benchmark_core.py --benchmark-only

Bars on one core: a whole point 1 ms, a curve of 200 points 3 ms, 100,000 points in one call 1 s.
"""

import numpy as np
import pytest

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import load_model
from core.latency.step import plan_of, step_time
from core.serving.steady_state import closed_loop, open_loop, phases, prepare
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

MODELS = ["meta-llama/Llama-3.1-8B-Instruct", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3"]


def scenario(model):
    return Scenario(
        model=load_model(model),
        accelerator=load_accelerator("H100 SXM5 80GB"),
        deployment=Deployment(accelerators=8, tensor_parallel=8),
        precision=Precision(weights="fp8"),
        workload=Workload(prompt_tokens=4096, output_tokens=512),
    )


@pytest.mark.parametrize("model", MODELS)
def test_point(benchmark, model):
    one, users = scenario(model), np.array([8.0])

    def point():
        service = prepare(one)
        curve = closed_loop(service, users, 1e6)
        return phases(service, float(curve.running[1, 0]))

    benchmark(point)


@pytest.mark.parametrize("model", MODELS)
def test_open_point(benchmark, model):
    one, rate = scenario(model), np.array([2.0])
    benchmark(lambda: open_loop(prepare(one), rate, 1e6))


@pytest.mark.parametrize("model", MODELS)
def test_curve_of_200(benchmark, model):
    service, users = prepare(scenario(model)), np.linspace(1, 400, 200)
    benchmark(closed_loop, service, users, 1e6)


@pytest.mark.parametrize("model", MODELS)
def test_100_000_points(benchmark, model):
    """167 devices x 25 batches x 24 lengths."""
    devices = all_accelerators()
    batches, lengths = np.meshgrid(np.arange(1.0, 26), np.geomspace(100, 1e5, 24))
    plan = plan_of(load_model(model).architecture, devices, Deployment(), Precision(), Engine())
    result = benchmark(step_time, plan, batches, lengths)
    assert result[0].size >= 100_000


@pytest.mark.parametrize("model", MODELS)
def test_cold_plan(benchmark, model):
    """A model and a device never seen before."""

    def fresh():
        one = scenario(model)
        device = one.accelerator.model_copy()
        return ((one.model.architecture, device, one.deployment, one.precision, one.engine), {})

    benchmark.pedantic(plan_of, setup=fresh, rounds=50)
