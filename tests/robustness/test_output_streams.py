"""Where the output goes: full disks, closed streams, terminals, and faults of our own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core import cli, console
from core.files import scenario_file
from core.files.atomic import write_atomic
from core.spec.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = sorted((ROOT / "resources" / "samples").glob("*.json"))[0]
posix = pytest.mark.skipif(os.name != "posix", reason="shell redirections and /dev/full")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(redirected: str, *arguments: object, module: str = "core") -> subprocess.CompletedProcess[str]:
    """The command with its streams redirected as a shell does it."""
    words = [sys.executable, "-m", module, *map(str, arguments)]
    line = " ".join(f"'{word}'" for word in words)
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    return subprocess.run(
        ["/bin/sh", "-c", f"{line} {redirected}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@full
@pytest.mark.parametrize("arguments", [("estimate", SAMPLE), ("estimate", SAMPLE, "--json")])
def test_a_full_disk_is_told_in_a_sentence(arguments: tuple[object, ...]) -> None:
    done = shell(">/dev/full", *arguments)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "space" in done.stderr
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


@full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", ["--help", "--version", "screenshot --help", "estimate --help", "runs -h"]
)
def test_help_that_could_not_be_written_is_no_success(
    arguments: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a buffer it is argparse that meets the error, and it keeps silent."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = shell(">/dev/full", *arguments.split(), module="gui.main")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "space" in done.stderr


@posix
@pytest.mark.parametrize("arguments", [("estimate", SAMPLE), ("models", "qwen")])
def test_without_a_standard_output_nothing_breaks(arguments: tuple[object, ...]) -> None:
    done = shell(">&-", *arguments)
    assert (done.returncode, done.stderr) == (1, "")


@posix
def test_without_an_error_stream_bad_input_is_still_bad_input() -> None:
    assert shell("2>&-", "estimate", "missing.json").returncode == 2


@posix
def test_the_window_without_streams_says_no_more() -> None:
    assert shell("2>&-", "--smoke", "missing.json", module="gui.main").returncode == 2


def test_a_smoke_run_of_a_file_that_cannot_be_opened_fails(tmp_path: Path) -> None:
    done = shell("", "--smoke", tmp_path / "missing.json", module="gui.main")
    assert done.returncode == 2
    assert "missing.json" in done.stderr


@posix
def test_a_picture_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    done = shell("", "screenshot", SAMPLE, "--out", pipe, module="gui.main")
    assert done.returncode == 2 and "plain file" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_steer_no_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = tmp_path / "a\x1b]0;title\x07b.json"
    assert cli.main(["estimate", str(evil)]) == 2
    console.write("x\x1b[31my\r\tz\n")
    told = capsys.readouterr()
    assert "\x1b" not in told.err + told.out and "\x07" not in told.err
    assert told.out == "x\N{REPLACEMENT CHARACTER}[31my\N{REPLACEMENT CHARACTER}\tz\n"


def test_a_fault_of_our_own_is_a_sentence_and_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Scenario) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(cli, "estimate", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cli.main(["estimate", str(SAMPLE)]) == 1
    told = capsys.readouterr().err
    (log,) = tmp_path.iterdir()
    assert told == f"Something went wrong inside (IndexError). What happened is in {log}.\n"
    assert "list index out of range" in log.read_text()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert cli.main(["estimate", str(SAMPLE)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_picture_of_what_fails_inside_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gui import main
    from gui.exporting import screenshot

    def broken(_: Scenario) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(screenshot, "estimate", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main.main(["screenshot", str(SAMPLE), "--out", str(tmp_path / "p.png")]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert not (tmp_path / "p.png").exists()


def test_what_an_ended_writer_left_behind_goes(scenario: Scenario, tmp_path: Path) -> None:
    old, young = tmp_path / ".inferometer-abcdefgh.tmp", tmp_path / ".inferometer-ijklmnop.tmp"
    other = tmp_path / ".other-abcdefgh.tmp"
    for file in (old, young, other):
        file.write_bytes(b"{")
    for file in (old, other):
        os.utime(file, (time.time() - 7200,) * 2)
    write_atomic(tmp_path / "s.json", scenario_file.dumps(scenario))
    assert {f.name for f in tmp_path.iterdir()} == {young.name, other.name, "s.json"}
