"""Predicted against measured in logarithms, or errors over batch or length: a point for each run."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainterPath, QPolygonF
from PySide6.QtWidgets import QWidget

from core.evidence.runs_told import shown_figure
from core.quantities import FloatArray
from core.units import three_digits
from core.words import Words, percent
from gui.contents.validate import name_of, signed
from gui.plots.canvas import Canvas, dots, polygon_of
from gui.plots.decades import Scale, bare
from gui.plots.draw import Draw
from gui.plots.measured_scales import Kind, places_of, scales_of, unit_of
from gui.theme import SERIES_MARKERS
from gui.work.boards import FAR, WITHIN, Move, View

_NEAR = 12.0  # pixels
_MANY = 3000  # points from which on those that cover one another are painted once
_CELL = 2.0  # pixels


class MeasuredPlot(Canvas):
    """``chosen`` carries the index of a run that was clicked, or stepped to."""

    chosen = Signal(int)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.kind: Kind = "measured"
        self._view: View | None = None
        self._group = -1
        self._moves: tuple[Move, ...] = ()
        self.run = -1
        self._pointed = -1  # index among the points
        self._rect = QRectF(0, 0, 1, 1)
        self._x, self._y = Scale(), Scale()
        self._px: FloatArray = np.zeros(0)
        self._py: FloatArray = np.zeros(0)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumHeight(180)

    def show_view(self, view: View | None) -> None:
        """Show other points."""
        self._view, self._pointed = view, -1
        self._moves = ()
        self._speak()
        self.refill()

    def set_kind(self, kind: Kind) -> None:
        """Against measured, over the batch, over the length."""
        self.kind = kind
        self._speak()
        self.refill()

    def choose(self, run: int, group: int = -1) -> None:
        """Mark a run, or leave only the points of a group in full colour."""
        again = group != self._group
        self.run, self._group = run, group
        if again:
            self.refill()
        self.update()

    def show_moves(self, moves: Sequence[Move]) -> None:
        """Where points would stand with a change; none takes them away."""
        self._moves = tuple(moves)
        self.update()

    @property
    def moves(self) -> tuple[Move, ...]:
        """What is shown of a what-if."""
        return self._moves

    def _speak(self) -> None:
        self.setAccessibleName(self._words(f"validating.plot.{self.kind}"))
        self.setAccessibleDescription(self._caption())

    def _caption(self) -> str:
        view = self._view
        if view is None or not view.figure:
            return ""
        name = self._words(f"measured.figures.{view.figure}")
        unit = unit_of(view)[0]
        if self.kind == "measured":
            band = self._words.phrase(percent(WITHIN))
            return self._words("validating.plot.caption", figure=name, unit=unit, band=band)
        return self._words("validating.plot.residual_caption", figure=name)

    # -- places ----------------------------------------------------------------------------------

    def height_name(self) -> str:
        """What the vertical axis counts: "predicted, ms"."""
        key = "y_measured" if self.kind == "measured" else "y_error"
        return self._words(
            f"validating.plot.{key}", unit="" if self._view is None else unit_of(self._view)[0]
        )

    def _label(self, value: float) -> str:
        """What stands at the left of a grid line."""
        if self.kind == "measured":
            return bare(value * self._y.factor)
        return signed(value, self._words) if value else "0"

    def _column(self, x: FloatArray) -> FloatArray:
        r, s = self._rect, self._x
        return r.left() + (x - s.low) / max(s.high - s.low, 1e-9) * r.width()

    def _row(self, y: FloatArray) -> FloatArray:
        r, s = self._rect, self._y
        return r.bottom() - (y - s.low) / max(s.high - s.low, 1e-9) * r.height()

    def at(self, x: float, y: float) -> QPointF:
        """The pixel of logarithms."""
        return QPointF(float(self._column(np.array(x))), float(self._row(np.array(y))))

    def point_of(self, run: int) -> QPointF | None:
        """Where a run stands."""
        if self._view is None:
            return None
        found = np.nonzero(self._view.points.run == run)[0]
        if not len(found) or not len(self._px):
            return None
        return QPointF(float(self._px[found[0]]), float(self._py[found[0]]))

    # -- painting --------------------------------------------------------------------------------

    def still(self, draw: Draw) -> None:
        """Title, axes, line and band, points, the engines' marks."""
        t, view = draw.theme, self._view
        draw.text(0, t.px(10), self._words(f"validating.plot.{self.kind}"), t.ink, role="body_semibold")
        draw.text(0, t.px(27), draw.elided(self._caption(), self.width()), t.ink3)
        self._x, self._y = scales_of(view, self.kind)
        shown = (self._label(value) for value in self._y.ticks)
        left = max(float(t.px(36)), 10 + max((draw.width(text) for text in shown), default=0.0))
        above = self._legend(draw, view)
        top = above + t.px(18)
        size = self.width() - left - 2, self.height() - top - t.px(20)
        self._rect = QRectF(left, top, max(20.0, size[0]), max(20.0, size[1]))
        self._px = self._py = np.zeros(0)
        if view is None or not len(view.points):
            base = round(self._rect.bottom())
            draw.line(left, base, self._rect.right(), base, t.axis)
            text = self._words("validating.plot.nothing") if view is not None else ""
            draw.text(self._rect.center().x(), self._rect.center().y(), text, t.ink3, align="centre")
            return
        xs, ys = places_of(view, self.kind, self._y)
        self._px, self._py = self._column(xs), self._row(ys)
        draw.text(0, above + t.px(7), self.height_name(), t.ink3)
        self._ground(draw)
        self._axes(draw, view)
        draw.painter.save()
        draw.painter.setClipRect(self._rect.adjusted(-4, -4, 4, 4))
        self._points(draw, view)
        draw.painter.restore()

    def _ground(self, draw: Draw) -> None:
        t, rect = draw.theme, self._rect
        painter = draw.painter
        painter.save()
        painter.setClipRect(rect)
        low, high = self._x.low, self._x.high
        up, down = math.log10(1 + WITHIN), math.log10(1 - WITHIN)
        if self.kind == "measured":
            corners = [(low, low + up), (high, high + up), (high, high + down), (low, low + down)]
        else:
            up, down = math.log1p(WITHIN), math.log1p(-WITHIN)
            corners = [(low, up), (high, up), (high, down), (low, down)]
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(t.accent_soft if t.name != "contrast" else t.band)
        painter.drawPolygon(QPolygonF([self.at(*corner) for corner in corners]))
        painter.restore()

    def _axes(self, draw: Draw, view: View) -> None:
        t, rect = draw.theme, self._rect
        log = self.kind == "measured"
        rows: list[float] = []
        for value in self._y.ticks if log else sorted(self._y.ticks, key=abs):
            y = self.at(self._x.low, math.log10(value) if log else math.log1p(value)).y()
            if any(abs(y - other) < t.px(14) for other in rows):
                continue
            rows.append(y)
            if log or value:
                draw.line(rect.left(), round(y), rect.right(), round(y), t.grid)
            draw.text(rect.left() - 7, y, self._label(value), t.ink3, align="right")
        draw.painter.save()
        draw.painter.setClipRect(rect)
        ends = (self._x.low, self._x.high)
        first, last = (self.at(end, end if log else 0.0) for end in ends)
        draw.line(first.x(), first.y(), last.x(), last.y(), t.ink2)
        draw.painter.restore()
        base = round(rect.bottom())
        draw.line(rect.left(), base, rect.right(), base, t.axis)
        y = rect.bottom() + t.px(11)
        unit = unit_of(view)[0]
        name = self._words(f"validating.plot.x_{self.kind}", unit=unit)
        end = self._name_place(draw, name, y)
        draw.text(end.left(), end.center().y(), name, t.ink3)
        edge = rect.left() - 30
        for value in self._x.ticks:
            x = self.at(math.log10(value), self._y.low).x()
            draw.line(x, rect.bottom() - 4, x, rect.bottom(), t.axis)
            text = bare(value * self._x.factor)
            half = draw.width(text) / 2
            beside = x + half < end.left() - 8 or end.center().y() < rect.bottom()
            if x - half > edge + 8 and x + half <= self.width() and beside:
                draw.text(x, y, text, t.ink3, align="centre")
                edge = x + half

    def _name_place(self, draw: Draw, name: str, y: float) -> QRectF:
        """Of the axis's name: in the row of its numbers, above the base line where it would cover one."""
        rect, up = self._rect, draw.theme.px(22)
        end = draw.rect_of(rect.right(), y, name, "caption", "right")
        columns = [self.at(math.log10(value), self._y.low).x() for value in self._x.ticks]
        inside = end.translated(0, -up)
        held = (self._px > inside.left() - 6) & (self._py > inside.top() - 6)
        return inside if any(x > end.left() - 16 for x in columns) and not held.any() else end

    def _points(self, draw: Draw, view: View) -> None:
        t, points = draw.theme, view.points
        far = np.abs(points.errors) > FAR
        lit = np.ones(len(points), bool) if self._group < 0 else view.group_of == self._group
        size = 6.0 if len(points) <= _MANY else 4.0
        dark = ~lit
        if dark.any():
            self._marks(draw, dark, t.line2, "circle", size - 1, filled=True)
        many = len(view.engines) > 1
        for number in range(max(1, len(view.engines))):
            mine = lit & (view.series == number)
            colour = t.series_colour(number) if many else t.curve
            shape = SERIES_MARKERS[number % len(SERIES_MARKERS)]
            self._marks(draw, mine & ~far, colour, shape, size, filled=False)
            self._marks(draw, mine & far, colour if many else t.warn, shape, size, filled=True)

    def _marks(
        self, draw: Draw, chosen: Any, colour: QColor, shape: str, size: float, *, filled: bool
    ) -> None:
        px, py = self._px[chosen], self._py[chosen]
        if not len(px):
            return
        if len(px) > _MANY:
            cells = np.unique(np.round(px / _CELL) * 65536 + np.round(py / _CELL))
            px, py = cells // 65536 * _CELL, cells % 65536 * _CELL
        t = draw.theme
        if shape in ("circle", "square"):
            polygon = polygon_of(px, py)
            square = shape == "square"
            dots(draw, polygon, colour, size - square, square=square)
            if not filled:
                dots(draw, polygon, t.canvas, size - square - 2.6, square=square)
            return
        path, half = QPainterPath(), size / 2 + 0.4
        for x, y in zip(px.tolist(), py.tolist(), strict=True):
            corners = [(x, y - half), (x + half, y + 0.7 * half), (x - half, y + 0.7 * half)]
            if shape == "diamond":
                corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
            path.addPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
            path.closeSubpath()
        draw.painter.setRenderHint(draw.painter.RenderHint.Antialiasing, True)
        draw.painter.setPen(colour)
        draw.painter.setBrush(colour if filled else t.canvas)
        draw.painter.drawPath(path)

    def _legend(self, draw: Draw, view: View | None) -> float:
        """The engines' marks between caption and plot, where there are several; the row below them."""
        t = draw.theme
        if view is None or len(view.engines) < 2:
            return float(t.px(36))
        x, y = 0.0, t.px(45)
        held = self._px, self._py
        for number, engine in enumerate(view.engines[: len(SERIES_MARKERS)]):
            name = name_of("engine", engine, self._words)
            wide = t.px(12) + draw.width(name)
            if x + wide > self.width() and x:
                x, y = 0.0, y + t.px(16)
            self._px, self._py = np.array([x + 3.0]), np.array([float(y)])
            self._marks(draw, slice(None), t.series_colour(number), SERIES_MARKERS[number], 6.0, filled=False)
            draw.text(x + t.px(12), y, name, t.ink2)
            x += wide + t.px(16)
        self._px, self._py = held
        return float(y + t.px(8))

    def moving(self, draw: Draw) -> None:
        """The chosen run, a what-if, and the reading of the point under the pointer."""
        t, view = draw.theme, self._view
        if view is None or not len(self._px):
            return
        for move in self._moves:
            self._move(draw, move)
        at = self.point_of(self.run)
        if at is not None:
            draw.halo(at.x(), at.y(), t.accent, 6.0)
            if self.hasFocus():
                draw.focus(at.x(), at.y())
        if 0 <= self._pointed < len(self._px):
            draw.halo(float(self._px[self._pointed]), float(self._py[self._pointed]), t.ink, 6.0)
            draw.fill(QRectF(0, t.px(19), self.width(), t.px(17)), t.canvas)
            draw.text(0, t.px(27), draw.elided(self.reading(self._pointed), self.width()), t.ink2)

    def _move(self, draw: Draw, move: Move) -> None:
        t, view = draw.theme, self._view
        assert view is not None
        start = self.point_of(move.run)
        if start is None or move.after <= 0 or move.measured <= 0:
            return
        if self.kind == "measured":
            end = self.at(math.log10(move.measured), math.log10(move.after))
        else:
            error = math.log(move.after / move.measured)
            end = QPointF(start.x(), self.at(0.0, min(max(error, self._y.low), self._y.high)).y())
        end.setY(min(max(end.y(), self._rect.top()), self._rect.bottom()))
        draw.line(start.x(), start.y(), end.x(), end.y(), t.accent, 1.5, (3, 2))
        draw.ring(end.x(), end.y(), t.accent, size=8.0)

    def reading(self, index: int) -> str:
        """What a point says."""
        view, words = self._view, self._words
        assert view is not None
        points = view.points
        measured, predicted, batch, length = (
            float(column[index])
            for column in (points.measured, points.predicted, points.batch, points.length)
        )
        return words(
            "validating.plot.reading",
            measured=shown_figure(view.figure, measured, words),
            predicted=shown_figure(view.figure, predicted, words),
            error=signed(predicted / measured - 1, words),
            batch=three_digits(batch),
            length=three_digits(length),
        )

    # -- pointer and keys ------------------------------------------------------------------------

    def _nearest(self, at: QPointF) -> int:
        if not len(self._px):
            return -1
        away = (self._px - at.x()) ** 2 + (self._py - at.y()) ** 2
        best = int(np.argmin(away))
        return best if away[best] < _NEAR**2 else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Read the nearest point."""
        found = self._nearest(event.position())
        if found != self._pointed:
            self._pointed = found
            shape = Qt.CursorShape.PointingHandCursor if found >= 0 else Qt.CursorShape.ArrowCursor
            self.setCursor(shape)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose it."""
        found = self._nearest(event.position())
        if event.button() == Qt.MouseButton.LeftButton and found >= 0 and self._view is not None:
            self.chosen.emit(int(self._view.points.run[found]))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and right go from point to point along the x axis."""
        key = Qt.Key(event.key())
        if key not in (Qt.Key.Key_Left, Qt.Key.Key_Right) or self._view is None or not len(self._px):
            super().keyPressEvent(event)
            return
        order = np.argsort(self._px, kind="stable")
        now = np.nonzero(self._view.points.run[order] == self.run)[0]
        step = 1 if key == Qt.Key.Key_Right else -1
        place = int(now[0]) + step if len(now) else 0
        self.chosen.emit(int(self._view.points.run[order[min(max(place, 0), len(order) - 1)]]))

    def leaveEvent(self, event: object) -> None:
        """Read nothing."""
        self._pointed = -1
        self.update()
