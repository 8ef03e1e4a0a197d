"""The search box of the toolbar: looks like an editor, opens the palette."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAction, QEnterEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gui import icons
from gui.fields.choice_edit import draw_editor
from gui.theme import theme
from gui.widgets import paint

_WIDE, _SMALL, _LEAST = 256, 200, 28


class SearchBox(QAbstractButton):
    """256 px, 200 when small; nothing but the glass where even that is too much."""

    def __init__(self, action: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = action
        self._small = False
        self._short = ""
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.clicked.connect(action.trigger)
        action.changed.connect(self._speak)
        self._speak()

    def _speak(self) -> None:
        self.setText(self._action.text().rstrip("…"))
        self.setAccessibleName(self.text())
        keys = self._action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        self.setToolTip(f"{self.text()} ({keys})" if keys else self.text())
        self.update()

    def set_short(self, text: str) -> None:
        """The words for where the longer ones and the keys do not fit."""
        self._short = text
        self.updateGeometry()
        self.update()

    def set_small(self, small: bool) -> None:
        """Less room in a small window."""
        self._small = small
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """28 px high; wider than usual for words that need it."""
        t = theme()
        text = (self._small and self._short) or self.text()
        words = round(paint.width(t.font("body"), text)) + t.px(14) + 28
        return QSize(max(t.px(_SMALL if self._small else _WIDE), words), t.px(28))

    def minimumSizeHint(self) -> QSize:
        """Only the glass."""
        return QSize(theme().px(_LEAST), theme().px(28))

    def _beside(self, text: str, keys: float) -> float:
        return paint.width(theme().font("body"), text) + keys + 10

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the edge of what is pointed at."""
        self.update()
        super().enterEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Edge, glass, words, keys."""
        t = theme()
        with QPainter(self) as painter:
            box = QRectF(self.rect())
            hovered = self.underMouse()
            draw_editor(painter, box, focused=self.hasFocus(), hovered=hovered, enabled=True, invalid=False)
            size = t.px(14)
            middle = round((self.height() - size) / 2)
            roomy = self.width() > t.px(80)
            left = 9.0 if roomy else round((self.width() - size) / 2)
            icons.draw(painter, "search", QPointF(left, middle), t.ink2, size)
            if roomy:
                keys = (
                    self._action.shortcut().toString(QKeySequence.SequenceFormat.NativeText).replace("+", " ")
                )
                inner = box.adjusted(9 + size + 7, 0, -10, 0)
                taken = paint.width(t.font("caption"), keys)
                shown = next(
                    (
                        text
                        for text in (self.text(), self._short)
                        if self._beside(text, taken) <= inner.width()
                    ),
                    "",
                )
                if shown:  # the keys are worth more than the longer words
                    paint.text(painter, inner, keys, t.font("caption"), t.ink3, paint.RIGHT)
                    inner.setRight(inner.right() - taken - 10)
                paint.text(painter, inner, shown or self.text(), t.font("body"), t.ink2)
