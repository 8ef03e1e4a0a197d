"""The verdict: a badge, one sentence, one explaining line."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from core.results import Estimate, Verdict
from core.words import Phrase, Words
from gui import icons
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint
from gui.widgets.cell_text import Writer

_ICONS = {"good": "circle_tick", "warn": "warn", "bad": "circle_x"}
MARGIN = 24
_TELLS_SPEED = ("verdict.good_no_target",)  # sentences that need no speeds below them


class VerdictView(QWidget):
    """72 px high, 60 when small.  Never wraps: what does not fit is said in fewer words, then elided."""

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._state = "good"
        self._headline = ""
        self._detail = ""
        self._brief = ("", "")  # in fewer words, for little room
        self._estimate: Estimate | None = None
        self._small = False
        self.held = False  # something typed is not in it
        self.setObjectName("verdict")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        manager.changed.connect(self.updateGeometry)

    @property
    def headline(self) -> str:
        """The sentence on screen."""
        return self._headline

    def show_estimate(self, estimate: Estimate) -> None:
        """Take over the verdict of an estimate."""
        self._estimate = estimate
        verdict = estimate.verdict
        detail = self._words.phrase(verdict.detail)
        if verdict.headline.key in _TELLS_SPEED:  # the line below says what the sentence does not
            detail = self._briefly(verdict)[1]
        shown = (verdict.state, self._words.phrase(verdict.headline), detail)
        if shown == (self._state, self._headline, self._detail):
            return
        self._state, self._headline, self._detail = shown
        self._brief = self._briefly(verdict)
        self._spoken()
        self.setToolTip("")
        self.update()

    def _spoken(self) -> None:
        self.setAccessibleName(self._headline)
        self.setAccessibleDescription(self._words("window.verdict_held") if self.held else self._detail)

    def set_held(self, held: bool) -> None:
        """A value that was typed is refused: this is no answer to it, so neither green nor in full ink."""
        if held != self.held:
            self.held = held
            self._spoken()
            self.update()

    def _briefly(self, verdict: Verdict) -> tuple[str, str]:
        """The same in fewer words: the detail without what the cards say too."""
        head, detail = verdict.headline, verdict.detail
        key = f"{head.key}_brief"
        headline = self._words(key, **head.values) if self._words.has(key) else self._headline
        values = detail.values
        rest = values.get("brief", values.get("limit", values.get("change")))
        return headline, self._words.phrase(rest) if isinstance(rest, Phrase) else self._detail

    def set_words(self, words: Words) -> None:
        """Speak another language."""
        self._words = words
        if self._estimate is not None:
            self.show_estimate(self._estimate)
        self._spoken()

    def set_small(self, small: bool) -> None:
        """Use the small height."""
        self._small = small
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Height by size class."""
        return QSize(600, theme().px(60 if self._small else 72))

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(200, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Badge, sentence, line."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            badge = t.px(40)
            left, height = MARGIN, self.height()
            box = QRectF(left, round((height - 1 - badge) / 2), badge, badge)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            state = "warn" if self.held else self._state
            painter.setPen(t.state(state) if t.name == "contrast" else Qt.PenStyle.NoPen)
            painter.setBrush(t.state_soft(state))
            painter.drawRoundedRect(box, 8, 8)
            size = t.px(24)
            at = box.center() - QPointF(size / 2, size / 2 + (1 if state == "warn" else 0))
            icons.draw(painter, _ICONS[state], at, t.state(state), size)
            x = left + badge + 14
            room = self.width() - x - MARGIN
            top, gap = (t.px(4), t.px(2)) if self._small else (t.px(10), t.px(3))
            line, second = t.px(28), t.px(20)
            headline, detail = self._headline, self._detail
            if self.held:
                detail = self._words("window.verdict_held")
            write = Writer(painter)
            long = write.width("title20", headline) > room
            longer = write.width("body", detail) > room
            headline = self._brief[0] if long else headline
            detail = self._brief[1] if longer and not self.held else detail
            told = f"{self._headline}\n{self._detail}" if long or longer else ""
            if self.toolTip() != plain(told):
                self.setToolTip(plain(told))
            ink = t.ink3 if self.held else t.ink
            write.text(QRectF(x, top, room, line), headline, "title20", ink)
            write.text(QRectF(x, top + line + gap, room, second), detail, "body", t.ink2)
            paint.hairline(painter, 0, height - 1, self.width(), height - 1, t.line)
