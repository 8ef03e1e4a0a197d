"""The heads of compared scenarios: letter, name, line, and what can be done with each."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QSizePolicy, QToolButton, QWidget

from core.words import Words
from gui.icons import icon
from gui.theme import Theme, manager, series_dash, theme
from gui.tips import plain
from gui.widgets import paint
from gui.widgets.name_cuts import cut_apart

TALL, LOW = 62, 34
GAP = 16
_LEAST, _LEAST_LOW = 190, 150
_MOST_WIDE = 460
MOST_TALL = 4  # scenarios side by side in full; more are shown with their name only


@dataclass(frozen=True, slots=True)
class Head:
    """What a card shows.  ``key`` 0 is the scenario under edit."""

    key: int
    letter: str
    index: int
    name: str
    line: str
    told: str = ""  # the tooltip
    baseline: bool = False
    alone: bool = False  # nothing stands beside it


class SeriesCard(QWidget):
    """One scenario.  ``asked`` carries what to do: "baseline", "open", "remove", "left", "right", "pin"."""

    asked = Signal(int, str)
    renamed = Signal(int, str)
    dropped = Signal(int, QPoint)  # dragged to a place of the row

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.head = Head(0, "A", 0, "", "")
        self.low = False
        self._press: QPointF | None = None
        self._dragged = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.beside: tuple[str, ...] = ()  # names of the other cards
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMouseTracking(True)
        self._more = self._button("more", words("compare.more_help"))
        self._more.clicked.connect(self.open_menu)
        self._close = self._button("close", words("compare.remove"))
        self._close.clicked.connect(lambda: self.asked.emit(self.head.key, "remove"))
        self._editor = _NameEdit(self)
        self._editor.setMaxLength(80)
        self._editor.setAccessibleName(words("compare.rename"))
        self._editor.hide()
        self._editor.editingFinished.connect(self._finish_rename)
        manager.changed.connect(self.restyle)
        self.restyle()

    def _button(self, name: str, told: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setAccessibleName(told)
        button.setToolTip(told)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    def show_head(self, head: Head, low: bool) -> None:
        """Show a scenario."""
        if (head, low) == (self.head, self.low) and not self.isHidden():
            return
        if head.key != self.head.key:
            self._editor.hide()
        self.head, self.low = head, low
        self._close.setVisible(head.key != 0)
        self.setAccessibleName(f"{head.letter}: {head.name}")
        self.setAccessibleDescription(head.line)
        self.setToolTip(plain("\n".join(part for part in (head.name, head.told or head.line) if part)))
        self._place()
        self.update()

    def restyle(self) -> None:
        """Take the theme in use."""
        side = theme().px(22)
        for button in (self._more, self._close):
            button.setIcon(icon(button.objectName()))
            button.setFixedSize(side, side)
            button.setIconSize(QSize(theme().px(14), theme().px(14)))
        self._place()
        self.update()

    def _place(self) -> None:
        t = theme()
        side = t.px(22)
        top = round((self.height() - side) / 2) if self.low else t.px(8)
        right = self.width() - t.px(6) - side
        self._close.move(right, top)
        if not self._close.isHidden() or self.head.key:
            right -= side
        self._more.move(right, top)
        left = t.px(38)
        self._editor.setGeometry(left, top - t.px(3), max(40, right - left - 4), t.px(28))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The buttons stay at the right."""
        self._place()

    # -- doing -----------------------------------------------------------------------------------

    def actions_for(self) -> list[tuple[str, str, str]]:
        """What the menu offers: key, words, shortcut."""
        words = self._words
        found = []
        if not self.head.baseline:
            found.append(("baseline", words("compare.make_baseline"), "Space"))
        if self.head.key == 0:
            return [*found, ("pin", words("actions.pin"), "")]
        return [
            *found,
            ("open", words("compare.open"), "Return"),
            ("rename", words("compare.rename"), "F2"),
            ("left", words("compare.move_left"), "Alt+Left"),
            ("right", words("compare.move_right"), "Alt+Right"),
            ("remove", words("compare.remove"), "Del"),
        ]

    def open_menu(self) -> None:
        """List what can be done."""
        self._popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    def _popup(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for key, text, keys in self.actions_for():
            action = menu.addAction(text)
            action.setShortcut(keys)
            action.setShortcutVisibleInContextMenu(True)
            action.triggered.connect(lambda _=False, key=key: self._do(key))
        menu.popup(at)

    def _do(self, key: str) -> None:
        if key == "rename":
            self.rename()
        else:
            self.asked.emit(self.head.key, key)

    def rename(self) -> None:
        """Type another name."""
        if self.head.key == 0:
            return
        self._editor.setText(self.head.name)
        self._editor.show()
        self._editor.selectAll()
        self._editor.setFocus(Qt.FocusReason.OtherFocusReason)

    def _finish_rename(self) -> None:
        if self._editor.isHidden():
            return
        self._editor.hide()
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        text = self._editor.text()
        if text != self.head.name:
            self.renamed.emit(self.head.key, text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The shortcuts of the menu; Escape leaves the name as it was."""
        key, alt = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        mine = self.head.key != 0
        if key == Qt.Key.Key_Escape and not self._editor.isHidden():
            self._editor.hide()
            self.setFocus()
        elif alt and key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and mine:
            self.asked.emit(self.head.key, "left" if key == Qt.Key.Key_Left else "right")
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.focusNextPrevChild(key == Qt.Key.Key_Right)
        elif key == Qt.Key.Key_Space:
            self.asked.emit(self.head.key, "baseline")
        elif key == Qt.Key.Key_F2:
            self.rename()
        elif key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and mine:
            self.asked.emit(self.head.key, "remove")
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and mine and self._editor.isHidden():
            self.asked.emit(self.head.key, "open")
        elif key == Qt.Key.Key_Menu:
            self.open_menu()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The start of a drag."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._press, self._dragged = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """A pinned scenario can be dragged along the row."""
        if self._press is None or self.head.key == 0:
            return
        if (event.position() - self._press).manhattanLength() > QApplication.startDragDistance():
            self._dragged = True
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """The end of a drag."""
        dragged, self._press, self._dragged = self._dragged, None, False
        self.unsetCursor()
        if dragged:
            self.dropped.emit(self.head.key, self.mapToParent(event.position().toPoint()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """On the name: type another."""
        self.rename()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu at the pointer."""
        self._popup(event.globalPos())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take it away."""
        self.update()

    # -- look ------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        """Edge, letter, name; below them the line and what differs."""
        t, head = theme(), self.head
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            wide = 2.0 if self.hasFocus() else 1.0
            painter.setPen(QPen(t.accent if self.hasFocus() else t.line2, wide))
            painter.setBrush(t.raised)
            inset = wide / 2
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 6, 6)
            first = (
                QRectF(0, 0, self.width(), self.height())
                if self.low
                else QRectF(0, t.px(9), self.width(), t.px(20))
            )
            letter_plate(painter, QPointF(t.px(11), first.center().y() - t.px(9)), head.letter, head.index)
            left, right = t.px(38), self._more.x() - 4
            text = self.tag(right - left)
            if text:
                room = QRectF(left, first.top(), right - left, first.height())
                right -= round(paint.text(painter, room, text, t.font("caption"), t.ink3, paint.RIGHT)) + 8
            if head.baseline and self._words("compare.baseline") not in text:
                # No room for the word: the edge of what is chosen, as on the cards of Estimate.
                painter.fillRect(QRectF(t.px(11), self.height() - 3, self.width() - t.px(22), 2), t.accent)
            box = QRectF(left, first.top(), max(0, right - left), first.height())
            paint.text(painter, box, self.name_within(box.width()), t.font("body_semibold"), t.ink)
            if not self.low:
                middle = t.px(44)
                line_sample(painter, t.px(10), middle, t.px(20), head.index)
                box = QRectF(left, middle - t.px(10), self.width() - left - t.px(10), t.px(20))
                paint.text(painter, box, head.line, t.font("body"), t.ink2)

    def tag(self, room: float) -> str:
        """What is said beside the name: which one is under edit, and, where it has room, the baseline."""
        words, head, t = self._words, self.head, theme()
        # In a tall card that is both the line below says that it is as it is now.
        now = head.key == 0 and not head.alone and not (head.baseline and not self.low)
        told = [words("compare.now")] if now else []
        if not head.baseline:
            return "".join(told)
        both = words("plots.legend_mark").join([*told, words("compare.baseline")])
        taken = paint.width(t.font("caption"), both) + paint.width(t.font("body_semibold"), head.name) + 8
        return both if taken <= room or not self.low else "".join(told)

    def name_within(self, room: float) -> str:
        """The name as it has room: without words that the names of other cards have too."""

        def fits(name: str) -> bool:
            return paint.width(theme().font("body_semibold"), name) <= room

        # What still has no room is cut where it is painted.
        return cut_apart((self.head.name, *self.beside), fits, lambda name: name)[0]


def letter_plate(painter: QPainter, at: QPointF, letter: str, index: int, side: float = 18) -> None:
    """The letter of a series on its colour."""
    t = theme()
    size = t.px(side)
    wide = max(float(size), paint.width(t.font("caption_semibold"), letter) + 8)
    box = QRectF(at.x(), round(at.y()), wide, size)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(t.series_colour(index))
    painter.drawRoundedRect(box, 4, 4)
    paint.text(painter, box, letter, t.font("caption_semibold"), t.canvas, paint.CENTRE)


def line_sample(painter: QPainter, x: float, y: float, length: float, index: int) -> None:
    """A piece of the series' line."""
    t: Theme = theme()
    pen = QPen(t.series_colour(index), 2.0)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    dash = series_dash(index)
    if dash:
        pen.setDashPattern([part / 2.0 for part in dash])
    painter.setPen(pen)
    painter.drawLine(QPointF(x, y), QPointF(x + length, y))


class _NameEdit(QLineEdit):
    """The field of a new name."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter ends the typing and nothing else: the card, which Qt hands it on to, opens its scenario."""
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()


class SeriesRow(QWidget):
    """All cards side by side, below one another where there are too many."""

    asked = Signal(int, str)
    renamed = Signal(int, str)
    moved = Signal(int, int)  # key of a pin, places to the right

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.cards: list[SeriesCard] = []
        self._shown = 0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        manager.changed.connect(self.updateGeometry)

    def show_heads(self, heads: Sequence[Head]) -> None:
        """Show scenarios in their order; the focus stays with its scenario."""
        focused = next((c.head.key for c in self.cards if c.hasFocus()), None)
        while len(self.cards) < len(heads):
            card = SeriesCard(self._words, self)
            card.asked.connect(self.asked)
            card.renamed.connect(self.renamed)
            card.dropped.connect(self._on_dropped)
            self.cards.append(card)
        self._shown = len(heads)
        for index, card in enumerate(self.cards):
            card.setVisible(index < len(heads))
            if index < len(heads):
                card.beside = tuple(head.name for at, head in enumerate(heads) if at != index)
                card.show_head(heads[index], self.low)
                card.update()
                if focused == heads[index].key and not card.hasFocus():
                    card.setFocus(Qt.FocusReason.OtherFocusReason)
        self.updateGeometry()
        self._place()

    @property
    def low(self) -> bool:
        """Whether only names are shown."""
        return self._shown > MOST_TALL

    def _columns(self, width: int) -> int:
        t = theme()
        least = t.px(_LEAST_LOW if self.low else _LEAST)
        most = max(1, (width + GAP) // (least + GAP))
        rows = -(-max(1, self._shown) // most)
        return -(-max(1, self._shown) // rows)

    def heightForWidth(self, width: int) -> int:
        """As many rows as it takes."""
        rows = -(-max(1, self._shown) // self._columns(width))
        return rows * theme().px(LOW if self.low else TALL) + (rows - 1) * 8

    def sizeHint(self) -> QSize:
        """For the width there is."""
        return QSize(400, self.heightForWidth(max(400, self.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Other widths, perhaps other rows, and then another height."""
        if self.height() != self.heightForWidth(self.width()):
            self.updateGeometry()
        self._place()

    def _place(self) -> None:
        columns = self._columns(self.width())
        high = theme().px(LOW if self.low else TALL)
        wide = min((self.width() - (columns - 1) * GAP) / columns, theme().px(_MOST_WIDE))
        for index in range(self._shown):
            row, column = divmod(index, columns)
            left = round(column * (wide + GAP))
            self.cards[index].setGeometry(
                left, row * (high + 8), round(column * (wide + GAP) + wide) - left, high
            )

    def _on_dropped(self, key: int, at: QPoint) -> None:
        start = next((i for i, c in enumerate(self.cards) if c.head.key == key), None)
        shown = self.cards[: self._shown]
        end = next((i for i, c in enumerate(shown) if c.geometry().contains(at)), None)
        if start is not None and end is not None and end != start:
            self.moved.emit(key, max(end, 1) - start)
