"""The Validate workspace as a person uses it: bring runs in, look, try, calibrate, save, come back."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.catalog.calibrations import use_folders
from core.evidence.calibrate import calibrate
from core.evidence.kept_runs import Entry
from core.evidence.pairing import pair_runs
from core.evidence.readers.detect import read_files
from core.evidence.run import Origin, Run, Setting
from core.evidence.run_log import DATABASE, RunLog, project_key
from core.files import scenario_file
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents import validate as content
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.plots.measured_marks import MarksSwitch
from gui.work.boards import Question, view_of
from gui.work.measurements import may_hold_runs
from gui.work.validation import boards, calibrated
from gui.workspaces.validate import ValidateWorkspace
from gui.workspaces.validate_runs import EXAMPLES

WAIT_MS = 20_000
EVIDENCE = Path(__file__).resolve().parents[2] / "resources" / "data" / "evidence"
BENCH, START = (EVIDENCE / name for name in EXAMPLES)
FIXTURES = Path(__file__).resolve().parents[1]
TRACE = FIXTURES / "evidence_logs" / "fixtures" / "torch_trace.json"


def page_of(window: MainWindow) -> ValidateWorkspace:
    page = window.stack.page("validate")
    assert isinstance(page, ValidateWorkspace)
    return page


def open_window(make: Callable[[], MainWindow], paths: Paths) -> MainWindow:
    window = make()
    window.paths = paths
    window.show()
    return window


def drop(window: MainWindow, *paths: Path) -> None:
    """Files let fall on the window, as the desktop does it."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place, action = QPointF(700, 500), Qt.DropAction.CopyAction
    button, key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(place.toPoint(), action, data, button, key))
    QApplication.sendEvent(window, QDropEvent(place, action, data, button, key))


def settle(page: ValidateWorkspace, qtbot: QtBot) -> None:
    qtbot.waitUntil(page.settled, timeout=WAIT_MS)


@pytest.fixture
def shown(make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot) -> ValidateWorkspace:
    """The workspace with the example's runs, brought in by a drop on Estimate."""
    use_folders(paths.calibrations)
    window = open_window(make_window, paths)
    drop(window, BENCH, START)
    qtbot.waitUntil(lambda: window.stack.key == "validate", timeout=WAIT_MS)
    page = page_of(window)
    qtbot.waitUntil(lambda: page.settled() and page.view is not None, timeout=WAIT_MS)
    return page


def window_of(page: ValidateWorkspace) -> MainWindow:
    window = page.window()
    assert isinstance(window, MainWindow)
    return window


# -- bringing in -----------------------------------------------------------------------------------


def test_a_drop_of_measurements_on_another_workspace_opens_this_one(shown: ValidateWorkspace) -> None:
    """Predictions are those of the core for the same runs."""
    window = window_of(shown)
    assert "9 runs added" in window.workspace.messages.text_of("file")
    assert len(shown.form.list) == 9
    assert shown.board is not None and shown.view is not None
    runs = read_files([BENCH, START]).runs
    expected = pair_runs(runs, window.document.scenario)
    own = [pair.comparisons for pair in shown.board.pairs]
    assert own == [pair.comparisons for pair in expected]
    assert shown.view.figure == "time_per_output_token" and len(shown.view.points) == 8
    errors = [c.error for p in expected for c in p.comparisons if c.figure == shown.view.figure]
    means = np.array(errors[::2])  # mean, then median of each run
    group = next(g for g in shown.view.groups if g.name == shown.view.figure)
    assert group.n == 8 and group.median == pytest.approx(float(np.median(np.abs(means))))
    assert "over 8 runs" in shown.heading.headline
    assert shown.heading.headline.startswith("Per token: "), "which figure it is of"


def test_several_files_that_hold_nothing_are_refused_with_the_reason(
    make_window: Callable[[], MainWindow], paths: Paths, tmp_path: Path, qtbot: QtBot
) -> None:
    window = open_window(make_window, paths)
    broken = tmp_path / "bench.json"
    broken.write_bytes(BENCH.read_bytes()[:400])  # half a JSON
    empty = tmp_path / "empty.log"
    empty.write_text("throughput without any\n")
    drop(window, broken, empty)
    qtbot.waitUntil(lambda: bool(window.workspace.messages.subjects()), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not window.files.intake.runs.working, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "bench.json" in window.workspace.messages.text_of("file"), timeout=WAIT_MS)
    assert window.stack.key == "estimate"


def test_what_could_not_be_read_is_listed_with_file_line_and_reason(
    shown: ValidateWorkspace, tmp_path: Path, qtbot: QtBot
) -> None:
    mixed = tmp_path / "mixed.jsonl"
    lines = BENCH.read_text().splitlines()
    broken = json.loads(lines[1]) | {"max_concurrency": 3, "mean_tpot_ms": "soon"}
    mixed.write_text("\n".join([lines[0], json.dumps(broken), lines[2][:200]]) + "\n")
    drop(window_of(shown), mixed)
    qtbot.waitUntil(lambda: bool(shown.pages.unread.rows), timeout=WAIT_MS)
    settle(shown, qtbot)
    assert not shown.pages.tabs["unread"].isHidden()
    texts = [[cell.text for cell in row.cells] for row in shown.pages.unread.rows]
    assert all(text[0] == "mixed.jsonl" and text[2] for text in texts)
    assert {"2", "3"} <= {text[1] for text in texts}
    told = window_of(shown).workspace.messages.text_of("file")
    assert "not read" in told
    dict(window_of(shown).workspace.messages.links_of("file"))["Show"]()
    assert shown.tab == "unread"


def test_every_format_is_known_at_a_glance(samples: list[Path]) -> None:
    """What the readers read is sent to them, and no scenario is."""
    files = sorted(FIXTURES.glob("evidence_*/fixtures/*"))
    assert len(files) > 70 and not [file.name for file in files if not may_hold_runs(file)]
    assert not [file for file in samples if may_hold_runs(file)]


def test_a_pasted_console_output_is_taken_and_a_command_still_is_one(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot
) -> None:
    window = open_window(make_window, paths)
    assert window.files.intake.take_text("vllm serve Qwen/Qwen3-32B-AWQ --tensor-parallel-size 2")
    assert window.stack.key == "estimate" and window.document.scenario.model.name == "Qwen3-32B"
    console = FIXTURES / "evidence_readers" / "fixtures" / "vllm_serve_console.txt"
    window.files.intake.take_text(console.read_text())
    qtbot.waitUntil(lambda: window.stack.key == "validate", timeout=WAIT_MS)
    settle(page_of(window), qtbot)
    assert len(page_of(window).form.list) == 2
    other = FIXTURES / "evidence_readers" / "fixtures" / "guidellm_03.json"
    window.files.intake.take_text(other.read_text())
    pasted = window.words("intake.pasted")
    qtbot.waitUntil(
        lambda: {e.run.origin.file for e in page_of(window).store.entries} == {pasted, f"{pasted} 2"},
        timeout=WAIT_MS,
    )


def test_a_scenario_dropped_on_this_workspace_still_opens(
    shown: ValidateWorkspace, samples: list[Path], qtbot: QtBot
) -> None:
    window = window_of(shown)
    drop(window, samples[1])
    qtbot.waitUntil(lambda: window.document.path == samples[1], timeout=WAIT_MS)
    settle(shown, qtbot)
    assert not shown.store.entries and shown.centre.currentWidget() is shown.empty


def test_without_runs_an_example_is_offered_that_says_so(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot
) -> None:
    window = open_window(make_window, paths)
    window.stack.show_key("validate")
    page = page_of(window)
    settle(page, qtbot)
    assert page.centre.currentWidget() is page.empty and not page.calibrate.isVisible()
    page.empty.example.click()
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert page.centre.currentWidget() is page.pages
    assert all("xample" in f"{e.run.label}{e.run.origin.file}" for e in page.store.entries)


@pytest.mark.parametrize("number", [1, 2])
def test_the_example_is_predicted_alike_whatever_is_open(samples: list[Path], number: int) -> None:
    """On one GPU of its own kind, as its files say: not on the two or eight of the open scenario."""
    runs = read_files([BENCH, START]).runs
    for pair in pair_runs(runs, scenario_file.load(samples[number])):
        assert pair.scenario is not None and pair.scenario.deployment.accelerators == 1
        assert pair.comparisons or pair.ledger
        assert all(abs(c.error) < 0.3 for c in pair.comparisons if c.figure == "time_per_output_token")
    result = calibrate(pair_runs(runs, scenario_file.load(samples[number])), "mine")
    assert result.calibration is not None and result.calibration.accelerators == ("RTX 4090",)


# -- looking ---------------------------------------------------------------------------------------


def test_a_start_log_stands_beside_the_ledger_in_the_engines_words(
    shown: ValidateWorkspace, qtbot: QtBot
) -> None:
    board = shown.board
    assert board is not None
    run = next(i for i, pair in enumerate(board.pairs) if pair.ledger)
    shown.choose(run)
    settle(shown, qtbot)
    rows = shown.pages.run.ledger.rows
    words = [row.cells[0].text for row in rows]
    assert {"model weights", "graph capturing", "peak activation", "non-torch"} <= set(words)
    assert {"KV cache memory", "Available KV cache memory"} <= set(words), (
        "two lines that our ledger has once"
    )
    weights = next(row for row in rows if "14.99" in row.cells[2].text)
    assert weights.cells[1].text.endswith("GiB")
    assert any("scenario" in text or "default" in text for text in shown.pages.run.remarks())


def test_kernels_of_a_trace_stand_beside_the_predicted_step(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    drop(window_of(shown), TRACE)
    qtbot.waitUntil(lambda: len(shown.form.list) == 10 and shown.settled(), timeout=WAIT_MS)
    shown.choose(9)
    settle(shown, qtbot)
    assert len(shown.pages.run.kernels.rows) > 1
    assert "%" in shown.pages.run.kernels.rows[0].cells[3].text


def test_filters_groups_and_the_three_pictures(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    shown.form._choose("figure", "time_to_first_token")
    settle(shown, qtbot)
    assert shown.view is not None and shown.view.figure == "time_to_first_token"
    shown.form._choose("tool", "vllm_log")
    settle(shown, qtbot)
    assert len(shown.form.list) == 1 and not len(shown.view.points)
    shown.form._choose("tool", "")
    shown.form._choose("group", "engine")
    settle(shown, qtbot)
    assert [group.name for group in shown.view.groups] == ["vllm"]
    for kind in ("batch", "length", "measured"):
        shown.pages.plot.set_kind(kind)  # type: ignore[arg-type]
        assert not shown.pages.plot.grab().isNull()
    at = shown.pages.plot.point_of(0)
    assert at is not None
    shown.pages.plot._pointed = shown.pages.plot._nearest(at)
    assert "Measured" in shown.pages.plot.reading(shown.pages.plot._pointed)
    qtbot.mouseClick(shown.pages.plot, Qt.MouseButton.LeftButton, pos=at.toPoint())
    assert shown.run == 0 and shown.form.list.current == 0
    qtbot.keyClick(shown.form.list, Qt.Key.Key_Down)
    assert shown.run == 1


def test_the_plot_is_given_away_with_its_points(shown: ValidateWorkspace) -> None:
    (given,) = window_of(shown).stack.pictures()
    table = given.table()
    assert given.widget is shown.pages.plot and table is not None
    assert len(table.rows) == 8 and table.rows[0][0] == "example-vllm-bench.jsonl:1"
    assert table.rows[3][5] == pytest.approx(read_files([BENCH]).runs[3].figure("time_per_output_token"))


def test_another_language_is_spoken_at_once(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    window = window_of(shown)
    window.actions_["language_zh_CN"].trigger()
    page = page_of(window)
    assert page is not shown
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert "次运行" in page.heading.headline
    assert page.form.list.line(0).title.startswith("1 个用户")
    window.document.set_value("workload.users", 5)
    settle(page, qtbot)


# -- causes ----------------------------------------------------------------------------------------


def other_runs(scenario: Scenario) -> list[Run]:
    """Runs that are what the model says of FP8 weights, for a scenario in BF16."""
    other = scenario.model_copy(
        update={"precision": scenario.precision.model_copy(update={"weights": "fp8"})}
    )
    runs = []
    for users in (1, 2, 4, 8):
        setting = Setting(
            engine="vllm",
            engine_version=scenario.engine.version,
            model=scenario.model.name,
            accelerator=scenario.accelerator.name,
            input_tokens=1024,
            output_tokens=512,
            concurrency=users,
        )
        figures = {("time_per_output_token", "mean"): 0.02}
        (pair,) = pair_runs([Run(Origin("vllm_serve"), setting, figures)], other)
        predicted = pair.comparisons[0].predicted
        runs.append(
            Run(
                Origin("vllm_serve", "", "fp8.json", users),
                setting,
                {("time_per_output_token", "mean"): predicted},
            )
        )
    return runs


def test_a_likely_cause_is_shown_tried_and_taken_back(
    make_window: Callable[[], MainWindow], paths: Paths, scenario: Scenario, qtbot: QtBot
) -> None:
    from core.evidence.run_files import runs_jsonl

    window = open_window(make_window, paths)
    file = paths.data.parent / "fp8.jsonl"
    file.write_text(runs_jsonl(other_runs(scenario)))
    window.files.intake.take_path(file)
    qtbot.waitUntil(lambda: window.stack.key == "validate", timeout=WAIT_MS)
    page = page_of(window)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    page.choose(0)
    settle(page, qtbot)
    number = next(i for i, s in enumerate(page.suggestions) if s.cause.key == "weight_format")
    assert page.suggestions[number].after < 0.02 < 0.3 < page.suggestions[number].before
    page.causes.show_moves(number)
    (move,) = page.pages.plot.moves
    assert move.after == pytest.approx(move.measured, rel=0.02)
    before = window.document.scenario
    steps = window.document.undo_stack.count()
    page.pages.causes.items[number].button.click()
    assert window.document.scenario.precision.weights == "fp8"
    assert window.document.undo_stack.count() == steps + 1
    settle(page, qtbot)
    assert page.view is not None and np.abs(page.view.points.errors).max() < 0.02, "the runs follow"
    dict(window.workspace.messages.links_of("file"))["Undo"]()
    assert window.document.scenario == before


def test_causes_of_a_group_say_in_how_many_runs(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    shown.form._choose("group", "engine")
    shown.form._choose("figure", "inter_token_latency")
    settle(shown, qtbot)
    shown.choose_group(0)
    settle(shown, qtbot)
    assert shown.suggestions, shown.pages.causes.empty
    assert shown.suggestions[0].looked > 1
    assert "runs that were looked at" in shown.pages.causes.items[0].text.notes[0]


# -- keeping ---------------------------------------------------------------------------------------


def test_runs_are_kept_removed_taken_back_and_exported(
    shown: ValidateWorkspace, dialogs: Any, tmp_path: Path, paths: Paths, qtbot: QtBot
) -> None:
    window = window_of(shown)
    shown.form.list.tick(0)
    shown.form.list.tick(1)
    shown.form.remove.trigger()
    qtbot.waitUntil(lambda: len(shown.form.list) == 7 and shown.settled(), timeout=WAIT_MS)
    assert RunLog(paths.data / DATABASE).count("") == 7
    dict(window.workspace.messages.links_of("file"))["Undo"]()
    qtbot.waitUntil(lambda: len(shown.form.list) == 9 and shown.settled(), timeout=WAIT_MS)
    for kind in ("jsonl", "csv"):
        out = tmp_path / f"out.{kind}"
        dialogs.files.append(out)
        shown.form.exports[("jsonl", "csv").index(kind)].trigger()
        assert len(read_files([out]).runs) == 9


def test_runs_survive_a_restart_and_go_along_with_a_name(
    shown: ValidateWorkspace,
    make_window: Callable[[], MainWindow],
    dialogs: Any,
    paths: Paths,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    window, file = window_of(shown), tmp_path / "mine.inferometer"
    dialogs.files.append(file)
    window.files.save()
    qtbot.waitUntil(lambda: shown.settled() and len(shown.form.list) == 9, timeout=WAIT_MS)
    log = RunLog(paths.data / DATABASE)
    assert log.projects() == ((project_key(file), 9),), "a project without a name gives its runs away"
    window.close()
    again = open_window(make_window, paths)
    again.files.load(file)
    again.stack.show_key("validate")
    page = page_of(again)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert len(page.form.list) == 9


def test_two_windows_see_what_the_other_has_done(
    shown: ValidateWorkspace, make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot
) -> None:
    other = open_window(make_window, paths)
    other.stack.show_key("validate")
    page = page_of(other)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert len(page.form.list) == 9
    page.runs.remove(page.store.entries[:4])
    shown.runs.remove(shown.store.entries[4:6])
    qtbot.waitUntil(lambda: not page.store.busy and not shown.store.busy, timeout=WAIT_MS)
    shown.store.look()
    page.store.look()
    qtbot.waitUntil(
        lambda: len(page.form.list) == len(shown.form.list) == 3 and page.settled(), timeout=WAIT_MS
    )


def test_a_process_that_is_killed_leaves_the_runs_it_has_added(
    make_window: Callable[[], MainWindow], paths: Paths, root: Path, qtbot: QtBot
) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from core.evidence.readers.detect import read_files\n"
        "from core.evidence.run_log import RunLog\n"
        "log = RunLog(Path(sys.argv[1]))\n"
        "log.add('', read_files([Path(sys.argv[2])]).runs)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    if not hasattr(os, "fork"):
        pytest.skip("no such signal here")
    paths.data.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", code, str(paths.data / DATABASE), str(BENCH)],
        cwd=root,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    window = open_window(make_window, paths)
    window.stack.show_key("validate")
    page = page_of(window)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    assert len(page.form.list) == 8


def test_a_damaged_log_is_said_and_set_aside(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot
) -> None:
    paths.data.mkdir(parents=True, exist_ok=True)
    (paths.data / DATABASE).write_bytes(b"no database at all" * 400)
    window = open_window(make_window, paths)
    window.stack.show_key("validate")
    settle(page_of(window), qtbot)
    assert "damaged" in window.workspace.messages.text_of("file")


# -- calibration -----------------------------------------------------------------------------------


def many_runs(scenario: Scenario, slower: float) -> list[Run]:
    """A service whose steps all take so many times longer than predicted."""
    runs = []
    for users in (1, 2, 4, 8, 12, 16, 20, 24):
        for prompt, answer in ((512, 256), (1024, 512), (2048, 128)):
            setting = Setting(
                engine="vllm",
                engine_version=scenario.engine.version,
                model=scenario.model.name,
                accelerator=scenario.accelerator.name,
                input_tokens=prompt,
                output_tokens=answer,
                concurrency=users,
                requests=10 * users,
            )
            keys = ("time_to_first_token", "time_per_output_token")
            run = Run(Origin("vllm_serve"), setting, {(key, "mean"): 0.1 for key in keys})
            (pair,) = pair_runs([run], scenario)
            figures = {(c.figure, c.statistic): c.predicted * slower for c in pair.comparisons}
            runs.append(Run(Origin("vllm_serve", "", f"{users}-{prompt}.json", 1), setting, figures))
    return runs


def test_calibrate_save_use_undo_export_and_import(
    make_window: Callable[[], MainWindow],
    paths: Paths,
    scenario: Scenario,
    dialogs: Any,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    from core.evidence.run_files import runs_jsonl

    use_folders(paths.calibrations)
    window = open_window(make_window, paths)
    file = tmp_path / "slow.jsonl"
    file.write_text(runs_jsonl(many_runs(scenario, 1.3)))
    window.files.intake.take_path(file)
    qtbot.waitUntil(lambda: window.stack.key == "validate", timeout=WAIT_MS)
    page = page_of(window)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    page.calibrate.click()
    settle(page, qtbot)
    result = page.calibration.result
    assert page.tab == "calibrate" and result is not None and result.calibration is not None
    assert result.before == pytest.approx(1 - 1 / 1.3, abs=0.01) and result.after < 0.05
    assert page.calibration.table.rows
    assert page.calibration.name.text() == "vLLM RTX 4090"
    page.calibration.name.setText("Our 4090")
    steps, before = window.document.undo_stack.count(), window.estimation.estimate
    page.calibration.use.click()
    assert window.document.scenario.engine.calibration == "Our 4090"
    assert window.document.undo_stack.count() == steps + 1
    qtbot.waitUntil(lambda: "Our 4090" in window.status.text(), timeout=WAIT_MS)
    after = window.estimation.estimate
    assert before is not None and after is not None and before.speed is not None and after.speed is not None
    was, now = (e.speed.time_per_output_token.expected for e in (before, after))
    assert now == pytest.approx(1.3 * was, rel=0.05)
    settle(page, qtbot)
    assert page.view is not None and np.median(np.abs(page.view.points.errors)) < 0.05
    profile = tmp_path / "ours.calibration.json"
    dialogs.files.append(profile)
    page.calibration.export.click()
    window.document.undo()
    assert window.document.scenario.engine.calibration == ""
    for kept in paths.calibrations.iterdir():
        kept.unlink()
    window.stack.show_key("estimate")
    drop(window, profile)
    qtbot.waitUntil(lambda: "saved" in window.workspace.messages.subjects(), timeout=WAIT_MS)
    qtbot.waitUntil(
        lambda: paths.calibrations.exists() and any(paths.calibrations.iterdir()), timeout=WAIT_MS
    )
    assert window.stack.key == "validate" and page.tab == "calibrate"
    assert paths.runs == paths.data / DATABASE
    assert [file.name for file in paths.calibrations.iterdir()] == ["our-4090.calibration.json"]
    dict(window.workspace.messages.links_of("saved"))["Use it"]()
    assert window.document.scenario.engine.calibration == "Our 4090"
    broken = tmp_path / "broken.calibration.json"
    broken.write_text('{"format": "something else"}')
    drop(window, broken)
    qtbot.waitUntil(lambda: "broken" in window.workspace.messages.text_of("saved"), timeout=WAIT_MS)


def test_a_calibration_is_named_after_what_its_runs_ran_on(scenario: Scenario) -> None:
    """And not after the device of the scenario that is open."""
    entries = [Entry(n, "", run) for n, run in enumerate(many_runs(scenario, 1.3))]
    other = with_values(scenario, {"accelerator": load_accelerator("H100 SXM5 80GB")})
    *_, result = calibrated(entries, other, None)
    assert result is not None and result.calibration is not None
    assert result.calibration.name == "vLLM RTX 4090"
    *_, none = calibrated((), other, None)
    assert none is not None and none.calibration is None


def test_too_few_runs_are_refused_with_what_to_measure(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    shown.form.list.tick(0)
    shown.calibrate.click()
    settle(shown, qtbot)
    result = shown.calibration.result
    assert result is not None and result.calibration is None
    assert "too few" in shown.calibration.title.text()
    assert len(shown.calibration.plan.text().splitlines()) == 3
    assert shown.calibration._name_row.isHidden()


# -- diagnosis -------------------------------------------------------------------------------------


def test_diagnose_is_filled_from_the_run_and_walks_the_symptoms(
    shown: ValidateWorkspace, qtbot: QtBot
) -> None:
    shown.choose(0)
    shown.show_tab("diagnose")
    page = shown.diagnosis
    run = shown.board.pairs[0].run if shown.board is not None else None
    assert run is not None and page.values["time_per_output_token"] == run.figure("time_per_output_token")
    page.edits["time_per_output_token"].clear()
    qtbot.keyClicks(page.edits["time_per_output_token"], "80")
    assert page.values["time_per_output_token"] == pytest.approx(0.08)
    page.go.click()
    settle(shown, qtbot)
    assert page.found is not None
    placed = {one.figure: one for one in page.found.placed}
    assert placed["time_per_output_token"].state in ("worse", "much_worse")
    assert page.suspects.items and page.table.rows
    page.symptoms.click()
    manual = window_of(shown).shell._manual
    assert manual is not None and manual.view.place[0] == "symptoms"


def test_a_wrong_observation_is_said_and_nothing_is_placed(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    shown.show_tab("diagnose")
    page = shown.diagnosis
    qtbot.keyClicks(page.edits["memory_used"], "much")
    page.go.click()
    assert page.sentences.text() and page.found is None


# -- over the plots of Estimate ---------------------------------------------------------------------


def test_runs_of_this_scenario_are_marked_on_the_plots_of_estimate(
    shown: ValidateWorkspace, qtbot: QtBot
) -> None:
    """Eight loads of the example stand where they were measured; the switch takes them away."""
    window = window_of(shown)
    window.stack.show_key("estimate")
    window.load_plots()
    tabs = window.workspace.tabs
    qtbot.waitUntil(lambda: tabs.measured is not None and bool(tabs.measured.text()), timeout=WAIT_MS)
    switch = tabs.measured
    assert isinstance(switch, MarksSwitch) and switch.text() == "8 measured runs"
    marks = tabs.plots[1].measured
    assert marks is not None and marks.count == 8
    run = read_files([BENCH]).runs[3]
    ((first, users, values), _) = tabs.plots[1].measured_at(marks)
    assert first is tabs.plots[1].area.panels[0]
    assert users[3] == run.setting.concurrency == 8
    measured = run.figure("time_to_first_token")
    assert measured is not None and values[3] in (pytest.approx(measured), pytest.approx(measured * 1e3))
    before = tabs.plots[1].grab().toImage()
    switch.click()
    assert tabs.plots[1].measured is None and tabs.plots[1].grab().toImage() != before
    window.document.set_value("workload.prompt_tokens", 3000)
    qtbot.waitUntil(lambda: switch.isHidden(), timeout=WAIT_MS)
    window.document.undo()
    qtbot.waitUntil(lambda: not switch.isHidden(), timeout=WAIT_MS)


# -- large -----------------------------------------------------------------------------------------


def test_the_lists_of_many_runs_ask_only_for_what_is_in_sight(scenario: Scenario, qtbot: QtBot) -> None:
    from gui.widgets.run_list import RunLine, RunList

    asked: list[int] = []

    def line(row: int) -> RunLine:
        asked.append(row)
        return RunLine(str(row), "")

    listed = RunList("runs", line)
    qtbot.addWidget(listed)
    listed.resize(260, 420)
    listed.show_rows(range(100_000))
    listed.grab()
    assert 0 < len(set(asked)) < 30


def test_a_view_of_many_runs_is_filtered_and_grouped_as_one_by_one(scenario: Scenario) -> None:
    runs = many_runs(scenario, 1.2)
    entries = tuple(Entry(i + 1, "", run) for i, run in enumerate(runs))
    found = [board for board in boards(entries, scenario, None) if board is not None]
    assert found[-1].finished
    view = view_of(found[-1], Question(figure="time_per_output_token", group="model"))
    assert view.groups[0].n == len(runs)
    assert view.groups[0].median == pytest.approx(1 - 1 / 1.2, abs=1e-6)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_words_of_every_reader_and_engine_are_there(language: str) -> None:
    words = Words(language)
    tools = {run.origin.tool for run in read_files(sorted(FIXTURES.glob("evidence_*/fixtures/*"))).runs}
    assert len(tools) > 15
    assert not [tool for tool in tools if content.name_of("tool", tool, words) == tool]
