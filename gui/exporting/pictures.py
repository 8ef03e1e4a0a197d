"""A part of the window as a picture of its own: PNG, SVG or PDF."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QPoint, QRect, QSizeF
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from gui.theme import theme

Kind = Literal["png", "svg", "pdf"]
KINDS: tuple[Kind, ...] = ("png", "svg", "pdf")
SHARP = 2  # pixels of a PNG for one on the screen
_MARGIN = 12  # around the part
_DOTS = 96  # an inch, as on the screen
_SIZE_IN_MM = re.compile(rb'width="[\d.]+mm" height="[\d.]+mm"')


def kind_of(suffix: str, otherwise: str) -> Kind:
    """The kind that a file's ending asks for; ``otherwise`` where it asks for none."""
    wanted = (suffix.lower().removeprefix("."), otherwise)
    return next(kind for name in wanted for kind in KINDS if kind == name)


def picture(part: QWidget, kind: Kind, title: str) -> bytes:
    """The part as it stands, on the ground of the theme."""
    if kind == "png":
        return _png_bytes(image_of(part))
    return _svg(part, title) if kind == "svg" else _pdf(part, title)


def image_of(part: QWidget) -> QImage:
    """The part as an image, ``SHARP`` times as fine as on the screen."""
    frame = _frame(part)
    image = QImage(frame.size() * SHARP, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SHARP)
    image.fill(theme().canvas)
    image.setDotsPerMeterX(round(_DOTS * SHARP / 0.0254))
    image.setDotsPerMeterY(round(_DOTS * SHARP / 0.0254))
    with _pens_for(part, SHARP), QPainter(image) as painter:
        part.render(painter, QPoint(_MARGIN, _MARGIN))
    return image


def _frame(part: QWidget) -> QRect:
    return QRect(0, 0, part.width() + 2 * _MARGIN, part.height() + 2 * _MARGIN)


def _png_bytes(image: QImage) -> bytes:
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs say bytes
    return bytes(kept.data())


def _svg(part: QWidget, title: str) -> bytes:
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    device = QSvgGenerator()
    device.setOutputDevice(buffer)
    device.setResolution(_DOTS)
    device.setSize(_frame(part).size())
    device.setTitle(title)
    frame = _frame(part)
    device.setViewBox(frame)
    with QPainter(device) as painter:
        _paint(painter, part)
    buffer.close()
    size = f'width="{frame.width()}" height="{frame.height()}"'.encode()
    return _SIZE_IN_MM.sub(size, bytes(kept.data()), count=1)  # pixels: what every reader takes


def _pdf(part: QWidget, title: str) -> bytes:
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_DOTS)
    writer.setTitle(title)
    frame = _frame(part)
    points = QSizeF(frame.width(), frame.height()) * (72 / _DOTS)
    size = QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch)
    none = QMarginsF(0, 0, 0, 0)
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, none))
    with QPainter(writer) as painter:
        _paint(painter, part)
    buffer.close()
    return bytes(kept.data())


def _paint(painter: QPainter, part: QWidget) -> None:
    """Without clips and scaled pens, which not every reader of a file understands."""
    from gui.plots.pane import Pane

    painter.fillRect(_frame(part), theme().canvas)
    if isinstance(part, Pane):
        from gui.plots.vector import paint_plot

        painter.translate(_MARGIN, _MARGIN)
        paint_plot(painter, part)
    else:
        part.render(painter, QPoint(_MARGIN, _MARGIN))


@contextmanager
def _pens_for(part: QWidget, ratio: float) -> Iterator[None]:
    """Curves as thick as they are meant for pixels of another size than the screen's."""
    from gui.plots.pane import Pane

    if not isinstance(part, Pane):
        yield
        return
    _pens(part, ratio)
    try:
        yield
    finally:
        _pens(part, part.area.devicePixelRatioF())


def _pens(part: object, ratio: float) -> None:
    for panel in part.area.panels:  # type: ignore[attr-defined]
        for curve in panel.curves:
            curve.restyle(theme(), ratio)
