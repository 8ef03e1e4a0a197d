"""English and Chinese, switched while the window runs."""

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from core import words as core_words
from core.reports.title import described
from core.words import Words
from gui.document import Origin
from gui.frame.window import MainWindow
from gui.kept.preferences import Preferences

MARK = "¤"


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other language is English with a mark in every text, whatever its catalogue holds."""
    real = core_words._catalogue

    def catalogue(language: str) -> dict[str, str]:
        english = dict(real("en"))
        return english if language == "en" else {key: MARK + text for key, text in english.items()}

    monkeypatch.setattr(core_words, "_catalogue", catalogue)


@pytest.fixture
def complete(qtbot: QtBot, marked: None, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


def settle() -> None:
    for _ in range(4):
        QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def unmarked(window: MainWindow) -> set[str]:
    """Texts in sight that are still in the language of before."""
    known = {text for text in core_words._catalogue("en").values() if len(text) > 2}
    found = set()
    for widget in window.findChildren(QWidget):
        texts = [widget.accessibleName(), widget.toolTip()]
        if isinstance(widget, QLabel | QAbstractButton) and not widget.isHidden():
            texts.append(widget.text())
        found |= {text for text in texts if text in known}
    return found


def test_everything_in_sight_speaks_the_other_language(qtbot: QtBot, complete: MainWindow) -> None:
    with qtbot.waitSignal(complete.workspace.side.advising.ready, timeout=10_000):
        complete.language.choose("zh_CN")
    settle()
    assert unmarked(complete) == set()
    workspace = complete.workspace
    assert workspace.verdict.headline.startswith(MARK)
    assert workspace.side.panel.advice.items[0].text.title.startswith(MARK)
    assert workspace.side.panel.derivation.steps()[0].name.startswith(MARK)
    assert all(plot._heading()[0].startswith(MARK) for plot in workspace.plots)
    assert MARK in complete.status.text()
    assert all(section.head.title.startswith(MARK) for section in workspace.forms.sections.values())
    assert all(action.text().startswith(MARK) for action in complete.menu.actions() if action.text())


def test_it_is_remembered(complete: MainWindow) -> None:
    complete.language.choose("zh_CN")
    assert Preferences(complete.preferences._path).choices.language == "zh_CN"
    assert complete.actions_["language_zh_CN"].isChecked()


def test_there_and_back_nothing_is_left_behind(qtbot: QtBot, complete: MainWindow) -> None:
    def at_rest() -> bool:
        """Advice and derivation follow some time after the numbers."""
        return complete.stack.settled() and bool(complete.workspace.side.panel.advice.items)

    qtbot.waitUntil(at_rest, timeout=10_000)
    settle()
    before = len(complete.findChildren(QWidget))
    headline = complete.workspace.verdict.headline
    for language in ("zh_CN", "en") * 4:
        complete.language.choose(language)
        settle()
        qtbot.waitUntil(at_rest, timeout=10_000)
    qtbot.waitUntil(lambda: len(complete.findChildren(QWidget)) == before, timeout=10_000)
    assert complete.workspace.verdict.headline == headline
    # What was made before is gone and hears nothing: edits raise nothing.
    complete.document.set_value("deployment.accelerators", 2)
    complete.document.set_value("workload.users", 0)
    complete.document.undo()
    settle()


def test_what_was_open_and_chosen_stays(qtbot: QtBot, complete: MainWindow) -> None:
    workspace = complete.workspace
    workspace.show_tab("step")
    workspace.side.select("concurrent_users")
    workspace.forms.sections["model"].set_open(True)
    workspace.forms.sections["workload"].set_open(False)
    complete.document.set_value("workload.users", 5)
    complete.language.choose("zh_CN")
    settle()
    assert workspace.tabs.current == "step"
    assert workspace.side.key == "concurrent_users"
    assert workspace.cards.current == "concurrent_users"
    assert workspace.forms.sections["model"].is_open
    assert not workspace.forms.sections["workload"].is_open
    complete.document.undo()
    assert complete.document.is_clean


def test_a_refused_value_is_told_in_the_other_language(complete: MainWindow) -> None:
    complete.document.set_value("workload.users", 0)
    assert not complete.workspace.messages.text_of("refused").startswith(MARK)
    complete.language.choose("zh_CN")
    settle()
    assert complete.workspace.messages.text_of("refused").startswith(MARK)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_a_language_lists_the_languages_by_their_own_names(window: MainWindow, language: str) -> None:
    """Somebody who cannot read the language in use must still find the own one."""
    window.language.choose(language)
    assert [action.text() for action in window.language.menu.actions()] == ["English", "简体中文"]


def test_words_go_over_in_place() -> None:
    words = Words("en")
    english = words("actions.save")
    words.speak("zh_CN")
    assert words.language == "zh_CN"
    words.speak("en")
    assert words("actions.save") == english


def test_a_name_that_the_program_gave_follows_the_language(complete: MainWindow) -> None:
    """Of a sample, and of a scenario that was recovered under the name of what it is of; no other."""
    window, document = complete, complete.document
    scenario = document.scenario
    english = described(scenario, Words("en"))
    document.restore(scenario, Origin(title=english))
    window.language.use("zh_CN")
    assert document.title == described(scenario, Words("zh_CN")) != english
    assert document.title in window.status.text()
    document.restore(scenario, Origin(title="Mine"))
    assert document.title == "Mine"
    window.language.use("en")
    document.restore(scenario, Origin(title=Words("zh_CN")("samples.2-qwen3-32b-on-two-rtx-3090")))
    assert document.title == window.words("samples.2-qwen3-32b-on-two-rtx-3090")
