"""Names of the roofline: every point has one where there is room, none stands on a line or under another."""

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.files import scenario_file
from core.planning.started import started
from core.words import Words
from gui import theme as themes
from gui.plots.draw import Draw, crosses, rising
from gui.plots.roofline import Roofline

SIZES = ((895, 390), (1195, 760))


class Spy(Draw):
    """Keeps what is written, and the thin lines to names."""

    def __init__(self, painter: QPainter) -> None:
        super().__init__(painter, themes.theme())
        self.written: list[tuple[str, QRectF]] = []
        self.led: list[tuple[float, float, float, float]] = []

    def text(self, x, y, text, colour, **options):  # type: ignore[no-untyped-def]
        rect = super().text(x, y, text, colour, **options)
        self.written.append((text, rect))
        return rect

    def line(self, x0, y0, x1, y1, colour, width=1.0, dash=None):  # type: ignore[no-untyped-def]
        super().line(x0, y0, x1, y1, colour, width, dash)
        self.led.append((x0, y0, x1, y1))


@pytest.fixture(params=[0, 1, 2])
def painted(request, samples, qtbot: QtBot, qapp: QApplication):  # type: ignore[no-untyped-def]
    def paint(size: tuple[int, int], language: str) -> tuple[Roofline, Spy]:
        themes.apply(qapp, "light")
        pane = Roofline(Words(language))
        qtbot.addWidget(pane)
        pane.resize(*size)
        pane.show()
        pane.show_started(started(estimate(scenario_file.load(samples[request.param]))))
        image = QImage(pane.area.size(), QImage.Format.Format_RGB32)
        painter = QPainter(image)
        spy = Spy(painter)
        pane.paint_over(spy)
        painter.end()
        return pane, spy

    return paint


def names_in(pane: Roofline, spy: Spy) -> list[tuple[str, QRectF]]:
    """What is written beside the points."""
    names = {pane.words(f"operators.{place.dot.key}") for place in pane.places()}
    return [(text, rect) for text, rect in spy.written if any(text.startswith(name) for name in names)]


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("size", SIZES)
def test_every_point_of_the_roofline_has_its_name(painted, size, language):  # type: ignore[no-untyped-def]
    pane, spy = painted(size, language)
    written = [text for text, _ in names_in(pane, spy)]
    assert len(written) == len(pane.places())


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("size", SIZES)
def test_no_line_of_the_roofline_runs_through_a_name(painted, size, language):  # type: ignore[no-untyped-def]
    pane, spy = painted(size, language)
    rects = [rect for _, rect in spy.written]
    for place, one in enumerate(rects):
        assert not any(one.intersects(other) for other in rects[place + 1 :])
    for line in spy.led:
        assert not any(crosses(rect, *rising(*line)) for rect in rects)
    ceilings = spy.lines[: len(spy.lines) - len(spy.led)]
    for _, rect in names_in(pane, spy):
        assert not any(crosses(rect, *ceiling) for ceiling in ceilings)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("size", [(896, 374), *SIZES])
def test_no_name_lies_over_the_line_of_the_ridge(painted, size, language):  # type: ignore[no-untyped-def]
    pane, spy = painted(size, language)
    over = [name for name, rect in names_in(pane, spy) if rect.left() < pane._knee < rect.right()]
    assert over == []
