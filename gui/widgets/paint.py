"""What the painted widgets share: text in a box, hairlines, the hatch."""

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter


def width(font: QFont, string: str) -> float:
    """Advance of a text in pixels."""
    return QFontMetricsF(font).horizontalAdvance(string)


def text(
    painter: QPainter,
    box: QRectF,
    string: str,
    font: QFont,
    colour: QColor,
    align: Qt.AlignmentFlag = LEFT,
) -> float:
    """Draw one line, elided where it does not fit; return its width."""
    metrics = QFontMetricsF(font)
    advance = metrics.horizontalAdvance(string)
    if advance > box.width() + 0.5:
        string = metrics.elidedText(string, Qt.TextElideMode.ElideRight, max(0.0, box.width()))
        advance = metrics.horizontalAdvance(string)
    painter.setFont(font)
    painter.setPen(colour)
    painter.drawText(box, align | Qt.TextFlag.TextSingleLine, string)
    return advance


def on_baseline(
    painter: QPainter, x: float, baseline: float, string: str, font: QFont, colour: QColor
) -> float:
    """Draw text from ``x`` on a base line, for mixed sizes; return the x where it ends."""
    painter.setFont(font)
    painter.setPen(colour)
    painter.drawText(QPointF(x, baseline), string)
    return x + width(font, string)


def baseline_of(font: QFont, top: float, height: float) -> float:
    """Base line of one line of text centred in a band."""
    metrics = QFontMetricsF(font)
    return top + (height - metrics.height()) / 2 + metrics.ascent()


def hairline(painter: QPainter, x1: float, y1: float, x2: float, y2: float, colour: QColor) -> None:
    """A line of one pixel that fills whole pixels, horizontal or vertical."""
    if y1 == y2:
        painter.fillRect(QRectF(x1, y1, x2 - x1, 1), colour)
    else:
        painter.fillRect(QRectF(x1, y1, 1, y2 - y1), colour)


def hatch(painter: QPainter, box: QRectF, ground: QColor, colour: QColor, pitch: float = 6.0) -> None:
    """Fill with diagonals; drawn as lines, so that it is the same at every pixel density."""
    painter.save()
    painter.fillRect(box, ground)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(colour, 1.2)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    # Anchored to the origin, so that neighbouring boxes and repaints continue one pattern.
    rise = box.height()
    start = (box.left() + box.top()) // pitch * pitch
    lines = []
    offset = start
    while offset < box.right() + box.bottom() + pitch:
        x = offset - box.bottom()
        # Cut here and not by the painter: an SVG forgets where a clip stands.
        first, last = max(x, box.left()), min(x + rise, box.right())
        if last > first:
            lines.append(QLineF(first, box.bottom() - (first - x), last, box.bottom() - (last - x)))
        offset += pitch
    painter.drawLines(lines)
    painter.restore()


def frame(painter: QPainter, box: QRectF, colour: QColor, thickness: float = 1.0) -> None:
    """A rectangle's edge drawn inside ``box``, crisp."""
    painter.fillRect(QRectF(box.left(), box.top(), box.width(), thickness), colour)
    painter.fillRect(QRectF(box.left(), box.bottom() - thickness, box.width(), thickness), colour)
    painter.fillRect(QRectF(box.left(), box.top(), thickness, box.height()), colour)
    painter.fillRect(QRectF(box.right() - thickness, box.top(), thickness, box.height()), colour)


KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)


def focus_ring(painter: QPainter, box: QRectF, colour: QColor, radius: float = 6.0) -> None:
    """The 2 px ring of the focused part."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(colour, 2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), radius, radius)
    painter.restore()
