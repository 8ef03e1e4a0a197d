"""Times of the core, run explicitly.

    pytest tests/estimator/benchmark_core.py --benchmark-only
    pytest tests/estimator/benchmark_core.py -k peers

Bars on one core: a whole point 1 ms, a curve of 200 points 3 ms, 100,000 points in one call 1 s
(5 µs a point and less).  The second command prints both beside what other programs take for one
estimate once they are loaded: medians over the same kind of question, taken on a machine of this class
with the versions of mid 2026.
"""

import time

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


# Seconds of one estimate in a process that has loaded everything, fastest and slowest case.
PEERS = {
    "AIConfigurator 0.12, cli_estimate (pypi.org/project/aiconfigurator)": (1.0, 2.0),
    "AIConfigurator 0.12, internal session kept": (0.22e-3, 0.27e-3),
    "GenZ (pypi.org/project/genz-llm)": (0.26, 0.52),
    "LLM-Viewer (github.com/hahnyuan/LLM-Viewer)": (0.2e-3, 2e-3),
    "llm-analysis (pypi.org/project/llm-analysis)": (0.4e-3, 0.9e-3),
    "llm-flops, servcalc, vramcalc (PyPI)": (0.08e-3, 0.2e-3),
    "ridgepoint (PyPI), bare roofline in Rust": (16e-6, 60e-6),
}


def fastest(run, repeats):
    """Seconds of the fastest of ``repeats`` runs: what the machine does when nobody else uses it."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times)


def test_beside_peers(capsys):
    one, users = scenario(MODELS[0]), np.array([8.0])
    point = fastest(lambda: closed_loop(prepare(one), users, 1e6), 200)
    many = np.linspace(1, 400, 2000)
    load = fastest(lambda: closed_loop(prepare(one), many, 1e6), 5) / len(many)
    batches, lengths = np.meshgrid(np.arange(1.0, 401), np.geomspace(100, 1e5, 250))
    plan = plan_of(one.model.architecture, one.accelerator, one.deployment, one.precision, one.engine)
    step = fastest(lambda: step_time(plan, batches, lengths), 5) / batches.size
    with capsys.disabled():
        print(f"\none point {1e6 * point:.0f} µs, in a sweep of loads {1e6 * load:.2f} µs,", end=" ")
        print(f"in a sweep of steps {1e6 * step:.2f} µs a point")
        for name, (low, high) in PEERS.items():
            print(
                f"{name}: {1e3 * low:g} to {1e3 * high:g} ms, {low / point:.3g} to {high / point:.3g}", end=""
            )
            print(f" times one point, {low / load:.3g} to {high / load:.3g} times a point of a sweep")
