"""Tips of lists and tables follow the pointer; no Python stands between Qt and its viewports' events."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.widgets.run_list import RunLine, RunList

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_whole_row_is_the_tip_of_a_list(qtbot: QtBot, qapp: QApplication) -> None:
    listed = RunList("runs", lambda row: RunLine(f"title {row}", "a caption", "12 ms"))
    qtbot.addWidget(listed)
    listed.resize(240, 300)
    listed.show_rows([4, 5, 6])
    listed.show()
    qtbot.mouseMove(listed.viewport(), QPoint(60, 50))
    qtbot.mouseMove(listed.viewport(), QPoint(60, 60))
    tip = listed.viewport().toolTip()
    assert "title 1" in tip and "a caption" in tip and "12 ms" in tip
    qtbot.mouseMove(listed.viewport(), QPoint(60, 290))
    assert listed.viewport().toolTip() == ""


def test_no_widget_takes_all_events_of_its_viewport() -> None:
    """An override that hands every event on crashed in Qt, after minutes of random clicks and keys."""
    found = [p.name for p in (ROOT / "gui").rglob("*.py") if "def viewportEvent" in p.read_text("utf-8")]
    assert found == []


def test_a_row_that_cannot_be_said_does_not_end_the_program(qtbot: QtBot) -> None:
    """The painter ends with what is raised, so that the next painting begins."""
    broken = [True]

    def line(row: int) -> RunLine:
        if broken:
            raise IndexError(row)
        return RunLine("title", "a caption")

    listed = RunList("runs", line)
    qtbot.addWidget(listed)
    listed.resize(300, 200)
    listed.show_rows((1, 2, 3))
    for _ in range(5):
        with pytest.raises(IndexError):
            listed.grab()
    broken.clear()
    image = listed.grab().toImage()
    assert len({image.pixel(x, 14) for x in range(300)}) > 5, "a title is there again"
