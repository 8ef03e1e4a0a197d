"""The Recommend workspace: entries by rank, near misses, what is opened, pinned and copied."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.files import scenario_file
from core.planning.recommend import Recommendation, recommend
from core.planning.what_runs import WhatRuns, what_runs
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents import recommend as content
from gui.contents.recommend_entry import Entry
from gui.fields.choice_edit import Choice
from gui.fields.multi_edit import MultiEdit
from gui.frame.window import MainWindow
from gui.widgets.grid_table import Cell, Column, GridTable, Row
from gui.workspaces.recommend import RecommendWorkspace

WAIT_MS = 60_000
FEW = ("RTX 4090", "L40S", "H100 SXM5 80GB")


@pytest.fixture
def shown(window: MainWindow, qtbot: QtBot) -> RecommendWorkspace:
    window.show()
    window.document.set_values([("search.devices", FEW), ("search.most_accelerators", 2)], "x")
    window.stack.show_key("recommend")
    page = window.stack.page("recommend")
    assert isinstance(page, RecommendWorkspace)
    qtbot.waitUntil(lambda: page.settled() and page.found is not None, timeout=WAIT_MS)
    return page


def state_of(page: RecommendWorkspace) -> Recommendation:
    assert page.found is not None and isinstance(page.found.state, Recommendation)
    return page.found.state


def test_the_table_is_the_search(shown: RecommendWorkspace, window: MainWindow) -> None:
    expected = [*recommend(window.document.scenario)][-1]
    state = state_of(shown)
    assert state.finished and [o.combination for o in state.offers] == [
        o.combination for o in expected.offers
    ]
    names = [row.cells[1].text for row in shown.table.rows[: len(state.offers)]]
    assert names == [f"{o.count} × {o.device.name}" for o in expected.offers]
    assert state.meeting >= len(state.offers) and state.total >= sum(f.count for f in state.failures)
    assert [row.cells[0].text for row in shown.why.rows] == [f"{f.count:,}" for f in state.failures]


def test_the_best_are_simulated(shown: RecommendWorkspace) -> None:
    state = state_of(shown)
    for offer, row in zip(state.offers[:3], shown.table.rows, strict=False):
        assert offer.verified is not None and offer.verified.done > 0
        assert row.cells[-1].icon in ("circle_tick", "circle_x") and row.cells[-1].tip


@pytest.mark.parametrize("there", [True, False])
def test_what_is_offered_for_a_trace_is_simulated_with_its_requests(
    window: MainWindow, qtbot: QtBot, tmp_path: Path, there: bool
) -> None:
    changes = {"workload.load": "requests", "simulation.arrivals": "trace", "simulation.trace": "three.csv"}
    file = tmp_path / "replay.json"
    scenario_file.save(file, with_values(window.document.scenario, changes))
    rows = "".join(f"{2 * i},{300 + i % 3},21\n" for i in range(90))
    if there:
        (tmp_path / "three.csv").write_text("timestamp,input,output\n" + rows, encoding="utf-8")
    window.files.open_path(file)
    qtbot.waitUntil(lambda: window.document.path == file, timeout=WAIT_MS)
    window.stack.show_key("recommend")
    page = window.stack.page("recommend")
    assert isinstance(page, RecommendWorkspace)
    qtbot.waitUntil(lambda: page.settled() and page.found is not None, timeout=WAIT_MS)
    run = state_of(page).offers[0].verified
    assert run is not None
    assert (set(run.records.prompt) == {300, 301, 302}) is there
    said = Words("en")("recommending.of_trace" if there else "recommending.not_of_trace")
    assert page.table.rows[0].cells[-1].tip.endswith(said)


def test_another_trace_of_the_same_name_is_simulated_anew(
    window: MainWindow, qtbot: QtBot, tmp_path: Path
) -> None:
    changes = {"workload.load": "requests", "simulation.arrivals": "trace", "simulation.trace": "own.csv"}
    file, trace = tmp_path / "replay.json", tmp_path / "own.csv"
    scenario_file.save(file, with_values(window.document.scenario, changes))

    def write(count: int) -> None:
        rows = "".join(f"{2 * i},300,21\n" for i in range(count))
        trace.write_text("timestamp,input,output\n" + rows, encoding="utf-8")

    def requests(page: RecommendWorkspace) -> set[int]:
        offers = state_of(page).offers
        return {o.verified.asked for o in offers if o.verified is not None}

    window.files.open_path(file)
    window.stack.show_key("recommend")
    page = window.stack.page("recommend")
    assert isinstance(page, RecommendWorkspace)
    for count in (0, 40, 77):  # none at first
        if count:
            write(count)
        window.stack.show_key("estimate")
        window.stack.show_key("recommend")
        qtbot.waitUntil(
            lambda: page.settled() and page.found is not None and len(requests(page)) == 1, timeout=WAIT_MS
        )
        assert requests(page) == ({count} if count else {600})


def test_opening_is_one_undoable_edit(shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot) -> None:
    before = window.document.scenario
    shown.table._go(1)
    entry = shown.entry
    assert entry is not None
    shown.open.click()
    scenario = window.document.scenario
    assert window.stack.key == "estimate"
    assert scenario.accelerator == entry.offer.device
    assert scenario.deployment == entry.offer.combination.deployment
    assert scenario.precision.weights == entry.offer.combination.weights
    assert (scenario.workload, scenario.targets) == (before.workload, before.targets)
    window.document.undo()
    assert window.document.scenario == before


def test_an_opened_entry_is_no_new_search(shown: RecommendWorkspace, window: MainWindow) -> None:
    found = shown.found
    shown.open.click()
    window.stack.show_key("recommend")
    assert shown.settled() and shown.found is found


def test_pinned_for_comparison(shown: RecommendWorkspace, window: MainWindow) -> None:
    before = window.document.scenario
    shown.pin.click()
    assert len(window.pinned.pins) == 1 and window.document.scenario == before
    assert shown.entry is not None
    assert window.pinned.pins[0].scenario == shown.entry.offer.scenario


def test_limits_are_edits_of_the_scenario(
    shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    editor = shown.form.row("search.devices").editor
    assert isinstance(editor, MultiEdit)
    editor.toggle("L40S")
    assert set(window.document.scenario.search.devices) == {"RTX 4090", "H100 SXM5 80GB"}
    qtbot.waitUntil(
        lambda: shown.settled() and all(o.device.name != "L40S" for o in state_of(shown).offers),
        timeout=WAIT_MS,
    )
    window.document.undo()
    qtbot.waitUntil(lambda: shown.settled() and "L40S" in str(shown.table.as_text()), timeout=WAIT_MS)


def test_without_any_that_meets_the_nearest_are_shown(
    shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    window.document.set_values(
        [("targets.time_per_output_token_ms", 9.0), ("workload.users", 128), ("search.devices", FEW[:1])], "x"
    )
    qtbot.waitUntil(lambda: shown.settled() and not state_of(shown).offers, timeout=WAIT_MS)
    assert "meets every target" in shown.heading.headline
    near = state_of(shown).near
    if near:
        assert shown.table.rows[0].cells[1].text == "Near misses"
        assert "target" in shown.table.rows[1].cells[-1].text


def test_the_other_way_round(shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot) -> None:
    before = window.document.scenario
    shown.form.direction._pick(1)
    qtbot.waitUntil(lambda: shown.settled() and shown.found is not None, timeout=WAIT_MS)
    state = shown.found.state if shown.found else None
    assert isinstance(state, WhatRuns) and state.finished
    good = [runs for runs in state.runs if runs.good]
    sizes = [runs.model.parameters for runs in good]
    assert sizes == sorted(sizes, reverse=True)
    assert shown.why.isHidden() and shown.verify.isHidden()
    shown.open.click()
    assert window.document.scenario.model.name == shown._entries[0].offer.scenario.model.name  # type: ignore[union-attr]
    assert window.document.scenario.accelerator == before.accelerator
    window.document.undo()
    assert window.document.scenario == before


def test_the_table_goes_to_the_clipboard(qtbot: QtBot, shown: RecommendWorkspace) -> None:
    """Whole, though rows are made while the program goes on."""
    QGuiApplication.clipboard().clear()
    first = shown.table.make_rows(0, 0.0)
    assert first == 0 and shown.table.make_rows(0, 60.0) == len(shown.table.rows)
    shown.copy.click()
    qtbot.waitUntil(lambda: bool(QGuiApplication.clipboard().text()), timeout=WAIT_MS)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 1 + len(shown.table.rows) and "\t" in lines[0]


def test_a_point_of_the_plot_chooses_its_row(shown: RecommendWorkspace) -> None:
    entry = next(e for e in shown._entries[1:] if e is not None)
    shown.plot.taken.emit(entry.key)
    assert shown.entry is not None and shown.entry.key == entry.key


def test_an_entry_is_the_same_in_another_state(shown: RecommendWorkspace) -> None:
    offers = state_of(shown).offers
    assert len({Entry(offer).key for offer in offers}) == len(offers)


def test_several_are_chosen_and_none_means_all(qtbot: QtBot) -> None:
    editor, told = MultiEdit("All", "{n} chosen"), []
    qtbot.addWidget(editor)
    editor.set_groups([("", [Choice(k, f"Format number {k}") for k in "abc"])])
    editor.chosen.connect(told.append)
    assert editor.text() == "All"
    editor.toggle("c")
    editor.toggle("a")
    assert told[-1] == ("a", "c") and editor.text() == "2 chosen"
    editor.toggle("a")
    editor.toggle("c")
    assert told[-1] == () and editor.text() == "All"


def test_keys_move_through_a_table(qtbot: QtBot) -> None:
    table, opened = GridTable("t", 32), []
    qtbot.addWidget(table)
    table.opened.connect(opened.append)
    rows = [Row((Cell(str(i)), Cell("x")), f"row {i}") for i in range(5)]
    table.show_table([Column("a"), Column("b", stretch=True)], rows)
    table.resize(300, 120)
    table.show()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Up, Qt.Key.Key_Return):
        qtbot.keyClick(table, key)
    assert table.current == 3 and opened == [3]
    assert table.accessibleDescription() == "row 3"
    table.show_table([Column("a"), Column("b", stretch=True)], rows[:2])
    assert table.current == 1


def test_another_language_goes_on_with_the_search(
    shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    shown.form.direction._pick(1)
    qtbot.waitUntil(lambda: shown.settled() and shown.found is not None, timeout=WAIT_MS)
    state = shown.found.state if shown.found is not None else None
    entry = next(e for e in shown._entries[2:] if e is not None)
    shown.choose(entry.key)
    window.language.use("zh_CN")
    page = window.stack.page("recommend")
    assert isinstance(page, RecommendWorkspace) and page is not shown
    assert page.form.for_models and page.found is not None
    assert page.found.state is state and not page.search.working and not page._rest.isActive()
    assert page.entry is not None and page.entry.key == entry.key
    assert page.form._subject.text() == window.words("recommending.what_runs")


def test_what_nobody_measured_is_said_beside_the_sentence_and_each_model(scenario: Scenario) -> None:
    words = Words("en")

    def shown(device: str) -> tuple[str, list[Row]]:
        asked = scenario.model_copy(update={"accelerator": load_accelerator(device)})
        *_, state = what_runs(asked)
        view = content.view_of(state, asked, words)
        return view.line, list(view.rows)

    line, rows = shown("Gaudi 3")
    marked = [row for row in rows if row.cells[1].icon == "info"]
    assert "Nobody measured Gaudi 3" in line and len(marked) >= len(rows) - 1
    assert all("Nobody measured" in row.cells[1].tip and "Nobody measured" in row.spoken for row in marked)
    line, rows = shown("H100 SXM5 80GB")
    assert "Nobody" not in line and not rows[0].cells[1].icon


def test_models_that_are_too_short_for_a_request_are_counted(scenario: Scenario) -> None:
    changes = {"engine.max_model_len": 65_536, "workload.prompt_tokens": 40_000}
    asked = with_values(scenario, changes)
    *_, state = what_runs(asked)
    assert state.too_short > 0
    for words in (Words("en"), Words("zh_CN")):
        line = content.headline(state, asked, words)[1]
        assert str(state.too_short) in line and f"{asked.workload.tokens_per_request:,}" in line


@pytest.mark.parametrize("leave", ["by the tabs", "by a row"])
def test_an_edit_that_was_not_yet_answered_is_asked_again(
    shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot, leave: str
) -> None:
    """Leaving in between keeps no rows of the scenario before."""
    before = state_of(shown)
    assert before.offers
    window.document.set_value("targets.time_per_output_token_ms", 0.01)
    if leave == "by the tabs":
        shown._rest.stop()
        shown._begin()  # and gone before the first state is there
        window.stack.show_key("estimate")
    else:
        shown.open.click()
        assert window.stack.key == "estimate"
    window.stack.show_key("recommend")
    qtbot.waitUntil(lambda: shown.settled() and state_of(shown).finished, timeout=WAIT_MS)
    assert not state_of(shown).offers


def test_what_is_cancelled_before_its_first_row_shows_none(
    shown: RecommendWorkspace, window: MainWindow, qtbot: QtBot
) -> None:
    window.document.set_value("targets.time_per_output_token_ms", 0.01)
    shown._rest.stop()
    shown._begin()
    shown._cancel()
    assert shown.found is None and not shown.table.rows and shown.entry is None
    assert shown.heading.headline == shown._words("recommending.stopped")
    window.document.set_value("targets.time_per_output_token_ms", 50.0)
    qtbot.waitUntil(lambda: shown.settled() and shown.found is not None, timeout=WAIT_MS)
    assert state_of(shown).offers
