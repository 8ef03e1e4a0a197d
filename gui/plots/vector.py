"""A plot drawn as plain lines and areas, for SVG and PDF.

On the screen pyqtgraph scales and clips; written to a file its scaled pens and clips depend on the reader.
Here everything is cut and placed in pixels before it is drawn.
"""

import math
from collections.abc import Iterator

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPolygonF

from gui.plots.area import Curve, Panel
from gui.plots.draw import Draw
from gui.plots.pane import Pane
from gui.theme import theme

Segment = tuple[float, float, float, float]


def paint_plot(painter: QPainter, pane: Pane) -> None:
    """Heading, curves and marks of a plot, from the origin of the painter."""
    pane.paint_heading(painter)
    painter.save()
    painter.translate(QPointF(pane.area.pos()))
    painter.fillRect(QRectF(pane.area.rect()), theme().canvas)
    for panel in pane.area.panels:
        for curve in sorted(panel.curves, key=lambda c: c.item.zValue()):
            if curve.item.isVisible():
                _curve(painter, panel, curve)
    pane.area.over(Draw(painter, theme()))
    painter.restore()


def _curve(painter: QPainter, panel: Panel, curve: Curve) -> None:
    xs, ys = curve.item.getData()
    if xs is None or len(xs) < 2:
        return
    px, py = panel.pixels(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float))
    current = theme()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    if curve.fill is not None:
        good = np.isfinite(px) & np.isfinite(py)
        path = QPainterPath()
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in zip(px[good], py[good], strict=True)]))
        path.closeSubpath()
        inside = QPainterPath()
        inside.addRect(panel.rect)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(curve.fill(current))
        painter.drawPath(path.intersected(inside))
    if curve.line is None:
        return
    pen = curve_pen(curve)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    pairs = curve.item.opts.get("connect") == "pairs"
    for line in lines_within(px.tolist(), py.tolist(), panel.rect, pairs):
        painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in line]))


def curve_pen(curve: Curve) -> QPen:
    """The pen that a curve has on a screen of one pixel a pixel."""
    current = theme()
    line, width, dash = curve.line, curve.width, curve.dash
    assert line is not None
    colour = line(current) if curve.look == "plain" else current.ghost
    if curve.look == "ghost":
        width, dash = 1.5, (5.0, 3.0)
    pen = QPen(colour, width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if dash:
        pen.setDashPattern([length / width for length in dash])
    return pen


def lines_within(
    xs: list[float], ys: list[float], box: QRectF, pairs: bool = False
) -> Iterator[list[tuple[float, float]]]:
    """The parts of a line inside a box; ``pairs``: every two points are a line of their own."""
    run: list[tuple[float, float]] = []
    for i in range(0, len(xs) - 1, 2 if pairs else 1):
        cut = _cut((xs[i], ys[i], xs[i + 1], ys[i + 1]), box)
        if cut is None or pairs or (run and run[-1] != cut[:2]):
            if len(run) > 1:
                yield run
            run = []
        if cut is None:
            continue
        if not run:
            run = [cut[:2]]
        run.append(cut[2:])
        if pairs:
            yield run
            run = []
    if len(run) > 1:
        yield run


def _cut(segment: Segment, box: QRectF) -> Segment | None:
    """A segment cut to a box (Liang and Barsky); None where nothing is left."""
    x0, y0, x1, y1 = segment
    if not math.isfinite(x0 + y0 + x1 + y1):
        return None
    dx, dy = x1 - x0, y1 - y0
    first, last = 0.0, 1.0
    for step, room in (
        (-dx, x0 - box.left()),
        (dx, box.right() - x0),
        (-dy, y0 - box.top()),
        (dy, box.bottom() - y0),
    ):
        if step == 0:
            if room < 0:
                return None
            continue
        share = room / step
        if step < 0:
            first = max(first, share)
        else:
            last = min(last, share)
    if first > last:
        return None
    return (x0 + first * dx, y0 + first * dy, x0 + last * dx, y0 + last * dy)
