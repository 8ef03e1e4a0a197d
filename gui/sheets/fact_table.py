"""A table of facts: name, word, bar, value, share.  Painted, with one accessible sentence a row."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.theme import Role, Theme, manager, theme
from gui.widgets import paint

ROW = 24
_HEAD = 26
_VALUE = 76  # column of values
_NOTE = 48  # column behind the values
_BAR = 4
_INDENT = 14


@dataclass(frozen=True)
class Fact:
    """One row.  ``bar`` is a share of the longest; ``kind``: "plain", "sum", "quiet", "head"."""

    name: str
    value: str = ""
    note: str = ""  # small print right of the value, or below the name in two-line tables
    bar: float | None = None
    kind: str = "plain"
    indent: int = 0
    marked: bool = False  # the one in use


def draw_head(painter: QPainter, width: int, title: str, caption: str = "") -> None:
    """Title and caption over a rule, alike for tables and editors."""
    t = theme()
    head = QRectF(0, 0, width, t.px(20))
    used = paint.text(painter, head, title, t.font("body_semibold"), t.ink)
    room = head.adjusted(used + 8, 0, 0, 0)
    paint.text(painter, room, caption, t.font("caption"), t.ink3, paint.RIGHT)
    y = t.px(_HEAD) - 1
    paint.hairline(painter, 0, y, width, y, t.line2)


class Heading(QWidget):
    """The head of a table for what is no table."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.setAccessibleName(title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        """As high as the head of a table."""
        return QSize(120, theme().px(_HEAD))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Title over a rule."""
        with QPainter(self) as painter:
            draw_head(painter, self.width(), self._title)


class FactTable(QWidget):
    """Title, caption and rows.  ``two_lines`` puts the note below the name instead of behind the value."""

    def __init__(self, title: str, two_lines: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self._caption = ""
        self._two_lines = two_lines
        self._facts: tuple[Fact, ...] = ()
        self.setAccessibleName(title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        manager.changed.connect(self.updateGeometry)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The rows."""
        return self._facts

    def show_facts(self, facts: Sequence[Fact], caption: str = "") -> None:
        """Show rows; nothing is painted anew when they are the same."""
        if (tuple(facts), caption) == (self._facts, self._caption):
            return
        grown = len(facts) != len(self._facts) or self._two_lines
        self._facts, self._caption = tuple(facts), caption
        spoken = (" ".join(filter(None, (f.name, f.value, f.note))) for f in facts)
        self.setAccessibleDescription("; ".join(spoken))
        if not facts or self.parentWidget() is not None:  # shown without a parent it were a window
            self.setVisible(bool(facts))
        if grown:
            self.updateGeometry()
        self.update()

    def _height_of(self, fact: Fact) -> int:
        return theme().px(40 if self._two_lines and fact.note else ROW)

    def sizeHint(self) -> QSize:
        """Head and rows."""
        return QSize(280, theme().px(_HEAD) + sum(self._height_of(f) for f in self._facts) + 2)

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(200, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Head, rows, rules."""
        t = theme()
        with QPainter(self) as painter:
            draw_head(painter, self.width(), self.title, self._caption)
            y = t.px(_HEAD)
            for fact in self._facts:
                height = self._height_of(fact)
                box = QRectF(0, y, self.width(), height)
                if fact.kind == "sum":
                    paint.hairline(painter, 0, y, self.width(), y, t.line2)
                draw = self._two if self._two_lines else self._one
                draw(painter, fact, box, t)
                y += height

    def _colours(self, fact: Fact, t: Theme) -> tuple[Role, QColor, Role]:
        if fact.kind in ("sum", "head") or fact.marked:
            return "body_semibold", t.ink, "body_semibold"
        return "body", t.ink2 if fact.kind == "quiet" else t.ink, "body_medium"

    def _one(self, painter: QPainter, fact: Fact, box: QRectF, t: Theme) -> None:
        role, colour, strong = self._colours(fact, t)
        notes = (round(paint.width(t.font("caption"), f.note)) + 12 for f in self._facts if f.note)
        note = max(t.px(_NOTE), *notes) if any(f.note for f in self._facts) else 0
        value = max(t.px(_VALUE), round(paint.width(t.font(strong), fact.value)) + 4) if fact.value else 0
        names = [paint.width(t.font("body"), f.name) for f in self._facts if f.bar is not None]
        bars = bool(names)
        column = round(min(max(names, default=0) + t.px(18), 0.6 * box.width()))
        left = box.left() + fact.indent * t.px(_INDENT)
        in_columns = bars and fact.bar is not None
        taken = round(paint.width(t.font(strong), fact.value)) + 4 if fact.value else 0
        name_room = (column if in_columns else box.width() - taken - note - 8) - left
        paint.text(
            painter, QRectF(left, box.top(), name_room - 6, box.height()), fact.name, t.font(role), colour
        )
        right = box.right() - note
        paint.text(
            painter,
            QRectF(right - value, box.top(), value, box.height()),
            fact.value,
            t.font(strong),
            colour,
            paint.RIGHT,
        )
        if fact.note:
            paint.text(painter, box, fact.note, t.font("caption"), t.ink3, paint.RIGHT)
        if fact.bar is not None:
            track = QRectF(column, round(box.center().y()) - _BAR / 2, right - value - 8 - column, _BAR)
            if track.width() > 12:
                painter.fillRect(track, t.sunken)
                filled = max(1.0, track.width() * min(1.0, fact.bar))
                painter.fillRect(QRectF(track.left(), track.top(), filled, _BAR), t.ledger["weights"])

    def _two(self, painter: QPainter, fact: Fact, box: QRectF, t: Theme) -> None:
        role, colour, strong = self._colours(fact, t)
        value = paint.width(t.font(strong), fact.value) if fact.value else 0.0
        left = box.left() + fact.indent * t.px(_INDENT)
        top = t.px(2) if fact.note else 0
        line = t.px(20) if fact.note else box.height()
        room = QRectF(left, box.top() + top, box.right() - left - value - 10, line)
        paint.text(painter, room, fact.name, t.font(role), colour)
        paint.text(
            painter,
            QRectF(box.right() - value - 1, box.top() + top, value + 1, line),
            fact.value,
            t.font(strong),
            colour,
            paint.RIGHT,
        )
        if fact.note:
            under = QRectF(left, box.top() + t.px(20), box.right() - left, t.px(16))
            paint.text(painter, under, fact.note, t.font("caption"), t.ink3)

    def event(self, event: QEvent) -> bool:
        """The whole row as a tip, where it may have been shortened."""
        if isinstance(event, QHelpEvent):
            y = theme().px(_HEAD)
            for fact in self._facts:
                y += self._height_of(fact)
                if event.pos().y() < y:
                    told = " · ".join(filter(None, (fact.name, fact.value, fact.note)))
                    QToolTip.showText(event.globalPos(), told, self)
                    break
            return True
        return super().event(event)
