"""The look of a page of the manual: headings, tables and code in the program's type and colours."""

import math
import re
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableCell,
)

from gui.theme import Role, theme
from gui.widgets import paint

_LEADING = 132  # per cent
_INDENT = 20  # of a list
_NUMBER = re.compile(r"[-−+±≤≥×]?\s?[\d,.]*\d[\d,.]*\s?(?:%|[A-Za-z/]{1,5})?|[-–—]?")
_ROLES: dict[int, Role] = {1: "title20", 2: "body_semibold", 3: "body_semibold"}


def dress(document: QTextDocument, margin: int, room: int) -> None:
    """Headings, tables and code of a page between margins; ``room`` is what is left for the text."""
    t = theme()
    root = document.rootFrame()
    frame = root.frameFormat()
    frame.setLeftMargin(margin)
    frame.setRightMargin(margin)
    frame.setTopMargin(t.px(20))
    frame.setBottomMargin(t.px(32))
    root.setFrameFormat(frame)
    at = document.begin()
    while at.isValid():
        _dress_block(QTextCursor(at), at)
        at = at.next()
    document.setIndentWidth(t.px(_INDENT))
    for child in root.childFrames():
        if isinstance(child, QTextTable):
            _dress_table(child, room)
    _break_code(document)


def _dress_block(cursor: QTextCursor, block: QTextBlock) -> None:
    t = theme()
    level = block.blockFormat().headingLevel()
    spacing = QTextBlockFormat()
    if level:
        _dress_heading(block, level)
        spacing.setTopMargin(t.px(24 if level > 1 else 4))
        spacing.setBottomMargin(t.px(6))
    elif cursor.currentTable() is None:
        spacing.setTopMargin(t.px(3))
        spacing.setBottomMargin(t.px(6))
        pictured = any(f.charFormat().isImageFormat() for f in fragments(block))
        kind = QTextBlockFormat.LineHeightTypes
        shape_of_lines = kind.SingleHeight if pictured else kind.ProportionalHeight
        spacing.setLineHeight(_LEADING, shape_of_lines.value)
    cursor.mergeBlockFormat(spacing)
    _dress_parts(block, heading=bool(level))


def _dress_heading(block: QTextBlock, level: int) -> None:
    t = theme()
    letters = t.font(_ROLES.get(level, "body_medium"))
    if level == 2:
        letters.setPixelSize(t.px(16))
    for fragment in fragments(block):
        shape = fragment.charFormat()
        shape.clearProperty(QTextFormat.Property.FontSizeAdjustment)  # Markdown's own sizes
        shape.setFont(letters)
        shape.setForeground(t.ink)
        cursor = QTextCursor(block)
        cursor.setPosition(fragment.position())
        cursor.setPosition(fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor)
        cursor.setCharFormat(shape)


def _dress_parts(block: QTextBlock, *, heading: bool) -> None:
    """Code in its own type; strong words in the weight that the program has."""
    t = theme()
    fixed, strong = QTextCharFormat(), QTextCharFormat()
    fixed.setFont(t.font("fixed"))
    fixed.setBackground(t.sunken)
    strong.setFontWeight(QFont.Weight.DemiBold)
    places = []
    for fragment in fragments(block):
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


def _dress_table(table: QTextTable, room: int) -> None:
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
    parts = [said if right else " ".join(said).split() for said, right in zip(texts, numbers, strict=True)]
    role: Role = "body"
    least = _least(parts, role)
    if sum(least) > room:  # smaller, before words break within
        role = "caption"
        least = _least(parts, role)
    for cells, right in zip(columns, numbers, strict=True):
        for row, cell in enumerate(cells):
            _dress_cell(cell, head=not row, right=right, small=role == "caption")
    widths = [math.ceil(wide) if right else 0 for wide, right in zip(least, numbers, strict=True)]
    fits = sum(least) <= room  # else numbers have to break as well
    fixed, free = QTextLength.Type.FixedLength, QTextLength.Type.VariableLength
    shape.setColumnWidthConstraints(
        [QTextLength(fixed if wide and fits else free, wide if fits else 0) for wide in widths]
    )
    table.setFormat(shape)


def _least(columns: list[list[str]], role: Role) -> list[float]:
    """What each column takes so that none of its parts breaks, in pixels."""
    t = theme()
    pad = 2 * t.px(5) + 2
    return [max((paint.width(t.font(role), one) for one in parts), default=0.0) + pad for parts in columns]


def _dress_cell(cell: QTextTableCell, *, head: bool, right: bool, small: bool) -> None:
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


def _break_code(document: QTextDocument) -> None:
    """A long line goes on below: nothing scrolls to the side here."""
    at = document.begin()
    while at.isValid():
        if at.blockFormat().nonBreakableLines():
            shape = QTextBlockFormat()
            shape.setNonBreakableLines(False)
            QTextCursor(at).mergeBlockFormat(shape)
        at = at.next()


def _is_code(block: QTextBlock) -> bool:
    """Whether a line is one of a listing."""
    shape = block.blockFormat()
    return shape.hasProperty(QTextBlockFormat.Property.BlockCodeLanguage) or shape.nonBreakableLines()


def fragments(block: QTextBlock) -> list[Any]:
    """The runs of one format that a line is made of."""
    found = []
    at = block.begin()
    while not at.atEnd():
        found.append(at.fragment())
        at += 1
    return found
