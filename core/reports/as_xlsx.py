"""A report as a workbook.  The ledger is worked out by the sheet itself, from formulas with live inputs.

The formulas are written from the trees of the derivations, so the workbook says what the program says;
the results are stored beside them for readers that do not compute.  Texts are written as texts, never as
formulas or links.
"""

import io
from datetime import UTC, datetime
from typing import Any

from core.explain.ledger_names import budget_key, line_name, outside_key, taken_at_start
from core.memory.ledger import LINE_ORDER, LedgerLine
from core.reports.comparison import Comparison
from core.reports.content import Report, report_of
from core.reports.xlsx_compare import Compare
from core.reports.xlsx_summary import Summary
from core.reports.xlsx_working import CEILINGS, NARROW, WIDE, Working
from core.results import Estimate
from core.units import memory_size, memory_unit
from core.words import Words


def report_xlsx(point: Estimate, words: Words, beside: Comparison | None = None) -> bytes:
    """Sheets: summary, ledger with live formulas, its working, curves."""
    import xlsxwriter  # when it is wanted: the start does without it

    out = io.BytesIO()
    kept_as_text = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    options: dict[str, Any] = {"in_memory": True, **dict.fromkeys(kept_as_text, False)}
    book = xlsxwriter.Workbook(out, options)
    report = report_of(point, words, beside=beside)
    # No clock in the file: the same scenario gives the same bytes.
    book.set_properties({"title": report.name[:200], "created": _EPOCH})
    formats = {name: book.add_format(style) for name, style in _STYLES.items()}
    summary = Summary(book, book.add_worksheet(_sheet(words, "summary")), formats, words)
    ledger = book.add_worksheet(_sheet(words, "ledger"))
    name = _sheet(words, "working")
    working = Working(book.add_worksheet(name), name, formats, words)
    working.write(point)
    needed = _ledger(ledger, _sheet(words, "ledger"), point, working, formats, words)
    live = {key: f"={working.cell(key)}" for key in CEILINGS if key in working.totals}
    live["memory_per_device"] = f"={needed}/{memory_size()}"
    limit = working.cell("device" if taken_at_start(point) else "budget")
    summary.write(point, report, live, {"memory_per_device": f"={limit}/{memory_size()}"})
    if beside is not None and report.compared is not None:
        Compare(book.add_worksheet(_sheet(words, "compare")), formats, words).write(beside, report.compared)
    _curves(book, report, formats, words)
    book.close()
    return out.getvalue()


_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_STYLES: dict[str, dict[str, object]] = {
    "title": {"bold": True, "font_size": 14},
    "head": {"bold": True, "bottom": 1},
    "bold": {"bold": True},
    "plain": {},
    "sum": {"bold": True, "top": 1, "num_format": "#,##0"},
    "sum_gib": {"bold": True, "top": 1, "num_format": "#,##0.00"},
    "whole": {"num_format": "#,##0"},
    "gib": {"num_format": "#,##0.00"},
    "number": {"num_format": "#,##0.####"},
    "share": {"num_format": "0.0%"},
    "input": {"num_format": "#,##0.####", "font_color": "#2454C6"},
    "italic": {"italic": True},
    "wrap": {"text_wrap": True, "valign": "top"},
}


def _sheet(words: Words, key: str) -> str:
    """A sheet's name: at most 31 characters, none of those that a reference would not bear."""
    name = "".join(c for c in words(f"reports.sheets.{key}") if c not in "[]:*?/\\'")
    return name[:31]


def _ledger(
    sheet: Any, sheet_name: str, point: Estimate, working: Working, formats: dict[str, Any], words: Words
) -> str:
    """The lines of the budget and what lies beside it; gives the bytes that are needed, as a formula."""
    sheet.set_column(0, 0, WIDE)
    sheet.set_column(1, 4, 20)
    share_of = f"share_of_{budget_key(point)}"
    for column, key in enumerate(("line", "engine_word", "bytes", "gib", share_of)):
        text = words(f"reports.columns.{key}", unit=memory_unit())
        sheet.write_string(0, column, text, formats["head"])
    ledger, size = point.ledger, memory_size()
    known = {line.key: line for line in ledger.lines}
    taken = [line for line in ledger.lines if line.key in working.totals and line.key not in _LEFT]
    spare = known.get("kv_cache_spare", LedgerLine("kv_cache_spare", 0))
    inside = _in_order(taken, spare)
    total, sum_row = sum(line.bytes for line in inside), len(inside) + 1
    sum_cell, budget = f"C{sum_row + 1}", f"C{sum_row + 2}"  # the budget is the row below the sum

    def row_of(row: int, texts: tuple[str, str], formula: str, count: int, style: str = "whole") -> None:
        for column, text in enumerate(texts):
            sheet.write_string(row, column, text, formats["bold" if style == "sum" else "plain"])
        sheet.write_formula(row, 2, formula, formats[style], count)
        gib = "sum_gib" if style == "sum" else "gib"
        sheet.write_formula(row, 3, f"=C{row + 1}/{size}", formats[gib], count / size)
        if row <= sum_row:
            share = count / max(1, ledger.budget_bytes)
            sheet.write_formula(row, 4, f"=C{row + 1}/{budget}", formats["share"], share)

    device = point.scenario.accelerator
    for row, line in enumerate(inside, 1):
        texts = (words.phrase(line_name(line.key, device)), line.engine_word)
        row_of(row, texts, f"={working.cell(line.key)}", line.bytes)
    row_of(sum_row, (words("reports.sum"), ""), f"=SUM(C2:C{sum_row})", total, "sum")
    limit = budget_key(point)
    whole = ("device", "device_bytes", ledger.device_bytes)
    parts = [("budget", {"budget": "budget_bytes"}.get(limit, limit), ledger.budget_bytes), whole]
    for row, (key, name, count) in enumerate([whole] if limit == "device" else parts, sum_row + 1):
        row_of(row, (words(f"report.ledger.{name}"), ""), f"={working.cell(key)}", count)
    outside = known.get("outside", LedgerLine("outside", 0))
    if limit != "device":
        # Where the lines exceed the budget nothing starts, and nothing is left to anybody.
        formula = f"=IF({sum_cell}>{budget}+1,0,{working.cell('outside')})"
        texts = (words(f"ledger.{outside_key(point)}"), outside.engine_word)
        row_of(sum_row + 3, texts, formula, outside.bytes)
    at = next(row for row, line in enumerate(inside, 2) if line.key == "kv_cache_spare")
    return f"('{sheet_name}'!{sum_cell}-'{sheet_name}'!C{at})"


_LEFT = ("kv_cache_spare", "outside")


def _in_order(taken: list[LedgerLine], spare: LedgerLine) -> list[LedgerLine]:
    """The lines as the ledger has them, the free part of the cache behind its used one."""
    return sorted([*taken, spare], key=lambda line: LINE_ORDER.index(line.key))


def _curves(book: Any, report: Report, formats: dict[str, Any], words: Words) -> None:
    """The numbers of every plot."""
    name = _sheet(words, "curves")
    sheet = book.add_worksheet(name)
    column = 0
    for picture in (*report.compared_pictures, *report.pictures):
        if not picture.columns:
            continue
        sheet.write_string(0, column, picture.title, formats["bold"])
        for offset, (head, values) in enumerate(picture.columns):
            sheet.write_string(1, column + offset, head, formats["head"])
            for index, value in enumerate(values):
                if abs(value) < 1e300:  # a sheet knows no infinity
                    sheet.write_number(2 + index, column + offset, value, formats["number"])
        column += len(picture.columns) + 1
    sheet.set_column(0, max(0, column - 1), NARROW)
