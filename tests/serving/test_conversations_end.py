"""A conversation has as many turns as are set, also where what was said no longer fits."""

import pytest

from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.scenario import Scenario


@pytest.mark.parametrize("prompt", [256, 3000])  # the second exceeds the maximum length at its third turn
def test_requests_come_at_the_rate_that_is_set(scenario: Scenario, prompt: int) -> None:
    turns, rate, duration = 6, 0.1, 40_000.0
    result = simulate(
        with_values(
            scenario,
            {
                "engine.max_model_len": 8192,
                "workload.load": "requests",
                "workload.request_rate": rate,
                "workload.prompt_tokens": prompt,
                "workload.output_tokens": 64,
                "simulation.turns": turns,
                "simulation.duration_s": duration,
            },
        )
    )
    # Conversations come as a Poisson stream of rate / turns: four standard deviations.
    expected = rate * duration
    assert abs(result.asked - expected) <= 4.0 * turns * (expected / turns) ** 0.5
    assert result.done + result.refused == result.asked
