"""The commands that lay measurements beside the model: validate of any runs, calibrate, diagnose."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# As `vllm bench serve` writes it; figures of an imagined server that is a fifth slower than predicted.
RESULT = {
    "date": "20260401-120000",
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 200,
    "request_rate": "inf",
    "burstiness": 1.0,
    "completed": 200,
}


def result(users, ttft, tpot):
    sizes = {"total_input_tokens": 200 * 1024, "total_output_tokens": 200 * 512, "duration": 100.0}
    return {**RESULT, **sizes, "max_concurrency": users, "mean_ttft_ms": ttft, "mean_tpot_ms": tpot}


@pytest.fixture
def home(tmp_path):
    return {**os.environ, "INFEROMETER_HOME": str(tmp_path / "home")}


def run(home, *arguments):
    command = [sys.executable, "-m", "core", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", env=home)


def estimated(home, sample, users):
    tree = json.loads(Path(sample).read_text(encoding="utf-8"))
    tree["workload"]["users"] = users
    path = Path(home["INFEROMETER_HOME"]).parent / f"u{users}.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    speed = json.loads(run(home, "estimate", path, "--json").stdout)["speed"]
    return (
        1e3 * speed["time_to_first_token_s"]["expected"],
        1e3 * speed["time_per_output_token_s"]["expected"],
    )


@pytest.fixture
def files(home, samples, tmp_path):
    made = []
    for users in (1, 2, 4, 8, 12, 16):
        first, each = estimated(home, samples[0], users)
        path = tmp_path / f"vllm-infqps-concurrency{users}.json"
        path.write_text(json.dumps(result(users, 1.25 * first, 1.25 * each)), encoding="utf-8")
        made.append(path)
    return made


@pytest.mark.slow
def test_runs_are_validated_calibrated_and_used_by_name(home, files, samples, tmp_path):
    done = run(home, "validate", *files, "--scenario", samples[0], "--json")
    assert (done.returncode, done.stderr) == (0, "")
    tree = json.loads(done.stdout)
    assert [r["reason"] for r in tree["runs"]] == [None] * 6 and not tree["problems"]
    each = next(f for f in tree["runs"][3]["figures"] if f["figure"] == "time_per_output_token")
    assert each["predicted"] / each["measured"] == pytest.approx(0.8, abs=0.02)
    assert {a["field"] for a in tree["runs"][0]["assumed"]} >= {"precision.weights", "engine.version"}

    fit = run(home, "calibrate", *files, "--scenario", samples[0], "--name", "lab", "--json")
    assert (fit.returncode, fit.stderr) == (0, "")
    found = json.loads(fit.stdout)
    assert found["refused"] == [] and found["after"] < 0.08 < 0.15 < found["before"]
    assert Path(found["file"]).is_file() and len(found["calibration"]["source"]) == 6

    named = json.loads(samples[0].read_text(encoding="utf-8"))
    named["engine"]["calibration"] = "lab"
    path = tmp_path / "named.json"
    path.write_text(json.dumps(named), encoding="utf-8")
    plain = json.loads(run(home, "estimate", samples[0], "--json").stdout)
    tuned = json.loads(run(home, "estimate", path, "--json").stdout)
    assert (plain["calibration"], tuned["calibration"]) == (None, "lab")
    key = "time_per_output_token_s"
    assert tuned["speed"][key]["expected"] / plain["speed"][key]["expected"] == pytest.approx(1.25, abs=0.08)
    loaded = json.loads(run(home, "diagnose", path, "--tpot", "60", "--json").stdout)
    assert loaded["calibration"] == "lab"
    for answer in (
        ["estimate"],
        ["diagnose", "--tpot", "60"],
        ["simulate", "--requests", "40"],
        ["recommend"],
    ):
        assert '"lab"' in run(home, answer[0], path, *answer[1:]).stdout, answer
    offers = json.loads(run(home, "recommend", path, "--json").stdout)["offers"]
    assert {o["calibration"] for o in offers if o["device"] == "RTX 4090"} == {"lab"}
    assert {o["calibration"] for o in offers if o["device"] == "L40S"} == {None}
    elsewhere = {**home, "INFEROMETER_HOME": str(tmp_path / "empty")}
    lost = json.loads(run(elsewhere, "estimate", path, "--json").stdout)
    assert lost["calibration"] is None and "calibration.missing" in {n["code"] for n in lost["notes"]}


@pytest.mark.slow
@pytest.mark.parametrize("lines", ["", '{"hello": 1}\n'], ids=["empty", "other"])
def test_without_a_prediction_no_file_is_replaced(home, tmp_path, lines):
    given, out, page = tmp_path / "given.jsonl", tmp_path / "out.jsonl", tmp_path / "page.md"
    given.write_text(lines, encoding="utf-8")
    for kept in (out, page):
        kept.write_text("kept", encoding="utf-8")
    for options in (("--out", out), ("--page", page), ("--out", out, "--page", page)):
        done = run(home, "validate", given, *options)
        assert done.returncode == 2 and not done.stdout
        assert "no records of measurements" in done.stderr
    assert out.read_text() == page.read_text() == "kept"


def test_a_refusal_says_why_and_what_to_measure(home, files, samples):
    done = run(home, "calibrate", files[0], "--scenario", samples[0], "--name", "few")
    assert done.returncode == 2 and "One run is too few" in done.stderr
    assert done.stdout.count(" at once, prompts of ") == 3
    chinese = run(home, "calibrate", files[0], "--scenario", samples[0], "--name", "few", "--lang", "zh_CN")
    assert "至少需要三次" in chinese.stderr
    tree = run(home, "calibrate", files[0], "--scenario", samples[0], "--name", "few", "--json")
    assert tree.returncode == 2 and json.loads(tree.stdout)["refused"] and "too few" in tree.stderr
    assert not (Path(home["INFEROMETER_HOME"]) / "data" / "calibrations").exists()


def test_wrong_names_and_factors_are_sentences(home, samples, tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result(8, 500.0, 25.0)), encoding="utf-8")
    for arguments in (["--name", " "], ["--name", "x", "--factors", "luck"]):
        done = run(home, "calibrate", path, *arguments)
        assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = run(home, "validate", tmp_path / "gone.json")
    assert done.returncode == 2 and "gone.json" in done.stderr


def test_diagnose_places_and_names_causes(home, samples, tmp_path):
    done = run(home, "diagnose", samples[0], "--tpot", "60", "--ttft", "2000")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("Bound", "Estimate", "60.0 ms", "much longer than estimated", "Check:"):
        assert word in done.stdout, word
    tree = json.loads(run(home, "diagnose", samples[0], "--tpot", "60", "--json").stdout)
    assert tree["figures"][0]["state"] == "much_worse" and tree["suspects"]
    assert tree["figures"][0]["bound"] < tree["figures"][0]["estimate"]["low"]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result(8, 500.0, 25.0)), encoding="utf-8")
    loaded = json.loads(run(home, "diagnose", samples[0], "--run", path, "--json").stdout)
    assert {f["figure"]: f["observed"] for f in loaded["figures"]}["time_per_output_token"] == 0.025
    nothing = run(home, "diagnose", samples[0])
    assert nothing.returncode == 2 and "at least one observation" in nothing.stderr
    chinese = run(home, "diagnose", samples[0], "--tpot", "60", "--lang", "zh_CN").stdout
    assert "物理极限" in chinese and "对策" in chinese


def test_a_run_is_diagnosed_with_its_own_load_as_in_the_window(home, samples, tmp_path):
    """The first sample has 8 users, the run 128, under which its time a token is as estimated."""
    from core.estimator import estimate
    from core.files import scenario_file
    from core.spec.change import with_values

    base = scenario_file.load(samples[0])
    own = {"workload.users": 128, "workload.prompt_tokens": 1024, "workload.output_tokens": 512}
    tpot = estimate(with_values(base, own)).speed.time_per_output_token.expected
    assert tpot > estimate(base).speed.time_per_output_token.high
    tree = {"backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "completed": 200}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({**result(128, 0.0, tpot * 1e3), **tree}), encoding="utf-8")
    found = json.loads(run(home, "diagnose", samples[0], "--run", path, "--json").stdout)
    (figure,) = [f for f in found["figures"] if f["figure"] == "time_per_output_token"]
    assert figure["state"] == "as_estimated"
    told = run(home, "diagnose", samples[0], "--run", path).stdout
    assert "Against the settings of r.json" in told
