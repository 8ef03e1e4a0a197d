"""The command line: what it prints, its exit status, and that it never shows a traceback."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core import cli, console
from core.estimator import estimate
from core.files import user_folders
from core.files.opening import open_document
from core.importers.recognise import apply_import, recognise
from core.reports.as_text import estimate_text
from core.units import show_tokens
from core.words import Words

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "core", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)


def test_estimate_as_text(samples: list[Path]) -> None:
    for sample in samples:
        done = run("estimate", str(sample))
        assert (done.returncode, done.stderr) == (0, "")
        for word in ("Memory of one device", "Weights", "KV cache", "Capacity", "Time to first token"):
            assert word in done.stdout, word
        assert "nan" not in done.stdout.split()


def test_a_model_may_be_named_where_a_file_is_asked_for() -> None:
    done = run("estimate", "qwen3:30b-a3b-q4_K_M", "--json")
    assert done.returncode == 0, done.stderr
    scenario = open_document(Path("qwen3:30b-a3b-q4_K_M")).scenario
    assert scenario.model.name == "Qwen3-30B-A3B"
    assert (scenario.precision.weights, scenario.engine.name) == ("gguf_q4_k_m", "llamacpp")
    assert open_document(Path("Qwen/Qwen3-32B-AWQ")).scenario.precision.weights == "awq_g128"


@pytest.mark.parametrize(
    "missing", ["Qwen3-32B.json", "core/Qwen3-32B", "/x/Qwen3-32B", "a/b/Qwen3-32B", "nosuch"]
)
def test_a_file_that_is_not_there_is_not_taken_for_a_name(missing: str) -> None:
    done = run("estimate", missing)
    assert done.returncode == 2
    assert done.stderr.startswith(f"There is no file {missing}")


def test_the_steps_say_what_they_hold(samples: list[Path]) -> None:
    """A step of prompts alone, and one of as many requests as decode on average, are not the derivation's."""
    scenario = open_document(samples[1]).scenario
    point = estimate(scenario)
    assert point.speed is not None
    told = estimate_text(point, Words("en"))
    decoding = re.search(r"Decode: one step of ([\d.]+) requests takes ([\d.]+) ms", told)
    assert decoding is not None
    assert float(decoding[1]) == pytest.approx(point.speed.decode.requests, rel=0.005)
    assert float(decoding[2]) == pytest.approx(1e3 * point.speed.decode.seconds, rel=0.005)
    chunk = show_tokens(point.speed.prefill.prompt_tokens)
    assert f"Prefill: one step of {chunk} prompt tokens and nothing else takes" in told


def _numbers(block: str) -> list[tuple[str, float, str]]:
    """Label, number and unit of the lines of a block."""
    found = re.findall(r"^ +(\D+?) {2,}([\d.,]+) +(\S+)", block, re.MULTILINE)
    return [(label.strip(), float(number.replace(",", "")), unit) for label, number, unit in found]


def test_the_memory_adds_up_to_the_hundredth_it_is_told_in(samples: list[Path]) -> None:
    """As the window's account does; shares are of the budget."""
    for sample in samples:
        text = run("estimate", str(sample)).stdout
        lines, totals = text.partition("Memory of one device")[2].partition("Speed")[0].split("─\n")
        held = {label: number for label, number, _ in _numbers(lines)}
        sums = {label: number for label, number, _ in _numbers(totals)}
        assert sum(held.values()) == pytest.approx(sums["Budget of the engine"], abs=1e-6)
        outside = sums["Outside the budget"]
        assert sums["Device"] == pytest.approx(sums["Budget of the engine"] + outside, abs=1e-6)
        assert sums["Needed"] == pytest.approx(sum(held.values()) - held["KV cache, spare"], abs=1e-6)
        shares = [int(share) for share in re.findall(r"(\d+) %", lines)]
        assert sum(shares) == pytest.approx(100, abs=len(shares) / 2)


def test_the_parts_of_the_first_token_add_up(samples: list[Path]) -> None:
    scale = {"ms": 1e-3, "s": 1.0}
    for sample in samples:
        block = run("estimate", str(sample)).stdout.partition("Speed")[2].partition("Time per output")[0]
        (_, whole, unit), *parts = _numbers(block)
        assert len(parts) >= 2
        total = sum(number * scale[u] for _, number, u in parts)
        assert total == pytest.approx(whole * scale[unit], rel=0.01)  # three digits each


def test_estimate_as_json(samples: list[Path]) -> None:
    done = run("estimate", str(samples[0]), "--json")
    tree = json.loads(done.stdout)
    assert (tree["format"], tree["schema"]) == ("inferometer-estimate", 1)
    parts = "format schema scenario verdict memory capacity speed cost calibration notes"
    assert set(tree) == set(parts.split())
    cost = tree["cost"]
    tokens = tree["speed"]["output_tokens_per_s"]["expected"]
    assert cost["energy_j_per_token"]["expected"] == pytest.approx(cost["power_w"] / tokens)
    memory = tree["memory"]
    assert memory["fits"]
    assert sum(line["bytes"] for line in memory["lines"]) == memory["device_bytes"]
    for key in ("time_to_first_token_s", "time_per_output_token_s", "output_tokens_per_s", "requests_per_s"):
        value = tree["speed"][key]
        assert value["low"] <= value["expected"] <= value["high"]
    assert tree["verdict"]["state"] in ("good", "warn", "bad")
    assert run("estimate", str(samples[0]), "--json").stdout == done.stdout


def test_the_scenario_inside_the_json_is_the_file_s(samples: list[Path]) -> None:
    tree = json.loads(run("estimate", str(samples[0]), "--json").stdout)
    stored = json.loads(samples[0].read_text(encoding="utf-8"))
    assert {"format": stored["format"], "schema": stored["schema"], **tree["scenario"]} == stored


@pytest.mark.parametrize(
    ("query", "first"),
    [("qwen3 32b", "Qwen3-32B"), ("dsv3", "DeepSeek-V3"), ("llama 3.1 8b", "Llama-3.1-8B-Instruct")],
)
def test_models_are_found(query: str, first: str) -> None:
    lines = run("models", query).stdout.splitlines()
    assert lines[1].split("  ")[0] == first
    found = json.loads(run("models", *query.split(), "--json").stdout)
    assert found[0]["name"] == first


def test_formats_are_listed_by_their_names() -> None:
    assert "FP8 block 128" in run("models", "dsv3").stdout
    assert "fp8_block" not in run("models", "deepseek").stdout


def test_each_command_gives_examples_of_its_own() -> None:
    assert "4090" not in run("models", "--help").stdout
    assert "qwen" not in run("accelerators", "--help").stdout


def test_accelerators_are_found() -> None:
    assert run("accelerators", "4090").stdout.splitlines()[1].startswith("RTX 4090")
    assert len(json.loads(run("accelerators", "--json").stdout)) == 167


@pytest.mark.parametrize(
    "arguments",
    [
        ("estimate", "absent.json"),
        ("estimate", "."),
        ("estimate", "pyproject.toml"),
        ("models", "no such model at all zzz"),
        ("accelerators", "no such device at all zzz"),
        ("estimate",),
        ("estimate", "--unknown", "x"),
        ("models", "--lang", "tlh"),
        ("dance",),
        (),
    ],
)
def test_bad_input_is_status_2_with_a_sentence(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert "problems." not in done.stderr


def test_every_problem_has_its_line(samples: list[Path], tmp_path: Path) -> None:
    tree = json.loads(samples[0].read_text(encoding="utf-8"))
    tree["workload"]["users"] = 0
    del tree["model"]["name"]
    path = tmp_path / "two.json"
    path.write_text(json.dumps(tree))
    done = run("estimate", str(path))
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert lines == [
        f"{path}: model.name is missing.",
        f"{path}: workload.users must be at least 1, but is 0.",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in another way there")
def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"'{sys.executable}' -m core models --json | head -c 10"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""


def test_help_is_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(command in said for command in console.COMMANDS)


def test_a_terminal_that_knows_no_unicode(samples: list[Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "core", "estimate", str(samples[0])],
        cwd=ROOT,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_launch_prints_a_command_that_comes_back_as_the_scenario(samples: list[Path]) -> None:
    for sample in samples:
        done = run("launch", str(sample))
        assert (done.returncode, done.stderr) == (0, "")
        scenario = open_document(sample).scenario
        again, _ = apply_import(recognise(done.stdout), scenario)
        assert (again.model, again.precision, again.deployment) == (
            scenario.model,
            scenario.precision,
            scenario.deployment,
        )
        assert again.engine == scenario.engine


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("simulate FILE --rate 0", "--rate must be at least"),
        ("simulate FILE --users 0", "--users must be at least 1, but is 0"),
        ("capacity FILE --percentile 500", "--percentile must be at most 99.9, but is 500"),
        ("report FILE --out x.docx", "x.docx has no ending"),
        (
            "report FILE --out /nowhere/x.html",
            "/nowhere/x.html could not be written: its folder does not exist",
        ),
        ("simulate FILE --trace README.md", "README.md: The trace lacks"),
        ("simulate FILE --users 1e6 --duration 0", "--duration must be at least 0.1"),
    ],
)
def test_what_is_wrong_with_an_option_is_not_said_of_the_file(
    arguments: str, told: str, samples: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    given = [str(samples[0]) if word == "FILE" else word for word in arguments.split()]
    assert cli.main(given) == 2
    said = capfd.readouterr().err
    assert said.startswith(told) and str(samples[0]) not in said


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder that is there and takes no files")
def test_a_folder_that_is_there_is_not_called_missing(
    samples: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["report", str(samples[0]), "--out", "/proc/x.html"]) == 2
    said = capfd.readouterr().err
    assert "could not be written" in said and "does not exist" not in said


def test_there_need_be_no_home(samples: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user has no entry: neither HOME nor a user of that number."""

    def unknown(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("INFEROMETER_HOME", "XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert user_folders.home_folder() == Path(Path.cwd().anchor)
    assert user_folders.data_folder().is_absolute()
    assert cli.main(["estimate", str(samples[0])]) == 0


def test_nothing_asks_for_a_home_that_may_not_be() -> None:
    asking = [
        path.name
        for folder in ("core", "gui")
        for path in (ROOT / folder).rglob("*.py")
        if "Path.home()" in path.read_text(encoding="utf-8")
    ]
    assert asking == ["user_folders.py"]
