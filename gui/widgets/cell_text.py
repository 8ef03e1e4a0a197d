"""Texts of tables, measured once: while rows arrive most of them come back in every picture.

The same pixels as ``paint.text`` in less time; what is cut and a script of another font go the long way.
"""

import math

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from gui.theme import Role, Theme, theme
from gui.widgets import paint

_MOST = 4000
_OTHER_SCRIPTS = "\u2e80"  # from here on fonts of another height stand in


class _Kept:
    """Fonts, base lines and advances of one theme."""

    def __init__(self) -> None:
        self._theme: Theme | None = None
        self.fonts: dict[Role, tuple[QFont, QFontMetricsF, float]] = {}
        self.widths: dict[tuple[Role, str], float] = {}

    def refresh(self) -> None:
        """Forget what belongs to another theme, or has grown too much."""
        current = theme()
        if current is not self._theme or len(self.widths) > _MOST:
            self._theme = current
            self.fonts.clear()
            self.widths.clear()

    def font(self, role: Role) -> tuple[QFont, QFontMetricsF, float]:
        """Font, metrics, and how far below the middle of a line its base line is, in pixels."""
        found = self.fonts.get(role)
        if found is None:
            font = theme().font(role)
            metrics = QFontMetricsF(font)
            down = metrics.ascent() - math.ceil(metrics.height() - 1e-9) / 2
            found = self.fonts[role] = (font, metrics, down)
        return found

    def width(self, role: Role, string: str) -> float:
        """Advance of a text in pixels."""
        found = self.widths.get((role, string))
        if found is None:
            found = self.widths[role, string] = self.font(role)[1].horizontalAdvance(string)
        return found


_kept = _Kept()


class Measure:
    """Advances of many texts at once: that the theme is the same is looked up once."""

    def __init__(self) -> None:
        _kept.refresh()
        self.width = _kept.width


class Writer(Measure):
    """Writes the texts of one picture: font and colour are set where they change."""

    def __init__(self, painter: QPainter) -> None:
        super().__init__()
        self.painter = painter
        self._role: Role | None = None
        self._colour: QColor | None = None

    def text(self, box: QRectF, string: str, role: Role, colour: QColor, right: bool = False) -> float:
        """One line in the middle of a box, as ``paint.text``; return its width."""
        wide, (font, _, down) = self.width(role, string), _kept.font(role)
        if wide > box.width() + 0.5 or (string and max(string) >= _OTHER_SCRIPTS):
            self._role = self._colour = None
            return paint.text(self.painter, box, string, font, colour, paint.RIGHT if right else paint.LEFT)
        if role != self._role:
            self._role = role
            self.painter.setFont(font)
        if colour is not self._colour:
            self._colour = colour
            self.painter.setPen(colour)
        left = box.right() - wide if right else box.left()
        self.painter.drawText(QPointF(left, box.top() + box.height() / 2 + down), string)
        return wide
