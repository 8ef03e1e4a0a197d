"""A report as CSV: one row a number, in its unit, full precision."""

import csv
import io
from collections.abc import Iterator

from core.explain.derivation import derive
from core.explain.figures import Unit
from core.explain.ledger_names import line_name
from core.planning.compare import cost_values, difference_table
from core.reports.cells import harmless
from core.reports.comparison import Comparison, compared
from core.reports.content import CARDS, metric_title, metric_values, said
from core.reports.plots import pictures_of
from core.results import Estimate
from core.words import Words

_SI: dict[Unit, str] = {"s": "s", "GiB": "B", "tok/s": "tok/s", "1/s": "1/s", "tokens": "tokens", "count": ""}


def _cell(value: object) -> object:
    return harmless(value) if isinstance(value, str) else value


def report_csv(point: Estimate, words: Words, beside: Comparison | None = None) -> str:
    """Columns: section, key, name, value, unit, low, high."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(
        [words(f"reports.csv.{n}") for n in ("section", "key", "name", "value", "unit", "low", "high")]
    )
    for row in _rows(point, words):
        writer.writerow([_cell(value) for value in row])
    for row in () if beside is None else _beside(beside, words):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _rows(point: Estimate, words: Words) -> Iterator[tuple[object, ...]]:
    yield ("verdict", point.verdict.state, words.phrase(point.verdict.headline), "", "", "", "")
    yield from _inputs(point, words)
    yield from _numbers(point, words)
    yield from _workings(point, words)
    for picture in pictures_of(point, words):
        for name, values in picture.columns:
            for index, number in enumerate(values):
                yield (f"plot {picture.key}", index, name, number, "", "", "")


def _is_plain(value: object) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def _beside(beside: Comparison, words: Words) -> Iterator[tuple[object, ...]]:
    """A row for each value of each scenario; numbers are in SI units, inputs in those of their fields."""
    for row in beside.rows():
        for one, cell in zip(beside.series, row.cells, strict=True):
            plain = cell.value if _is_plain(cell.value) else said(cell.shown, words)
            name = f"{words.phrase(row.name)}, {one.letter} · {one.name}"
            yield (f"compare {row.section}", f"{row.key} {one.letter}", name, plain, "", "", "")
    for picture in compared(beside, words).pictures:
        for name, values in picture.columns:
            for index, number in enumerate(values):
                yield (f"plot {picture.key}", index, name, number, "", "", "")


def _inputs(point: Estimate, words: Words) -> Iterator[tuple[object, ...]]:
    for row in difference_table([point], only_differences=False):
        if row.section == "inputs":
            cell = row.cells[0]
            # On and off as they are shown: a field may be named for the opposite of what is stored.
            plain = cell.value if _is_plain(cell.value) else said(cell.shown, words)
            yield ("input", row.key, words.phrase(row.name), plain, "", "", "")


def _numbers(point: Estimate, words: Words) -> Iterator[tuple[object, ...]]:
    for key, value, _target, unit in metric_values(point):
        if value is not None:
            name = words(metric_title(point, key))
            yield ("result", key, name, value.expected, _SI.get(unit, unit), value.low, value.high)
    for line in point.ledger.lines:
        name = words.phrase(line_name(line.key, point.scenario.accelerator))
        yield ("ledger", line.key, name, line.bytes, "B", "", "")
    for key, amount in cost_values(point).items():
        if amount is not None:
            yield ("cost", key, words(f"compare.results.{key}"), amount, _COST[key], "", "")


def _workings(point: Estimate, words: Words) -> Iterator[tuple[object, ...]]:
    for key in CARDS:
        working = derive(point, key)
        for step in () if working is None else working.steps:
            unit, name = step.symbol.unit, words.phrase(step.name)
            yield (f"derivation {key}", step.symbol.name, name, step.value, _SI.get(unit, unit), "", "")


_COST = {
    "price": "USD",
    "power": "W",
    "energy": "J/token",
    "per_hour": "USD/h",
    "per_million": "USD/10^6 tokens",
}
