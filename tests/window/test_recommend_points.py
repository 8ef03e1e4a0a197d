"""The points of Recommend's plot: filled where nothing speaks against an offer."""

import random
from dataclasses import replace

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPixmap
from pytestqt.qtbot import QtBot

from core.planning.recommend import recommend
from core.planning.verify import confirmed, verified_one
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme as themes
from gui.contents.recommend_points import price_points
from gui.contents.recommend_rows import hardware_rows
from gui.plots.draw import Draw
from gui.plots.price_plot import Point, PricePlot


def test_an_offer_that_its_simulation_refuses_is_an_open_point(scenario: Scenario) -> None:
    asked = with_values(scenario, {"search.devices": ("RTX 4090", "L40S"), "search.most_accelerators": 2})
    *_, state = recommend(asked)
    offer = next(o for o in state.offers if o.price)
    good = verified_one(offer, 60)
    assert confirmed(good)
    # The same run, held against targets that its times are beyond.
    tight = {"targets.time_to_first_token_s": 1e-4, "targets.time_per_output_token_ms": 1e-2}
    result = replace(good.verified, scenario=with_values(good.verified.scenario, tight))
    bad = replace(good, verified=result, on_frontier=True)
    assert not confirmed(bad)
    plain = replace(offer, verified=None)
    for one, filled in ((plain, True), (good, True), (bad, False)):
        (point,) = price_points(replace(state, offers=(one,), near=()), Words("en"))
        assert point.good is filled
        assert point.best is (filled and one.on_frontier)
        shown, _ = hardware_rows(replace(state, offers=(one,), near=()), "price", Words("en"))
        assert bool(shown[0].cells[0].icon) is (filled and one.on_frontier)


def cloud(chosen: tuple[float, float]) -> list[Point]:
    """Points so close that no name fits beside one in their middle, and two at the edges."""
    chance = random.Random(3)
    crowd = [
        Point(
            10 ** chance.uniform(9.7, 10.5), 10 ** chance.uniform(1.2, 2.6), f"model {n}", n % 3 > 0, False, n
        )
        for n in range(400)
    ]
    ends = [
        Point(1.35e8, 400.0, "at the left end", True, True, "left"),
        Point(2e11, 3.0, "low", True, True, "low"),
    ]
    return [*crowd, *ends, Point(*chosen, "the chosen model of a long name", True, False, "chosen")]


@pytest.mark.parametrize("chosen", [(1.2e10, 80.0), (2.8e10, 120.0), (8e9, 60.0)])
def test_the_chosen_name_lies_on_no_point_and_no_name_on_an_axis(
    qtbot: QtBot, chosen: tuple[float, float]
) -> None:
    plot = PricePlot()
    qtbot.addWidget(plot)
    plot.resize(960, 190)
    plot.show_points(cloud(chosen), "title", "caption")
    plot.choose("chosen")
    written: dict[str, QRectF] = {}

    class Spy(Draw):
        def text(self, x, y, text, colour, **options):  # type: ignore[no-untyped-def]
            written[text] = super().text(x, y, text, colour, **options)
            return written[text]

    picture = QPixmap(plot.size())
    with QPainter(picture) as painter:
        plot.still(Spy(painter, themes.theme()))
    frame = plot._frame.rect
    for point in plot._seen:
        name = written.get(point.label)
        if name is not None:
            assert not any(name.contains(plot.point_of(other)) for other in plot._seen)
            assert name.bottom() < frame.bottom() - 1 and name.left() > frame.left() + 3
    assert "the chosen model of a long name" in written
