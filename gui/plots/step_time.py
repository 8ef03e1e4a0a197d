"""One step: who takes what.  A bar and a table for the prefill step and for the decode step."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.planning.started import Started
from core.words import Words
from gui.plots import shades
from gui.plots.step_content import NONE, StepPhase, StepRow, steps_of
from gui.plots.step_costs import CostLine, costs_of
from gui.plots.tab_ghosts import STEP_LINE, Other, StepGhost, step_ghosts, step_lines
from gui.theme import Role, manager, theme
from gui.widgets import paint

_TITLE, _CAPTION, _BAR, _HEAD = 20, 16, 28, 24
_ROW, _SMALL_ROW = 28, 24
_EMPTY_TOP, _EMPTY_LINE = 60, 18  # of what stands there instead of steps
_COSTS = 28  # the line below both phases, and the gap above it
_SIDE_BY_SIDE = 820  # pixels above which both phases stand beside each other
_GAP_ACROSS, _GAP_DOWN = 32, 20
# Widths of the columns after the name, at 100 % text; the last ones go first where there is no room.
_COLUMNS: tuple[tuple[str, int], ...] = (
    ("time", 62),
    ("share", 54),
    ("bound", 86),
    ("flops", 62),
    ("bytes", 70),
)
_LEAST_NAME = 140


class PhaseView(QWidget):
    """One phase; pointing at a row or a part of the bar marks both, a press chooses it.

    ``chosen`` carries the key of the operator, "" for the whole step.
    """

    chosen = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.words = words
        self.phase: StepPhase | None = None
        self.alike: Sequence[PhaseView] = (self,)  # tables that show the same columns
        self.muted = False
        self.others: tuple[StepGhost, ...] = ()
        self.row_height = _ROW
        self._hovered: int | None = None
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_phase(self, phase: StepPhase, muted: bool) -> None:
        """Show other content; nothing is painted when it is the same."""
        if (phase, muted) == (self.phase, self.muted):
            return
        self.phase, self.muted = phase, muted
        if self._hovered is not None and self._hovered >= len(phase.rows):
            self._hovered = None
        self.setAccessibleName(phase.title)
        self.setAccessibleDescription(phase.spoken)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """As high as its rows."""
        return QSize(400, self.wanted_height())

    def wanted_height(self) -> int:
        """Pixels of heading, bar and table."""
        rows = len(self.phase.rows) if self.phase else 8
        return theme().px(self._above() + rows * self.row_height) + 1

    def _above(self) -> int:
        """What stands over the rows, at 100 %."""
        return _TITLE + _CAPTION + 8 + _BAR + 8 + STEP_LINE * len(self.others) + _HEAD

    def set_others(self, others: tuple[StepGhost, ...]) -> None:
        """The same step of other scenarios, a line each under the bar."""
        if others != self.others:
            self.others = others
            self.updateGeometry()
            self.update()

    # -- places ----------------------------------------------------------------------------------

    def bar(self) -> QRectF:
        """Where the bar stands."""
        t = theme()
        return QRectF(0, t.px(_TITLE + _CAPTION + 8), self.width(), t.px(_BAR))

    def segments(self) -> list[QRectF]:
        """The parts of the bar, one for each row, one pixel apart."""
        if self.phase is None:
            return []
        bar, x, found = self.bar(), 0.0, []
        for row in self.phase.rows:
            wide = bar.width() * row.part
            left, right = round(x), round(x + wide)
            found.append(QRectF(left, bar.top(), max(0, right - left - 1), bar.height()))
            x += wide
        if found and x > bar.width() - 1:  # the last one ends where the table does
            found[-1].setRight(bar.right())
        return found

    def row_box(self, index: int) -> QRectF:
        """Where a row of the table stands."""
        t = theme()
        top = t.px(self._above())
        high = t.px(self.row_height)
        return QRectF(0, top + index * high, self.width(), high)

    def columns(self) -> list[tuple[str, float, float]]:
        """Key, left and width of the columns that have room; numbers end at the right of theirs."""
        t = theme()
        chosen = list(_COLUMNS)
        needed = self._names()
        # Work and bytes stand in the tip of a row as well: whole names are worth more.
        while len(chosen) > 3 and self.width() - sum(t.px(w) for _, w in chosen) < needed:
            chosen.pop()
        while len(chosen) > 2 and self.width() - sum(t.px(w) for _, w in chosen) < t.px(_LEAST_NAME):
            chosen.pop()
        x = self.width() - sum(t.px(w) for _, w in chosen)
        found = []
        for key, wide in chosen:
            found.append((key, float(x), float(t.px(wide))))
            x += t.px(wide)
        return found

    def _names(self) -> float:
        """Pixels of the longest name of this table and of the one beside it."""
        t = theme()
        phases = [view.phase for view in self.alike if view.phase is not None]
        widths = [paint.width(t.font("body"), row.name) for phase in phases for row in phase.rows]
        return t.px(18) + max(widths, default=0.0) + 4

    # -- painting --------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Heading, bar, table."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            if self.phase is not None:
                self._heading(painter, self.phase)
                self._bar(painter, self.phase)
                step_lines(painter, self.bar(), self.others)
                self._table(painter, self.phase)

    def _heading(self, painter: QPainter, phase: StepPhase) -> None:
        t = theme()
        line = QRectF(0, 0, self.width(), t.px(_TITLE))
        used = paint.text(painter, line, phase.title, t.font("body_semibold"), t.ink)
        base = paint.baseline_of(t.font("body"), 0, t.px(_TITLE))
        end = paint.on_baseline(painter, used + 8, base, phase.total, t.font("body_medium"), t.ink2)
        rest = QRectF(end + 11, 0, max(0.0, self.width() - end - 11), t.px(_TITLE))
        paint.text(painter, rest, phase.what, t.font("caption"), t.ink3)
        caption = QRectF(0, t.px(_TITLE), self.width(), t.px(_CAPTION))
        paint.text(painter, caption, phase.caption, t.font("caption"), t.ink3)

    def _bar(self, painter: QPainter, phase: StepPhase) -> None:
        t = theme()
        for index, (row, box) in enumerate(zip(phase.rows, self.segments(), strict=True)):
            if box.width() < 1:
                continue
            shade = shades.shade_of(row.key)
            shades.fill(painter, box, shade, t, self.muted)
            if index == self._hovered:
                paint.frame(painter, box, t.ink, 2)
            font = t.font("caption_medium")
            for text in (f"{row.name}  {row.share}", row.name, row.share):
                wide = paint.width(font, text)
                if wide + 12 > box.width():
                    continue
                if shade.hatched:
                    plate = QRectF(box.left() + 5, box.center().y() - t.px(8), wide + 6, t.px(16))
                    painter.fillRect(plate, t.canvas)
                place = box.adjusted(8, 0, -2, 0)
                paint.text(painter, place, text, font, shades.text_on(shade, t, self.muted))
                break

    def _table(self, painter: QPainter, phase: StepPhase) -> None:
        t = theme()
        columns = self.columns()
        first = self.row_box(0)
        head = QRectF(0, first.top() - t.px(_HEAD), self.width(), t.px(_HEAD))
        paint.text(painter, head, self.words("plots.step_time.operator"), t.font("caption"), t.ink3)
        for key, x, wide in columns:
            box = QRectF(x, head.top(), wide, head.height())
            name = self.words(f"plots.step_time.{key}")
            if key == "bound":
                paint.text(painter, box.adjusted(16, 0, 0, 0), name, t.font("caption"), t.ink3)
            else:
                paint.text(painter, box, name, t.font("caption"), t.ink3, paint.RIGHT)
        paint.hairline(painter, 0, round(first.top()) - 1, self.width(), round(first.top()) - 1, t.line2)
        for index, row in enumerate(phase.rows):
            self._row(painter, self.row_box(index), row, columns, index == self._hovered)

    def _row(
        self,
        painter: QPainter,
        box: QRectF,
        row: StepRow,
        columns: list[tuple[str, float, float]],
        hovered: bool,
    ) -> None:
        t = theme()
        if hovered:
            painter.fillRect(box, t.side)
        side = t.px(10)
        swatch = QRectF(0, round(box.center().y() - side / 2), side, side)
        shades.fill(painter, swatch, shades.shade_of(row.key), t, self.muted)
        ink, ink2, ink3 = (t.ink3, t.ink3, t.ink3) if self.muted else (t.ink, t.ink2, t.ink3)
        left = t.px(18)
        name = QRectF(left, box.top(), columns[0][1] - left, box.height())
        paint.text(painter, name, row.name, t.font("body"), ink)
        texts: dict[str, tuple[str, Role]] = {
            "time": (row.time, "body_medium"),
            "share": (row.share, "body"),
            "bound": (row.bound, "caption"),
            "flops": (row.flops, "caption"),
            "bytes": (row.bytes, "caption"),
        }
        for key, x, wide in columns:
            text, role = texts[key]
            place = QRectF(x, box.top(), wide, box.height())
            if key == "bound":
                paint.text(painter, place.adjusted(16, 0, 0, 0), text, t.font(role), ink2)
            else:
                colour = ink if key == "time" else ink2 if key == "share" else ink3
                paint.text(painter, place, text, t.font(role), colour, paint.RIGHT)
        paint.hairline(painter, 0, round(box.bottom()) - 1, self.width(), round(box.bottom()) - 1, t.line)

    # -- pointer ---------------------------------------------------------------------------------

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the row or part of the bar under the pointer."""
        place = event.position()
        found = None
        if self.phase is not None:
            boxes = self.segments()
            for index in range(len(self.phase.rows)):
                if self.row_box(index).contains(place) or boxes[index].contains(place):
                    found = index
        self._hover(found)

    def leaveEvent(self, _event: QEvent) -> None:
        """Unmark."""
        self._hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the row or part under the pointer, or the whole step by its heading."""
        if event.button() != Qt.MouseButton.LeftButton or self.phase is None:
            super().mousePressEvent(event)
        elif self._hovered is not None:
            self.chosen.emit(self.phase.rows[self._hovered].key)
        elif event.position().y() < self.bar().top():
            self.chosen.emit("")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down walk over the rows, Enter and Space choose."""
        key, last = event.key(), len(self.phase.rows) - 1 if self.phase is not None else -1
        now = -1 if self._hovered is None else self._hovered
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and last >= 0:
            self._hover(min(max(now + (1 if key == Qt.Key.Key_Down else -1), 0), last))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self.phase is not None:
            self.chosen.emit(self.phase.rows[now].key if now >= 0 else "")
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """By keyboard the first row is marked."""
        super().focusInEvent(event)
        if event.reason() in paint.KEYBOARD and self._hovered is None and self.phase is not None:
            self._hover(0)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Unmark."""
        super().focusOutEvent(event)
        self._hover(None)

    def _hover(self, index: int | None) -> None:
        if index == self._hovered:
            return
        self._hovered = index
        hint = ""
        if index is not None and self.phase is not None:
            row = self.phase.rows[index]
            key = "hint" if row.part and row.flops != NONE else "hint_no_work"
            values = (row.name, row.time, row.share, row.bound, row.flops, row.bytes)
            names = ("name", "time", "share", "bound", "flops", "bytes")
            hint = self.words(f"plots.step_time.{key}", **dict(zip(names, values, strict=True)))
        self.setToolTip(hint)
        self.update()

    @property
    def hovered(self) -> int | None:
        """Index of the marked row."""
        return self._hovered


class StepTime(QWidget):
    """Both phases, side by side where there is room.

    ``selected`` carries the key of what was chosen among the derivations.
    """

    selected = Signal(str)
    key = "step_time"

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._started: Started | None = None
        self._others: tuple[Other, ...] = ()
        self._note = ""  # above both: what is shown, when it is not the scenario that is set
        self._empty: tuple[str, ...] = ()
        self.phases = (PhaseView(words, self), PhaseView(words, self))
        for view in self.phases:
            view.alike = self.phases
        for view, name in zip(self.phases, ("prefill", "decode"), strict=True):
            view.chosen.connect(lambda key, name=name: self._choose(name, key))
        self.costs = CostLine(words, self)
        self.costs.chosen.connect(self.selected)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self._restyle)

    def show_started(self, started: Started | None) -> None:
        """Show the steps of an estimate; None: nothing starts."""
        self._started = started
        words = self._words
        if started is None:
            self._empty, self._note = (words("plots.no_speed"), words("plots.no_change")), ""
        else:
            self._empty = ()
            note = started.change and words("plots.not_started", change=words.phrase(started.change))
            self._note = note or ""
            for view, phase in zip(self.phases, steps_of(started, words), strict=True):
                view.set_phase(phase, started.change is not None)
        self._show_others()
        parts = () if started is None else costs_of(started, words)
        self.costs.show_parts(parts, words)
        self.costs.setVisible(bool(parts))
        for view in self.phases:
            view.setVisible(not self._empty)
        self.setAccessibleDescription(" ".join(self._empty) or self._note)
        self._place()
        self.update()

    def show_others(self, others: Sequence[Other]) -> None:
        """The steps of other scenarios beside the own."""
        self._others = tuple(others)
        self._show_others()
        self._place()
        self.update()

    def _show_others(self) -> None:
        found = ((), ()) if self._started is None else step_ghosts(self._others, self._started)
        for view, lines in zip(self.phases, found, strict=True):
            view.set_others(lines)

    def _choose(self, phase: str, operator: str) -> None:
        self.selected.emit(f"operator.{phase}.{operator}" if operator else f"step.{phase}")

    @property
    def started(self) -> Started | None:
        """What is shown."""
        return self._started

    def set_words(self, words: Words) -> None:
        """Switch the language."""
        self._words = words
        for view in self.phases:
            view.words = words
        if self._started is not None or self._empty:
            self.show_started(self._started)

    def set_small(self, small: bool) -> None:
        """Lower rows in a small window."""
        for view in self.phases:
            view.row_height = _SMALL_ROW if small else _ROW
        self._place()

    def sizeHint(self) -> QSize:
        """Width of the window, height of the content."""
        return QSize(800, self.heightForWidth(max(1, self.width())))

    def hasHeightForWidth(self) -> bool:
        """Narrow: one below the other."""
        return True

    def heightForWidth(self, width: int) -> int:
        """What both phases need, or the lines that stand instead of them."""
        t = theme()
        if self._empty:
            return t.px(_EMPTY_TOP + _EMPTY_LINE * len(self._empty))
        highs = [view.wanted_height() for view in self.phases]
        top = t.px(_CAPTION + 8) if self._note else 0
        top += t.px(_COSTS)
        return top + (max(highs) if width >= t.px(_SIDE_BY_SIDE) else sum(highs) + t.px(_GAP_DOWN))

    def minimumSizeHint(self) -> QSize:
        """The page scrolls rather than cut a row."""
        return QSize(360, self.heightForWidth(max(1, self.width())))

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Side by side, or one below the other."""
        self._place()

    def _place(self) -> None:
        t = theme()
        top = t.px(_CAPTION + 8) if self._note else 0
        first, second = self.phases
        if self.width() >= t.px(_SIDE_BY_SIDE):
            gap = t.px(_GAP_ACROSS)
            half = (self.width() - gap) // 2
            first.setGeometry(0, top, half, first.wanted_height())
            second.setGeometry(self.width() - half, top, half, second.wanted_height())
        else:
            high = first.wanted_height()
            first.setGeometry(0, top, self.width(), high)
            second.setGeometry(0, top + high + t.px(_GAP_DOWN), self.width(), second.wanted_height())
        high = t.px(_CAPTION)
        self.costs.setGeometry(0, self.heightForWidth(self.width()) - high, self.width(), high)
        self.updateGeometry()

    def _restyle(self) -> None:
        self._place()
        self.update()
        for view in self.phases:
            view.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground, and what there is to say instead."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            if self._note:
                line = QRectF(0, 0, self.width(), t.px(_CAPTION))
                paint.text(painter, line, self._note, t.font("caption_medium"), t.ink2)
            y = t.px(_EMPTY_TOP)
            for text in self._empty:
                line = QRectF(0, y, self.width(), t.px(_EMPTY_LINE))
                paint.text(painter, line, text, t.font("caption_medium"), t.ink2, paint.CENTRE)
                y += t.px(_EMPTY_LINE)
