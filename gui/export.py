"""A report as PDF: the HTML of the core, laid out and paginated by Qt's rich text."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QUrl
from PySide6.QtGui import (
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextDocument,
)
from PySide6.QtSvg import QSvgRenderer

from core import cli, console
from core.errors import InferometerError
from core.estimator import estimate
from core.files.atomic import write_atomic
from core.files.opening import open_document
from core.reports.as_html import report_html
from core.reports.content import report_of
from core.reports.plots import Picture
from core.results import Estimate
from core.words import Words
from gui.theme import Theme, load_fonts

_SHARP = 3  # pixels of a picture for one of its units
_DOTS = 300  # an inch
_POINTS = 9
_MARGIN_MM = 0.0  # Qt's rich text leaves two centimetres by itself
_PAGE_HIGH = 257 / 25.4 * 96  # of what is left, in units of the pictures
_CAPTION_HIGH = 24.0
_POINT = 0.65  # of a pixel of the page: 13 px become 8.5 points
_CHAPTERS = ("reports.pictures", "compare.sections.cost", "derivation.title")  # each begins a page
_BREAK = ' style="page-break-before: always"'
_PICTURE = '<p class="caption">'
_LETTERS = re.compile(r"(font(?:-size)?: )(\d+)px(?:/[\d.]+)?")


def report_pdf(point: Estimate, words: Words) -> bytes:
    """The report as PDF.  Needs a QGuiApplication."""
    load_fonts()  # or a font of the system sets apostrophes as wide as Chinese
    report = report_of(point, words)
    page = QTextDocument()
    for picture in report.pictures:
        address = QUrl(f"picture:{picture.key}")
        page.addResource(QTextDocument.ResourceType.ImageResource.value, address, _image(picture))
    font = QFont()
    font.setPointSize(_POINTS)
    page.setDefaultFont(font)
    starts = tuple(words(key) for key in _CHAPTERS)
    page.setHtml(in_pages(in_points(report_html(report, words, _markup)), report.pictures, starts))
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_DOTS)
    writer.setTitle(report.name)
    margins = QMarginsF(_MARGIN_MM, _MARGIN_MM, _MARGIN_MM, _MARGIN_MM)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4),
            QPageLayout.Orientation.Portrait,
            margins,
            QPageLayout.Unit.Millimeter,
        )
    )
    page.print_(writer)
    buffer.close()
    return bytes(kept.data())


def in_points(page: str) -> str:
    """Sizes of letters in points: a pixel of the page is one of the paper's, a quarter of a screen's."""
    page = page.replace("padding: 3px 12px 3px 0", "padding: 1px 12px 1px 0")  # the first tables on one page
    return _LETTERS.sub(lambda found: f"{found[1]}{int(found[2]) * _POINT:g}pt", page)


def in_pages(page: str, pictures: Sequence[Picture], starts: Sequence[str]) -> str:
    """Chapters named ``starts`` begin a page, and so does a picture that the page before has no room for."""
    for title in starts:
        page = page.replace(f"<h2>{escape(title)}</h2>", f"<h2{_BREAK}>{escape(title)}</h2>")
    parts, used = page.split(_PICTURE), 2 * _CAPTION_HIGH
    for index, picture in enumerate(pictures, 1):
        high = _renderer(picture).defaultSize().height() + _CAPTION_HIGH
        breaks = used + high > _PAGE_HIGH
        used = high if breaks else used + high
        parts[index] = (_PICTURE[:-1] + _BREAK + ">" if breaks else _PICTURE) + parts[index]
    return "".join(parts)


def _markup(picture: Picture) -> str:
    size = _renderer(picture).defaultSize()
    key = escape(picture.key, quote=True)
    return f'<img src="picture:{key}" width="{size.width()}" height="{size.height()}">'


def _renderer(picture: Picture) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(picture.svg.encode("utf-8")))


def _image(picture: Picture) -> QImage:
    drawing = _renderer(picture)
    size = drawing.defaultSize() * _SHARP
    image = QImage(size, QImage.Format.Format_RGB32)
    image.fill(Theme("light").canvas)  # paper is white whatever the window is
    painter = QPainter(image)
    drawing.render(painter, QRectF(0, 0, size.width(), size.height()))
    painter.end()
    return image


def report_command(arguments: Sequence[str]) -> int:
    """``inferometer report FILE --out X.pdf``; the exit status is that of ``core.cli.main``."""
    words = Words(console.language_of(arguments))
    try:
        options = cli.parser(words).parse_args(list(arguments))
    except SystemExit as leaving:  # argparse has said why
        return int(leaving.code or 0)
    out: Path = options.out
    try:
        scenario, _ = open_document(options.file)
        from gui.app import application

        application()
        write_atomic(out, report_pdf(estimate(scenario), words))
    except InferometerError as error:
        console.complain(error, words, options.file)
        return 2
    return console.write(f"{out}\n")
