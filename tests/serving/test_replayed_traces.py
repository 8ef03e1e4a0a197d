"""The load of a trace: the trace itself, replayed faster or slower; and requests that no load lets in."""

from pathlib import Path

import numpy as np
import pytest

from core.cli import main
from core.errors import InvalidScenario
from core.files import scenario_file
from core.planning.capacity_search import find_capacity, find_replicas, latency_curve, trial
from core.planning.replay import at_own_rate
from core.reports.capacity_found import capacity_text
from core.reports.simulation import detail, headline, simulation_text, so_far
from core.serving.results import SimulationResult
from core.serving.simulator import Progress, Run, simulate
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.simulate import cards

COUNT = 120


def trace_of(rate: float, count: int = COUNT, prompt: float = 600.0, shared: int = 0) -> Trace:
    """Requests at random times."""
    drawn = np.random.default_rng(1)
    arrival = np.cumsum(drawn.exponential(1.0 / rate, count))
    chains = tuple((("same", shared),) for _ in range(count)) if shared else ()
    lengths = np.full(count, prompt), np.rint(drawn.uniform(20, 60, count))
    return Trace(arrival - arrival[0], *lengths, chains)


@pytest.fixture
def traced(scenario: Scenario) -> Scenario:
    """By the form 500 users: what a trace must not be mixed with."""
    changes = {"simulation.arrivals": "trace", "workload.load": "users", "workload.users": 500}
    targets = {"targets.time_to_first_token_s": 3.0, "targets.time_per_output_token_ms": 80.0}
    return with_values(scenario, changes | targets)


def test_a_replay_has_the_rate_that_is_asked_for_and_all_else_of_the_trace() -> None:
    trace = trace_of(0.5, shared=128)
    fast = trace.at_rate(4.0)
    assert fast.rate == pytest.approx(4.0) and len(fast) == COUNT
    assert (fast.prompt == trace.prompt).all() and (fast.output == trace.output).all()
    assert fast.chains == trace.chains
    assert fast.arrival / fast.arrival[-1] == pytest.approx(trace.arrival / trace.arrival[-1])
    assert len(trace.first(30)) == len(trace.first(30).chains) == 30


def test_the_trial_at_the_traces_own_rate_is_the_run_of_the_trace(traced: Scenario) -> None:
    trace = trace_of(0.5)
    run, one = simulate(traced, trace), trial(traced, trace.rate, 2000, trace)
    assert one.time_to_first_token.expected == pytest.approx(run.time_to_first_token.p95.expected)
    assert one.time_per_output_token.expected == pytest.approx(run.time_per_output_token.p95.expected)
    assert at_own_rate(traced, trace).workload.request_rate == pytest.approx(trace.rate)


def test_the_largest_load_of_a_trace_is_a_rate_of_its_own_requests(traced: Scenario) -> None:
    *_, short = find_capacity(traced, trace=trace_of(0.5))
    *_, long = find_capacity(traced, trace=trace_of(0.5, prompt=4000.0))
    assert short.by == long.by == "requests"
    assert short.most.expected > 2.0 * long.most.expected > 0, "prompts of the trace, not of the form"
    trace = trace_of(0.5)
    assert trial(traced, short.most.expected, 0, trace).meets
    assert not trial(traced, 1.3 * short.most.expected, 0, trace).meets
    *_, curve = latency_curve(traced, trace=trace)
    assert 0.3 * short.most.expected < curve.trials[-1].load < 3.0 * short.most.expected
    asked = with_values(traced, {"workload.request_rate": 2.5 * short.most.expected})
    *_, copies = find_replicas(asked, trace=trace)
    assert copies.replicas >= 2 and copies.trial is not None


def test_a_trace_that_never_fills_the_service_says_so(traced: Scenario) -> None:
    *_, found = find_capacity(traced, trace=trace_of(0.5, count=3, prompt=50.0))
    assert found.limit == "trace" and found.most.expected > 0 and len(found.trials) < 10


def test_a_trace_of_one_moment_has_no_load(traced: Scenario) -> None:
    at_once = Trace(np.zeros(5), np.full(5, 100.0), np.full(5, 10.0))
    for work in (lambda: list(find_capacity(traced, trace=at_once)), lambda: at_own_rate(traced, at_once)):
        with pytest.raises(InvalidScenario) as caught:
            work()
        assert caught.value.problems[0].code == "trace.no_rate"
    endless = Trace(np.arange(5.0), np.full(5, 1e8), np.full(5, 10.0))
    with pytest.raises(InvalidScenario) as caught:
        list(find_capacity(traced, trace=endless))
    assert caught.value.problems[0].code == "trace.none_fits"


def test_capacity_on_the_command_line_replays_the_trace_and_says_percentile_and_unit(
    traced: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, file = tmp_path / "s.json", tmp_path / "t.csv"
    scenario_file.save(place, with_values(traced, {"simulation.arrivals": "poisson"}))
    trace = trace_of(0.5)
    rows = zip(trace.arrival, trace.prompt, trace.output, strict=True)
    file.write_text("timestamp,input,output\n" + "".join(f"{t},{p:.0f},{o:.0f}\n" for t, p, o in rows))
    assert main(["capacity", str(place), "--trace", str(file), "--percentile", "90"]) == 0
    said = capsys.readouterr().out
    assert "requests per second meet the targets" in said
    assert "Load, req/s" in said and "First token, p90" in said and "Per token, p90" in said
    assert main(["capacity", str(place), "--trace", str(file), "--lang", "zh_CN"]) == 0
    assert "首 token (p95)" in capsys.readouterr().out


# -- requests that are refused -------------------------------------------------------------------


@pytest.fixture
def partly(traced: Scenario) -> SimulationResult:
    """Seven of twelve are too long, the others are few and come slowly."""
    trace = trace_of(0.05, count=300)
    longest = float(traced.engine.longest_request)
    too_long = np.arange(300) % 12 < 7
    mixed = Trace(trace.arrival, np.where(too_long, longest + 1.0, 200.0), trace.output)
    return simulate(traced, mixed)


def test_refused_requests_are_no_overload(partly: SimulationResult) -> None:
    assert partly.refused == 175 and partly.done == 125 and partly.mean_waiting < 1
    assert partly.stable
    said = headline(partly)
    assert said.key == "simulate.headline.refused"
    assert said.values["refused"] == "175" and said.values["asked"] == "300"
    told = Words("en").phrase(said)
    assert "175 of 300 requests are refused as too long" in told and "verload" not in told
    assert "simulate.detail.refused" in {part.key for part in detail(partly)}


def test_a_search_says_what_no_load_lets_in(traced: Scenario) -> None:
    trace = trace_of(0.5)
    too_long = np.arange(COUNT) < 30
    mixed = Trace(trace.arrival, np.where(too_long, 1e6, 200.0), trace.output)
    *_, found = find_capacity(traced, trace=mixed)
    assert {one.refused for one in found.trials} == {30} and found.most.expected > 0
    assert "30 requests were refused" in capacity_text(found, Words("en"))
    *_, whole = find_capacity(traced, trace=trace)
    assert "refused" not in capacity_text(whole, Words("en"))


def test_requests_that_queue_are_an_overload_all_the_same(traced: Scenario) -> None:
    scenario = with_values(traced, {"engine.max_num_seqs": 2})
    trace = trace_of(20.0, count=400)
    assert not simulate(scenario, trace).stable


# -- shares and counts that are told -------------------------------------------------------------


def test_goodput_stands_beside_its_own_share(samples: list[Path]) -> None:
    """Of the second sample 3 % are in time of what was answered, none of what came after the warm-up."""
    result, words = simulate(scenario_file.load(samples[1])), Words("en")
    assert round(100 * result.good_share) == 3 and result.meeting == 0
    line = next(x for x in simulation_text(result, words).splitlines() if "within the targets" in x)
    assert line.endswith("0.00935 (3 %)")
    told = words.sentences(words.phrase(part) for part in detail(result))
    assert "On target: 0 % of arrivals, 3 % of answers." in told
    card = next(one for one in cards(result, words) if one.key == "goodput")
    assert (card.value, card.target) == ("0.00935", "3 %") and card.high == pytest.approx(result.good_share)


def test_progress_says_of_how_many(traced: Scenario) -> None:
    first = next(Run(traced, trace_of(0.5)).steps(40))
    assert first.whole == COUNT > first.asked
    words = Words("en")
    assert f"{COUNT} come in all" in words.phrase(so_far(first))
    assert "the 12 requests that have come so far" in words.phrase(so_far(Progress(0.4, 3.0, 12, 5)))
    assert next(Run(with_values(traced, {"simulation.requests": 50}), trace_of(0.5)).steps(40)).whole == 50
