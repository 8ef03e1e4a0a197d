"""Files and pastes as people have them: encodings, ends of lines, prompts, noise, broken parts."""

import json
from pathlib import Path

import pytest

from core.evidence.readers.common import lines, number
from core.evidence.readers.decoding import decoded
from core.evidence.readers.detect import read_files, read_text
from core.evidence.readers.objects import objects
from core.words import Words

FIXTURES = Path(__file__).parent / "fixtures"
TEXTS = sorted(path for path in FIXTURES.iterdir())


def seen(reading):
    return [(run.origin.line, run.setting, run.figures) for run in reading.runs]


def codes(reading):
    return [p.code.removeprefix("reading.") for p in reading.problems]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
@pytest.mark.parametrize(
    "encode",
    [
        lambda t: t.encode("utf-8-sig"),
        lambda t: t.encode("utf-16"),
        lambda t: t.encode("utf-16-le"),
        lambda t: t.encode("utf-16-be"),
        lambda t: t.replace("\r\n", "\n").replace("\n", "\r\n").encode(),
        lambda t: t.replace("\r\n", "\n").replace("\n", "\r").encode(),
        lambda t: t.replace("a", "a\0\x07\x08").encode(),
        lambda t: t.replace("\n", "\n\x1b[32m").replace(":", "\x1b[0m:").encode(),
    ],
    ids=["mark", "utf-16", "utf-16-le", "utf-16-be", "crlf", "cr", "control", "colours"],
)
def test_encodings_say_the_same(path: Path, encode) -> None:
    plain = read_text(path.read_bytes(), path.name)
    other = read_text(encode(path.read_bytes().decode()), path.name)
    assert seen(other) == seen(plain)
    assert codes(other) == codes(plain)


def test_other_bytes_are_told() -> None:
    data = (FIXTURES / "llama_bench.md").read_bytes().replace("±".encode(), "±".encode("latin-1"))
    reading = read_text(data, "x.md")
    assert len(reading.runs) == 7
    assert reading.runs[0].figures["prompt_throughput", "std"] == 23.45
    assert codes(reading)[0] == "encoding"
    assert reading.problems[0].values["line"] == 6 and reading.problems[0].severity == "note"


def test_progress_bars_are_parts_of_their_line() -> None:
    text, _ = decoded(b"a\r\n 0%|  |\r 50%|# |\r100%|##|done\r\nb", "x")
    assert list(lines(text)) == [(1, "a"), (2, " 0%|  |"), (2, " 50%|# |"), (2, "100%|##|done"), (3, "b")]


def test_a_result_behind_a_progress_bar_is_read() -> None:
    reading = read_text("bench: 10%\rbench: 100%\rAvg latency: 0.5 seconds\nStd latency: 0.1 seconds", "x")
    assert reading.runs[0].figures == {("end_to_end", "mean"): 0.5, ("end_to_end", "std"): 0.1}


def test_several_tools_in_one_paste() -> None:
    names = ("sglang_serving_console.txt", "llama_bench.md", "ollama_verbose.txt", "vllm_serve_2026.json")
    text = "\n$ next\n".join((FIXTURES / name).read_text(encoding="utf-8") for name in names)
    reading = read_text(f"user@host:~$ cat all\n{text}\nuser@host:~$ ", "paste")
    tools = [run.origin.tool for run in reading.runs]
    assert tools == ["sglang_serving"] * 2 + ["llama_bench"] * 7 + ["ollama"] * 2 + ["vllm_serve"]
    apart = [run for name in names for run in read_files([FIXTURES / name]).runs]
    assert [run.figures for run in reading.runs] == [run.figures for run in apart]
    found = [run.origin.line for run in reading.runs]
    assert found == sorted(found)


def test_several_files_keep_their_names_and_order(tmp_path: Path) -> None:
    missing = tmp_path / "gone.json"
    reading = read_files([FIXTURES / "ollama_api.json", missing, tmp_path, FIXTURES / "vllm_latency.json"])
    assert [run.origin.file for run in reading.runs] == ["ollama_api.json", "vllm_latency.json"]
    assert codes(reading) == ["not_opened", "not_a_file"]
    assert [p.values["file"] for p in reading.problems] == ["gone.json", tmp_path.name]
    assert all(Words("en").problem(p) and "{" not in Words("zh_CN").problem(p) for p in reading.problems)


def test_a_file_that_is_cut_off_keeps_what_is_whole() -> None:
    text = (FIXTURES / "llama_bench.json").read_text(encoding="utf-8")
    reading = read_text(text[: int(len(text) * 0.8)], "cut.json")
    assert [run.label for run in reading.runs] == ["pp512"]
    assert codes(reading) == ["cut_off"]
    assert reading.problems[0].values["line"] == 60  # where the broken one begins


def test_half_a_json_is_told_with_its_line() -> None:
    whole = (FIXTURES / "vllm_serve_2025.json").read_text(encoding="utf-8")
    for part in (0.3, 0.6, 0.99):
        reading = read_text(whole[: int(len(whole) * part)], "half.json")
        assert not reading.runs and codes(reading) == ["cut_off"]
        assert reading.problems[0].values["line"] == 1
    wrong = read_text(whole.replace('"burstiness": 1.0', '"burstiness" 1.0'), "wrong.json")
    assert codes(wrong) == ["not_json"]
    assert wrong.problems[0].values["line"] == whole[: whole.index('"burstiness"')].count("\n") + 1


def test_a_broken_line_between_good_ones() -> None:
    first, second = (FIXTURES / "sglang_one_batch.jsonl").read_text(encoding="utf-8").splitlines()
    reading = read_text("\n".join((first, second[:100], "log", second)), "x.jsonl")
    assert [run.origin.line for run in reading.runs] == [1, 4]
    assert [(p.code, p.values["line"]) for p in reading.problems] == [("reading.cut_off", 2)]


def test_lines_of_lists_are_those_of_their_members() -> None:
    found, problems = objects('x\n[\n {"a": 1},\n\n {"a": 2}]\n{"b": {"c": [{"d": 1}]}}{"e": 1}\n[1, 2]', "x")
    assert [(one.line, one.tree) for one in found] == [
        (3, {"a": 1}),
        (5, {"a": 2}),
        (6, {"b": {"c": [{"d": 1}]}}),
    ]
    assert not problems


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (" \n\t\r\n", "empty"),
        ("hello", "unknown"),
        ("{}", "unknown_object"),
        ('{"model_type": "llama", "hidden_size": 4096}', "unknown_object"),
        ('{"request_latency": 3}', "unknown_object"),
        ('{"experiments": [{"requests": []}]}', "other_file"),
        ('[{"benchmark": {}, "metric": {"name": "latency", "benchmark_values": [1]}}]', "other_file"),
        (
            '{"metadata": {"benchmark_phase": "profiling"}, "metrics": {"request_latency": {"value": 1}}}',
            "other_file",
        ),
        ("benchmarks:\n- metrics:\n    inter_token_latency_ms:\n", "no_figures"),
        ('{"completed": 0, "request_throughput": 0.0, "mean_ttft_ms": 0}', "no_figures"),
        ("============ Serving Benchmark Result ============\n", "no_figures"),
    ],
)
def test_what_is_no_result_is_told(text: str, code: str) -> None:
    reading = read_text(text, "paste.txt")
    assert not reading.runs
    assert codes(reading) == [code]
    for language in ("en", "zh_CN"):
        said = Words(language).located(reading.problems[0])
        assert said.startswith("paste.txt") and "{" not in said and "problems." not in said


def test_numbers_as_tools_write_them() -> None:
    assert number("1,234.5") == 1234.5
    assert number("3.5000E+13") == 3.5e13
    assert number(".5") == 0.5 and number(-2) == -2.0
    for text in (
        "",
        "1.2.3",
        "0x10",
        "1e99999",
        "nan",
        "inf",
        True,
        None,
        [1],
        10**400,
        float("nan"),
        "9" * 60,
    ):
        assert number(text) is None, text


def test_unknown_fields_are_kept_within_bounds() -> None:
    tree = json.loads((FIXTURES / "vllm_serve_2026.json").read_text(encoding="utf-8"))
    tree |= {f"own_{i}": i for i in range(1000)}
    tree |= {"long": "x" * 10**6, "deep": [[[[[[1]]]]]], "wide": list(range(10**5)), "line\nbreak": "a\nb"}
    run = read_text(json.dumps(tree), "x.json").runs[0]
    assert run.rest["own_0"] == 0
    assert len(run.rest) <= 200
    assert len(json.dumps(run.rest)) < 20_000


def test_impossible_values_are_left_out_and_told() -> None:
    tree = json.loads((FIXTURES / "vllm_serve_2025.json").read_text(encoding="utf-8"))
    tree |= {"mean_ttft_ms": -3.0, "output_throughput": 1e308, "p99_tpot_ms": "fast", "completed": 1e300}
    reading = read_text(json.dumps(tree), "x.json")
    kept = reading.runs[0].figures
    for key in (
        ("time_to_first_token", "mean"),
        ("output_throughput", "mean"),
        ("time_per_output_token", "p99"),
    ):
        assert key not in kept
    assert ("time_per_output_token", "mean") in kept
    assert codes(reading).count("number") == 3
    assert reading.runs[0].setting.requests is None
