"""A report as a workbook.  The ledger is worked out by the sheet itself, from formulas with live inputs.

The formulas are written from the trees of the derivations, so the workbook says what the program says;
the results are stored beside them for readers that do not compute.  Texts are written as texts, never as
formulas or links.
"""

import io
from datetime import UTC, datetime
from typing import Any

from core.explain.derivation import derive
from core.explain.derivation_types import Derivation, Step
from core.explain.expression import Sym, sheet_formula, symbolic, symbols_of
from core.explain.figures import shown
from core.explain.ledger_names import line_name
from core.memory.ledger import LINE_ORDER
from core.reports.content import Report, Table, report_of
from core.results import Estimate
from core.units import memory_size, memory_unit
from core.words import Words

# Symbols of a scenario that several lines share: changed once, they change everywhere.
_SHARED = ("C", "L", "u", "M_d", "TP")
_WIDE, _NARROW = 34, 16


def report_xlsx(point: Estimate, words: Words) -> bytes:
    """Sheets: summary, ledger with live formulas, its working, curves."""
    import xlsxwriter  # when it is wanted: the start does without it

    out = io.BytesIO()
    kept_as_text = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    options: dict[str, Any] = {"in_memory": True, **dict.fromkeys(kept_as_text, False)}
    book = xlsxwriter.Workbook(out, options)
    report = report_of(point, words)
    # No clock in the file: the same scenario gives the same bytes.
    book.set_properties({"title": report.name[:200], "created": _EPOCH})
    formats = {name: book.add_format(style) for name, style in _STYLES.items()}
    _summary(book.add_worksheet(_sheet(words, "summary")), report, formats)
    ledger = book.add_worksheet(_sheet(words, "ledger"))
    working = book.add_worksheet(_sheet(words, "working"))
    totals = _Working(working, _sheet(words, "working"), formats, words).write(point)
    _ledger(ledger, point, totals, formats, words)
    _curves(book, report, formats, words)
    book.close()
    return out.getvalue()


_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_STYLES: dict[str, dict[str, object]] = {
    "title": {"bold": True, "font_size": 14},
    "head": {"bold": True, "bottom": 1},
    "bold": {"bold": True},
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


def _summary(sheet: Any, report: Report, formats: dict[str, Any]) -> None:
    sheet.set_column(0, 0, _WIDE)
    sheet.set_column(1, 5, 24)
    sheet.write_string(0, 0, report.name, formats["title"])
    sheet.write_string(1, 0, report.verdict, formats["bold"])
    sheet.write_string(2, 0, report.detail)
    row = 4
    for table in (report.metrics, report.scenario, report.cost, report.advice):
        row = _table(sheet, table, row, formats)
    for prose in (report.assumptions, report.sources):
        sheet.write_string(row, 0, prose.title, formats["head"])
        for line in prose.lines:
            row += 1
            sheet.write_string(row, 0, line[:32000])
        row += 2


def _table(sheet: Any, table: Table, row: int, formats: dict[str, Any]) -> int:
    if not table.rows:
        return row
    sheet.write_string(row, 0, table.title, formats["bold"])
    if table.note:
        row += 1
        sheet.write_string(row, 0, table.note)
    for column, head in enumerate(table.head):
        sheet.write_string(row + 1, column, head, formats["head"])
    for index, cells in enumerate(table.rows):
        for column, text in enumerate(cells):
            sheet.write_string(row + 2 + index, column, text[:32000])
    return row + 3 + len(table.rows)


class _Working:
    """The working of every line, one block below the other, and the inputs that they share above."""

    def __init__(self, sheet: Any, name: str, formats: dict[str, Any], words: Words) -> None:
        self.sheet, self.name, self.formats, self.words = sheet, name, formats, words
        self.row = 0
        self.shared: dict[str, tuple[str, float]] = {}

    def write(self, point: Estimate) -> dict[str, str]:
        """Write all blocks and give the cell of each line's result."""
        workings = {
            key: working
            for key in LINE_ORDER
            if point.ledger.bytes_of(key) and (working := derive(point, f"ledger.{key}")) is not None
        }
        self.sheet.set_column(0, 0, _WIDE)
        self.sheet.set_column(1, 1, 14)
        self.sheet.set_column(2, 2, 22)
        self.sheet.set_column(3, 3, _NARROW)
        self.sheet.set_column(4, 5, 44)
        self.sheet.write_string(0, 0, self.words("reports.input_cells"), self.formats["title"])
        self.sheet.write_string(1, 0, self.words("reports.ledger_note"))
        self.row = 2
        self._inputs(workings)
        return {key: self._block(working) for key, working in workings.items()}

    def _inputs(self, workings: dict[Any, Derivation]) -> None:
        found: dict[str, Sym] = {}
        for working in workings.values():
            for symbol in working.symbols():
                if symbol.name in _SHARED and not _is_result(working, symbol.name):
                    found.setdefault(symbol.name, symbol)
        for name in _SHARED:
            if name in found:
                symbol = found[name]
                self._line(self.words(f"derivation.symbols.{symbol.meaning}"), symbol, None, "input")
                self.shared[name] = (self._cell(self.row - 1), symbol.value)
        self.row += 1

    def _cell(self, row: int) -> str:
        return f"$C${row + 1}"

    def _block(self, working: Derivation) -> str:
        self.sheet.write_string(self.row, 0, self.words.phrase(working.title), self.formats["head"])
        for column, key in ((1, "symbol"), (2, "value"), (4, "formula"), (5, "source")):
            said = "reports.symbol" if key == "symbol" else f"derivation.columns.{key}"
            text = self.words("reports.columns.value") if key == "value" else self.words(said)
            self.sheet.write_string(self.row, column, text, self.formats["head"])
        self.row += 1
        cells: dict[str, str] = {}
        results = {step.symbol.name for step in working.steps}
        for step in working.steps:
            for symbol in symbols_of(step.formula):
                if symbol.name not in cells and (symbol.name not in results or symbol is not step.symbol):
                    self._symbol(symbol, cells)
            self._step(step, cells)
        self.row += 1
        return f"'{self.name}'!{cells[working.total.symbol.name]}"

    def _symbol(self, symbol: Sym, cells: dict[str, str]) -> None:
        """A figure that a formula takes: the shared cell where there is one of the same value."""
        shared = self.shared.get(symbol.name)
        if shared is not None and shared[1] == symbol.value:
            cells[symbol.name] = shared[0]
            return
        meaning = self.words(f"derivation.symbols.{symbol.meaning}") if symbol.meaning else symbol.name
        self._line(meaning, symbol, None, "number")
        cells[symbol.name] = self._cell(self.row - 1)

    def _step(self, step: Step, cells: dict[str, str]) -> None:
        name = step.symbol.name
        if isinstance(step.formula, Sym):
            if name not in cells:
                self._symbol(step.symbol, cells)
            return
        formula = "=" + sheet_formula(step.formula, cells)
        self._line(self.words.phrase(step.name), step.symbol, formula, "number", step)
        cells[name] = self._cell(self.row - 1)

    def _line(
        self, name: str, symbol: Sym, formula: str | None, style: str, step: Step | None = None
    ) -> None:
        sheet, row = self.sheet, self.row
        sheet.write_string(row, 0, name)
        sheet.write_string(row, 1, symbol.name)
        value = float(symbol.value)
        if formula is None:
            sheet.write_number(row, 2, value, self.formats[style])
        else:
            sheet.write_formula(row, 2, formula, self.formats["number"], value)
        sheet.write_string(row, 3, str(shown(value, symbol.unit)))
        if step is not None:
            sheet.write_string(row, 4, symbolic(step.formula), self.formats["italic"])
            sheet.write_string(row, 5, self.words.phrase(step.source))
        self.row += 1


def _is_result(working: Derivation, name: str) -> bool:
    """Whether a step of the working computes the symbol."""
    return any(step.symbol.name == name and not isinstance(step.formula, Sym) for step in working.steps)


def _ledger(
    sheet: Any, point: Estimate, totals: dict[str, str], formats: dict[str, Any], words: Words
) -> None:
    sheet.set_column(0, 0, _WIDE)
    sheet.set_column(1, 4, 20)
    names = ("line", "engine_word", "bytes", "gib", "share_of_budget")
    for column, name in enumerate(names):
        text = words(f"reports.columns.{name}", unit=memory_unit())
        sheet.write_string(0, column, text, formats["head"])
    lines = [line for line in point.ledger.lines if line.key in totals]
    inside = [line for line in lines if line.key != "outside"]
    ledger, size = point.ledger, memory_size()
    total, sum_row = sum(line.bytes for line in inside), len(inside) + 1
    budget = f"C${sum_row + 2}"  # the row below the sum

    def sized(row: int, count: int, style: str = "gib") -> None:
        sheet.write_formula(row, 3, f"=C{row + 1}/{size}", formats[style], count / size)

    for row, line in enumerate(inside, 1):
        sheet.write_string(row, 0, words.phrase(line_name(line.key, point.scenario.accelerator)))
        sheet.write_string(row, 1, line.engine_word)
        sheet.write_formula(row, 2, f"={totals[line.key]}", formats["whole"], line.bytes)
        sized(row, line.bytes)
        share = line.bytes / max(1, ledger.budget_bytes)
        sheet.write_formula(row, 4, f"=C{row + 1}/{budget}", formats["share"], share)
    sheet.write_string(sum_row, 0, words("reports.sum"), formats["bold"])
    sheet.write_formula(sum_row, 2, f"=SUM(C2:C{sum_row})", formats["sum"], total)
    sized(sum_row, total, "sum_gib")
    share = total / max(1, ledger.budget_bytes)
    sheet.write_formula(sum_row, 4, f"=C{sum_row + 1}/{budget}", formats["share"], share)
    row = sum_row + 1
    for key, count in (("budget_bytes", ledger.budget_bytes), ("device_bytes", ledger.device_bytes)):
        sheet.write_string(row, 0, words(f"report.ledger.{key}"))
        sheet.write_number(row, 2, count, formats["whole"])
        sized(row, count)
        row += 1
    for line in lines:
        if line.key == "outside":
            sheet.write_string(row, 0, words("ledger.outside"))
            sheet.write_string(row, 1, line.engine_word)
            sheet.write_formula(row, 2, f"={totals[line.key]}", formats["whole"], line.bytes)
            sized(row, line.bytes)


def _curves(book: Any, report: Report, formats: dict[str, Any], words: Words) -> None:
    """The numbers of every plot, and a chart of each."""
    name = _sheet(words, "curves")
    sheet = book.add_worksheet(name)
    column = 0
    for picture in report.pictures:
        if not picture.columns:
            continue
        sheet.write_string(0, column, picture.title, formats["bold"])
        for offset, (head, values) in enumerate(picture.columns):
            sheet.write_string(1, column + offset, head, formats["head"])
            for index, value in enumerate(values):
                if abs(value) < 1e300:  # a sheet knows no infinity
                    sheet.write_number(2 + index, column + offset, value, formats["number"])
        column += len(picture.columns) + 1
    sheet.set_column(0, max(0, column - 1), _NARROW)
