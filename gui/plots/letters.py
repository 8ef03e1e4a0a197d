"""The letter of a compared scenario on its colour, beside its curve."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainter

from core.quantities import FloatArray
from gui.plots.draw import Draw

_GAP = 4.0  # pixels between a curve and a letter beside it
_ROWS = 4


def badge(
    draw: Draw,
    x: float,
    y: float,
    text: str,
    series: int,
    bounds: QRectF,
    along: Sequence[tuple[float, float]] = (),
) -> QRectF:
    """The letter of a compared scenario on its colour, its left edge at ``x``, where nothing stands yet.

    ``along``: further places on its line, in pixels; one of them is taken before a place apart from the line.
    """
    size = _size(draw, text)
    for left, middle in ((x, y), *((px - size.width() / 2, py) for px, py in along)):
        for rise in (0.0, -4.0, 4.0):
            near = QRectF(QPointF(round(left), round(middle + rise - size.height() / 2)), size)
            if bounds.contains(near) and draw.vacant(near.adjusted(-1, -1, 1, 1)):
                return _lettered(draw, near, text, series)
    left = min(max(x, bounds.left()), bounds.right() - size.width())
    middle = min(max(y, bounds.top() + size.height() / 2), bounds.bottom() - size.height() / 2)
    box = QRectF(QPointF(round(left), round(middle - size.height() / 2)), size)
    clear = box
    for step in range(1, 40):  # nearest free place above or below, then a little further to the left
        if draw.vacant(clear.adjusted(-1, -1, 1, 1)) and bounds.contains(clear):
            box = clear
            break
        rise = (step % 20 + 1) // 2 * 4.0 * (1 if step % 2 else -1)
        clear = box.translated(-(size.width() + 2) if step >= 20 else 0.0, rise)
    return _lettered(draw, box, text, series)


def _lettered(draw: Draw, box: QRectF, text: str, series: int) -> QRectF:
    draw.painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    draw.painter.setPen(Qt.PenStyle.NoPen)
    draw.painter.setBrush(draw.theme.series_colour(series))
    draw.painter.drawRoundedRect(box, 3, 3)
    ink = draw.theme.canvas
    draw.text(
        box.center().x(), box.center().y(), text, ink, role="caption_semibold", align="centre", keep=False
    )
    draw.taken.append(box)
    return box


def badge_beside(draw: Draw, xs: FloatArray, ys: FloatArray, text: str, series: int, bounds: QRectF) -> bool:
    """The letter of a curve that leaves through the top, beside it (pixels) and on no other curve.

    As high as it can stand; False where there is no such place.
    """
    size = _size(draw, text)
    for row in range(_ROWS):
        top = bounds.top() + 1 + row * (size.height() + 2)
        for left in (
            _reaches(xs, ys, top) + _GAP,
            _reaches(xs, ys, top + size.height()) - _GAP - size.width(),
        ):
            box = QRectF(QPointF(round(left), round(top)), size)
            if bounds.contains(box) and draw.free(box, 1.0):
                _lettered(draw, box, text, series)
                return True
    return False


def _reaches(xs: FloatArray, ys: FloatArray, row: float) -> float:
    """Where a curve first comes up to a row, in pixels."""
    above = np.flatnonzero(ys <= row)
    if not len(above):
        return float(xs[-1])
    i = int(above[0])
    if i == 0:
        return float(xs[0])
    share = (ys[i - 1] - row) / (ys[i - 1] - ys[i])
    return float(xs[i - 1] + share * (xs[i] - xs[i - 1]))


def _size(draw: Draw, text: str) -> QSizeF:
    scale = draw.theme.scale
    return QSizeF(max(16.0 * scale, draw.width(text, "caption_semibold") + 8), 14 * scale)
