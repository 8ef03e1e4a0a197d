"""Numbers outside Estimate unfold too: cells of Compare, the account of Explore, the parts of a request."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.explain.derivation import derive, keys_of
from core.planning.compare import difference_table
from core.spec.change import with_values
from gui.frame.window import MainWindow
from gui.widgets.difference_table import number_of
from gui.widgets.glossary_popover import GlossaryPopover
from gui.widgets.working_popover import WorkingPopover

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # a popup without a screen


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


def popover(window: MainWindow) -> WorkingPopover:
    found = [one for one in window.findChildren(WorkingPopover) if one.isVisible()]
    assert len(found) == 1
    return found[0]


def test_every_result_of_the_comparison_has_a_working(complete: MainWindow) -> None:
    point = complete.estimation.estimate
    assert point is not None
    keys = keys_of(point)
    for row in difference_table([point], only_differences=False):
        number = number_of(row.section, row.key)
        if row.section == "inputs" or row.key == "price":  # what a person set
            assert number == ""
        else:
            assert number in keys, row.key


def test_a_cell_of_the_comparison_unfolds_for_its_own_scenario(qtbot: QtBot, complete: MainWindow) -> None:
    pinned = with_values(complete.document.scenario, {"workload.users": 16})
    complete.pinned.pin(pinned)
    complete.stack.show_key("compare")
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=30_000)
    table = complete.stack.page("compare").table  # type: ignore[attr-defined]
    index = next(i for i, line in enumerate(table._lines) if line.row and line.row.key == "output_throughput")
    table._go(index)
    table._unfold(1)
    shown = popover(complete)
    other = complete.pinned.estimate_of(complete.pinned.pins[0])
    working = derive(other, "output_throughput")
    content = shown.view.content
    assert working is not None and content is not None
    assert content.steps[-1].result == working.total.result
    own = derive(complete.estimation.estimate, "output_throughput")  # type: ignore[arg-type]
    assert own is not None and own.total.result != working.total.result
    shown.view.copy.emit("markdown")
    assert str(working.total.result) in QGuiApplication.clipboard().text()
    shown.close()


def test_the_pointer_and_the_letters_reach_a_cell(qtbot: QtBot, complete: MainWindow) -> None:
    complete.pinned.pin(with_values(complete.document.scenario, {"workload.users": 16}))
    complete.stack.show_key("compare")
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=30_000)
    table = complete.stack.page("compare").table  # type: ignore[attr-defined]
    index = next(i for i, line in enumerate(table._lines) if line.row and line.row.section == "results")
    asked: list[tuple[str, int]] = []
    table.unfolded.connect(lambda key, column, _place: asked.append((key, column)))
    row, head = 28, 30
    y = head + index * row + row // 2 - table.verticalScrollBar().value()
    x = round(table._names + table._values[0] / 2)
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, y))
    popover(complete).close()
    QApplication.processEvents()
    qtbot.keyClick(table, Qt.Key.Key_B)
    assert [column for _, column in asked] == [0, 1]
    assert len({key for key, _ in asked}) == 1


def test_the_account_of_a_cell_of_explore_unfolds(qtbot: QtBot, complete: MainWindow) -> None:
    complete.stack.show_key("explore")
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=60_000)
    side = complete.stack.page("explore").side  # type: ignore[attr-defined]
    reading = side.reading
    index = next(i for i, line in enumerate(reading.lines) if line.key == "time_to_first_token")
    qtbot.mouseClick(reading, Qt.MouseButton.LeftButton, pos=QPoint(20, 28 * index + 14))
    shown = popover(complete)
    assert shown.view.content is not None and shown.view.content.key == "time_to_first_token"
    assert reading.lines[index].value == str(side._point and _first_token(side._point))
    # A step leads on to another number, a word to the glossary.
    more = next(step.more for step in shown.view.steps() if step.more)
    shown.view.chosen.emit(more)
    assert shown.view.content.key == more
    word = next((step.glossary for step in shown.view.steps() if step.glossary), "")
    if word:
        shown.view.explain.emit(word, shown.view.step_views()[0])
        assert [one for one in shown.findChildren(GlossaryPopover) if one.entry is not None]
    shown.close()


def _first_token(point: object) -> object:
    from core.units import show_time

    return show_time(point.speed.time_to_first_token.expected)  # type: ignore[attr-defined]


def test_the_account_is_reached_by_keys(qtbot: QtBot, complete: MainWindow) -> None:
    complete.stack.show_key("explore")
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=60_000)
    reading = complete.stack.page("explore").side.reading  # type: ignore[attr-defined]
    assert reading.focusPolicy() & Qt.FocusPolicy.TabFocus
    asked: list[str] = []
    reading.chosen.connect(lambda key, _place: asked.append(key))
    reading.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(reading, Qt.Key.Key_Down)
    qtbot.keyClick(reading, Qt.Key.Key_Return)
    assert len(asked) == 1 and asked[0]


@pytest.mark.parametrize(("share", "key"), [(0.02, "time_to_first_token"), (0.8, "time_per_output_token")])
def test_the_parts_of_a_request_unfold(qtbot: QtBot, complete: MainWindow, share: float, key: str) -> None:
    tabs = complete.workspace.tabs
    tabs.show_tab("request")
    QApplication.processEvents()
    pane = tabs.request
    assert pane is not None and pane.life is not None
    bar = pane._whole
    seconds = share * pane.life.end if share > 0.5 else 0.5 * pane.life.first_token
    at = QPointF(bar.px(seconds), bar.rect.center().y())
    with qtbot.waitSignal(pane.selected) as caught:
        pane._press(at)
    assert caught.args == [key]
    with qtbot.waitSignal(pane.selected) as caught:
        pane._press(pane.panel.rect.center())
    assert caught.args == ["ledger.kv_cache"]
    assert complete.workspace.side.key == "ledger.kv_cache"
