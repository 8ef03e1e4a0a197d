"""What the line at the bottom shows is what it would paint now: its parts are cut where the count begins."""

from collections.abc import Callable

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.words import Words
from gui.frame.statusbar import Complaint, StatusBar

FIVE = [Complaint("wrong", "")] * 5
CHANGES: dict[str, tuple[Callable[[StatusBar], object], ...]] = {
    "problems come": (lambda bar: bar.show_problems([]), lambda bar: bar.show_problems(FIVE * 100)),
    "problems go": (lambda bar: bar.show_problems(FIVE * 100), lambda bar: bar.show_problems([])),
    "notes come": (lambda bar: bar.show_notes([]), lambda bar: bar.show_notes(["a note"] * 100)),
    "more notes": (lambda bar: bar.show_notes(["a note"]), lambda bar: bar.show_notes(["a note"] * 100)),
    "notes go": (lambda bar: bar.show_notes(["a note"] * 100), lambda bar: bar.show_notes([])),
}


def in_sight(bar: StatusBar) -> QImage:
    """The pixels of the screen, which a grab of the widget would paint anew."""
    return bar.screen().grabWindow(bar.winId()).toImage()


@pytest.fixture
def bar(qtbot: QtBot) -> StatusBar:
    bar = StatusBar(Words("en"))
    qtbot.addWidget(bar)
    bar.resize(400, bar.height())
    bar.show()
    qtbot.waitExposed(bar)
    bar.show_file(
        "a name that is longer than there is room for it beside what is said at the right.json", True
    )
    return bar


@pytest.mark.parametrize("change", CHANGES)
def test_the_parts_follow_what_stands_right_of_them(qtbot: QtBot, bar: StatusBar, change: str) -> None:
    first, then = CHANGES[change]
    first(bar)
    qtbot.wait(50)
    then(bar)
    qtbot.wait(50)
    shown = in_sight(bar)
    bar.update()
    qtbot.wait(50)
    assert shown == in_sight(bar)
