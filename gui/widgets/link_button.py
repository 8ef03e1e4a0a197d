"""A button that looks like a link and follows the theme for as long as it lives."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFocusEvent, QIcon
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from gui import icons
from gui.theme import manager, theme
from gui.widgets import paint

RING = 2  # px of the focus ring, which are there without it too


def flush(link: "LinkButton") -> QHBoxLayout:
    """A link whose words, not whose ring, begin where its neighbours do."""
    row = QHBoxLayout()
    row.addSpacing(-RING)
    row.addWidget(link, 0, Qt.AlignmentFlag.AlignLeft)
    return row


class LinkButton(QPushButton):
    """Small print in the link colour, with a chevron behind it when it opens a menu."""

    def __init__(self, text: str = "", chevron: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self._chevron = chevron
        if chevron:
            self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the icon behind the text
        self.setProperty("kind", "link")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        # A bound method, not a lambda: Qt forgets it together with the button.
        manager.changed.connect(self.restyle)
        self.restyle()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring for the keyboard, none after a click; a list that it opened leaves it as it was."""
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.setProperty("quiet", event.reason() not in paint.KEYBOARD)
            self.style().unpolish(self)
            self.style().polish(self)
        super().focusInEvent(event)

    def restyle(self) -> None:
        """Take the theme in use."""
        t = theme()
        self.setFont(t.font("caption_medium"))
        if self._chevron:
            side = t.px(12)
            drawing = icons.pixmap("chevron_down", t.accent_text, side, self.devicePixelRatioF())
            self.setIcon(QIcon(drawing))
            self.setIconSize(QSize(side, side))
