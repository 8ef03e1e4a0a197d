"""Names and numbers of the command line that nothing can be done with: a sentence says which and why."""

import struct
from pathlib import Path

import pytest

from core import cli
from core.words import Words

DIGITS = "9" * 5000


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    return err.strip().splitlines()[-1]


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("name", ["", " "])
@pytest.mark.parametrize(
    "command",
    [
        "estimate NAME",
        "launch NAME",
        "read NAME",
        "validate NAME",
        "calibrate NAME --name x",
        "diagnose NAME",
        "runs add NAME",
        "simulate FILE --trace NAME",
        "simulate FILE --csv NAME",
        "capacity FILE --trace NAME",
        "recommend NAME",
        "report FILE --out NAME",
    ],
)
def test_an_empty_name_is_that_of_no_file(
    samples: list[Path], capsys: pytest.CaptureFixture[str], command: str, name: str, language: str
) -> None:
    parts = [{"NAME": name, "FILE": str(samples[0])}.get(part, part) for part in command.split()]
    assert said(capsys, *parts, "--lang", language).endswith(Words(language)("arguments.no_name"))


@pytest.mark.parametrize("name", [".", "/"])
def test_a_folder_is_named_where_files_are_read(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert said(capsys, "read", name).startswith(f"{Path(name).absolute()}: ")


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("option", ["--users", "--rate", "--seed"])
@pytest.mark.parametrize("given", [DIGITS, DIGITS[:4000], "x" * 5000])
def test_what_is_given_is_told_in_short(
    samples: list[Path], capsys: pytest.CaptureFixture[str], option: str, given: str, language: str
) -> None:
    told = said(capsys, "simulate", str(samples[0]), option, given, "--lang", language)
    assert option in told and (given[:20] in told or "inf" in told) and len(told) < 300
    assert given[0] == "x" or "whole number" not in told  # it is one


def test_of_a_folder_the_broken_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights-q4.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**40, 1))
    told = said(capsys, "estimate", str(folder))
    assert told.startswith(f"{folder}: weights-q4.gguf: ") and "more than 1" in told and "tensors" in told
    assert "," in told.partition("more than ")[2]
    chinese = said(capsys, "estimate", str(folder), "--lang", "zh_CN")
    assert "weights-q4.gguf" in chinese and "张量数" in chinese and "tensors" not in chinese


def test_of_a_folder_the_broken_configuration_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text("{")
    assert said(capsys, "estimate", str(tmp_path)).startswith(f"{tmp_path}: config.json: ")
    told = said(capsys, "estimate", str(tmp_path / "config.json"))
    assert told.count("config.json") == 1
