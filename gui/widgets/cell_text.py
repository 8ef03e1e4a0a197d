"""Texts measured and shaped once: most of them come back in every picture.

The same pixels as ``paint.text`` in less time; what is cut goes the long way, and so does a script of another
font until it comes back.
"""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter

from gui import glyphs
from gui.theme import Role, theme
from gui.widgets import paint

_OTHER_SCRIPTS = "\u2e80"  # from here on fonts of another height stand in


class Measure:
    """Advances of many texts at once: that the theme is the same is looked up once."""

    def __init__(self) -> None:
        self._kept = glyphs.of(theme())
        self.width = self._kept.width


class Writer(Measure):
    """Writes the texts of one picture: font and colour are set where they change."""

    def __init__(self, painter: QPainter) -> None:
        super().__init__()
        self.painter = painter
        self._takes_glyphs = glyphs.takes_glyphs(painter)
        self._role: Role | None = None
        self._colour: QColor | None = None

    def text(self, box: QRectF, string: str, role: Role, colour: QColor, right: bool = False) -> float:
        """One line in the middle of a box, as ``paint.text``; return its width."""
        wide, room, high = self.width(role, string), box.width(), box.height()
        face = self._kept.face(role)
        shaped = self._shaped(role, string)
        if shaped is not None and wide <= room and shaped.width <= room and shaped.height <= high:
            self._ink(colour)
            left = box.left() + (room - shaped.width) if right else box.left()
            glyphs.put(self.painter, left, box.top() + (high - shaped.height) / 2, shaped)
            return wide
        other = string and max(string) >= _OTHER_SCRIPTS
        if wide > room + 0.5 or other or face.height > high:
            self._role = self._colour = None
            return paint.text(
                self.painter, box, string, face.font, colour, paint.RIGHT if right else paint.LEFT
            )
        left = box.right() - wide if right else box.left()
        self._write(left, box.top() + (high - face.height) / 2 + face.ascent, string, role, colour)
        return wide

    def on_base(self, x: float, base: float, string: str, role: Role, colour: QColor) -> float:
        """One line from ``x`` on a base line, as ``paint.on_baseline``; return where it ends."""
        shaped = self._shaped(role, string)
        if shaped is None:
            self._write(x, base, string, role, colour)
        else:
            self._ink(colour)
            glyphs.put_on_base(self.painter, x, base, shaped)
        return x + self.width(role, string)

    def base_of(self, role: Role, top: float, height: float) -> float:
        """Base line of one line of text centred in a band."""
        face = self._kept.face(role)
        return top + (height - face.height) / 2 + face.ascent

    def _shaped(self, role: Role, string: str) -> glyphs.Shaped | None:
        return self._kept.shaped(role, string) if self._takes_glyphs else None

    def _write(self, x: float, base: float, string: str, role: Role, colour: QColor) -> None:
        if role != self._role:
            self._role = role
            self.painter.setFont(self._kept.face(role).font)
        self._ink(colour)
        self.painter.drawText(QPointF(x, base), string)

    def _ink(self, colour: QColor) -> None:
        if colour is not self._colour:
            self._colour = colour
            self.painter.setPen(colour)
