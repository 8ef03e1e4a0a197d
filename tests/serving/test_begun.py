"""A run of users is measured once all of them are there, and says so where it ended before."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.cli_progress import Told
from core.estimator import estimate
from core.reports.simulation import detail, headline
from core.serving.begun import begun
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.engine import Engine
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.words import Words


def service(users, **changes):
    base = Scenario(
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("RTX 4090"),
        engine=Engine(max_model_len=16384),
        workload=Workload(prompt_tokens=2048, output_tokens=512, users=users),
    )
    return with_values(base, {path.replace("__", "."): value for path, value in changes.items()})


def said(result, language="en"):
    words = Words(language)
    return words.phrase(headline(result)), words.sentences(words.phrase(part) for part in detail(result))


def test_a_run_that_ends_before_its_users_began_says_so():
    result = simulate(service(10**6, simulation__duration_s=10.0))
    there = begun(result.scenario, result.records)
    assert (there.of, there.last) == (10**6, False)
    assert there.users == result.asked < 100  # nobody had asked twice
    sentence, line = said(result)
    assert "1,000,000" in sentence
    assert "longer" in line or "last" in line
    assert "1,000,000" in said(result, "zh_CN")[0]


def test_the_time_it_asks_for_is_long_enough():
    short = simulate(service(64, simulation__duration_s=10.0))
    there = begun(short.scenario, short.records)
    assert not there.reached
    result = simulate(service(64, simulation__duration_s=2.0 * there.seconds))
    assert begun(result.scenario, result.records).reached
    assert "Too short" not in said(result)[0]


def test_only_what_meets_all_users_is_measured():
    """Twice the ramp is enough for the first token of the steady state, which few users do not see."""
    first = simulate(service(64, simulation__duration_s=10.0))
    scenario = service(64, simulation__duration_s=2.0 * begun(first.scenario, first.records).seconds)
    result = simulate(scenario)
    expected = estimate(scenario).speed.time_to_first_token.expected
    assert result.time_to_first_token.mean == pytest.approx(expected, rel=0.15)
    arrival, start = np.array(result.records.arrival), np.array(result.records.first)
    assert np.mean(start - arrival) < 0.85 * expected  # with those that came while it filled


def test_users_who_think_are_there_too():
    result = simulate(service(32, simulation__duration_s=600.0, simulation__think_time_s=60.0))
    assert result.most_running + result.most_waiting < 32
    assert begun(result.scenario, result.records).reached


def test_a_rate_has_no_users():
    result = simulate(service(1, workload__load="requests", simulation__requests=50))
    assert begun(result.scenario, result.records) is None


def test_one_user_is_there_at_once():
    result = simulate(service(1, simulation__requests=1))
    assert begun(result.scenario, result.records).reached
    assert "Too short" not in said(result)[0]


@pytest.mark.parametrize(("count", "text"), [(1, "1 request,"), (2, "2 requests,")])
def test_one_request_is_no_requests(count, text):
    result = simulate(service(1, simulation__requests=count))
    assert said(result)[1].startswith(text)


def test_a_long_run_says_how_far_it_is(capsys):
    scenario = service(4, simulation__requests=400)
    simulate(scenario, progress=Told(Words("en"), patience=0.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all("% simulated" in line and "of the service" in line for line in lines)
    simulate(scenario, progress=Told(Words("en"), patience=1e6))
    assert capsys.readouterr().err == ""
