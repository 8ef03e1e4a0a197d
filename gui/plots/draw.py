"""Small painting helpers in pixels: text by its middle line, crisp hairlines, rings, flags.

What has no finite place is not painted: a number that is missing must never break a paint event.
"""

import math
from bisect import bisect_left, bisect_right
from typing import Literal

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPaintEngine, QPainter, QPen

from core.quantities import FloatArray
from gui import glyphs
from gui.theme import Role, Theme, theme

Align = Literal["left", "centre", "right"]
FLAG_HEIGHT = 16.0
_RING = 10.0
_SMOOTH = QPainter.RenderHint.Antialiasing


def crosses(rect: QRectF, x: list[float], y: list[float]) -> bool:
    """Whether a curve passes through a rectangle.  Plain lists: a few points are faster without numpy."""
    return _crosses((rect.left(), rect.right(), rect.top(), rect.bottom()), x, y)


def _crosses(edges: tuple[float, float, float, float], x: list[float], y: list[float]) -> bool:
    left, right, top, bottom = edges
    left, right = max(left, x[0]), min(right, x[-1])
    if right < left:
        return False
    first, last = bisect_right(x, left), bisect_left(x, right)
    rows = [_between(left, x, y), _between(right, x, y), *y[first:last]]
    return min(rows) < bottom and max(rows) > top


def _between(value: float, x: list[float], y: list[float]) -> float:
    i = min(max(bisect_right(x, value), 1), len(x) - 1)
    step = x[i] - x[i - 1]
    return y[i] if step <= 0 else y[i - 1] + (y[i] - y[i - 1]) * (value - x[i - 1]) / step


def rising(x0: float, y0: float, x1: float, y1: float) -> tuple[list[float], list[float]]:
    """A straight line as a curve whose x rises, be it an upright one."""
    ends = sorted(((x0, y0), (x1, y1)))
    return [ends[0][0], max(ends[1][0], ends[0][0] + 1e-3)], [ends[0][1], ends[1][1]]


def text_width(text: str, role: Role = "caption") -> float:
    """Pixels that a text takes in the theme in use."""
    return glyphs.of(theme()).width(role, text)


class Draw:
    """A painter with the theme's fonts and colours.  Coordinates are logical pixels."""

    def __init__(self, painter: QPainter, current: Theme) -> None:
        self.painter = painter
        self.theme = current
        self._whole: bool | None = None
        self._glyphs: bool | None = None  # whether texts may be painted as glyphs
        self._kept = glyphs.of(current)
        self.taken: list[QRectF] = []  # where text and marks stand already
        self.lines: list[tuple[list[float], list[float]]] = []  # curves that a text should not cross

    def width(self, text: str, role: Role = "caption") -> float:
        """Pixels that a text takes."""
        return self._texts().width(role, text)

    def _texts(self) -> glyphs.Kept:
        """Measures and glyphs of texts in the theme of this drawing."""
        if self._kept.theme is not self.theme:
            self._kept.use(self.theme)
        return self._kept

    def elided(self, text: str, width: float, role: Role = "caption") -> str:
        """The text cut with an ellipsis to a width."""
        if self.width(text, role) <= width - 1.0:
            return text  # it fits, with room for how Qt rounds
        metrics = self._texts().face(role).metrics
        return metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(width, 0.0))

    def rect_of(self, x: float, y: float, text: str, role: Role, align: Align) -> QRectF:
        """Where a text would stand; ``y`` is its middle."""
        texts = self._texts()
        height, width = texts.face(role).height, texts.width(role, text)
        left = x if align == "left" else x - width if align == "right" else x - width / 2
        return QRectF(left, y - height / 2, width, height)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: QColor,
        *,
        role: Role = "caption",
        align: Align = "left",
        keep: bool = True,
    ) -> QRectF:
        """Draw a text whose middle line is at ``y``; ``keep`` reserves its place."""
        rect = self.rect_of(x, y, text, role, align)
        self._write(rect.left(), y, text, colour, role)
        if keep:
            self.taken.append(rect)
        return rect

    def _write(self, left: float, y: float, text: str, colour: QColor, role: Role) -> None:
        """Digits and capitals look centred when the capital height is, not the whole line."""
        texts, painter = self._texts(), self.painter
        face = texts.face(role)
        painter.setPen(colour)
        if self._glyphs is None:
            self._glyphs = glyphs.takes_glyphs(painter)
        shaped = texts.shaped(role, text) if self._glyphs else None
        if shaped is not None:
            glyphs.put_on_base(painter, left, y + face.down, shaped)
            return
        painter.setFont(face.font)
        painter.drawText(QPointF(left, y + face.down), text)

    def vacant(self, rect: QRectF) -> bool:
        """Whether no text or mark stands there yet."""
        meets = rect.intersects
        return not any(meets(other) for other in self.taken)

    def free(self, rect: QRectF, gap: float = 3.0) -> bool:
        """Whether nothing stands there yet and no curve runs through."""
        wide = rect.adjusted(-gap, 0, gap, 0)
        if not self.vacant(wide):
            return False
        edges = (wide.left(), wide.right(), wide.top(), wide.bottom())
        return not any(_crosses(edges, x, y) for x, y in self.lines)

    def avoid(self, x: FloatArray, y: FloatArray) -> None:
        """Keep texts off a curve, in pixels; x rises."""
        good = np.isfinite(x) & np.isfinite(y)
        if good.sum() > 1:
            self.lines.append((x[good].tolist(), y[good].tolist()))

    def clear(self, x0: float, y0: float, x1: float, y1: float, beyond: int = 0) -> bool:
        """Whether a straight line would cross nothing that was taken after the first ``beyond``."""
        line = rising(x0, y0, x1, y1)
        return not any(crosses(rect, *line) for rect in self.taken[beyond:])

    def keep_clear(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Keep later texts off a straight line."""
        self.lines.append(rising(x0, y0, x1, y1))

    def text_if_free(
        self,
        x: float,
        y: float,
        text: str,
        colour: QColor,
        bounds: QRectF,
        *,
        role: Role = "caption",
        align: Align = "left",
    ) -> bool:
        """Draw a text unless it would leave ``bounds`` or touch another."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return False
        rect = self.rect_of(x, y, text, role, align)
        inside = rect.left() >= bounds.left() - 0.5 and rect.right() <= bounds.right() + 0.5
        inside = inside and rect.top() >= bounds.top() - 2 and rect.bottom() <= bounds.bottom() + 2
        if not inside or not self.free(rect):
            return False
        self.text(x, y, text, colour, role=role, align=align)
        return True

    def line(
        self,
        x0: float,
        y0: float,
        x1: float,
        y1: float,
        colour: QColor,
        width: float = 1.0,
        dash: tuple[float, float] | None = None,
    ) -> None:
        """A straight line; one along an axis stands on whole pixels."""
        if not (math.isfinite(x0 + y0 + x1 + y1)):
            return
        if x0 == x1:
            x0 = x1 = round(x0 - width / 2) + width / 2
        if y0 == y1:
            y0 = y1 = round(y0 - width / 2) + width / 2
        if dash is None and self._fill_line(x0, y0, x1, y1, colour, width):
            return
        pen = QPen(colour, width)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash:
            pen.setDashPattern([length / width for length in dash])
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(pen)
        self.painter.drawLine(QPointF(x0, y0), QPointF(x1, y1))

    def _fill_line(self, x0: float, y0: float, x1: float, y1: float, colour: QColor, width: float) -> bool:
        """Fill a line that covers whole pixels; False for any other.

        The same pixels; as a smoothed stroke a line across a plot takes fifty times as long.
        """
        half = width / 2
        if y0 == y1:
            x, y, wide, high = min(x0, x1), y0 - half, abs(x1 - x0), width
        elif x0 == x1:
            x, y, wide, high = x0 - half, min(y0, y1), width, abs(y1 - y0)
        else:
            return False
        if x % 1 or y % 1 or wide % 1 or high % 1 or not self._on_pixels():
            return False
        self.painter.fillRect(int(x), int(y), int(wide), int(high), colour)
        return True

    def _on_pixels(self) -> bool:
        """Whether whole coordinates are edges of pixels: not in a vector drawing, nor at 150 %."""
        if self._whole is None:
            place = self.painter.deviceTransform()
            parts = (place.m11(), place.m22(), place.dx(), place.dy())
            straight = place.m12() == place.m21() == 0.0 and all(part % 1 == 0.0 for part in parts)
            self._whole = straight and self.painter.paintEngine().type() == QPaintEngine.Type.Raster
        return self._whole

    def polyline(
        self,
        xs: FloatArray,
        ys: FloatArray,
        colour: QColor,
        width: float = 1.0,
        dash: tuple[float, float] | None = None,
    ) -> None:
        """A curve through points; those without a finite place are left out."""
        good = np.isfinite(xs) & np.isfinite(ys)
        if good.sum() < 2:
            return
        pen = QPen(colour, width)
        if dash:
            pen.setDashPattern([length / width for length in dash])
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(pen)
        points = zip(xs[good].tolist(), ys[good].tolist(), strict=True)
        self.painter.drawPolyline([QPointF(x, y) for x, y in points])

    def fill(self, rect: QRectF, colour: QColor) -> None:
        """A filled rectangle on whole pixels."""
        if not (math.isfinite(rect.x() + rect.y() + rect.width() + rect.height())):
            return
        self.painter.setRenderHint(_SMOOTH, False)
        self.painter.fillRect(rect, colour)

    def ring(self, x: float, y: float, colour: QColor, *, size: float = _RING, edge: float = 2.0) -> None:
        """A circle filled with the canvas."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(QPen(colour, edge))
        self.painter.setBrush(self.theme.canvas)
        self.painter.drawEllipse(QPointF(x, y), size / 2, size / 2)

    def dot(self, x: float, y: float, colour: QColor, size: float = 5.0) -> None:
        """A filled circle with a canvas edge."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(QPen(self.theme.canvas, 1.0))
        self.painter.setBrush(colour)
        self.painter.drawEllipse(QPointF(x, y), size / 2 + 0.5, size / 2 + 0.5)

    def flag_size(self, text: str) -> QSizeF:
        """Size of a flag."""
        return QSizeF(max(27.0, self.width(text, "caption_semibold") + 12), FLAG_HEIGHT * self.theme.scale)

    def flag_place(self, x: float, top: float, text: str, bounds: QRectF) -> QRectF:
        """Where a flag stands that is kept within ``bounds`` sideways."""
        size = self.flag_size(text)
        left = min(max(x - size.width() / 2, bounds.left()), bounds.right() - size.width())
        return QRectF(QPointF(round(left), round(top)), size)

    def flag(self, x: float, top: float, text: str, bounds: QRectF) -> QRectF:
        """The number of the operating point on accent ground, kept within ``bounds`` sideways."""
        if not (math.isfinite(x) and math.isfinite(top)):
            return QRectF()
        rect = self.flag_place(x, top, text, bounds)
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(self.theme.accent)
        self.painter.drawRoundedRect(rect, 3, 3)
        self.text(
            rect.center().x(),
            rect.center().y(),
            text,
            self.theme.on_accent,
            role="caption_semibold",
            align="centre",
            keep=False,
        )
        self.taken.append(rect)
        return rect

    def focus(self, x: float, y: float) -> None:
        """The focus ring around an operating point: 2 pixels, 1 pixel outside."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(QPen(self.theme.accent, 2.0))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = _RING / 2 + 1 + 2 + 1
        self.painter.drawEllipse(QPointF(x, y), radius, radius)

    def halo(self, x: float, y: float, colour: QColor, radius: float) -> None:
        """A thin circle around what is being read."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        self.painter.setRenderHint(_SMOOTH, True)
        self.painter.setPen(QPen(colour, 1.5))
        self.painter.setBrush(Qt.BrushStyle.NoBrush)
        self.painter.drawEllipse(QPointF(x, y), radius, radius)

    def slanted(
        self,
        x: float,
        y: float,
        off: float,
        angle: float,
        text: str,
        colour: QColor,
        *,
        role: Role = "caption",
    ) -> None:
        """A text along a line that rises by ``angle`` degrees, its middle ``off`` pixels below (x, y)."""
        if not math.isfinite(x + y + angle):
            return
        self.painter.save()
        self.painter.translate(x, y)
        self.painter.rotate(-angle)
        turned = Draw(self.painter, self.theme)
        turned.text(0.0, off, text, colour, role=role, align="centre", keep=False)
        self.painter.restore()
