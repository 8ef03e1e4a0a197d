"""Parts that are shown one after the other, work that pauses, and texts of tables that are shaped once."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from pytestqt.qtbot import QtBot

from core.pauses import pause
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.cell_text import Writer
from gui.work.background import Work
from gui.work.turns import Turns


def test_each_part_has_a_turn_and_the_newest_counts(qtbot: QtBot) -> None:
    shown: list[str] = []
    turns = Turns()
    for key, text in (("a", "old"), ("b", "other"), ("a", "new"), ("c", "dropped")):
        turns.put(key, lambda text=text: shown.append(text))  # type: ignore[misc]
    turns.drop("c")
    assert turns.busy and not shown
    qtbot.waitUntil(lambda: not turns.busy)
    assert shown == ["new", "other"]


def test_a_part_may_ask_for_another(qtbot: QtBot) -> None:
    shown: list[str] = []
    turns = Turns()
    turns.put("a", lambda: (shown.append("a"), turns.put("b", lambda: shown.append("b")))[0])
    qtbot.waitUntil(lambda: shown == ["a", "b"])
    assert not turns.busy


def test_work_that_nobody_waits_for_ends_where_it_pauses(qtbot: QtBot) -> None:
    work, steps = Work(), []

    def endless():  # type: ignore[no-untyped-def]
        yield "begun"
        while True:
            steps.append(None)
            pause()

    work.start(endless)
    qtbot.waitUntil(lambda: len(steps) > 3)
    thread = work._thread
    assert thread is not None
    work.stop()
    thread.join(10.0)
    assert not thread.is_alive()


def _painted(short: bool, string: str, box: QRectF, right: bool) -> bytes:
    image = QImage(260, 40, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(theme().canvas)
    painter = QPainter(image)
    if short:
        Writer(painter).text(box, string, "body_medium", theme().ink, right)
    else:
        align = paint.RIGHT if right else paint.LEFT
        paint.text(painter, box, string, theme().font("body_medium"), theme().ink, align)
    painter.end()
    return bytes(image.constBits())


@pytest.mark.parametrize("string", ["4 × RTX 3090", "$12,345", "≤ 34.2 ms", "张量并行 4", "long " * 40])
@pytest.mark.parametrize("right", [False, True])
def test_a_shaped_text_has_the_same_pixels(qtbot: QtBot, string: str, right: bool) -> None:
    box = QRectF(8.0, 3.0, 200.0, 32.0)
    blank = _painted(False, "", box, right)
    for _ in range(2):  # the second time it is known
        assert _painted(True, string, box, right) == _painted(False, string, box, right) != blank
