"""The dialogs on the screen: they open without blocking and answer once."""

import re
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from core.words import Words
from gui.dialogs.question import QuestionBox
from gui.dialogs.service import QtDialogs, Question
from gui.frame.window import MainWindow

UNSAVED = Question("unsaved", ("save", "discard", "cancel"), "cancel", (("name", "a.json"),))


def the_box(qtbot: QtBot) -> QuestionBox:
    def boxes() -> list[QuestionBox]:
        return [w for w in QApplication.topLevelWidgets() if isinstance(w, QuestionBox) and w.isVisible()]

    qtbot.waitUntil(lambda: bool(boxes()), timeout=5000)
    return boxes()[0]


@pytest.mark.parametrize("answer", ["save", "discard", "cancel"])
def test_each_button_gives_its_answer(qtbot: QtBot, window: MainWindow, answer: str) -> None:
    window.show()
    words = Words("en")
    answers: list[str] = []
    QtDialogs(words).ask(window, UNSAVED, answers.append)
    assert answers == []
    box = the_box(qtbot)
    assert "a.json" in box.text.text()
    assert box.buttons[answer].text() == words(f"dialogs.unsaved.{answer}")
    box.buttons[answer].click()
    qtbot.waitUntil(lambda: answers == [answer], timeout=5000)


def test_escape_means_cancel(qtbot: QtBot, window: MainWindow) -> None:
    window.show()
    answers: list[str] = []
    QtDialogs(Words("en")).ask(window, UNSAVED, answers.append)
    the_box(qtbot).close()
    qtbot.waitUntil(lambda: answers == ["cancel"], timeout=5000)


def test_enter_gives_the_first_answer(qtbot: QtBot, window: MainWindow) -> None:
    window.show()
    answers: list[str] = []
    QtDialogs(Words("en")).ask(window, UNSAVED, answers.append)
    box = the_box(qtbot)
    assert box.buttons["save"].isDefault()
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: answers == ["save"], timeout=5000)


def test_qt_speaks_the_language_of_the_window(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    """Its file dialog and the menus of fields, also after a switch while the program runs."""

    def words_of_qt() -> str:
        dialog = QtDialogs(window.words)._dialog(window, "x", str(tmp_path))
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        labels = [label.text() for label in dialog.findChildren(QLabel)]
        buttons = [button.text() for button in dialog.findChildren(QPushButton)]
        field = QLineEdit()
        menu = field.createStandardContextMenu()
        found = " ".join((*labels, *buttons, *(action.text() for action in menu.actions())))
        menu.deleteLater()
        dialog.deleteLater()
        return found

    def latin(text: str) -> set[str]:
        return {word for word in re.findall("[A-Za-z]{3,}", text) if word != "Ctrl"}

    assert {"Look", "type", "Save", "Cancel", "Copy"} <= latin(words_of_qt().replace("&", ""))
    window.language.use("zh_CN")
    assert not latin(words_of_qt())
    window.language.use("en")
    assert "Cancel" in words_of_qt()


def test_a_file_dialog_that_is_closed_gives_no_file(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    window.show()
    chosen: list[Path | None] = []
    QtDialogs(Words("en")).save_file(window, tmp_path / "a.json", chosen.append)
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, QFileDialog))
    dialog.reject()
    qtbot.waitUntil(lambda: chosen == [None], timeout=5000)


@pytest.mark.parametrize("question", ["unsaved", "changed_on_disk", "replace"])
def test_every_question_has_its_words(question: str) -> None:
    words = Words("en")
    for part in ("text", "detail", "cancel"):
        assert words.has(f"dialogs.{question}.{part}")
