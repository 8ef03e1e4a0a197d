"""Plots of simulated runs: no number is cut, time has one notation, a missed target is seen to be missed."""

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.planning.capacity_search import CapacityFound, Trial
from core.quantities import Range
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.contents.simulate import load_detail, load_headline
from gui.plots import time_axis
from gui.plots.canvas import Canvas
from gui.plots.draw import Draw
from gui.plots.load_curve import LoadCurve
from gui.plots.over_time import OverTime
from gui.work.simulation import Study, shots


def written_on(plot: Canvas) -> list[tuple[str, QRectF]]:
    """Each text with its place."""
    found: list[tuple[str, QRectF]] = []

    class Spy(Draw):
        def text(self, x, y, text, *args, **options):  # type: ignore[no-untyped-def]
            found.append((text, super().text(x, y, text, *args, **options)))
            return found[-1][1]

    picture = QPixmap(plot.size())
    picture.fill()
    with QPainter(picture) as painter:
        plot.still(Spy(painter, themes.theme()))
    return found


def study_of(scenario: Scenario, firsts: Sequence[float], most: float, tokens: float = 100.0) -> Study:
    """A search over as many rates as there are times to the first token, s."""

    def trial(index: int) -> Trial:
        times, each = (Range(value, value, value) for value in (firsts[index], 0.01))
        good = index < most
        return Trial(
            0.1 * (index + 1),
            times,
            each,
            1.0,
            1.0,
            tokens * (index + 1),
            True,
            good,
            good,
            good,
            "first_token",
        )

    trials = tuple(trial(index) for index in range(len(firsts)))
    load = 0.1 * most
    found = CapacityFound("requests", Range(load, load, load), "first_token", 0.95, trials, True)
    changes = {"workload.load": "requests", "targets.time_to_first_token_s": 2.0}
    return Study(with_values(scenario, changes), found, trials, -1, 1.0, True)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_no_number_at_an_axis_is_cut(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario, language: str
) -> None:
    themes.apply(qapp, "light")
    slow = {
        "workload.load": "requests",
        "workload.request_rate": 100.0,
        "workload.prompt_tokens": 16_000,
        "workload.output_tokens": 500,
        "simulation.duration_s": 25.0,
    }
    shot = list(shots(with_values(scenario, slow), None))[-1]
    assert shot is not None
    over = OverTime(Words(language))
    curve = LoadCurve(Words(language), "throughput")
    curve.show_study(study_of(scenario, [1.0] * 8, 8, tokens=30_000.0))
    for plot in (over, curve):
        qtbot.addWidget(plot)
        plot.resize(700, 480)
    over.show_shot(shot)
    for plot in (over, curve):
        texts = written_on(plot)
        assert any(len(text) >= 5 and text.replace(",", "").isdigit() for text, _ in texts)
        assert min(place.left() for _, place in texts) >= 0
    lefts = {frame.rect.left() for frame in over._frames}
    assert len(lefts) == 1  # one time axis under all panels


def test_ticks_of_long_times_are_read_as_the_clock_beside_them() -> None:
    for span in (60.0, 617.0, 5000.0, 11_691.0, 90_000.0):
        for value in time_axis.ticks(0.0, span, 10):
            assert time_axis.label(value, span) == time_axis.clock(value, span)
        assert time_axis.end_label(span) == time_axis.clock(span, span)
    assert [time_axis.label(value, 11_691.0) for value in time_axis.ticks(0, 11_691.0, 10)][:3] == [
        "0:00:00",
        "0:20:00",
        "0:40:00",
    ]
    assert time_axis.label(2.5, 20.0) == "2.5" and time_axis.end_label(6.41) == "6.4 s"
    assert time_axis.label(10.0, 20.0) == "10" and time_axis.label(0.0, 20.0) == "0"


def test_points_that_stand_for_others_are_counted_whole(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    themes.apply(qapp, "light")
    many = {"workload.users": 64, "workload.output_tokens": 16, "simulation.duration_s": 400.0}
    shot = list(shots(with_values(scenario, many), None))[-1]
    assert shot is not None and len(shot.fates) > 1600
    over = OverTime(Words("en"))
    qtbot.addWidget(over)
    over.resize(700, 480)
    over.show_shot(shot)
    (told,) = (text for text, _ in written_on(over) if text.startswith("first token"))
    known = int(np.isfinite(shot.fates.first).sum())
    assert told.endswith(f"of {known:,} requests are drawn") and "." not in told


def test_half_of_the_loads_are_in_sight_where_none_meets_the_target(
    qtbot: QtBot, qapp: QApplication, scenario: Scenario
) -> None:
    themes.apply(qapp, "light")
    study = study_of(scenario, [4.4, 9.0, 22.0, 60.0, 140.0, 300.0, 420.0, 500.0], 0)
    curve = LoadCurve(Words("en"), "first_token")
    qtbot.addWidget(curve)
    curve.resize(400, 400)
    curve.show_study(study)
    written_on(curve)
    assert sum(one.time_to_first_token.expected <= curve._frame.y.end for one in study.trials) >= 4
    words = Words("en")
    assert load_headline(study, words) == "Not even the lightest load meets the targets."
    assert load_detail(study, None, words) == "Even then the first token comes too late."
    some = study_of(scenario, [1.0, 9.0, 22.0], 1)
    assert "beyond that" in load_detail(some, None, words)
