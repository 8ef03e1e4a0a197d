"""The manual in a window of its own: contents and search at the left, the page at the right."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QFontMetricsF, QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from core.manual import PAGES, find, title
from core.words import Words
from gui.help.page_view import PageView
from gui.icons import icon
from gui.theme import manager, theme

_FIRST = QSize(1040, 760)
_CONTENTS = 232
_BESIDE_TITLE = 64  # margins, the row's own padding, a scroll bar
_KEY = Qt.ItemDataRole.UserRole


class Manual(QWidget):
    """Opened at a page and a heading; keeps where it was in both languages."""

    def __init__(self, words: Words, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._words = words
        self.setWindowTitle(words("manual.title"))
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(words("manual.search"))
        self.search.setAccessibleName(words("manual.search"))
        self.search.setClearButtonEnabled(False)
        self._magnifier = self.search.addAction(icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.contents = QListWidget(self)
        self.contents.setAccessibleName(words("manual.contents"))
        self.contents.setProperty("plain", True)
        self.contents.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.contents.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view = PageView(words, self)
        left = QWidget(self)
        column = QVBoxLayout(left)
        column.setContentsMargins(12, 12, 8, 12)
        column.setSpacing(8)
        column.addWidget(self.search)
        column.addWidget(self.contents, 1)
        self._split = QSplitter(Qt.Orientation.Horizontal, self)
        self._split.setHandleWidth(1)
        self._split.addWidget(left)
        self._split.addWidget(self.view)
        self._split.setStretchFactor(1, 1)
        self._split.setChildrenCollapsible(False)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._split)
        self.search.textChanged.connect(self._fill)
        self.search.returnPressed.connect(self._next)
        self.contents.currentItemChanged.connect(self._choose)
        self.view.moved.connect(self._mark)
        for keys, run in (
            ("Ctrl+F", self.search.setFocus),
            ("Alt+Left", self.view.backward),
            ("Alt+Right", self.view.forward),
            ("Esc", self._leave),
        ):
            action = QAction(self)
            action.setShortcut(QKeySequence(keys))
            action.triggered.connect(lambda _=False, run=run: run())
            self.addAction(action)
        manager.changed.connect(self._restyle)
        self._restyle()
        self._fill("")
        self.resize((_FIRST * theme().scale).boundedTo(self.screen().availableSize()))
        wide = max(theme().px(_CONTENTS), self._widest_title())
        self._split.setSizes([wide, self.width() - wide])

    def open_at(self, key: str, heading: str = "") -> None:
        """Show a page, at a heading where one is named, and come to the front."""
        self.search.clear()
        self.show()  # first: a heading is found where the page is laid out as wide as it is seen
        self.view.go(key, heading)
        self.activateWindow()

    @property
    def key(self) -> str:
        """The page on show."""
        return self.view.key

    def _fill(self, text: str) -> None:
        """The contents, or the pages that hold what is sought."""
        keys = find(text, self._words)
        self.contents.blockSignals(True)
        self.contents.clear()
        for key in keys:
            item = QListWidgetItem(title(key, self._words))
            item.setData(_KEY, key)
            self.contents.addItem(item)
        self.contents.blockSignals(False)
        self._mark(self.view.key)
        self.view.set_sought(text)
        if text and keys and self.view.key not in keys:
            self.view.go(keys[0])
        self.view.find_first()

    def _widest_title(self) -> int:
        """Pixels of the left part in which no title is cut."""
        measure = QFontMetricsF(theme().font("body"))
        titles = (measure.horizontalAdvance(title(key, self._words)) for key in PAGES)
        return round(max(titles)) + theme().px(_BESIDE_TITLE)

    def _mark(self, key: str) -> None:
        """Show in the contents which page this is."""
        for index in range(self.contents.count()):
            if self.contents.item(index).data(_KEY) == key:
                self.contents.blockSignals(True)
                self.contents.setCurrentRow(index)
                self.contents.blockSignals(False)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is not None and item.data(_KEY) in PAGES:
            self.view.go(item.data(_KEY))

    def _next(self) -> None:
        """The next place on this page, or the next page that has one."""
        if self.view.find_next() or not self.contents.count():
            return
        row = (self.contents.currentRow() + 1) % self.contents.count()
        self.contents.setCurrentRow(row)
        self.view.find_first()

    def _leave(self) -> None:
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    def _restyle(self) -> None:
        t = theme()
        palette = self.palette()
        palette.setColor(palette.ColorRole.Window, t.side)
        self.setPalette(palette)
        self.search.setFixedHeight(t.px(28))
        self._magnifier.setIcon(icon("search"))
        self.view.restyle()
