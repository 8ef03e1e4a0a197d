"""The replay by hand, by keys and by itself; traces that are dropped; runs without records; copies."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.serving.requests import Records
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.frame.window import MainWindow
from gui.widgets.time_slider import TimeSlider
from gui.work.simulation import Progress, Shot, fates_of
from gui.workspaces.simulate import SimulateWorkspace
from gui.workspaces.simulate_pages import SimulatePages

WAIT_MS = 20_000


@pytest.fixture
def slider(qtbot: QtBot) -> TimeSlider:
    made = TimeSlider(Words("en"))
    qtbot.addWidget(made)
    made.resize(600, 32)
    made.set_end(100.0)
    made.show()
    return made


def test_it_is_dragged(slider: TimeSlider, qtbot: QtBot) -> None:
    track, seen = slider._track(), []
    slider.moved.connect(seen.append)
    middle = QPoint(round(track.center().x()), 16)
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=middle)
    assert slider.now == pytest.approx(50, abs=1)
    for share in (0.6, 0.8, 1.5):
        qtbot.mouseMove(slider, QPoint(round(track.left() + share * track.width()), 16))
    qtbot.waitUntil(lambda: slider.now == 100.0, timeout=WAIT_MS)
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=middle)
    qtbot.mouseMove(slider, QPoint(round(track.left()), 16))
    qtbot.wait(20)
    assert slider.now == 100.0 and seen == sorted(seen) and len(seen) >= 3


def test_keys_move_it_play_it_and_change_its_speed(slider: TimeSlider, qtbot: QtBot) -> None:
    key = Qt.Key
    for pressed, now in (
        (key.Key_End, 100.0), (key.Key_Left, 99.5), (key.Key_Home, 0.0), (key.Key_PageUp, 5.0),
        (key.Key_Right, 5.5),
    ):  # fmt: skip
        qtbot.keyClick(slider, pressed)
        assert slider.now == pytest.approx(now)
    for pressed, speed in (
        (key.Key_Down, 2),
        (key.Key_Up, 5),
        (key.Key_Up, 10),
        (key.Key_Up, 20),
        (key.Key_Up, 50),
        (key.Key_Up, 50),
    ):
        qtbot.keyClick(slider, pressed)
        assert slider.speed == speed
    qtbot.keyClick(slider, key.Key_Space)
    assert slider.playing
    qtbot.waitUntil(lambda: slider.now > 8.0, timeout=WAIT_MS)
    qtbot.keyClick(slider, key.Key_Space)
    assert not slider.playing


def test_each_speed_is_so_many_times_as_fast_and_ends(slider: TimeSlider) -> None:
    for speed in (0.5, 1, 10):
        slider.set_time(0.0)
        slider.speed = speed
        slider._advance(0.5)  # of our time
        assert slider.now == pytest.approx(0.5 * speed)
    slider.set_time(99.99)
    slider.play(True)
    slider._advance(0.1)
    assert slider.now == 100.0 and not slider.playing


@pytest.mark.parametrize(("end", "speed"), [(4.0, 1), (30.0, 1), (87.0, 5), (600.0, 20)])
def test_a_run_begins_at_a_speed_that_shows_it_in_half_a_minute(
    slider: TimeSlider, end: float, speed: float
) -> None:
    slider.set_end(end)
    assert slider.speed == speed and end / slider.speed <= 30


def test_a_speed_that_was_chosen_stays(slider: TimeSlider, qtbot: QtBot) -> None:
    slider.set_end(87.0)
    qtbot.keyClick(slider, Qt.Key.Key_Down)
    slider.set_end(600.0)
    assert slider.speed == 2


def _drop(window: MainWindow, *files: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    place, action, button = QPointF(600, 400), Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    key = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(window, QDragEnterEvent(place.toPoint(), action, data, button, key))
    QApplication.sendEvent(window, QDropEvent(place, action, data, button, key))


@pytest.fixture
def simulating(window: MainWindow, qtbot: QtBot) -> SimulateWorkspace:
    window.show()
    window.document.set_values([("simulation.duration_s", 60.0), ("workload.output_tokens", 32)], "x")
    window.stack.show_key("simulate")
    page = window.stack.page("simulate")
    assert isinstance(page, SimulateWorkspace)
    qtbot.waitUntil(lambda: page.settled() and page.shot is not None, timeout=WAIT_MS)
    return page


def test_a_trace_that_is_dropped_is_run(
    simulating: SimulateWorkspace, window: MainWindow, tmp_path: Path, qtbot: QtBot
) -> None:
    trace = tmp_path / "day.jsonl"
    rows = ('{"timestamp": 0, "input_length": 200, "output_length": 20, "hash_ids": [1]}',
            '{"timestamp": 900, "input_length": 300, "output_length": 10, "hash_ids": [1, 2]}')  # fmt: skip
    trace.write_text("\n".join(rows), encoding="utf-8")
    _drop(window, trace)
    qtbot.waitUntil(lambda: simulating.settled() and simulating.shot.result.asked == 2, timeout=WAIT_MS)  # type: ignore[union-attr]
    assert window.document.scenario.simulation.trace == "day.jsonl"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timestamp,input\n0,5\n", "output"),
        ("timestamp,input,output\n0,200,20\nnoon,3,4\n", "3"),
        ("", "no requests"),
        ("timestamp,input,output\n0,200,-1\n", "2"),
    ],
)
def test_a_bad_trace_that_is_dropped_gives_a_sentence(
    simulating: SimulateWorkspace, window: MainWindow, tmp_path: Path, qtbot: QtBot, text: str, said: str
) -> None:
    before, trace = window.document.scenario, tmp_path / "bad.csv"
    trace.write_text(text, encoding="utf-8")
    _drop(window, trace)
    qtbot.waitUntil(lambda: bool(window.workspace.messages.text_of("trace")), timeout=WAIT_MS)
    assert said in window.workspace.messages.text_of("trace")
    assert window.document.scenario == before and simulating.shot is not None


def test_a_run_whose_records_are_gone_still_shows_its_course(scenario: Scenario, qtbot: QtBot) -> None:
    result = simulate(with_values(scenario, {"simulation.duration_s": 60.0, "workload.output_tokens": 32}))
    bare = replace(result, records=Records())
    pages = SimulatePages(Words("en"))
    qtbot.addWidget(pages)
    pages.resize(900, 600)
    pages.show()
    done = Progress(1.0, result.seconds, result.asked, result.done)
    for tab in ("time", "percentiles"):
        pages.show_tab(tab)
        pages.show_shot(Shot(bare.scenario, bare, fates_of(bare.records), done, 0.1, True))
        qtbot.waitUntil(lambda: not pages.busy)
        assert not pages.grab().isNull()
    assert "running" in pages.over.reading(10.0)


def test_preemptions_and_cache_hits_have_a_course_where_there_are_any(
    scenario: Scenario, qtbot: QtBot
) -> None:
    plain = {"simulation.duration_s": 300.0, "simulation.requests": 60, "workload.output_tokens": 1024}
    crowded = {"workload.users": 60, "workload.prompt_tokens": 2048}
    talking = {"simulation.turns": 4, "workload.users": 4, "engine.max_model_len": 16384}
    pages = SimulatePages(Words("en"))
    qtbot.addWidget(pages)
    over = pages.over
    over.resize(800, 400)
    for changes, panels in (({"workload.users": 4}, 3), (crowded, 4), (talking, 4)):
        result = simulate(with_values(scenario, plain | changes))
        assert (result.preemptions > 0) == (changes is crowded)
        done = Progress(1.0, result.seconds, result.asked, result.done)
        over.show_shot(Shot(result.scenario, result, fates_of(result.records), done, 0.1, True))
        assert over.panels == panels and not over.grab().isNull()


def test_a_rate_says_how_many_copies_it_takes(
    simulating: SimulateWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    window.document.set_values([("workload.load", "requests"), ("workload.request_rate", 0.2)], "x")
    simulating.show_tab("load")
    line = simulating.pages.copies
    qtbot.waitUntil(lambda: simulating.settled() and simulating.study is not None, timeout=WAIT_MS)
    found = simulating.study.replicas  # type: ignore[union-attr]
    assert found is not None and found.finished and not line.isHidden()
    assert "0.200 requests/s" in line.text.text()
    if found.replicas:
        line.asked.emit(2 * found.accelerators)
        assert window.document.scenario.deployment.accelerators == 2 * found.accelerators
    window.document.set_value("workload.load", "users")
    qtbot.waitUntil(lambda: simulating.settled() and simulating.study.found.by == "users", timeout=WAIT_MS)  # type: ignore[union-attr]
    assert line.isHidden()
