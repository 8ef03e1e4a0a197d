"""Which of two definitions a card uses: two abbreviations side by side, the one in use in ink.

Where there is no room for both the one in use stands alone, as the link that takes the other.
"""

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from core.words import Words
from gui.theme import Role, theme
from gui.widgets import paint
from gui.widgets.cell_text import Measure, Writer

DEFINITIONS = ("tpot", "itl")
_PAD, _BETWEEN = 4, 6


class DefinitionSwitch(QAbstractButton):
    """A click anywhere, Enter or Space takes the other definition."""

    chosen = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._current = DEFINITIONS[0]
        self._hint = ""
        self._ring = False
        self._alone = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(lambda: self.chosen.emit(self.other))
        self._tell()

    @property
    def current(self) -> str:
        """The definition in use."""
        return self._current

    @property
    def other(self) -> str:
        """The one that a click takes."""
        return DEFINITIONS[1 - DEFINITIONS.index(self._current)]

    def set_current(self, definition: str) -> None:
        """Show which one is in use."""
        if definition in DEFINITIONS:
            self._current = definition
            self._tell()
            self.update()

    def set_alone(self, alone: bool) -> None:
        """Show only the one in use."""
        if alone != self._alone:
            self._alone = alone
            self.update()

    def _shown(self, alone: bool) -> tuple[str, ...]:
        return (self._current,) if alone else DEFINITIONS

    def width_for(self, alone: bool) -> int:
        """How wide it is with only the one in use, or with both."""
        shown = self._shown(alone)
        width = Measure().width
        wide = sum(width("caption_semibold", self._name(key)) for key in shown)
        return round(wide) + theme().px(2 * _PAD + _BETWEEN * (len(shown) - 1)) + 1

    def set_hint(self, hint: str) -> None:
        """What the definition in use gives here, below its own words."""
        if hint != self._hint:
            self._hint = hint
            self._tell()

    def set_words(self, words: Words) -> None:
        """Switch the language."""
        self._words = words
        self._tell()
        self.update()

    def _name(self, definition: str) -> str:
        return self._words(f"cards.definitions.{definition}.short")

    def _tell(self) -> None:
        lines = [self._words(f"cards.definitions.{key}.text") for key in DEFINITIONS]
        own = lines[DEFINITIONS.index(self._current)]
        self.setToolTip("\n".join([own, self._hint] if self._hint else lines))
        self.setAccessibleName(
            self._words(
                "cards.definitions.switch", now=self._name(self._current), other=self._name(self.other)
            )
        )
        self.setAccessibleDescription(own)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring when the focus came by keyboard."""
        super().focusInEvent(event)
        self._ring = event.reason() in paint.KEYBOARD
        self.update()

    def sizeHint(self) -> QSize:
        """The abbreviations that are shown."""
        return QSize(self.width_for(self._alone), theme().px(20))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The one in use in ink, the other as a link."""
        t = theme()
        with QPainter(self) as painter:
            x = float(t.px(_PAD))
            write = Writer(painter)
            base = write.base_of("body", 0, self.height())
            for key in self._shown(self._alone):
                own = key == self._current
                role: Role = "caption_semibold" if own else "caption"
                is_link = self._alone or not own
                colour = t.accent_text if is_link else t.ink
                end = write.on_base(x, base, self._name(key), role, colour)
                if is_link and self.underMouse():
                    line = QRectF(x, base + 2, end - x, 1)
                    painter.fillRect(line, colour)
                x = end + t.px(_BETWEEN)
            if self.hasFocus() and self._ring:
                paint.focus_ring(painter, QRectF(self.rect()), t.accent, 4.0)

    def hitButton(self, position: QPoint) -> bool:
        """All of it."""
        return self.rect().contains(position)
