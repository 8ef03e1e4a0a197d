"""The command palette: one box that finds commands, fields, models, GPUs, samples and files."""

from dataclasses import dataclass, replace

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from core.words import Words
from gui import icons
from gui.palette.match import Match, match
from gui.palette.sources import Entry, Kind, Sources
from gui.theme import Role, manager, theme
from gui.widgets import paint

_WIDE, _ROW, _MOST_ROWS, _EDGE = 520, 30, 11, 5
_WIDER = 740  # where an answer would be cut: at once, so that what is typed moves once
_ANSWERS = 3  # rows that tell what was understood
_MOST_FOUND = 60
_BEFORE_PARTLY = 4  # hits before a question of which words were not understood
_COMMANDS_ONLY = ">"
_OWN = ("command", "field", "engine")  # what the program itself has a name for
_MOST_TYPED = 200
_LONGEST = 16_384  # of a pasted command or configuration
_ICONS: dict[Kind, str] = {
    "command": "chevron_right",
    "field": "sliders",
    "engine": "sliders",
    "model": "layers",
    "gpu": "chip",
    "sample": "new",
    "file": "open",
    "unread": "help",
}


@dataclass(frozen=True, slots=True)
class Found:
    """An entry with the letters of its name that were typed."""

    entry: Entry
    places: frozenset[int] = frozenset()


class Palette(QWidget):
    """Opens over the toolbar's search box; Enter runs, Escape and a click elsewhere close."""

    def __init__(self, words: Words, sources: Sources, window: QWidget) -> None:
        super().__init__(window)
        self._words = words
        self._sources = sources
        self._entries: list[Entry] = []
        self._before: QWidget | None = None
        self._anchor: QWidget | None = None
        self.setObjectName("palette")
        self.setAccessibleName(words("actions.search"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.box = QLineEdit(self)
        self.box.setAccessibleName(words("actions.search"))
        self.box.setPlaceholderText(words("palette.placeholder"))
        self.box.setMaxLength(_LONGEST)
        self.box.textEdited.connect(self._search)
        self.box.installEventFilter(self)
        self.list = ResultList(words, self)
        self.list.chosen.connect(self._run)
        column = QVBoxLayout(self)
        column.setContentsMargins(_EDGE, _EDGE, _EDGE, _EDGE)
        column.setSpacing(_EDGE)
        column.addWidget(self.box)
        column.addWidget(self.list)
        manager.changed.connect(self._place)
        self.hide()

    # -- opening ---------------------------------------------------------------------------------

    def open_at(self, anchor: QWidget, prefix: str = "") -> None:
        """Open over a widget with something typed already."""
        if self.isHidden():
            self._before = QApplication.focusWidget()
        self._anchor = anchor
        self._entries = self._sources.entries()
        self.box.setText(prefix)
        self._search(prefix)
        self.show()
        self.raise_()
        self._place()
        self.box.setFocus(Qt.FocusReason.ShortcutFocusReason)
        app = QApplication.instance()
        if app is not None:
            app.installEventFilter(self)

    def close_palette(self, give_back: bool = True) -> None:
        """Close; the focus goes back to where it was."""
        if self.isHidden():
            return
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        self.hide()
        before, self._before = self._before, None
        window = self.parentWidget()
        if give_back and window is not None:
            (before or window).setFocus(Qt.FocusReason.OtherFocusReason)

    def _place(self) -> None:
        window = self.parentWidget()
        if window is None or self._anchor is None:
            return
        t = theme()
        rows = min(max(1, self.list.count()), self._rows_that_fit(window))
        high = t.px(28) + rows * t.px(_ROW) + 3 * _EDGE
        wanted = self.list.answers_width() + 2 * _EDGE
        wide = t.px(_WIDE) if wanted <= t.px(_WIDE) else max(t.px(_WIDER), wanted)
        wide = min(wide, window.width() - 16)
        corner = self._anchor.mapTo(window, QPoint(self._anchor.width(), 0))
        right = min(corner.x() + _EDGE, window.width() - 8)
        self.setGeometry(QRect(max(8, right - wide), max(2, corner.y() - _EDGE), wide, high))

    def _rows_that_fit(self, window: QWidget) -> int:
        return max(3, min(_MOST_ROWS, (window.height() - theme().px(140)) // theme().px(_ROW)))

    # -- finding ---------------------------------------------------------------------------------

    def results(self) -> list[Entry]:
        """What is listed."""
        return [found.entry for found in self.list.found]

    def _search(self, text: str) -> None:
        self.list.show_found(self.find_all(text), self._words("palette.nothing"))
        if not self.isHidden():
            self._place()

    def find_all(self, text: str) -> list[Found]:
        """What answers a text, the best first."""
        query = text.strip()
        commands = query.startswith(_COMMANDS_ONLY)
        query = query.removeprefix(_COMMANDS_ONLY).strip()
        if not query:
            if commands:
                return [Found(entry) for entry in self._entries if entry.kind == "command" and entry.enabled]
            return [Found(entry) for entry in self._sources.first()]
        pasted = None if commands else self._sources.pasted(query)
        if pasted is not None:
            return [Found(pasted)]
        if len(query) > _MOST_TYPED:
            return []
        ranked: list[tuple[float, int, Found]] = []
        pool = [
            entry for entry in self._entries if entry.enabled and (entry.kind == "command" or not commands)
        ]
        asked = [] if commands else self._sources.asked(query)
        partly = any(entry.kind == "unread" for entry in asked)
        clear = bool(asked) and not partly  # what is meant is no name of the catalogue
        for number, entry in enumerate(pool):
            found = self._fit(query, entry)
            if found is not None:
                clear = clear or (found.whole and entry.kind in _OWN)
                places = frozenset(place for place in found.places if place < len(entry.name))
                ranked.append((-found.score - entry.liked, number, Found(entry, places)))
        if not commands:
            for number, entry in enumerate(self._sources.hits(query)):
                found = match(query, entry.name)  # the catalogue finds more: aliases, other spellings
                if clear and not (found is not None and found.whole):
                    continue
                score = found.score if found is not None else 2.0
                places = frozenset(found.places) if found is not None else frozenset()
                ranked.append((-score - entry.liked + 0.05 * number, number, Found(entry, places)))
        ranked.sort(key=lambda item: item[:2])
        stated = None if commands else self._sources.stated(query)
        hits = [found for _, _, found in ranked]
        if partly and hits:  # all of it is known as something else
            return [*hits[:_BEFORE_PARTLY], *map(Found, asked), *hits[_BEFORE_PARTLY:]][:_MOST_FOUND]
        first = [Found(entry) for entry in (stated, *asked) if entry is not None]
        return [*first, *hits][:_MOST_FOUND]

    def _fit(self, query: str, entry: Entry) -> Match | None:
        """Within the name, else within all that is known of it."""
        found = match(query, entry.name)
        if found is not None:
            return found
        wider = match(query, f"{entry.name} {entry.context} {entry.also}")
        scattered = None if wider is None else replace(wider, score=wider.score - 4.0)
        # Other words for it count from their start: scattered letters are found in any heap of words.
        heap = f" {entry.context} {entry.words} {entry.also} {entry.name}".lower()
        asked = query.lower().split()
        if asked and all(f" {word}" in heap or (not word.isascii() and word in heap) for word in asked):
            in_name = sum(len(word) for word in asked if word in entry.name.lower())
            called = Match(1.5 * len(query) + in_name, ())
            return called if scattered is None or called.score > scattered.score else scattered
        return scattered

    def _run(self, index: int) -> None:
        if 0 <= index < len(self.list.found):
            entry = self.list.found[index].entry
            self.close_palette(give_back=entry.kind != "field")
            # After this event: what runs may open a menu or take the focus.
            QTimer.singleShot(0, entry.run)

    # -- keys and pointer ------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys of the list while the box has the focus; a press elsewhere closes."""
        if self.isHidden():
            return False
        if watched is self.box and event.type() in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride):
            return isinstance(event, QKeyEvent) and self._key(event)
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            inside = isinstance(watched, QWidget) and (watched is self or self.isAncestorOf(watched))
            if not inside and isinstance(watched, QWidget):
                self.close_palette(give_back=False)
        elif event.type() == QEvent.Type.Resize and watched is self.parentWidget():
            self._place()
        elif event.type() == QEvent.Type.FocusIn and self._is_other(watched):
            self.close_palette(give_back=False)
        return False

    def _is_other(self, watched: QObject) -> bool:
        return isinstance(watched, QWidget) and watched is not self.box and watched.window() is self.window()

    def _key(self, event: QKeyEvent) -> bool:
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: _MOST_ROWS - 1,
            Qt.Key.Key_PageUp: 1 - _MOST_ROWS,
        }
        key = Qt.Key(event.key())
        plain = key in steps or key in (
            Qt.Key.Key_Return,
            Qt.Key.Key_Enter,
            Qt.Key.Key_Escape,
            Qt.Key.Key_Tab,
        )
        if event.type() == QEvent.Type.ShortcutOverride:
            if plain:
                event.accept()
            return plain
        if key in steps:
            self.list.step(steps[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(self.list.current)
        elif key in (Qt.Key.Key_Escape, Qt.Key.Key_Tab):
            self.close_palette()
        else:
            return False
        self.box.setAccessibleDescription(self.list.spoken())
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised plate with an edge."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillRect(self.rect(), t.side if self.y() < t.px(48) else t.canvas)
            painter.setPen(QPen(t.control, 1))
            painter.setBrush(t.raised)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 8, 8)


class ResultList(QWidget):
    """The rows; the current one is marked, the pointer marks too."""

    chosen = Signal(int)

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        self.found: list[Found] = []
        self.current = -1
        self._first = 0
        self._nothing = ""
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def count(self) -> int:
        """Rows there are."""
        return len(self.found)

    def show_found(self, found: list[Found], nothing: str) -> None:
        """List entries, the first one marked."""
        self.found, self._nothing = found, nothing
        self.current = 0 if found else -1
        self._first = 0
        self.update()

    def spoken(self) -> str:
        """The marked row, for screen readers."""
        if not 0 <= self.current < len(self.found):
            return self._nothing
        entry = self.found[self.current].entry
        return " ".join(part for part in (entry.context, entry.name, entry.detail) if part)

    def sizeHint(self) -> QSize:
        """As high as the palette gives."""
        return QSize(theme().px(_WIDE), theme().px(_ROW) * min(max(1, self.count()), _MOST_ROWS))

    def answers_width(self) -> int:
        """What the answers to a question take: they have no detail, and their ends say as much as all."""
        t = theme()
        widest = 0.0
        for entry in (found.entry for found in self.found[:_ANSWERS]):
            if entry.context and not entry.detail:
                said = self._words("palette.within", place=entry.context)
                name = paint.width(t.font("body_semibold"), entry.name)
                widest = max(widest, paint.width(t.font("body"), said) + 6 + name)
        return round(widest) + 10 + t.px(14) + 10 + 12

    def minimumSizeHint(self) -> QSize:
        """A row."""
        return QSize(100, theme().px(_ROW))

    def _rows(self) -> int:
        return max(1, self.height() // theme().px(_ROW))

    def step(self, by: int) -> None:
        """Mark another row; past the ends it goes round, but only by single steps."""
        count = len(self.found)
        if not count:
            return
        wanted = self.current + by
        self.current = wanted % count if abs(by) == 1 else min(max(wanted, 0), count - 1)
        self._first = min(max(self._first, self.current - self._rows() + 1), self.current)
        self.update()

    def _at(self, y: float) -> int:
        index = self._first + int(y // theme().px(_ROW))
        return index if 0 <= index < len(self.found) else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """The pointer marks."""
        index = self._at(event.position().y())
        if index >= 0 and index != self.current:
            self.current = index
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """And runs."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.chosen.emit(self._at(event.position().y()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Nothing goes through to what lies below."""
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the rows."""
        most = max(0, len(self.found) - self._rows())
        self._first = min(max(self._first + (-3 if event.angleDelta().y() > 0 else 3), 0), most)
        event.accept()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Icon, context, name with the typed letters in bold, detail."""
        t = theme()
        with QPainter(self) as painter:
            if not self.found:
                box = QRectF(10, 0, self.width() - 20, t.px(_ROW))
                paint.text(painter, box, self._nothing, t.font("body"), t.ink3)
            for place in range(self._rows()):
                index = self._first + place
                if index >= len(self.found):
                    break
                self._row(
                    painter, self.found[index], QRectF(0, place * t.px(_ROW), self.width(), t.px(_ROW)), index
                )
            more = len(self.found) - self._rows()
            if more > 0:
                share = self._rows() / len(self.found)
                room = self.height() * (1 - share)
                top = room * self._first / more
                painter.fillRect(QRectF(self.width() - 3, top, 3, self.height() * share), t.line2)

    def _row(self, painter: QPainter, found: Found, box: QRectF, index: int) -> None:
        t, entry = theme(), found.entry
        if index == self.current:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.accent_soft)
            painter.drawRoundedRect(box, 4, 4)
            painter.fillRect(QRectF(box.left(), box.top() + 4, 2, box.height() - 8), t.accent)
        size = t.px(14)
        at = QPointF(box.left() + 10, round(box.center().y() - size / 2))
        icons.draw(painter, _ICONS[entry.kind], at, t.ink3, size)
        inner = box.adjusted(10 + size + 10, 0, -12, 0)
        painter.setFont(t.font("caption"))
        detail = painter.fontMetrics().elidedText(
            entry.detail, Qt.TextElideMode.ElideMiddle, round(inner.width() / 2.4)
        )
        used = paint.text(painter, inner, detail, t.font("caption"), t.ink3, paint.RIGHT) if detail else 0.0
        inner.setRight(inner.right() - used - (12 if detail else 0))
        if entry.context:
            said = self._words("palette.within", place=entry.context)
            taken = paint.text(painter, inner, said, t.font("body"), t.ink3)
            inner.setLeft(inner.left() + taken + 6)
        self._name(painter, inner, entry.name, found.places)

    def _name(self, painter: QPainter, box: QRectF, name: str, places: frozenset[int]) -> None:
        """Runs of plain and bold letters."""
        t = theme()
        start = 0
        while start < len(name) and box.width() > 4:
            bold = start in places
            end = start + 1
            while end < len(name) and (end in places) == bold:
                end += 1
            role: Role = "body_semibold" if bold else "body"
            run = name[start:end]
            wide = paint.width(t.font(role), run)
            paint.text(painter, box, run, t.font(role), t.ink)
            box.setLeft(box.left() + wide)
            start = end
