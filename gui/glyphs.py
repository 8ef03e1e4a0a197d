"""Texts shaped once: of a text that comes back in the next picture only the glyphs are painted.

The same pixels as ``QPainter.drawText``, which shapes a text each time that it draws it; with the caches of
the processor full of other things that takes three times as long as the glyphs.
"""

import math
from typing import NamedTuple

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QFontMetricsF, QGlyphRun, QPaintEngine, QPainter, QTextLayout

from gui.theme import Role, Theme

_MOST = 2000
_ENDLESS = 1e7
_FIXED = 64.0  # parts of a pixel in which Qt places glyphs: a place is cut to them before anything is added

Key = tuple[Role, str]


class Shaped(NamedTuple):
    """The glyphs of a line, and its measures in pixels."""

    runs: tuple[QGlyphRun, ...]
    width: float
    ascent: float
    height: float


def _shaped(text: str, font: QFont) -> Shaped:
    layout = QTextLayout(text, font)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(_ENDLESS)
    layout.endLayout()
    ascent = line.ascent()
    height = ascent + line.descent() + line.leading()
    return Shaped(tuple(layout.glyphRuns()), line.horizontalAdvance(), ascent, height)


class Face(NamedTuple):
    """A font with its metrics in pixels."""

    font: QFont
    metrics: QFontMetricsF
    height: float  # of a line
    ascent: float
    down: float  # from the middle of capitals and digits to their base line


class Kept:
    """Fonts, advances and glyphs of one theme."""

    def __init__(self) -> None:
        self.theme: Theme | None = None
        self._faces: dict[Role, Face] = {}
        self._widths: dict[Key, float] = {}
        self._glyphs: dict[Key, Shaped | None] = {}  # None: drawn once, which need not happen again

    def use(self, current: Theme) -> None:
        """Forget what belongs to another theme, or has grown too much."""
        if current is not self.theme or len(self._widths) > _MOST or len(self._glyphs) > _MOST:
            self.theme = current
            self._faces.clear()
            self._widths.clear()
            self._glyphs.clear()

    def face(self, role: Role) -> Face:
        """The font of a role."""
        found = self._faces.get(role)
        if found is None:
            assert self.theme is not None
            font = self.theme.font(role)
            metrics = QFontMetricsF(font)
            height, ascent, down = metrics.height(), metrics.ascent(), metrics.capHeight() / 2
            found = self._faces[role] = Face(font, metrics, height, ascent, down)
        return found

    def width(self, role: Role, text: str) -> float:
        """Advance of a text in pixels."""
        found = self._widths.get((role, text))
        if found is None:
            found = self._widths[role, text] = self.face(role).metrics.horizontalAdvance(text)
        return found

    def shaped(self, role: Role, text: str) -> Shaped | None:
        """The glyphs of a text that is drawn for the second time; None for the first time."""
        key = (role, text)
        found = self._glyphs.get(key)
        if found is None and text and text.isprintable() and text == text.strip():
            if key in self._glyphs:
                found = self._glyphs[key] = _shaped(text, self.face(role).font)
            else:
                self._glyphs[key] = None
        # Glyphs of two fonts that touch would be painted in another order, which a pixel shows.
        return found if found is not None and len(found.runs) == 1 else None


_kept = Kept()


def of(current: Theme) -> Kept:
    """What is kept for a theme."""
    _kept.use(current)
    return _kept


def takes_glyphs(painter: QPainter) -> bool:
    """Whether a painter puts glyphs where it puts text: on whole pixels, neither scaled nor turned."""
    place = painter.deviceTransform()
    moved = place.m11() == place.m22() == 1.0 and place.m12() == place.m21() == 0.0
    whole = moved and place.dx() % 1 == 0.0 and place.dy() % 1 == 0.0
    return whole and painter.paintEngine().type() == QPaintEngine.Type.Raster


def put(painter: QPainter, x: float, top: float, shaped: Shaped) -> None:
    """Paint the glyphs of a line in the pen's colour, from its left upper corner."""
    if math.isfinite(x + top):
        _put(painter, math.floor(x * _FIXED) / _FIXED, math.floor(top * _FIXED) / _FIXED, shaped)


def put_on_base(painter: QPainter, x: float, base: float, shaped: Shaped) -> None:
    """The same from the left end of its base line."""
    if math.isfinite(x + base):
        _put(
            painter,
            math.floor(x * _FIXED) / _FIXED,
            math.floor(base * _FIXED) / _FIXED - shaped.ascent,
            shaped,
        )


def _put(painter: QPainter, x: float, top: float, shaped: Shaped) -> None:
    at = QPointF(x, top)
    for run in shaped.runs:
        painter.drawGlyphRun(at, run)
