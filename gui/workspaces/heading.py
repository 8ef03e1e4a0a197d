"""The head of a workspace: one sentence, one explaining line, and what can be chosen at the right."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gui.frame.sizes import GUTTER
from gui.theme import manager, theme
from gui.tips import plain
from gui.widgets import paint


class Heading(QWidget):
    """72 px, 60 when small.  Never wraps: where there is no room it is set smaller, and what is cut all the
    same is told by the tooltip.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._small = False
        self.headline = ""
        self.detail = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(GUTTER, 0, GUTTER, 0)
        self._row.setSpacing(12)
        self._row.addStretch(1)
        manager.changed.connect(self.updateGeometry)

    def event(self, event: QEvent) -> bool:
        """A button that comes or goes leaves another room: all is set anew, not the place it stood in."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.update()
        return super().event(event)

    def add(self, widget: QWidget) -> None:
        """Put something at the right."""
        self._row.addWidget(widget)

    def say(self, headline: str, detail: str) -> None:
        """Sentence and line."""
        if (headline, detail) != (self.headline, self.detail):
            self.headline, self.detail = headline, detail
            self.setAccessibleName(headline)
            self.setAccessibleDescription(detail)
            self.update()

    def set_small(self, small: bool) -> None:
        """Use the small height."""
        self._small = small
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Height by size class."""
        return QSize(600, theme().px(60 if self._small else 72))

    def minimumSizeHint(self) -> QSize:
        """May be narrow, never lower."""
        return QSize(super().minimumSizeHint().width(), self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Sentence, line, hairline."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            shown = (self._row.itemAt(i) for i in range(self._row.count()))
            widgets = [
                w for item in shown if item is not None and (w := item.widget()) is not None and w.isVisible()
            ]
            right = min([w.x() for w in widgets], default=self.width() - GUTTER + 16) - 16
            room = max(0, right - GUTTER)
            top, gap = (t.px(4), t.px(2)) if self._small else (t.px(10), t.px(3))
            line, second = t.px(28), t.px(20)
            large = paint.width(t.font("title20"), self.headline) <= room
            font = t.font("title20" if large else "body_semibold")
            cut = paint.width(font, self.headline) > room
            fits = paint.width(t.font("body"), self.detail) <= room
            line_font = t.font("body" if fits else "caption")
            tip = self.headline if cut else "" if paint.width(line_font, self.detail) <= room else self.detail
            if self.toolTip() != plain(tip):
                self.setToolTip(plain(tip))
            paint.text(painter, QRectF(GUTTER, top, room, line), self.headline, font, t.ink)
            box = QRectF(GUTTER, top + line + gap, room, second)
            paint.text(painter, box, self.detail, line_font, t.ink2)
            paint.hairline(painter, 0, self.height() - 1, self.width(), self.height() - 1, t.line)
