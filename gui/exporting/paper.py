"""Rich text on sheets of paper: nothing is cut in two, headings stay with what they head.

Qt's own pagination cuts through rows of tables.  Here the text is laid out as one long sheet, cut between
rows, lines and pictures, and painted page by page.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextBlock,
    QTextDocument,
    QTextFrame,
    QTextTable,
)

_DOTS = 300  # an inch of paper
_SCREEN = 96  # units of the text in an inch
_SMALLER = 0.87  # of the text on paper: 13 units are 8.5 points
_MARGIN_MM = 18.0
_WIDE_MM, _HIGH_MM = 210.0, 297.0
WIDTH = (_WIDE_MM - 2 * _MARGIN_MM) / 25.4 * _SCREEN / _SMALLER  # of a page, in units of the text
HEIGHT = (_HIGH_MM - 2 * _MARGIN_MM) / 25.4 * _SCREEN / _SMALLER

_WHOLE = 0.3  # of a page: a table up to this height is not parted

_CHARACTERS = re.compile(rb"/CIDInit /ProcSet findresource.*?endcmap", re.DOTALL)
# Targets of glyphs: radicals (U+2E80 to U+2FDF) and ideographs kept for compatibility (U+F900 to U+FAFF).
_RADICAL = re.compile(rb"<(2E[89A-F][0-9A-F]|2F[0-9A-D][0-9A-F]|F[9A][0-9A-F]{2})>", re.IGNORECASE)
# Simplified radicals that Unicode gives no equivalent, and one whose equivalent is not written so.
_SIMPLIFIED = dict(
    zip(
        "⻅⻓⻔⻉⻋⻛⻜⻢⻥⻦⻨⻩⻬⻮⻰⻳⻚⻝⻣⻄⻘⻁戶",
        "见长门贝车风飞马鱼鸟麦黄齐齿龙龟页食骨西青虎户",
        strict=True,
    )
)

Picture = Callable[[QPainter, QRectF], None]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that is never cut: top and bottom on the long sheet."""

    top: float
    bottom: float
    leads: bool = False  # stays with what follows: a heading, the head of a table
    head: QRectF | None = None  # of the table that it is a row of, to be said again on another page


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the long sheet, and the head of a table that goes on."""

    top: float
    bottom: float
    head: QRectF | None = None


def pages_of(pieces: Sequence[Piece], height: float) -> list[Page]:
    """Pages of at most ``height``.  What is taller than a page begins one and is cut at its end."""
    pages: list[Page] = []
    start, head, index = 0, None, 0
    while start < len(pieces):
        top = pieces[start].top
        room = height - (head.height() if head is not None else 0.0)
        index = start
        while index < len(pieces) and pieces[index].bottom - top <= room:
            index += 1
        if index == len(pieces):
            pages.append(Page(top, pieces[-1].bottom, head))
            break
        last = index
        while last > start and pieces[last - 1].leads:
            last -= 1
        if last == start:
            last = max(index, start + 1)
        pages.append(
            Page(top, min(pieces[last].top if last < len(pieces) else pieces[-1].bottom, top + room), head)
        )
        start = last
        head = pieces[start].head if start < len(pieces) else None
    return pages


def pieces_of(document: QTextDocument) -> list[Piece]:
    """Everything of a laid out document, from top to bottom."""
    return list(_pieces(document.rootFrame(), document.documentLayout()))


def _pieces(frame: QTextFrame, layout: QAbstractTextDocumentLayout) -> Iterator[Piece]:
    step = frame.begin()
    above: Piece | None = None  # a paragraph, which stays with a table that it is said of
    while not step.atEnd():
        inner, block = step.currentFrame(), step.currentBlock()
        if above is not None:
            yield replace(above, leads=above.leads or isinstance(inner, QTextTable))
            above = None
        if isinstance(inner, QTextTable):
            yield from _rows(inner, layout)
        elif inner is not None:
            yield from _pieces(inner, layout)
        elif block.isValid():
            box = layout.blockBoundingRect(block)
            if box.height() > 0:
                above = Piece(box.top(), box.bottom(), _leads(block))
        step += 1
    if above is not None:
        yield above


def _leads(block: QTextBlock) -> bool:
    """Headings, of chapters and of what they hold."""
    if any(step.fragment().charFormat().isImageFormat() for step in _fragments(block)):
        return False
    bold = block.charFormat().fontWeight() >= QFont.Weight.DemiBold
    return block.blockFormat().headingLevel() > 0 or bool(bold and block.length() > 1)


def _fragments(block: QTextBlock) -> Iterator[QTextBlock.iterator]:
    step = block.begin()
    while not step.atEnd():
        yield step
        step += 1


def _rows(table: QTextTable, layout: QAbstractTextDocumentLayout) -> Iterator[Piece]:
    padding = table.format().cellPadding() + 3.0
    rows = [_row(table, number, layout) for number in range(table.rows())]
    wide = layout.frameBoundingRect(table)
    first = rows[0]
    head = QRectF(wide.left(), first[0] - padding, wide.width(), first[1] - first[0] + 2 * padding)
    # A short table stays on one page; of a long one the second row stays with the first, the last one with
    # the one before: sums are no orphans.
    whole = wide.height() <= _WHOLE * HEIGHT
    for number, (top, bottom) in enumerate(rows):
        leads = number == 0 or number == len(rows) - 2 or (whole and number < len(rows) - 1)
        yield Piece(top - padding, bottom + padding, leads, head if number > 1 else None)


def _row(table: QTextTable, number: int, layout: QAbstractTextDocumentLayout) -> tuple[float, float]:
    tops, bottoms = [], []
    for column in range(table.columns()):
        step = table.cellAt(number, column).begin()
        while not step.atEnd():
            box = layout.blockBoundingRect(step.currentBlock())
            tops.append(box.top())
            bottoms.append(box.bottom())
            step += 1
    return min(tops), max(bottoms)


def pdf_of(html: str, title: str, family: str, pictures: dict[str, Picture]) -> bytes:
    """The text as PDF on A4; ``<img src="picture:KEY" …>`` is painted by the picture of that key."""
    screen = QImage(1, 1, QImage.Format.Format_RGB32)
    screen.setDotsPerMeterX(round(_SCREEN / 0.0254))
    screen.setDotsPerMeterY(round(_SCREEN / 0.0254))
    document = _laid_out(html, family, pictures, screen)
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_DOTS)
    writer.setTitle(title)
    none = QMarginsF(0, 0, 0, 0)
    size = QPageSize(QPageSize.PageSizeId.A4)
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, none))
    with QPainter(writer) as painter:
        pages = pages_of(pieces_of(document), HEIGHT)
        places = dict(_places(document))
        font = QFont(family)
        font.setPixelSize(11)
        for number, page in enumerate(pages):
            if number:
                writer.newPage()
            painter.save()
            painter.scale(_DOTS / _SCREEN * _SMALLER, _DOTS / _SCREEN * _SMALLER)
            margin = _MARGIN_MM / 25.4 * _SCREEN / _SMALLER
            painter.translate(margin, margin)
            below = page.head.height() if page.head is not None else 0.0
            if page.head is not None:
                _slice(painter, document, page.head.top(), page.head.bottom(), 0.0)
            _slice(painter, document, page.top, page.bottom, below)
            for key, place in places.items():
                if page.top <= place.top() < page.bottom:
                    pictures[key](painter, place.translated(0, below - page.top))
            painter.setFont(font)
            foot = QRectF(0, HEIGHT + margin / 4, WIDTH, 20)
            painter.drawText(foot, Qt.AlignmentFlag.AlignRight, f"{number + 1} / {len(pages)}")
            painter.restore()
    buffer.close()
    return with_plain_characters(bytes(kept.data()))


def with_plain_characters(pdf: bytes) -> bytes:
    """The PDF with characters as people type them in what it says for copying and searching.

    Chinese fonts share glyphs between ideographs and radicals, and Qt says the radical: no search would
    find it.  Codes are replaced by codes of the same length, so nothing in the file moves.
    """

    def code(match: re.Match[bytes]) -> bytes:
        plain = unicodedata.normalize("NFKC", chr(int(match[1], 16)))
        return b"<%04X>" % ord(_SIMPLIFIED.get(plain, plain)) if len(plain) == 1 else match[0]

    def table(match: re.Match[bytes]) -> bytes:
        return _RADICAL.sub(code, match[0])

    return _CHARACTERS.sub(table, pdf)


def _laid_out(html: str, family: str, pictures: dict[str, Picture], screen: QImage) -> QTextDocument:
    """``screen`` must live as long as the document: its layout asks it for the size of a pixel."""
    document = QTextDocument()
    document.setUseDesignMetrics(True)
    empty = QImage(1, 1, QImage.Format.Format_ARGB32)
    empty.fill(Qt.GlobalColor.transparent)
    for key in pictures:
        document.addResource(QTextDocument.ResourceType.ImageResource.value, f"picture:{key}", empty)
    font = QFont(family)
    font.setPixelSize(13)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    # Glyphs that stand in for others by context have no character: what they say could not be searched.
    font.setFeature(QFont.Tag("calt"), 0)
    document.setDefaultFont(font)
    document.setDocumentMargin(0)
    document.documentLayout().setPaintDevice(screen)
    document.setHtml(html)
    document.setTextWidth(WIDTH)
    document.documentLayout().documentSize()  # all of it is laid out now
    return document


def _places(document: QTextDocument) -> Iterator[tuple[str, QRectF]]:
    """Where the pictures stand on the long sheet."""
    layout, block = document.documentLayout(), document.begin()
    while block.isValid():
        for step in _fragments(block):
            form = step.fragment().charFormat()
            image = form.toImageFormat()
            if form.isImageFormat() and image.name().startswith("picture:"):
                box = layout.blockBoundingRect(block)
                size = QRectF(0, 0, image.width(), image.height())
                line = block.layout().lineForTextPosition(step.fragment().position() - block.position())
                size.moveTopLeft(QPointF(box.left() + line.x(), box.bottom() - image.height()))
                yield image.name().removeprefix("picture:"), size
        block = block.next()


def _slice(painter: QPainter, document: QTextDocument, top: float, bottom: float, at: float) -> None:
    """A part of the long sheet, from ``at`` on the page."""
    painter.save()
    painter.translate(0, at - top)
    part = QRectF(0, top, WIDTH, bottom - top)
    painter.setClipRect(part)
    document.drawContents(painter, part)
    painter.restore()


__all__ = ["HEIGHT", "WIDTH", "Page", "Picture", "Piece", "pages_of", "pdf_of", "pieces_of"]
