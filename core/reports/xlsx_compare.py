"""The sheet of a comparison: a column for each scenario, numbers as numbers with one unit a row."""

import math
from typing import Any

from core.planning.compare import Cell, Row
from core.reports.comparison import Comparison
from core.reports.content import Table, said
from core.units import Shown, memory_size, memory_unit
from core.words import Words

_RESULTS = {
    "time_to_first_token": "s",
    "time_per_output_token": "s",
    "output_throughput": "tok/s",
    "request_throughput": "req/s",
    "kv_tokens": "tok",
    "power": "W",
    "energy": "J/token",
    "per_hour": "US$/h",
    "per_million": "US$",
    "price": "US$",
}


class Compare:
    """The table, its sentence above."""

    def __init__(self, sheet: Any, formats: dict[str, Any], words: Words) -> None:
        self.sheet, self.formats, self.words = sheet, formats, words

    def write(self, found: Comparison, table: Table) -> None:
        """Write the sheet; the baseline's column is bold."""
        sheet, words = self.sheet, self.words
        sheet.set_column(0, 0, 34)
        sheet.set_column(1, 1, 12)
        sheet.set_column(2, 1 + len(found.series), 26)
        sheet.write_string(0, 0, table.title, self.formats["title"])
        sheet.write_string(1, 0, table.note)
        heads = (table.head[0], words("reports.columns.unit"), *table.head[1:])
        for column, text in enumerate(heads):
            sheet.write_string(3, column, text, self.formats["head"])
        row, section = 4, ""
        for one in found.rows():
            if one.section != section:
                section = one.section
                sheet.write_string(row, 0, words(f"compare.sections.{section}"), self.formats["bold"])
                row += 1
            self._row(row, one)
            row += 1

    def _row(self, row: int, one: Row) -> None:
        self.sheet.write_string(row, 0, self.words.phrase(one.name))
        unit, size = _unit(one)
        self.sheet.write_string(row, 1, unit)
        for column, cell in enumerate(one.cells, 2):
            if _is_number(cell) and isinstance(cell.shown, Shown):
                self.sheet.write_number(row, column, float(cell.value) / size, self.formats["number"])  # type: ignore[arg-type]
            else:
                self.sheet.write_string(row, column, said(cell.shown, self.words)[:32000])


def _is_number(cell: Cell) -> bool:
    value = cell.value
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _unit(row: Row) -> tuple[str, float]:
    """The unit of a row's numbers, and what one of it is in that of the values."""
    if row.section == "memory":
        return memory_unit(), float(memory_size())
    if row.section == "inputs":
        units = {cell.shown.unit for cell in row.cells if isinstance(cell.shown, Shown) and cell.shown.unit}
        return (units.pop() if len(units) == 1 else ""), 1.0
    return _RESULTS.get(row.key, ""), 1.0
