"""``inferometer read``: what was read, how it was converted, what was not read and where; and its words."""

import ast
import json
from pathlib import Path

import pytest

from core.cli import main, parser
from core.console import COMMANDS
from core.evidence.run import FIGURES, STATISTICS, Setting
from core.evidence.run_json import from_tree
from core.words import LANGUAGES, Words

FIXTURES = Path(__file__).parent / "fixtures"
READERS = Path(__file__).parents[2] / "core" / "evidence" / "readers"


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["read", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_it_is_one_of_the_commands() -> None:
    assert "read" in COMMANDS


def test_runs_conversions_and_problems_are_listed(capsys) -> None:
    status, out, err = run(capsys, FIXTURES / "llama_bench.md", FIXTURES / "guidellm_07.json")
    assert status == 2  # two rows of it cannot be read
    assert "llama_bench.md:7  llama_bench b5163 (8cf427ff)  tg128" in out
    assert "8.29 ms" in out  # 1 over 120.60 tok/s
    assert "Time per output token: 1 over 121 tok/s of one user." in out
    assert "Time per output token: the tool’s 45.5 ms hold the first token" in out
    assert "10 runs" in out
    assert "llama_bench.md:16: “n/a” is not what this column holds." in err
    assert "llama_bench.md:17: A row of 3 cells in a table of 7 columns." in err
    assert len(err.splitlines()) == 2 and "llama_bench.md:16:" not in out


def test_in_chinese(capsys) -> None:
    status, out, _ = run(capsys, FIXTURES / "vllm_serve_2026.json", "--lang", "zh_CN")
    assert status == 0
    assert "每 token 时间 (TPOT)" in out and "5.50 ms" in out
    assert "文件中的时间以 ms 计。" in out
    assert "vllm_serve_2026.json:1: 100 个请求中有 2 个失败，数据只含其余请求。" in out
    assert "1 条记录" in out and "全部同时到达" in out


def test_as_json(capsys) -> None:
    status, out, _ = run(capsys, FIXTURES / "vllm_serve_2024.json", "--json")
    tree = json.loads(out)
    assert status == 0
    (one,) = tree["runs"]
    assert one["setting"]["request_rate"] == "inf"
    assert one["figures"]["time_per_output_token"]["p99"] == pytest.approx(0.036)
    assert "Times in the file are in ms." in one["conversions_told"]
    assert from_tree(one).origin.tool == "vllm_serve"
    (problem,) = tree["problems"]
    assert problem["file"] == "vllm_serve_2024.json" and problem["line"] == 1
    assert problem["severity"] == "warning" and problem["reason"].startswith("1 of 3 requests failed")


def test_nothing_read_is_bad_input(capsys, tmp_path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("nothing measured\n", encoding="utf-8")
    status, out, err = run(capsys, other, tmp_path / "gone.json")
    assert status == 2 and not out
    assert "notes.txt: Nothing in it looks like" in err and "gone.json: Cannot be opened" in err


def test_one_bad_file_does_not_keep_the_others_back(capsys, tmp_path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_text('{"completed": 3,\n "mean_ttft_ms": ', encoding="utf-8")
    status, out, err = run(capsys, cut, FIXTURES / "vllm_latency.json")
    assert status == 2
    assert "cut.json:1: The JSON that begins here ends too early" in err and "1.25 s" in out


def test_the_status_tells_whether_all_was_read(capsys, tmp_path) -> None:
    head = '{"model": "Qwen3-32B", "engine": "vllm", "ttft_ms": 120, "tpot_ms": 20, "concurrency": 4}'
    broken = tmp_path / "runs.jsonl"
    broken.write_text(f"{head}\nhalf a li\n{head}\n", encoding="utf-8")
    status, out, err = run(capsys, broken)
    assert status == 2 and "2 runs" in out and "runs.jsonl:2: Not a line" in err
    for command in ("validate", "calibrate"):
        more = ("--name", "x") if command == "calibrate" else ()
        status = main([command, str(broken), *more])
        assert status == 2 and "runs.jsonl:2: Not a line" in capsys.readouterr().err, command
    broken.write_text(f"{head}\n{head}\n", encoding="utf-8")
    assert run(capsys, broken)[0] == 0
    assert run(capsys, FIXTURES / "vllm_serve_2026.json")[0] == 0  # some requests failed: read with care
    with pytest.raises(SystemExit):
        parser(Words("en")).parse_args(["read", "--help"])
    assert "Exit status 2" in " ".join(capsys.readouterr().out.split())


def test_control_characters_of_a_file_do_not_reach_the_terminal(capsys, tmp_path) -> None:
    tree = json.loads((FIXTURES / "vllm_serve_2025.json").read_text(encoding="utf-8"))
    tree |= {"model_id": "a\x1b[2Jb", "label": "\u202eevil\x07", "date": "\x1b]0;x\x07"}
    place = tmp_path / "x.json"
    place.write_text(json.dumps(tree), encoding="utf-8")
    _, out, _ = run(capsys, place)
    assert not any(ord(c) < 32 and c != "\n" for c in out)


def literals(name: str) -> set[str]:
    """First arguments of all calls of this name in the readers."""
    found = set()
    for path in READERS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if called == name and isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.add(first.value)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_that_readers_say_has_words(language: str) -> None:
    words = Words(language)
    problems, conversions = literals("problem") | literals("complain"), literals("converted")
    assert len(problems) > 15 and len(conversions) > 20
    assert sorted(code for code in problems if not words.has(f"problems.reading.{code}")) == []
    assert sorted(key for key in conversions if not words.has(f"conversions.{key}")) == []
    for kind, names in (
        ("figures", FIGURES),
        ("statistics", STATISTICS),
        ("settings", Setting.__dataclass_fields__),
        ("values", ("true", "false", "at_once", "unspecified")),
    ):
        assert sorted(name for name in names if not words.has(f"measured.{kind}.{name}")) == []
