"""A choice of several from a list, painted as an editor with a chevron; none chosen means all."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from gui.fields.choice_edit import Choice, draw_opener
from gui.theme import theme

Group = tuple[str, Sequence[Choice]]  # name of a submenu, "" for entries of the menu itself


class MultiEdit(QWidget):
    """``chosen`` carries a tuple of values in the order of the list.

    ``everything`` is said for none and stands first in the menu; ``several`` has a place for a number.
    """

    chosen = Signal(object)

    def __init__(self, everything: str, several: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._everything, self._several = everything, several
        self._groups: tuple[Group, ...] = ()
        self._values: tuple[object, ...] = ()
        self._marked = self._warned = False
        self.menu: QMenu | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def value(self) -> tuple[object, ...]:
        """What is chosen."""
        return self._values

    @property
    def marked(self) -> bool:
        """Whether the choice is shown as refused."""
        return self._marked

    def set_groups(self, groups: Sequence[Group]) -> None:
        """Offer other entries."""
        self._groups = tuple(groups)
        self._say()

    def set_value(self, values: Sequence[object]) -> None:
        """Show what is chosen."""
        self._values = tuple(values)
        self._say()

    def mark(self, reason: str) -> None:
        """Show the choice as refused."""
        self._marked = bool(reason)
        self.update()

    def warn(self, reason: str) -> None:
        """Show the choice as doubtful."""
        self._warned = bool(reason)
        self.update()

    def text(self) -> str:
        """What stands in the editor."""
        names = [c.label for _, entries in self._groups for c in entries if c.value in self._values]
        if not self._values:
            return self._everything
        if len(names) == 1 or sum(map(len, names)) <= 16:
            return ", ".join(names)
        return self._several.format(n=len(self._values))

    def _say(self) -> None:
        self.setAccessibleDescription(self.text())
        self.update()

    def toggle(self, value: object) -> None:
        """Take a value in or out."""
        order = [c.value for _, entries in self._groups for c in entries]
        wanted = [v for v in order if (v in self._values) != (v == value)]
        self._choose(tuple(wanted))

    def _choose(self, values: tuple[object, ...]) -> None:
        if values != self._values:
            self.set_value(values)
            self.chosen.emit(values)

    def open_menu(self) -> None:
        """Show the list; it stays open while entries are ticked."""
        menu = self.menu = _StayingMenu(self)
        everything = menu.addAction(self._everything)
        everything.setCheckable(True)
        everything.setChecked(not self._values)
        everything.triggered.connect(lambda: self._choose(()))
        menu.addSeparator()
        for name, entries in self._groups:
            place = menu if not name else _StayingMenu(menu)
            if name:
                place.setTitle(name)
                menu.addMenu(place)
            for choice in entries:
                action = place.addAction(
                    f"{choice.label}\t{choice.detail}" if choice.detail else choice.label
                )
                action.setCheckable(True)
                action.setChecked(choice.value in self._values)
                action.triggered.connect(lambda _=False, value=choice.value: self.toggle(value))
        menu.setMinimumWidth(self.width())
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2)))

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(160, theme().px(28))

    def minimumSizeHint(self) -> QSize:
        """May be narrow."""
        return QSize(80, theme().px(28))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.open_menu()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space, Enter and Down open."""
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.open_menu()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Darker edge under the pointer."""
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        """And lighter again."""
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring."""
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, what is chosen, chevron."""
        colour = theme().ink if self._values else theme().ink2
        draw_opener(self, self.text(), colour, "chevron_down", invalid=self._marked, warned=self._warned)


class _StayingMenu(QMenu):
    """A click on an entry ticks it and leaves the menu open."""

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Tick."""
        action = self.activeAction()
        if self.activeAction() is None or not action.isEnabled() or not action.isCheckable():
            super().mouseReleaseEvent(event)
        else:
            action.trigger()
