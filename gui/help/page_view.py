"""One page of the manual: Markdown set in the program's type and colours, pictures from the package alone."""

import math
import re
from typing import Any

from PySide6.QtCore import QRegularExpression, Qt, QUrl, Signal
from PySide6.QtGui import (
    QFont,
    QImage,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextTable,
    QTextTableCell,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

import resources
from core.manual import PAGES, licence_text, page, slug
from core.words import Words
from gui.theme import Role, theme
from gui.widgets import paint

_MARGIN = 32
_WIDEST = 780  # of a line that is read with ease
_LEADING = 132  # per cent
_INDENT = 20  # of a list
_NUMBER = re.compile(r"[-−+±≤≥×]?\s?[\d,.]*\d[\d,.]*\s?(?:%|[A-Za-z/]{1,5})?|[-–—]?")
_MOST_MARKS = 400  # of what is sought; more of them say nothing
_ROLES: dict[int, Role] = {1: "title20", 2: "body_semibold", 3: "body_semibold"}


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
        self._dress()
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

    def _dress(self) -> None:
        """Headings, tables, code and pictures in the program's own look."""
        document = self.document()
        t = theme()
        root = document.rootFrame()
        frame = root.frameFormat()
        frame.setLeftMargin(self._margin())
        frame.setRightMargin(self._margin())
        frame.setTopMargin(t.px(20))
        frame.setBottomMargin(t.px(32))
        root.setFrameFormat(frame)
        whole = QTextCursor(document)
        whole.beginEditBlock()  # laid out once, at the end
        at = document.begin()
        while at.isValid():
            self._dress_block(QTextCursor(at), at)
            at = at.next()
        document.setIndentWidth(t.px(_INDENT))
        for child in root.childFrames():
            if isinstance(child, QTextTable):
                self._dress_table(child)
        self._break_code()
        self._fit_pictures()
        whole.endEditBlock()

    def _dress_block(self, cursor: QTextCursor, block: QTextBlock) -> None:
        t = theme()
        level = block.blockFormat().headingLevel()
        spacing = QTextBlockFormat()
        if level:
            self._dress_heading(block, level)
            spacing.setTopMargin(t.px(24 if level > 1 else 4))
            spacing.setBottomMargin(t.px(6))
        elif cursor.currentTable() is None:
            spacing.setTopMargin(t.px(3))
            spacing.setBottomMargin(t.px(6))
            pictured = any(f.charFormat().isImageFormat() for f in _fragments(block))
            kind = QTextBlockFormat.LineHeightTypes
            shape_of_lines = kind.SingleHeight if pictured else kind.ProportionalHeight
            spacing.setLineHeight(_LEADING, shape_of_lines.value)
        cursor.mergeBlockFormat(spacing)
        self._dress_parts(block, heading=bool(level))

    def _dress_heading(self, block: QTextBlock, level: int) -> None:
        t = theme()
        letters = t.font(_ROLES.get(level, "body_medium"))
        if level == 2:
            letters.setPixelSize(t.px(16))
        for fragment in _fragments(block):
            shape = fragment.charFormat()
            shape.clearProperty(QTextFormat.Property.FontSizeAdjustment)  # Markdown's own sizes
            shape.setFont(letters)
            shape.setForeground(t.ink)
            cursor = QTextCursor(block)
            cursor.setPosition(fragment.position())
            cursor.setPosition(fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(shape)

    def _dress_parts(self, block: QTextBlock, *, heading: bool) -> None:
        """Code in its own type; strong words in the weight that the program has."""
        t = theme()
        fixed, strong = QTextCharFormat(), QTextCharFormat()
        fixed.setFont(t.font("fixed"))
        fixed.setBackground(t.sunken)
        strong.setFontWeight(QFont.Weight.DemiBold)
        places = []
        for fragment in _fragments(block):
            given = fragment.charFormat()
            if given.fontFixedPitch():
                places.append((fragment.position(), fragment.length(), fixed))
            elif given.fontWeight() >= QFont.Weight.Bold and not heading:
                places.append((fragment.position(), fragment.length(), strong))
        for start, length, shape in places:
            cursor = QTextCursor(block)
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(shape)
        if _is_code(block):
            ground = QTextBlockFormat()
            ground.setBackground(t.sunken)
            ground.setTopMargin(0 if _is_code(block.previous()) else t.px(4))
            ground.setBottomMargin(0 if _is_code(block.next()) else t.px(8))
            ground.setLineHeight(100, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
            QTextCursor(block).mergeBlockFormat(ground)

    def _dress_table(self, table: QTextTable) -> None:
        """As the program's own: hairlines below the rows, a head in small print, numbers to the right."""
        t = theme()
        shape = table.format()
        shape.setBorder(0)
        shape.setBorderCollapse(True)
        shape.setCellPadding(t.px(5))
        shape.setCellSpacing(0)
        shape.setTopMargin(t.px(6))
        shape.setBottomMargin(t.px(10))
        shape.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        columns = [[table.cellAt(row, c) for row in range(table.rows())] for c in range(table.columns())]
        texts = [[cell.firstCursorPosition().block().text() for cell in cells] for cells in columns]
        numbers = [any(said[1:]) and all(_NUMBER.fullmatch(text) for text in said[1:]) for said in texts]
        parts = [
            said if right else " ".join(said).split() for said, right in zip(texts, numbers, strict=True)
        ]
        role: Role = "body"
        least = self._least(parts, role)
        if sum(least) > self._room():  # smaller, before words break within
            role = "caption"
            least = self._least(parts, role)
        for cells, right in zip(columns, numbers, strict=True):
            for row, cell in enumerate(cells):
                self._dress_cell(cell, head=not row, right=right, small=role == "caption")
        widths = [math.ceil(wide) if right else 0 for wide, right in zip(least, numbers, strict=True)]
        fits = sum(least) <= self._room()  # else numbers have to break as well
        fixed, free = QTextLength.Type.FixedLength, QTextLength.Type.VariableLength
        shape.setColumnWidthConstraints(
            [QTextLength(fixed if wide and fits else free, wide if fits else 0) for wide in widths]
        )
        table.setFormat(shape)

    def _least(self, columns: list[list[str]], role: Role) -> list[float]:
        """What each column takes so that none of its parts breaks, in pixels."""
        t = theme()
        pad = 2 * t.px(5) + 2
        return [
            max((paint.width(t.font(role), one) for one in parts), default=0.0) + pad for parts in columns
        ]

    def _dress_cell(self, cell: QTextTableCell, *, head: bool, right: bool, small: bool) -> None:
        t = theme()
        shape = cell.format().toTableCellFormat()
        shape.setBottomBorder(1)
        shape.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        shape.setBottomBorderBrush(t.line2 if head else t.line)
        cell.setFormat(shape)
        cursor = cell.firstCursorPosition()
        if right:
            place = QTextBlockFormat()
            place.setAlignment(Qt.AlignmentFlag.AlignRight)
            cursor.mergeBlockFormat(place)
        if head or small:
            cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            letters = QTextCharFormat()
            if head:
                letters.setFont(t.font("caption"))
                letters.setForeground(t.ink3)
            else:
                letters.setFontPointSize(t.font("caption").pointSizeF())  # code keeps its letters
            cursor.mergeCharFormat(letters)

    def _break_code(self) -> None:
        """A long line goes on below: nothing scrolls to the side here."""
        at = self.document().begin()
        while at.isValid():
            if at.blockFormat().nonBreakableLines():
                shape = QTextBlockFormat()
                shape.setNonBreakableLines(False)
                QTextCursor(at).mergeBlockFormat(shape)
            at = at.next()

    def _fit_pictures(self) -> None:
        """No picture is wider than the text: those on show are scaled anew."""
        document = self.document()
        cursor = QTextCursor(document)
        at = document.begin()
        while at.isValid():
            for fragment in _fragments(at):
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


def _is_code(block: QTextBlock) -> bool:
    """Whether a line is one of a listing."""
    shape = block.blockFormat()
    return shape.hasProperty(QTextBlockFormat.Property.BlockCodeLanguage) or shape.nonBreakableLines()


def _fragments(block: QTextBlock) -> list[Any]:
    found = []
    at = block.begin()
    while not at.atEnd():
        found.append(at.fragment())
        at += 1
    return found
