"""Lines of plots that cover whole pixels are filled: the same picture; a vector drawing keeps its lines."""

import pytest
from PySide6.QtCore import QBuffer, QIODevice, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from pytestqt.qtbot import QtBot

from gui.plots.draw import Draw
from gui.theme import theme

LINES = ((5, 20.3, 90, 20.3), (90, 31, 5, 31), (40.7, 10, 40.7, 80), (12.4, 50, 70.2, 50), (3, 3, 60, 44))


def picture(ratio: float, by_draw: bool, colour: QColor) -> QImage:
    image = QImage(round(100 * ratio), round(100 * ratio), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(ratio)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    draw = Draw(painter, theme())
    for x0, y0, x1, y1 in LINES:
        if by_draw:
            draw.line(x0, y0, x1, y1, colour)
            continue
        x0, x1 = (round(x0 - 0.5) + 0.5,) * 2 if x0 == x1 else (x0, x1)
        y0, y1 = (round(y0 - 0.5) + 0.5,) * 2 if y0 == y1 else (y0, y1)
        pen = QPen(colour, 1.0)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(pen)
        painter.drawLine(QPointF(x0, y0), QPointF(x1, y1))
    painter.end()
    return image


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("alpha", [255, 90])
def test_the_same_pixels(qtbot: QtBot, ratio: float, alpha: int) -> None:
    colour = QColor(120, 130, 140, alpha)
    blank = QImage(QSize(round(100 * ratio), round(100 * ratio)), QImage.Format.Format_ARGB32_Premultiplied)
    blank.fill(Qt.GlobalColor.white)
    assert picture(ratio, True, colour) == picture(ratio, False, colour) != blank


def test_a_vector_drawing_keeps_its_lines(qtbot: QtBot) -> None:
    def drawn(by_draw: bool) -> bytes:
        held = QBuffer()
        held.open(QIODevice.OpenModeFlag.WriteOnly)
        generator = QSvgGenerator()
        generator.setOutputDevice(held)
        painter = QPainter(generator)
        if by_draw:
            Draw(painter, theme()).line(5, 20.5, 90, 20.5, QColor("red"))
        painter.end()
        return bytes(held.data().data())

    plain, lined = drawn(False), drawn(True)
    assert lined.count(b"<polyline") + lined.count(b"<line") == 1
    assert lined.count(b"<rect") == plain.count(b"<rect")


def test_a_line_is_clear_of_what_stands_beside_it_and_not_of_what_it_meets(qtbot: QtBot) -> None:
    image = QImage(100, 100, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        draw = Draw(painter, theme())
        draw.taken.append(QRectF(40, 40, 20, 10))
        assert not draw.clear(0, 0, 100, 100)
        assert not draw.clear(50, 90, 50, 10)  # upright
        assert not draw.clear(90, 45, 10, 45)
        assert draw.clear(0, 0, 39, 100) and draw.clear(50, 39, 50, 0)
        assert draw.clear(0, 0, 100, 100, beyond=1)
        free = QRectF(10, 70, 20, 10)
        assert draw.free(free)
        draw.keep_clear(20, 90, 20, 60)
        assert not draw.free(free)
