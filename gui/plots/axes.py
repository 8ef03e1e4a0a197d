"""Axes, names inside panels, and the words of an empty plot, in pixels."""

from collections.abc import Iterable

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from gui.plots.area import Panel
from gui.plots.draw import Draw


def axes(draw: Draw, panel: Panel, *, numbers: bool = True) -> None:
    """Base line, ticks inwards, numbers; the unit once, in the last label of the x axis.

    ``numbers`` is False when nothing was ever drawn on these axes.
    """
    current, rect = draw.theme, panel.rect
    base = round(rect.bottom()) + 0.5
    ticks, left, right = panel.x.ticks, rect.left(), rect.right()
    draw.line(left, base, right, base, current.axis)
    for value in ticks:
        x = min(max(panel.px(value), left + 0.5), right - 0.5)
        draw.line(x, base - 4, x, base, current.axis)
    if not numbers:
        return
    for value, text in panel.y.labels:
        draw.text(left - 7, panel.py(value), text, current.ink3, align="right", keep=False)
    if panel.x_text is None:
        return
    middle = base + current.px(10)
    last = panel.x_text(ticks[-1])
    if panel.x_unit:
        last = panel.x_unit.format(n=last)
    taken = draw.text(right, middle, last, current.ink3, align="right", keep=False)
    for value in ticks[:-1]:
        text = panel.x_text(value)
        if panel.px(value) + draw.width(text) / 2 < taken.left() - 10:
            draw.text(panel.px(value), middle, text, current.ink3, align="centre", keep=False)


def _beside(x: float, width: float, spans: list[tuple[float, float]]) -> float:
    """The first place from ``x`` on, to the right of a span, where so wide a text touches none of them."""
    for left, right in sorted(spans):
        if x - 4 < right and left < x + width + 4:
            x = right + 7
    return x


def panel_title(
    draw: Draw, panel: Panel, spans: Iterable[tuple[float, float]] = (), widest: str = ""
) -> None:
    """The name inside a panel, at its upper left; a curve that passes goes behind it.

    ``spans`` are left and right of upright lines with their flags, the first the most important: the name
    moves to the right of those that it would stand on, or that ``widest``, the name of another panel above
    or below, would.
    """
    first, y = panel.rect.left() + 2, panel.py(panel.y.end) - draw.theme.px(11)
    width = max(draw.width(text, "caption_medium") for text in (panel.title, widest))
    found = list(spans)
    places = [_beside(first, width, found[:count]) for count in range(len(found), 0, -1)]
    x = next((place for place in places if place + width <= panel.rect.right()), first)
    place = draw.rect_of(x, y, panel.title, "caption_medium", "left")
    draw.fill(place.adjusted(-2, 1, 3, -1), draw.theme.canvas)
    draw.text(x, y, panel.title, draw.theme.ink2, role="caption_medium")


def on_plate(draw: Draw, right: float, y: float, text: str, colour: QColor, bounds: QRectF) -> bool:
    """A name over lines of other scenarios, on a plate of the ground; False where other names stand."""
    place = draw.rect_of(right, y, text, "caption_semibold", "right")
    if not bounds.adjusted(-1, -2, 1, 2).contains(place) or not draw.vacant(place):
        return False
    draw.fill(place.adjusted(-2, 1, 2, -1), draw.theme.canvas)
    draw.text(right, y, text, colour, role="caption_semibold", align="right")
    return True


def empty_lines(draw: Draw, panels: list[Panel], lines: tuple[str, ...]) -> None:
    """What is needed, and why, in the middle of the first panel."""
    if not panels:
        return
    rect = panels[0].rect
    step = draw.theme.px(18)
    y = rect.center().y() - step * (len(lines) - 1) / 2
    for line in lines:
        text = draw.elided(line, rect.width() - 8, "caption_medium")
        half = draw.width(text, "caption_medium") / 2 + 6
        draw.fill(QRectF(rect.center().x() - half, y - step / 2, 2 * half, step), draw.theme.canvas)
        draw.text(rect.center().x(), y, text, draw.theme.ink2, role="caption_medium", align="centre")
        y += step
