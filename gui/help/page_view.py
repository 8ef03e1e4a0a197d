"""One page of the manual: the way through it, what is sought, and pictures from the package alone."""

from typing import Any

from PySide6.QtCore import QRegularExpression, Qt, QUrl, Signal
from PySide6.QtGui import (
    QImage,
    QTextCursor,
    QTextDocument,
    QTextImageFormat,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

import resources
from core.manual import PAGES, licence_text, page, slug
from core.words import Words
from gui.help.page_look import dress, fragments
from gui.theme import theme

_MARGIN = 32
_WIDEST = 780  # of a line that is read with ease
_MOST_MARKS = 400  # of what is sought; more of them say nothing


class PageView(QTextBrowser):
    """Goes from page to page by links and keeps the way back.  ``moved`` carries the page on show."""

    moved = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._way: list[tuple[str, str]] = []
        self._at = -1
        self._sought = ""
        self.setAccessibleName(words("manual.page"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("plain", True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._follow)

    # -- where we are ----------------------------------------------------------------------------

    @property
    def key(self) -> str:
        """The page on show; "" before the first."""
        return self._way[self._at][0] if self._at >= 0 else ""

    @property
    def place(self) -> tuple[str, str]:
        """Page and heading on show."""
        return self._way[self._at] if self._at >= 0 else ("", "")

    def go(self, key: str, heading: str = "") -> None:
        """Show a page, at a heading where one is named."""
        if (key, heading) != (self._way[self._at] if self._at >= 0 else None):
            self._way = [*self._way[: self._at + 1], (key, heading)]
            self._at = len(self._way) - 1
        self._show(key, heading)

    def backward(self) -> None:
        """The page before."""
        self._walk(-1)

    def forward(self) -> None:
        """And on again."""
        self._walk(1)

    def _walk(self, by: int) -> None:
        if 0 <= self._at + by < len(self._way):
            self._at += by
            self._show(*self._way[self._at])

    def _follow(self, url: QUrl) -> None:
        """A link to another page, heading or licence; what leads out of the manual is left alone."""
        if url.scheme() == "licence":
            self.go("about", f"licence:{url.path(QUrl.ComponentFormattingOption.FullyDecoded)}")
            return
        key = url.path().removesuffix(".md") or self.key
        if not url.scheme() and key in PAGES:
            self.go(key, url.fragment(QUrl.ComponentFormattingOption.FullyDecoded))

    # -- setting the page ------------------------------------------------------------------------

    def _show(self, key: str, heading: str) -> None:
        scheme, _, name = heading.partition(":")
        if scheme == "licence":
            self.setPlainText(licence_text(name))
            self.setFont(theme().font("fixed"))
            self._mark_sought()
            self.moved.emit(key)
            return
        self.setFont(theme().font("body"))
        self.setMarkdown(page(key, self._words))
        whole = QTextCursor(self.document())
        whole.beginEditBlock()  # laid out once, at the end
        dress(self.document(), self._margin(), self._room())
        self._fit_pictures()
        whole.endEditBlock()
        self._go_to_heading(heading)
        self._mark_sought()
        self.moved.emit(key)

    def _go_to_heading(self, heading: str) -> None:
        at = self.document().begin()
        while heading and at.isValid():
            if at.blockFormat().headingLevel() and slug(at.text()) == heading:
                top = self.document().documentLayout().blockBoundingRect(at).top()
                self.verticalScrollBar().setValue(round(top) - 12)
                return
            at = at.next()
        self.verticalScrollBar().setValue(0)

    def restyle(self) -> None:
        """Take the theme in use, and stay where we are."""
        t = theme()
        palette = self.palette()
        palette.setColor(palette.ColorRole.Base, t.canvas)
        palette.setColor(palette.ColorRole.Text, t.ink)
        palette.setColor(palette.ColorRole.Link, t.accent_text)
        self.setPalette(palette)
        self.setFont(t.font("body"))
        if self.key:
            place = self.verticalScrollBar().value()
            self._show(*self._way[self._at])
            self.verticalScrollBar().setValue(place)

    def loadResource(self, kind: int, name: QUrl | str) -> Any:
        """Pictures of the package; nothing else is ever loaded, from wherever it is named."""
        url = QUrl(name)
        if kind != QTextDocument.ResourceType.ImageResource or url.scheme() != "picture":
            return None
        return self._picture(url.path())

    def _picture(self, name: str) -> QImage:
        """As wide as the text at most, scaled for the screen it is on."""
        look = "dark" if theme().dark else "light"
        for end in (f"{self._words.language}-{look}", f"{self._words.language}-light", "en-light"):
            try:
                image = QImage.fromData(resources.read_bytes(f"help/pictures/{name}-{end}.png"))
            except OSError:
                continue
            ratio = self.devicePixelRatioF()
            wide = min(image.width(), round(self._room() * ratio))
            image = image.convertToFormat(QImage.Format.Format_RGB32)
            scaled = image.scaledToWidth(wide, Qt.TransformationMode.SmoothTransformation)
            scaled.setDevicePixelRatio(ratio)
            return scaled
        return QImage()

    def _fit_pictures(self) -> None:
        """No picture is wider than the text: those on show are scaled anew."""
        document = self.document()
        cursor = QTextCursor(document)
        at = document.begin()
        while at.isValid():
            for fragment in fragments(at):
                image = fragment.charFormat().toImageFormat()
                if not image.isValid():
                    continue
                url = QUrl(image.name())
                held = self.loadResource(QTextDocument.ResourceType.ImageResource.value, url)
                if isinstance(held, QImage) and not held.isNull():
                    document.addResource(QTextDocument.ResourceType.ImageResource.value, url, held)
                    size = held.deviceIndependentSize()
                    new = QTextImageFormat(image)
                    new.setWidth(size.width())
                    new.setHeight(size.height())
                    cursor.setPosition(fragment.position())
                    end = fragment.position() + fragment.length()
                    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                    cursor.setCharFormat(new)
            at = at.next()

    def resizeEvent(self, event: Any) -> None:
        """Keep lines readable in a wide window."""
        super().resizeEvent(event)
        if self.key:
            frame = self.document().rootFrame().frameFormat()
            frame.setLeftMargin(self._margin())
            frame.setRightMargin(self._margin())
            self.document().rootFrame().setFrameFormat(frame)
            self._fit_pictures()

    def _room(self) -> int:
        """Width of the text."""
        return max(200, self.viewport().width() - 2 * self._margin() - 2)

    def _margin(self) -> int:
        """Left and right of the text."""
        t = theme()
        return max(t.px(_MARGIN), (self.viewport().width() - t.px(_WIDEST)) // 2)

    # -- seeking ---------------------------------------------------------------------------------

    def set_sought(self, text: str) -> None:
        """What ``find_next`` looks for; every place that holds it is marked."""
        self._sought = text.strip()
        self._mark_sought()

    def find_next(self) -> bool:
        """Select the next place that holds what is sought; False at the end of the page."""
        found = self._place_after(self.textCursor())
        if found.isNull():
            return False
        self.setTextCursor(found)
        above = self.viewport().height() // 3  # so that what it is about stands over it
        bar = self.verticalScrollBar()
        bar.setValue(bar.value() + self.cursorRect(found).top() - above)
        return True

    def find_first(self) -> bool:
        """The same from the top of the page."""
        self.moveCursor(QTextCursor.MoveOperation.Start)
        return self.find_next()

    def _place_after(self, cursor: QTextCursor) -> QTextCursor:
        if not self._sought:
            return QTextCursor()
        return self.document().find(self._pattern(), cursor)

    def _pattern(self) -> QRegularExpression:
        """The words as they stand, or each of them where they do not stand together."""
        together = self._sought.casefold() in self.toPlainText().casefold()
        parts = [self._sought] if together else self._sought.split()
        pattern = "|".join(QRegularExpression.escape(part) for part in parts)
        return QRegularExpression(pattern, QRegularExpression.PatternOption.CaseInsensitiveOption)

    def _mark_sought(self) -> None:
        marks: list[QTextEdit.ExtraSelection] = []
        at = self._place_after(QTextCursor(self.document()))
        while not at.isNull() and len(marks) < _MOST_MARKS:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = at
            mark.format.setBackground(theme().accent_soft)
            mark.format.setFontUnderline(theme().name == "contrast")
            marks.append(mark)
            at = self._place_after(at)
        self.setExtraSelections(marks)
