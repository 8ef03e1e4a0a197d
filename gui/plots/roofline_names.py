"""What is written beside the points and along the slope of the roofline: on no mark, off the lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor

from core.words import Words
from gui.plots.area import Panel
from gui.plots.draw import Align, Draw, crosses, rising
from gui.plots.name_places import around
from gui.plots.roofline_marks import Place, leader, stands_on
from gui.theme import Role

_FAR = (18.0, 32.0, 46.0, 62.0, 80.0)  # pixels from a point to a name with a line to it
_CLOSE = 32.0  # such a name rather than one beside the point on the line of the knee
_TOLD_ANYHOW = 0.02  # share of a step from which a name may stand at the end of a line through another

_TRIES = 4  # orders in which names are placed, until all have a place
_ROLE: Role = "caption_medium"

_Tried = tuple[float, float, Align]


@dataclass(frozen=True, slots=True)
class Name:
    """A name that has found its place."""

    place: Place
    x: float
    y: float
    align: Align
    rect: QRectF
    line: tuple[float, float, float, float] | None  # from its point, where it stands off


Planned = tuple[tuple[object, ...], list[Name]]


@dataclass(frozen=True, slots=True)
class RooflineNames:
    """The names of one picture; each gives way to what is drawn before it."""

    panel: Panel
    draw: Draw
    words: Words
    knee: float  # pixel column of the intensity above which the device could compute at its peak

    def points(self, places: Sequence[Place], known: Planned | None) -> Planned:
        """Write the names of all points; ``known``: where they stood before, good while all else is alike."""
        around_them = tuple((r.x(), r.y(), r.width(), r.height()) for r in self.draw.taken)
        found_for = (around_them, tuple(self._text(place) for place in places), self.draw.theme)
        if known is None or known[0] != found_for:
            known = found_for, self._plan(places)
        for name in known[1]:
            if name.line is not None:
                self.draw.line(*name.line, self.draw.theme.control)
                self.draw.keep_clear(*name.line)
            text, colour = self._text(name.place), self._colour(name.place)
            self._write(name.x, name.y, name.rect, text, colour, name.align, _ROLE)
        return known

    def _plan(self, places: Sequence[Place]) -> list[Name]:
        """Those with the fewest places for a name first; those that found a poor one or none before them."""
        order = sorted(places, key=self._room)
        found = best = self._placed(order)
        for _ in range(_TRIES - 1):
            good = {id(name.place) for name in found if not self._on_knee(name.rect)}
            poor = [place for place in order if id(place) not in good]
            if not poor:
                break
            order = [*poor, *(place for place in order if id(place) in good)]
            found = self._placed(order)
            best = max(best, found, key=self._worth)
        return best

    def _worth(self, found: Sequence[Name]) -> tuple[int, int]:
        """More names are better, then fewer of them over the line of the knee."""
        return len(found), -sum(self._on_knee(name.rect) for name in found)

    def _room(self, place: Place) -> int:
        """How many places beside its point are free before there are names."""
        rects = (self._rect(place, *tried) for tried in self._near(place))
        return sum(self.panel.rect.contains(rect) and self.draw.free(rect) for rect in rects)

    def _placed(self, order: Sequence[Place]) -> list[Name]:
        """Names as far as they find places in this order; what they take is given back."""
        draw = self.draw
        taken, lines = len(draw.taken), len(draw.lines)
        found = []
        for place in order:
            name = self._name(place)
            if name is not None:
                found.append(name)
                draw.taken.append(name.rect)
                if name.line is not None:
                    draw.keep_clear(*name.line)
        del draw.taken[taken:], draw.lines[lines:]
        return found

    def _name(self, place: Place) -> Name | None:
        """Beside its point, or a little off with a thin line where the neighbours are close."""
        led = [one for far in _FAR for one in around(far)]
        close = [one for one in led if max(abs(one[0]), abs(one[1])) <= _CLOSE]
        near = self._near(place)
        return (
            self._beside(place, near, off_knee=True)
            or self._with_leader(place, close)
            or self._with_leader(place, led)
            or self._beside(place, near, off_knee=False)
            or (self._with_leader(place, led, anyhow=True) if place.dot.share >= _TOLD_ANYHOW else None)
        )

    def _text(self, place: Place) -> str:
        name = self.words(f"operators.{place.dot.key}")
        if place.dot.share < 0.01:
            return name
        return self.words("plots.roofline.name_share", name=name, share=f"{100 * place.dot.share:.0f}")

    def _colour(self, place: Place) -> QColor:
        return self.draw.theme.ink if place.dot.share >= 0.1 else self.draw.theme.ink2

    def _near(self, place: Place) -> tuple[_Tried, ...]:
        r, high = place.radius + 5, self.draw.theme.px(11)
        return (
            (r, 0, "left"),
            (-r, 0, "right"),
            (0, r + high / 2, "centre"),
            (0, -r - high / 2, "centre"),
            (r * 0.8, r * 0.8 + 2, "left"),
            (-r * 0.8, r * 0.8 + 2, "right"),
        )

    def _rect(self, place: Place, dx: float, dy: float, align: Align) -> QRectF:
        return self.draw.rect_of(place.x + dx, place.y + dy, self._text(place), _ROLE, align)

    def _beside(self, place: Place, near: Sequence[_Tried], *, off_knee: bool) -> Name | None:
        for dx, dy, align in near:
            rect = self._rect(place, dx, dy, align)
            if self._fits(rect, off_knee=off_knee):
                return Name(place, place.x + dx, place.y + dy, align, rect, None)
        return None

    def _with_leader(self, place: Place, led: Sequence[_Tried], *, anyhow: bool = False) -> Name | None:
        """At the end of a thin line that meets no other name and no other point, unless ``anyhow``."""
        for dx, dy, align in led:
            rect = self._rect(place, dx, dy, align)
            if not self._fits(rect, off_knee=not anyhow):
                continue
            line = leader(place, dx, dy)
            if anyhow or self._meets_nothing(line, place):
                return Name(place, place.x + dx, place.y + dy, align, rect, line)
        return None

    def _meets_nothing(self, line: tuple[float, float, float, float], own: Place) -> bool:
        """No name and no other point; points that overlap the own one are left beside."""
        r = own.radius
        mark = QRectF(own.x - r, own.y - r, 2 * r, 2 * r)
        x, y = rising(*line)
        return not any(crosses(rect, x, y) for rect in self.draw.taken if not rect.intersects(mark))

    def _on_knee(self, rect: QRectF) -> bool:
        return rect.left() - 3 < self.knee < rect.right() + 3

    def _fits(self, rect: QRectF, over: float = 0.0, *, off_knee: bool = False) -> bool:
        """Whether a text may stand there, ``over`` pixels above the panel at most."""
        if off_knee and self._on_knee(rect):
            return False
        return self.panel.rect.adjusted(0, -over, 0, 0).contains(rect) and self.draw.free(rect)

    def said(
        self,
        x: float,
        y: float,
        text: str,
        colour: QColor,
        align: Align,
        role: Role = _ROLE,
        over: float = 0.0,
    ) -> bool:
        """A text where nothing stands, ``over`` pixels above the panel at most."""
        rect = self.draw.rect_of(x, y, text, role, align)
        if not self._fits(rect, over):
            return False
        self._write(x, y, rect, text, colour, align, role)
        return True

    def _write(
        self, x: float, y: float, rect: QRectF, text: str, colour: QColor, align: Align, role: Role
    ) -> None:
        """The grid and the dotted line of the knee give way."""
        draw, panel = self.draw, self.panel
        for tick in panel.y.ticks[1:]:
            row = panel.py(tick)
            if rect.top() < row < rect.bottom():
                draw.fill(QRectF(rect.left() - 2, round(row) - 2, rect.width() + 4, 4), draw.theme.canvas)
        if self._on_knee(rect):
            draw.fill(QRectF(round(self.knee) - 2, rect.top() - 1, 4, rect.height() + 2), draw.theme.canvas)
        draw.text(x, y, text, colour, role=role, align=align)

    def along(self, text: str, tried: Sequence[QPointF], slope: float, places: Sequence[Place]) -> None:
        """A text over the first of the places on the slope where it covers no point; later names keep off."""
        length = self.draw.width(text, "caption_semibold")
        clear = (place for place in tried if not stands_on(place, slope, length, places))
        at = next(clear, tried[0])
        ink = self.draw.theme.ink
        self.draw.slanted(at.x(), at.y(), -11.0, math.degrees(slope), text, ink, role="caption_semibold")
        middle = QPointF(at.x() - 11 * math.sin(slope), at.y() - 11 * math.cos(slope))
        half = self.draw.theme.px(8)
        for step in range(math.ceil(length / half) + 1):
            along = min(step * half, length) - length / 2
            x, y = middle.x() + along * math.cos(slope), middle.y() - along * math.sin(slope)
            self.draw.taken.append(QRectF(x - half, y - half, 2 * half, 2 * half))
