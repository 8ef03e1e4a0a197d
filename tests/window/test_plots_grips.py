"""Lines that can be dragged: targets and lengths follow the pointer and the keys, as one edit."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.spec.change import get_value
from gui.frame.window import MainWindow
from gui.plots.base import PlotPane
from gui.plots.grips import Grip, next_limit, round_length, round_limit

FIRST, TOKEN, PROMPT = (
    "targets.time_to_first_token_s",
    "targets.time_per_output_token_ms",
    "workload.prompt_tokens",
)
LINES = (
    ("latency_over_users", FIRST),
    ("latency_over_users", TOKEN),
    ("throughput_latency", TOKEN),
    ("memory_over_users", PROMPT),
)


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


def pane_of(window: MainWindow, key: str) -> PlotPane:
    return next(plot for plot in window.workspace.plots if plot.key == key)


def settle(window: MainWindow) -> None:
    for _ in range(400):
        QApplication.processEvents()
        if window.estimation.shown_revision == window.document.revision:
            return
        time.sleep(0.005)
    raise AssertionError("the plots never followed")


def grip_of(pane: PlotPane, path: str) -> Grip:
    return next(grip for grip in pane.grips() if grip.path == path)


def place_of(pane: PlotPane, grip: Grip) -> QPoint:
    """Somewhere that takes the line itself, not its name, and not the operating point."""
    for y in range(0, pane.area.height(), 2):
        for x in range(pane.area.width() - 4, 0, -3):
            point = QPointF(x, y)
            far = abs(x - grip.mark.x()) if grip.upright else abs(y - grip.mark.y())
            if (far <= 6 or grip.drawn is None) and grip.near(point) and not pane.on_handle(point):
                return QPoint(x, y)
    raise AssertionError("no place takes the line")


def drag(qtbot: QtBot, window: MainWindow, pane: PlotPane, start: QPoint, way: list[QPoint]) -> None:
    view = pane.area.viewport()
    qtbot.mouseMove(view, start)
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    for point in way:
        qtbot.mouseMove(view, point)
        pane._move(QPointF(point))
        settle(window)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=way[-1])


def targets_in_view(window: MainWindow) -> None:
    """Targets a little above what is reached, so that their lines are in the picture."""
    speed = window.estimation.estimate.speed  # type: ignore[union-attr]
    assert speed is not None
    window.document.set_value(FIRST, round_limit(1.2 * speed.time_to_first_token.expected))
    window.document.set_value(TOKEN, round_limit(1.2e3 * speed.time_per_output_token.expected))
    window.document.end_merge()
    settle(window)


@pytest.mark.parametrize(("key", "path"), LINES)
def test_a_dragged_line_sets_its_field_as_one_edit(
    qtbot: QtBot, complete: MainWindow, key: str, path: str
) -> None:
    targets_in_view(complete)
    pane, document = pane_of(complete, key), complete.document
    before, edits = document.scenario, document.undo_stack.count()
    grip = grip_of(pane, path)
    start = place_of(pane, grip)
    step = QPoint(-12, 0) if grip.upright else QPoint(0, 4)  # more than a round number each
    way = [start + step * n for n in (1, 2, 3)]
    view = pane.area.viewport()
    qtbot.mouseMove(view, start)
    pane._move(QPointF(start))
    assert view.cursor().shape() == grip.cursor
    assert pane._reading == grip.name  # the pointer is told what it can do
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    seen = []
    for point in way:
        pane._move(QPointF(point))
        settle(complete)
        seen.append(get_value(document.scenario, path))
    # The hand rests longer than two edits of a field are merged for.
    assert not document._rest.isActive()
    pane._move(QPointF(way[-1] + step))
    settle(complete)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=way[-1])
    assert len(set(seen)) == 3  # live, at every step
    assert document.undo_stack.count() == edits + 1
    assert seen == sorted(seen, reverse=True)  # every way led down
    if path != PROMPT:  # a line of another length starts from that one
        assert seen[-1] < get_value(before, path)  # type: ignore[operator]
    document.undo()
    assert document.scenario == before


@pytest.mark.parametrize(("key", "path"), LINES)
def test_the_line_stands_where_it_was_let_go(qtbot: QtBot, complete: MainWindow, key: str, path: str) -> None:
    targets_in_view(complete)
    pane = pane_of(complete, key)
    grip = grip_of(pane, path)
    start = place_of(pane, grip)
    end = start + (QPoint(-12, 0) if grip.upright else QPoint(0, 14))
    qtbot.mousePress(pane.area.viewport(), Qt.MouseButton.LeftButton, pos=start)
    pane._move(QPointF(end))
    settle(complete)
    # Within what a limit of two digits, or a length in steps, can say.
    here = grip_of(pane, path)
    near = [end + QPoint(dx, dy) for dx in range(-4, 5, 2) for dy in range(-6, 7, 2)]
    assert any(here.near(QPointF(point)) for point in near)
    qtbot.mouseRelease(pane.area.viewport(), Qt.MouseButton.LeftButton, pos=end)


@pytest.mark.parametrize(("key", "path"), LINES)
def test_the_keys_move_the_line_as_the_pointer_does(
    qtbot: QtBot, complete: MainWindow, key: str, path: str
) -> None:
    targets_in_view(complete)
    pane, document = pane_of(complete, key), complete.document
    before, edits = document.scenario, document.undo_stack.count()
    pane.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(3):
        qtbot.keyClick(pane.area, Qt.Key.Key_Space)
        if pane.lines.chosen == path:
            break
    assert pane.lines.chosen == path
    assert grip_of(pane, path).name in pane.area.accessibleDescription()
    for _ in range(3):
        qtbot.keyPress(pane.area, Qt.Key.Key_Down)
    qtbot.keyRelease(pane.area, Qt.Key.Key_Down)
    settle(complete)
    assert get_value(document.scenario, path) < get_value(before, path)  # type: ignore[operator]
    assert document.undo_stack.count() == edits + 1
    qtbot.keyClick(pane.area, Qt.Key.Key_Up)
    settle(complete)
    assert document.undo_stack.count() == edits + 2
    document.undo()
    document.undo()
    assert document.scenario == before


@pytest.mark.parametrize(("key", "path"), LINES)
def test_the_heading_reads_a_line_only_while_the_keys_move_it(
    qtbot: QtBot, complete: MainWindow, key: str, path: str
) -> None:
    targets_in_view(complete)
    pane = pane_of(complete, key)
    plain = pane._heading()
    pane.setFocus(Qt.FocusReason.TabFocusReason)
    while pane.lines.chosen != path:
        qtbot.keyClick(pane.area, Qt.Key.Key_Space)
    assert pane._heading() == pane._shown_heading == (pane.title(), grip_of(pane, path).name, True)
    complete.setFocus()
    assert pane._heading() == pane._shown_heading == plain
    pane.setFocus(Qt.FocusReason.TabFocusReason)
    assert pane._shown_heading == (pane.title(), grip_of(pane, path).name, True)


def test_a_click_on_a_line_unfolds_and_changes_nothing(qtbot: QtBot, complete: MainWindow) -> None:
    targets_in_view(complete)
    pane, before = pane_of(complete, "latency_over_users"), complete.document.scenario
    start = place_of(pane, grip_of(pane, FIRST))
    with qtbot.waitSignal(pane.selected):
        qtbot.mouseClick(pane.area.viewport(), Qt.MouseButton.LeftButton, pos=start)
    assert complete.document.scenario is before


def test_a_length_never_leaves_what_the_engine_allows(qtbot: QtBot, complete: MainWindow) -> None:
    pane, document = pane_of(complete, "memory_over_users"), complete.document
    start = place_of(pane, grip_of(pane, PROMPT))
    top = QPoint(30, 1)
    drag(qtbot, complete, pane, start, [start + QPoint(0, -20), top])
    scenario = document.scenario
    assert scenario.workload.tokens_per_request <= scenario.engine.max_model_len
    assert not document.refused


def test_lengths_of_other_lines_are_reached_by_dragging_them(qtbot: QtBot, complete: MainWindow) -> None:
    """A line that is named with another length becomes the own one."""
    pane = pane_of(complete, "memory_over_users")
    assert pane.curves is not None
    longer = [line for line in pane.curves.other_lengths if line.tokens > pane.curves.memory.tokens]
    line = longer[0]
    users = 0.7 * line.full_at
    panel = pane.area.panels[0]
    from core.units import memory_size
    from gui.plots.scales import at

    level = at(users, pane.curves.memory_users, line.bytes) / memory_size()
    point = QPointF(panel.px(users), panel.py(level))
    grip = grip_of(pane, PROMPT)
    assert grip.near(point)
    answer = complete.document.scenario.workload.output_tokens
    assert grip.value_at(point) + answer == pytest.approx(line.tokens, rel=0.05)


@given(st.floats(1e-3, 1e5))
def test_limits_are_what_people_write(value: float) -> None:
    rounded = round_limit(value)
    assert rounded == pytest.approx(value, rel=0.03)
    digits = f"{rounded:.6e}".split("e")[0].replace(".", "").rstrip("0")
    assert len(digits) <= 3
    assert next_limit(rounded, -1) < rounded < next_limit(rounded, 1)
    assert round_limit(rounded) == rounded


@given(st.integers(1, 2_000_000))
def test_lengths_are_what_people_write(tokens: int) -> None:
    rounded = round_length(tokens)
    assert rounded >= 1 and rounded == int(rounded)
    assert rounded == pytest.approx(tokens, rel=0.04)


TARGETS = LINES[:3]


def start_of(pane: PlotPane, path: str, beside: bool) -> QPoint:
    """A place on the line, or on its name beside it."""
    grip = grip_of(pane, path)
    for y in range(pane.area.height()):
        for x in range(pane.area.width() - 4, 0, -1):
            point = QPointF(x, y)
            far = abs(x - grip.mark.x()) if grip.upright else abs(y - grip.mark.y())
            if (far > 6) == beside and grip.near(point) and not pane.on_handle(point):
                return QPoint(x, y)
    raise AssertionError("no place takes the line")


def pulled_to(window: MainWindow, pane: PlotPane, start: QPoint, way: list[QPoint], live: bool) -> None:
    """As a hand does it, with the events of a real pointer."""
    view = pane.area.viewport()
    QTest.mouseMove(view, start)
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    for point in way:
        place = QPointF(point)
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            place,
            QPointF(view.mapToGlobal(point)),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(view, event)
        if live:
            settle(window)
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=way[-1])
    settle(window)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("far", [1.05, 1.5, 3.0, 30.0])  # 30: outside of the picture
@pytest.mark.parametrize(("key", "path"), TARGETS)
def test_a_target_goes_the_way_that_the_hand_goes(
    complete: MainWindow, key: str, path: str, far: float, out: bool, live: bool, beside: bool
) -> None:
    document, pane = complete.document, pane_of(complete, key)
    speed = complete.estimation.estimate.speed  # type: ignore[union-attr]
    assert speed is not None
    now = speed.time_to_first_token.expected if path == FIRST else 1e3 * speed.time_per_output_token.expected
    document.set_value(path, round_limit(far * now))
    document.end_merge()
    settle(complete)
    pane.area.repaint()
    before, edits = document.scenario, document.undo_stack.count()
    grip = grip_of(pane, path)
    try:
        start = start_of(pane, path, beside)
    except AssertionError:
        assert beside  # there is no room for the name everywhere
        return
    step = QPoint(5 if out else -5, 0) if grip.upright else QPoint(0, -5 if out else 5)
    pulled_to(complete, pane, start, [start + step * n for n in range(1, 7)], live)
    was, is_now = get_value(before, path), get_value(document.scenario, path)
    assert (is_now > was) == out and is_now != was  # type: ignore[operator]
    assert document.undo_stack.count() == edits + 1
    document.undo()
    assert document.scenario == before


@pytest.mark.parametrize(("key", "path"), TARGETS)
def test_a_target_is_dragged_out_of_the_picture(complete: MainWindow, key: str, path: str) -> None:
    """The pointer leaves the panel: the limit goes on with it."""
    targets_in_view(complete)
    pane = pane_of(complete, key)
    grip = grip_of(pane, path)
    start = start_of(pane, path, beside=False)
    panel = pane.area.panels[-1 if path == TOKEN else 0]
    end = QPoint(round(panel.rect.right()) + 30, start.y()) if grip.upright else QPoint(
        start.x(), round(panel.rect.top()) - 30
    )  # fmt: skip
    edge = panel.x.end if grip.upright else panel.y_end
    shown = grip.value / (panel.value_at(grip.mark.x()) if grip.upright else panel.level_at(grip.mark.y()))
    pulled_to(complete, pane, start, [end], live=True)
    assert get_value(complete.document.scenario, path) > edge * shown  # type: ignore[operator]
