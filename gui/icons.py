"""The program's own line icons, coloured by the theme and cached by name, colour and pixel ratio."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

import resources
from gui.theme import theme

SIZE = 16  # pixels of the drawing grid
GAP = 4  # px more between an icon and the words beside it


@lru_cache(maxsize=64)
def _source(name: str) -> str:
    return resources.read_text(f"icons/{name}.svg")


@lru_cache(maxsize=512)
def _pixmap(name: str, colour: str, size: float, ratio: float) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))
    side = max(1, round(size * ratio))
    pixmap = QPixmap(side, side)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        renderer.render(painter, QRectF(0, 0, side, side))
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


def beside(name: str, colour: QColor | None = None) -> QIcon:
    """The icon of a button that stands before its words: with room behind it, which no style gives it."""
    return icon(name, colour, gap=GAP)


def beside_size(size: float = SIZE) -> QSize:
    """The size of such an icon with its room."""
    return QSize(theme().px(size + GAP), theme().px(size))


def icon(name: str, colour: QColor | None = None, *, gap: float = 0.0) -> QIcon:
    """An icon for buttons and menus: label colour, ink when pointed at, grey when disabled.

    Made anew after a change of theme.  ``gap`` is what is left empty at its right, in pixels.
    """
    t = theme()
    app = QApplication.instance()
    ratio = app.devicePixelRatio() if isinstance(app, QApplication) else 1.0
    made = QIcon()
    for mode, tint in (
        (QIcon.Mode.Normal, colour or t.ink2),
        (QIcon.Mode.Active, colour or t.ink),
        (QIcon.Mode.Selected, colour or t.ink),
        (QIcon.Mode.Disabled, t.off if t.name == "contrast" else t.axis),
    ):
        for each in {1.0, ratio}:
            drawn = pixmap(name, tint, t.px(SIZE), each)
            made.addPixmap(_with_gap(drawn, t.px(gap), each) if gap else drawn, mode)
    return made


def _with_gap(drawn: QPixmap, gap: float, ratio: float) -> QPixmap:
    wide = QPixmap(drawn.width() + round(gap * ratio), drawn.height())
    wide.fill(Qt.GlobalColor.transparent)
    wide.setDevicePixelRatio(ratio)
    with QPainter(wide) as painter:
        painter.drawPixmap(QPointF(0, 0), drawn)
    return wide


def program_icon() -> QIcon:
    """The program's own, for window lists of systems that take none from a desktop entry."""
    renderer = QSvgRenderer(QByteArray(resources.read_bytes("brand/inferometer.svg")))
    made = QIcon()
    for side in (16, 32, 48, 128):
        image = QPixmap(side, side)
        image.fill(Qt.GlobalColor.transparent)
        with QPainter(image) as painter:
            renderer.render(painter, QRectF(0, 0, side, side))
        made.addPixmap(image)
    return made
