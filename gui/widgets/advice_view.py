"""Changes that help, ranked, each with its computed effect."""

import math
import time

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QCursor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QScrollArea, QWidget

from core.planning.suggestion import Suggestion, lead
from core.words import Words, counted
from gui.theme import manager, theme
from gui.widgets import paint
from gui.widgets.advice_content import suggestion_text
from gui.widgets.advice_item import AdviceItem
from gui.widgets.link_button import RING, LinkButton
from gui.widgets.scrolling import bring_into_sight
from gui.widgets.small_print import Print

_EDGE = 16
HEAD = 36
_LEAST_NAMES = 44
# Suggestions that cost money: a single change each, where a search tries every device and number.
_BOUGHT = frozenset(("other_device", "machine", "more_devices", "second_copy"))


class _List(QWidget):
    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().canvas)


class AdviceView(QWidget):
    """Head with the count, then the suggestions; as many in sight as have room, the rest scroll.

    ``pointed`` carries the suggestion under the pointer, None when there is none; ``applied`` the one
    to take.
    """

    pointed = Signal(object)
    applied = Signal(object)
    why_asked = Signal()
    search_asked = Signal()  # other hardware, all of it
    explain = Signal(str, QWidget)  # word of the glossary, link that was pressed
    changed = Signal()  # there is other content, which may need another height

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._suggestions: tuple[Suggestion, ...] = ()
        self._state = ""  # of the verdict; "": nothing worked out yet
        self._setting = ""
        self._searching = False
        self._items: list[AdviceItem] = []
        self._pointed: AdviceItem | None = None
        self._in_sight = 0
        self._stale = False
        self._takeable = True  # they are those of the scenario that is set
        self._taken_at = -math.inf  # s, when one was last applied
        self._changing = False
        self._focused = 0  # the suggestion whose button had the focus before it went
        self.setObjectName("advice")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.why = LinkButton(parent=self)
        self.why.clicked.connect(self.why_asked)
        self.why.hide()
        self._list = _List()
        self._lead = Print(self._list, "ink2")
        self._empty = Print(self._list, "ink2")
        self._foot = Print(self._list)
        self.search = LinkButton(parent=self._list)
        self.search.clicked.connect(self.search_asked)
        self.search.hide()
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(self._list)
        self._scroll.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        manager.changed.connect(self._lay_out)
        self.setAccessibleName(words("advice.title"))

    # -- content ---------------------------------------------------------------------------------

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What is shown, best first."""
        return self._suggestions

    @property
    def items(self) -> list[AdviceItem]:
        """The suggestions as widgets."""
        return self._items[: len(self._suggestions)]

    @property
    def lead_text(self) -> str:
        """What is said above the suggestions, "" where nothing is."""
        return self._lead.text

    def show_advice(
        self, suggestions: tuple[Suggestion, ...], state: str, setting: str, searching: bool = False
    ) -> None:
        """Show suggestions for a scenario whose verdict is ``state``; ``setting``: the usual choice.

        ``searching``: others may come.  Where none has, only that is said.
        """
        same = self._searching and [*map(id, suggestions)] == [*map(id, self._suggestions)]
        same = same and self._takeable
        self._takeable = True
        self._suggestions, self._state, self._setting = suggestions, state, setting
        self._searching = searching
        if same and not self._stale:
            self._say_lead()
            self._lay_out()
            return
        self._stale = False
        if self._pointed is not None:
            self._leave(self._pointed)
        self._hold_focus()
        self._changing = True
        self._fill()
        self._scroll.verticalScrollBar().setValue(0)
        self._changing = False
        for item in self._items:
            item.rest_pointer(QCursor.pos())
        self._give_focus_back()

    def offer_why(self, offered: bool) -> None:
        """Whether there are symptoms to explain."""
        self.why.setVisible(offered)

    def hold(self) -> None:
        """The scenario has changed: until its own suggestions are there none can be taken."""
        if self._takeable:
            self._takeable = False
            self._hold_focus()
            self._enable()

    def set_stale(self, stale: bool) -> None:
        """The suggestions are older than the scenario: they are grey, and none can be taken."""
        self._stale = stale
        if stale:
            self._hold_focus()
        for item in self.items:
            item.set_muted(stale)
        self._enable()
        self.update(0, 0, self.width(), theme().px(HEAD))

    def _enable(self) -> None:
        for item in self.items:
            item.button.setEnabled(self._takeable and not self._stale)

    def _apply(self, suggestion: Suggestion) -> None:
        """The second click of a double click would meet another suggestion at the same place."""
        now = time.monotonic()
        if (now - self._taken_at) * 1e3 > QApplication.doubleClickInterval():
            self._taken_at = now
            self.applied.emit(suggestion)

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        self.setAccessibleName(words("advice.title"))
        self._fill()

    def _fill(self) -> None:
        w = self._words
        self.why.setText(w("side.why"))
        self.why.setAccessibleName(w("side.why_spoken"))
        self.why.setToolTip(w("side.why_spoken"))
        self.search.setText(w("side.cheaper"))
        self.search.setToolTip(w("side.cheaper_tip"))
        self.search.setVisible(any(suggestion.key in _BOUGHT for suggestion in self._suggestions))
        texts = [suggestion_text(suggestion, w) for suggestion in self._suggestions]
        names = [paint.width(theme().font("body"), e.name) for text in texts for e in text.effects]
        column = max([theme().px(_LEAST_NAMES), *names])
        while len(self._items) < len(texts):
            item = AdviceItem(self._list)
            item.pointed.connect(self._point)
            item.left.connect(self._leave)
            item.applied.connect(self._apply)
            item.explain.connect(self.explain)
            item.button.installEventFilter(self)
            self._items.append(item)
        for index, item in enumerate(self._items):
            if index < len(texts):
                item.names_width = column
                spoken = w("side.apply", title=texts[index].title)
                item.set_content(self._suggestions[index], texts[index], w("advice.apply"), spoken)
                item.set_muted(self._stale)
            item.setVisible(index < len(texts))
        self._enable()
        nothing = ""
        if not texts and self._state:
            nothing = w("advice.none" if self._state == "good" else "advice.none_helps")
        self._empty.set_text(nothing)
        self._empty.setVisible(bool(nothing))
        self._say_lead()
        self._foot.set_text(self._setting)
        self._foot.setVisible(bool(self._setting))
        self._lay_out()
        self.changed.emit()

    def _say_lead(self) -> None:
        above = lead(self._state, self._suggestions, self._searching)
        self._lead.set_text("" if above is None else self._words.phrase(above))
        self._lead.setVisible(above is not None)

    def count_text(self) -> str:
        """The words at the right of the head."""
        n, w = len(self._suggestions), self._words
        if self._stale:
            return w("plots.updating")
        if not n:
            return ""
        if self._in_sight < n:
            return w("side.some", shown=self._in_sight, count=n)
        key = "side.fits" if self._state == "bad" else "advice.count"
        return w.phrase(counted(key, n))

    # -- pointer ---------------------------------------------------------------------------------

    def _point(self, item: AdviceItem) -> None:
        self._pointed = item
        self.pointed.emit(item.suggestion)

    def _leave(self, item: AdviceItem) -> None:
        if item is self._pointed:
            self._pointed = None
            self.pointed.emit(None)

    def _on_scrolled(self) -> None:
        """Another suggestion is below the pointer, which has not moved: Qt tells nobody."""
        if self._scroll.viewport().underMouse() and not self._changing:
            for item in self.items:
                item.follow_pointer(QCursor.pos())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A button that gets the focus brings its suggestion into sight."""
        if event.type() == QEvent.Type.FocusIn:
            for item in self.items:
                if item.button is watched:
                    bring_into_sight(self._scroll, item)
        return False

    # -- focus -----------------------------------------------------------------------------------

    def _hold_focus(self) -> None:
        """A button that is muted or goes would pass the focus on to whatever comes next in the window."""
        for index, item in enumerate(self._items):
            if item.button.hasFocus():
                self._focused = index
                self.setFocus()

    def _give_focus_back(self) -> None:
        """To the suggestion that has the place now."""
        if self.hasFocus() and self.items:
            self.items[min(self._focused, len(self._suggestions) - 1)].button.setFocus()

    # -- layout ----------------------------------------------------------------------------------

    def height_within(self, width: int, room: int, most: int) -> int:
        """The height for whole suggestions in ``room``, at least one and at most ``most`` of them."""
        self._place(width)
        head = theme().px(HEAD)
        items = self.items
        if not items:
            return head + self._list.height()
        end, shown = 0, 0
        for index, item in enumerate(items):
            bottom = item.geometry().bottom() + 1
            if index and (index >= most or head + bottom > room):
                break
            end, shown = bottom, index + 1
        if shown == len(items):
            end = self._list.height() if head + self._list.height() <= room else end
        self._in_sight = shown
        return head + end

    def _place(self, width: int) -> None:
        y = 0
        parts: list[AdviceItem | Print] = [self._lead, *self.items, self._empty, self._foot]
        for part in parts:
            if part is self._foot and y and part.text:
                y += theme().px(8)
            high = part.layout_for(width) if not part.isHidden() else 0
            if high:
                part.setGeometry(0, y, width, high)
            y += high
        if not self.search.isHidden():
            y += 0 if self._foot.isHidden() else theme().px(4)
            size = self.search.sizeHint()
            # Its words, not the ring around them, begin where all texts do.
            self.search.setGeometry(_EDGE - RING, y, size.width(), size.height())
            y += size.height() + theme().px(8)
        self._list.setFixedSize(width, max(1, y))

    def _lay_out(self) -> None:
        self._place(max(160, self.width()))
        head = theme().px(HEAD)
        title = paint.width(theme().font("body_semibold"), self._words("advice.title"))
        size = self.why.sizeHint()
        left = _EDGE + round(title) + theme().px(8)
        middle = theme().px(24)  # of the title's line
        self.why.setGeometry(left, round(middle - size.height() / 2), size.width(), size.height())
        self._scroll.setGeometry(0, head, self.width(), max(0, self.height() - head))
        self._count()
        self.update()

    def _count(self) -> None:
        room = self._scroll.height() + 1
        self._in_sight = sum(item.geometry().bottom() < room for item in self.items)

    def resizeEvent(self, _event: QResizeEvent) -> None:
        """Other widths break lines elsewhere."""
        self._lay_out()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground, title, count."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            box = QRectF(_EDGE, t.px(14), self.width() - 2 * _EDGE, t.px(20))
            title, count = self._words("advice.title"), self.count_text()
            paint.text(painter, box, title, t.font("body_semibold"), t.ink)
            paint.text(painter, box, count, t.font("caption"), t.ink3, paint.RIGHT)
