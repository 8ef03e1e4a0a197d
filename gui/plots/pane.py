"""What every plot has: heading with caption or reading, panels, the words of an empty state, theme.

A kind of plot says what it has to show (``ready``), hands its data to the curves (``draw_data``) and
paints its marks (``paint_over``); this class does the rest.
"""

import math

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QToolTip, QWidget

from core.units import memory_unit
from core.words import Words
from gui.plots.area import Curve, Look, PlotArea
from gui.plots.axes import axes, empty_lines
from gui.plots.draw import Draw, text_width
from gui.plots.scales import UNIT
from gui.theme import manager, theme
from gui.tips import plain

_COMPACT_BELOW = 250  # a lower pane has its caption beside the title
_TITLE_LINE, _CAPTION_LINE, _GAP = 20, 16, 8


class Pane(QWidget):
    """A plot with its heading."""

    selected = Signal(str)  # a number in it was clicked: its key among the derivations
    key = ""  # of its words below "plots."

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words
        self._reading = ""
        self._stale = False
        self._empty: tuple[str, ...] = ()
        self._gutter = 0.0
        self._shown_heading: tuple[str, str, bool] | None = None
        self.area = PlotArea(self)
        self.area.over = self._over
        self.build()
        self.setFocusProxy(self.area)
        self.setMinimumSize(QSize(220, 120))
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        for signal, slot in (
            (self.area.pressed, self._press),
            (self.area.moved, self._move),
            (self.area.released, self._release),
            (self.area.left, self._leave),
            (self.area.stepped, self._step),
            (self.area.step_done, self._step_done),
            (self.area.resized, self._layout),
            (self.area.ratio_changed, self.restyle),
            (self.area.focus_changed, self._again),
            (manager.changed, self.restyle),
        ):
            signal.connect(slot)
        self.set_words(words)
        self.restyle()

    # What a plot says for itself

    def build(self) -> None:
        """Make the panels and curves, once."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether there is anything to show."""
        raise NotImplementedError

    def draw_data(self) -> None:
        """Hand the data to the curves; only when ``ready`` and not empty."""
        raise NotImplementedError

    def paint_over(self, draw: Draw) -> None:
        """Paint labels, rings and whatever else stands in pixels."""
        raise NotImplementedError

    def read(self) -> tuple[str, str]:
        """The reading at the pointer ("" when it is elsewhere), and the description for screen readers."""
        raise NotImplementedError

    def title(self) -> str:
        """What is over what."""
        return self.words(f"plots.{self.key}.title")

    def caption(self) -> str:
        """The line under the title."""
        return self.words(f"plots.{self.key}.caption", unit=memory_unit())

    def legend(self) -> str:
        """What letters in the plot stand for; "" where there are none."""
        return ""

    def short_legend(self) -> str:
        """The letters alone, where there is no room for what they stand for."""
        return ""

    def look(self) -> Look:
        """How the curves are drawn."""
        return "muted" if self._stale else "plain"

    def layout_panels(self, inner: QRectF) -> None:
        """Give the panels their places inside ``inner``."""
        self.area.panels[0].rect = inner

    def dress(self, curve: Curve, look: Look) -> None:
        """Set the look of one curve."""
        curve.look = look

    # What the window calls

    def show_empty(self, *lines: str) -> None:
        """Axes only, with what is needed and why."""
        self._empty = lines
        self._clear_axes()
        self._layout()

    def _clear_axes(self) -> None:
        """As before anything was shown: numbers of what was there before would be of nothing."""
        for panel in self.area.panels:
            panel.x = panel.y = UNIT

    def set_stale(self, stale: bool) -> None:
        """The curves are older than the scenario."""
        if stale != self._stale:
            self._stale = stale
            self.restyle()

    def set_words(self, words: Words) -> None:
        """Switch the language."""
        self.words = words
        title = self.title()
        self.setAccessibleName(title)
        self.area.setAccessibleName(title)
        self._layout()

    def restyle(self) -> None:
        """Take the theme in use."""
        look = self.look()
        for curve in self._own_curves():
            self.dress(curve, look)
        self._layout()
        self.area.restyle()
        self.update()

    def _own_curves(self) -> list[Curve]:
        return [curve for panel in self.area.panels for curve in panel.curves if curve is not panel.grid]

    def _heading(self) -> tuple[str, str, bool]:
        """Title, the line beside or under it, and whether that is a reading."""
        title = self.title()
        if self._reading:
            return title, self._reading, True
        if self._stale:
            return title, self.words("plots.updating"), False
        return title, self._with_legend(self.legend()), False

    def _with_legend(self, legend: str) -> str:
        caption = self.caption()
        return self.words("plots.with_legend", legend=legend, caption=caption) if legend else caption

    def _too_wide(self, caption: str, x: float) -> bool:
        return text_width(caption) > self.width() - x

    def event(self, event: QEvent) -> bool:
        """What letters stand for, in a tip where the heading has no room for it."""
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            line = self._with_legend(self.legend())
            if event.y() < self._heading_height() and self._too_wide(line, 0.0):
                QToolTip.showText(event.globalPos(), plain(self.legend()), self)
                return True
        return super().event(event)

    def _refresh_heading(self) -> None:
        """Only the heading, and only when it says something else: the plot below is painted apart."""
        heading = self._heading()
        if heading != self._shown_heading:
            self._shown_heading = heading
            self.update(0, 0, self.width(), self._heading_height())

    # Layout

    @property
    def compact(self) -> bool:
        """Whether the caption stands beside the title."""
        return self.height() < _COMPACT_BELOW * theme().scale

    def _heading_height(self) -> int:
        lines = _TITLE_LINE if self.compact else _TITLE_LINE + _CAPTION_LINE
        return theme().px(lines + _GAP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The plot takes what the heading leaves."""
        top = self._heading_height()
        self.area.setGeometry(QRect(0, top, self.width(), max(1, self.height() - top)))
        self._layout()

    def _layout(self) -> None:
        """Places, ranges and data of everything; cheap enough to do on every change."""
        current = theme()
        widest = 0.0
        for panel in self.area.panels:
            widest = max([widest, *(text_width(text) for _, text in panel.y.labels)])
        self._gutter = float(math.ceil(max(current.px(28), widest + 8)))
        below = current.px(17)
        size = self.area.size()
        inner = QRectF(
            self._gutter,
            0.0,
            max(1.0, size.width() - self._gutter - 1),
            max(1.0, size.height() - below - 1.0),
        )
        self.layout_panels(inner)
        self.area.place()
        if self.ready:
            if self._empty:
                for curve in self._own_curves():
                    curve.clear()
            else:
                self.draw_data()
                look, ratio = self.look(), self.area.devicePixelRatioF()
                for curve in self._own_curves():
                    self.dress(curve, look)
                    curve.restyle(current, ratio)
            self._update_reading()
        self.area.refresh()
        self._refresh_heading()

    def _update_reading(self) -> None:
        self._reading = ""
        if not self.ready or self._empty:
            return
        self._reading, spoken = self.read()
        self.area.setAccessibleDescription(spoken)

    def _again(self) -> None:
        """What is read has changed, or what shows it: the pointer, the focus."""
        self._update_reading()
        self.area.refresh()
        self._refresh_heading()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """The heading."""
        with QPainter(self) as painter:
            painter.fillRect(event.rect(), theme().canvas)
            self.paint_heading(painter)

    def paint_heading(self, painter: QPainter) -> None:
        """Title and the line with it, on whatever is painted on."""
        current = theme()
        draw = Draw(painter, current)
        title, caption, is_reading = self._heading()
        title = draw.elided(title, self.width(), "body_semibold")
        line = draw.text(0, current.px(_TITLE_LINE) / 2, title, current.ink, role="body_semibold")
        colour = current.ink2 if is_reading else current.ink3
        x, y = (line.right() + 11, current.px(_TITLE_LINE) / 2 + 1.0)
        if not self.compact:
            x, y = 0.0, current.px(_TITLE_LINE) + current.px(_CAPTION_LINE) / 2 - 1.0
        if not is_reading and not self._stale and self._too_wide(caption, x):
            caption = self._with_legend(self.short_legend())  # unit and range are not cut
        elided = draw.elided(caption, self.width() - x)
        draw.text(x, y, elided, colour)

    def _over(self, draw: Draw) -> None:
        """Everything in pixels: axes, the plot's own marks, the operating point."""
        nothing = bool(self._empty) or not self.ready
        for panel in self.area.panels:
            axes(draw, panel, numbers=not (nothing and panel.y is UNIT))
        if nothing:
            empty_lines(draw, self.area.panels, self._empty)
            return
        self.paint_over(draw)

    # Pointer and keys

    def _press(self, point: QPointF) -> None:
        """The left button went down."""

    def _move(self, point: QPointF) -> None:
        """The pointer moved."""

    def _leave(self) -> None:
        """The pointer left."""

    def _release(self) -> None:
        """The left button came up."""

    def _step(self, step: str) -> None:
        """An arrow key or its kin."""

    def _step_done(self) -> None:
        """The key came up."""

    def changeEvent(self, event: QEvent) -> None:
        """A larger text needs another layout."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.resizeEvent(QResizeEvent(self.size(), self.size()))
