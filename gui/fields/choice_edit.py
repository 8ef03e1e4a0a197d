"""A choice from a short list, painted as an editor with a chevron."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QCursor,
    QEnterEvent,
    QKeyEvent,
    QMoveEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui import icons
from gui.theme import theme
from gui.widgets import paint

_MODIFIER = Qt.KeyboardModifier
DETAIL_ROLE = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Choice:
    """One entry: value, label, and a short word at the right."""

    value: object
    label: str
    detail: str = ""
    is_hit: bool = True  # False: offered whatever was searched for


class RowDelegate(QStyledItemDelegate):
    """Rows of 28 px with the detail at the right in grey."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        """Row height."""
        t = theme()
        label = paint.width(t.font("body"), str(index.data() or ""))
        detail = paint.width(t.font("caption"), str(index.data(DETAIL_ROLE) or ""))
        return QSize(round(label + detail) + 48, t.px(28))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Ground, label, detail."""
        t = theme()
        box = QRectF(option.rect)
        marked = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.fillRect(box, t.accent_soft if marked else t.raised)
        if marked:
            painter.fillRect(QRectF(box.left(), box.top(), 2, box.height()), t.accent)
        inner = box.adjusted(10, 0, -10, 0)
        detail = str(index.data(DETAIL_ROLE) or "")
        used = paint.text(painter, inner, detail, t.font("caption"), t.ink3, paint.RIGHT) if detail else 0.0
        inner.setRight(inner.right() - used - (10 if detail else 0))
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        paint.text(painter, inner, str(index.data() or ""), t.font("body"), t.ink if enabled else t.ink3)


def draw_editor(
    painter: QPainter,
    box: QRectF,
    *,
    focused: bool,
    hovered: bool,
    enabled: bool,
    invalid: bool,
    warned: bool = False,
) -> None:
    """Ground and edge of an editor that paints itself, in every state."""
    t = theme()
    ground = t.sunken if not enabled else t.bad_soft if invalid else t.field
    resting = t.bad if invalid else t.warn if warned else t.ink2 if hovered else t.control
    edge = t.line if not enabled else t.accent if focused else resting
    wide = 2.0 if focused and enabled else 1.0
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(edge, wide)
    if not enabled and t.name == "contrast":  # where every edge is black
        pen = QPen(t.off, wide, Qt.PenStyle.DashLine)
    painter.setPen(pen)
    painter.setBrush(ground)
    inset = wide / 2
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), 5 - inset, 5 - inset)


def draw_opener(
    widget: QWidget, text: str, colour: QColor, icon: str, *, invalid: bool, warned: bool
) -> None:
    """An editor whose value is chosen elsewhere: what is chosen, and the sign of what a click opens."""
    t = theme()
    with QPainter(widget) as painter:
        box = QRectF(widget.rect())
        draw_editor(
            painter,
            box,
            focused=widget.hasFocus(),
            hovered=widget.underMouse(),
            enabled=widget.isEnabled(),
            invalid=invalid,
            warned=warned,
        )
        size = t.px(14)
        paint.text(painter, box.adjusted(8, 0, -size - 12, 0), text, t.font("body"), colour)
        at = QPointF(round(box.right() - size - 7), round(box.center().y() - size / 2))
        icons.draw(painter, icon, at, t.ink2, size)


class ChoiceEdit(QComboBox):
    """``chosen`` carries the value a person picked; setting a value from outside emits nothing."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None, *, show_detail: bool = False) -> None:
        super().__init__(parent)
        self._choices: tuple[Choice, ...] = ()
        self._marked = False
        self._warned = False
        self._show_detail = show_detail
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)
        self.setMaxVisibleItems(14)
        self.setItemDelegate(RowDelegate(self))
        self.view().installEventFilter(self)
        self._typed, self._typed_at = "", 0.0
        self.activated.connect(lambda index: self.chosen.emit(self._choices[index].value))

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What can be chosen."""
        return self._choices

    @property
    def value(self) -> object:
        """The chosen value; None when there is none."""
        index = self.currentIndex()
        return self._choices[index].value if 0 <= index < len(self._choices) else None

    def set_choices(self, choices: Sequence[Choice]) -> None:
        """Offer other entries; the chosen value stays when it is still among them."""
        new = tuple(choices)
        if new == self._choices:
            return
        kept = self.value
        self._choices = new
        self.clear()
        for row, choice in enumerate(new):
            self.addItem(choice.label)
            self.setItemData(row, choice.detail, DETAIL_ROLE)
        self.set_value(kept)

    def set_value(self, value: object) -> None:
        """Show a value; one that is not offered shows nothing."""
        index = next((i for i, c in enumerate(self._choices) if c.value == value), -1)
        if index != self.currentIndex():
            self.setCurrentIndex(index)

    def mark(self, reason: str) -> None:
        """Show the choice as refused; "" takes the mark away."""
        if self._marked != bool(reason):
            self._marked = bool(reason)
            self.update()

    @property
    def marked(self) -> bool:
        """Whether the choice is shown as refused."""
        return self._marked

    def warn(self, reason: str) -> None:
        """Show the choice as doubtful; "" takes the mark away."""
        if self._warned != bool(reason):
            self._warned = bool(reason)
            self.update()

    # -- typing ----------------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Letters choose the entry that has them, wherever in its name."""
        index = self._sought(event, self.currentIndex())
        if index is None:
            super().keyPressEvent(event)
        elif index != self.currentIndex():
            self.setCurrentIndex(index)
            self.chosen.emit(self._choices[index].value)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The same in the open list, where they only mark it."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and watched is self.view():
            index = self._sought(event, self.view().currentIndex().row())
            if index is not None:
                self.view().setCurrentIndex(self.model().index(index, 0))
                return True
        return super().eventFilter(watched, event)

    def _sought(self, event: QKeyEvent, now: int) -> int | None:
        """Row of the entry for what is being typed; ``now`` where there is none, None for other keys."""
        text = event.text().lower()
        command = event.modifiers() & (_MODIFIER.ControlModifier | _MODIFIER.AltModifier)
        at, pause = time.monotonic(), QApplication.keyboardInputInterval() / 1000
        fresh = at - self._typed_at > pause
        if not text.isprintable() or not text or command or (fresh and text.isspace()):
            return None
        self._typed, self._typed_at = text if fresh else self._typed + text, at
        # The same key again goes on to the next one that has it.
        same = len(set(self._typed)) == 1
        sought = self._typed[0] if same else self._typed
        rows = [(now + same + step) % len(self._choices) for step in range(len(self._choices))]
        ranked = sorted(
            (rank, place, row) for place, row in enumerate(rows) if (rank := self._rank(sought, row))
        )
        return ranked[0][2] if ranked else now

    def _rank(self, sought: str, row: int) -> int:
        """1 at the start of the label, 2 within it, 3 in the word at its right, 0 nowhere."""
        choice = self._choices[row]
        label = choice.label.lower()
        if sought in label:
            return 1 if label.startswith(sought) else 2
        return 3 if sought in choice.detail.lower() else 0

    def showPopup(self) -> None:
        """A list as wide as its widest row needs."""
        wide = max((self.view().sizeHintForColumn(0), self.width()))
        self.view().setMinimumWidth(min(wide, 420))
        super().showPopup()

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(120, theme().px(28))

    def minimumSizeHint(self) -> QSize:
        """May be narrow."""
        return QSize(60, theme().px(28))

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the edge of the pointed-at editor."""
        self.update()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """And lighter again."""
        self.update()
        super().leaveEvent(event)

    def moveEvent(self, event: QMoveEvent) -> None:
        """Made below the pointer and laid out elsewhere: nothing says that it has left."""
        super().moveEvent(event)
        if self.underMouse() and not self.rect().contains(self.mapFromGlobal(QCursor.pos())):
            self.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)

    def hidePopup(self) -> None:
        """The pointer left while the list was open, unseen from here."""
        super().hidePopup()
        inside = self.rect().contains(self.mapFromGlobal(QCursor.pos()))
        self.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, inside)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Edge, label, detail, chevron."""
        t = theme()
        with QPainter(self) as painter:
            enabled = self.isEnabled()
            draw_editor(
                painter,
                QRectF(self.rect()),
                focused=self.hasFocus(),
                hovered=self.underMouse(),
                enabled=enabled,
                invalid=self._marked,
                warned=self._warned,
            )
            size = t.px(14)
            at = QPointF(self.width() - size - 7, round((self.height() - size) / 2))
            icons.draw(painter, "chevron_down", at, t.ink2 if enabled else t.off, size)
            inner = QRectF(8, 0, at.x() - 8 - 4, self.height())
            if self._warned and enabled:
                inner.setRight(inner.right() - size - 2)
                icons.draw(painter, "warn", QPointF(inner.right() + 2, at.y()), t.warn, size)
            index = self.currentIndex()
            if 0 <= index < len(self._choices):
                choice = self._choices[index]
                room = inner.width() - paint.width(t.font("body"), choice.label) - 8
                if (
                    self._show_detail
                    and choice.detail
                    and paint.width(t.font("caption"), choice.detail) <= room
                ):
                    paint.text(painter, inner, choice.detail, t.font("caption"), t.ink3, paint.RIGHT)
                paint.text(painter, inner, choice.label, t.font("body"), t.ink if enabled else t.off)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel changes only the focused editor; elsewhere it scrolls the page."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
