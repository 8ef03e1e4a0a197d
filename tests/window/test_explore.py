"""Explorations: the picture agrees with the estimator, a click goes there, stale ones are dropped."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.files import scenario_file
from core.planning.explore import RESULTS, result_of
from core.planning.explore_axes import Axis, axis_for
from core.planning.explore_columns import only_cell
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.contents.explore import breaks, detail, headline, nearest, place_of, places, ticks
from gui.fields.range_edit import read_range
from gui.frame.window import MainWindow
from gui.plots.contour import contours, eased, smoothed
from gui.plots.heat_map import HeatMap
from gui.work.exploration import Exploration, Picture, _pictures
from gui.workspaces.explore import ExploreWorkspace
from gui.workspaces.explore_form import Question, Side


@pytest.fixture
def explore(qtbot: QtBot, window: MainWindow) -> ExploreWorkspace:
    """The workspace in sight with its first picture complete."""
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    window.stack.show_key("explore")
    page = window.stack.page("explore")
    assert isinstance(page, ExploreWorkspace)
    qtbot.waitUntil(page.settled, timeout=30_000)
    return page


def ask(qtbot: QtBot, page: ExploreWorkspace, question: Question) -> Picture:
    page.ask(question)
    qtbot.waitUntil(page.settled, timeout=30_000)
    assert page.map.picture is not None
    return page.map.picture


def cells_of(picture: Picture, count: int) -> list[tuple[int, int]]:
    rows, columns = picture.values.shape
    rng = np.random.default_rng(5)
    return [(int(rng.integers(rows)), int(rng.integers(columns))) for _ in range(count)]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ("workload.users", "workload.prompt_tokens"),
        ("workload.prompt_tokens", "workload.users"),
        ("workload.users", "accelerator"),
        ("precision.kv_cache", "deployment.tensor_parallel"),
    ],
)
def test_every_cell_is_what_the_estimator_says(
    qtbot: QtBot, explore: ExploreWorkspace, x: str, y: str
) -> None:
    picture = ask(qtbot, explore, Question(Side(x), Side(y), "time_per_output_token"))
    assert picture.share == 1
    compared = 0
    for cell in cells_of(picture, 12):
        if not picture.starts[cell]:
            continue
        point = estimate(explore.scenario_at(cell))
        assert picture.values[cell] == pytest.approx(result_of(point, "time_per_output_token"), rel=1e-6)
        assert picture.meets[cell] == (point.verdict.state == "good")
        compared += 1
    assert compared


def test_a_click_goes_there_and_one_undo_comes_back(
    qtbot: QtBot, explore: ExploreWorkspace, window: MainWindow
) -> None:
    before, plot = window.document.scenario, explore.map
    count = window.document.undo_stack.count()
    at = QPoint(round(plot.px(0.2)), round(plot.py(0.3)))
    cell = plot.cell_at(at.toPointF())
    assert cell is not None
    qtbot.mousePress(plot, Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseMove(plot, at + QPoint(40, -20))
    qtbot.mouseMove(plot, at + QPoint(80, -60))
    qtbot.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=at + QPoint(80, -60))
    end = plot.cell_at((at + QPoint(80, -60)).toPointF())
    assert end is not None
    picture = plot.picture
    assert picture is not None
    work = window.document.scenario.workload
    assert (work.users, work.prompt_tokens) == (picture.x.values[end[1]], picture.y.values[end[0]])
    assert window.document.undo_stack.count() == count + 1
    window.document.undo()
    assert window.document.scenario == before


def test_moving_within_the_picture_works_nothing_out_again(
    qtbot: QtBot, explore: ExploreWorkspace, window: MainWindow
) -> None:
    picture = explore.map.picture
    explore.adopt((3, 5))
    qtbot.wait(50)
    assert explore.map.picture is picture
    window.document.set_value("precision.kv_cache", "fp8")
    qtbot.waitUntil(lambda: explore.settled() and explore.map.picture is not picture, timeout=30_000)


def test_the_keyboard_reaches_and_takes_a_cell(
    qtbot: QtBot, explore: ExploreWorkspace, window: MainWindow
) -> None:
    before = window.document.scenario.workload.users
    qtbot.keyClick(explore.map, Qt.Key.Key_Right)
    qtbot.keyClick(explore.map, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert explore.map.pointer == explore.map.cursor_cell
    assert explore.map.accessibleDescription()
    qtbot.keyClick(explore.map, Qt.Key.Key_Return)
    assert window.document.scenario.workload.users > before
    qtbot.keyClick(explore.map, Qt.Key.Key_Escape)
    assert explore.map.cursor_cell is None


def test_the_reading_is_of_the_cell_under_the_pointer(qtbot: QtBot, explore: ExploreWorkspace) -> None:
    plot = explore.map
    picture = plot.picture
    assert picture is not None
    at = QPoint(round(plot.px(0.6)), round(plot.py(0.2)))
    cell = plot.cell_at(at.toPointF())
    assert cell is not None
    qtbot.mouseMove(plot, at)
    qtbot.waitUntil(lambda: explore._cell == cell and not explore._read_later.isActive())
    values = {line.name: line.value for line in explore.side.reading.lines}
    users = picture.x.values[cell[1]]
    assert values["Users"] == f"{users} users"
    assert "tok/s" in values["Output throughput"]


def test_a_new_question_drops_the_answer_to_the_old(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    exploration = Exploration()
    seen: list[Picture] = []
    exploration.shown.connect(seen.append)
    slow = axis_for(scenario, "engine.gpu_memory_utilization", 40)
    exploration.start(scenario, slow, axis_for(scenario, "accelerator"), "output_throughput")
    x, y = axis_for(scenario, "workload.users", 12), axis_for(scenario, "workload.prompt_tokens", 12)
    exploration.start(scenario, x, y, "output_throughput")
    qtbot.waitUntil(lambda: not exploration.working, timeout=30_000)
    qtbot.wait(100)
    assert seen
    assert {picture.x.path for picture in seen} == {"workload.users"}
    assert seen[-1].share == 1


def test_the_flag_never_says_a_number_with_the_unit_of_another_result(
    qtbot: QtBot, explore: ExploreWorkspace
) -> None:
    said: list[str] = []
    ask(qtbot, explore, replace(explore.question, result="time_per_output_token"))
    before, memory = explore.map.own_reading(), replace(explore.question, result="memory_per_device")
    explore.ask(memory)
    while not explore.settled():
        said.append(explore.map.own_reading())
        QApplication.processEvents()
    after = explore.map.own_reading()
    assert said[0] == before and before.endswith(" ms") and after.endswith(" GiB")
    # A coarse picture may say another amount first, but never the old number or the old unit with a new one.
    new = [reading for reading in said if reading != before]
    assert all(reading.endswith(" GiB") and before.removesuffix(" ms") not in reading for reading in new)


def test_a_long_exploration_sharpens_and_can_be_stopped(
    qtbot: QtBot, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count()  # each row takes 20 ms, however fast the machine
    monkeypatch.setattr("gui.work.exploration.time.perf_counter", lambda: 0.02 * next(clock))
    exploration = Exploration()
    seen: list[Picture] = []
    exploration.shown.connect(seen.append)
    x = axis_for(scenario, "engine.gpu_memory_utilization", 60)
    exploration.start(scenario, x, axis_for(scenario, "accelerator"), "kv_tokens")
    qtbot.waitUntil(lambda: len(seen) >= 2, timeout=30_000)
    assert 0 < seen[0].share < seen[1].share <= 1
    assert seen[0].known is not None  # another GPU's row is not made up from the one below it
    assert 0 < seen[0].known.all(axis=1).sum() < len(seen[0].y.values)
    assert np.isnan(seen[0].values[~seen[0].known]).all()
    exploration.stop()
    count = len(seen)
    exploration.wait()
    qtbot.wait(50)
    assert len(seen) == count


def test_the_first_picture_is_worked_out_in_rows(
    explore: ExploreWorkspace, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows in one call each, and no cell by itself."""
    picture = explore.map.picture
    assert picture is not None
    assert len(picture.y.values) >= 100
    asked: list[Scenario] = []
    monkeypatch.setattr(
        "core.planning.explore.only_cell", lambda one, index: asked.append(one) or only_cell(one, index)
    )
    *_, last = _pictures(scenario, picture.x, picture.y, picture.result)
    assert last is not None and last.share == 1 and np.isfinite(last.values).any()
    assert len(asked) <= len(picture.y.values)


def test_pictures_grow_rare_while_there_is_work(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 3 ms each: painting takes longer than a row, so few pictures leave the time to the work."""
    clock = itertools.count()
    monkeypatch.setattr("gui.work.exploration.time.perf_counter", lambda: 0.003 * next(clock))
    x, y = axis_for(scenario, "workload.prompt_tokens"), axis_for(scenario, "workload.output_tokens")
    told = [one for one in _pictures(scenario, x, y, "time_to_first_token") if one is not None]
    assert told[0].seconds < 0.1 and told[-1].share == 1
    assert 3 <= len(told) <= 8
    assert all(a.share < b.share for a, b in itertools.pairwise(told))
    assert all(one.known is None for one in told)
    assert told[0].starts.any(axis=1).all()  # rows to come look like the last one below


def test_what_is_not_worked_out_of_a_row_of_names_stays_blank(qtbot: QtBot, scenario: Scenario) -> None:
    x, y = axis_for(scenario, "workload.users", 20), axis_for(scenario, "precision.weights")
    whole = [one for one in _pictures(scenario, x, y, "output_throughput") if one is not None][-1]
    assert whole.known is None
    known = np.zeros(whole.values.shape, dtype=bool)
    known[0] = True
    partial = replace(whole, values=np.where(known, whole.values, np.nan), starts=whole.starts & known)
    heat = HeatMap(Words("en"))
    qtbot.addWidget(heat)
    heat.resize(700, 500)
    heat.show_picture(replace(partial, known=known))
    heat.grab()
    image = heat._image
    assert image is not None
    blank = [image.pixelColor(image.width() // 2, row) for row in range(image.height() // 4)]
    assert {colour.rgb() for colour in blank} == {themes.theme().canvas.rgb()}


@pytest.mark.parametrize("result", RESULTS)
def test_every_result_is_painted_as_map_and_as_curves(
    qtbot: QtBot, explore: ExploreWorkspace, result: str
) -> None:
    for curves in (False, True):
        question = Question(explore.question.x, explore.question.y, result, curves)  # type: ignore[arg-type]
        ask(qtbot, explore, question)
        assert not explore.grab().isNull()
        plot = explore.curves if curves else explore.map
        assert plot.isVisible()
        assert plot.caption()


@pytest.mark.parametrize("theme", themes.NAMES)
def test_classes_hatch_and_handle_have_the_colours_of_the_theme(
    qtbot: QtBot, qapp: QApplication, explore: ExploreWorkspace, theme: str
) -> None:
    themes.apply(qapp, theme)
    ask(qtbot, explore, Question(Side("workload.users"), Side("workload.prompt_tokens")))
    image = explore.map.grab().toImage()
    pixels = {image.pixel(x, y) & 0xFFFFFF for x in range(0, image.width(), 2) for y in range(image.height())}
    current = themes.theme()
    from gui.plots.heat_map import class_colours

    for colour in class_colours(current, explore.map.limits):
        assert colour.rgb() & 0xFFFFFF in pixels
    assert current.accent.rgb() & 0xFFFFFF in pixels


def test_a_range_that_is_none_is_refused_where_it_is_typed(
    qtbot: QtBot, explore: ExploreWorkspace, window: MainWindow
) -> None:
    editor = explore.form.x_range
    picture = explore.map.picture
    editor.setFocus()
    editor.setText("64 … 1")
    editor.setModified(True)
    editor.editingFinished.emit()
    assert editor.marked
    assert window.workspace.messages.text_of("explore")
    assert explore.map.picture is picture
    editor.setText("2 to 32")
    editor.setModified(True)
    editor.editingFinished.emit()
    qtbot.waitUntil(lambda: explore.settled() and explore.map.picture is not picture, timeout=30_000)
    assert explore.map.picture is not None
    assert float(explore.map.picture.x.values[-1]) == 32  # type: ignore[arg-type]
    assert not editor.marked
    assert not window.workspace.messages.text_of("explore")


def test_the_language_changes_and_the_question_stays(
    qtbot: QtBot, explore: ExploreWorkspace, window: MainWindow
) -> None:
    ask(qtbot, explore, Question(Side("workload.users"), Side("accelerator"), "kv_tokens"))
    window.language.use("zh_CN")
    page = window.stack.page("explore")
    assert isinstance(page, ExploreWorkspace)
    assert page is not explore
    assert page.question.y.path == "accelerator"
    qtbot.waitUntil(page.settled, timeout=30_000)
    assert page.map.picture is not None
    assert page.map.picture.result == "kv_tokens"


# -- content ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("1 … 64", "users", (1, 64)),
        ("1..64", "users", (1, 64)),
        ("1K to 32K", "tokens", (1024, 32768)),
        ("0.5-0.98", "1", (0.5, 0.98)),
        ("8k – 16k", "tokens", (8192, 16384)),
        ("64", "users", None),
        ("9 … 3", "users", None),
        ("a … b", "users", None),
        ("", "users", None),
    ],
)
def test_ranges_are_read_as_people_type_them(text: str, unit: str, found: tuple[float, float] | None) -> None:
    assert read_range(text, unit) == found


@pytest.mark.parametrize("spread", [(0.0, 1.0), (3.0, 4.0), (0.1, 900.0), (1e9, 2.4e10), (50.0, 700.0)])
def test_classes_are_few_round_and_inside(spread: tuple[float, float]) -> None:
    limits = breaks(np.linspace(*spread, 500))
    assert 3 <= len(limits) <= 7
    assert all(spread[0] <= v <= spread[1] for v in limits)
    for value in limits:
        assert float(f"{value:.3g}") == pytest.approx(value)


def test_all_alike_is_one_class() -> None:
    assert breaks(np.full(9, 4.0)) == ()
    assert breaks(np.full(9, math.nan)) == ()


def test_places_and_ticks_lie_on_the_axis(scenario: Scenario) -> None:
    axis = axis_for(scenario, "workload.users", 50, (1, 64), True)
    assert ticks(axis) == [1, 2, 4, 8, 16, 32, 64]
    assert place_of(axis, 8) == pytest.approx(0.5)
    found = places(axis)
    assert found[0] == 0 and found[-1] == 1
    assert (np.diff(found) > 0).all()
    assert nearest(axis, scenario) is not None


def test_the_sentence_says_how_far_the_targets_are_met(scenario: Scenario) -> None:
    own = scenario.workload.prompt_tokens
    x = Axis("workload.users", (1, 2, 4, 8))
    y = Axis("workload.prompt_tokens", (own, own + 1))
    meets = np.array([[True, True, False, False], [False] * 4])
    picture = Picture(scenario, x, y, "output_throughput", meets * 1.0, meets | True, meets, 1.0, 0.1)
    words = Words("en")
    assert headline(picture, scenario, words).endswith("every target is met at least up to 2 users.")
    picture = Picture(
        scenario, x, y, "output_throughput", meets * 1.0, meets | True, meets[:, ::-1], 1.0, 0.1
    )
    assert headline(picture, scenario, words).endswith("every target is met from 4 users on.")
    none = np.zeros_like(meets)
    picture = Picture(scenario, x, y, "output_throughput", none * 1.0, none, none, 1.0, 0.1)
    assert headline(picture, scenario, words) == words("explore.says.nothing_starts")


def test_gpus_and_formats_are_those_that_say_something(qtbot: QtBot, samples: list[Path]) -> None:
    """What most people rent is among the GPUs; formats of experts alone are BF16 for a dense model."""
    dense, sparse = scenario_file.load(samples[1]), scenario_file.load(samples[2])
    gpus, formats = axis_for(dense, "accelerator"), axis_for(dense, "precision.weights")
    assert {"RTX 3090", "H100 SXM5 80GB", "A100 SXM4 80GB", "L40S"} <= set(gpus.labels)
    assert len(gpus.labels) == 24
    bandwidths = [device.memory_bandwidth_gbps for device in gpus.values]  # type: ignore[attr-defined]
    assert bandwidths == sorted(bandwidths)
    assert not any("experts" in label for label in formats.labels) and "FP8 per tensor" in formats.labels
    assert any("experts" in label for label in axis_for(sparse, "precision.weights").labels)

    formats = Axis(formats.path, formats.values[:2], formats.labels[:2])
    gpus = Axis(gpus.path, gpus.values[:2], gpus.labels[:2])
    picture = [one for one in _pictures(dense, gpus, formats, "concurrent_users") if one is not None][-1]
    assert "on 2 GPUs of each kind" in detail(picture, dense, Words("en"))
    heat = HeatMap(Words("en"))
    qtbot.addWidget(heat)
    heat.show_picture(picture)
    assert "by bandwidth" in heat.caption()


def test_a_contour_follows_a_circle() -> None:
    xs = ys = np.linspace(-1, 1, 81)
    field = 0.6 - np.hypot(*np.meshgrid(xs, ys))
    lines = contours(field, xs, ys, 0.0)
    assert len(lines) == 1
    radius = [math.hypot(x, y) for x, y in lines[0]]
    assert min(radius) > 0.595 and max(radius) < 0.605
    assert lines[0][0] == lines[0][-1]


def test_softened_edges_keep_their_place() -> None:
    mask = np.zeros((40, 40))
    mask[:, 20:] = 1
    field = smoothed(mask, True, True)
    lines = contours(field, np.arange(40.0), np.arange(40.0), 0.5)
    assert len(lines) == 1
    assert all(x == pytest.approx(19.5) for x, _ in eased(lines[0]))


def test_gpus_of_ones_own_choice(qtbot: QtBot, explore: ExploreWorkspace) -> None:
    form, own = explore.form, explore._context.document.scenario.accelerator.name
    ask(qtbot, explore, Question(Side("workload.users"), Side("accelerator")))
    assert form.y_devices.isVisible() and not form.x_devices.isVisible()
    form.y_devices.toggle("H200 SXM 141GB")
    form.y_devices.toggle("L4")
    qtbot.waitUntil(explore.settled, timeout=30_000)
    assert explore.map.picture is not None
    assert set(explore.map.picture.y.labels) == {own, "H200 SXM 141GB", "L4"}
    form.y_devices.toggle("H200 SXM 141GB")
    form.y_devices.toggle("L4")
    qtbot.waitUntil(explore.settled, timeout=30_000)
    assert len(explore.map.picture.y.labels) > 10


def test_numbers_that_are_no_load_have_two_hundred_points_too(
    qtbot: QtBot, explore: ExploreWorkspace
) -> None:
    seen: list[float] = []
    explore.exploration.shown.connect(lambda picture: seen.append(picture.share))
    sides = Side("engine.gpu_memory_utilization"), Side("accelerator.memory_bandwidth_gbps")
    picture = ask(qtbot, explore, Question(*sides))
    assert picture.values.shape == (200, 200)
    assert seen[0] < 1 and seen[-1] == 1  # a first picture before the last
    assert "200 × 200" in explore.side.took.text()
    assert explore.side.took.isVisible()
