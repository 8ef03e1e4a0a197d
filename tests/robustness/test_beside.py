"""What a document names lies beside it: no document has a file read elsewhere, or a share asked for."""

from pathlib import Path

import pytest

from core.cli import main
from core.files import scenario_file
from core.files.beside import beside, is_plain_name
from core.spec.change import with_value
from core.spec.scenario import Scenario

TRACE = "timestamp,input,output\n0,100,20\n1,200,30\n2,300,40\n"
ELSEWHERE = (
    "",
    ".",
    "..",
    "../morning.csv",
    "days/morning.csv",
    "/dev/zero",
    "//192.0.2.1/share/morning.csv",
    "\\\\192.0.2.1\\share\\morning.csv",
    "\\\\?\\UNC\\192.0.2.1\\share\\morning.csv",
    "C:\\morning.csv",
    "C:morning.csv",
    "..\\morning.csv",
    "morning\0.csv",
)
NAMES = ("morning.csv", "请求 一.jsonl", ".hidden.csv", "12:30.csv", "😀.csv", "n" * 300)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_way_to_elsewhere_is_no_name(tmp_path: Path, name: str) -> None:
    assert not is_plain_name(name)
    assert beside(tmp_path / "s.json", name) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one(tmp_path: Path, name: str) -> None:
    assert is_plain_name(name)
    assert beside(tmp_path / "s.json", name) is None  # nothing is there, or its name is too long
    if len(name) < 255:
        (tmp_path / name).write_text(TRACE, encoding="utf-8")
        assert beside(tmp_path / "s.json", name) == tmp_path / name


def named(scenario: Scenario, folder: Path, name: str) -> str:
    traced = with_value(with_value(scenario, "simulation.arrivals", "trace"), "simulation.trace", name)
    scenario_file.save(folder / "s.json", traced)
    return str(folder / "s.json")


def test_the_command_reads_no_trace_elsewhere(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "morning.csv").write_text(TRACE, encoding="utf-8")
    for name in ("../morning.csv", str(tmp_path / "morning.csv"), "//192.0.2.1/share/morning.csv"):
        assert main(["simulate", named(scenario, tmp_path / "own", name)]) == 2
        assert "no plain file name" in capsys.readouterr().err
    (tmp_path / "own" / "morning.csv").write_text(TRACE, encoding="utf-8")
    assert main(["simulate", named(scenario, tmp_path / "own", "morning.csv")]) == 0


def test_the_one_field_that_names_a_file_is_the_trace(scenario: Scenario) -> None:
    """Another field for the place of a file would have to be guarded as this one is."""
    parts = {name: type(getattr(scenario, name)) for name in type(scenario).model_fields}
    found = {
        f"{name}.{field}"
        for name, kind in parts.items()
        for field in getattr(kind, "model_fields", ())
        if any(word in field.split("_") for word in ("file", "path", "trace", "folder", "url"))
    }
    assert found == {"simulation.trace"}
