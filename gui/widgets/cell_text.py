"""Texts of tables, shaped once: while rows arrive most of them come back in every picture.

The same pixels as ``paint.text``; what is cut, a script that has another font, and any picture that is no
raster (its texts can be searched) go the long way.
"""

import math

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPaintEngine, QPainter, QStaticText

from gui.theme import Role, Theme, theme
from gui.widgets import paint

_MOST = 4000
_OTHER_SCRIPTS = 0x2E80  # from here on fonts of another height stand in


class _Kept:
    """Fonts, heights and shaped texts of one theme."""

    def __init__(self) -> None:
        self._theme: Theme | None = None
        self.fonts: dict[Role, tuple[QFont, QFontMetricsF, int]] = {}
        self.widths: dict[tuple[Role, str], float] = {}
        self.shaped: dict[tuple[Role, str], QStaticText | None] = {}

    def refresh(self) -> None:
        """Forget what belongs to another theme, or has grown too much."""
        current = theme()
        if current is not self._theme or max(len(self.widths), len(self.shaped)) > _MOST:
            self._theme = current
            self.fonts.clear()
            self.widths.clear()
            self.shaped.clear()

    def font(self, role: Role) -> tuple[QFont, QFontMetricsF, int]:
        """Font, metrics, and the height of a line in pixels."""
        found = self.fonts.get(role)
        if found is None:
            font = theme().font(role)
            metrics = QFontMetricsF(font)
            found = self.fonts[role] = (font, metrics, math.ceil(metrics.height() - 1e-9))
        return found


_kept = _Kept()


def width(role: Role, string: str) -> float:
    """Advance of a text in pixels."""
    _kept.refresh()
    found = _kept.widths.get((role, string))
    if found is None:
        found = _kept.widths[role, string] = _kept.font(role)[1].horizontalAdvance(string)
    return found


def text(
    painter: QPainter, box: QRectF, string: str, role: Role, colour: QColor, right: bool = False
) -> float:
    """One line in the middle of a box, as ``paint.text``; return its width."""
    wide = width(role, string)
    shaped = _shaped(role, string) if wide <= box.width() + 0.5 else None
    font, _, high = _kept.font(role)
    if shaped is None or not _is_raster(painter):
        return paint.text(painter, box, string, font, colour, paint.RIGHT if right else paint.LEFT)
    painter.setFont(font)
    painter.setPen(colour)
    left = box.right() - wide if right else box.left()
    painter.drawStaticText(QPointF(left, box.top() + (box.height() - high) / 2), shaped)
    return wide


def _shaped(role: Role, string: str) -> QStaticText | None:
    key = role, string
    if key not in _kept.shaped:
        made: QStaticText | None = None
        if all(ord(letter) < _OTHER_SCRIPTS for letter in string):
            made = QStaticText(string)
            made.setTextFormat(Qt.TextFormat.PlainText)
            made.setPerformanceHint(QStaticText.PerformanceHint.AggressiveCaching)
        _kept.shaped[key] = made
    return _kept.shaped[key]


def _is_raster(painter: QPainter) -> bool:
    return painter.paintEngine().type() == QPaintEngine.Type.Raster
