"""A title that stands on one line with that of a plot beside it."""

from PySide6.QtGui import QPainter, QPaintEvent

from gui.plots.draw import Draw
from gui.sheets.sheet import Text
from gui.theme import theme


class PlotTitle(Text):
    """A title or a caption, painted as those of a plot are: the line of a label begins lower in scripts
    whose letters are higher.
    """

    def paintEvent(self, _event: QPaintEvent) -> None:
        """On the middle line of its height."""
        with QPainter(self) as painter:
            draw = Draw(painter, theme())
            text = draw.elided(self.text(), self.width(), self._role)
            draw.text(0, self.height() / 2, text, getattr(theme(), self._token), role=self._role)
