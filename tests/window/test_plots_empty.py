"""Where nothing starts, plots keep nothing of what they showed before."""

from collections.abc import Callable

import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from core.catalog.models import load_model
from core.estimator import estimate
from core.planning.sweep import workload_curves
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Origin
from gui.frame.window import MainWindow
from gui.plots.compare_curves import KINDS, CompareCurves, Kind, Series
from gui.workspaces.plot_tabs import TABS_IN_ORDER


def never_starts(scenario: Scenario) -> Scenario:
    """DeepSeek-V3 on one RTX 4090: no single change makes it fit."""
    model = load_model("deepseek-ai/DeepSeek-V3")
    return with_values(scenario, {"model": model, "precision.weights": "fp8_block"})


def shown(window: MainWindow, qtbot: QtBot) -> None:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()


def picture(window: MainWindow, qtbot: QtBot, key: str) -> QImage:
    window.workspace.show_tab(key)
    qtbot.waitUntil(window.workspace.settled, timeout=30_000)
    return window.workspace.tabs.grab().toImage()


@pytest.mark.parametrize("key", TABS_IN_ORDER)
def test_empty_plots_of_an_edited_window_are_those_of_a_fresh_one(
    make_window: Callable[[], MainWindow], qtbot: QtBot, scenario: Scenario, key: str
) -> None:
    edited, fresh = make_window(), make_window()
    unfit = never_starts(scenario)
    shown(edited, qtbot)
    picture(edited, qtbot, key)  # with axes and numbers of a service that runs
    edited.document.set_values([("model", unfit.model), ("precision.weights", "fp8_block")], "edit")
    fresh.document.start(unfit, Origin(title="sample"))
    shown(fresh, qtbot)
    assert edited.document.scenario == fresh.document.scenario
    qtbot.waitUntil(lambda: picture(edited, qtbot, key) == picture(fresh, qtbot, key), timeout=10_000)


def test_axes_come_back_with_the_curves(
    make_window: Callable[[], MainWindow], qtbot: QtBot, scenario: Scenario
) -> None:
    window = make_window()
    shown(window, qtbot)
    before = picture(window, qtbot, "overview")
    unfit = never_starts(scenario)
    window.document.set_values([("model", unfit.model), ("precision.weights", "fp8_block")], "edit")
    qtbot.waitUntil(lambda: picture(window, qtbot, "overview") != before, timeout=10_000)
    window.document.undo()
    qtbot.waitUntil(lambda: picture(window, qtbot, "overview") == before, timeout=10_000)


@pytest.mark.parametrize("kind", KINDS)
def test_where_none_of_the_compared_starts_no_unit_is_left(
    qtbot: QtBot, scenario: Scenario, kind: Kind
) -> None:
    def series(one: Scenario) -> tuple[Series]:
        point = estimate(one)
        return (Series("A", 0, point, workload_curves(one, point)),)

    plot, fresh = CompareCurves(Words("en"), kind), CompareCurves(Words("en"), kind)
    for pane in (plot, fresh):
        qtbot.addWidget(pane)
        pane.resize(400, 300)
    plot.show_series(series(scenario))
    before = plot.caption()
    assert before
    plot.show_series(series(never_starts(scenario)))
    fresh.show_series(series(never_starts(scenario)))
    assert plot.grab().toImage() == fresh.grab().toImage()
    assert plot.caption() == (before if kind == "memory" else "")
    plot.show_series(series(scenario))
    assert plot.caption() == before
