"""What a search offers for a scenario that replays a trace is simulated with its requests."""

import json

import numpy as np
import pytest

from core.cli import main
from core.files import scenario_file
from core.planning.recommend import recommend
from core.planning.verify import confirmed, verified_one
from core.reports.recommendation import recommendation_json, recommendation_text
from core.serving.trace import Trace
from core.serving.trace_load import load_changes
from core.spec.change import with_values
from core.words import Words

PROMPTS, OUTPUTS = [1300.0, 40.0, 700.0], [21.0, 220.0, 77.0]


@pytest.fixture
def replaying(samples):
    """Llama 3.1 8B on two devices; the form's own arrivals are of another kind than the trace's."""
    changes = {
        "workload.load": "requests",
        "workload.request_rate": 0.5,
        "simulation.arrivals": "trace",
        "simulation.trace": "requests.csv",
        "simulation.warm_up": 0.0,
        "search.devices": ("RTX 4090", "H100 SXM5 80GB"),
        "search.most_accelerators": 1,
    }
    return with_values(scenario_file.load(samples[0]), changes)


def of_three(count=60):
    return Trace(np.arange(count) * 2.0, np.array(PROMPTS * (count // 3)), np.array(OUTPUTS * (count // 3)))


def last(states):
    *_, state = states
    return state


def test_offers_are_simulated_with_the_requests_of_the_trace(replaying):
    state = last(recommend(replaying, verify=1, trace=of_three()))
    run = state.offers[0].verified
    assert run is not None
    assert set(zip(run.records.prompt, run.records.output, strict=True)) == set(
        zip(PROMPTS, OUTPUTS, strict=True)
    )


def test_without_it_they_are_simulated_with_the_arrivals_of_the_form(replaying):
    run = verified_one(last(recommend(replaying)).offers[0], 30).verified
    work = replaying.workload
    assert not run.scenario.simulation.reads_trace
    assert set(zip(run.records.prompt, run.records.output, strict=True)) == {
        (work.prompt_tokens, work.output_tokens)
    }


@pytest.fixture
def beside(replaying, tmp_path):
    """A scenario's file, and the trace beside it: 60 requests."""
    scenario_file.save(tmp_path / "replay.json", replaying)
    rows = "".join(f"{2 * i},1300,21\n" for i in range(60))
    (tmp_path / "requests.csv").write_text("timestamp,input,output\n" + rows, encoding="utf-8")
    return tmp_path / "replay.json"


def simulated(capsys, *given):
    assert main(["recommend", *map(str, given), "--verify", "1", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["offers"][0]["simulated"]


def test_the_command_reads_the_trace_beside_the_file(beside, capsys):
    assert simulated(capsys, beside)["requests"] == 60


def test_the_command_takes_another_trace(beside, tmp_path, capsys):
    rows = "".join(f"{2 * i},40,9\n" for i in range(50))
    (tmp_path / "other.csv").write_text("timestamp,input,output\n" + rows, encoding="utf-8")
    assert simulated(capsys, beside, "--trace", tmp_path / "other.csv")["requests"] == 50


def test_a_trace_that_is_gone_is_told_and_without_simulations_not_asked_for(beside, tmp_path, capsys):
    (tmp_path / "requests.csv").unlink()
    assert main(["recommend", str(beside), "--verify", "1"]) != 0
    assert "requests.csv" in capsys.readouterr().err
    assert main(["recommend", str(beside), "--verify", "0"]) == 0


def test_a_trace_is_a_load_of_its_own_means():
    found = load_changes(of_three(), arrivals=True)
    assert found["workload.load"] == "requests" and found["workload.request_rate"] == 0.5
    assert found["workload.prompt_tokens"] == round(sum(PROMPTS) / 3)
    assert found["workload.output_tokens"] == round(sum(OUTPUTS) / 3)
    assert found["workload.shared_prefix_tokens"] == 0
    assert "workload.load" not in load_changes(of_three(), arrivals=False)
    at_once = Trace(np.zeros(3), np.array(PROMPTS), np.array(OUTPUTS))
    assert "workload.request_rate" not in load_changes(at_once, arrivals=True)


def test_a_trace_that_is_given_decides_what_is_searched(beside, tmp_path, capsys):
    """A hundred times as many requests a second need more than the cheapest device."""
    rows = "".join(f"{i / 50},1300,210\n" for i in range(500))
    (tmp_path / "busy.csv").write_text("timestamp,input,output\n" + rows, encoding="utf-8")
    assert main(["recommend", str(beside), "--verify", "0", "--json"]) == 0
    calm = json.loads(capsys.readouterr().out)
    assert (
        main(["recommend", str(beside), "--verify", "0", "--json", "--trace", str(tmp_path / "busy.csv")])
        == 0
    )
    busy = json.loads(capsys.readouterr().out)
    assert len(calm["offers"]) == 2 > len(busy["offers"])


def test_what_is_refused_by_a_simulation_is_named(replaying):
    """Requests that come all together are read one after the other: the last one waits far too long."""
    together = Trace(np.zeros(200), np.full(200, 8000.0), np.full(200, 9.0))
    state = last(recommend(replaying, verify=1, trace=together))
    refused = [o for o in state.offers if o.verified is not None]
    assert refused
    said = recommendation_text(state, Words("en"))
    assert (
        "Refused by a simulation" in said
        and refused[0].device.name in said.split("Refused by a simulation")[1]
    )


def test_what_is_passed_over_makes_the_counts_whole(replaying):
    state = last(recommend(replaying))
    told = json.loads(recommendation_json(state, Words("en")))
    failed = sum(f["count"] for f in told["failures"])
    assert told["meeting"] + failed + told["passed_over"] == told["total"] and told["passed_over"] >= 0


def longer(share):
    """A trace of which a share is longer than any context here."""
    count = 300
    prompts = np.where(np.arange(count) < share * count, 10.0**6, 300.0)
    return Trace(np.arange(count) * 2.0, prompts, np.full(count, 21.0))


@pytest.mark.parametrize(("share", "good"), [(0.0, True), (0.03, True), (0.2, False), (1.0, False)])
def test_what_is_refused_counts_as_missing_the_targets(replaying, share, good):
    offer = verified_one(last(recommend(replaying)).offers[0], 300, longer(share))
    assert offer.verified.refused == pytest.approx(300 * share)
    assert confirmed(offer) is good
    state = last(recommend(replaying, verify=1, trace=longer(share)))
    told, text = (make(state, Words("en")) for make in (recommendation_json, recommendation_text))
    simulated = [o["simulated"] for o in json.loads(told)["offers"] if "simulated" in o]
    assert {one["meets"] for one in simulated} == {good}
    assert ("refused as too long" in text) is (share > 0)
    assert text.startswith("Cheapest that meets every target") is good
    assert text.startswith("By estimates") is not good
