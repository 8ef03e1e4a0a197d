"""What the pictures of an exploration share: heading, axes of numbers or names, pointer, keys.

Painted with a plain painter: the picture is kept as an image, so that a pointer costs next to nothing.
"""

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.planning.explore_axes import Axis, shown_value
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.explore import (
    at_index,
    axis_name,
    nearest,
    own_place,
    own_text,
    place_of,
    places,
    show_result,
    ticks,
    with_unit,
)
from gui.plots.draw import Draw, text_width
from gui.theme import manager, theme
from gui.widgets.name_cuts import cut_apart
from gui.work.exploration import Picture

_HEAD = 44
_MOST_NAME = 150.0
Cell = tuple[int, int]  # row, column
_SLANT = 38.0  # degrees of names that have no room side by side


class GridPlot(QWidget):
    """``pointed`` carries a cell or None, ``taken`` a cell to go to, ``let_go`` the end of a drag."""

    pointed = Signal(object)
    taken = Signal(object)
    let_go = Signal()

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.picture: Picture | None = None
        self.scenario: Scenario | None = None
        self.own_result = math.nan  # of the scenario as it is set, SI
        self._own_of = ""  # which result it is; "" while none is known
        self.pointer: Cell | None = None
        self.cursor_cell: Cell | None = None
        self.rect_: QRectF = QRectF()
        self._slanted = False
        self._held = False
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(QSize(260, 200))
        self.setCursor(Qt.CursorShape.CrossCursor)
        manager.changed.connect(self._changed)

    # -- what is shown ---------------------------------------------------------------------------

    def show_picture(self, picture: Picture) -> None:
        """Show a grid, complete or not."""
        old = self.picture
        if old is None or (old.x, old.y) != (picture.x, picture.y):
            self.pointer = self.cursor_cell = None
        self.picture = picture
        name = self._words(f"explore.results.{picture.result}")
        self.setAccessibleName(name)
        self._changed()

    def show_scenario(self, scenario: Scenario) -> None:
        """Where the scenario stands."""
        self.scenario = scenario
        self.own_result, self._own_of = math.nan, ""
        self.update()

    def show_own_result(self, value: float, result: str) -> None:
        """The result of the scenario as it is set, which lies between the points of the grid.

        ``result`` is its key: the picture may still be one of another result, with another unit.
        """
        if (value, result) != (self.own_result, self._own_of):
            self.own_result, self._own_of = value, result
            self.update()

    def own_point(self) -> QPointF | None:
        """Where the scenario stands; None outside the picture."""
        if self.picture is None or self.scenario is None:
            return None
        across, up = own_place(self.picture.x, self.scenario), own_place(self.picture.y, self.scenario)
        return None if across is None or up is None else QPointF(self.px(across), self.py(up))

    def own_reading(self) -> str:
        """What is said at the scenario: "16 users, 4K prompt: 134 tok/s"."""
        if self.picture is None or self.scenario is None:
            return ""
        words, picture = self._words, self.picture
        names = [own_text(axis, self.scenario, words) for axis in (picture.x, picture.y)]
        at = words("explore.at_cell", x=names[0], y=names[1])
        if self._own_of != picture.result:  # until the picture of that result comes
            return at
        value = show_result(picture.result, self.own_result)
        shown = value if math.isfinite(self.own_result) else words("explore.does_not_start")
        return words("explore.reading", at=at, value=shown)

    def own_cell(self) -> Cell | None:
        """The cell of the scenario as it is set; None outside the picture."""
        if self.picture is None or self.scenario is None:
            return None
        column, row = nearest(self.picture.x, self.scenario), nearest(self.picture.y, self.scenario)
        return None if row is None or column is None else (row, column)

    def _changed(self) -> None:
        self._lay_out()
        self.refill()
        self.update()

    def refill(self) -> None:
        """Data, size or theme are others: whatever is kept is made anew."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other places."""
        self._changed()

    # -- places ----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        t = theme()
        picture = self.picture
        top, left, below = float(t.px(_HEAD)), float(t.px(40)), float(t.px(20))
        if picture is not None:
            left = self.left_margin() + 9
            if picture.x.is_category:
                longest = max(min(text_width(label), _MOST_NAME) for label in picture.x.labels)
                room = (self.width() - left) / len(picture.x.labels)
                self._slanted = longest + 6 > room
                if self._slanted:
                    below = math.sin(math.radians(_SLANT)) * longest + t.px(22)
        self.rect_ = QRectF(
            math.ceil(left),
            top,
            max(20.0, self.width() - math.ceil(left) - 1),
            max(20.0, self.height() - top - below),
        )

    def left_margin(self) -> float:
        """Pixels that the labels of the upright axis take."""
        assert self.picture is not None
        y = self.picture.y
        if y.is_category:
            return max(min(text_width(label), self._most_name) for label in y.labels)
        return max([text_width(_tick_text(y, value)) for value in ticks(y)], default=24.0)

    @property
    def _most_name(self) -> float:
        """The room of a name beside its row: more in a wide picture, where two names differ at their ends."""
        return max(_MOST_NAME, 0.25 * self.width())

    def px(self, place: float) -> float:
        """Pixel column of a place between 0 and 1."""
        return self.rect_.left() + place * self.rect_.width()

    def py(self, place: float) -> float:
        """Pixel row of a place between 0 and 1."""
        return self.rect_.bottom() - place * self.rect_.height()

    def point_of(self, cell: Cell) -> QPointF:
        """Where the middle of a cell stands."""
        assert self.picture is not None
        x, y = places(self.picture.x), places(self.picture.y)
        return QPointF(self.px(float(x[cell[1]])), self.py(float(y[cell[0]])))

    def cell_at(self, point: QPointF) -> Cell | None:
        """The cell under a point; None outside the picture."""
        if self.picture is None or not self.rect_.adjusted(-1, -1, 1, 1).contains(point):
            return None
        across = (point.x() - self.rect_.left()) / self.rect_.width()
        up = (self.rect_.bottom() - point.y()) / self.rect_.height()
        x, y = places(self.picture.x), places(self.picture.y)
        return int(abs(y - up).argmin()), int(abs(x - across).argmin())

    # -- pointer and keys ------------------------------------------------------------------------

    def _point(self, cell: Cell | None) -> None:
        if cell != self.pointer:
            self.pointer = cell
            self.setAccessibleDescription(self.reading(cell) if cell else "")
            self.pointed.emit(cell)
            self.update()

    def reading(self, cell: Cell) -> str:
        """What a cell says: "16 users, prompt 4K: 134 tok/s"."""
        assert self.picture is not None
        words, picture = self._words, self.picture
        at = words(
            "explore.at_cell", x=at_index(picture.x, cell[1], words), y=at_index(picture.y, cell[0], words)
        )
        if picture.known is not None and not picture.known[cell]:
            return words("explore.reading", at=at, value=words("explore.computing"))
        if not picture.starts[cell]:
            return words("explore.reading", at=at, value=words("explore.does_not_start"))
        return words("explore.reading", at=at, value=show_result(picture.result, float(picture.values[cell])))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The reading follows; with the button down the scenario does."""
        cell = self.cell_at(event.position())
        self.setCursor(Qt.CursorShape.CrossCursor if cell else Qt.CursorShape.ArrowCursor)
        self._point(cell)
        if self._held and cell is not None:
            self.taken.emit(cell)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go there."""
        cell = self.cell_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and cell is not None:
            self._held = True
            self.taken.emit(cell)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """One edit, however far it went."""
        if self._held and event.button() == Qt.MouseButton.LeftButton:
            self._held = False
            self.let_go.emit()

    def leaveEvent(self, event: object) -> None:
        """No reading any more."""
        self._point(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows move a cursor, faster with Shift; Enter goes there; Escape takes it away."""
        steps = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (1, 0),
            Qt.Key.Key_Down: (-1, 0),
        }
        key = Qt.Key(event.key())
        if self.picture is None:
            super().keyPressEvent(event)
        elif key in steps:
            self._step(*steps[key], bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.cursor_cell:
            self.taken.emit(self.cursor_cell)
            self.let_go.emit()
        elif key == Qt.Key.Key_Escape and self.cursor_cell:
            self.cursor_cell = None
            self._point(None)
        else:
            super().keyPressEvent(event)

    def _step(self, up: int, across: int, far: bool) -> None:
        assert self.picture is not None
        rows, columns = self.picture.values.shape
        start = self.cursor_cell or self.own_cell() or (rows // 2, columns // 2)
        by_row = 1 if self.picture.y.is_category else max(1, rows // (10 if far else 50))
        by_column = 1 if self.picture.x.is_category else max(1, columns // (10 if far else 50))
        row = min(max(start[0] + up * by_row, 0), rows - 1)
        column = min(max(start[1] + across * by_column, 0), columns - 1)
        self.cursor_cell = (row, column)
        self._point(self.cursor_cell)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take it away."""
        self.update()

    # -- painting --------------------------------------------------------------------------------

    def caption(self) -> str:
        """The line under the title."""
        raise NotImplementedError

    def fill(self, draw: Draw) -> None:
        """The picture itself."""
        raise NotImplementedError

    def marks(self, draw: Draw) -> None:
        """What stands above it."""
        raise NotImplementedError

    def paintEvent(self, event: QPaintEvent) -> None:
        """Heading, picture, axes, marks."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            draw = Draw(painter, t)
            picture = self.picture
            if picture is None:
                draw.text(0, t.px(10), self._words("explore.title"), t.ink, role="body_semibold")
                draw.text(0, t.px(27), self._words("explore.computing"), t.ink3)
                return
            title = self._words(f"explore.results.{picture.result}")
            draw.text(0, t.px(10), title, t.ink, role="body_semibold")
            said, colour = (self.reading(self.pointer), t.ink2) if self.pointer else (self.caption(), t.ink3)
            draw.text(0, t.px(27), draw.elided(said, self.width()), colour)
            self.fill(draw)
            self.axes(draw)
            self.marks(draw)

    def axes(self, draw: Draw) -> None:
        """Base line, ticks, labels; the unit once, in the last label."""
        assert self.picture is not None
        t, rect = draw.theme, self.rect_
        base = round(rect.bottom()) + 0.5
        draw.line(rect.left(), base, rect.right(), base, t.axis)
        self._x_labels(draw, self.picture.x, base)
        self.y_labels(draw)

    def _x_labels(self, draw: Draw, x: Axis, base: float) -> None:
        t, rect = draw.theme, self.rect_
        middle = base + t.px(11)
        if x.is_category:
            for text, place in zip(shown_names(draw, x.labels, _MOST_NAME), places(x), strict=True):
                at = self.px(float(place))
                if self._slanted:
                    self._slanted_text(draw, at, base + 6, text, t.ink3)
                else:
                    draw.text(at, middle, text, t.ink3, align="centre")
            return
        found = ticks(x)
        if not found:
            return
        for value in found:
            at = min(max(self.px(place_of(x, value)), rect.left() + 0.5), rect.right() - 0.5)
            draw.line(at, base - 4, at, base, t.axis)
        shown = shown_value(x.path, found[-1])
        text = with_unit(shown, self._words)
        right = min(self.px(place_of(x, found[-1])) + draw.width(text) / 2, rect.right() + 0.0)
        last = draw.text(right, middle, text, t.ink3, align="right")
        edge = rect.left() - 1e9
        for value in found[:-1]:
            text = shown_value(x.path, value).number
            at, half = self.px(place_of(x, value)), draw.width(text) / 2
            if at - half > edge + 6 and at + half < last.left() - 6:
                draw.text(at, middle, text, t.ink3, align="centre")
                edge = at + half

    def _slanted_text(self, draw: Draw, x: float, y: float, text: str, colour: QColor) -> None:
        """A name that ends below its place."""
        painter = draw.painter
        painter.save()
        painter.translate(x + 3, y + 4)
        painter.rotate(-_SLANT)
        Draw(painter, draw.theme).text(0, 0, text, colour, align="right", keep=False)
        painter.restore()

    def y_labels(self, draw: Draw) -> None:
        """Labels of the upright input."""
        assert self.picture is not None
        t, y = draw.theme, self.picture.y
        if y.is_category:
            step = self.rect_.height() / len(y.labels)
            every = max(1, math.ceil(t.px(13) / step))
            names = shown_names(draw, y.labels, self._most_name)
            for index, (text, place) in enumerate(zip(names, places(y), strict=True)):
                if index % every == 0:
                    draw.text(self.rect_.left() - 7, self.py(float(place)), text, t.ink3, align="right")
            return
        edge = math.inf
        for value in ticks(y):
            at = self.py(place_of(y, value))
            if at < edge - t.px(13):
                at_text = min(max(at, self.rect_.top() + 5), self.rect_.bottom() - 5)
                draw.text(self.rect_.left() - 7, at_text, _tick_text(y, value), t.ink3, align="right")
                edge = at

    def names(self) -> tuple[str, str]:
        """Names of the inputs, across and upwards; of GPUs their order too."""
        assert self.picture is not None
        first, second = (
            self._words("explore.by_bandwidth", name=axis_name(axis, self._words))
            if axis.path == "accelerator"
            else axis_name(axis, self._words)
            for axis in (self.picture.x, self.picture.y)
        )
        return first, second


def _tick_text(axis: Axis, value: float) -> str:
    return shown_value(axis.path, value).number


def shown_names(draw: Draw, names: Sequence[str], width: float) -> tuple[str, ...]:
    """Names cut to a width, each still told from the others."""
    return cut_apart(names, lambda name: draw.width(name) <= width - 1.0, lambda n: draw.elided(n, width))
