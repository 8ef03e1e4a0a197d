"""The log of runs: kept, exported, read again; several writers, kills, damage, older and newer databases."""

import contextlib
import json
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.cli import main
from core.console import COMMANDS
from core.errors import UnreadableFile, UnwritableFile
from core.evidence import kept_runs, run_log, run_log_schema
from core.evidence.readers.detect import read_files, read_text
from core.evidence.run import Operator, Origin, Run, Setting
from core.evidence.run_files import runs_csv, runs_jsonl
from core.evidence.run_log import DATABASE, RunLog, project_key
from core.words import Phrase, Words

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OLD = HERE / "runs_version_1.sqlite"
EVERY = [p for p in sorted((HERE / "fixtures").iterdir()) if p.suffix]


def measured(number: int = 0) -> Run:
    """A run in which every part is used."""
    return Run(
        Origin("vllm_serve", "0.11.0", f"结果 {number}.json", 3),
        Setting(
            engine="vllm",
            model="=cmd|' /C calc'!A1",
            accelerators=2,
            graphs=False,
            prefix_cache=True,
            layers_on_device=-1,
            utilization=0.9,
            input_tokens=1024.5,
            concurrency=float(number),
            request_rate=math.inf,
        ),
        {("time_to_first_token", "p99"): 0.1 + number, ("power", "mean"): 1 / 3, ("utilization", "std"): 0.0},
        {"weights": 1.5e10, "kv_cache_tokens": 12345.0, 'a line, with "marks"': 1.0},
        (Operator("void gemm<128, 4>(int)\u2028", 0.25, 7),),
        "2025-10-01T12:00:00",
        "'quoted'",
        (Phrase("conversions.tokens_of_blocks", {"block": 16}),),
        {"burstiness": 1.0, "nested": {"list": [1, "ü", None, True]}},
    )


def every_run() -> list[Run]:
    return [*read_files(EVERY).runs, measured()]


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    log, runs = RunLog(tmp_path / DATABASE), every_run()
    assert log.runs("a") == ()
    assert not log.path.exists()  # looking makes nothing
    assert log.add("a", runs) == len(runs)
    assert list(log.runs("a")) == runs
    assert [phrase.values for phrase in log.runs("a")[-1].conversions] == [{"block": 16}]
    assert log.notes == []


def test_projects_are_apart_and_a_run_is_kept_once(tmp_path: Path) -> None:
    log = RunLog(tmp_path / DATABASE)
    assert log.add("a", [measured(1), measured(2)]) == 2
    assert log.add("a", [measured(2), measured(3)]) == 1
    assert log.add("b", [measured(2)]) == 1
    assert log.projects() == (("a", 3), ("b", 1))
    assert log.count("a") == 3 and log.count("nobody") == 0
    before = log.stamp("a"), log.stamp("b")
    (entry,) = log.entries("b")
    assert log.remove("a", [entry.id]) == 0  # not a run of that project
    assert log.remove("b", [entry.id]) == 1
    assert (log.stamp("a"), log.stamp("b")) == (before[0], before[1] + 1)
    assert log.copy("a", "c") == 3 and log.copy("a", "c") == 0
    assert log.runs("c") == log.runs("a")


def test_a_project_is_where_its_file_really_lies(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("{}")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    assert project_key(link) == project_key(target) == os.path.normcase(target.resolve())
    assert project_key(None) == ""


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_exports_read_again_are_equal(kind: str, tmp_path: Path) -> None:
    runs = every_run()
    text = runs_jsonl(runs) if kind == "jsonl" else runs_csv(runs)
    path = tmp_path / f"log.{kind}"
    path.write_text(text, encoding="utf-8", newline="")
    reading = read_files([path])
    assert reading.problems == ()
    assert list(reading.runs) == sorted(runs, key=lambda run: run.origin.line)
    told = [phrase.values for run in reading.runs for phrase in run.conversions]
    assert {"block": 16} in told
    # And what was exported is known: nothing is added twice.
    log = RunLog(tmp_path / DATABASE)
    assert log.add("", runs) == len(runs)
    assert log.add("", reading.runs) == 0


def test_exports_are_plain_formats(tmp_path: Path) -> None:
    head, *lines = runs_jsonl([measured()]).splitlines()
    assert json.loads(head) == {"format": "inferometer-runs", "version": 1}
    (tree,) = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert tree["setting"]["request_rate"] == "inf"
    assert tree["figures"]["power"] == {"mean": 1 / 3}
    table = runs_csv([measured()])
    assert "time_to_first_token.p99 [s]" in table and "ledger.weights" in table
    assert "'=cmd" in table and ",=cmd" not in table  # no spreadsheet computes it


def test_a_number_that_json_lacks_is_written_as_text() -> None:
    run = Run(Origin("x"), figures={("power", "mean"): 1.0}, rest={"a": math.nan, "b": [math.inf]})
    assert json.loads(runs_jsonl([run]).splitlines()[1])["rest"] == {"a": "nan", "b": ["inf"]}


def test_broken_lines_of_an_export_are_told_and_passed_over() -> None:
    good = runs_jsonl([measured(1), measured(2)]).splitlines()
    text = "\n".join([good[0], good[1], '{"origin": {"tool": 7}}', "[", good[2]])
    reading = read_text(text, "x.jsonl")
    assert len(reading.runs) == 2
    assert [(p.code, p.values["line"]) for p in reading.problems] == [
        ("reading.field", 3),
        ("reading.line", 4),
    ]
    newer = text.replace('"version": 1', '"version": 9')
    assert "reading.newer" in {p.code for p in read_text(newer, "x.jsonl").problems}
    table = runs_csv([measured(1)]) + "a,b,c,not a number\r\n"
    reading = read_text(table, "x.csv")
    assert len(reading.runs) == 1 and len(reading.problems) == 1


def test_a_database_of_version_1_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    shutil.copy(OLD, path)
    log = RunLog(path)
    assert log.projects() == (("", 1), ("/projects/a.json", 3), ("/projects/b.json", 2))
    wanted = read_files([HERE / "fixtures/vllm_0_11.log", HERE / "fixtures/nvidia_smi.csv"]).runs
    assert log.runs("/projects/a.json") == wanted
    assert log.entries("/projects/a.json")[0].added_at == "2025-11-01T08:00:00+00:00"
    assert log.add("/projects/a.json", wanted) == 0
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert run_log_schema.version_of(base) == run_log_schema.CURRENT
    assert log.notes == []


def test_a_newer_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    RunLog(path).add("a", [measured()])
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    for use in (lambda: RunLog(path).runs("a"), lambda: RunLog(path).add("a", [measured(1)])):
        with pytest.raises(UnreadableFile) as refused:
            use()
        assert refused.value.problems[0].code == "runs.newer"
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["text", "zeros", "foreign", "half a header"])
def test_a_damaged_database_is_set_aside_and_said(damage: str, tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    if damage == "foreign":
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("CREATE TABLE bookmarks (url TEXT)")
    else:
        path.write_bytes(
            {"text": b"not a database" * 99, "zeros": bytes(8192), "half a header": b"SQLite form"}[damage]
        )
    before = path.read_bytes()
    log = RunLog(path)
    assert log.add("a", [measured()]) == 1
    assert len(log.runs("a")) == 1
    if damage == "zeros":  # for SQLite an empty database
        return
    (note,) = log.notes
    assert note.code == "runs.set_aside"
    (aside,) = [p for p in tmp_path.iterdir() if "damaged" in p.name]
    assert aside.read_bytes() == before
    for language in ("en", "zh_CN"):
        assert aside.name in Words(language).problem(note)


def test_what_can_be_read_of_a_damaged_database_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    runs = [measured(n) for n in range(400)]
    RunLog(path).add("a", runs)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    log = RunLog(path)
    kept = log.runs("a")
    assert [note.code for note in log.notes] == ["runs.set_aside"]
    assert 200 < len(kept) < 400 and set(map(repr, kept)) < set(map(repr, runs))
    assert log.notes[0].values["n"] == len(kept)


def test_a_damaged_row_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    RunLog(path).add("a", [measured(n) for n in range(5)])
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE run SET head = '{' WHERE id = 2")
        base.execute("UPDATE run SET figures = x'00' WHERE id = 3")
        base.execute("UPDATE run SET setting = '[]' WHERE id = 4")
        base.commit()
    log = RunLog(path)
    assert [entry.id for entry in log.entries("a")] == [1, 5]
    assert [(note.code, note.values["n"]) for note in log.notes] == [("runs.bad_row", 3)]


def test_a_log_that_another_window_writes_waits_and_then_says_so(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    RunLog(path).add("a", [measured()])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnwritableFile) as refused:
            RunLog(path, wait_s=0.05).add("a", [measured(1)])
        assert refused.value.problems[0].code == "runs.busy"
    assert RunLog(path).add("a", [measured(1)]) == 1


def test_places_that_cannot_be_a_log(tmp_path: Path) -> None:
    folder = tmp_path / DATABASE
    folder.mkdir()
    file = tmp_path / "file"
    file.write_text("x")
    for path in (folder, file / DATABASE):
        with pytest.raises(UnwritableFile) as refused:
            RunLog(path).add("a", [measured()])
        assert Words("en").problem(refused.value.problems[0])
    assert folder.is_dir()


@pytest.mark.skipif(os.name != "posix", reason="links as the system has them")
def test_a_log_whose_folder_is_none_says_what_stands_there(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(tmp_path / "gone")
    for folder, code in ((file, "file.in_the_way"), (link, "file.link_to_nothing")):
        with pytest.raises(UnwritableFile) as refused:
            RunLog(folder / DATABASE).add("a", [measured()])
        assert refused.value.problems[0].code == code


@pytest.mark.skipif(os.name != "posix", reason="links and pipes as the system has them")
def test_a_log_that_cannot_be_opened_says_why_in_the_own_language(tmp_path: Path) -> None:
    folder, pipe, circle = (tmp_path / name for name in ("folder", "pipe", "circle"))
    folder.mkdir()
    os.mkfifo(pipe)
    circle.symlink_to(circle)
    for path, reason in ((folder, "eisdir"), (pipe, "eio"), (circle, "eloop")):
        with pytest.raises(UnwritableFile) as refused:
            RunLog(path).add("a", [measured()])
        assert refused.value.problems[0].values["reason"] == Phrase(f"os_reasons.{reason}")


WRITER = """
import sys
import time
from pathlib import Path
from core.evidence.run import Origin, Run
from core.evidence.run_log import RunLog
name, rounds, each = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log = RunLog(Path(sys.argv[1]), wait_s=60)
print("ready", flush=True)
for n in range(rounds):
    lines = range(1 + n * each, 1 + (n + 1) * each)
    runs = [Run(Origin(name, line=line), figures={("power", "mean"): float(line)}) for line in lines]
    assert log.add("shared", runs) == each
    log.runs("shared")
print("done", flush=True)
"""


def started(*words: object) -> "subprocess.Popen[str]":
    asked = [sys.executable, "-c", WRITER, *map(str, words)]
    return subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_windows_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / DATABASE
    writers = [started(path, name, 25, 4) for name in ("first", "second", "third")]
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert writer.returncode == 0 and out.endswith("done\n"), err
    runs = RunLog(path).runs("shared")
    for name in ("first", "second", "third"):
        assert [run.origin.line for run in runs if run.origin.tool == name] == list(range(1, 101))


@pytest.mark.slow
def test_two_windows_find_a_damaged_log_at_once(tmp_path: Path) -> None:
    path = tmp_path / DATABASE
    for attempt in range(3):
        path.write_bytes(b"no database at all" * 1000)
        writers = [started(path, f"{name} {attempt}", 3, 4) for name in ("first", "second")]
        for writer in writers:
            out, err = writer.communicate(timeout=120)
            assert writer.returncode == 0 and out.endswith("done\n"), err
        assert len(RunLog(path).runs("shared")) == 2 * 3 * 4


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills as the system does")
def test_a_writer_that_is_killed_leaves_whole_additions(tmp_path: Path) -> None:
    path, chance = tmp_path / DATABASE, random.Random(5)
    for attempt in range(4):
        writer = started(path, f"w{attempt}", 10_000, 50)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.1, 0.5))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        log = RunLog(path)
        runs = log.runs("shared")
        assert log.notes == []
        for name in {run.origin.tool for run in runs}:
            lines = [run.origin.line for run in runs if run.origin.tool == name]
            assert lines == list(range(1, len(lines) + 1)) and len(lines) % 50 == 0
        assert log.add("after", [measured(attempt)]) == 1
    with contextlib.closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_the_command_adds_lists_and_exports(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def asked(*words: object) -> tuple[int, str, str]:
        status = main(["runs", *map(str, words), "--data-folder", str(tmp_path)])
        return (status, *capfd.readouterr())

    log, table = HERE / "fixtures/llama_cpp_2025.log", HERE / "fixtures/run_log_zh.csv"
    status, out, err = asked("add", log, table)
    assert (status, out) == (0, "3 runs added.\n")
    assert "run_log_zh.csv:4: “abc” in the column “输入长度” is not a number." in err
    assert asked("add", log)[1] == "0 runs added. 1 was in the log already.\n"
    out = asked("list", "--lang", "zh_CN")[1]
    assert "Qwen3 8B" in out and "80.8 ms" in out and "添加时间" in out
    assert "并发数" in out and "输入 token 数" in out and " 4,096 " in out
    trees = json.loads(asked("list", "--json")[1])
    assert [tree["id"] for tree in trees] == [1, 2, 3]
    for ending in ("jsonl", "csv"):
        file = tmp_path / f"out.{ending}"
        assert asked("export", "--out", file)[0] == 0
        assert len(read_files([file]).runs) == 3
        assert asked("add", file)[1] == "0 runs added. 3 were in the log already.\n"
    assert asked("list", "--project", tmp_path / "p.json")[1] == "The log holds no runs.\n"
    status, out, err = asked("export", "--out", file, "--project", tmp_path / "p.json")
    assert status == 2 and err.strip() and not out and len(read_files([file]).runs) == 3
    for wrong in (
        ("add",),
        ("add", tmp_path / "no.log"),
        ("export",),
        ("export", "--out", tmp_path / "x.pdf"),
    ):
        status, out, err = asked(*wrong)
        assert status == 2 and err.strip() and not out


def test_the_command_is_one_of_the_program() -> None:
    assert "runs" in COMMANDS


def test_a_thousand_runs_are_read_setting_by_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting and each set of figures once, and JSON by hundreds: what is left of a run is its own."""
    log = RunLog(tmp_path / DATABASE)
    log.add("b", [measured(n) for n in range(50)])
    swept = [replace(measured(n), setting=measured(n % 7).setting) for n in range(1200)]
    assert log.add("a", swept) == 1200
    calls = dict.fromkeys(("setting_of", "Shape", "_tree"), 0)
    texts = []

    def watch(module: Any, name: str) -> None:
        function = getattr(module, name)

        def watched(*given: Any) -> Any:
            calls[name] += 1
            return function(*given)

        monkeypatch.setattr(module, name, watched)

    for module, name in ((kept_runs, "setting_of"), (run_log, "Shape"), (kept_runs, "_tree")):
        watch(module, name)
    loads = json.loads
    monkeypatch.setattr(kept_runs.json, "loads", lambda text: texts.append(text) or loads(text))
    assert log.runs("a") == tuple(swept)
    assert calls == {"setting_of": 7, "Shape": 1, "_tree": 0}
    assert len(texts) <= 1 + 2 * (1200 // 400)


def test_a_run_is_made_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, swept = RunLog(tmp_path / DATABASE), [measured(n) for n in range(900)]
    log.add("a", swept)
    made: list[Any] = []
    whole = kept_runs.assembled
    monkeypatch.setattr(kept_runs, "assembled", lambda *given: made.append(given) or whole(*given))
    entries = log.entries("a")
    assert len(entries) == len(set(entries.ids)) == 900 and not made
    assert entries[5].run == swept[5] and entries[-1].run == swept[-1] and len(made) == 2
    assert [entry.run for entry in entries.some((7, 5, 3))] == [swept[7], swept[5], swept[3]]
    assert [entry.id for entry in entries[:9:3]] == list(entries.ids[:9:3])
    assert len(made) == 6
    assert [entry.run for entry in entries] == swept and len(made) == 900
    assert entries[5] is entries.some((5,))[0]
    with pytest.raises(IndexError):
        entries[900]


def test_equal_settings_go_together(tmp_path: Path) -> None:
    log = RunLog(tmp_path / DATABASE)
    log.add("a", [replace(measured(n), setting=measured(n % 3).setting) for n in range(7)])
    kept = log.entries("a")
    order = [0, 3, 6, 1, 4, 2, 5]
    assert kept_runs.by_setting(kept) == kept_runs.by_setting(tuple(kept)) == order
    assert list(kept_runs.entries_at(kept, order)) == list(kept_runs.entries_at(tuple(kept), order))
    assert list(kept_runs.ids_of(kept)) == list(kept_runs.ids_of(tuple(kept)))


def test_damage_that_is_met_late_is_an_empty_run_and_said(tmp_path: Path) -> None:
    """Texts that are JSON but no run: left out of what is exported, empty where a place is held for them."""
    path = tmp_path / DATABASE
    RunLog(path).add("a", [measured(n) for n in range(6)])
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE run SET head = '{}' WHERE id = 2")
        base.execute("UPDATE run SET setting = '{\"engine\": 7}' WHERE id = 3")
        base.execute("UPDATE run SET added_at = x'ff' WHERE id = 4")
        base.execute("UPDATE run SET figures = 7 WHERE id = 5")
        base.execute("UPDATE run SET head = CAST(x'7b22c3227d' AS TEXT) WHERE id = 6")
        base.commit()
    log = RunLog(path)
    entries = log.entries("a")
    assert entries.ids[:4] == (1, 2, 3, 4) and 5 not in entries.ids
    empty = Run(Origin(""))
    assert [entry.run == empty for entry in entries[:4]] == [False, True, True, False]
    assert entries.damaged >= {2, 3} and {note.code for note in log.notes} == {"runs.bad_row"}
    assert [run.setting.concurrency for run in RunLog(path).runs("a")] == [0.0, 3.0]
