"""The page of shortcuts, made from the table of commands and from what the parts answer to."""

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QVBoxLayout, QWidget

from core.words import Words
from gui.actions import COMMANDS, ActionId
from gui.theme import manager, theme
from gui.widgets import paint

_LINE, _TITLE, _COLUMN, _GAP, _EDGE = 24, 32, 372, 36, 24
_CAP = 20
# Which commands stand together; what is in none of them follows at the end.
_GROUPS: tuple[tuple[str, tuple[ActionId, ...]], ...] = (
    (
        "go",
        (
            "search",
            "commands",
            "shortcuts",
            "show_estimate",
            "show_compare",
            "show_explore",
            "show_recommend",
            "show_simulate",
            "show_validate",
        ),
    ),
    ("scenario", ("undo", "redo", "pin", "paste")),
    ("file", ("new", "open", "save", "save_as")),
)
# Keys that are no commands: what the parts of the window answer to while they have the focus.
_PARTS: tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...] = (
    (
        "numbers",
        (("step", ("Up", "Down")), ("step_more", ("Shift+Up", "Shift+Down")), ("take_back", ("Esc",))),
    ),
    (
        "plots",
        (
            ("move", ("Left", "Right")),
            ("move_more", ("PgUp", "PgDown")),
            ("ends", ("Home", "End")),
            ("take_line", ("Space",)),
            ("move_line", ("Up", "Down")),
            ("unfold", ("Return",)),
        ),
    ),
    (
        "cards",
        (
            ("baseline", ("Space",)),
            ("open_pin", ("Return",)),
            ("rename", ("F2",)),
            ("reorder", ("Alt+Left", "Alt+Right")),
            ("remove", ("Del",)),
        ),
    ),
    (
        "map",
        (("cursor", ("Left", "Right", "Up", "Down")), ("faster", ("Shift+Left",)), ("go_there", ("Return",))),
    ),
    ("runs", (("tick", ("Space",)), ("tick_all", ("Ctrl+A",)), ("remove_runs", ("Del",)))),
)


@dataclass(frozen=True, slots=True)
class Group:
    """A title with lines of words and keys."""

    title: str
    lines: tuple[tuple[str, tuple[str, ...]], ...]


def groups(words: Words) -> list[Group]:
    """Everything that has a shortcut, in groups."""
    by_id = {command.id: command for command in COMMANDS if command.shortcuts}
    found = []
    for key, members in _GROUPS:
        lines = [_line(by_id.pop(name).id, words) for name in members if name in by_id]
        found.append(Group(words(f"shortcuts.groups.{key}"), tuple(lines)))
    if by_id:
        rest = tuple(_line(name, words) for name in by_id)
        found.append(Group(words("shortcuts.groups.other"), rest))
    for key, parts in _PARTS:
        lines = [(words(f"shortcuts.keys.{name}"), tuple(_native(k) for k in keys)) for name, keys in parts]
        found.append(Group(words(f"shortcuts.groups.{key}"), tuple(lines)))
    return found


def _line(key: ActionId, words: Words) -> tuple[str, tuple[str, ...]]:
    command = next(command for command in COMMANDS if command.id == key)
    return words(f"actions.{key}").rstrip("…"), tuple(_native(keys) for keys in command.shortcuts)


def _native(keys: str) -> str:
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


class ShortcutPage(QWidget):
    """A plate in the middle of the window; Escape or a press beside it closes."""

    def __init__(self, words: Words, window: QWidget) -> None:
        super().__init__(window)
        self._words = words
        self._before: QWidget | None = None
        self.setAccessibleName(words("actions.shortcuts"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.sheet = _Sheet(groups(words), words)
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self.sheet)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 52, 1, 8)
        column.addWidget(self._scroll)
        manager.changed.connect(self._place)
        self.hide()

    def toggle(self) -> None:
        """Open, or close."""
        if not self.isHidden():
            self.close_page()
            return
        self._before = QApplication.focusWidget()
        self._place()
        self.show()
        self.raise_()
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    def close_page(self) -> None:
        """Close; the focus goes back."""
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        self.hide()
        window, before = self.parentWidget(), self._before
        if window is not None:
            (before or window).setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        window = self.parentWidget()
        if window is None:
            return
        t = theme()
        top = t.px(52)
        columns = 2 if window.width() > t.px(2 * _COLUMN + _GAP + 2 * _EDGE + 40) else 1
        self.sheet.columns = columns
        wide = t.px(columns * _COLUMN + (columns - 1) * _GAP + 2 * _EDGE)
        high = min(top + 10 + self.sheet.wanted_height(), window.height() - t.px(64))
        self.layout().setContentsMargins(1, top, 1, 8)  # type: ignore[union-attr]
        self.sheet.setMinimumHeight(self.sheet.wanted_height())
        self.setGeometry((window.width() - wide) // 2, (window.height() - high) // 2, wide, high)
        self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A press elsewhere closes; the window's size matters."""
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(watched, QWidget):
            if not (watched is self or self.isAncestorOf(watched)):
                self.close_page()
        elif event.type() == QEvent.Type.Resize and watched is self.parentWidget():
            self._place()
        return False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape closes, arrows scroll."""
        bar = self._scroll.verticalScrollBar()
        step = {Qt.Key.Key_Down: 40, Qt.Key.Key_Up: -40, Qt.Key.Key_PageDown: 300, Qt.Key.Key_PageUp: -300}
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.close_page()
        elif key in step:
            bar.setValue(bar.value() + step[key])
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Nothing goes through."""
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Plate and title."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.raised)
            paint.frame(painter, QRectF(self.rect()), t.control)
            box = QRectF(_EDGE, 0, self.width() - 2 * _EDGE, t.px(52))
            paint.text(painter, box, self._words("actions.shortcuts"), t.font("title20"), t.ink)
            paint.text(painter, box, self._words("shortcuts.close"), t.font("caption"), t.ink3, paint.RIGHT)


class _Sheet(QWidget):
    """The groups in one or two columns."""

    def __init__(self, found: list[Group], words: Words) -> None:
        super().__init__()
        self.groups = found
        self.columns = 2
        told = "; ".join(f"{name} {' '.join(keys)}" for group in found for name, keys in group.lines)
        self.setAccessibleName(words("actions.shortcuts"))
        self.setAccessibleDescription(told)

    def _heights(self) -> list[int]:
        t = theme()
        return [t.px(_TITLE) + t.px(_LINE) * len(group.lines) + t.px(10) for group in self.groups]

    def _split(self) -> int:
        """How many groups stand in the first column."""
        heights = self._heights()
        if self.columns == 1:
            return len(heights)
        return min(range(1, len(heights)), key=lambda n: max(sum(heights[:n]), sum(heights[n:])))

    def wanted_height(self) -> int:
        """Of the longer column."""
        heights, split = self._heights(), self._split()
        return max(sum(heights[:split]), sum(heights[split:])) + 8

    def sizeHint(self) -> QSize:
        """As its columns need."""
        return QSize(theme().px(_COLUMN), self.wanted_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Titles, lines, keys as caps."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.raised)
            split, heights = self._split(), self._heights()
            wide = (self.width() - 2 * _EDGE - (self.columns - 1) * _GAP) / self.columns
            y = 0.0
            for index, group in enumerate(self.groups):
                if index == split:
                    y = 0.0
                x = _EDGE + (wide + _GAP if index >= split else 0)
                title = QRectF(x, y, wide, t.px(_TITLE))
                paint.text(painter, title, group.title, t.font("body_semibold"), t.ink)
                paint.hairline(painter, x, title.bottom() - 3, x + wide, title.bottom() - 3, t.line)
                for number, (name, keys) in enumerate(group.lines):
                    box = QRectF(x, title.bottom() + number * t.px(_LINE), wide, t.px(_LINE))
                    used = self._caps(painter, keys, box)
                    paint.text(painter, box.adjusted(0, 0, -used - 10, 0), name, t.font("body"), t.ink2)
                y += heights[index]

    def _caps(self, painter: QPainter, keys: tuple[str, ...], box: QRectF) -> float:
        """Keys from the right; returns what they take."""
        t = theme()
        font = t.font("caption_medium")
        right = box.right()
        for key in reversed(keys):
            wide = paint.width(font, key) + 12
            cap = QRectF(right - wide, round(box.center().y() - t.px(_CAP) / 2), wide, t.px(_CAP))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(t.line2, 1))
            painter.setBrush(t.sunken)
            painter.drawRoundedRect(cap.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
            paint.text(painter, cap, key, font, t.ink2, paint.CENTRE)
            right -= wide + 6
        return box.right() - right
