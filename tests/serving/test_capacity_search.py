"""The largest load: against the steady state, and against what bisection must keep to."""

import json

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.cli import main
from core.planning import capacity_search
from core.planning.capacity_search import (
    ceiling,
    find_capacity,
    find_replicas,
    latency_curve,
    trial,
    trial_requests,
)
from core.spec.change import with_values
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.spec.workload import Targets, Workload


def last(states):
    state = None
    for state in states:  # noqa: B007
        pass
    return state


def service(**changes):
    base = Scenario(
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("L40S"),
        engine=Engine(max_model_len=8192),
        workload=Workload(load="requests", prompt_tokens=1024, output_tokens=128),
        targets=Targets(time_to_first_token_s=1.0, time_per_output_token_ms=60.0),
    )
    return with_values(base, {path.replace("__", "."): value for path, value in changes.items()})


def test_the_largest_rate_meets_the_targets_and_a_little_more_does_not():
    scenario = service()
    found = last(find_capacity(scenario))
    assert found.by == "requests"
    assert 0 < found.most.low <= found.most.expected <= found.most.high
    assert found.most.expected < 1.05 * ceiling(scenario)
    count = trial_requests(scenario.simulation.percentile)
    assert trial(scenario, found.most.expected, count).meets
    assert not trial(scenario, 1.1 * found.most.expected, count).meets


def test_a_rate_that_meets_the_targets_at_once_is_not_the_end(monkeypatch):
    # Where the guess is far too low the search climbs until a rate fails.
    scenario = service()
    usual = last(find_capacity(scenario, 600)).most.expected
    monkeypatch.setattr(capacity_search, "_guess", lambda _: 0.1 * usual)
    found = last(find_capacity(scenario, 600))
    assert any(not t.meets for t in found.trials)
    assert found.most.expected == pytest.approx(usual, rel=0.03)


def test_the_largest_number_of_users_is_exact():
    scenario = service(workload__load="users")
    found = last(find_capacity(scenario))
    most = round(found.most.expected)
    count = trial_requests(scenario.simulation.percentile)
    assert trial(scenario, most, count).meets
    beyond = min(t.load for t in found.trials if not t.meets)
    assert beyond - most <= max(1.0, 0.01 * most)


def test_harder_targets_carry_less():
    easy = last(find_capacity(service()))
    hard = last(find_capacity(service(targets__time_per_output_token_ms=40.0)))
    assert hard.most.expected < easy.most.expected
    assert hard.limit == "per_token"


def test_a_higher_percentile_carries_no_more():
    half = last(find_capacity(service(simulation__percentile=0.5), 1500))
    most = last(find_capacity(service(simulation__percentile=0.99), 1500))
    assert most.most.expected <= half.most.expected


def test_what_no_load_meets_is_said_as_nothing():
    found = last(find_capacity(service(targets__time_per_output_token_ms=1.0)))
    assert found.most.expected == 0.0
    assert found.limit == "per_token"


def test_as_many_copies_as_the_rate_needs():
    single = last(find_capacity(service())).most.expected
    found = last(find_replicas(service(workload__request_rate=3.5 * single)))
    # Requests that go to copies in turn come more evenly to each: three may do for three and a half.
    assert found.replicas in (3, 4)
    assert found.accelerators == found.replicas
    assert found.trial.meets


def test_the_knee_lies_below_the_ceiling():
    curve = last(latency_curve(service(), 600))
    loads = [t.load for t in curve.trials]
    assert loads == sorted(loads)
    assert 0.4 * ceiling(service()) < loads[curve.knee] < ceiling(service())
    ends = [t.end_to_end for t in curve.trials]
    assert ends[-1] > 1.5 * ends[0]


def test_the_command(samples, capsys):
    assert main(["capacity", str(samples[0])]) == 0
    assert "users" in capsys.readouterr().out
    assert main(["capacity", str(samples[0]), "--rate", "3", "--curve", "--percentile", "90", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["by"] == "requests"
    assert tree["percentile"] == 0.9
    assert tree["replicas"]["replicas"] >= 2
    assert tree["curve"]["knee"] >= 0


def test_settings_that_cannot_be_are_refused(samples, capsys):
    assert main(["capacity", str(samples[0]), "--percentile", "140"]) == 2
    assert main(["simulate", str(samples[0]), "--rate", "-1"]) == 2
    assert main(["simulate", str(samples[0]), "--users", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    capsys.readouterr()
    assert main(["simulate", str(samples[0]), "--users", "4", "--rate", "0.5"]) == 2
    assert "--rate" in capsys.readouterr().err


def test_why_fewer_copies_do_is_said(samples, capsys):
    """Twelve copies carry more than twelve times what one carries: each is given requests in turn."""
    assert main(["capacity", str(samples[0]), "--rate", "20"]) == 0
    said = capsys.readouterr().out
    assert "12 copies carry" in said and "more evenly" in said and "1.67" in said
