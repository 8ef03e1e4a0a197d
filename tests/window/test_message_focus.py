"""The focus stays with what was worked on when a message goes with the button that was pressed."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from gui.fields.quantity_edit import QuantityEdit
from gui.frame.window import MainWindow


@pytest.fixture
def shown(make_window: Callable[[], MainWindow], qtbot: QtBot) -> MainWindow:
    window = make_window()
    window.resize(1440, 900)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def refused(window: MainWindow) -> QuantityEdit:
    """A prompt that is too long, typed and entered."""
    window.go_to("workload.prompt_tokens")
    row = window.workspace.forms.row_of("workload.prompt_tokens")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    row.editor.selectAll()
    QTest.keyClicks(row.editor, "30000")
    QTest.keyClick(row.editor, Qt.Key.Key_Return)
    return row.editor


def link(window: MainWindow, words: str) -> QPushButton:
    QApplication.processEvents()  # the strip is laid out, and those it replaces are gone
    links = window.workspace.messages.findChildren(QPushButton)
    return next(b for b in links if words in b.text() and b.isVisible())


@pytest.mark.parametrize("by_key", [False, True])
def test_the_focus_returns_to_the_field_whose_value_is_taken(
    shown: MainWindow, qtbot: QtBot, by_key: bool
) -> None:
    editor = refused(shown)
    raises = link(shown, "Raise")
    if by_key:
        raises.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(raises, Qt.Key.Key_Space)
    else:
        QTest.mouseClick(raises, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: shown.document.scenario.workload.prompt_tokens == 30000)
    assert not shown.workspace.messages.subjects()
    assert QApplication.focusWidget() is editor


def test_a_message_that_nothing_was_left_for_leaves_the_focus_to_the_window(shown: MainWindow) -> None:
    messages = shown.workspace.messages
    shown.setFocus()
    messages.tell("file", "warn", "something", [("Dismiss", lambda: messages.drop("file"))])
    QTest.mouseClick(link(shown, "Dismiss"), Qt.MouseButton.LeftButton)
    assert QApplication.focusWidget() is shown


def test_a_field_that_went_meanwhile_gets_no_focus(shown: MainWindow, qtbot: QtBot) -> None:
    messages = shown.workspace.messages
    gone = QLineEdit(shown)
    gone.show()
    gone.setFocus()
    messages.tell("file", "warn", "something", [("Dismiss", lambda: messages.drop("file"))])
    link(shown, "Dismiss").setFocus()
    with qtbot.waitSignal(gone.destroyed):
        gone.deleteLater()
    link(shown, "Dismiss").click()
    assert QApplication.focusWidget() is shown


def test_a_text_of_the_scenario_itself_is_told_as_it_is(shown: MainWindow) -> None:
    scenario = shown.document.scenario
    assert shown.refusals._shown("name") == scenario.name
    assert shown.refusals._shown("model") == scenario.model.name
