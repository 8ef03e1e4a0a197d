"""Runs that this program wrote: the JSON lines and the CSV of ``core.evidence.run_files``."""

import csv
import io
import json
import re
from dataclasses import fields
from typing import Any

from core.errors import InferometerError, Problem
from core.evidence.readers.common import Reading, problem
from core.evidence.run import Run, Setting
from core.evidence.run_files import FIRST_COLUMNS, FORMAT, JSON_COLUMNS, VERSION, plain
from core.evidence.run_json import from_tree

KEY, WHOLE = "inferometer", True
_MOST_RUNS = 1_000_000
_MOST_TOLD = 20
_MOST_COLUMNS = 5000
_FIGURE = re.compile(r"([a-z_]{1,40})\.(\w{1,8}) \[.{0,10}\]")
_TEXTS = frozenset(field.name for field in fields(Setting) if field.type is str)
_HEADER = ",".join(FIRST_COLUMNS) + ","


def looks_like(text: str, _name: str) -> bool:
    """Whether the first line is that of one of the two files."""
    first = text.lstrip()[:4096].partition("\n")[0]
    return first.startswith(_HEADER) or (first.startswith("{") and f'"{FORMAT}"' in first)


def read(text: str, name: str) -> Reading:
    """The runs of the file; a line that is broken is told and passed over."""
    if text.lstrip().startswith("{"):
        return _lines(text, name)
    return _table(text, name)


def _lines(text: str, name: str) -> Reading:
    runs: list[Run] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            tree = json.loads(line)
        except (ValueError, RecursionError):
            problems.append(problem("line", name, number, "warning"))
            continue
        if isinstance(tree, dict) and tree.get("format") == FORMAT:
            if not isinstance(tree.get("version"), int) or tree["version"] > VERSION:
                problems.append(problem("newer", name, number, known=VERSION))
            continue
        _take(tree, name, number, runs, problems)
    return Reading(tuple(runs), tuple(problems[:_MOST_TOLD]))


def _take(tree: Any, name: str, line: int, runs: list[Run], problems: list[Problem]) -> None:
    if len(runs) >= _MOST_RUNS:
        return
    try:
        runs.append(from_tree(tree))
    except InferometerError as error:
        told = error.problems[0]
        problems.append(
            problem("field", name, line, "warning", field=told.values["field"], text=told.values["text"])
        )


def _table(text: str, name: str) -> Reading:
    runs: list[Run] = []
    problems: list[Problem] = []
    rows = csv.reader(io.StringIO(text, newline=""))
    heads: list[str] = []
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            problems.append(problem("line", name, rows.line_num, "warning"))
            continue
        if row is None:
            break
        if not heads:
            heads = row[:_MOST_COLUMNS]
        elif row:
            try:
                tree = _tree(heads, row)
            except (ValueError, RecursionError):
                problems.append(problem("line", name, rows.line_num, "warning"))
                continue
            _take(tree, name, rows.line_num, runs, problems)
    return Reading(tuple(runs), tuple(problems[:_MOST_TOLD]))


def _tree(heads: list[str], row: list[str]) -> dict[str, Any]:
    """The tree of a row.  Raises ValueError for a cell that is no number or no JSON."""
    tree: dict[str, Any] = {"origin": {}, "setting": {}, "figures": {}, "ledger": {}}
    for head, cell in zip(heads, row, strict=False):
        if cell == "":
            continue
        if head in JSON_COLUMNS:
            tree[head] = json.loads(cell)
        elif head in ("started_at", "label"):
            tree[head] = plain(cell)
        elif head in FIRST_COLUMNS:
            tree["origin"][head] = int(cell) if head == "line" else plain(cell)
        elif head.startswith("setting."):
            setting = head.removeprefix("setting.")
            tree["setting"][setting] = plain(cell) if setting in _TEXTS else _value(cell)
        elif head.startswith(("ledger.", "'ledger.")):
            tree["ledger"][plain(head).removeprefix("ledger.")] = float(cell)
        elif found := _FIGURE.fullmatch(head):
            tree["figures"].setdefault(found[1], {})[found[2]] = float(cell)
    return tree


def _value(cell: str) -> Any:
    if cell in ("true", "false"):
        return cell == "true"
    if cell in ("inf",):
        return cell
    return int(cell) if re.fullmatch(r"-?\d{1,18}", cell) else float(cell)
