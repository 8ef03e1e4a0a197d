"""Runs as files for others: JSON lines and CSV, both read again by ``core.evidence.readers.own_runs``.

JSON lines: a first line {"format": "inferometer-runs", "version": 1}, then one run a line as
``core.evidence.run_json`` has it.

CSV: one run a row.  Columns: ``tool``, ``tool_version``, ``file``, ``line``, ``started_at``, ``label``; the
settings as ``setting.<name>``; the figures that occur as ``<figure>.<statistic> [<unit>]``; the lines of
ledgers that occur as ``ledger.<line>`` in bytes (counts as they are); ``operators``, ``conversions`` and
``rest`` as JSON.  An empty cell is not stated.  A text that a spreadsheet would compute is led by an
apostrophe, as is one that begins with an apostrophe.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from core.evidence.run import FIGURES, STATISTICS, Run, Setting
from core.evidence.run_json import to_tree

FORMAT, VERSION = "inferometer-runs", 1
FIRST_COLUMNS = ("tool", "tool_version", "file", "line", "started_at", "label")
SETTINGS = tuple(field.name for field in fields(Setting))
JSON_COLUMNS = ("operators", "conversions", "rest")
# What some programs take for the end of a line, though JSON allows it in a text.
_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
_COMPUTED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


def runs_jsonl(runs: Iterable[Run]) -> str:
    """The runs as JSON lines."""
    lines = [json.dumps({"format": FORMAT, "version": VERSION})]
    lines += [dumped(to_tree(run)).translate(_ENDS) for run in runs]
    return "\n".join(lines) + "\n"


def dumped(tree: Any) -> str:
    """A tree as JSON that every reader takes: numbers that are not finite become texts."""
    try:
        return json.dumps(tree, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(tree), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def runs_csv(runs: Sequence[Run]) -> str:
    """The runs as CSV."""
    measured = {key for run in runs for key in run.figures}
    figures = [(name, s) for name in FIGURES for s in STATISTICS if (name, s) in measured]
    ledger = sorted({line for run in runs for line in run.ledger})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(
        [
            *FIRST_COLUMNS,
            *(f"setting.{name}" for name in SETTINGS),
            *(f"{name}.{statistic} [{FIGURES[name]}]" for name, statistic in figures),
            *(_safe(f"ledger.{line}") for line in ledger),
            *JSON_COLUMNS,
        ]
    )
    for run in runs:
        tree, origin = to_tree(run), run.origin
        first = (origin.tool, origin.tool_version, origin.file, origin.line, run.started_at, run.label)
        writer.writerow(
            [
                *(_cell(value) for value in first),
                *(_cell(getattr(run.setting, name)) for name in SETTINGS),
                *(_cell(run.figures.get(key)) for key in figures),
                *(_cell(run.ledger.get(line)) for line in ledger),
                *(dumped(tree[name]) if name in tree else "" for name in JSON_COLUMNS),
            ]
        )
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _safe(value) if isinstance(value, str) else repr(value)


def _safe(text: str) -> str:
    """A text that no spreadsheet computes."""
    return f"'{text}" if text.lstrip(" ").startswith(_COMPUTED) else text


def plain(cell: str) -> str:
    """The text that ``_safe`` was given."""
    return cell[1:] if cell.startswith("'") else cell
