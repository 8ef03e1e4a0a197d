"""The drawing surface of a plot: panels that pyqtgraph scales, and chrome in pixels around them.

Curves, bands, grid and target lines are pyqtgraph curves that live as long as the plot and get new
data by ``setData``.  Everything that must not scale (text, ticks, rings, flags) is painted in
pixels above them by ``Chrome``.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from core.quantities import FloatArray
from gui.plots.canvas import polygon_of
from gui.plots.draw import Draw
from gui.plots.pg import GraphicsView, PlotCurveItem, ViewBox
from gui.plots.scales import UNIT, drawable
from gui.theme import Theme, theme

EMPTY: FloatArray = np.zeros(0)
Colour = Callable[[Theme], QColor]
_SMOOTH, _NO_PEN = QPainter.RenderHint.Antialiasing, Qt.PenStyle.NoPen
# plain: as designed; muted: out of date; ghost: dashed, of another scenario than the one that is set
Look = Literal["plain", "muted", "ghost"]


class _Item(PlotCurveItem):
    """A curve of which only what the plots use is done when its data change and when it is painted.

    It counts as large as its panel: measuring the data at every change costs more.
    """

    def __init__(self, panel: "Panel", **options: object) -> None:
        self._panel = panel
        self._xs = self._ys = EMPTY
        self._whole = True
        self._made: QPainterPath | None = None
        super().__init__(**options)

    def boundingRect(self) -> QRectF:
        """The panel's range, with room for the pen."""
        return self._panel.bounds

    def put(self, x: FloatArray, y: FloatArray, whole: bool = True) -> None:
        """Other data, as ``setData`` without its options; ``whole``: there is no gap in them."""
        self.xData, self.yData = self._xs, self._ys = x, y
        self._whole = whole
        self._made = self.path = self.fillPath = None
        self._lineSegmentsRendered = False
        self.update()

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget) -> None:
        """The area or the line."""
        pen = self.opts["pen"]
        if not self.opts["antialias"] and pen.widthF() > 1.0:  # drawn as so many single lines
            super().paint(painter, option, widget)
            return
        if not len(self._xs):
            return
        path = self._made = self._made or self._drawn_path()
        painter.setRenderHint(_SMOOTH, self.opts["antialias"])
        if self.opts["fillLevel"] is not None:
            painter.fillPath(path, self.opts["brush"])
        if pen.style() != _NO_PEN:
            painter.setPen(pen)
            painter.drawPath(path)

    def _drawn_path(self) -> QPainterPath:
        if not self._whole or not self.opts["antialias"]:
            return self.getPath()  # with gaps
        path = QPainterPath()
        path.addPolygon(polygon_of(self._xs, self._ys))
        return path


class Curve:
    """One line or area of a panel: its look by name, its data by ``set``."""

    def __init__(
        self,
        panel: "Panel",
        z: float,
        line: Colour | None = None,
        *,
        width: float = 2.0,
        dash: tuple[float, ...] | None = None,
        fill: Colour | None = None,
        pairs: bool = False,
    ) -> None:
        self._panel = panel
        self.line, self.width, self.dash, self.fill = line, width, dash, fill
        level = "enclosed" if fill else None
        # Hairlines that run along the axes are sharper without smoothing.
        self.item = _Item(panel, antialias=not pairs, fillLevel=level, connect="pairs" if pairs else "finite")
        self.item.setZValue(z)
        panel.view.addItem(self.item, ignoreBounds=True)
        panel.curves.append(self)
        self.look: Look = "plain"
        self._worn: tuple[object, ...] = ()
        self._applied: tuple[object, ...] = ()

    def set(self, x: FloatArray, y: FloatArray) -> None:
        """New data; what cannot be painted becomes a gap."""
        xs, whole = drawable(x, self._panel.x.end)
        ys, complete = drawable(y, self._panel.y.end)
        self.item.put(xs, ys, whole and complete)
        self.item.setVisible(len(x) > 0)

    def between(self, x: FloatArray, low: FloatArray, high: FloatArray) -> None:
        """New data of a band; points where either side is not finite are left out."""
        good = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
        x, low, high = x[good], low[good], high[good]
        self.set(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))

    def area(self, x0: float, x1: float, low: float, high: float) -> None:
        """A rectangle; nothing when it has no height."""
        if high > low and x1 > x0:
            self.set(np.array([x0, x1, x1, x0]), np.array([low, low, high, high]))
        else:
            self.clear()

    def clear(self) -> None:
        """No data."""
        if self.item.isVisible():
            self.item.put(EMPTY, EMPTY)
            self.item.setVisible(False)

    def restyle(self, current: Theme, ratio: float) -> None:
        """Pen and brush anew.  Cosmetic pens count device pixels, so widths grow with the screen's ratio."""
        worn = (current, ratio, self.look, self.line, self.width, self.dash, self.fill)
        if worn == self._worn:
            return
        self._worn = worn
        line = self.line(current) if self.line else None
        fill = self.fill(current) if self.fill else None
        width, dash = self.width, self.dash
        if line is not None and self.look != "plain":
            line = current.ghost
        if self.look == "ghost":
            width, dash = 1.5, (5.0, 3.0)
        applied = (line and line.rgb(), fill and fill.rgb(), width, dash, ratio)
        if applied == self._applied:
            return
        self._applied = applied
        pen = QPen(Qt.PenStyle.NoPen)
        if line is not None:
            pen = QPen(line, width * ratio)
            pen.setCosmetic(True)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            if dash:
                pen.setDashPattern([length / width for length in dash])
        self.item.setPen(pen)
        if fill is not None:
            self.item.setBrush(QBrush(fill))


class Panel:
    """One coordinate system.  ``rect`` is in pixels; the highest tick stands ``headroom`` below its top."""

    def __init__(self, view: ViewBox) -> None:
        self.view = view
        self.x = self.y = UNIT
        self.headroom = 22.0
        self.x_text: Callable[[float], str] | None = None  # None: ticks without labels
        self.x_unit = ""
        self.title = ""
        self.curves: list[Curve] = []
        self.grid: Curve | None = None
        self.bounds = QRectF(-0.05, -0.05, 1.1, 1.1)  # of the curves
        self._ruled: tuple[object, ...] = ()  # what the grid was made for
        self.rect = QRectF()

    @property
    def rect(self) -> QRectF:
        """Its place: set as a whole, never changed, for its edges are read all the time."""
        return self._rect

    @rect.setter
    def rect(self, rect: QRectF) -> None:
        self._rect = rect
        self._left, self._width = rect.left(), rect.width()
        self._bottom, self._height = rect.bottom(), rect.height()

    @property
    def y_end(self) -> float:
        """Value at the upper edge, above the highest tick."""
        height = self._height
        return self.y.end * height / max(height - self.headroom, 1.0) if height > 0 else self.y.end

    def px(self, x: float) -> float:
        """Pixel column of a value."""
        return self._left + self._width * (x - self.x.start) / self.x.span

    def py(self, y: float) -> float:
        """Pixel row of a value."""
        return self._bottom - self._height * y / self.y_end

    def value_at(self, px: float) -> float:
        """The x value at a pixel column."""
        return self.x.start + (px - self._left) / max(self._width, 1.0) * self.x.span

    def level_at(self, py: float) -> float:
        """The y value at a pixel row."""
        return (self._bottom - py) / max(self._height, 1.0) * self.y_end

    def pixels(self, xs: FloatArray, ys: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pixel columns and rows of a curve."""
        px: FloatArray = self._left + self._width * (xs - self.x.start) / self.x.span
        py: FloatArray = self._bottom - self._height * ys / self.y_end
        return px, py

    def height_of(self, dy: float) -> float:
        """Pixels of a difference in y."""
        return self._height * dy / self.y_end

    def take_range(self) -> None:
        """Hand the range to pyqtgraph, and draw the grid, where either is another."""
        x, y_end = self.x, self.y_end
        wanted = [[x.start, x.end], [0.0, y_end]]
        if self.view.viewRange() != wanted:
            self.view.setRange(xRange=wanted[0], yRange=wanted[1], padding=0, disableAutoRange=True)
        # Left to the paint event it would ask for a second one.
        self.view.updateMatrix()
        ruled = (x, self.y, y_end)
        if self.grid is None or ruled == self._ruled:
            return
        self._ruled = ruled
        for curve in self.curves:
            curve.item.prepareGeometryChange()
        self.bounds = QRectF(x.start - 0.05 * x.span, -0.05 * y_end, 1.1 * x.span, 1.1 * y_end)
        ticks = self.y.ticks[1:]
        self.grid.set(np.tile(wanted[0], len(ticks)), np.repeat(ticks, 2))


class Chrome(QGraphicsItem):
    """One item above all panels that paints in pixels whatever the plot asks for."""

    def __init__(self, area: "PlotArea") -> None:
        super().__init__()
        self._area = area
        self.setZValue(1000)

    def boundingRect(self) -> QRectF:
        """The whole view."""
        return QRectF(0, 0, self._area.width(), self._area.height())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Paint what the plot wants on top."""
        painter.save()
        try:
            self._area.over(Draw(painter, theme()))
        finally:
            painter.restore()


class PlotArea(GraphicsView):
    """The view: no menu, no zoom, no panning; pointer and keys become a few plain signals."""

    pressed = Signal(QPointF)
    moved = Signal(QPointF)
    released = Signal()
    left = Signal()
    # "down", "up", "page_down", "page_up", "home", "end", "take"; "raise", "lower", "next" for a line
    stepped = Signal(str)
    step_done = Signal()
    resized = Signal()
    ratio_changed = Signal()
    focus_changed = Signal()

    _STEPS: ClassVar[dict[int, str]] = {
        Qt.Key.Key_Left: "down",
        Qt.Key.Key_Right: "up",
        Qt.Key.Key_PageDown: "page_down",
        Qt.Key.Key_PageUp: "page_up",
        Qt.Key.Key_Home: "home",
        Qt.Key.Key_End: "end",
        Qt.Key.Key_Return: "take",
        Qt.Key.Key_Enter: "take",
        Qt.Key.Key_Up: "raise",
        Qt.Key.Key_Down: "lower",
        Qt.Key.Key_Space: "next",
    }

    def __init__(self, parent: QWidget) -> None:
        self.panels: list[Panel] = []
        self.over: Callable[[Draw], None] = lambda _: None
        self.keyboard_focus = False
        super().__init__(parent, background=theme().canvas)
        # Left to its scene each view is painted in a frame of its own: one plot before the other.
        self.setViewportUpdateMode(self.ViewportUpdateMode.NoViewportUpdate)
        self.setCacheMode(self.CacheModeFlag.CacheNone)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.viewport().setMouseTracking(True)
        self._chrome = Chrome(self)
        self.scene().addItem(self._chrome)

    def add_panel(self) -> Panel:
        """A new coordinate system with its grid."""
        view = ViewBox(enableMouse=False, enableMenu=False)
        view.disableAutoRange()
        view.setMouseEnabled(False, False)
        view.setAcceptHoverEvents(False)
        view.setFlag(view.GraphicsItemFlag.ItemIsFocusable, False)
        self.scene().addItem(view)
        panel = Panel(view)
        panel.grid = Curve(panel, 5, lambda t: t.grid, width=1, pairs=True)
        self.panels.append(panel)
        return panel

    def place(self) -> None:
        """Give every panel its place and range, and draw the grids."""
        for panel in self.panels:
            if panel.rect.width() < 1 or panel.rect.height() < 1:
                continue
            if panel.view.geometry() != panel.rect:
                panel.view.setGeometry(panel.rect)
            panel.take_range()

    def restyle(self) -> None:
        """Take the theme in use and the screen's pixel ratio."""
        current, ratio = theme(), self.devicePixelRatioF()
        self.setBackground(current.canvas)
        for panel in self.panels:
            for curve in panel.curves:
                curve.restyle(current, ratio)
        self.refresh()

    def refresh(self) -> None:
        """Paint again, with the changes of the curves."""
        self.viewport().update()

    def event(self, event: QEvent) -> bool:
        """A window that moves to another screen needs other pens."""
        if event.type() in (QEvent.Type.DevicePixelRatioChange, QEvent.Type.ScreenChangeInternal):
            self.ratio_changed.emit()
        return bool(super().event(event))

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        """Called with None by pyqtgraph while it is made."""
        super().resizeEvent(event)
        if event is not None:
            self._chrome.prepareGeometryChange()
            self.resized.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel scrolls the page, never the plot."""
        event.ignore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Only the left button means something."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.pressed.emit(event.position())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag or pointer reading."""
        self.moved.emit(event.position())
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End of a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.released.emit()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """The same as a press."""
        self.mousePressEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer reading goes."""
        self.left.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys move the operating point; all other keys go to the window."""
        step = self._STEPS.get(event.key())
        if step is None:
            event.ignore()
            return
        self.keyboard_focus = True
        self.stepped.emit(step)
        event.accept()

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """A held key is one movement."""
        if event.key() in self._STEPS and not event.isAutoRepeat():
            self.step_done.emit()
            event.accept()
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The ring shows a focus that came by the keyboard."""
        super().focusInEvent(event)
        self.keyboard_focus = event.reason() in (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
            Qt.FocusReason.ShortcutFocusReason,
        )
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The ring goes with the focus."""
        super().focusOutEvent(event)
        self.keyboard_focus = False
        self.focus_changed.emit()
