"""A sheet over the plots: verdict and cards stay in sight, so every edit shows what it does."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.words import Words
from gui.icons import icon
from gui.theme import Role, manager, theme
from gui.widgets import paint

GUTTER = 24
GAP = 32
HEAD = 44
_TWO_COLUMNS_BELOW = 860


class Text(QLabel):
    """A plain text in a role and a colour of the theme."""

    def __init__(self, role: Role, token: str, text: str = "", wrap: bool = False) -> None:
        super().__init__(text)
        self._role: Role = role
        self._token = token
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        manager.changed.connect(self.restyle)
        self.restyle()

    def restyle(self) -> None:
        """Take the theme in use."""
        t = theme()
        self.setFont(t.font(self._role))
        palette = self.palette()
        palette.setColor(palette.ColorRole.WindowText, getattr(t, self._token))
        self.setPalette(palette)


class _Body(QWidget):
    """The scrolled part; paints its own ground."""

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().canvas)


class Sheet(QWidget):
    """Title, actions, and columns that scroll together.  ``closed`` after Escape or the cross."""

    closed = Signal()

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent)
        self.words = words
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._columns: list[QWidget] = []
        self._wide: bool | None = None
        self.title = Text("body_semibold", "ink")
        self.badge = Text("caption_medium", "warn")
        self.caption = Text("caption", "ink3")
        self.caption.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._close = QToolButton(self)
        self._close.setAccessibleName(words("sheet.close"))
        self._close.setToolTip(words("sheet.close_help"))
        self._close.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._close.clicked.connect(self.close_sheet)
        self._head = QWidget(self)
        row = self._row = QHBoxLayout(self._head)
        row.setContentsMargins(GUTTER, 0, GUTTER - 6, 0)
        row.setSpacing(10)
        row.addWidget(self.title)
        row.addWidget(self.badge)
        row.addWidget(self.caption, 1)
        row.addWidget(self._close)
        body = _Body()
        self._grid = QGridLayout(body)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(20)
        self._scroll = QScrollArea(self)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setWidget(body)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head)
        column.addWidget(self._scroll, 1)
        manager.changed.connect(self.restyle)
        self.restyle()

    def add_action(self, widget: QWidget) -> None:
        """Put an action before the cross."""
        self._row.insertWidget(self._row.count() - 1, widget)

    def set_columns(self, columns: Sequence[Sequence[QWidget]]) -> None:
        """Fill the sheet, one list a column from the left."""
        for widgets in columns:
            holder = QWidget()
            inner = QVBoxLayout(holder)
            inner.setContentsMargins(0, 0, 0, 0)
            inner.setSpacing(20)
            for widget in widgets:
                inner.addWidget(widget)
            inner.addStretch(1)
            self._columns.append(holder)
        self._place()

    def _place(self) -> None:
        """Three columns where there is room, else the last two below one another."""
        wide = self.width() >= theme().px(_TWO_COLUMNS_BELOW)
        if wide == self._wide or not self._columns:
            return
        self._wide = wide
        while self._grid.count():
            self._grid.takeAt(0)
        count = len(self._columns)
        for index, holder in enumerate(self._columns):
            if wide or count < 3:
                self._grid.addWidget(holder, 0, index, 3, 1)
            elif index == 0:
                self._grid.addWidget(holder, 0, 0, 3, 1)
            else:
                self._grid.addWidget(holder, index - 1, 1)
        for column in range(3):
            used = column < (count if wide else min(2, count))
            self._grid.setColumnStretch(column, (0 if column == 0 and count > 1 else 1) if used else 0)
        self._grid.setRowStretch(2, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fewer columns where it is narrow."""
        super().resizeEvent(event)
        self._place()

    def restyle(self) -> None:
        """Take the theme in use."""
        t = theme()
        self._head.setFixedHeight(t.px(HEAD))
        self._close.setIcon(icon("close"))
        self._close.setFixedSize(t.px(28), t.px(28))
        self._close.setIconSize(QSize(t.px(16), t.px(16)))
        self._grid.setContentsMargins(GUTTER, t.px(8), GUTTER, t.px(16))
        self._wide = None
        self._place()
        self.update()

    def close_sheet(self) -> None:
        """Give the plots back."""
        self.hide()
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.close_sheet()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, and a hairline below the head."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.canvas)
            y = self._head.height() - 1
            paint.hairline(painter, GUTTER, y, self.width() - GUTTER, y, t.line)


class Place(QObject):
    """Keeps sheets over the part of a workspace that lies below a widget of its centre."""

    def __init__(self, workspace: QWidget, above: QWidget) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._above = above  # stays in sight
        self._sheets: list[Sheet] = []
        for watched in (workspace, above):
            watched.installEventFilter(self)

    def add(self, sheet: Sheet) -> None:
        """Look after a sheet too."""
        self._sheets.append(sheet)

    def remove(self, sheet: Sheet) -> None:
        """Look after it no longer."""
        self._sheets.remove(sheet)

    def settle(self) -> None:
        """Put the sheets where they belong."""
        corner = self._above.mapTo(self._workspace, self._above.rect().bottomLeft())
        top = corner.y() + 1
        room = QRect(corner.x(), top, self._above.width(), self._workspace.height() - top)
        for sheet in self._sheets:
            if not sheet.isHidden():
                sheet.setGeometry(room)
                sheet.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The place moves with the window, the forms and the messages."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self.settle()
        return False
