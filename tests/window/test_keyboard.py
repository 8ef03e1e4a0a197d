"""The keyboard reaches everything, and everything that it reaches has a name."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from gui.frame.window import MainWindow
from gui.workspaces.registry import KEYS

MOST = 400  # presses of Tab; the fullest workspace needs about a hundred


def named(part: QWidget) -> str:
    return f"{type(part).__name__}({part.objectName() or part.accessibleName()})"


def spoken(part: QWidget) -> str:
    """What a screen reader calls it: a button by its words where it has no other name."""
    text = part.text() if isinstance(part, QAbstractButton) else ""
    return part.accessibleName().strip() or text.strip()


def stops(window: MainWindow) -> set[QWidget]:
    """Everything in sight that says that Tab goes to it."""
    return {
        part
        for part in window.findChildren(QWidget)
        if part.isVisible()
        and part.isEnabled()
        and part.focusPolicy() & Qt.FocusPolicy.TabFocus == Qt.FocusPolicy.TabFocus
        and part.focusProxy() is None
        and not isinstance(part.parentWidget(), QScrollArea)
        and part.window() is window
    }


def walked(window: MainWindow, back: bool = False) -> list[QWidget]:
    """Where Tab goes, once round."""
    window.activateWindow()
    QTest.qWaitForWindowActive(window)
    window.setFocus()
    found: list[QWidget] = []
    for _ in range(MOST):
        on = QApplication.focusWidget() or window
        modifier = Qt.KeyboardModifier.ShiftModifier if back else Qt.KeyboardModifier.NoModifier
        QTest.keyClick(on, Qt.Key.Key_Backtab if back else Qt.Key.Key_Tab, modifier)
        now = QApplication.focusWidget()
        if now is None or (found and now is found[0]):
            break
        found.append(now)
    return found


@pytest.fixture
def complete(make_window: Callable[[], MainWindow], qtbot: QtBot) -> MainWindow:
    window = make_window()
    window.resize(1440, 900)
    window.show()
    window.activateWindow()
    window.load_plots()
    qtbot.waitUntil(window.stack.settled, timeout=10_000)
    return window


@pytest.mark.parametrize("key", KEYS)
def test_tab_reaches_every_control_of_a_workspace(complete: MainWindow, qtbot: QtBot, key: str) -> None:
    complete.pinned.pin(complete.document.scenario)
    complete.stack.show_key(key)
    qtbot.waitUntil(complete.stack.settled, timeout=60_000)
    for section in complete.workspace.forms.sections.values():
        section.set_open(True)
    QApplication.processEvents()
    forth = walked(complete)
    wanted = stops(complete)
    assert len(wanted) > 15
    assert sorted(named(part) for part in wanted - set(forth)) == []
    assert len(forth) == len(set(forth)), "no stop comes twice in a round"
    back = walked(complete, back=True)
    assert set(back) == set(forth)


@pytest.mark.parametrize("key", KEYS)
def test_every_stop_has_a_name(complete: MainWindow, qtbot: QtBot, key: str) -> None:
    complete.pinned.pin(complete.document.scenario)
    complete.stack.show_key(key)
    qtbot.waitUntil(complete.stack.settled, timeout=60_000)
    assert [named(part) for part in stops(complete) if not spoken(part)] == []


def test_fields_are_called_as_their_declaration_calls_them(complete: MainWindow) -> None:
    rows = complete.workspace.forms.rows
    assert len(rows) > 15
    for row in rows:
        assert row.editor.accessibleName() == complete.words(f"fields.{row.path}.label"), row.path
        assert row.editor.accessibleDescription(), row.path


def test_every_tab_of_plots_is_reached(complete: MainWindow, qtbot: QtBot) -> None:
    for tab in ("overview", "roofline", "step", "request"):
        complete.workspace.show_tab(tab)
        qtbot.waitUntil(complete.stack.settled, timeout=10_000)
        reached = set(walked(complete))
        assert sorted(named(part) for part in stops(complete) - reached) == [], tab
