"""A report as PDF: the HTML of the core, laid out by Qt and cut into pages by ``gui.exporting.paper``."""

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgRenderer

from core import cli, console
from core.errors import InferometerError
from core.estimator import estimate
from core.files.atomic import write_atomic
from core.files.opening import open_document
from core.reports.as_html import report_html
from core.reports.comparison import Comparison
from core.reports.content import report_of
from core.reports.plots import Picture
from core.results import Estimate
from core.words import Words
from gui.exporting.paper import pdf_of
from gui.theme import load_fonts

_FAMILY = "Inter"
_SVG_FAMILY = "Inter, system-ui, sans-serif"  # Qt takes a list for one name that no font has
# Qt's rich text knows no line heights in a font's own line; paper holds more than a screen.
_ON_PAPER = {"13px/1.5": "13px", "padding: 3px 12px 3px 0": "padding: 1.5px 12px 1.5px 0"}


def report_pdf(point: Estimate, words: Words, beside: Comparison | None = None) -> bytes:
    """The report as PDF.  Needs a QGuiApplication."""
    load_fonts()  # or a font of the system sets apostrophes as wide as Chinese
    report = report_of(point, words, beside=beside)
    page = report_html(report, words, _markup)
    for screen, paper in _ON_PAPER.items():
        page = page.replace(screen, paper)
    pictures = {one.key: _painter_of(one) for one in (*report.compared_pictures, *report.pictures)}
    return pdf_of(page, report.name, _FAMILY, pictures)


def _markup(picture: Picture) -> str:
    size = _renderer(picture).defaultSize()
    key = escape(picture.key, quote=True)
    return f'<img src="picture:{key}" width="{size.width()}" height="{size.height()}">'


def _renderer(picture: Picture) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(picture.svg.replace(_SVG_FAMILY, _FAMILY).encode("utf-8")))


def _painter_of(picture: Picture) -> Callable[[QPainter, QRectF], None]:
    """Lines and letters, no image: sharp at any size."""
    drawing = _renderer(picture)
    return drawing.render


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
