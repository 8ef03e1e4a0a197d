"""A search box over a catalogue: type, see what answers, take one."""

import re
from collections.abc import Callable, Sequence
from itertools import product

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QCompleter,
    QLineEdit,
    QListView,
    QSizePolicy,
    QStyle,
    QStyleOptionFrame,
    QWidget,
)

from gui import icons
from gui.fields.choice_edit import DETAIL_ROLE, Choice, RowDelegate
from gui.fields.guards import belongs_to_window
from gui.theme import Role, manager, theme
from gui.tips import plain
from gui.widgets import paint
from gui.widgets.name_cuts import cuts_within

_VALUE_ROLE = Qt.ItemDataRole.UserRole + 2
_MOST = 60  # hits listed

Search = Callable[[str], Sequence[Choice]]
Nothing = Callable[[str], str]
_MEMORY = re.compile(r"\d+GB")


class SearchEdit(QLineEdit):
    """Shows the chosen entry; typing searches.  ``chosen`` carries the value of the taken entry.

    ``icon`` stands at the left ("search") or, as a chevron, at the right ("chevron_down").
    ``nothing`` gives the words for a text that no entry answers to.
    """

    chosen = Signal(object)

    def __init__(
        self,
        search: Search,
        *,
        icon: str = "search",
        nothing: Nothing | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._search = search
        self._nothing = nothing
        self._warning = ""
        self._icon = icon
        self._label = ""
        self._detail = ""
        self._others: tuple[str, ...] | None = None  # names of the list
        self._marked = False
        self._model = QStandardItemModel(self)
        completer = QCompleter(self._model, self)
        completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        completer.setMaxVisibleItems(12)
        self._completer = completer
        self._popup = QListView()
        self._popup.setUniformItemSizes(True)
        completer.setPopup(self._popup)  # which the completer then owns, and gives a delegate of its own
        self._popup.setItemDelegate(RowDelegate(self._popup))
        completer.setWidget(self)  # not setCompleter: that would write the row's text while browsing
        completer.activated[QModelIndex].connect(self._take_index)  # type: ignore[index]
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMaxLength(200)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.textEdited.connect(self._list)
        manager.changed.connect(self._margins)
        self._margins()

    def set_entry(self, label: str, detail: str = "") -> None:
        """Show the chosen entry."""
        if (label, detail) == (self._label, self._detail):
            return
        self._label, self._detail = label, detail
        self._others = None
        if not (self.hasFocus() and self.isModified()):
            self._write()
        self._margins()

    def mark(self, reason: str) -> None:
        """Show the entry as refused; "" takes the mark away."""
        if self._marked != bool(reason):
            self._marked = bool(reason)
            self.setProperty("invalid", self._marked)
            self.style().unpolish(self)
            self.style().polish(self)

    @property
    def marked(self) -> bool:
        """Whether the entry is shown as refused."""
        return self._marked

    def warn(self, reason: str) -> None:
        """Show the entry as doubtful; "" takes the mark away."""
        if reason != self._warning:
            self._warning = reason
            self.setProperty("warned", bool(reason))
            self.style().unpolish(self)
            self.style().polish(self)
            self.setToolTip(plain(reason or self._label))

    def hits(self) -> list[object]:
        """Values of the listed entries."""
        items = (self._model.item(row) for row in range(self._model.rowCount()))
        return [item.data(_VALUE_ROLE) for item in items if item.isEnabled()]

    def rows(self) -> list[str]:
        """What the list says."""
        return [self._model.item(row).text() for row in range(self._model.rowCount())]

    def _write(self) -> None:
        self.setText(self._label)
        self.setCursorPosition(0)
        self.setModified(False)
        self.setToolTip(plain(self._warning or self._label))

    def _list(self, text: str) -> None:
        self._model.clear()
        found = list(self._search(text))[:_MOST]
        if self._nothing is not None and text.strip() and not any(choice.is_hit for choice in found):
            said = QStandardItem(self._nothing(text.strip()))
            said.setEnabled(False)
            said.setEditable(False)
            self._model.appendRow(said)
        for choice in found:
            item = QStandardItem(choice.label)
            item.setData(choice.detail, DETAIL_ROLE)
            item.setData(choice.value, _VALUE_ROLE)
            item.setEditable(False)
            self._model.appendRow(item)
        popup = self._popup
        if not self._model.rowCount():
            popup.hide()
            return
        wide = max(self.width(), min(460, popup.sizeHintForColumn(0) + 16))
        self._completer.complete(self.rect().adjusted(0, 0, wide - self.width(), 2))
        first = self._completer.completionModel().index(0, 0)
        if first.flags() & Qt.ItemFlag.ItemIsEnabled:
            popup.setCurrentIndex(first)

    def _take_index(self, index: QModelIndex | QPersistentModelIndex) -> None:
        value = index.data(_VALUE_ROLE)
        if value is not None:
            self._take(value)

    def _take(self, value: object) -> None:
        self._popup.hide()
        self.setModified(False)
        self.chosen.emit(value)
        self._write()
        self._select()

    def event(self, event: QEvent) -> bool:
        """Undo and redo are the window's."""
        if belongs_to_window(event):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Down opens the list, Enter takes the first hit, Escape takes back what was typed."""
        key = event.key()
        popup = self._popup
        if key == Qt.Key.Key_Down and not popup.isVisible():
            self._list(self.text() if self.isModified() else "")
            return
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            index = popup.currentIndex() if popup.isVisible() else QModelIndex()
            if index.isValid():
                self._take_index(index)
            elif self.isModified() and self._model.rowCount() and self._model.item(0).isEnabled():
                self._take(self._model.item(0).data(_VALUE_ROLE))
            return
        if key == Qt.Key.Key_Escape and self.isModified():
            popup.hide()
            self._write()
            self._select()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The next key replaces the name."""
        super().focusInEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._select()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """What was typed and not taken is dropped."""
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._write()

    def mouseReleaseEvent(self, event: object) -> None:
        """A click on the resting editor selects all, so that typing searches."""
        super().mouseReleaseEvent(event)  # type: ignore[arg-type]
        if not self.hasSelectedText() and not self.isModified():
            self._select()

    def _select(self) -> None:
        """All of it, with the cursor before the name: its start stays in sight."""
        length = len(self.text())
        self.setSelection(length, -length)

    def _margins(self) -> None:
        t = theme()
        side = t.px(22)
        detail = paint.width(t.font("caption"), self._detail) + 8 if self._detail else 0
        if self._icon == "search":
            self.setTextMargins(side, 0, round(detail), 0)
        else:
            self.setTextMargins(0, 0, side + round(detail if self._roomy(detail + side) else 0), 0)
        self.update()

    def _roomy(self, taken: float) -> bool:
        return paint.width(theme().font("body"), self._label) + taken + 16 <= self.width()

    def resizeEvent(self, event: object) -> None:
        """The detail goes when the name needs its place."""
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._margins()

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(120, theme().px(28))

    def minimumSizeHint(self) -> QSize:
        """May be narrow."""
        return QSize(80, theme().px(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Icon and detail over the plain editor."""
        t = theme()
        cut = not self.hasFocus() and self._room() < paint.width(t.font("body"), self.text())
        if not cut:
            super().paintEvent(event)
        with QPainter(self) as painter:
            if cut:
                self._paint_cut(painter)
            size = t.px(14)
            y = round((self.height() - size) / 2)
            right = self.width() - 8.0
            if self._icon == "search":
                icons.draw(painter, "search", QPointF(9, y), t.ink2, size)
            else:
                icons.draw(painter, self._icon, QPointF(self.width() - size - 7, y), t.ink2, size)
                right -= size + 3
            taken = paint.width(t.font("caption"), self._detail) + 8 + t.px(22)
            if self._detail and not self.isModified() and self._roomy(taken):
                box = QRectF(0, 0, right, self.height())
                paint.text(painter, box, self._detail, t.font("caption"), t.ink3, paint.RIGHT)

    def _room(self) -> float:
        """Width for the name."""
        margins = self.textMargins()
        return self.width() - margins.left() - margins.right() - 16.0

    def _paint_cut(self, painter: QPainter) -> None:
        """The name with an ellipsis, where Qt would cut through a letter."""
        t = theme()
        option = QStyleOptionFrame()
        self.initStyleOption(option)
        self.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelLineEdit, option, painter, self)
        colour = t.ink if self.isEnabled() else t.off
        box = QRectF(8.0 + self.textMargins().left(), 0, self._room(), self.height())
        name, _, memory = self.text().rpartition(" ")
        if _MEMORY.fullmatch(memory) and not self.isModified():
            box.setRight(box.right() + 5)  # as far as a detail comes to the icon
            # As it stands beside the names that do not tell it, or closer where that is all it takes.
            for shown, gap in ((memory.replace("G", " G"), 6), (memory, 4)):
                beside = paint.width(t.font("caption"), shown)
                if paint.width(t.font("body"), name) + beside + gap <= box.width():
                    paint.text(painter, box, name, t.font("body"), colour)
                    paint.text(painter, box, shown, t.font("caption"), t.ink3, paint.RIGHT)
                    return
            box.setRight(box.right() - 5)
        shown, role = self._shortened(self.text())
        paint.text(painter, box, shown, t.font(role), colour)

    def _shortened(self, name: str) -> tuple[str, Role]:
        """A name that has no room, and in which size: what tells it from the others of the list stays."""
        t = theme()
        sizes: tuple[Role, ...] = ("body", "caption")
        if " " in name and not self.isModified():
            if self._others is None:
                self._others = tuple(
                    choice.label for choice in self._search(name.partition(" ")[0]) if choice.is_hit
                )
            forms = (name, *cuts_within(name, self._others))
            for shown, role in product(forms, sizes):
                if paint.width(t.font(role), shown) <= self._room():
                    return shown, role
        return self._cut(name), "body"

    def _cut(self, name: str) -> str:
        """A name without its last words, as many as need to go: half a number would be another one.

        A memory at the end stays: it tells one device from another of the same name.
        """
        parts, font = name.split(" "), theme().font("body")
        if _MEMORY.fullmatch(parts[-1]):
            for count in range(len(parts) - 2, 0, -1):
                shown = f"{' '.join(parts[:count])} … {parts[-1]}"
                if paint.width(font, shown) <= self._room():
                    return shown
        while len(parts) > 1:
            parts.pop()
            shown = f"{' '.join(parts)} …"
            if paint.width(font, shown) <= self._room():
                # A long word cut within its letters says more than the short one before it.
                within = QFontMetricsF(font).elidedText(name, Qt.TextElideMode.ElideRight, self._room())
                letters = within.removeprefix(" ".join(parts)).strip(" …")
                return within if len(letters) > 2 and not any(c.isdigit() for c in letters) else shown
        return name
