"""Times of the simulator and the searches, run explicitly.

    pytest tests/serving/benchmark_simulator.py --benchmark-only

Bars on one core: 10,000 requests of 500 tokens 1 s, a search of the whole catalogue 1 s and its first
rows 200 ms.
"""

import pytest

from core.files import scenario_file
from core.planning.capacity_search import find_capacity
from core.planning.recommend import recommend
from core.planning.what_runs import what_runs
from core.serving.simulator import simulate
from core.spec.change import with_values


@pytest.fixture(params=[0, 1, 2])
def sample(request, samples):
    return scenario_file.load(samples[request.param])


@pytest.mark.parametrize("lengths", ["fixed", "lognormal"])
def test_ten_thousand_requests(benchmark, samples, lengths):
    scenario = with_values(
        scenario_file.load(samples[0]),
        {
            "workload.load": "requests",
            "workload.request_rate": 1.5,
            "workload.output_tokens": 500,
            "simulation.requests": 10_000,
            "simulation.duration_s": 1e6,
            "simulation.prompt_lengths": lengths,
            "simulation.output_lengths": lengths,
        },
    )
    result = benchmark.pedantic(simulate, (scenario,), rounds=3)
    assert result.done == 10_000


@pytest.mark.parametrize("rank", ["price", "speed"])
def test_whole_catalogue(benchmark, sample, rank):
    scenario = with_values(sample, {"search.rank": rank})
    benchmark.pedantic(lambda: list(recommend(scenario)), rounds=3)


def test_first_rows(benchmark, sample):
    benchmark.pedantic(lambda: next(recommend(sample)), rounds=3)


def test_capacity(benchmark, samples):
    scenario = scenario_file.load(samples[0])
    benchmark.pedantic(lambda: list(find_capacity(scenario)), rounds=3)


def test_what_runs(benchmark, samples):
    scenario = scenario_file.load(samples[0])
    benchmark.pedantic(lambda: list(what_runs(scenario)), rounds=3)
