"""A message is read whole: where one line would cut it, it has two."""

import pytest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from core.words import Words
from gui.frame.messages import MessageArea
from gui.frame.window import MainWindow
from gui.theme import theme

NAMES = {"en": "Qwen3-32B on two RTX 3090, edited", "zh_CN": "两张 RTX 3090 上的 Qwen3-32B（已编辑）"}


@pytest.fixture
def area(qtbot: QtBot) -> MessageArea:
    made = MessageArea()
    qtbot.addWidget(made)
    return made


def offer(area: MessageArea, language: str) -> None:
    words = Words(language)
    text = words("window.recovery", name=NAMES[language])
    area.tell("recovery", "info", text, [(words("window.restore"), int), (words("window.discard"), int)])


def wide(area: MessageArea, width: int, qtbot: QtBot) -> QWidget:
    area.resize(width, 100)
    area.show()
    qtbot.waitExposed(area)
    strip = area.findChild(QWidget, "message")
    assert strip is not None
    return strip


@pytest.mark.parametrize("language", NAMES)
def test_recovered_work_is_offered_in_full_beside_the_forms_of_a_small_window(
    area: MessageArea, qtbot: QtBot, language: str
) -> None:
    offer(area, language)
    strip = wide(area, 688, qtbot)  # of 1,024 pixels
    line = strip._text  # type: ignore[attr-defined]
    metrics = line.fontMetrics()
    assert line.lines == 2 and strip.sizeHint().height() == theme().px(50)
    assert metrics.horizontalAdvance(line.text()) <= 0.9 * 2 * line.width()  # nothing is cut
    assert 2 * metrics.height() <= line.height()


def test_a_message_that_fits_has_one_line(area: MessageArea, qtbot: QtBot) -> None:
    offer(area, "en")
    strip = wide(area, 1400, qtbot)
    assert strip.sizeHint().height() == theme().px(32)
    area.resize(500, 100)
    qtbot.waitUntil(lambda: strip.sizeHint().height() == theme().px(50))
    area.resize(1400, 100)
    qtbot.waitUntil(lambda: strip.sizeHint().height() == theme().px(32))


def test_what_was_done_goes_with_the_next_edit_or_workspace(window: MainWindow) -> None:
    window.show()
    messages = window.workspace.messages
    for go in (
        lambda: window.document.set_value("workload.users", 3),
        lambda: window.stack.show_key("validate"),
    ):
        messages.tell("file", "good", "9 runs added.", [("Undo", int)])
        messages.tell("fault", "bad", "no disk")
        assert "9 runs" in messages.text_of("file")
        go()
        assert list(messages.subjects()) == ["fault"]
