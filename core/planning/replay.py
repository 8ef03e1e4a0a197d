"""A trace as a load of any size: replayed faster or slower, with its lengths and what its requests share."""

from core.errors import InvalidScenario, Problem
from core.serving.results import SimulationResult
from core.serving.simulator import simulate
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario

MOST = 8000  # requests of one replay, the first of the trace
_AT_ONCE = 1e9  # requests a second


def replays(scenario: Scenario, trace: Trace | None) -> bool:
    """Whether the load is a trace; else one may still lend its lengths."""
    return trace is not None and scenario.simulation.arrivals == "trace"


def at_own_rate(scenario: Scenario, trace: Trace | None) -> Scenario:
    """The scenario with the mean rate of what it reads of a trace in place of the form's load.

    Raises InvalidScenario with ``trace.no_rate`` where all requests come at once.
    """
    if trace is None or not replays(scenario, trace):
        return scenario
    rate = trace.first(scenario.simulation.requests or len(trace)).rate
    if not rate:
        raise InvalidScenario(Problem("trace.no_rate", ("simulation.trace",)))
    return with_values(scenario, {"workload.load": "requests", "workload.request_rate": rate})


def replay(scenario: Scenario, trace: Trace, rate: float) -> SimulationResult:
    """Simulate the trace at a mean rate."""
    rows = trace.first(min(scenario.simulation.requests or MOST, MOST))
    if not rows.rate:
        raise InvalidScenario(Problem("trace.no_rate", ("simulation.trace",)))
    return simulate(scenario, rows.at_rate(rate))


def replay_ceiling(scenario: Scenario, trace: Trace) -> float:
    """Requests a second of the trace, refused ones among them, that keep the service full.

    Raises InvalidScenario with ``trace.none_fits`` where all are refused.
    """
    found = replay(scenario, trace, _AT_ONCE)
    if not found.done:
        raise InvalidScenario(Problem("trace.none_fits", ("simulation.trace",)))
    return found.requests_per_second * found.asked / found.done


def with_mean_lengths(scenario: Scenario, trace: Trace | None) -> Scenario:
    """The scenario with the mean of the trace's lengths where they are drawn from it."""
    if trace is None:
        return scenario
    kinds = {"prompt": (scenario.simulation.prompt_lengths, trace.prompt)}
    kinds["output"] = (scenario.simulation.output_lengths, trace.output)
    means = {
        f"workload.{name}_tokens": max(1, round(float(rows.mean())))
        for name, (kind, rows) in kinds.items()
        if kind == "file"
    }
    least = scenario.workload.shared_prefix_tokens + 1
    if "workload.prompt_tokens" in means:
        means["workload.prompt_tokens"] = max(least, means["workload.prompt_tokens"])
    return with_values(scenario, means)
