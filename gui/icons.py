"""The program's own line icons, coloured by the theme and cached by name, colour and pixel ratio."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

import resources
from gui.theme import theme

SIZE = 16  # pixels of the drawing grid


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    return resources.read_text(f"icons/{name}.svg")


@lru_cache(maxsize=512)
def _pixmap(name: str, colour: str, size: float, ratio: float) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    side = max(1, round(size * ratio))
    pixmap = QPixmap(side, side)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def pixmap(name: str, colour: QColor, size: float = SIZE, ratio: float = 1.0) -> QPixmap:
    """The icon ``name`` (a file in ``resources/icons``) in one colour."""
    return _pixmap(name, colour.name(), size, ratio)


def draw(painter: QPainter, name: str, at: QPointF, colour: QColor, size: float = SIZE) -> None:
    """Draw an icon with its upper left corner at ``at``."""
    # Not the device's ratio: a widget rendered into a picture is asked for the picture's.
    ratio = painter.deviceTransform().m11()
    painter.drawPixmap(at, pixmap(name, colour, size, ratio if ratio > 0 else 1.0))


def icon(name: str, colour: QColor | None = None) -> QIcon:
    """An icon for buttons and menus: label colour, ink when pointed at, grey when disabled.

    Made anew after a change of theme.
    """
    t = theme()
    app = QApplication.instance()
    ratio = app.devicePixelRatio() if isinstance(app, QApplication) else 1.0
    made = QIcon()
    for mode, tint in (
        (QIcon.Mode.Normal, colour or t.ink2),
        (QIcon.Mode.Active, colour or t.ink),
        (QIcon.Mode.Selected, colour or t.ink),
        (QIcon.Mode.Disabled, t.ink3 if t.name == "contrast" else t.axis),
    ):
        for each in {1.0, ratio}:
            made.addPixmap(pixmap(name, tint, t.px(SIZE), each), mode)
    return made


def program_icon() -> QIcon:
    """The program's own, for window lists of systems that take none from a desktop entry."""
    renderer = QSvgRenderer(QByteArray(resources.read_bytes("brand/inferometer.svg")))
    made = QIcon()
    for side in (16, 32, 48, 128):
        image = QPixmap(side, side)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter, QRectF(0, 0, side, side))
        painter.end()
        made.addPixmap(image)
    return made
