"""The curve over the load: what is written stands on no line."""

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
from gui.plots.draw import Draw
from gui.plots.load_curve import KINDS, LoadCurve
from gui.work.simulation import Study


def study_of(scenario: Scenario, own: int, most: int, knee: int) -> Study:
    """A search as it might end."""

    def trial(load: int) -> Trial:
        seconds = 0.2 * load
        times = Range(seconds, seconds, seconds)
        each = Range(seconds / 50, seconds / 50, seconds / 50)
        return Trial(load, times, each, 1.0, 1.0, 40.0 * load**0.5, True, True, True, True, "first_token")

    trials = tuple(trial(load) for load in range(1, 20))
    asked = with_values(scenario, {"workload.users": own})
    found = CapacityFound("users", Range(most, most, most), "first_token", 0.95, trials, True)
    return Study(asked, found, trials, knee - 1, 1.0, True)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("own", "most", "knee"), [(4, 9, 3), (3, 2, 4), (8, 8, 7), (16, 8, 15), (1, 1, 1)])
def test_no_line_runs_through_what_is_written(
    qtbot: QtBot,
    qapp: QApplication,
    scenario: Scenario,
    language: str,
    kind: str,
    own: int,
    most: int,
    knee: int,
) -> None:
    themes.apply(qapp, "light")
    curve = LoadCurve(Words(language), kind)
    qtbot.addWidget(curve)
    curve.resize(230, 300)
    curve.show_study(study_of(scenario, own, most, knee))
    written: list[QRectF] = []
    upright: list[tuple[float, float, float]] = []

    class Spy(Draw):
        def text(self, *args, **options):  # type: ignore[no-untyped-def]
            written.append(super().text(*args, **options))
            return written[-1]

        def line(self, x0, y0, x1, y1, *args, **options):  # type: ignore[no-untyped-def]
            super().line(x0, y0, x1, y1, *args, **options)
            if x0 == x1 and abs(y1 - y0) > 20:
                upright.append((x0, y0, y1))

    picture = QPixmap(curve.size())
    picture.fill()
    with QPainter(picture) as painter:
        curve.still(Spy(painter, themes.theme()))
    assert len(upright) == 3
    for x, top, bottom in upright:
        for rect in written:
            assert not (rect.left() < x < rect.right() and rect.top() < bottom and rect.bottom() > top)
