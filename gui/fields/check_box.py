"""A box to tick, in the colours of the theme: the style's own has no visible edge on a dark ground."""

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox

from gui import icons
from gui.theme import theme
from gui.widgets import paint

_BOX, _GAP = 16, 8


class CheckBox(QCheckBox):
    """16 px with its words beside it."""

    def sizeHint(self) -> QSize:
        """Box, gap and words."""
        t = theme()
        words = round(paint.width(t.font("body"), self.text())) + 1
        return QSize(t.px(_BOX + _GAP) + words + 2, t.px(24))

    def minimumSizeHint(self) -> QSize:
        """All of it."""
        return self.sizeHint()

    def hitButton(self, pos: QPoint) -> bool:
        """Box and words alike."""
        return self.rect().contains(pos)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Edge and ground, tick, words."""
        t = theme()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            side = t.px(_BOX)
            box = QRectF(1, round((self.height() - side) / 2), side, side)
            on, live, focused = self.isChecked(), self.isEnabled(), self.hasFocus()
            wide = 2.0 if focused else 1.0
            hovered = t.ink2 if self.underMouse() else t.control
            edge = t.accent if focused or (on and live) else hovered if live else t.line
            ground = (t.accent if on else t.field) if live else t.sunken
            painter.setPen(QPen(edge, wide))
            painter.setBrush(ground)
            inside = box.adjusted(wide / 2, wide / 2, -wide / 2, -wide / 2)
            painter.drawRoundedRect(inside, 4, 4)
            if on:
                if focused:  # the ring stands apart from the ground
                    painter.setPen(QPen(t.on_accent, 1))
                    painter.drawRoundedRect(box.adjusted(2.5, 2.5, -2.5, -2.5), 2, 2)
                size = t.px(12)
                at = QPointF(box.center().x() - size / 2, box.center().y() - size / 2)
                icons.draw(painter, "tick", at, t.on_accent if live else t.ink3, size)
            left = t.px(_BOX + _GAP) + 1
            room = QRectF(left, 0, self.width() - left, self.height())
            paint.text(painter, room, self.text(), t.font("body"), t.ink if live else t.ink3)
