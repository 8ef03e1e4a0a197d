"""A report in the form that a file's ending asks for."""

from collections.abc import Callable
from pathlib import Path

from core.errors import InferometerError, Problem
from core.reports.as_csv import report_csv
from core.reports.as_html import report_html
from core.reports.as_markdown import report_markdown
from core.reports.as_xlsx import report_xlsx
from core.reports.comparison import Comparison
from core.reports.content import report_of
from core.results import Estimate
from core.words import Words

# A spreadsheet takes a CSV for UTF-8 only with this mark in front.
_MARK = "\ufeff"
PDF = ".pdf"  # made by the window's part of the program from the HTML


def _html(point: Estimate, words: Words, beside: Comparison | None) -> bytes:
    return report_html(report_of(point, words, beside=beside), words).encode("utf-8")


def _markdown(point: Estimate, words: Words, beside: Comparison | None) -> bytes:
    return report_markdown(report_of(point, words, beside=beside), words).encode("utf-8")


def _csv(point: Estimate, words: Words, beside: Comparison | None) -> bytes:
    return (_MARK + report_csv(point, words, beside)).encode("utf-8")


WRITERS: dict[str, Callable[[Estimate, Words, Comparison | None], bytes]] = {
    ".html": _html,
    ".htm": _html,
    ".md": _markdown,
    ".csv": _csv,
    ".xlsx": report_xlsx,
}


def report_bytes(point: Estimate, path: Path, words: Words, beside: Comparison | None = None) -> bytes:
    """The bytes of the report that ``path`` asks for by its ending; ``beside``: of a comparison.

    Raises InferometerError with ``report.kind`` {path, kinds} or ``report.pdf``.
    """
    ending = path.suffix.lower()
    if ending == PDF:
        raise InferometerError(Problem("report.pdf", (str(path),)))
    writer = WRITERS.get(ending)
    if writer is None:
        kinds = ", ".join((*WRITERS, PDF))
        raise InferometerError(Problem("report.kind", (str(path),), {"path": str(path), "kinds": kinds}))
    return writer(point, words, beside)
