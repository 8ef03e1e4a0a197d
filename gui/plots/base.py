"""What every plot over users has: heading, axes, handle, pointer reading, states, theme.

A plot says what to draw (``fit_axes``, ``plot``, ``decorate``) and where its handle is; this class
does the rest.  The pane never changes a scenario: it emits ``users_dragged`` and is shown the answer.
"""

import math
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from core.planning.curves import WorkloadCurves
from core.results import Estimate
from core.units import show_count
from core.words import Words, counted
from gui.plots.area import Curve, Look, Panel, PlotArea
from gui.plots.axes import axes, empty_lines
from gui.plots.draw import FLAG_HEIGHT, Draw, text_width
from gui.plots.scales import UNIT
from gui.theme import manager, theme

_GRIP = 8.0  # pixels beside the operating line that still take it
_COMPACT_BELOW = 250  # a lower pane has its caption beside the title
_TITLE_LINE, _CAPTION_LINE, _GAP = 20, 16, 8
_MAX_GHOSTS = 3


@dataclass(frozen=True, slots=True)
class Ghost:
    """Curves of another scenario, drawn dashed behind, with a name at the end of the line."""

    label: str
    curves: WorkloadCurves


def users_of(estimate: Estimate) -> float:
    """Users at the operating point; half more than fit when more arrive than are answered."""
    users = estimate.speed.users if estimate.speed else float(estimate.scenario.workload.users)
    return users if math.isfinite(users) else 1.5 * max(1, estimate.capacity.max_users)


def has_point(estimate: Estimate) -> bool:
    """Whether there is an operating point: none when the queue grows for ever."""
    return estimate.speed is None or math.isfinite(estimate.speed.users)


class PlotPane(QWidget):
    """A plot with its heading."""

    users_dragged = Signal(int)
    drag_finished = Signal()
    key = ""  # of its words below "plots."
    draggable = True

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = words
        self.curves: WorkloadCurves | None = None
        self.estimate: Estimate | None = None
        self.ghosts: tuple[Ghost, ...] = ()
        self.pointer: float | None = None  # users under the pointer
        self._reading = ""
        self._stale = False
        self._empty: tuple[str, ...] = ()
        self._dragging = False
        self._asked: int | None = None  # asked for and not yet answered
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
            (self.area.focus_changed, self.area.refresh),
            (manager.changed, self.restyle),
        ):
            signal.connect(slot)
        self.set_words(words)
        self.restyle()

    # What a plot says for itself

    def build(self) -> None:
        """Make the panels and curves, once."""
        raise NotImplementedError

    def fit_axes(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Set the axes of the panels."""
        raise NotImplementedError

    def plot(self, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Hand the data to the curves."""
        raise NotImplementedError

    def decorate(self, draw: Draw, curves: WorkloadCurves, estimate: Estimate) -> None:
        """Paint labels, targets' names, rings."""
        raise NotImplementedError

    def reading_at(self, users: float, curves: WorkloadCurves, estimate: Estimate) -> str:
        """The sentence for the pointer."""
        raise NotImplementedError

    def caption(self) -> str:
        """The line under the title."""
        return self.words(f"plots.{self.key}.caption")

    def missing(self, curves: WorkloadCurves, estimate: Estimate) -> tuple[str, ...]:
        """Why there is nothing to draw, in lines; empty when there is."""
        return ()

    def look(self) -> Look:
        """How the curves are drawn."""
        return "muted" if self._stale else "plain"

    def users_at(self, point: QPointF) -> float:
        """Users at a place of the picture."""
        return self.area.panels[0].value_at(point.x())

    def on_handle(self, point: QPointF) -> bool:
        """Whether a press there takes the operating point."""
        if self.estimate is None or self._empty or not has_point(self.estimate):
            return False
        return abs(point.x() - self.area.panels[0].px(users_of(self.estimate))) <= _GRIP

    def layout_panels(self, inner: QRectF) -> None:
        """Give the panels their places inside ``inner``."""
        self.area.panels[0].rect = inner

    # What the window calls

    def show(self, curves: WorkloadCurves | None = None, estimate: Estimate | None = None) -> None:
        """Show new curves.  Without arguments: make the widget visible, as Qt means it."""
        if curves is None or estimate is None:
            super().show()
            return
        self.curves, self.estimate = curves, estimate
        self._stale, self._asked = False, None
        self._empty = self.missing(curves, estimate)
        if not self._dragging:
            self.fit_axes(curves, estimate)
        self._layout()

    def show_ghosts(self, ghosts: tuple[Ghost, ...]) -> None:
        """Curves of other scenarios behind the own; at most three."""
        self.ghosts = ghosts[:_MAX_GHOSTS]
        if self.curves is not None and self.estimate is not None:
            self.fit_axes(self.curves, self.estimate)
        self._layout()

    def show_empty(self, *lines: str) -> None:
        """Axes only, with what is needed and why."""
        self._empty = lines
        self._layout()

    def set_stale(self, stale: bool) -> None:
        """The curves are older than the scenario."""
        if stale != self._stale:
            self._stale = stale
            self.restyle()

    def set_words(self, words: Words) -> None:
        """Switch the language."""
        self.words = words
        title = words(f"plots.{self.key}.title")
        self.setAccessibleName(title)
        self.area.setAccessibleName(title)
        self._layout()

    def restyle(self) -> None:
        """Take the theme in use."""
        look = self.look()
        for panel in self.area.panels:
            for curve in panel.curves:
                if curve is not panel.grid:
                    self.dress(curve, look)
        self._layout()
        self.area.restyle()
        self.update()

    def dress(self, curve: Curve, look: Look) -> None:
        """Set the look of one curve."""
        curve.look = look

    def _heading(self) -> tuple[str, str, bool]:
        """Title, the line beside or under it, and whether that is a reading."""
        title = self.words(f"plots.{self.key}.title")
        if self._reading:
            return title, self._reading, True
        return title, self.words("plots.updating") if self._stale else self.caption(), False

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
            widest = max([widest, *(text_width(panel.y.text(v)) for v in panel.y.ticks)])
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
        if self.curves is not None and self.estimate is not None:
            if self._empty:
                for panel in self.area.panels:
                    for curve in panel.curves:
                        if curve is not panel.grid:
                            curve.clear()
            else:
                self.plot(self.curves, self.estimate)
                look = self.look()
                for panel in self.area.panels:
                    for curve in panel.curves:
                        if curve is not panel.grid:
                            self.dress(curve, look)
                        curve.restyle(current, self.area.devicePixelRatioF())
            self._update_reading()
        self.area.refresh()
        self._refresh_heading()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        """The heading."""
        painter = QPainter(self)
        current = theme()
        painter.fillRect(event.rect(), current.canvas)
        draw = Draw(painter, current)
        title, caption, is_reading = self._heading()
        line = draw.text(0, current.px(_TITLE_LINE) / 2, title, current.ink, role="body_semibold")
        colour = current.ink2 if is_reading else current.ink3
        x, y = (line.right() + 11, current.px(_TITLE_LINE) / 2 + 1.0)
        if not self.compact:
            x, y = 0.0, current.px(_TITLE_LINE) + current.px(_CAPTION_LINE) / 2 - 1.0
        elided = draw.elided(caption, self.width() - x)
        draw.text(x, y, elided, colour)
        painter.end()

    def _over(self, draw: Draw) -> None:
        """Everything in pixels: axes, the plot's own marks, the operating point."""
        nothing = bool(self._empty) or self.curves is None
        for panel in self.area.panels:
            axes(draw, panel, numbers=not (nothing and panel.y is UNIT))
        if nothing or self.curves is None or self.estimate is None:
            empty_lines(draw, self.area.panels, self._empty)
            return
        self.decorate(draw, self.curves, self.estimate)

    def operating_line(self, draw: Draw, panels: list[Panel], users: float) -> None:
        """The accent line through the panels, from under its flag down."""
        x = panels[0].px(users)
        draw.flag(x, panels[0].rect.top(), self.users_text(users), panels[0].rect)
        top = panels[0].rect.top() + FLAG_HEIGHT * draw.theme.scale
        for panel in panels:
            start = top if panel is panels[0] else panel.rect.top()
            draw.line(x, start, x, round(panel.rect.bottom()), draw.theme.accent)

    def ring(self, draw: Draw, x: float, y: float) -> None:
        """The handle."""
        draw.ring(x, y, draw.theme.accent)
        if self.area.keyboard_focus:
            draw.focus(x, y)

    def crosshair(self, draw: Draw, panels: list[Panel], users: float) -> None:
        """The pointer's hairline."""
        x = panels[0].px(users)
        for panel in panels:
            draw.line(x, panel.rect.top(), x, round(panel.rect.bottom()), draw.theme.control)

    def users_text(self, users: float) -> str:
        """Whole users, or one decimal where an arrival rate gives a part of one."""
        if abs(users - round(users)) < 1e-6 or users >= 20:
            return show_count(round(users))
        return f"{users:.1f}"

    def users_phrase(self, users: float) -> str:
        """ "1 user", "12 users"."""
        return self.words.phrase(counted("units.users", round(users)))

    # Pointer and keys

    def _snapped(self, users: float) -> int:
        end = self.area.panels[0].x.end
        return int(min(max(round(users), 1), max(1, math.floor(end + 1e-9))))

    def _press(self, point: QPointF) -> None:
        if not (self.draggable and self.on_handle(point)):
            return
        self._dragging = True
        self.pointer, self._reading = None, ""
        self.area.refresh()
        self._refresh_heading()

    def _move(self, point: QPointF) -> None:
        if self._dragging:
            self._ask(self._snapped(self.users_at(point)))
            return
        on_handle = self.draggable and self.on_handle(point)
        shape = Qt.CursorShape.SizeHorCursor if on_handle else Qt.CursorShape.ArrowCursor
        if self.area.viewport().cursor().shape() != shape:
            self.area.viewport().setCursor(shape)
        pointer: float | None = None
        top, bottom = self.area.panels[0].rect.top(), self.area.panels[-1].rect.bottom()
        if self.curves is not None and not self._empty and not on_handle and top <= point.y() <= bottom:
            users = self.users_at(point)
            if math.isfinite(users) and -0.01 <= users / self._users_limit() <= 1.0:
                pointer = float(self._snapped(users))
        if pointer != self.pointer:
            self.pointer = pointer
            self._update_reading()
            self.area.refresh()
            self._refresh_heading()

    def _users_limit(self) -> float:
        return self.area.panels[0].x.end

    def _leave(self) -> None:
        if self.pointer is not None:
            self.pointer = None
            self._update_reading()
            self.area.refresh()
            self._refresh_heading()

    def _release(self) -> None:
        if not self._dragging:
            return
        self._dragging = False
        self.drag_finished.emit()
        if self.curves is not None and self.estimate is not None:
            self.fit_axes(self.curves, self.estimate)
            self._layout()

    def _step(self, step: str) -> None:
        if not self.draggable or self.curves is None or self.estimate is None:
            return
        users = self._asked if self._asked is not None else round(users_of(self.estimate))
        page = max(1, round(self.area.panels[0].x.step))
        most = max(1, self.estimate.capacity.max_users)
        wanted = {
            "down": users - 1,
            "up": users + 1,
            "page_down": users - page,
            "page_up": users + page,
            "home": 1,
            "end": most,
        }[step]
        self._ask(max(1, wanted))

    def _step_done(self) -> None:
        self.drag_finished.emit()

    def _ask(self, users: int) -> None:
        known = self._asked
        if known is None and self.estimate is not None:
            known = round(users_of(self.estimate))
        if users != known:
            self._asked = users
            self.users_dragged.emit(users)

    def _update_reading(self) -> None:
        self._reading = ""
        if self.curves is None or self.estimate is None or self._empty:
            return
        if self.pointer is not None:
            self._reading = self.reading_at(self.pointer, self.curves, self.estimate)
        self.area.setAccessibleDescription(
            self.reading_at(users_of(self.estimate), self.curves, self.estimate)
        )

    def changeEvent(self, event: QEvent) -> None:
        """A larger text needs another layout."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.resizeEvent(QResizeEvent(self.size(), self.size()))
