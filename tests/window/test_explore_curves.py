"""Explore's curves: the axis holds what the lines above it speak of, and every curve has its name."""

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.planning.explore import ResultKey
from core.planning.explore_axes import Axis
from core.quantities import FloatArray
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.contents.explore import at_index, best_cell
from gui.plots.draw import Draw
from gui.plots.grid_curves import GridCurves
from gui.work.exploration import Picture

USERS = Axis("workload.users", tuple(range(1, 129)), log=True)
COUNTS = Axis("deployment.accelerators", tuple(range(1, 9)))
PROMPTS = Axis("workload.prompt_tokens", tuple(range(1000, 41_000, 1000)))


def shown(
    qtbot: QtBot, scenario: Scenario, y: Axis, result: ResultKey, values: FloatArray, x: Axis = USERS
) -> GridCurves:
    starts = np.isfinite(values)
    plot = GridCurves(Words("en"))
    qtbot.addWidget(plot)
    plot.resize(900, 600)
    plot.show_scenario(scenario)
    plot.show_picture(Picture(scenario, x, y, result, values, starts, starts, 1.0, 0.1))
    return plot


def written_on(plot: GridCurves) -> list[tuple[str, QRectF]]:
    """Texts of the marks with their places."""
    found: list[tuple[str, QRectF]] = []

    class Spy(Draw):
        def text(self, x, y, text, *args, **options):  # type: ignore[no-untyped-def]
            found.append((text, super().text(x, y, text, *args, **options)))
            return found[-1][1]

    picture = QPixmap(plot.size())
    with QPainter(picture) as painter:
        plot.marks(Spy(painter, themes.theme()))
    return found


def rising(y: Axis) -> FloatArray:
    """Throughput that grows with users, more with each further row."""
    users = np.array(USERS.values, dtype=float)
    return np.array([users * (200 * (row + 1)) / (users + 20) for row in range(len(y.values))])


def test_up_to_eight_curves_are_all_drawn_and_named_and_the_best_is_in_the_axis(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    themes.apply(qapp, "light")
    values = rising(COUNTS) ** 1.5
    plot = shown(qtbot, scenario, COUNTS, "output_throughput", values)
    assert plot.rows == tuple(range(8))
    assert plot._up(float(values.max())) >= plot.rect_.top() - 0.5
    names = [at_index(COUNTS, row, Words("en")) for row in range(8)]
    places = dict(written_on(plot))
    assert [name for name in names if name not in places] == []
    column = [places[name] for name in names]
    assert all(not a.adjusted(0, 2, 0, -2).intersects(b) for a in column for b in column if a is not b)
    assert "values of" not in plot.caption()


def test_curves_that_are_left_out_are_counted_and_the_best_is_not_among_them(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    themes.apply(qapp, "light")
    values = rising(PROMPTS)
    values[5] *= 30.0
    plot = shown(qtbot, scenario, PROMPTS, "output_throughput", values)
    best = best_cell(plot.picture)  # type: ignore[arg-type]
    assert best is not None and best.row == 5 and 5 in plot.rows
    assert f"{len(plot.rows)} of 40 values of" in plot.caption()
    assert plot._up(float(values.max())) >= plot.rect_.top() - 0.5


@pytest.mark.parametrize("target", [50.0, 90.0, 4000.0])
def test_the_axis_of_a_time_holds_the_target_where_it_is_met(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario, target: float
) -> None:
    """A few slow points are above it, which take no part in most of the picture."""
    themes.apply(qapp, "light")
    asked = with_values(scenario, {"targets.time_per_output_token_ms": target})
    rates = Axis(
        "accelerator.memory_bandwidth_gbps", tuple(np.geomspace(1200, 19_200, 200).tolist()), log=True
    )
    rows = 70.0 / np.sqrt(np.arange(1, 9))[:, None] * (1300.0 / np.array(rates.values, dtype=float)) / 1e3
    plot = shown(qtbot, asked, COUNTS, "time_per_output_token", rows, rates)
    # One far beyond all of them would press the curves flat.
    assert (plot._up(target / 1e3) >= plot.rect_.top() - 0.5) == (target < 1000)


def test_a_curve_that_leaves_the_picture_is_named_where_it_does(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    themes.apply(qapp, "light")
    users = np.array(USERS.values, dtype=float)
    # Each row runs into a queue at another load.
    values = np.array([0.2 + 40.0 * np.maximum(0.0, users - 14 * (row + 1)) for row in range(8)])
    asked = with_values(scenario, {"targets.time_to_first_token_s": 2.0})
    plot = shown(qtbot, asked, COUNTS, "time_to_first_token", values)
    plot.axis = type(plot.axis)(4.0, 1.0)  # far below the queues
    names = [at_index(COUNTS, row, Words("en")) for row in range(8)]
    places = dict(written_on(plot))
    assert [name for name in names if name not in places] == []
    assert all(places[name].top() >= plot.rect_.top() - 2 for name in names)
