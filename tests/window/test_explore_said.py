"""What Explore says of limits and of the scenario as it is set: true, whatever lies on the grid."""

import math
import re

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.planning.explore import explore_grid
from core.planning.explore_axes import Axis, axis_for, shown_value
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.explore import detail, headline, shown_within
from gui.frame.window import MainWindow
from gui.work.exploration import Picture
from gui.workspaces.explore import ExploreWorkspace
from gui.workspaces.explore_form import Question, Side
from gui.workspaces.explore_side import ExploreSide


@pytest.mark.parametrize("prompt", [700, 1500, 2200])
def test_the_limit_that_is_said_is_one_that_meets_the_targets(scenario: Scenario, prompt: int) -> None:
    """Own values that lie between the rows: the row beside them may reach further."""
    words, asked = Words("en"), with_values(scenario, {"workload.prompt_tokens": prompt})
    x, y = axis_for(asked, "workload.users", 60, (1, 200), True), axis_for(asked, "workload.prompt_tokens", 9)
    assert prompt not in y.values
    *_, (_, grid) = explore_grid(asked, x, y, "output_throughput")
    picture = Picture(asked, x, y, "output_throughput", grid.values, grid.starts, grid.meets, 1.0, 0.1)
    said = headline(picture, asked, words)
    found = re.search(r"up to ([\d,]+) users", said)
    assert found is not None, said
    most = int(found[1].replace(",", ""))
    assert estimate(with_values(asked, {"workload.users": most})).verdict.state == "good"


@pytest.mark.parametrize("value", [3_993, 4_120, 812, 150_001])
def test_a_limit_is_never_written_beyond_itself(value: int) -> None:
    axis = Axis("workload.prompt_tokens", (value,))
    size = {"K": 1024, "M": 2**20}
    for end, sign in ((math.floor, 1), (math.ceil, -1)):
        text = shown_value(axis.path, shown_within(axis, 0, end)).number
        read = float(text.rstrip("KM")) * size.get(text[-1], 1)
        assert sign * read <= sign * value and abs(read / value - 1) < 0.03


def test_the_account_of_the_scenario_says_its_own_numbers(scenario: Scenario, qtbot: QtBot) -> None:
    words = Words("en")
    x, y = Axis("workload.users", (1, 7, 63, 71)), Axis("workload.prompt_tokens", (512, 2048))
    asked = with_values(scenario, {"workload.users": 64, "workload.prompt_tokens": 1900})
    flat = np.ones((2, 4))
    picture = Picture(asked, x, y, "output_throughput", flat, flat > 0, flat > 0, 1.0, 0.1)
    side = ExploreSide(words)
    qtbot.addWidget(side)
    side.show_reading(picture, (1, 2), estimate(asked), asked)
    assert [line.value for line in side.reading.lines[:2]] == ["64 users", "1.9K tok"]
    side.show_reading(picture, (1, 2), estimate(asked), None)
    assert [line.value for line in side.reading.lines[:2]] == ["63 users", "2K tok"]


def test_why_a_count_cannot_be_divided_is_told_beside_the_picture(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    window.stack.show_key("explore")
    explore = window.stack.page("explore")
    assert isinstance(explore, ExploreWorkspace)
    explore.ask(Question(Side("deployment.accelerators"), Side("deployment.tensor_parallel")))
    qtbot.waitUntil(explore.settled, timeout=30_000)
    picture, side = explore.map.picture, explore.side
    assert picture is not None
    column, row = picture.x.values.index(3), picture.y.values.index(4)
    explore._on_pointed((row, column))
    explore._read()
    assert side.why.isVisible() and "3" in side.why.text() and "4" in side.why.text()
    assert side.reading.lines[-1].state == "bad"
    explore._on_pointed((0, column))
    explore._read()
    assert not side.why.isVisible() and len(side.reading.lines) > 3


def test_a_degree_is_told_with_the_gpus_that_it_takes(qtbot: QtBot, scenario: Scenario) -> None:
    """Two copies on two GPUs are no match for a split over eight: the counts are said."""
    words, own = Words("en"), with_values(scenario, {"deployment.accelerators": 2})
    x, y = axis_for(own, "deployment.tensor_parallel"), axis_for(own, "workload.users", 3, (1, 16), True)
    *_, (_, grid) = explore_grid(own, x, y, "time_per_output_token")
    picture = Picture(own, x, y, "time_per_output_token", grid.values, grid.starts, grid.meets, 1.0, 0.1)
    said = detail(picture, own, words)
    assert "GPUs: 2 at TP 1, 2 at TP 2, 4 at TP 4, 8 at TP 8." in said
    assert f"at TP 8 (8 × {own.accelerator.name}), 1 user" in said
    assert f"2 × {own.accelerator.name}" not in said  # of the whole picture that is not so
    side = ExploreSide(words)
    qtbot.addWidget(side)
    side.show_reading(picture, (0, 3), estimate(x.apply(own, 3)), None)
    assert ("GPUs", "8") in [(line.name, line.value) for line in side.reading.lines]
