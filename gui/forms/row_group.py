"""Rows that come and go with the scenario.  A row is made when it is first shown, never before."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from core.spec.change import get_value
from core.spec.scenario import Scenario
from gui import icons
from gui.fields.binder import declaration, owner_of
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import FieldRow
from gui.theme import manager, theme
from gui.widgets import paint


def always(_scenario: Scenario) -> bool:
    """Shown whatever the scenario."""
    return True


@cache
def _default(path: str) -> object:
    spec, name = owner_of(path)
    return spec.model_fields[name].default


@dataclass(frozen=True)
class Item:
    """A field, when it is shown beside what its declaration says of engines, and how it is made."""

    path: str
    make: Callable[[], FieldRow]
    when: Callable[[Scenario], bool] = always
    dot: bool = True  # marks a value that differs from the default

    def wanted(self, scenario: Scenario) -> bool:
        """Whether the scenario's engine has the field and the scenario has a use for it."""
        engines = declaration(self.path)[0].engines
        return (not engines or scenario.engine.name in engines) and self.when(scenario)

    def differs(self, scenario: Scenario) -> bool:
        """Whether the field differs from its default."""
        return bool(get_value(scenario, self.path) != _default(self.path))


class RowGroup(QWidget):
    """Rows of ``items`` in order below a heading; no height while none is wanted."""

    row_made = Signal(object)

    def __init__(self, items: Sequence[Item], heading: str = "") -> None:
        super().__init__()
        self._items = tuple(items)
        self._rows: dict[str, FieldRow] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._heading = QLabel(heading, self)
        if heading:
            self._column.addWidget(self._heading)
        else:
            self._heading.hide()
        manager.changed.connect(self._restyle)
        self._restyle()

    @property
    def rows(self) -> list[FieldRow]:
        """The rows made so far."""
        return list(self._rows.values())

    def refresh(self, scenario: Scenario) -> None:
        """Show the rows that the scenario wants, and its values in those that exist."""
        shown = False
        for item in self._items:
            wanted = item.wanted(scenario)
            shown = shown or wanted
            row = self._rows.get(item.path)
            if row is None:
                if not wanted:
                    continue
                row = self._make(item)
            else:
                row.refresh(scenario)
            if row.isVisibleTo(self) != wanted:
                row.setVisible(wanted)
            if item.dot and isinstance(row.editor, QuantityEdit):
                row.editor.set_changed_dot(item.differs(scenario))
        self.setVisible(shown)

    def _make(self, item: Item) -> FieldRow:
        row = item.make()
        later = {other.path for other in self._items[self._items.index(item) + 1 :]}
        places = (self._column.indexOf(r) for path, r in self._rows.items() if path in later)
        self._column.insertWidget(min(places, default=self._column.count()), row)
        self._rows[item.path] = row
        self.row_made.emit(row)
        return row

    def knows(self, path: str, scenario: Scenario) -> bool:
        """Whether it shows a row for the field."""
        return any(item.path == path and item.wanted(scenario) for item in self._items)

    def differing(self, scenario: Scenario) -> int:
        """How many of its fields differ from their defaults."""
        return sum(item.wanted(scenario) and item.differs(scenario) for item in self._items)

    def any_wanted(self, scenario: Scenario) -> bool:
        """Whether it shows anything."""
        return any(item.wanted(scenario) for item in self._items)

    def _restyle(self) -> None:
        t = theme()
        self._heading.setFont(t.font("caption"))
        palette = self._heading.palette()
        palette.setColor(palette.ColorRole.WindowText, t.ink3)
        self._heading.setPalette(palette)
        self._heading.setFixedHeight(t.px(24))
        self._heading.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom)


class MoreHead(QWidget):
    """The line that opens what few need: chevron, word, and what is set below."""

    toggled = Signal()

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._summary = ""
        self.open = False
        self._ring = False
        self.setAccessibleName(title)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_summary(self, text: str) -> None:
        """What stands at the right."""
        if text != self._summary:
            self._summary = text
            self.setAccessibleDescription(text)
            self.update()

    def sizeHint(self) -> QSize:
        """28 px high, as a row."""
        return QSize(120, theme().px(28))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Open or close."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.toggled.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Space toggle, Right opens, Left closes."""
        key = Qt.Key(event.key())
        wanted = {Qt.Key.Key_Right: True, Qt.Key.Key_Left: False}.get(key, not self.open)
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Right, Qt.Key.Key_Left):
            if wanted != self.open:
                self.toggled.emit()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring, when the focus came by keyboard."""
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take the ring away."""
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Darker under the pointer."""
        self.update()

    def leaveEvent(self, event: object) -> None:
        """And lighter again."""
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Word, chevron behind it, summary at the right."""
        t = theme()
        with QPainter(self) as painter:
            colour = t.ink if self.underMouse() else t.ink2
            height = self.height()
            used = paint.text(
                painter, QRectF(0, 0, self.width(), height), self._title, t.font("body"), colour
            )
            size = t.px(14)
            name = "chevron_down" if self.open else "chevron_right"
            at = QRectF(used + 4, round((height - size) / 2), size, size).topLeft()
            icons.draw(painter, name, at, colour, size)
            room = QRectF(used + size + 16, 0, self.width() - used - size - 16, height)
            paint.text(painter, room, self._summary, t.font("caption"), t.ink3, paint.RIGHT)
            if self.hasFocus() and self._ring:
                paint.focus_ring(painter, QRectF(-4, 1, self.width() + 8, height - 2), t.accent)


class MoreRows(QWidget):
    """Groups of rows behind a line that opens them; nothing of them exists before it was opened."""

    row_made = Signal(object)

    def __init__(
        self, title: str, groups: Callable[[], Iterable[RowGroup]], said: Callable[[int], str]
    ) -> None:
        super().__init__()
        self._said = said  # the summary for a number of fields that differ from their defaults
        self._scenario: Scenario | None = None
        self.head = MoreHead(title)
        self.head.toggled.connect(lambda: self.set_open(not self.head.open))
        self.groups = list(groups())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        for group in self.groups:
            group.hide()
            group.row_made.connect(self.row_made)
            column.addWidget(group)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def rows(self) -> list[FieldRow]:
        """The rows made so far."""
        return [row for group in self.groups for row in group.rows]

    def set_open(self, shown: bool) -> None:
        """Show or hide the rows."""
        if shown != self.head.open:
            self.head.open = shown
            self.head.update()
            if self._scenario is not None:
                self.refresh(self._scenario)

    def refresh(self, scenario: Scenario) -> None:
        """Follow the scenario."""
        self._scenario = scenario
        count = sum(group.differing(scenario) for group in self.groups)
        self.head.set_summary(self._said(count))
        self.setVisible(any(group.any_wanted(scenario) for group in self.groups))
        for group in self.groups:
            if self.head.open:
                group.refresh(scenario)
            else:
                group.hide()

    def knows(self, path: str, scenario: Scenario) -> bool:
        """Whether it has a row for the field, opened or not."""
        return any(group.knows(path, scenario) for group in self.groups)
