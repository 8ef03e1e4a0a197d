"""Other scenarios behind every plot of Estimate: pinned ones in their colours, advice in grey."""

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.planning.started import started
from core.planning.sweep import workload_curves
from core.spec.change import with_values
from gui import theme as themes
from gui.frame.window import MainWindow
from gui.plots import base as base_module
from gui.plots.base import Ghost
from gui.plots.draw import Draw
from gui.plots.tab_ghosts import others_of, step_ghosts

Along = Sequence[tuple[float, float]]
HALF = {"accelerator.memory_bandwidth_gbps": 500.0}


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


def tab_widget(window: MainWindow, key: str) -> QWidget:
    tabs = window.workspace.tabs
    tabs.show_tab(key)  # type: ignore[arg-type]
    QApplication.processEvents()
    if key == "overview":
        return tabs.plots[0]
    found = {"roofline": tabs.roofline, "step": tabs.step, "request": tabs.request}[key]
    assert found is not None
    return found


def count(widget: QWidget, colour: QColor) -> int:
    """Pixels of exactly this colour."""
    QApplication.processEvents()
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return int(((data & 0xFFFFFF) == (colour.rgb() & 0xFFFFFF)).sum())


@pytest.mark.parametrize("key", ["overview", "roofline", "step", "request"])
def test_a_pinned_scenario_is_behind_the_plots_of_every_tab(complete: MainWindow, key: str) -> None:
    widget = tab_widget(complete, key)
    colour = themes.theme().series_colour(1)
    before = count(widget, colour)
    pinned = complete.pinned.pin(with_values(complete.document.scenario, HALF))
    assert pinned is not None
    assert count(widget, colour) > before + 30
    complete.pinned.clear()
    assert count(widget, colour) == before


@pytest.mark.parametrize("key", ["overview", "roofline", "step", "request"])
def test_advice_that_is_pointed_at_is_a_ghost_in_every_tab(
    qtbot: QtBot, complete: MainWindow, key: str
) -> None:
    side = complete.workspace.side
    qtbot.waitUntil(lambda: bool(side.advice), timeout=20_000)
    widget = tab_widget(complete, key)
    before = widget.grab().toImage()
    side._point(next(one for one in side.advice if one.estimate.speed is not None))
    QApplication.processEvents()
    shown = widget.grab().toImage()
    assert shown != before
    side._point(None)
    QApplication.processEvents()
    assert widget.grab().toImage() == before


@pytest.mark.parametrize("key", ["overview", "roofline", "step", "request"])
def test_ghosts_that_came_while_another_tab_was_shown_are_there(complete: MainWindow, key: str) -> None:
    tab_widget(complete, "step" if key != "step" else "roofline")
    complete.pinned.pin(with_values(complete.document.scenario, HALF))
    assert count(tab_widget(complete, key), themes.theme().series_colour(1)) > 30


def test_a_step_elsewhere_is_measured_by_the_own(complete: MainWindow) -> None:
    """Half the bandwidth: the decode step, which memory limits, takes about twice as long."""
    point = estimate(complete.document.scenario)
    other = estimate(with_values(point.scenario, HALF))
    ghost = Ghost("B", workload_curves(other.scenario, other), 1, other)
    own = started(point)
    assert own is not None
    (line,) = step_ghosts(others_of((ghost,)), own)[1]
    assert other.speed is not None and point.speed is not None
    assert line.share == pytest.approx(other.speed.decode.seconds / point.speed.decode.seconds)
    assert 1.5 < line.share < 2.1
    assert line.text.startswith("B ")


def test_what_does_not_start_has_no_ghost_in_the_tabs(complete: MainWindow) -> None:
    small = {"accelerator.memory_gb_nominal": 8.0, "accelerator.memory_mib_reported": 8192}
    other = estimate(with_values(complete.document.scenario, small))
    assert others_of((Ghost("B", workload_curves(other.scenario, other), 1, other),)) == ()


def test_each_letter_stands_on_its_line(complete: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless there is nowhere on it: lines that run close to each other, up to the top of the picture."""
    base = complete.document.scenario
    for users, prompt in ((4, 2048), (8, 8192), (16, 3000)):
        complete.pinned.pin(
            with_values(base, {"workload.users": users, "workload.prompt_tokens": prompt, **HALF})
        )
    apart: list[float] = []
    placed = base_module.badge

    def noting(
        draw: Draw, x: float, y: float, text: str, series: int, bounds: QRectF, along: Along
    ) -> QRectF:
        box = placed(draw, x, y, text, series, bounds, along)
        middle = box.center()
        near = min(abs(py - middle.y()) for px, py in ((x, y), *along) if abs(px - middle.x()) <= 40)
        apart.append(near)
        return box

    monkeypatch.setattr(base_module, "badge", noting)
    for plot in complete.workspace.plots:
        plot.grab()
    assert len(apart) >= 9
    assert max(apart) <= 14 * themes.theme().scale


def test_letters_of_lines_that_are_not_drawn_are_not_explained(complete: MainWindow, qtbot: QtBot) -> None:
    complete.pinned.pin(complete.document.scenario)
    memory, speed = complete.workspace.plots[1], complete.workspace.plots[2]
    assert speed.legend() and memory.legend()
    speed._empty = ("nothing starts",)
    assert not speed.legend() and memory.legend()


def test_a_heading_without_room_keeps_its_unit_and_names_the_letters(complete: MainWindow) -> None:
    base = complete.document.scenario
    for users in (4, 8, 12):
        complete.pinned.pin(with_values(base, {"workload.users": users, "workload.prompt_tokens": 3000}))
    memory = complete.workspace.plots[1]
    assert "users" in memory.legend() and memory._too_wide(memory._with_legend(memory.legend()), 0.0)
    short = memory._with_legend(memory.short_legend())
    assert short == f"B, C, D pinned · {memory.caption()}" and not memory._too_wide(short, 0.0)


def test_names_of_pins_follow_the_language(complete: MainWindow) -> None:
    complete.pinned.pin(with_values(complete.document.scenario, {"workload.users": 4}))
    memory = complete.workspace.plots[1]
    assert "4 users" in memory.legend()
    complete.language.use("zh_CN")
    assert "users" not in memory.legend() and "用户" in memory.legend()
