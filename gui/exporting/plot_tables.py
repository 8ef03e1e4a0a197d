"""The data behind each plot as a table: what "copy data" and CSV give away.

Values are in the units that the plot shows, named in the head, at full precision.
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.explain.ledger_names import budget_key, line_name
from core.planning.curves import WorkloadCurves
from core.planning.request_life import RequestLife
from core.planning.started import Started
from core.quantities import EXPECTED, HIGH, LOW, FloatArray
from core.reports.cells import harmless
from core.results import Estimate
from core.units import memory_size, memory_unit, show_tokens
from core.words import Words

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class DataTable:
    """Heads with their units, and rows below them."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def tab_separated(self) -> str:
        """For the clipboard: a spreadsheet takes it as a table."""
        lines = ["\t".join(self.heads)]
        lines += ["\t".join(cell_text(cell) for cell in row) for row in self.rows]
        return "\n".join(lines) + "\n"

    def csv_bytes(self) -> bytes:
        """As a CSV file in UTF-8 with its mark; no cell is ever taken for a formula."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\r\n")
        writer.writerow([harmless(head) for head in self.heads])
        for row in self.rows:
            writer.writerow([harmless(cell) if isinstance(cell, str) else cell_text(cell) for cell in row])
        return ("\ufeff" + out.getvalue()).encode("utf-8")


def cell_text(cell: Cell) -> str:
    """A cell as a file and the screen show it: six digits, nothing where there is no value."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""  # what does not exist is not nought
    return f"{cell:.6g}" if isinstance(cell, float) else harmless(str(cell))


def table_of(heads: Iterable[str], columns: Sequence[FloatArray]) -> DataTable:
    """Columns side by side."""
    rows = tuple(tuple(float(value) for value in row) for row in zip(*columns, strict=True))
    return DataTable(tuple(heads), rows)


def ledger_table(point: Estimate, words: Words) -> DataTable:
    """Lines of the account of one device."""
    heads = ("line", "engine_word", "gib", "share")
    ledger = point.ledger
    rows: list[tuple[Cell, ...]] = [
        (
            words.phrase(line_name(line.key, point.scenario.accelerator)),
            line.engine_word,
            line.bytes / memory_size(),
            100 * line.bytes / max(ledger.device_bytes, 1),
        )
        for line in ledger.lines
    ]
    sums = {"needed": ledger.needed_bytes, budget_key(point): ledger.budget_bytes}
    for key, count in {**sums, "device": ledger.device_bytes}.items():
        rows.append(
            (words(f"ledger.{key}"), "", count / memory_size(), 100 * count / max(ledger.device_bytes, 1))
        )
    return DataTable(tuple(words(f"export.heads.{head}", unit=memory_unit()) for head in heads), tuple(rows))


def memory_table(curves: WorkloadCurves, words: Words, limit: str = "budget") -> DataTable:
    """Memory of one device over users, a column for each length of a request; ``limit``: what ends it."""
    lines = (curves.memory, *curves.other_lengths)
    heads = [words("export.heads.users")]
    heads += [
        words("export.heads.gib_at", unit=memory_unit(), length=show_tokens(line.tokens)) for line in lines
    ]
    budget = curves.memory_users * 0 + curves.budget_bytes / memory_size()
    heads.append(words(f"export.heads.{limit}", unit=memory_unit()))
    return table_of(heads, [curves.memory_users, *(line.bytes / memory_size() for line in lines), budget])


def _band(name: str, values: FloatArray, words: Words) -> tuple[list[str], list[FloatArray]]:
    label = words(f"export.heads.{name}")
    heads = [
        label,
        words("export.heads.low", name=label),
        words("export.heads.high", name=label),
    ]
    return heads, [values[EXPECTED], values[LOW], values[HIGH]]


def latency_table(curves: WorkloadCurves, words: Words) -> DataTable | None:
    """Times over users with their bands; None where nothing starts."""
    load = curves.load
    if load is None:
        return None
    first, firsts = _band("first_token", load.time_to_first_token, words)
    token, tokens = _band("per_token", load.time_per_output_token * 1e3, words)
    return table_of((words("export.heads.users"), *first, *token), [load.users, *firsts, *tokens])


def frontier_table(curves: WorkloadCurves, words: Words) -> DataTable | None:
    """Throughput and time of a token over users."""
    load = curves.load
    if load is None:
        return None
    token, tokens = _band("per_token", load.time_per_output_token * 1e3, words)
    output, outputs = _band("throughput", load.output_tokens_per_second, words)
    return table_of((words("export.heads.users"), *token, *output), [load.users, *tokens, *outputs])


def operators_table(started: Started | None, words: Words) -> DataTable | None:
    """Every operator of both steps: what it does, moves and takes."""
    if started is None:
        return None
    heads = ("phase", "operator", "milliseconds", "share", "flops", "bytes", "bound")
    rows: list[tuple[Cell, ...]] = []
    for name in ("prefill", "decode"):
        phase = getattr(started.speed, name)
        rows += [
            (
                words(f"plots.phases.{name}"),
                words(f"operators.{op.key}"),
                1e3 * op.seconds,
                100 * op.seconds / phase.seconds if phase.seconds else 0.0,
                float(op.flops),
                float(op.bytes),
                words(f"plots.bounds.{op.bound}"),
            )
            for op in phase.operators
        ]
    return DataTable(tuple(words(f"export.heads.{head}", unit=memory_unit()) for head in heads), tuple(rows))


def life_table(life: RequestLife | None, words: Words) -> DataTable | None:
    """Cache of one request over its life."""
    if life is None:
        return None
    heads = tuple(words(f"export.heads.{key}", unit=memory_unit()) for key in ("seconds", "tokens", "gib"))
    return table_of(heads, [life.seconds, life.tokens, life.cache_bytes / memory_size()])
