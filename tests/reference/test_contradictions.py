"""Observations that cannot be true together are named; those of one service never are."""

import pytest

from core.cli import main
from core.estimator import estimate
from core.evidence.contradictions import contradictions, in_flight
from core.evidence.diagnose import diagnose
from core.evidence.readers.detect import read_files
from core.evidence.run import Setting
from core.files import scenario_file
from core.spec.change import with_values
from core.words import Words

GIB = 2**30
LOADS = [
    {"workload.users": users, "workload.prompt_tokens": prompt, "workload.output_tokens": output}
    for users in (1, 8, 64)
    for prompt, output in ((64, 256), (4096, 64))
] + [{"workload.load": "requests", "workload.request_rate": rate} for rate in (0.2, 1.0)]


def keys(found):
    return [phrase.key.rsplit(".", 1)[1] for phrase in found]


@pytest.mark.parametrize("load", LOADS, ids=lambda load: " ".join(map(str, load.values())))
def test_what_the_program_itself_predicts_contradicts_nothing(scenario, load):
    changed = with_values(scenario, load)
    speed = estimate(changed).speed
    names = ("time_to_first_token", "time_per_output_token", "output_throughput")
    observed = {name: getattr(speed, name).expected for name in names} | {"memory_used": 20 * GIB}
    assert contradictions(changed, observed) == ()
    for name in names:
        assert contradictions(changed, {name: observed[name]}) == ()


# One file of each client that states users, times, throughput and lengths.
@pytest.mark.parametrize(
    "name",
    [
        "guidellm_03.csv",
        "guidellm_07.json",
        "llmperf_summary.json",
        "vllm_serve_2026.json",
        "trtllm_bench.txt",
    ],
)
def test_runs_of_clients_have_as_many_in_flight_as_they_say(fixtures, name):
    checked = 0
    for run in read_files([fixtures / name]).runs:
        observed = {
            figure: value
            for figure in ("time_to_first_token", "time_per_output_token", "output_throughput")
            if (value := run.figure(figure)) is not None
        }
        flight = in_flight(observed, int(run.setting.output_tokens or 0))
        if flight is not None and run.setting.concurrency and len(observed) == 3:
            checked += 1
            assert 0.85 * run.setting.concurrency < flight < 1.05 * run.setting.concurrency
    assert checked


@pytest.fixture
def fixtures(request):
    return request.path.parents[1] / "evidence_readers" / "fixtures"


def test_a_throughput_that_fits_no_time_per_token_is_named(scenario):
    """8 users at 20 ms make at most 400 tok/s."""
    observed = {"time_per_output_token": 0.02, "output_throughput": 1000.0}
    found = diagnose(scenario, observed)
    assert keys(found.contradictions) == ["more_in_flight"]
    said = {Words(lang).phrase(found.contradictions[0]) for lang in ("en", "zh_CN")}
    for text in said:
        assert "1,000 tok/s" in text and "TPOT 20.0 ms" in text and " 20" in text and "{" not in text
    assert any("相互矛盾" in text and "8 个用户" in text for text in said)
    assert contradictions(scenario, {**observed, "output_throughput": 390.0}) == ()


def test_a_throughput_that_fits_no_first_token_is_named(scenario):
    """512 tokens each from 8 users who wait for 10 s before any: 410 tok/s at most."""
    observed = {"time_to_first_token": 10.0, "output_throughput": 1000.0}
    assert keys(contradictions(scenario, observed)) == ["more_in_flight"]


def test_fewer_in_flight_than_the_load_are_named_only_where_both_times_are_known(scenario):
    observed = {"time_per_output_token": 0.02, "output_throughput": 50.0}
    assert contradictions(scenario, observed) == ()  # they may all wait for the first token
    both = {**observed, "time_to_first_token": 0.2}
    (found,) = contradictions(scenario, both)
    assert keys([found]) == ["fewer_in_flight"] and found.values["flight"] == "1.02"


def test_a_throughput_beside_its_arrival_rate(scenario):
    """One request a second of 512 tokens."""
    open_ = with_values(scenario, {"workload.load": "requests", "workload.request_rate": 1.0})
    for rate, key in ((900.0, ["more_than_asked"]), (500.0, []), (300.0, ["falls_behind"])):
        assert keys(contradictions(open_, {"output_throughput": rate})) == key


def test_more_memory_than_a_device_has_is_named(scenario):
    assert keys(contradictions(scenario, {"memory_used": 30.0 * GIB})) == ["memory"]
    assert contradictions(scenario, {"memory_used": 23.9 * GIB}) == ()


def test_a_run_without_a_load_says_which_is_assumed(scenario):
    first = {"time_to_first_token": 0.5}
    (found,) = contradictions(scenario, first, Setting())
    assert keys([found]) == ["load_assumed"]
    assert "8 users" in Words("en").phrase(found) and "8 个用户" in Words("zh_CN").phrase(found)
    assert contradictions(scenario, first, Setting(concurrency=4.0)) == ()
    assert contradictions(scenario, first, Setting(request_rate=4.0)) == ()
    assert contradictions(scenario, {"time_per_output_token": 0.02}, Setting()) == ()
    assert contradictions(scenario, first) == ()  # typed in: against the scenario, whose load is its own


def test_the_command_tells_contradictions_first(scenario, tmp_path, capsys):
    file = tmp_path / "s.json"
    scenario_file.save(file, scenario)
    asked = ["diagnose", str(file), "--tpot", "20", "--throughput", "1000"]
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert out.index("Contradictory: 1,000 tok/s") < out.index("Output throughput: ")
    assert main([*asked, "--json"]) == 0
    assert '"diagnose.contradicts.more_in_flight"' in capsys.readouterr().out
