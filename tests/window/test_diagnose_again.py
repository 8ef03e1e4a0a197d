"""A diagnosis is of the scenario and the observations as they stand, whatever happened out of sight."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.evidence.diagnose import diagnose
from tests.window.test_validate import WAIT_MS, shown, window_of

__all__ = ["shown"]


@pytest.fixture
def placed(shown: Any, qtbot: QtBot) -> Any:
    """The tab with observations of a run, placed against the scenario."""
    shown.choose(0)
    shown.show_tab("diagnose")
    page = shown.diagnosis
    page.of_run = False
    page.begin()
    qtbot.waitUntil(lambda: not page.work.working, timeout=WAIT_MS)
    assert page.found is not None
    return page


@pytest.mark.parametrize("away", ["workspace", "tab"])
def test_a_scenario_that_changed_out_of_sight_is_placed_anew(
    shown: Any, placed: Any, qtbot: QtBot, away: str
) -> None:
    window, before = window_of(shown), placed.found
    if away == "tab":
        shown.show_tab("errors")
    else:
        window.stack.show_key("estimate")
    window.document.set_value("accelerator", load_accelerator("H100 SXM5 80GB"))
    qtbot.wait(50)
    assert placed.found is before, "nothing runs out of sight"
    window.stack.show_key("validate")
    shown.show_tab("diagnose")
    expected = diagnose(window.document.scenario, placed.values)
    qtbot.waitUntil(lambda: placed.found == expected, timeout=WAIT_MS)
    assert not placed.of_run, "what it is placed against stays as it was chosen"


def test_a_scenario_that_did_not_change_is_not_placed_again(shown: Any, placed: Any) -> None:
    before = placed.found
    shown.show_tab("errors")
    shown.show_tab("diagnose")
    assert placed.found is before and not placed.work.working


def test_choosing_the_run_again_drops_what_was_found_of_other_observations(
    shown: Any, placed: Any, qtbot: QtBot
) -> None:
    edit = placed.edits["time_per_output_token"]
    edit.selectAll()
    qtbot.keyClicks(edit, "80")
    qtbot.waitUntil(lambda: not placed.work.working, timeout=WAIT_MS)
    shown.choose(shown.run)
    assert placed.values["time_per_output_token"] != pytest.approx(0.08) and placed.found is None


@pytest.mark.parametrize("typed", ["abc", "2x"])
@pytest.mark.parametrize("stood", ["", "100"])
def test_escape_takes_a_wrong_observation_back(placed: Any, qtbot: QtBot, stood: str, typed: str) -> None:
    figure = "time_to_first_token"
    edit, other = placed.edits[figure], placed.edits["time_per_output_token"]
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClick(edit, Qt.Key.Key_Delete)
    qtbot.keyClicks(edit, stood)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    edit.selectAll()
    qtbot.keyClicks(edit, typed)
    assert edit.marked and placed.sentences.text()
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert edit.text() == stood and not edit.marked
    assert placed.values.get(figure) == (pytest.approx(0.1) if stood else None)
    other.setFocus()
    other.selectAll()
    qtbot.keyClicks(other, "7")
    qtbot.keyClick(other, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: placed.found is not None, timeout=WAIT_MS)
