"""A person's own log of runs, as the teaching articles advise it: CSV, JSON or JSON lines, one run a row.

Headers are understood in English and Chinese, in any order, with units in brackets, after a slash or as the
last word; cells may carry their unit as well.  A time or a memory without any unit is told by its size, and
that it was is shown.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from core.errors import Problem
from core.evidence.readers.common import Builder, Reading, bounded, lines, number, problem, text_of
from core.evidence.readers.run_table_heads import Head, factor_of, head_of, unit_of
from core.evidence.run import Run
from core.strict_json import shortened

KEY, WHOLE = "run_log", True
_MOST_ROWS = 200_000
_MOST_TOLD = 20
_MOST_COLUMNS = 200
_MOST_NAMED = 12
_ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "trtllm",
    "tensorrtllm": "trtllm",
    "trtllm": "trtllm",
    "trt-llm": "trtllm",
    "llama.cpp": "llamacpp",
    "llamacpp": "llamacpp",
    "llama-server": "llamacpp",
    "ollama": "ollama",
    "mlx": "mlx",
    "transformers": "transformers",
}
_DECIMAL_BYTES = {1e6: "MB", 1e9: "GB"}  # shown in GiB: other digits than in the file
_CELL = re.compile(r"([-+]?[\d.,eE+]{1,30}|inf)\s*([^\d\s].{0,20})?")


def looks_like(text: str, _name: str) -> bool:
    """Whether the first line, or the first object, names figures and what they were measured on."""
    start = text.lstrip()[:40_000]
    if start[:1] in ("{", "["):
        return _known(_keys(start))
    first = next((line for line in start.splitlines() if line.strip() and not line.startswith("#")), "")
    return _known(_cells(first, _divider(first)))


def _keys(text: str) -> list[str]:
    """The names of the first object."""
    end = text.find("}")
    part = text[: end + 1] if end >= 0 else text
    return re.findall(r'"([^"\n]{1,80})"\s*:', part)


def _known(names: list[str]) -> bool:
    heads = [head for name in names[:_MOST_COLUMNS] if (head := head_of(name)) is not None]
    figures = {head.name for head in heads if head.kind == "figure"}
    settings = {head.name for head in heads if head.kind in ("setting", "text")}
    known = len(heads) / max(1, len([name for name in names if name.strip()]))
    return bool(figures) and bool(settings) and len(heads) >= 3 and known >= 0.5


def read(text: str, name: str) -> Reading:
    """One run a row."""
    rows: Iterable[tuple[int, dict[str, Any] | tuple[int, int] | None]]
    rows = _objects(text) if text.lstrip()[:1] in ("{", "[") else _rows(text)
    runs: list[Run] = []
    problems: list[Problem] = []
    for line, row in rows:
        if row is None:
            problems.append(problem("line", name, line, "warning"))
            continue
        if isinstance(row, tuple):
            problems.append(problem("row", name, line, found=row[0], wanted=row[1]))
            continue
        made = _Row(name, line).run(row)
        runs.extend(made.runs)
        problems.extend(made.problems)
        if len(runs) >= _MOST_ROWS:
            problems.insert(0, problem("too_many_rows", name, line, "warning", limit=f"{_MOST_ROWS:,}"))
            break
    if not runs and not problems:
        problems.append(problem("no_figures", name, tool=KEY))
    return Reading(tuple(runs), tuple(problems[:_MOST_TOLD]))


def _divider(line: str) -> str:
    counts = {mark: line.count(mark) for mark in ("\t", ";", ",", "|", "，")}
    return max(counts, key=lambda mark: counts[mark])


def _cells(line: str, mark: str) -> list[str]:
    if mark == "|":
        line = line.strip().strip("|")
    try:
        row = next(csv.reader(io.StringIO(line), delimiter=mark, skipinitialspace=True), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in row[:_MOST_COLUMNS]]


def _rows(text: str) -> Iterator[tuple[int, dict[str, Any] | tuple[int, int] | None]]:
    """Rows of a table by header; None for a row of another width, the widths for one that ends early."""
    heads: list[str] = []
    mark = ","
    for line, part in lines(text):
        if not part.strip() or part.startswith("#") or re.fullmatch(r"[\s|:+-]{3,}", part):
            continue
        if not heads:
            mark = _divider(part)
            heads = _cells(part, mark)
            continue
        cells = _cells(part, mark)
        if mark == ";":  # the comma is free for decimals there
            cells = [re.sub(r"^(-?\d+),(\d+)", r"\1.\2", cell) for cell in cells]
        # Empty cells at the end are often left out.
        if not 2 <= len(cells) <= len(heads) + 1:
            yield line, None
        else:
            row = dict(zip(heads, cells, strict=False))
            short = len(cells) < len(heads) and not any(
                cell and _is_figure(head) for head, cell in row.items()
            )
            yield line, (len(cells), len(heads)) if short else row


def _is_figure(header: str) -> bool:
    head = head_of(header[:200])
    return head is not None and head.kind == "figure"


def _objects(text: str) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """The objects of a list, or of lines."""
    if text.lstrip()[:1] == "[":
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            yield 1, None
            return
        for row in tree:
            yield 1, row if isinstance(row, dict) else None
        return
    for line, part in _whole_lines(text):
        if part.strip():
            try:
                row = json.loads(part)
            except (ValueError, RecursionError):
                row = None
            yield line, row if isinstance(row, dict) else None


def _whole_lines(text: str) -> Iterator[tuple[int, str]]:
    try:
        yield 1, json.dumps(json.loads(text))  # one object over several lines
    except (ValueError, RecursionError):
        yield from enumerate(text.split("\n"), 1)


class _Row:
    """One row."""

    def __init__(self, name: str, line: int) -> None:
        self.made = Builder(KEY, name, line)

    def run(self, row: dict[str, Any]) -> Reading:
        """The run of the row."""
        for header, cell in list(row.items())[:_MOST_COLUMNS]:
            if cell is None or (isinstance(cell, str) and not cell.strip()):
                continue
            head = head_of(str(header)[:200])
            if head is None:
                self.made.rest[text_of(str(header))] = bounded(cell)
            elif head.kind == "figure":
                self._figure(head, header, cell)
            else:
                self._setting(head, header, cell)
        if self.made.rest.keys() - {"note"}:
            names = ", ".join(sorted(self.made.rest.keys() - {"note"})[:_MOST_NAMED])
            self.made.converted("columns_kept", names=shortened(names))
        return self.made.reading()

    def _setting(self, head: Head, header: str, cell: Any) -> None:
        made = self.made
        if head.kind == "setting":
            self._number(head, header, cell)
        elif head.kind == "text":
            value = text_of(str(cell))
            made.set(**{head.name: _ENGINES.get(value.lower(), value) if head.name == "engine" else value})
        elif head.kind == "label":
            made.label = made.label or text_of(str(cell))
        elif head.kind == "note":
            made.rest["note"] = text_of(str(cell))
        elif head.kind == "when":
            made.started_at = _when(text_of(str(cell))) or made.started_at

    def _number(self, head: Head, header: str, cell: Any) -> None:
        value, unit = _valued(cell)
        if unit == "k" and value is not None:  # 4K tokens are 4,096
            value *= 1024
            self.made.converted("kibi_tokens", text=text_of(str(cell))[:40], tokens=f"{value:,.0f}")
        if head.name == "request_rate" and str(cell).strip().lower() in ("inf", "infinity", "∞"):
            self.made.set(request_rate=math.inf)
        elif value is None or value < 0:
            self.made.complain("not_number", header=text_of(header), text=text_of(str(cell))[:40])
        elif head.name in ("input_tokens", "output_tokens", "concurrency", "request_rate", "utilization"):
            self.made.set(**{head.name: value * (head.factor or 1.0)})
        else:
            self.made.set(**{head.name: round(value)})

    def _figure(self, head: Head, header: str, cell: Any) -> None:
        value, unit = _valued(cell)
        if value is None or value < 0:
            if text_of(str(cell)).lower() not in ("-", "–", "n/a", "na", "none", "null", "oom", "无", "nan"):
                self.made.complain("not_number", header=text_of(header), text=text_of(str(cell))[:40])
            return
        factor = factor_of(head.unit_kind, unit) if unit else head.factor
        if not factor:
            factor = self._guessed(head, header, value)
        elif head.unit_kind == "memory" and factor in _DECIMAL_BYTES:
            self.made.converted("decimal_bytes", header=text_of(header), unit=_DECIMAL_BYTES[factor])
        if head.name == "utilization":
            self.made.figures[head.name, head.statistic] = value * factor
        else:
            self.made.put(head.name, head.statistic, value, factor)

    def _guessed(self, head: Head, header: str, value: float) -> float:
        """The factor of a unit that nobody stated: what makes the figure a likely one."""
        if head.unit_kind == "time":
            longest = 1.0 if head.name in ("time_per_output_token", "inter_token_latency") else 60.0
            unit, factor = ("s", 1.0) if value < longest else ("ms", 1e-3)
        elif head.unit_kind == "memory":
            unit, factor = ("GB", 1e9) if value < 2000 else ("MiB", float(2**20))
        elif head.unit_kind == "share":
            unit, factor = ("1", 1.0) if value <= 1 else ("%", 0.01)
        else:
            return 1.0
        self.made.converted("unit_assumed", header=text_of(header), unit=unit)
        return factor


def _valued(cell: Any) -> tuple[float | None, str]:
    """Number and unit of a cell: 14.2, "14.2 GB", "1,024", "85 tok/s"."""
    if not isinstance(cell, str):
        return number(cell), ""
    found = _CELL.fullmatch(cell.strip())
    if found is None:
        return None, ""
    return number(found[1]), unit_of(found[2] or "")


def _when(text: str) -> str:
    """A date, or a date with a time, as ISO 8601; "" for another text."""
    found = re.match(
        r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?", text
    )
    if found is None:
        return ""
    year, month, day, hour, minute, second = found.groups()
    date = f"{year}-{int(month):02}-{int(day):02}"
    return date if hour is None else f"{date}T{int(hour):02}:{minute}:{second or '00'}"
