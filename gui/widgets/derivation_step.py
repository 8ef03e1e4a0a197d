"""One step of a derivation: its name and result, the formula, the values put in."""

import math

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QEnterEvent,
    QFocusEvent,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from core.units import Shown
from gui.theme import theme
from gui.widgets import paint
from gui.widgets.derivation_content import StepText
from gui.widgets.formula_text import Line, Measure, draw_line, lines_of

LINE = 18
GAP = 7  # below a step
_EDGE = 16  # at both sides
_RULE = 9  # above a sum
_BETWEEN = 10  # name and result
_WRAP = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap


class StepView(QWidget):
    """A click on the result unfolds it where it is worked out elsewhere, one on the name explains the word.

    ``unfold`` carries the key of another derivation, ``explain`` one of the glossary.
    """

    unfold = Signal(str)
    explain = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.step = StepText("", "", "", "", Shown("", ""))
        self.muted = False
        self._formula: tuple[Line, ...] = ()
        self._values: tuple[Line, ...] = ()
        self._name_box = QRectF()
        self._name_room = 0.0
        self._result_box = QRectF()
        self._over = ""  # "name", "result"
        self._ring = False
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def set_step(self, step: StepText, muted: bool) -> None:
        """Show other content; nothing is painted when it is the same."""
        if (step, muted) == (self.step, self.muted):
            return
        self.step, self.muted = step, muted
        linked = bool(step.glossary or step.more)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus if linked else Qt.FocusPolicy.NoFocus)
        self.setToolTip(step.tip)
        self.setAccessibleName(step.spoken)
        self.setAccessibleDescription(step.tip)
        self.update()

    # -- places ----------------------------------------------------------------------------------

    def layout_for(self, width: int) -> int:
        """Break the lines for a width; the height that they take."""
        t = theme()
        line, room = t.px(LINE), float(width - 2 * _EDGE)
        number, unit = self.step.result
        used = paint.width(t.font("body_semibold"), f"{number} {unit}".strip())
        top = float(t.px(_RULE)) if self.step.total else 0.0
        for_name = max(room - used - _BETWEEN, room * 0.4)
        metrics = QFontMetricsF(self._name_font())
        wanted = metrics.boundingRect(QRectF(0, 0, for_name, 1e4), int(_WRAP.value), self.step.name)
        name_lines = max(1, round(wanted.height() / metrics.lineSpacing()))
        self._name_room = for_name
        self._name_box = QRectF(_EDGE, top, min(for_name, math.ceil(wanted.width()) + 1), name_lines * line)
        self._result_box = QRectF(width - _EDGE - used, top, used, line)
        self._formula = (
            lines_of(self.step.formula, Measure(t.font("italic")), room) if self.step.formula else ()
        )
        self._values = lines_of(self.step.values, Measure(t.font("body")), room) if self.step.values else ()
        lines = name_lines + len(self._formula) + len(self._values)
        return math.ceil(top + lines * line + t.px(GAP))

    def _name_font(self) -> QFont:
        return theme().font("body_semibold" if self.step.total else "body_medium")

    def name_place(self) -> QPoint:
        """Where an explanation of the name is put: below it, on the screen."""
        return self.mapToGlobal(self._name_box.bottomLeft().toPoint())

    # -- painting --------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Name, result, formula, values."""
        t, step = theme(), self.step
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            line = t.px(LINE)
            ink = t.ink3 if self.muted else t.ink
            if step.total:
                paint.hairline(painter, _EDGE, 0, self.width() - _EDGE, 0, t.line2)
            font = self._name_font()
            painter.setFont(font)
            painter.setPen(ink)
            box = self._name_box
            leading = (line - QFontMetricsF(font).lineSpacing()) / 2
            room = QRectF(box.left(), box.top() + leading, self._name_room, box.height() + 40)
            painter.drawText(room, int(_WRAP.value), step.name)
            if step.glossary:
                self._term_line(painter, t.accent_text if self._over == "name" else t.axis)
            self._symbol(painter, line)
            colour = t.accent_text if step.more and not self.muted else ink
            paint.text(
                painter,
                self._result_box.adjusted(-1, 0, 1, 0),
                self._result(),
                t.font("body_semibold"),
                colour,
                paint.RIGHT,
            )
            if step.more and self._over == "result":
                under = self._result_box
                painter.fillRect(QRectF(under.left(), under.bottom() - 2, under.width(), 1), colour)
            y = box.bottom()
            y = self._lines(
                painter, y, self._formula, Measure(t.font("italic")), t.ink3 if self.muted else t.ink2
            )
            self._lines(painter, y, self._values, Measure(t.font("body")), t.ink3)
            if self.hasFocus() and self._ring:
                ring = QRectF(_EDGE - 8, 0, self.width() - 2 * _EDGE + 16, self.height() - t.px(GAP) + 3)
                paint.focus_ring(painter, ring, t.accent)

    def _result(self) -> str:
        return str(self.step.result).strip()

    def _symbol(self, painter: QPainter, line: int) -> None:
        """The symbol of a figure that is given, behind its name, where there is room."""
        step, t = self.step, theme()
        if step.formula or self._name_box.height() > line or not step.symbol:
            return
        measure = Measure(t.font("italic"))
        runs = lines_of(step.symbol, measure, 1e4)[0]
        x = self._name_box.left() + paint.width(self._name_font(), step.name) + 8
        if x + measure.of(runs) + _BETWEEN <= self._result_box.left():
            base = paint.baseline_of(t.font("body"), self._name_box.top(), line)
            draw_line(painter, x, base, runs, measure, t.ink3)

    def _term_line(self, painter: QPainter, colour: QColor) -> None:
        """Dots under a word that is explained."""
        box, t = self._name_box, theme()
        if box.height() > t.px(LINE):
            return
        wide = paint.width(self._name_font(), self.step.name)
        y = round(box.bottom() - 2)
        x = box.left()
        while x < box.left() + wide - 1:
            painter.fillRect(QRectF(x, y, 1, 1), colour)
            x += 3

    def _lines(
        self, painter: QPainter, y: float, lines: tuple[Line, ...], measure: Measure, colour: QColor
    ) -> float:
        high = theme().px(LINE)
        for line in lines:
            draw_line(painter, _EDGE, paint.baseline_of(measure.font, y, high), line, measure, colour)
            y += high
        return y

    # -- pointer and keys ------------------------------------------------------------------------

    def _at(self, place: QPointF) -> str:
        if self.step.more and self._result_box.adjusted(-6, -2, 6, 2).contains(place):
            return "result"
        if self.step.glossary and self._name_box.adjusted(0, -2, 0, 2).contains(place):
            return "name"
        return ""

    def _point_at(self, part: str) -> None:
        if part != self._over:
            self._over = part
            shape = Qt.CursorShape.PointingHandCursor if part else Qt.CursorShape.ArrowCursor
            self.setCursor(shape)
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Mark the link under the pointer."""
        self._point_at(self._at(event.position()))

    def enterEvent(self, event: QEnterEvent) -> None:
        """The same."""
        self._point_at(self._at(event.position()))

    def leaveEvent(self, _event: object) -> None:
        """Unmark."""
        self._point_at("")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Follow the link."""
        if event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)
            return
        part = self._at(event.position())
        if part == "result":
            self.unfold.emit(self.step.more)
        elif part == "name":
            self.explain.emit(self.step.glossary)

    def event(self, event: QEvent) -> bool:
        """F1 on a word explains it, before the window takes the key for the manual."""
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return super().event(event)
        if event.key() == Qt.Key.Key_F1 and self.step.glossary:
            event.accept()
        return True

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter unfolds the result, Space or F1 explains the word; each does the other where it cannot."""
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (self.step.more or self.step.glossary):
            self._follow(self.step.more)
        elif key in (Qt.Key.Key_Space, Qt.Key.Key_F1) and (self.step.more or self.step.glossary):
            self._follow("" if self.step.glossary else self.step.more)
        else:
            super().keyPressEvent(event)

    def _follow(self, more: str) -> None:
        if more:
            self.unfold.emit(more)
        else:
            self.explain.emit(self.step.glossary)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu key explains the word."""
        if self.step.glossary and event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.explain.emit(self.step.glossary)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring when the focus came by keyboard."""
        super().focusInEvent(event)
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """And away again."""
        super().focusOutEvent(event)
        self.update()

    def box(self) -> QRect:
        """The part that a scroll area must show."""
        return self.rect()
