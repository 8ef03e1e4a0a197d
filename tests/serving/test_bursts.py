"""Requests that have all come before the first is answered: rated over the whole run."""

import math

import pytest

from core.reports.simulation import simulation_text
from core.serving.results import SimulationResult
from core.serving.simulator import simulate
from core.serving.trace import parse_trace
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words

AT_ONCE = [(0.0, 100, 100)] * 16
ONE = [(5.0, 100, 100)]
SHORT = [(0.00025 * i, 100, 1) for i in range(40)]  # within 10 ms, one token each


def traced(scenario: Scenario, rows: list[tuple[float, int, int]]) -> SimulationResult:
    text = "timestamp,input,output\n" + "".join(f"{t},{i},{o}\n" for t, i, o in rows)
    return simulate(with_values(scenario, {"simulation.arrivals": "trace"}), parse_trace(text.encode()))


@pytest.mark.parametrize("rows", [AT_ONCE, ONE, SHORT], ids=["at once", "one", "short"])
def test_a_burst_is_rated_from_its_first_request_to_its_last_answer(
    scenario: Scenario, rows: list[tuple[float, int, int]]
) -> None:
    found = traced(scenario, rows)
    assert found.done == found.answered == len(rows) and found.stable
    length = max(found.records.finish) - min(found.records.arrival)
    assert found.requests_per_second == pytest.approx(len(rows) / length)
    assert found.output_tokens_per_second == pytest.approx(sum(o for *_, o in rows) / length)
    assert 0 < found.goodput <= found.requests_per_second * (1 + 1e-9)
    assert math.isfinite(found.requests_per_second)


def test_what_is_told_of_a_burst_agrees(scenario: Scenario) -> None:
    told = simulation_text(traced(scenario, SHORT), Words("en"))
    assert "verloaded" not in told
    energy = next(line for line in told.splitlines() if "Energy per output token" in line).split()[-1]
    assert 0 < float(energy) < 100


def test_a_rate_that_is_too_high_stays_overloaded(scenario: Scenario) -> None:
    """Its requests all come before the first answer as well, but it goes on."""
    changes = {"workload.load": "requests", "workload.request_rate": 5000.0, "simulation.requests": 600}
    found = simulate(with_values(scenario, changes))
    assert not found.stable and found.requests_per_second > 0


@pytest.mark.parametrize("span", [0.02, 0.05, 0.1, 0.2, 0.4, 1.0])
def test_no_service_that_answers_manages_nothing(scenario: Scenario, span: float) -> None:
    """Short traces of any length: the rate is near what the whole run answers in all its time."""
    found = traced(scenario, [(span * i / 39, 100, 1) for i in range(40)])
    whole = found.done / max(found.records.finish)
    assert 0.5 * whole < found.requests_per_second < 2.0 * whole
