"""Tabs, definitions and notes in the whole window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.planning.request_life import token_gaps
from core.spec.change import with_values
from core.words import Words
from gui.document import Origin
from gui.frame.window import MainWindow
from gui.plots.base import users_of
from gui.widgets.card_content import cards_of
from gui.widgets.link_button import LinkButton
from gui.workspaces.plot_tabs import TABS_IN_ORDER


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    with qtbot.waitSignal(window.plots_shown, timeout=20_000):
        window.show()
    return window


def restart(window: MainWindow, **changes: object) -> None:
    scenario = with_values(window.document.scenario, {k.replace("__", "."): v for k, v in changes.items()})
    window.document.start(scenario, Origin(title="changed"))
    window.estimation.start()


def test_only_the_tab_in_sight_is_worked_out(qtbot: QtBot, complete: MainWindow) -> None:
    tabs, seen = complete.workspace.tabs, []
    complete.estimation.curves_ready.connect(lambda *_: seen.append("curves"))
    complete.estimation.operators_ready.connect(lambda *_: seen.append("operators"))
    complete.estimation.life_ready.connect(lambda *_: seen.append("life"))
    assert tabs.roofline is None  # not even made before it is wanted
    for number, key in enumerate(TABS_IN_ORDER):
        tabs.show_tab(key)
        seen.clear()
        complete.document.set_value("workload.users", 20 + number)
        wanted = complete.document.revision
        qtbot.waitUntil(lambda wanted=wanted: complete.estimation.shown_revision == wanted, timeout=5000)
        assert seen == [{"overview": "curves", "request": "life"}.get(key, "operators")]


def test_a_tab_shows_the_scenario_of_now(qtbot: QtBot, complete: MainWindow) -> None:
    tabs = complete.workspace.tabs
    tabs.show_tab("step")
    before = tabs.step.phases[1].phase.total
    tabs.show_tab("overview")
    complete.document.set_value("workload.users", 20)
    qtbot.waitUntil(lambda: complete.estimation.shown_revision == complete.document.revision, timeout=5000)
    tabs.show_tab("step")
    assert tabs.step.phases[1].phase.total != before
    assert tabs.step.phases[1].phase.what == "one token for each of 20 requests (mean)"


def test_arrow_keys_go_from_tab_to_tab(qtbot: QtBot, complete: MainWindow) -> None:
    tabs = complete.workspace.tabs
    tabs.tabs["overview"].setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(tabs.tabs["overview"], Qt.Key.Key_Right)
    assert tabs.current == "roofline"
    assert tabs.roofline is not None
    assert tabs.roofline.isVisible()


def test_the_handle_sets_the_arrival_rate_where_requests_arrive(qtbot: QtBot, complete: MainWindow) -> None:
    restart(complete, workload__load="requests", workload__request_rate=0.2)
    plot = complete.workspace.plots[0]
    for users in (3, 6, 12):
        plot.users_dragged.emit(users)
        qtbot.waitUntil(lambda: complete.estimation.revision == complete.document.revision, timeout=5000)
        work = complete.document.scenario.workload
        assert work.load == "requests"
        assert users_of(complete.estimation.estimate) == pytest.approx(users, rel=0.03)
    plot.drag_finished.emit()
    complete.document.undo()
    assert complete.document.scenario.workload.request_rate == 0.2


def test_per_token_is_shown_as_one_definition_or_the_other(qtbot: QtBot, complete: MainWindow) -> None:
    cards, point = complete.workspace.cards, complete.estimation.estimate
    switch, card = cards.definition, cards.cards[1]
    mean = point.speed.time_per_output_token.expected
    assert switch.toolTip().startswith("TPOT, time per output token: (end to end")
    assert card.card.value == f"{1e3 * mean:.1f}"
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert complete.preferences.choices.latency_as == "itl"
    assert switch.toolTip().startswith("ITL, inter-token latency")
    assert card.card.value == f"{1e3 * point.speed.decode.seconds:.1f}"
    assert card.card.note.startswith("longest ")
    assert card.card.target.startswith("TPOT ")
    qtbot.keyClick(switch, Qt.Key.Key_Return)
    assert complete.preferences.choices.latency_as == "tpot"
    assert card.card.value == f"{1e3 * mean:.1f}"


def test_gaps_average_to_the_time_per_output_token(window: MainWindow) -> None:
    point = window.estimation.estimate
    gaps = token_gaps(point.scenario, point.speed)
    mean = gaps.usual + gaps.long_share * (gaps.long - gaps.usual)
    assert 0 < gaps.long_share < 1
    assert mean == pytest.approx(point.speed.time_per_output_token.expected, rel=1e-9)
    assert cards_of(point, Words("en"), "itl")[1].hint


POPUP = pytest.mark.qt_log_ignore("This plugin does not support")  # windows that float, offscreen


@POPUP
def test_notes_are_listed_from_the_status_bar(qtbot: QtBot, complete: MainWindow) -> None:
    restart(complete, precision__weights="awq_g128")
    status = complete.status
    assert status.notes.isVisible()
    qtbot.mouseClick(status.notes, Qt.MouseButton.LeftButton)
    texts = status.list.texts()
    status.list.close()
    assert texts[0] == "Notes"
    assert any("are expanded to BF16 on RTX 4090" in text for text in texts)
    assert any("vLLM profile Ada (GeForce)" in text and "Ada, then generic" in text for text in texts)


@POPUP
def test_a_problem_in_the_list_leads_to_its_field(qtbot: QtBot, complete: MainWindow) -> None:
    went = []
    complete.status.go_to.connect(went.append)
    complete.document.set_value("workload.users", 0)
    complete.status._list_problems()
    texts = complete.status.list.texts()
    assert texts[0] == "Problems"
    links = complete.status.list.findChildren(LinkButton)
    links[0].click()
    assert went == ["workload.users"]


def test_the_account_and_the_plot_of_what_does_not_start_agree(qtbot: QtBot, complete: MainWindow) -> None:
    changes = {"accelerator__memory_gb_nominal": 12.0, "accelerator__memory_mib_reported": 12_288}
    restart(complete, workload__users=16, **changes)
    point = complete.estimation.estimate
    assert point.speed is None
    rows = [row.name for row in complete.workspace.ledger.account.rows]
    assert "KV cache, 1 user" in rows  # the others may wait
    curves = complete.estimation.curves
    needed = float(np.interp(1.0, curves.memory_users, curves.memory.bytes))
    assert needed == pytest.approx(point.ledger.needed_bytes, rel=1e-3)
