"""The first sheet of a workbook: numbers as numbers, each with its unit in a column of its own."""

import math
from typing import Any

from core.planning.compare import cost_values
from core.reports.content import Report, Table, metric_values, precise, scenario_rows
from core.reports.xlsx_working import WIDE
from core.results import Estimate
from core.units import Shown, memory_size, memory_unit
from core.words import Words

Formulas = dict[str, str]
_UNITS = {"price": "US$", "power": "W", "energy": "J/token", "per_hour": "US$/h", "per_million": "US$"}


class Summary:
    """Verdict, results, inputs, cost and advice, one below the other.

    ``live`` and ``limits``: formulas of results and targets that the sheets of the ledger work out, by key.
    """

    def __init__(self, book: Any, sheet: Any, formats: dict[str, Any], words: Words) -> None:
        self.book, self.sheet, self.formats, self.words = book, sheet, formats, words
        self.row = 0
        self._styles: dict[str, Any] = {}

    def write(self, point: Estimate, report: Report, live: Formulas, limits: Formulas) -> None:
        """Write the sheet."""
        sheet = self.sheet
        sheet.set_column(0, 0, WIDE)
        sheet.set_column(1, 6, 18)
        sheet.write_string(0, 0, report.name, self.formats["title"])
        sheet.write_string(1, 0, report.verdict, self.formats["bold"])
        sheet.write_string(2, 0, report.detail)
        sheet.write_string(3, 0, self.words("reports.summary_note"))
        self.row = 5
        self._metrics(point, report, live, limits)
        self._scenario(point, report)
        self._cost(point, report)
        self._texts(report.advice)
        for prose in (report.assumptions, report.sources):
            sheet.write_string(self.row, 0, prose.title, self.formats["head"])
            for line in prose.lines:
                self.row += 1
                sheet.write_string(self.row, 0, line[:32000])
            self.row += 2

    def _head(self, title: str, *keys: str) -> None:
        self.sheet.write_string(self.row, 0, title, self.formats["bold"])
        for column, key in enumerate(keys):
            self.sheet.write_string(
                self.row + 1, column, self.words(f"reports.columns.{key}"), self.formats["head"]
            )
        self.row += 2

    def _number(self, column: int, value: float, like: str, formula: str = "") -> None:
        """A number with as many digits behind the point as the report shows."""
        style = self._style(like)
        if formula:
            self.sheet.write_formula(self.row, column, formula, style, value)
        elif math.isfinite(value):
            self.sheet.write_number(self.row, column, value, style)
        else:
            self.sheet.write_string(self.row, column, like)

    def _style(self, like: str) -> Any:
        digits = len(like.rpartition(".")[2]) if "." in like else 0
        form = "#,##0" + ("." + "0" * digits if digits else "")
        if form not in self._styles:
            self._styles[form] = self.book.add_format({"num_format": form})
        return self._styles[form]

    def _metrics(self, point: Estimate, report: Report, live: Formulas, limits: Formulas) -> None:
        self._head(report.metrics.title, "quantity", "value", "unit", "low", "high", "target", "met")
        for (key, value, target, unit), texts in zip(metric_values(point), report.metrics.rows, strict=True):
            assert value is not None
            said = precise(value.expected, unit)
            size = _size(said, unit)
            self.sheet.write_string(self.row, 0, texts[0])
            self._number(1, value.expected / size, said.number, live.get(key, ""))
            self.sheet.write_string(self.row, 2, said.unit)
            if value.low != value.high:
                self._number(3, value.low / size, said.number)
                self._number(4, value.high / size, said.number)
            if target is not None:
                self._number(5, target / size, said.number, limits.get(key, ""))
            self._met(key, texts[4], key in live)
            self.row += 1
        self.row += 1

    def _met(self, key: str, said: str, is_live: bool) -> None:
        """Whether the target is met; a formula where the result is one."""
        if not (said and is_live):
            self.sheet.write_string(self.row, 6, said)
            return
        row, sign = self.row + 1, ">=" if key == "concurrent_users" else "<="
        yes, no = (self.words(f"reports.{name}").replace('"', '""') for name in ("meets", "misses"))
        self.sheet.write_formula(self.row, 6, f'=IF(B{row}{sign}F{row},"{yes}","{no}")', None, said)

    def _scenario(self, point: Estimate, report: Report) -> None:
        self._head(report.scenario.title, "input", "value", "unit")
        rows = scenario_rows(point)
        for (name, text), row in zip(report.scenario.rows, rows, strict=False):
            self.sheet.write_string(self.row, 0, name)
            found = _number_of(row.cells[0].value, row.cells[0].shown)
            if found is None:
                self.sheet.write_string(self.row, 1, text[:32000])
            else:
                self._number(1, found[0], f"{found[0]:.10g}")
                self.sheet.write_string(self.row, 2, found[1])
            self.row += 1
        for name, text in report.scenario.rows[len(rows) :]:  # the person's own notes
            self.sheet.write_string(self.row, 0, name)
            self.sheet.write_string(self.row, 1, text[:32000])
            self.row += 1
        self.row += 1

    def _cost(self, point: Estimate, report: Report) -> None:
        if not report.cost.rows:
            return
        self._head(report.cost.title, "quantity", "value", "unit")
        values = {key: value for key, value in cost_values(point).items() if value is not None}
        for (key, value), (name, _) in zip(values.items(), report.cost.rows, strict=True):
            self.sheet.write_string(self.row, 0, name)
            self._number(1, value, "0" if key in ("price", "power") else "0.00")
            self.sheet.write_string(self.row, 2, _UNITS[key])
            self.row += 1
        self.row += 1

    def _texts(self, table: Table) -> None:
        if not table.rows:
            return
        self.sheet.write_string(self.row, 0, table.title, self.formats["bold"])
        if table.note:
            self.row += 1
            self.sheet.write_string(self.row, 0, table.note)
        for column, head in enumerate(table.head):
            self.sheet.write_string(self.row + 1, column, head, self.formats["head"])
        self.row += 2
        for cells in table.rows:
            for column, text in enumerate(cells):
                self.sheet.write_string(self.row, column, text[:32000])
            self.row += 1
        self.row += 1


def _size(said: Shown, unit: str) -> float:
    """What one of the shown unit is in SI."""
    if unit == "GiB":
        return float(memory_size()) if said.unit == memory_unit() else 1.0
    times = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    return times.get(said.unit, 1.0) if unit == "s" else 1.0


def _number_of(value: object, said: object) -> tuple[float, str] | None:
    """An input as number and unit; None for one that is a text.  Tokens in full: 4K is 4,096."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isinstance(said, Shown):
        return None
    return float(value), said.unit
