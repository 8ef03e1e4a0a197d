"""A start-up log or a trace beside the prediction, line by line in the engine's words."""

from core.evidence.operator_pairs import OperatorRow
from core.evidence.pairing import LedgerRow, Pair
from core.units import memory_size, memory_unit, show_count, show_time, three_digits
from core.words import Words, percent
from gui.contents.validate import signed
from gui.widgets.grid_table import Cell, Column, Row
from gui.work.boards import WITHIN

_DASH = "–"
# Lines of a start-up log as the ledger has them: what is taken, what is left, what that holds.
_ORDER = (
    *("weights", "activation_peak", "compute_buffer", "non_torch", "cuda_graph", "total"),
    *("available_kv", "kv_cache", "gpu_blocks", "kv_cache_tokens", "max_concurrency"),
)


def ledger_table(pair: Pair, words: Words) -> tuple[list[Column], list[Row]]:
    """The ledger of a start-up log beside ours, line by line in the engine's words."""
    columns = [
        Column(words("validating.columns.line"), stretch=True),
        Column(words("validating.columns.predicted"), right=True),
        Column(words("validating.columns.log"), right=True),
        Column(words("validating.columns.difference"), right=True),
    ]
    rows = sorted(pair.ledger, key=lambda row: _ORDER.index(row.line) if row.line in _ORDER else len(_ORDER))
    said = [row.engine_word for row in rows]
    return columns, [_ledger_row(row, words, said.count(row.engine_word) > 1) for row in rows]


def _ledger_row(row: LedgerRow, words: Words, again: bool) -> Row:
    """``again``: the engine says the same of another line."""
    name = words(f"cli.validate.lines.{row.line}")
    plain = again or not row.engine_word
    shown, after = (name, "") if plain else (row.engine_word, "")
    measured = _amount(row, row.measured)
    if row.predicted is None:
        reason = words(f"cli.validate.reasons.{row.reason}") if row.reason else ""
        cells = (
            Cell(shown, after=after),
            Cell(_DASH, colour="ink3", tip=reason),
            Cell(measured, "body_medium"),
            Cell(_DASH, colour="ink3", tip=reason),
        )
        return Row(cells, f"{name}: {reason}", row.line)
    error = row.predicted / row.measured - 1 if row.measured else 0.0
    outside = row.low is not None and row.high is not None and not row.low <= row.measured <= row.high
    said = _difference(row, words)
    cells = (
        Cell(shown, after=after, tip=name),
        Cell(_amount(row, row.predicted), "body_medium"),
        Cell(measured, "body_medium"),
        Cell(said, colour="warn" if outside or abs(error) > WITHIN else "ink2"),
    )
    return Row(cells, f"{name}: {measured}, {said}", row.line)


def _difference(row: LedgerRow, words: Words) -> str:
    assert row.predicted is not None
    if row.is_count:
        return signed(row.predicted / row.measured - 1, words, 1) if row.measured else _DASH
    less = round((row.predicted - row.measured) / memory_size(), 2) or 0.0
    return f"{less:{'+' if less else ''}.2f}".replace("-", "−")


def _amount(row: LedgerRow, value: float) -> str:
    if row.line == "max_concurrency":
        return f"{three_digits(value)} ×"
    return show_count(value) if row.is_count else f"{value / memory_size():.2f} {memory_unit()}"


def operator_table(found: tuple[OperatorRow, ...], words: Words) -> tuple[list[Column], list[Row]]:
    """A profiler's kernels by kind beside the steps that are predicted."""
    columns = [
        Column(words("cli.validate.kind"), stretch=True),
        Column(words("cli.validate.time"), right=True),
        Column(words("cli.validate.calls"), right=True, spare=1),
        Column(words("cli.validate.measured"), right=True),
        Column(words("validating.trace_decode"), right=True),
        Column(words("validating.trace_prompt"), right=True),
    ]
    timed = any(row.step_seconds is not None and row.decode_seconds is not None for row in found)
    if timed:
        of_step = ("a_step", "a_decode_step", "a_prefill_step")
        columns += [Column(words(f"cli.validate.{key}"), right=True, spare=1) for key in of_step]
    rows = []
    for row in found:
        name = words(row.text_key)
        measured, decode, prefill = (
            _DASH if s is None else words.phrase(percent(s)) for s in (row.measured, row.decode, row.prefill)
        )
        spent = str(show_time(row.seconds)), show_count(row.calls)
        cells = [
            Cell(name),
            Cell(spent[0]),
            Cell(spent[1], colour="ink2"),
            Cell(measured, "body_medium"),
            Cell(decode),
            Cell(prefill),
        ]
        if timed:
            steps = (row.step_seconds, row.decode_seconds, row.prefill_seconds)
            cells += [Cell(_DASH if s is None else str(show_time(s))) for s in steps]
        rows.append(Row(tuple(cells), f"{name}: {measured}"))
    return columns, rows
