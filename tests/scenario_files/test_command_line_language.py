"""What the command line says in Chinese: argparse's own words, the system's reasons, ledgers, diagnoses."""

import argparse
import errno
import re
from pathlib import Path

import pytest

import resources
from core.cli import main, parser
from core.errors import Problem
from core.evidence.causes import evidence_of
from core.evidence.diagnose import diagnose
from core.evidence.diagnosis_told import suspect_title
from core.evidence.readers.detect import read_files
from core.files import scenario_file
from core.os_reasons import _KNOWN, reason_of
from core.words import Phrase, Words

SAMPLE = "resources/samples/2-qwen3-32b-on-two-rtx-3090.json"
LOGS = Path(__file__).parents[1] / "evidence_logs" / "fixtures"
ZH, EN = Words("zh_CN"), Words("en")


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main([*map(str, arguments), "--lang", "zh_CN"])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_help_is_in_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "estimate", "--help")
    assert status == 0 and out.startswith("用法：inferometer estimate")
    for english in ("usage", "positional", "options", "show this", "exit"):
        assert english not in out
    assert "\n位置参数：\n" in out and "\n选项：\n" in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("estimate",), "缺少必需的参数：FILE"),
        (("estimate", SAMPLE, "--fast"), "无法识别的参数：--fast"),
        (("nothing",), "不能是 'nothing'，可选："),
        (("diagnose", SAMPLE, "--ttft"), "参数 --ttft：需要一个值"),
        (("diagnose", SAMPLE, "--ttft", "abc"), "参数 --ttft：'abc' 不是大于零的数"),
        (("diagnose", SAMPLE, "--ttft", "-3"), "参数 --ttft：'-3' 不是大于零的数"),
        (("diagnose", SAMPLE, "--memory", "nan"), "参数 --memory：'nan' 不是大于零的数"),
        (("estimate", SAMPLE, "--json=1"), "参数 --json：不接受值"),
    ],
)
def test_wrong_arguments_are_told_in_the_language(
    arguments: tuple[str, ...], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = said(capsys, *arguments)
    assert status == 2 and out == "" and word in err
    assert not re.search(r"usage|error|argument|invalid|required", err)
    assert SAMPLE not in err  # the file is not what is wrong


def test_english_and_other_parsers_keep_argparse_s_words() -> None:
    with pytest.raises(SystemExit):
        parser(ZH).parse_args([])
    plain = argparse.ArgumentParser(prog="x").format_help()
    assert plain.startswith("usage: x") and "show this help message and exit" in plain
    assert parser(EN).format_help().startswith("usage: inferometer")


def test_a_reason_of_the_system_is_in_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, "read", "gone.json")
    assert status == 2 and "gone.json: 无法打开：没有这个文件或文件夹。" in err
    for name in _KNOWN & set(vars(errno)):
        reason = reason_of(OSError(getattr(errno, name), "the machine's words"))
        assert isinstance(reason, Phrase)
        for words in (ZH, EN):
            assert words.has(reason.key)
            assert "machine" not in words.problem(
                Problem("file.not_read", values={"path": "a", "reason": reason})
            )
    assert reason_of(OSError(9999, "odd")) == "odd"


def test_lines_of_every_log_have_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Not the words that the program keeps them under."""
    names = set()
    for path in sorted(LOGS.iterdir()):
        names |= {name for run in read_files([path]).runs for name in run.ledger}
    assert len(names) > 20
    assert {name for name in names if not ZH.has(f"measured.lines.{name}")} == set()
    _, out, _ = said(capsys, "read", *sorted(LOGS.glob("*.log")))
    assert not re.search(r"^  [a-z]+_[a-z_]+ ", out, re.MULTILINE)
    assert "llama.cpp" in out and not re.search(r" llamacpp$| vllm$", out, re.MULTILINE)


def test_a_place_in_another_file_is_not_laid_on_the_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, "diagnose", SAMPLE, "--run", "gone.txt")
    assert status == 2 and err.startswith("gone.txt: ")


def test_memory_takes_no_time_and_rates_are_low() -> None:
    point = scenario_file.loads(resources.read_bytes(SAMPLE.removeprefix("resources/")))
    found = diagnose(
        point, {"memory_used": 23 * 2**30, "output_throughput": 60.0, "time_to_first_token": 1e4}
    )
    told = {one.figure: ZH.phrase(one.sentence) for one in found.placed}
    assert "多于估算" in told["memory_used"] and "低于估算" in told["output_throughput"]
    assert "长于估算" in told["time_to_first_token"]
    assert not any("耗时" in text or "e+" in text for text in told.values())
    english = {one.figure: EN.phrase(one.sentence) for one in found.placed}
    assert "as long" not in english["memory_used"] and "more than estimated" in english["memory_used"]


def test_large_differences_are_factors_and_small_ones_shares() -> None:
    assert "185,356" not in ZH.phrase(evidence_of(7.525, 3.265))
    assert ZH.phrase(evidence_of(7.525, 3.265)) == "实测与预测平均相差 1,850 倍，按此改动后为 26.2 倍。"
    assert "%" in ZH.phrase(evidence_of(0.3, 0.1))


def test_what_is_better_than_estimated_is_not_called_slow() -> None:
    point = scenario_file.loads(resources.read_bytes(SAMPLE.removeprefix("resources/")))
    found = diagnose(point, {"time_per_output_token": 0.02})
    assert found.suspects and all(one.symptom is None for one in found.suspects)
    titles = [suspect_title(one, ZH) for one in found.suspects]
    assert all("好于估算" in title and "慢" not in title for title in titles)
