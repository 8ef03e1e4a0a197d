"""What trying a cause does is seen: in the message, in the runs, on the other tab, and taken back."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from core.evidence.run_files import runs_jsonl
from core.files import scenario_file
from core.memory.capacity import Change
from gui.frame.window import MainWindow
from gui.paths import Paths
from tests.reference.test_causes_told import slow_run
from tests.window.test_validate import WAIT_MS, open_window, page_of, settle, window_of


@pytest.fixture
def slow(make_window: Callable[[], MainWindow], paths: Paths, samples: list, qtbot: QtBot) -> Any:
    """The workspace with one run that is slow since another program ran beside it."""
    window = open_window(make_window, paths)
    scenario = scenario_file.load(samples[1])
    window.document.replace(scenario, "open")
    file = paths.data.parent / "slow.jsonl"
    file.write_text(runs_jsonl([slow_run(scenario)]))
    window.files.intake.take_path(file)
    qtbot.waitUntil(lambda: window.stack.key == "validate", timeout=WAIT_MS)
    page = page_of(window)
    qtbot.waitUntil(lambda: page.view is not None and page.settled(), timeout=WAIT_MS)
    page.choose(0)
    settle(page, qtbot)
    return page


def number_of(page: Any, key: str = "other_program") -> int:
    return next(i for i, s in enumerate(page.suggestions) if s.cause.key == key)


def test_both_tabs_tell_the_same_of_a_cause(slow: Any, qtbot: QtBot) -> None:
    text = slow.pages.causes.items[number_of(slow)].text
    slow.show_tab("diagnose")
    slow.diagnosis.begin()
    settle(slow, qtbot)
    other = next(i.text for i in slow.diagnosis.suspects.items if i.text.title.endswith(text.title))
    numbers = [re.findall(r"\d[\d.]*(?: %)?", one.notes[0]) for one in (text, other)]
    assert numbers[0] == numbers[1] and len(numbers[0]) == 3
    assert text.share == other.share and numbers[0][2] == f"{100 * text.share:.0f} %"
    assert "First token, Per token" in text.notes[0], "what it is the mean of"
    assert text.notes[1].startswith("Per token: predicted "), "and what becomes of the figure in view"


def test_a_cause_that_is_tried_is_seen_to_act(slow: Any, qtbot: QtBot) -> None:
    window = window_of(slow)
    before, text = window.document.scenario, slow.pages.causes.items[number_of(slow)].text
    slow.show_tab("diagnose")
    slow.diagnosis.begin()
    settle(slow, qtbot)
    estimated = slow.diagnosis.found.placed[1].expected.expected
    was = float(np.abs(slow.view.points.errors).max())
    slow.show_tab("errors")
    slow.causes.try_cause(number_of(slow))
    said = window.workspace.messages.text_of("file")
    assert text.title in said and text.notes[1] in said
    settle(slow, qtbot)
    now = float(np.abs(slow.view.points.errors).max())
    assert now < 0.5 * was, "the run is predicted with it"
    assert slow.diagnosis.found.placed[1].expected.expected > 1.2 * estimated, "on the other tab, too"
    slow.show_tab("diagnose")
    assert slow.diagnosis.sentences.text().count("\n") == 2, "with what is said of each figure"
    dict(window.workspace.messages.links_of("file"))["Undo"]()
    settle(slow, qtbot)
    assert window.document.scenario == before
    assert float(np.abs(slow.view.points.errors).max()) == pytest.approx(was)


def test_a_cause_that_is_tried_from_the_diagnosis_is_seen_to_act(slow: Any, qtbot: QtBot) -> None:
    slow.show_tab("diagnose")
    slow.diagnosis.begin()
    settle(slow, qtbot)
    estimated = slow.diagnosis.found.placed[1].expected.expected
    title = slow.pages.causes.items[number_of(slow)].text.title
    item = next(i for i in slow.diagnosis.suspects.items if i.text.title.endswith(title))
    evidence = item.text.notes[0]
    item.button.click()
    assert evidence in window_of(slow).workspace.messages.text_of("file")
    settle(slow, qtbot)
    assert slow.diagnosis.found.placed[1].expected.expected > 1.2 * estimated


def test_where_the_run_states_otherwise_it_is_said_that_its_prediction_stays(slow: Any) -> None:
    pair = slow.board.pairs[0]
    change = Change("workload.shared_prefix_tokens", 1500)  # which stated lengths are without
    slow.causes.put_found([change], lambda: "Half of it", lambda: "It is faster.", pair)
    said = window_of(slow).workspace.messages.text_of("file")
    assert "its prediction stays" in said and "faster" not in said
