"""Traces in the Simulate workspace: which one is read, what is shown without one, what its load curve is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from core.files.results_file import KeptLoad
from core.planning.capacity_search import CapacityFound, trial
from core.quantities import Range
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.simulate import load_detail
from gui.frame.window import MainWindow
from gui.work.simulation import Study
from gui.workspaces.simulate import SimulateWorkspace, _essence, _is_load_of

WAIT_MS = 60_000


def write(place: Path, count: int, rate: float = 0.5) -> Path:
    """A trace of so many short requests."""
    times = np.cumsum(np.random.default_rng(count).exponential(1.0 / rate, count))
    rows = [f"{time:.3f},{200 + 7 * i % 90},{10 + i % 9}" for i, time in enumerate(times)]
    place.write_text("\n".join(["timestamp,input,output", *rows]) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def shown(window: MainWindow, qtbot: QtBot) -> SimulateWorkspace:
    window.show()
    window.document.set_values([("workload.users", 4), ("simulation.duration_s", 60.0)], "x")
    window.stack.show_key("simulate")
    page = window.stack.page("simulate")
    assert isinstance(page, SimulateWorkspace)
    qtbot.waitUntil(lambda: page.settled() and page.shot is not None, timeout=WAIT_MS)
    return page


def choose(page: SimulateWorkspace, dialogs: Any, file: Path) -> None:
    dialogs.files.append(file)
    page.traces.ask()


def asked(page: SimulateWorkspace) -> int:
    """Requests of the run that is shown; 0 while it is another's."""
    return page.shot.result.asked if page.settled() and page.shot is not None else 0


def test_a_second_trace_is_read_where_the_first_lies_beside_the_scenario(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    first, second = write(tmp_path / "first.csv", 12), write(tmp_path / "second.csv", 30)
    choose(shown, dialogs, first)
    qtbot.waitUntil(lambda: asked(shown) == 12, timeout=WAIT_MS)
    window.document.save(tmp_path / "s.json")
    choose(shown, dialogs, second)
    qtbot.waitUntil(lambda: asked(shown) == 30, timeout=WAIT_MS)
    assert window.document.scenario.simulation.trace == "second.csv"
    assert "30 requests" in shown.form.row("simulation.trace").reason.text()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    choose(shown, dialogs, write(elsewhere / "second.csv", 40))  # of the same name
    qtbot.waitUntil(lambda: asked(shown) == 40, timeout=WAIT_MS)


def test_a_trace_that_cannot_be_read_leaves_the_old_one_and_says_why(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    choose(shown, dialogs, write(tmp_path / "first.csv", 12))
    qtbot.waitUntil(lambda: asked(shown) == 12, timeout=WAIT_MS)
    window.document.save(tmp_path / "s.json")
    broken = tmp_path / "broken.csv"
    broken.write_text("timestamp,input,output\n0,-5,3\n", encoding="utf-8")
    choose(shown, dialogs, broken)
    qtbot.waitUntil(lambda: bool(window.workspace.messages.text_of("trace")), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: asked(shown) == 12, timeout=WAIT_MS)
    assert not shown.pages.stale and window.document.scenario.simulation.trace == "first.csv"
    window.document.set_value(
        "simulation.trace", "broken.csv"
    )  # beside the scenario: read once, not for ever
    qtbot.waitUntil(lambda: shown.pages.stale and not shown.traces.reading.working, timeout=WAIT_MS)
    qtbot.wait(100)
    assert not shown.traces.reading.working and "broken.csv" in shown.heading.detail


def test_the_trace_of_another_scenario_is_not_kept_by_its_name(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    for folder, count in (("a", 12), ("b", 30)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "trace.csv", count)
    choose(shown, dialogs, tmp_path / "a" / "trace.csv")
    qtbot.waitUntil(lambda: asked(shown) == 12, timeout=WAIT_MS)
    window.document.save(tmp_path / "b" / "s.json")
    window.document.load(tmp_path / "b" / "s.json")
    qtbot.waitUntil(lambda: asked(shown) == 30, timeout=WAIT_MS)


def test_nothing_runs_in_place_of_a_trace_that_is_not_there(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    before = shown.shot
    window.document.set_value("simulation.arrivals", "trace")
    for tab in ("load", "time", "load"):
        shown.show_tab(tab)
        shown._on_point()  # the estimate has come
        shown.form.run.click()
        qtbot.waitUntil(lambda: not shown._rest.isActive(), timeout=WAIT_MS)
        qtbot.wait(20)
        assert not shown.run.working and not shown.load_work.working and shown.shot is before
        assert shown.strip.stale and shown.pages.stale
        assert shown.heading.headline == window.words("simulating.trace_needed")
    assert shown.pages.no_load.text() == window.words("simulating.curve.no_trace")
    assert shown.pages.no_load.isVisible() and not shown.pages.curves[0].isVisible()


def test_a_trace_that_is_undone_is_told_no_more(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    window.document.set_value("simulation.arrivals", "trace")
    window.document.end_merge()
    choose(shown, dialogs, write(tmp_path / "first.csv", 12))
    qtbot.waitUntil(lambda: asked(shown) == 12, timeout=WAIT_MS)
    window.document.undo()
    assert window.document.scenario.simulation.trace == ""
    shown._on_point()
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
    assert "12 requests" not in shown.form.row("simulation.trace").reason.text()
    assert shown.strip.stale and shown.pages.stale and not shown.run.working
    window.document.redo()
    qtbot.waitUntil(lambda: asked(shown) == 12 and not shown.pages.stale, timeout=WAIT_MS)


def test_the_load_curve_of_a_trace_agrees_with_its_run(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    """The form's own rate would be far beyond what is carried; it counts for nothing."""
    window.document.set_values([("workload.load", "requests"), ("workload.request_rate", 50.0)], "x")
    choose(shown, dialogs, write(tmp_path / "first.csv", 60, rate=1.0))
    qtbot.waitUntil(lambda: asked(shown) == 60, timeout=WAIT_MS)
    shown.show_tab("load")
    qtbot.waitUntil(lambda: shown.settled() and bool(shown.study and shown.study.finished), timeout=WAIT_MS)
    assert shown.study is not None and shown.traces.trace is not None and shown.shot is not None
    rate = shown.traces.trace.rate
    assert shown.study.scenario.workload.request_rate == pytest.approx(rate)  # where "now" is drawn
    own = next(one for one in shown.study.trials if one.load == pytest.approx(rate))
    run = simulate(window.document.scenario, shown.traces.trace)
    assert own.time_to_first_token.expected == pytest.approx(run.time_to_first_token.p95.expected)
    assert own.meets and shown.study.found.most.expected > rate
    assert shown.study.replicas is not None and shown.study.replicas.replicas == 1
    assert "60" in shown.pages.took.text() and shown.pages.curves[0].isVisible()
    studied = shown.study
    shown.show_tab("time")
    shown.show_tab("load")
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
    assert shown.study is studied, "what is known is not worked out again"


def test_requests_that_all_come_at_once_have_no_load_curve(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    at_once = tmp_path / "once.csv"
    at_once.write_text("timestamp,input,output\n" + "3,100,10\n" * 5, encoding="utf-8")
    choose(shown, dialogs, at_once)
    qtbot.waitUntil(lambda: asked(shown) == 5, timeout=WAIT_MS)
    shown.show_tab("load")
    why = window.words("problems.trace.no_rate")
    qtbot.waitUntil(lambda: shown.settled() and shown.heading.headline == why, timeout=WAIT_MS)
    assert shown.pages.no_load.text() == why and shown.shot is not None and not shown.strip.stale


def test_an_empty_load_curve_of_a_long_run_says_what_is_missing(
    shown: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    long = {"workload.load": "requests", "workload.request_rate": 0.5, "simulation.duration_s": 400_000.0}
    window.document.set_values([*long.items()], "x")
    shown.show_tab("load")
    qtbot.waitUntil(lambda: not shown._rest.isActive(), timeout=WAIT_MS)
    page = shown.pages
    assert page.no_load.isVisible() and page.no_load.text() == window.words("simulating.curve.press")
    assert not any(curve.isVisible() for curve in page.curves)
    qtbot.waitUntil(lambda: page.no_load.height() > 0.7 * page.height())
    shown.form.run.click()
    assert shown.run.working and page.no_load.text() == window.words("simulating.curve.after")
    shown.cancel.click()
    assert page.no_load.isVisible() and page.no_load.text() == window.words("simulating.curve.press")
    window.document.undo()
    qtbot.waitUntil(lambda: shown.study is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: all(curve.isVisible() for curve in page.curves), timeout=WAIT_MS)


@pytest.mark.parametrize(
    ("language", "by", "said"),
    [
        ("en", "requests", "Between 0.237 and 0.356 requests/s."),
        ("zh_CN", "requests", "每秒 0.237–0.356 个请求。"),
        ("en", "users", "Between 3 and 5 users."),
        ("zh_CN", "users", "3–5 个用户。"),
    ],
)
def test_a_range_of_loads_has_one_unit(scenario: Scenario, language: str, by: str, said: str) -> None:
    most = Range(3, 4, 5) if by == "users" else Range(0.237, 0.3, 0.356)
    one = trial(with_values(scenario, {"workload.load": by}), most.expected, 60)
    found = CapacityFound(by, most, "first_token", 0.95, (one,), True)
    told = load_detail(Study(scenario, found, (one,), -1, 1.0, True), None, Words(language))
    assert told.startswith(said)


def test_a_trace_that_is_chosen_is_the_load_of_the_form_in_one_step(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    """So what is estimated and recommended is what is replayed; one undo takes it back."""
    before = window.document.scenario
    rows = "".join(f"{i / 4},{700 + 2 * i},{30}\n" for i in range(21))
    (tmp_path / "own.csv").write_text("timestamp,input,output\n" + rows, encoding="utf-8")
    choose(shown, dialogs, tmp_path / "own.csv")
    qtbot.waitUntil(lambda: asked(shown) == 21, timeout=WAIT_MS)
    work = window.document.scenario.workload
    assert (work.load, work.request_rate, work.prompt_tokens, work.output_tokens) == (
        "requests",
        4.0,
        720,
        30,
    )
    window.document.undo()
    assert window.document.scenario == before


def test_a_kept_load_curve_of_a_trace_is_found_again(
    shown: SimulateWorkspace, window: MainWindow, dialogs: Any, tmp_path: Path, qtbot: QtBot
) -> None:
    """Its scenario has the rate of the trace, whatever the form says."""
    choose(shown, dialogs, write(tmp_path / "first.csv", 20))
    qtbot.waitUntil(lambda: asked(shown) == 20, timeout=WAIT_MS)
    window.document.set_value("workload.load", "users")  # a trace that is chosen sets its own
    qtbot.waitUntil(lambda: shown.settled() and asked(shown) == 20, timeout=WAIT_MS)
    shown.show_tab("load")
    qtbot.waitUntil(lambda: shown.settled() and bool(shown.study and shown.study.finished), timeout=WAIT_MS)
    kept, asked_for = shown._keeper.part("load"), shown.shot
    assert isinstance(kept, KeptLoad) and asked_for is not None
    assert kept.scenario.workload.load == "requests" != asked_for.scenario.workload.load
    assert _is_load_of(kept, _essence(asked_for.scenario))
    other = with_values(asked_for.scenario, {"targets.time_to_first_token_s": 9.0})
    assert not _is_load_of(kept, _essence(other))
