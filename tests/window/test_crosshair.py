"""The pointer reads every plot: a value with its unit, wherever it stands."""

import re

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.frame.window import MainWindow

# A number and what it is of: seconds, tokens a second, memory, operations for a byte.
VALUE = re.compile(r"\d[\d,.]* ?(s|ms|µs|tok/s|GiB|MiB|TFLOP/s|FLOP/byte|%|tokens|users)\b|\d %")


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


@pytest.mark.parametrize("tab", ["overview", "roofline", "request"])
def test_a_plot_of_estimate_reads_value_and_unit(complete: MainWindow, tab: str) -> None:
    tabs = complete.workspace.tabs
    tabs.show_tab(tab)  # type: ignore[arg-type]
    QApplication.processEvents()
    panes = tabs.plots if tab == "overview" else [tabs.roofline if tab == "roofline" else tabs.request]
    for pane in panes:
        assert pane is not None
        seen = set()
        for share in (0.12, 0.3, 0.5, 0.8):
            rect = pane.area.panels[-1].rect
            pane._move(QPointF(rect.left() + share * rect.width(), rect.top() + 0.55 * rect.height()))
            if pane._reading:
                assert VALUE.search(pane._reading), pane._reading
                seen.add(pane._reading)
        assert len(seen) >= 2, pane.key  # it follows the pointer
        pane._leave()
        assert pane._reading == ""


def test_a_plot_of_compare_reads_all_scenarios(qtbot: QtBot, complete: MainWindow) -> None:
    complete.pinned.pin(complete.document.scenario)
    complete.stack.show_key("compare")
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=30_000)
    for part in complete.stack.pictures():
        pane = part.widget
        rect = pane.area.panels[0].rect  # type: ignore[attr-defined]
        pane._move(rect.center() + QPointF(40, 5))  # type: ignore[attr-defined]
        reading = pane._reading  # type: ignore[attr-defined]
        assert "A" in reading and "B" in reading and VALUE.search(reading), reading


def test_the_spread_of_a_simulation_reads_the_share(qtbot: QtBot, complete: MainWindow) -> None:
    complete.document.set_values([("workload.users", 4), ("simulation.duration_s", 60.0)], "x")
    complete.stack.show_key("simulate")
    page = complete.stack.page("simulate")
    qtbot.waitUntil(lambda: complete.stack.settled() and page.shot is not None, timeout=60_000)  # type: ignore[attr-defined]
    page.show_tab("percentiles")  # type: ignore[attr-defined]
    spread = page.pages.spread  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: bool(spread.grab() and spread._drawn), timeout=60_000)
    frame, kind, values, factor = spread._drawn[0]
    assert kind == "first_token"
    middle = float(np.median(values))
    found = spread.reading_at(QPointF(frame.px(middle * factor) + 1, frame.rect.center().y()))
    assert found is not None
    said, at, _ = found
    share = int(re.search(r"(\d+) %", said).group(1))  # type: ignore[union-attr]
    assert share >= 50 and "First token" in said and VALUE.search(said)
    assert at.y() == pytest.approx(frame.py(share), abs=frame.rect.height() / 50)
    before = spread.grab().toImage()
    spread._pointer = QPointF(frame.px(middle * factor) + 1, frame.rect.center().y())
    spread.update()
    assert spread.grab().toImage() != before
    assert spread.reading_at(QPointF(-5, 5)) is None
