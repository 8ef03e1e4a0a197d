"""The Simulate workspace: runs by themselves, replay, traces, files, what follows an edit."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QPainter, QPixmap
from pytestqt.qtbot import QtBot

from core.planning import capacity_search as search
from core.serving.simulator import simulate
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.simulate import cards, load_runs
from gui.frame.window import MainWindow
from gui.plots import time_axis
from gui.plots.draw import Draw
from gui.theme import theme
from gui.work import simulation
from gui.work.background import Work
from gui.work.simulation import shots
from gui.workspaces.simulate import SimulateWorkspace

WAIT_MS = 60_000


def workspace_of(window: MainWindow) -> SimulateWorkspace:
    page = window.stack.page("simulate")
    assert isinstance(page, SimulateWorkspace)
    return page


@pytest.fixture
def shown(window: MainWindow, qtbot: QtBot) -> SimulateWorkspace:
    window.show()
    window.document.set_values(
        [("workload.users", 4), ("simulation.duration_s", 120.0), ("workload.output_tokens", 64)], "x"
    )
    window.stack.show_key("simulate")
    page = workspace_of(window)
    qtbot.waitUntil(lambda: page.settled() and page.shot is not None, timeout=WAIT_MS)
    return page


def test_what_is_shown_is_what_the_simulator_finds(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    result = simulate(window.document.scenario)
    assert shown.shot is not None and shown.shot.finished
    assert shown.shot.result.done == result.done > 0
    assert shown.shot.result.time_to_first_token.p95 == result.time_to_first_token.p95
    assert shown.strip.cards[0].name == "First token, median"
    shown.show_tab("percentiles")
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
    texts = [row.cells[0].text for row in shown.pages.table.rows]
    assert texts[0] == "First token (TTFT)" and len(texts) == 5


def test_an_edit_runs_it_again(shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot) -> None:
    before = shown.shot
    window.document.set_value("workload.users", 8)
    qtbot.waitUntil(lambda: shown.settled() and shown.shot is not before, timeout=WAIT_MS)
    assert shown.shot is not None and shown.shot.scenario.workload.users == 8
    window.document.undo()
    qtbot.waitUntil(lambda: shown.settled() and shown.shot.scenario.workload.users == 4, timeout=WAIT_MS)


def test_notes_and_limits_of_the_search_change_no_run(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    before = shown.shot
    window.document.set_values([("notes", "for the meeting"), ("search.most_accelerators", 2)], "x")
    qtbot.wait(300)
    assert shown.shot is before and shown.settled()


def test_nothing_runs_out_of_sight(shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot) -> None:
    before = shown.shot
    window.stack.show_key("estimate")
    window.document.set_value("workload.users", 3)
    qtbot.wait(300)
    assert shown.shot is before and not shown.run.working
    window.stack.show_key("simulate")
    qtbot.waitUntil(lambda: shown.settled() and shown.shot is not before, timeout=WAIT_MS)


def test_long_runs_wait_for_the_button_and_can_be_cancelled(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    before = shown.shot
    window.document.set_values(
        [
            ("workload.load", "requests"),
            ("workload.request_rate", 0.5),
            ("simulation.duration_s", 400_000.0),
            ("workload.prompt_tokens", 128),
        ],
        "x",
    )
    qtbot.waitUntil(lambda: not shown._rest.isActive(), timeout=WAIT_MS)
    qtbot.wait(50)
    assert not shown.run.working and shown.shot is before
    assert "200" in shown.heading.headline  # 200,000 requests
    # What is shown is of the scenario before: figures and plots step back, and the line says so.
    assert shown.strip.stale and shown.pages.stale and "before" in shown.heading.detail
    window.document.undo()
    assert not shown.pages.stale and not shown.strip.stale
    assert "200" not in shown.heading.headline
    window.document.redo()
    qtbot.waitUntil(lambda: shown.pages.stale, timeout=WAIT_MS)
    shown.form.run.click()
    assert shown.run.working
    qtbot.waitUntil(lambda: shown.shot is not before, timeout=WAIT_MS)
    assert shown.shot is not None and not shown.shot.finished, "first results come while it runs"
    assert not shown.pages.stale
    shown.cancel.click()
    assert not shown.run.working and shown.cancel.isHidden()
    kept = shown.shot
    qtbot.wait(300)
    assert shown.shot is kept, "nothing comes after a cancel"


def test_the_replay_moves_all_plots(shown: SimulateWorkspace, qtbot: QtBot) -> None:
    shown.pages.go_to(30.0)
    assert shown.pages.slider.now == shown.pages.over.now == 30.0
    with qtbot.waitSignal(shown.pages.slider.moved, timeout=WAIT_MS):
        shown.pages.slider.play(True)
    assert shown.pages.slider.playing and shown.pages.over.now > 30.0
    shown.pages.slider.play(False)
    rows = shown.pages.rows.visible_rows(200.0)
    assert rows == sorted(rows) and len(rows) > 3
    assert "Request" in shown.pages.rows.told(rows[0])
    shown.pages.slider.set_time(1e9)
    assert shown.pages.slider.now == shown.pages.slider.end


def test_requests_go_to_a_file(shown: SimulateWorkspace, dialogs: Any, tmp_path: Path, qtbot: QtBot) -> None:
    target = tmp_path / "requests.csv"
    dialogs.files.append(target)
    shown.save.click()
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert shown.shot is not None and len(rows) == shown.shot.result.asked
    dialogs.files.append(tmp_path / "none" / "requests.csv")
    shown.save.click()
    assert "Not saved" in shown._context.messages.text_of("saved")


def test_a_trace_is_read_and_run(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    trace = tmp_path / "morning.csv"
    trace.write_text("timestamp,input,output\n0,200,20\n1.5,300,30\n4,100,10\n", encoding="utf-8")
    dialogs.files.append(trace)
    shown.traces.ask()
    qtbot.waitUntil(lambda: shown.settled() and shown.shot.result.asked == 3, timeout=WAIT_MS)
    scenario = window.document.scenario
    assert (scenario.simulation.arrivals, scenario.simulation.trace) == ("trace", "morning.csv")
    assert "3 requests" in shown.form.row("simulation.trace").reason.text()
    window.document.undo()
    qtbot.waitUntil(lambda: shown.settled() and shown.shot.result.asked != 3, timeout=WAIT_MS)


def test_a_trace_dropped_anywhere_goes_to_the_simulation(
    window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    trace = tmp_path / "请求.csv"
    trace.write_text("时间,输入长度,输出长度\n0,200,20\n1.5,300,30\n4,100,10\n", encoding="gb18030")
    window.show()
    assert window.stack.key == "estimate" and window.files.intake.take_path(trace)
    assert window.stack.key == "simulate" and not window.workspace.messages.text_of("file")
    page = workspace_of(window)
    qtbot.waitUntil(
        lambda: page.settled() and page.shot is not None and page.shot.result.asked == 3, timeout=WAIT_MS
    )
    assert window.document.scenario.simulation.trace == "请求.csv"


def test_the_tick_at_the_target_is_for_the_percentile_that_must_meet_it(scenario: Scenario) -> None:
    result = simulate(with_values(scenario, {"workload.load": "requests", "workload.request_rate": 0.5}))
    first = result.time_to_first_token
    between = 0.5 * (first.p50.expected + first.p95.expected)
    assert first.p50.expected < between < first.p95.expected

    def state(share: float) -> tuple[str, str]:
        values = {"targets.time_to_first_token_s": between, "simulation.percentile": share}
        card = cards(replace(result, scenario=with_values(result.scenario, values)), Words("en"))[0]
        return card.target_state, card.note.split()[0]

    assert state(0.95) == ("warn", "p95") and state(0.5) == ("good", "p50")


def test_a_broken_trace_says_which_line(
    shown: SimulateWorkspace, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    before = window.document.scenario
    trace = tmp_path / "bad.csv"
    trace.write_text("timestamp,input,output\n0,200,20\n1,-5,30\n", encoding="utf-8")
    shown.traces.read(trace)
    qtbot.waitUntil(lambda: bool(window.workspace.messages.text_of("trace")), timeout=WAIT_MS)
    said = window.workspace.messages.text_of("trace")
    assert "3" in said and said.startswith("bad.csv: ")
    assert window.document.scenario == before
    window.files.intake.take_text("no such model as this")  # what is opened next is spoken of alone
    assert window.workspace.messages.text_of("file") and not window.workspace.messages.text_of("trace")
    shown.traces.read(trace)
    qtbot.waitUntil(lambda: bool(window.workspace.messages.text_of("trace")), timeout=WAIT_MS)
    assert not window.workspace.messages.text_of("file")


def test_a_trace_that_is_not_there_is_asked_for(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    window.document.set_values([("simulation.arrivals", "trace"), ("simulation.trace", "gone.csv")], "x")
    qtbot.waitUntil(lambda: "gone.csv" in shown.heading.detail and not shown.run.working, timeout=WAIT_MS)


def test_a_scenario_has_no_trace_read_from_elsewhere(
    shown: SimulateWorkspace, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    """Whoever sends a file does not choose what is read here, nor which computer is asked for a share."""
    trace, home = tmp_path / "morning.csv", tmp_path / "sent"
    trace.write_text("timestamp,input,output\n0,200,20\n1.5,300,30\n", encoding="utf-8")
    home.mkdir()
    window.document.save(home / "s.json")
    for name in (str(trace), "../morning.csv", "//192.0.2.1/share/morning.csv", "n" * 300):
        window.document.set_values([("simulation.arrivals", "trace"), ("simulation.trace", name)], "x")
        qtbot.waitUntil(lambda: shown.heading.headline == window.words("simulating.trace_needed"))
        assert shown.traces.trace is None and shown.traces.path is None
    trace.rename(home / trace.name)
    window.document.set_value("simulation.trace", trace.name)
    qtbot.waitUntil(lambda: shown.settled() and shown.shot.result.asked == 2, timeout=WAIT_MS)


def test_a_service_that_does_not_start_is_said(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    window.document.set_value("precision.weights", "fp32")
    qtbot.waitUntil(lambda: shown.settled() and shown.shot is None, timeout=WAIT_MS)
    assert shown.heading.headline == "The service does not start."
    window.document.undo()
    qtbot.waitUntil(lambda: shown.settled() and shown.shot is not None, timeout=WAIT_MS)


def test_shots_grow_and_end_complete(scenario: Scenario) -> None:
    found = [shot for shot in shots(scenario, None) if shot is not None]
    assert found[-1].finished and not any(shot.finished for shot in found[:-1])
    shares = [shot.progress.share for shot in found]
    assert shares == sorted(shares) and shares[-1] == 1.0
    fates = found[-1].fates
    assert np.isfinite(fates.finish).all() and (fates.first >= fates.arrival).all()


def test_work_drops_what_is_stale(qtbot: QtBot) -> None:
    work, seen = Work(), []
    work.news.connect(seen.append)
    work.start(lambda: iter(["old"]))
    work.stop()
    work.start(lambda: iter(["new"]))
    qtbot.waitUntil(lambda: not work.working, timeout=WAIT_MS)
    assert seen == ["new"]


def test_a_fault_in_the_work_is_a_problem(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Callable[[], object]:
        raise ZeroDivisionError

    monkeypatch.setattr("sys.excepthook", lambda *_: None)
    work, failed = Work(), []
    work.failed.connect(failed.append)
    work.start(broken)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: bool(failed), timeout=WAIT_MS)
    assert failed[0][0].code == "internal" and not work.working


@pytest.mark.parametrize(
    ("seconds", "span", "text"),
    [(402.4, 600.0, "6:42"), (3999.0, 7200.0, "1:06:39"), (6.44, 30.0, "6.4 s"), (0.0, 2.0, "0.00 s")],
)
def test_moments(seconds: float, span: float, text: str) -> None:
    assert time_axis.clock(seconds, span) == text


def test_ticks_are_round_and_inside() -> None:
    for span in (0.5, 7.0, 61.0, 617.0, 5000.0, 90_000.0, 3e6):
        found = time_axis.ticks(0.0, span)
        assert 2 <= len(found) <= 9 and found[0] == 0.0 and found[-1] <= span


def test_all_points_of_a_load_curve_are_runs_of_one_length(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the scenario's own rate is one of them; a shorter run by itself is told to be one."""
    lengths, real = [], search.trial

    def noting(one: Scenario, load: float, requests: int, trace: Trace | None) -> search.Trial:
        lengths.append(requests)
        return real(one, load, 60)

    for module in (search, simulation):
        monkeypatch.setattr(module, "trial", noting)
    rate = 0.3 * search.ceiling(scenario)
    changes = {"workload.load": "requests", "workload.request_rate": rate, "workload.output_tokens": 32}
    given = with_values(scenario, changes)
    last = list(simulation.study(given))[-1]
    assert set(lengths) == {search.trial_requests(given.simulation.percentile)} == {2000}
    assert rate in [one.load for one in last.trials]
    words, shot = Words("en"), list(shots(with_values(given, {"simulation.duration_s": 30.0}), None))[-1]
    assert shot is not None and f"by itself has {shot.result.done}" in load_runs(last, shot, words)
    assert load_runs(last, None, words) == "2,000 requests a point"


@pytest.mark.parametrize("users", [4, 64])
def test_pictures_of_a_run_painted_in_steps_are_those_painted_at_once(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot, users: int
) -> None:
    assert shown.shot is not None
    few, rising = shown.shot, [("workload.users", users), ("simulation.duration_s", 2000.0)]
    window.document.set_values(rising, "x")
    qtbot.waitUntil(lambda: shown.settled() and shown.shot is not few, timeout=WAIT_MS)
    many = shown.shot
    assert len(many.fates) > 400
    for tab, plot in (("time", shown.pages.over), ("percentiles", shown.pages.spread)):
        shown.show_tab(tab)
        qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
        plot.show_shot(few)
        plot.grab()
        qtbot.waitUntil(lambda plot=plot: not plot.busy)
        before = plot.grab().toImage()
        plot.show_shot(many)
        assert plot.busy and plot.grab().toImage() == before  # until the last step
        qtbot.waitUntil(lambda plot=plot: not plot.busy)
        stepwise = plot.grab().toImage()
        plot.refill()
        assert plot.grab().toImage() == stepwise != before


def test_pictures_of_an_older_scenario_step_back(shown: SimulateWorkspace, window: MainWindow) -> None:
    over, ground = shown.pages.over, theme().canvas
    strong = over.grab().toImage()
    shown.pages.set_stale(True)
    weak = over.grab().toImage()
    for x, y in ((over.width() // 2, over.height() // 4), (over.width() // 3, over.height() // 2), (2, 2)):
        full, seen = strong.pixelColor(x, y), weak.pixelColor(x, y)
        for part in ("red", "green", "blue"):
            whole, base = getattr(full, part)(), getattr(ground, part)()
            assert abs(getattr(seen, part)() - (base + 0.4 * (whole - base))) <= 2
    shown.pages.set_stale(False)
    assert over.grab().toImage() == strong


def test_the_table_of_percentiles_steps_back_on_the_screen_too(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    shown.show_tab("percentiles")
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)

    def darkest() -> int:
        """What is really painted: a grab of the widget would paint it anew."""
        qtbot.wait(50)
        place = shown.pages.table.viewport()
        corner = place.mapTo(window, QPoint(0, 0))
        seen = window.screen().grabWindow(window.winId()).toImage()
        text = [
            seen.pixelColor(corner.x() + x, corner.y() + y).lightness() for x in range(200) for y in range(90)
        ]
        return min(text)

    strong = darkest()
    shown.pages.set_stale(True)
    assert darkest() > strong + 60
    shown.pages.set_stale(False)
    assert darkest() == strong


@pytest.mark.parametrize(
    ("drawn", "known", "said"),
    [(900, 900, ""), (1375, 1376, "1,375 of 1,376"), (1375, 3574, "1,375 of 3,574")],
)
def test_requests_that_are_not_drawn_are_told_in_whole_numbers(
    shown: SimulateWorkspace, monkeypatch: pytest.MonkeyPatch, drawn: int, known: int, said: str
) -> None:
    over = shown.pages.over
    over.grab()
    assert over._marks is not None
    monkeypatch.setattr(over, "_marks", replace(over._marks, shown=drawn, known=known))
    titles: list[str] = []
    monkeypatch.setattr(over, "_title", lambda _draw, _frame, title: titles.append(title))
    picture = QPixmap(over.size())
    with QPainter(picture) as painter:
        over._first_words(Draw(painter, theme()))
    assert (f"{said} requests are drawn" in titles[0]) == bool(said)
    assert ("one point per request" in titles[0]) != bool(said)
