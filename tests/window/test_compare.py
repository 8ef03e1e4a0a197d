"""Scenarios pinned and compared: what is kept, what the table and the curves say."""

import csv
import io
import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.files import scenario_file
from core.planning.compare import difference_table
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import Shown
from core.words import Words
from gui import theme as themes
from gui.contents.compare import differences, names_of, table_text
from gui.frame.window import MainWindow
from gui.pinned import Pinned, letter
from gui.plots import letters
from gui.plots.compare_curves import apart
from gui.plots.draw import Draw, crosses
from gui.widgets.difference_table import DifferenceTable
from gui.workspaces.compare import CompareWorkspace


def variant(scenario: Scenario, **changes: object) -> Scenario:
    return with_values(scenario, {key.replace("__", "."): value for key, value in changes.items()})


@pytest.fixture
def compare(qtbot: QtBot, window: MainWindow) -> CompareWorkspace:
    """The workspace in sight beside two pinned scenarios."""
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    base = window.document.scenario
    window.pinned.pin(variant(base, workload__users=base.workload.users * 2))
    window.pinned.pin(variant(base, precision__kv_cache="fp8"))
    with qtbot.waitSignal(window.estimation.curves_ready, timeout=10_000):
        window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    return page


# -- pins ------------------------------------------------------------------------------------------


def test_letters_go_on_after_the_last() -> None:
    assert [letter(i) for i in (0, 1, 25, 26, 27, 51, 52)] == ["A", "B", "Z", "AA", "AB", "AZ", "BA"]


def test_pins_are_moved_renamed_removed_and_brought_back(qapp: QApplication, scenario: Scenario) -> None:
    pinned = Pinned()
    made = [pinned.pin(variant(scenario, workload__users=n)) for n in range(1, 8)]
    keys = [pin.key for pin in made if pin is not None]
    assert len(keys) == 7
    pinned.move(keys[6], -99)
    assert pinned.pins[0].key == keys[6]
    pinned.move(keys[6], 2)
    assert [pin.key for pin in pinned.pins][:3] == [keys[0], keys[1], keys[6]]
    pinned.rename(keys[1], "  second  ")
    assert pinned.pins[1].name == "second"
    pinned.set_baseline(keys[1])
    assert pinned.baseline_index == 2
    pinned.remove(keys[1])
    assert pinned.baseline == 0
    assert len(pinned.pins) == 6
    pinned.take_back()
    assert pinned.baseline == keys[1]
    assert pinned.pins[1].name == "second"


def test_a_pin_is_estimated_once(
    qapp: QApplication, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned, calls = Pinned(), []
    monkeypatch.setattr("gui.pinned.estimate", lambda s: calls.append(s) or estimate(s))
    pin = pinned.pin(scenario)
    assert pin is not None
    pinned.rename(pin.key, "again")
    pinned.estimate_of(pinned.pins[0])
    assert len(calls) == 1


def test_undo_of_an_edit_leaves_the_pins(window: MainWindow) -> None:
    window.shell.pin()
    before = window.document.scenario
    window.document.set_value("workload.users", before.workload.users + 5)
    window.document.undo()
    assert window.document.scenario == before
    assert [pin.scenario for pin in window.pinned.pins] == [before]
    assert window.document.is_clean  # pinning is no edit of the file


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_after_a_new_name_renames_and_opens_nothing(
    qtbot: QtBot, window: MainWindow, key: Qt.Key
) -> None:
    base = window.document.scenario
    window.pinned.pin(variant(base, workload__users=3), "three")
    window.show()
    window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    card = page.cards.cards[1]
    asked: list[tuple[int, str]] = []
    card.asked.connect(lambda *what: asked.append(what))
    card.rename()
    card._editor.setText("night")
    qtbot.keyClick(card._editor, key)
    assert window.pinned.pins[0].name == "night" and not asked
    assert window.document.scenario == base
    qtbot.keyClick(card, key)  # on the card it opens
    assert [what for _, what in asked] == ["open"]


def test_pins_come_back_with_the_recovery_file(make_window: Callable[[], MainWindow]) -> None:
    first = make_window()
    base = first.document.scenario
    for users in (3, 5, 9):
        first.pinned.pin(variant(base, workload__users=users), f"{users} people")
    first.pinned.set_baseline(first.pinned.pins[1].key)
    assert first.recovery is not None
    assert first.document.is_clean
    assert first.recovery.keep()
    # The lock dies with its process: here it is let go by hand.
    lock = first.recovery._lock
    assert lock is not None
    lock.unlock()
    second = make_window()
    second.rescue.offer()
    links = second.workspace.messages.links_of("recovery")
    links[0][1]()
    assert [(pin.name, pin.scenario.workload.users) for pin in second.pinned.pins] == [
        ("3 people", 3),
        ("5 people", 5),
        ("9 people", 9),
    ]
    assert second.pinned.baseline_index == 2


def test_pinned_curves_stand_behind_those_of_estimate(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    base = window.document.scenario
    for users in (2, 4, 16, 32, 64):
        window.pinned.pin(variant(base, workload__users=users))
    for plot in window.workspace.plots:
        assert [(ghost.label, ghost.series) for ghost in plot.ghosts] == [("B", 1), ("C", 2), ("D", 3)]
    colour = themes.theme().series_colour(1).rgb()
    image = window.workspace.plots[1].grab().toImage()
    found = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    assert colour in found


def test_what_the_letters_stand_for_is_said_over_the_plots_of_estimate(
    qtbot: QtBot, window: MainWindow, scenario: Scenario, samples: list[Path]
) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    plot = window.workspace.plots[2]
    alone = plot._heading()[1]
    window.pinned.pin(scenario_file.load(samples[1]))
    told = plot._heading()[1]
    assert told.startswith("B Qwen3-32B") and told.endswith(alone)
    window.pinned.clear()
    assert plot._heading()[1] == alone


def test_the_mark_of_a_crowded_scenario_stands_where_the_table_says(
    qtbot: QtBot, window: MainWindow, samples: list[Path]
) -> None:
    """Qwen3-32B on two RTX 3090 for sixteen users of 16K: what fits takes less than the whole budget."""
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    crowded = with_values(
        scenario_file.load(samples[1]), {"workload.prompt_tokens": 16384, "engine.max_model_len": 32768}
    )
    window.pinned.pin(crowded)
    with qtbot.waitSignal(window.estimation.curves_ready, timeout=10_000):
        window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    (plot,) = (plot for plot in page.body.plots if plot.kind == "memory")
    one = plot.series[1]
    ledger = one.estimate.ledger
    assert one.estimate.capacity.at_once < crowded.workload.users
    assert ledger.needed_bytes < 0.98 * ledger.budget_bytes
    assert plot.value_of(one) == pytest.approx(ledger.needed_bytes, rel=1e-6)


# -- names -----------------------------------------------------------------------------------------


def test_names_say_what_sets_a_scenario_apart(scenario: Scenario) -> None:
    words = Words("en")
    others = [variant(scenario, workload__users=99), variant(scenario, precision__kv_cache="fp8")]
    names = names_of([scenario, *others], ["", "", ""], words)
    assert names[0] == scenario.accelerator.name
    assert names[1] == f"{scenario.accelerator.name}, 99 users"
    assert "FP8" in names[2]
    short = names_of([scenario, *others], ["", "", "mine"], words, short=True)
    assert short[1:] == ["99 users", "mine"]


# -- table -----------------------------------------------------------------------------------------


def test_the_table_shows_what_differs_and_marks_it(compare: CompareWorkspace) -> None:
    rows = {row.key: row for row in compare.table.rows()}
    assert "workload.users" in rows
    assert "engine.name" not in rows
    assert [cell.differs for cell in rows["workload.users"].cells] == [False, True, False]
    assert rows["workload.users"].cells[1].change == pytest.approx(1.0)
    compare.which.chosen.emit(compare.which.set_value(False))
    assert {"engine.name", "workload.users"} <= {row.key for row in compare.table.rows()}


def test_another_baseline_turns_the_comparison_round(compare: CompareWorkspace) -> None:
    pinned = compare._context.pinned
    compare.cards.asked.emit(pinned.pins[0].key, "baseline")
    rows = {row.key: row for row in compare.table.rows()}
    assert rows["workload.users"].cells[0].change == pytest.approx(-0.5)
    assert [card.head.baseline for card in compare.cards.cards[:3]] == [False, True, False]


def test_the_copied_table_is_a_table_with_units(compare: CompareWorkspace) -> None:
    compare.copy.click()
    rows = list(csv.reader(io.StringIO(QGuiApplication.clipboard().text()), delimiter="\t"))
    head = rows[0]
    assert head[1] == "Unit"
    assert [cell[:1] for cell in head[2:]] == ["A", "B", "B", "C", "C"]
    values = {row[0]: row[1:] for row in rows if len(row) > 2}
    unit, first, second, change, *_ = values["Output throughput"]
    assert unit == "tok/s"
    expected = compare._points()[1].speed
    assert expected is not None
    assert float(second.replace(",", "")) == pytest.approx(expected.output_throughput.expected, rel=0.006)
    assert change.endswith("%")
    assert float(first.replace(",", "")) != float(second.replace(",", ""))


def test_times_of_a_row_have_one_unit_in_the_copy(scenario: Scenario) -> None:
    points = [estimate(scenario), estimate(variant(scenario, workload__users=2))]
    row = next(r for r in difference_table(points) if r.key == "time_to_first_token")
    cells = (
        replace(row.cells[0], value=1.5, shown=Shown("1.50", "s")),
        replace(row.cells[1], value=0.25, shown=Shown("250", "ms")),
    )
    text = table_text([replace(row, cells=cells)], "AB", ["x", "y"], 0, Words("en"))
    assert text.splitlines()[-1].split("\t")[1:4] == ["s", "1.5", "0.25"]


def test_choosing_an_input_goes_to_its_field(compare: CompareWorkspace, window: MainWindow) -> None:
    compare.table.chosen.emit("workload.users")
    assert window.stack.key == "estimate"
    focused = QApplication.focusWidget()
    assert focused is None or focused.objectName() == "workload.users"


# -- cards, curves, doing --------------------------------------------------------------------------


def test_all_curves_are_drawn_with_the_letter_of_their_card(compare: CompareWorkspace) -> None:
    for plot in compare.body.plots:
        assert [one.letter for one in plot.series] == ["A", "B", "C"]
        for one in plot.series:
            users, values = plot.points(one)
            assert users.size
            assert np.isfinite(values[users > 0]).any()


def test_a_letter_at_the_top_stands_beside_its_curve_and_on_no_other(
    compare: CompareWorkspace, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Curves of three loads rise so steeply that they leave through the top."""
    boxes: list[tuple[Draw, QRectF]] = []
    placed = letters._lettered

    def noting(draw: Draw, box: QRectF, text: str, series: int) -> QRectF:
        boxes.append((draw, box))
        return placed(draw, box, text, series)

    monkeypatch.setattr(letters, "_lettered", noting)
    plot = compare.body.plots[0]
    assert plot.kind == "first_token"
    plot.grab()
    at_top = [(draw, box) for draw, box in boxes if box.right() <= plot.panel.rect.right()]
    assert at_top
    for draw, box in at_top:
        assert not any(crosses(box, x, y) for x, y in draw.lines)


def test_the_handle_of_a_plot_edits_the_scenario(
    qtbot: QtBot, compare: CompareWorkspace, window: MainWindow
) -> None:
    plot = compare.body.plots[1]
    before = window.document.scenario.workload.users
    with qtbot.waitSignal(window.estimation.curves_ready, timeout=10_000):  # at once
        qtbot.keyClick(plot.area, Qt.Key.Key_Right)
    assert window.document.scenario.workload.users == before + 1
    assert plot.series[0].estimate.scenario.workload.users == before + 1
    assert plot.series[1].estimate.scenario.workload.users == before * 2


def test_opening_a_pinned_scenario_is_one_undoable_edit(
    compare: CompareWorkspace, window: MainWindow
) -> None:
    before = window.document.scenario
    pin = window.pinned.pins[0]
    compare.cards.asked.emit(pin.key, "open")
    assert window.document.scenario == pin.scenario
    assert window.stack.key == "estimate"
    window.document.undo()
    assert window.document.scenario == before


def test_cards_answer_to_the_keyboard(qtbot: QtBot, compare: CompareWorkspace, window: MainWindow) -> None:
    first, second = (pin.key for pin in window.pinned.pins)
    card = compare.cards.cards[1]
    qtbot.keyClick(card, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert [pin.key for pin in window.pinned.pins] == [second, first]
    qtbot.keyClick(compare.cards.cards[1], Qt.Key.Key_F2)
    editor = compare.cards.cards[1]._editor
    editor.setText("the fast one")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert window.pinned.pins[0].name == "the fast one"
    assert compare.names()[1] == "the fast one"
    qtbot.keyClick(compare.cards.cards[1], Qt.Key.Key_Delete)
    assert [pin.key for pin in window.pinned.pins] == [first]
    window.workspace.messages.links_of("pinned")[0][1]()
    assert len(window.pinned.pins) == 2


def test_a_card_can_be_dragged_along_the_row(
    qtbot: QtBot, compare: CompareWorkspace, window: MainWindow
) -> None:
    first, second = (pin.key for pin in window.pinned.pins)
    card, other = compare.cards.cards[1], compare.cards.cards[2]
    start = QPoint(60, 12)
    end = card.mapFromGlobal(other.mapToGlobal(QPoint(60, 12)))
    qtbot.mousePress(card, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(card, QPoint((start.x() + end.x()) // 2, 14))
    qtbot.mouseMove(card, end)
    qtbot.mouseRelease(card, Qt.MouseButton.LeftButton, pos=end)
    assert [pin.key for pin in window.pinned.pins] == [second, first]


@pytest.mark.parametrize("theme", themes.NAMES)
@pytest.mark.parametrize("size", [(960, 600), (1280, 720), (1920, 1080)])
def test_it_paints_any_number_at_any_size(
    qapp: QApplication, compare: CompareWorkspace, window: MainWindow, theme: str, size: tuple[int, int]
) -> None:
    themes.apply(qapp, theme)
    base = window.document.scenario
    for number in range(10):
        window.pinned.pin(variant(base, workload__users=number + 1))
    window.pinned.pin(variant(base, workload__prompt_tokens=base.engine.max_model_len - 600))
    window.resize(*size)
    qapp.processEvents()
    assert not window.grab().isNull()
    assert sum(card.isVisible() for card in compare.cards.cards) == 14
    shown = [plot.geometry() for plot in compare.body.plots] + [compare.table.geometry()]
    assert all(not a.intersects(b) for i, a in enumerate(shown) for b in shown[i + 1 :])


def test_alone_it_says_what_is_needed(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    window.stack.show_key("compare")
    page = window.stack.page("compare")
    assert isinstance(page, CompareWorkspace)
    assert page.pin.isVisible()
    assert page.heading.headline == window.words("compare.empty")
    page.pin.click()
    assert len(window.pinned.pins) == 1
    assert page.heading.headline == window.words("compare.nothing_differs")


def test_letters_at_the_edge_stand_apart() -> None:
    found = apart([10.0, 11.0, 12.0, 80.0], 16.0, 8.0, 200.0)
    assert all(b - a >= 16.0 - 1e-9 for a, b in itertools.pairwise(found))
    assert found[3] == 80.0
    assert found[0] >= 8.0


def test_every_card_is_in_sight_when_the_window_gets_narrower(
    qtbot: QtBot, compare: CompareWorkspace, window: MainWindow
) -> None:
    """Eight scenarios need a second row at 1280 pixels: the row of cards grows with it."""
    for users in range(20, 27):
        window.document.set_value("workload.users", users)
        window.document.end_merge()
        window.pinned.pin(window.document.scenario)
    for size in (QSize(1440, 900), QSize(1280, 720), QSize(1000, 640), QSize(1920, 1080)):
        window.resize(size)
        qtbot.wait(20)
        shown = [card for card in compare.cards.cards if card.isVisible()]
        assert len(shown) == len(window.pinned.pins) + 1
        # The layout follows in a turn of its own, which a busy machine begins later.
        qtbot.waitUntil(lambda: all(compare.cards.rect().contains(card.geometry()) for card in shown))  # noqa: B023


def test_a_load_that_is_not_asked_for_is_a_dash(scenario: Scenario) -> None:
    """A scenario with users asks for no rate, and one with a rate for no users: nothing to compare."""
    given = variant(scenario, workload__load="requests", workload__request_rate=0.4)
    points = [estimate(given), estimate(variant(given, workload__load="users", workload__request_rate=1.0))]
    rows = {row.key: row for row in difference_table(points)}
    rate, users = rows["workload.request_rate"], rows["workload.users"]
    assert [str(cell.shown) for cell in rate.cells] == ["0.400 1/s", "–"]
    assert str(users.cells[0].shown) == "–" and users.cells[1].value == given.workload.users
    assert not any(cell.change_said for row in (rate, users) for cell in row.cells)
    words = Words("en")
    assert "0.400 1/s" in differences(points[1].scenario, given, words)
    assert "1 1/s" not in differences(points[1].scenario, given, words).splitlines()


@pytest.mark.parametrize("wide", [420, 1100])
def test_the_last_column_keeps_off_the_bar_beside_it(compare: CompareWorkspace, wide: int) -> None:
    table = compare.table
    table.resize(wide, 160)
    table._set_bars()
    assert table.verticalScrollBar().maximum() > 0
    end = table._names + sum(table._values) + sum(table._changes) - table.horizontalScrollBar().maximum()
    assert end <= table.viewport().width() - 7


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_a_table_of_its_wanted_width_scrolls_down_only(
    qtbot: QtBot, scenario: Scenario, language: str
) -> None:
    """The bar of the rows takes room as well: it once left four pixels to be scrolled sideways."""
    other = estimate(with_values(scenario, {"workload.users": 3, "precision.kv_cache": "fp8"}))
    table = DifferenceTable(Words(language))
    qtbot.addWidget(table)
    table.show_rows(difference_table([estimate(scenario), other], only_differences=False), "AB", 0, "")
    table.resize(table.wanted_width(), 300)
    table.show()
    assert table.verticalScrollBar().maximum() > 0
    assert table.horizontalScrollBar().maximum() == 0
