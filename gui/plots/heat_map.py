"""A result over two inputs: one blue ramp in classes, hatched where the service does not start."""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from core.planning.explore_axes import Axis
from core.quantities import FloatArray
from core.units import three_digits
from core.words import Words
from gui.contents.explore import breaks, levels, place_of, places, scale_of, show_result, ticks
from gui.plots.contour import Line, contours, eased, smoothed
from gui.plots.draw import Draw
from gui.plots.grid_plot import GridPlot
from gui.theme import RAMP_CLASSES, Role, Theme, mix, theme
from gui.work.exploration import Picture

_MOST_PIXELS = 2.4e6
_PITCH = 7.0
_ROOM_FOR_VALUES = (46.0, 19.0)  # pixels of a cell that can hold its number


def class_colours(t: Theme, limits: tuple[float, ...]) -> list[QColor]:
    """A colour for each class, the whole ramp where there are few."""
    count = len(limits) + 1
    if count == 1:
        return [t.ramp[RAMP_CLASSES // 2]]
    return [t.ramp[round(i * (RAMP_CLASSES - 1) / (count - 1))] for i in range(count)]


class HeatMap(GridPlot):
    """Outline where it starts, dashed outline where every target is met, ring where the scenario is."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(words, parent)
        self.limits: tuple[float, ...] = ()
        self.outline = True
        self._image: QImage | None = None
        self._edges: list[Line] = []
        self._targets: list[Line] = []

    def set_outline(self, shown: bool) -> None:
        """Show where every target is met, or not."""
        self.outline = shown
        self.update()

    def caption(self) -> str:
        """Units and inputs."""
        assert self.picture is not None
        x, y = self.names()
        unit = scale_of(self.picture.result, self._most())[0]
        key = "explore.caption" if unit else "explore.caption_bare"
        return self._words(key, unit=unit, x=x, y=y)

    def _most(self) -> float:
        assert self.picture is not None
        values = self.picture.values[self.picture.starts & np.isfinite(self.picture.values)]
        return float(values.max()) if values.size else 0.0

    # -- what is kept ----------------------------------------------------------------------------

    def refill(self) -> None:
        """Image and outlines for the size there is."""
        picture, rect = self.picture, self.rect_
        self._image = None
        if picture is None or rect.width() < 20 or rect.height() < 20:
            return
        shown = np.where(picture.starts, picture.values, np.nan)
        _, factor = scale_of(picture.result, self._most())
        self.limits = tuple(limit / factor for limit in breaks(shown * factor))  # round in the unit shown
        self._image = self._painted(picture, rect)
        self._image.setDevicePixelRatio(self._image.width() / max(1.0, round(rect.width())))
        self._edges, self._targets = self._outlines(picture)

    def _painted(self, picture: Picture, rect: QRectF) -> QImage:
        t = theme()
        wide, high = round(rect.width()), round(rect.height())
        ratio = self.devicePixelRatioF()
        if wide * high * ratio * ratio > _MOST_PIXELS:
            ratio = 1.0
        wide, high = round(wide * ratio), round(high * ratio)
        fx = _indices(picture.x, wide)
        fy = _indices(picture.y, high)[::-1]
        values = _filled(np.where(picture.starts, picture.values, np.nan))
        colours = np.array([c.rgb() & 0xFFFFFF for c in class_colours(t, self.limits)], dtype=np.uint32)
        pixels = colours[levels(_sampled(values, fy, fx), self.limits)]
        starts = _sampled(self._soft(picture, picture.starts), fy, fx) >= 0.5
        hatch = _hatch(high, wide, ratio, t)
        pixels = np.where(starts, pixels, hatch)
        if picture.known is not None:
            known = _sampled(picture.known.astype(np.float64), fy, fx) >= 0.5
            pixels = np.where(known, pixels, np.uint32(t.canvas.rgb() & 0xFFFFFF))
        pixels = pixels | np.uint32(0xFF000000)
        data = np.ascontiguousarray(pixels)
        return QImage(data.data, wide, high, 4 * wide, QImage.Format.Format_RGB32).copy()

    def _soft(self, picture: Picture, mask: NDArray[np.bool_]) -> FloatArray:
        return smoothed(mask.astype(np.float64), not picture.y.is_category, not picture.x.is_category)

    def _outlines(self, picture: Picture) -> tuple[list[Line], list[Line]]:
        """Of what starts, and of what meets every target; none around what is not worked out yet."""
        if picture.known is not None:
            return [], []
        # Where it does not start there is no target to miss: the two outlines never run along each other.
        meets = picture.meets | ~picture.starts
        masks = [picture.starts, meets if picture.meets.any() else np.ones_like(meets)]
        if picture.x.is_category or picture.y.is_category:
            found = [_steps(mask, picture) for mask in masks]
        else:
            x, y = places(picture.x), places(picture.y)
            fields = [self._soft(picture, mask) for mask in masks]
            found = [[eased(line) for line in contours(field, x, y, 0.5)] for field in fields]
        return found[0], found[1]

    # -- painting --------------------------------------------------------------------------------

    def fill(self, draw: Draw) -> None:
        """Image and lines between names."""
        if self._image is None or self.picture is None:
            return
        rect, t = self.rect_, draw.theme
        draw.painter.drawImage(
            QRectF(round(rect.left()), round(rect.top()), round(rect.width()), round(rect.height())),
            self._image,
        )
        if not self.picture.y.is_category:
            for value in ticks(self.picture.y):
                at = place_of(self.picture.y, value)
                if 0.02 < at < 0.98:
                    draw.line(rect.left(), self.py(at), rect.right(), self.py(at), t.canvas)
        for axis, upright in ((self.picture.x, True), (self.picture.y, False)):
            if not axis.is_category:
                continue
            count = len(axis.values)
            for index in range(1, count):
                at = index / count
                if upright:
                    draw.line(self.px(at), rect.top(), self.px(at), rect.bottom(), t.canvas)
                else:
                    draw.line(rect.left(), self.py(at), rect.right(), self.py(at), t.canvas)

    def marks(self, draw: Draw) -> None:
        """Outlines and their names, numbers in large cells, the scenario, the pointer."""
        picture = self.picture
        assert picture is not None
        if picture.x.is_category and picture.y.is_category:
            self._numbers(draw)
            self._own(draw)
        else:
            self._draw_outlines(draw)
            self._own(draw)
            if not (picture.x.is_category or picture.y.is_category):
                self._names(draw)
        self._pointer(draw)

    def _draw_outlines(self, draw: Draw) -> None:
        t, painter = draw.theme, draw.painter
        painter.save()
        painter.setClipRect(self.rect_.adjusted(0, 0, 1, 1))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        for line in self._edges:
            self._stroke(painter, line, t.ink, 1.6, ())
        if self.outline:
            for line in self._targets:
                self._stroke(painter, line, t.canvas, 5.0, ())
                self._stroke(painter, line, t.warn, 2.0, (5, 3))
        painter.restore()

    def _stroke(
        self, painter: QPainter, line: Line, colour: QColor, width: float, dash: tuple[float, ...]
    ) -> None:
        path = QPainterPath(QPointF(self.px(line[0][0]), self.py(line[0][1])))
        for x, y in line[1:]:
            path.lineTo(self.px(x), self.py(y))
        pen = QPen(colour, width)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        if dash:
            pen.setDashPattern([part / width for part in dash])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(path)

    def _numbers(self, draw: Draw) -> None:
        """A table of names against names: its values where there is room, a dot where targets are met."""
        picture = self.picture
        assert picture is not None
        t = draw.theme
        rows, columns = picture.values.shape
        wide, high = self.rect_.width() / columns, self.rect_.height() / rows
        roomy = wide >= _ROOM_FOR_VALUES[0] and high >= _ROOM_FOR_VALUES[1] - 3
        _, factor = scale_of(picture.result, self._most())
        for row in range(rows):
            for column in range(columns):
                if not picture.starts[row, column]:
                    continue
                at = self.point_of((row, column))
                good = self.outline and bool(picture.meets[row, column])
                if roomy:
                    value = float(picture.values[row, column])
                    shown = show_result(picture.result, value).number
                    text = three_digits(value * factor) if factor != 1.0 else shown
                    role: Role = "caption_semibold" if good else "caption"
                    draw.text(
                        at.x() + (4 if good else 0),
                        at.y(),
                        text,
                        t.ink,
                        role=role,
                        align="centre",
                        keep=False,
                    )
                    if good:
                        draw.dot(at.x() - draw.width(text, role) / 2 - 3, at.y(), t.good)
                elif good:
                    draw.dot(at.x(), at.y(), t.good, size=6)

    def _own(self, draw: Draw) -> None:
        cell, at, picture = self.own_cell(), self.own_point(), self.picture
        if cell is None or at is None or picture is None:
            return
        t, rect = draw.theme, self.rect_
        box = self._box_of(cell)
        if box is not None:
            draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            draw.painter.setPen(QPen(t.accent, 2))
            draw.painter.setBrush(Qt.BrushStyle.NoBrush)
            draw.painter.drawRect(box.adjusted(1, 1, -1, -1))
            return
        if not picture.x.is_category:
            draw.line(at.x(), rect.top(), at.x(), round(rect.bottom()), t.accent)
        if not picture.y.is_category:
            draw.line(rect.left(), at.y(), rect.right(), at.y(), t.accent)
        text = self.own_reading()
        above = at.y() - draw.flag_size(text).height() - 10
        top = above if above > rect.top() + 2 else at.y() + 10
        draw.flag(at.x(), top, text, rect.adjusted(3, 0, -3, 0))
        draw.ring(at.x(), at.y(), t.accent)
        draw.taken.append(QRectF(at.x() - 8, at.y() - 8, 16, 16))

    def _box_of(self, cell: tuple[int, int]) -> QRectF | None:
        """The cell of a name against a name."""
        picture = self.picture
        assert picture is not None
        if not (picture.x.is_category and picture.y.is_category):
            return None
        rows, columns = picture.values.shape
        left, right = self.px(cell[1] / columns), self.px((cell[1] + 1) / columns)
        bottom, top = self.py(cell[0] / rows), self.py((cell[0] + 1) / rows)
        return QRectF(round(left), round(top), round(right) - round(left), round(bottom) - round(top))

    def _names(self, draw: Draw) -> None:
        """What the regions are, written into them."""
        picture, t = self.picture, draw.theme
        assert picture is not None
        misses = picture.starts & ~picture.meets
        wanted = [(~picture.starts, "explore.does_not_start", t.ink2)]
        if self.outline and self._targets:
            wanted += [(misses, "explore.misses", t.warn), (picture.meets, "explore.meets", t.good)]
        for mask, key, colour in wanted:
            text = self._words(key)
            at = self._room_for(draw, mask, draw.width(text, "body_medium") + 16)
            if at is None:
                continue
            plate = draw.rect_of(at.x(), at.y(), text, "body_medium", "centre").adjusted(-5, 0, 5, 0)
            draw.fill(plate, t.canvas)
            draw.text(at.x(), at.y(), text, colour, role="body_medium", align="centre")

    def _room_for(self, draw: Draw, mask: NDArray[np.bool_], wide: float) -> QPointF | None:
        """A place within a region where a text of this width has room, near the region's middle."""
        picture, rect = self.picture, self.rect_
        assert picture is not None
        count_x, count_y = 48, 36
        fx = np.clip(np.round(_indices(picture.x, count_x)), 0, mask.shape[1] - 1).astype(int)
        fy = np.clip(np.round(_indices(picture.y, count_y)), 0, mask.shape[0] - 1).astype(int)
        coarse = mask[fy][:, fx]
        if not coarse.any():
            return None
        half_x = math.ceil(wide / 2 / (rect.width() / count_x))
        half_y = math.ceil(draw.theme.px(13) / (rect.height() / count_y))
        padded = np.pad(coarse, ((half_y, half_y), (half_x, half_x)))
        free = np.ones_like(coarse)
        for dy in (0, half_y, 2 * half_y):
            for dx in range(2 * half_x + 1):
                free &= padded[dy : dy + count_y, dx : dx + count_x]
        rows, columns = np.nonzero(free)
        if not len(rows):
            return None
        middle = (np.mean(np.nonzero(coarse)[0]), np.mean(np.nonzero(coarse)[1]))
        order = np.argsort((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2)
        for index in order[:200:4]:
            at = QPointF(self.px((columns[index] + 0.5) / count_x), self.py((rows[index] + 0.5) / count_y))
            box = QRectF(at.x() - wide / 2, at.y() - 11, wide, 22)
            own = self.own_cell()
            crossed = own is not None and _near(self.point_of(own), box, picture)
            if draw.vacant(box) and not crossed:
                return at
        return None

    def _pointer(self, draw: Draw) -> None:
        if self.pointer is None:
            return
        at = self.point_of(self.pointer)
        box = self._box_of(self.pointer)
        keyed = self.hasFocus() and self.pointer == self.cursor_cell
        colour = draw.theme.accent if keyed else draw.theme.ink
        if box is not None:
            draw.painter.setPen(QPen(colour, 2 if keyed else 1))
            draw.painter.setBrush(Qt.BrushStyle.NoBrush)
            draw.painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
            return
        draw.ring(at.x(), at.y(), colour, size=8, edge=1.6)
        if keyed:
            draw.focus(at.x(), at.y())


def _near(at: QPointF, box: QRectF, picture: Picture) -> bool:
    """Whether a line of the operating point runs through a box."""
    upright = not picture.x.is_category and box.left() <= at.x() <= box.right()
    level = not picture.y.is_category and box.top() <= at.y() <= box.bottom()
    return upright or level


def _indices(axis: Axis, pixels: int) -> FloatArray:
    """The index, with its fraction, that every pixel along an axis shows."""
    at = (np.arange(pixels) + 0.5) / pixels
    if axis.is_category:
        return np.floor(at * len(axis.values))
    return np.interp(at, places(axis), np.arange(len(axis.values)))


def _sampled(array: FloatArray, fy: FloatArray, fx: FloatArray) -> FloatArray:
    """Bilinear samples at all pairs of fractional indices."""
    x0 = np.clip(np.floor(fx).astype(int), 0, array.shape[1] - 1)
    y0 = np.clip(np.floor(fy).astype(int), 0, array.shape[0] - 1)
    x1, y1 = np.minimum(x0 + 1, array.shape[1] - 1), np.minimum(y0 + 1, array.shape[0] - 1)
    wx, wy = (fx - x0), (fy - y0)
    across = array[:, x0] * (1 - wx) + array[:, x1] * wx
    return np.asarray(across[y0] * (1 - wy)[:, None] + across[y1] * wy[:, None])


def _filled(values: FloatArray) -> FloatArray:
    """Gaps take the value beside them, so that the colours run up to the outline."""
    found = np.where(np.isfinite(values), values, np.nan)
    for turn in (found, found.T):
        for line in (turn, turn[:, ::-1]):
            good = np.isfinite(line)
            source = np.maximum.accumulate(np.where(good, np.arange(line.shape[1])[None, :], -1), axis=1)
            filled = np.take_along_axis(line, np.maximum(source, 0), axis=1)
            line[...] = np.where(good | (source < 0), line, filled)
    return np.nan_to_num(found)


def _hatch(high: int, wide: int, ratio: float, t: Theme) -> NDArray[np.uint32]:
    """Thin diagonals on the canvas, 0xRRGGBB."""
    pitch = _PITCH * ratio
    along = np.arange(wide + high - 1) % pitch  # alike along every diagonal
    distance = np.abs(along - pitch / 2) / math.sqrt(2)
    share = np.clip(0.5 * ratio + 0.5 - distance, 0.0, 1.0)
    ramp = np.array(
        [mix(t.axis, t.canvas, 0.75 * i / 15).rgb() & 0xFFFFFF for i in range(16)], dtype=np.uint32
    )
    return sliding_window_view(ramp[np.round(share * 15).astype(int)], wide)


def _steps(mask: NDArray[np.bool_], picture: Picture) -> list[Line]:
    """Within the band of each name, where a condition changes along the other axis."""
    upright = picture.y.is_category
    bands = mask if upright else mask.T
    along = places(picture.x if upright else picture.y)
    count = bands.shape[0]
    lines: list[Line] = []
    if picture.x.is_category and picture.y.is_category:
        return lines
    for band in range(count):
        low, high = band / count, (band + 1) / count
        for index in np.flatnonzero(bands[band, 1:] != bands[band, :-1]).tolist():
            at = float(along[index] + along[index + 1]) / 2
            lines.append([(at, low), (at, high)] if upright else [(low, at), (high, at)])
    return lines
