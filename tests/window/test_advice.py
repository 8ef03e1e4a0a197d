"""Advice beside the results: worked out aside, taken as one edit, shown as a ghost."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QCursor, QEnterEvent, QHelpEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from core.explain.symptoms import findings
from core.planning.advise import advise
from core.planning.suggestion import TOGETHER, Effect, lead
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.forms.changed import Ring
from gui.frame.window import MainWindow
from gui.panels.side import Side
from gui.widgets.advice_content import suggestion_text
from gui.widgets.symptoms_popover import SymptomsPopover


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    """The window on screen with plots and advice, under a load that misses targets."""
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    with qtbot.waitSignal(window.workspace.side.advising.ready, timeout=10_000):
        window.document.set_values(
            [
                ("workload.users", 24),
                ("targets.time_per_output_token_ms", 20.0),
                ("targets.users", 40),
            ],
            "workload.users",
        )
    return window


@pytest.fixture
def side(complete: MainWindow) -> Side:
    return complete.workspace.side


def texts(side: Side) -> list[str]:
    return [item.text.title for item in side.panel.advice.items]


def point_at(side: Side, index: int) -> None:
    item = side.panel.advice.items[index]
    at = QPointF(20, 20)
    QApplication.sendEvent(item, QEnterEvent(at, at, item.mapToGlobal(QPoint(20, 20)).toPointF()))


@pytest.mark.qt_log_ignore("This plugin does not support raise")
def test_the_tooltip_is_no_wider_than_the_panel(side: Side) -> None:
    """Anything wider would be moved to the left, over the cards that show the effect."""
    item = side.panel.advice.items[0]
    at = QPoint(20, 20)
    QApplication.sendEvent(item, QHelpEvent(QEvent.Type.ToolTip, at, item.mapToGlobal(at)))
    assert QToolTip.isVisible() and QToolTip.text() == item.tip()
    tip = next(w for w in QApplication.topLevelWidgets() if w.inherits("QTipLabel") and w.isVisible())
    assert tip.width() <= item.width()
    QToolTip.hideText()


def leave(side: Side, index: int) -> None:
    QApplication.sendEvent(side.panel.advice.items[index], QEvent(QEvent.Type.Leave))


def test_the_suggestions_are_those_of_the_core(complete: MainWindow, side: Side) -> None:
    words = Words("en")
    expected = [words.phrase(s.title) for s in advise(complete.document.scenario)]
    assert expected
    assert texts(side) == expected


def test_each_says_what_it_does_to_the_numbers(side: Side) -> None:
    for item, suggestion in zip(side.panel.advice.items, side.advice, strict=True):
        assert item.text == suggestion_text(suggestion, Words("en"))
        assert 1 <= len(item.text.effects) <= 3
        for effect in item.text.effects:
            assert effect.name
            assert effect.new.number != effect.old
        assert item.text.title in item.accessibleName()
        assert item.text.title in item.button.accessibleName()


def test_effects_are_the_estimates_of_before_and_after(complete: MainWindow, side: Side) -> None:
    point = complete.estimation.estimate
    assert point is not None
    assert point.speed is not None
    for suggestion in side.advice:
        for effect in suggestion.effects:
            if effect.key == "output_throughput":
                assert effect.before == point.speed.output_throughput.expected
                assert suggestion.estimate.speed is not None
                assert effect.after == suggestion.estimate.speed.output_throughput.expected


def test_applying_is_one_undoable_edit_that_is_named(qtbot: QtBot, complete: MainWindow, side: Side) -> None:
    before = complete.document.scenario
    suggestion, title = side.advice[0], texts(side)[0]
    qtbot.mouseClick(side.panel.advice.items[0].button, Qt.MouseButton.LeftButton)
    changed = with_values(before, {c.path: c.value for c in suggestion.changes})
    assert complete.document.scenario == changed
    assert complete.actions_["undo"].text() == f"Undo: {title}"
    complete.document.undo()
    assert complete.document.scenario == before


def test_an_edit_right_after_applying_is_an_edit_of_its_own(complete: MainWindow, side: Side) -> None:
    side.apply(side.advice[0])
    applied = complete.document.scenario
    complete.document.set_value("workload.users", 3)
    complete.document.undo()
    assert complete.document.scenario == applied


def test_what_was_changed_is_ringed_for_a_moment(qtbot: QtBot, complete: MainWindow, side: Side) -> None:
    """Where it is in sight: after Apply, and after taking it back."""
    forms = complete.workspace.forms
    index = next(
        i for i, s in enumerate(side.advice) if any(forms.row_of(c.path) is not None for c in s.changes)
    )
    row = forms.row_of(side.advice[index].changes[0].path)
    assert row is not None
    forms.focus_field(row.path)
    side.apply(side.advice[index])
    assert row.findChild(Ring) is not None
    qtbot.waitUntil(lambda: row.findChild(Ring) is None, timeout=3_000)
    complete.actions_["undo"].trigger()
    assert row.findChild(Ring) is not None


def test_pointing_shows_a_ghost_in_cards_and_plots_and_leaving_takes_it_away(
    complete: MainWindow, side: Side
) -> None:
    cards, plots = complete.workspace.cards.cards, complete.workspace.plots
    assert all(card.ghost is None for card in cards)
    point_at(side, 0)
    assert any(card.ghost is not None for card in cards)
    label = texts(side)[0]
    assert [[ghost.label for ghost in plot.ghosts] for plot in plots] == [[label]] * len(plots)
    leave(side, 0)
    assert all(card.ghost is None for card in cards)
    assert all(not plot.ghosts for plot in plots)


def test_the_keyboard_shows_the_ghost_as_the_pointer_does(complete: MainWindow, side: Side) -> None:
    side.panel.advice.items[1].button.setFocus(Qt.FocusReason.TabFocusReason)
    assert any(card.ghost is not None for card in complete.workspace.cards.cards)
    side.panel.advice.items[2].button.setFocus(Qt.FocusReason.TabFocusReason)
    assert complete.workspace.plots[0].ghosts[0].label == texts(side)[2]


def test_the_ghost_of_a_card_is_the_number_of_the_changed_scenario(complete: MainWindow, side: Side) -> None:
    index = next(i for i, s in enumerate(side.advice) if any(e.key == "concurrent_users" for e in s.effects))
    point_at(side, index)
    ghost = complete.workspace.cards.cards[4].ghost
    assert ghost is not None
    assert ghost.value == f"{side.advice[index].estimate.capacity.at_once:,}"
    leave(side, index)


def test_advice_for_an_older_scenario_is_never_shown(qtbot: QtBot, complete: MainWindow, side: Side) -> None:
    """A newer edit drops what is under way; only the last scenario is answered."""
    answered = []
    side.advising.ready.connect(lambda _found, point: answered.append(point.scenario))
    for users in range(2, 12):
        complete.document.set_value("workload.users", users)
        QApplication.processEvents()
    qtbot.waitUntil(lambda: bool(answered), timeout=10_000)
    qtbot.wait(150)
    assert answered == [complete.document.scenario]


def test_nothing_of_the_advice_is_worked_out_before_numbers_and_plots_are_shown(
    qtbot: QtBot, complete: MainWindow, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    begin: Callable[[], None] = side.advising._begin
    side.advising._rest.timeout.disconnect()
    side.advising._rest.timeout.connect(lambda: (order.append("advice"), begin()))
    complete.estimation.point_ready.connect(lambda *_: order.append("numbers"))
    complete.estimation.curves_ready.connect(lambda *_: order.append("plots"))
    with qtbot.waitSignal(side.advising.ready, timeout=10_000):
        complete.document.set_value("workload.users", 9)
    assert order == ["numbers", "plots", "advice"]


def test_the_count_tells_how_many_are_in_sight(side: Side) -> None:
    view = side.panel.advice
    n = len(view.suggestions)
    assert n > 2
    view.resize(304, 240)
    shown = int(view.count_text().split()[0])
    assert 1 <= shown < n
    assert view.count_text() == f"{shown} of {n}"
    view.resize(304, 4000)
    assert view.count_text() == f"{n} changes that help"


def test_old_suggestions_cannot_be_taken_and_the_head_says_why(complete: MainWindow, side: Side) -> None:
    advice = side.panel.advice
    side.advising.late.emit()
    assert not any(item.button.isEnabled() for item in advice.items)
    assert advice.count_text() == Words("en")("plots.updating")
    advice.show_advice(advice.suggestions, "warn", "")
    assert all(item.button.isEnabled() for item in advice.items)
    assert advice.count_text() != Words("en")("plots.updating")


def test_suggestions_of_before_an_edit_cannot_be_taken(
    qtbot: QtBot, complete: MainWindow, side: Side
) -> None:
    """From the edit on, long before they turn grey."""
    advice, suggestion = side.panel.advice, side.advice[0]
    with qtbot.waitSignal(side.advising.ready, timeout=30_000):
        complete.document.set_value("workload.prompt_tokens", 7000)
        edited = complete.document.scenario
        assert advice.items and not any(item.button.isEnabled() for item in advice.items)
        assert not any(item.muted for item in advice.items)
        qtbot.mouseClick(advice.items[0].button, Qt.MouseButton.LeftButton)
        side.set_words(Words("zh_CN"))
        assert not advice.items[0].button.isEnabled()
    assert complete.document.scenario == edited
    assert side.advice[0] is not suggestion
    assert all(item.button.isEnabled() for item in advice.items)


def test_a_double_click_takes_one_suggestion(qtbot: QtBot, complete: MainWindow, side: Side) -> None:
    """Its second click may meet the next first suggestion at the same place."""
    usual = QApplication.doubleClickInterval()
    stack = complete.document.undo_stack
    before = stack.index()

    def first_can_be_taken() -> bool:
        return not side.advising.busy and side.panel.advice.items[0].button.isEnabled()

    try:
        QApplication.setDoubleClickInterval(600_000)
        for _click in range(2):
            qtbot.waitUntil(first_can_be_taken, timeout=30_000)
            qtbot.mouseClick(side.panel.advice.items[0].button, Qt.MouseButton.LeftButton)
        assert stack.index() == before + 1
        QApplication.setDoubleClickInterval(0)
        qtbot.mouseClick(side.panel.advice.items[0].button, Qt.MouseButton.LeftButton)
        assert stack.index() == before + 2
    finally:
        QApplication.setDoubleClickInterval(usual)


def test_what_is_scrolled_below_the_pointer_is_shown(
    complete: MainWindow, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = side.panel.advice
    first, second = advice.items[:2]
    point_at(side, 0)
    assert advice._pointed is first
    monkeypatch.setattr(advice._scroll.viewport(), "underMouse", lambda: True)
    monkeypatch.setattr(QCursor, "pos", lambda: second.mapToGlobal(QPoint(20, 20)))
    advice._on_scrolled()
    assert advice._pointed is second


@pytest.mark.parametrize("by_key", [False, True])
def test_the_focus_keeps_its_place_when_a_suggestion_is_taken(
    qtbot: QtBot, complete: MainWindow, side: Side, by_key: bool
) -> None:
    complete.activateWindow()
    qtbot.waitUntil(complete.isActiveWindow)
    items = side.panel.advice.items
    with qtbot.waitSignal(side.advising.ready, timeout=10_000):
        if by_key:
            items[1].button.setFocus(Qt.FocusReason.TabFocusReason)
            qtbot.keyClick(items[1].button, Qt.Key.Key_Space)
        else:
            qtbot.mouseClick(items[1].button, Qt.MouseButton.LeftButton)
        side.panel.advice.set_stale(True)  # as when the next ones take their time
        assert QApplication.focusWidget() is side.panel.advice
    assert QApplication.focusWidget() is side.panel.advice.items[1].button
    assert complete.workspace.cards.cards[0].ghost is None


def test_what_comes_below_a_resting_pointer_shows_nothing_until_it_moves(
    complete: MainWindow, side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice, cards = side.panel.advice, complete.workspace.cards.cards
    place = advice.items[0].mapToGlobal(QPoint(20, 20))
    monkeypatch.setattr(QCursor, "pos", lambda: place)
    advice.show_advice(side.advice[1:], "warn", "")
    point_at(side, 0)  # so Qt tells that it has come upon the pointer
    assert cards[0].ghost is None
    at, where = QPointF(21, 20), (place + QPoint(1, 0)).toPointF()
    none, left = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.NoButton
    for watched in (advice.items[0].button, advice.items[0]):
        side._point(None)
        advice.items[0].rest_pointer(place)
        QApplication.sendEvent(watched, QMouseEvent(QEvent.Type.MouseMove, at, where, left, left, none))
        assert cards[0].ghost is not None


def test_a_link_has_a_ring_for_the_keyboard_only(complete: MainWindow, side: Side) -> None:
    why = side.panel.advice.why
    why.setFocus(Qt.FocusReason.MouseFocusReason)
    pressed = why.grab().toImage()
    why.clearFocus()
    assert why.grab().toImage() == pressed
    why.setFocus(Qt.FocusReason.TabFocusReason)
    assert why.grab().toImage() != pressed


def test_a_focused_suggestion_comes_into_sight(side: Side) -> None:
    view = side.panel.advice
    view.resize(304, 240)
    last = view.items[-1]
    last.button.setFocus(Qt.FocusReason.TabFocusReason)
    seen = view._scroll.verticalScrollBar().value() + view._scroll.viewport().height()
    assert last.geometry().bottom() <= seen
    assert view._scroll.horizontalScrollBar().value() == 0


def test_what_does_not_start_is_helped_to_fit(qtbot: QtBot, complete: MainWindow, side: Side) -> None:
    with qtbot.waitSignal(side.advising.ready, timeout=10_000):
        complete.document.set_values(
            [("accelerator.memory_gb_nominal", 12.0), ("accelerator.memory_mib_reported", 12_288)],
            "accelerator",
        )
    assert side.advice
    assert all(s.fits for s in side.advice)
    assert any("—" in effect.old for item in side.panel.advice.items for effect in item.text.effects)


@pytest.mark.qt_log_ignore("This plugin does not support")  # a popup without a screen
def test_why_lists_symptoms_with_causes_checks_and_remedies(
    qtbot: QtBot, complete: MainWindow, side: Side
) -> None:
    point = complete.estimation.estimate
    assert point is not None
    found = findings(point)
    assert found
    qtbot.mouseClick(side.panel.advice.why, Qt.MouseButton.LeftButton)
    popover = side.panel.findChild(SymptomsPopover)
    assert popover is not None
    said, words = popover.texts(), Words("en")
    for finding in found:
        assert words.phrase(finding.symptom.name) in said
        for cause in finding.causes:
            assert words.phrase(cause.text) in said
            assert f"Check: {words.phrase(cause.check)}" in said
            assert f"Remedy: {words.phrase(cause.remedy)}" in said
    assert popover.height() >= popover.childrenRect().height()
    popover.close()


def test_in_a_small_window_a_rail_opens_the_parts_over_the_centre(
    qtbot: QtBot, complete: MainWindow, side: Side
) -> None:
    complete.resize(1280, 720)
    QApplication.processEvents()
    assert side.rail.isVisible()
    assert not side.panel.isVisible()
    assert side.rail.buttons["advice"].count == len(side.advice)
    qtbot.mouseClick(side.rail.buttons["advice"], Qt.MouseButton.LeftButton)
    assert side.panel.advice.isVisible()
    assert not side.panel.derivation.isVisible()
    QApplication.processEvents()
    assert side.panel.geometry().right() + 1 == side.rail.geometry().left()
    qtbot.keyClick(side.panel, Qt.Key.Key_Escape)
    assert not side.panel.isVisible()
    assert side.rail.current == ""
    complete.resize(1440, 900)
    QApplication.processEvents()
    assert side.panel.isVisible()
    assert side.panel.advice.isVisible()
    assert side.panel.derivation.isVisible()
    assert side.panel.width() == 304


def test_in_a_small_window_each_card_opens_its_working_the_chosen_one_too(
    qtbot: QtBot, complete: MainWindow, side: Side
) -> None:
    complete.resize(1280, 720)
    QApplication.processEvents()
    cards = complete.workspace.cards.cards
    assert cards[0].selected
    for card in (cards[0], cards[1]):
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
        assert side.panel.derivation.isVisible()
        assert (side.key, side.rail.current) == (card.key, "derivation")
        qtbot.keyClick(card, Qt.Key.Key_Escape)  # the focus may well be below what has opened
        assert not side.panel.isVisible()


@pytest.mark.parametrize(("size", "width"), [((1440, 900), 304), ((1920, 1080), 368)])
def test_the_panel_has_the_width_of_the_design(
    complete: MainWindow, side: Side, size: tuple[int, int], width: int
) -> None:
    complete.resize(*size)
    QApplication.processEvents()
    assert side.panel.width() == width
    forms = complete.workspace.forms
    assert forms.width() + 1 + side.panel.width() + complete.workspace.cards.width() == size[0]


def test_with_folded_forms_the_panel_has_room_in_a_small_window(complete: MainWindow, side: Side) -> None:
    complete.resize(1280, 720)
    complete.actions_["fold_forms"].setChecked(True)
    QApplication.processEvents()
    assert side.panel.isVisible()
    assert side.panel.width() == 288
    assert side.panel.advice.count_text() == f"2 of {len(side.advice)}"


def test_a_time_that_grows_on_is_said_in_words(scenario: Scenario) -> None:
    change = with_values(scenario, {"workload.users": 64, "targets.time_to_first_token_s": 0.05})
    some = advise(change)[0]
    effect = Effect("time_to_first_token", math.inf, 0.5, True, "meets")
    shown = suggestion_text(replace(some, effects=(effect,)), Words("en")).effects[0]
    assert (shown.old, str(shown.new)) == ("grows on", "500 ms")


def test_a_window_that_nobody_has_edited_gives_advice(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    qtbot.waitUntil(lambda: bool(window.workspace.side.panel.advice.items), timeout=10_000)


def test_where_no_single_change_is_enough_that_is_said_and_what_is_enough_is_one_edit(
    qtbot: QtBot, complete: MainWindow, side: Side
) -> None:
    ready = side.advising.ready
    with qtbot.waitSignal(ready, timeout=30_000):
        complete.document.set_values(
            [
                ("workload.prompt_tokens", 6000),
                ("workload.users", 64),
                ("targets.users", 64),
                ("targets.time_to_first_token_s", 1.0),
            ],
            "workload.users",
        )
    qtbot.waitUntil(lambda: not side.advising.busy, timeout=30_000)  # devices may come later
    before, first = complete.document.scenario, side.advice[0]
    assert first.key in TOGETHER and len(first.changes) > 1
    said = lead("warn", side.advice)
    assert said is not None and side.panel.advice.lead_text == Words("en").phrase(said)
    side.set_words(Words("zh_CN"))
    assert side.panel.advice.lead_text == Words("zh_CN").phrase(said)
    with qtbot.waitSignal(ready, timeout=30_000):
        qtbot.mouseClick(side.panel.advice.items[0].button, Qt.MouseButton.LeftButton)
    point = complete.estimation.estimate
    assert point is not None and point.verdict.state == "good"
    assert not side.panel.advice.lead_text
    complete.document.undo()
    assert complete.document.scenario == before


def test_a_link_leads_to_the_search_where_something_is_to_be_bought(complete: MainWindow, side: Side) -> None:
    advice = side.panel.advice
    assert {suggestion.key for suggestion in side.advice} & {"other_device", "more_devices", "second_copy"}
    assert advice.search.isVisibleTo(advice)
    advice.search.click()
    assert complete.stack.key == "recommend"
    advice.show_advice(tuple(s for s in side.advice if s.key == "users"), "warn", "")
    assert not advice.search.isVisibleTo(advice)
