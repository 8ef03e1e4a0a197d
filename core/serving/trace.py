"""Requests of a file: when each came, how long it and its answer were, and what it shares with others.

Read are tables with a heading (CSV) and lines of JSON objects, in these forms:

- own: ``timestamp, input, output``, or other common names of these, and optionally ``prefix`` (requests
  with the same one begin alike) and ``prefix_tokens`` (how far; else as far as the shortest of them);
- Azure LLM inference traces: ``TIMESTAMP, ContextTokens, GeneratedTokens``;
- Mooncake: ``timestamp`` (ms), ``input_length, output_length, hash_ids`` (blocks of 512 tokens).

Times are seconds (Mooncake: milliseconds) or dates; the first one becomes 0.  Counts since 1970 may be of
milliseconds, microseconds or nanoseconds as well: no date in one of them is one in another.  Rows may be in
any order, and lines may end as on any system.
Lengths of 0 tokens count as 1: every request is read, and every answer takes a step.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from core.errors import Problem, UnreadableFile
from core.pauses import pause
from core.quantities import FloatArray
from core.serving.prefix_cache import Link
from core.strict_json import shortened

MAX_BYTES = 512 * 2**20
MOST_ROWS = 5_000_000
_MOST_TOKENS = 10**9
_PIECE = 2**17  # characters
# Seconds of the unit of times that begin with so much or more: as seconds they would be of the year 5138.
_SINCE_1970 = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
_LATEST = 1e19  # in nanoseconds the year 2286
_LONGEST_YEARS = 30  # beyond, a double has no room left for the milliseconds of an answer
_END = re.compile(r"[\r\n]")
_HASHED = 512  # tokens of a block that one hash of a Mooncake trace stands for
# Names of columns as they stand there, Chinese ones too; ``_plain_name`` has taken away their unit.
_TIME = (
    *("timestamp", "time", "arrived_at", "arrival_time", "arrival", "arrival_s", "arrival_time_s"),
    *("timestamp_s", "time_s", "时间", "时间戳", "到达时间", "到达"),
)
_INPUT = (
    "contexttokens",
    "input_length",
    "input_tokens",
    "prompt_tokens",
    "num_prefill_tokens",
    "prompt_length",
    "prompt_len",
    "input_len",
    "num_prompt_tokens",
    "isl",
    "input",  # beside a number of tokens it is the text
    "prompt",
    "输入",
    "输入长度",
    "输入token",
    "输入token数",
    "提示词长度",
    "提示长度",
)
_OUTPUT = (
    "generatedtokens",
    "output_length",
    "output_tokens",
    "completion_tokens",
    "num_decode_tokens",
    "generated_tokens",
    "output_len",
    "num_output_tokens",
    "completion_length",
    "response_tokens",
    "osl",
    "output",
    "completion",
    "输出",
    "输出长度",
    "输出token",
    "输出token数",
    "生成长度",
)
# Of each the names that are told where it is missing.
_TOLD = {
    "timestamp": "timestamp, time, arrival, arrival_time",
    "input": "input, input_tokens, input_length, prompt, prompt_tokens",
    "output": "output, output_tokens, output_length, completion_tokens",
}
_PREFIX = ("prefix", "prefix_id", "session", "session_id", "conversation_id", "前缀", "会话")
_PREFIX_TOKENS = ("prefix_tokens", "prefix_length", "前缀长度", "前缀token数")
_UNITS = re.compile(r"\s*[(（](?:s|秒|tokens?|token\s*数)[)）]$")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests by rising time; arrays (n,)."""

    arrival: FloatArray  # s, the first is 0
    prompt: FloatArray  # tokens
    output: FloatArray
    chains: tuple[tuple[Link, ...], ...] = ()  # of each prompt; empty: nothing is shared

    def __len__(self) -> int:
        return len(self.arrival)

    @property
    def rate(self) -> float:
        """Mean arrivals a second."""
        return (len(self) - 1) / float(self.arrival[-1]) if len(self) > 1 and self.arrival[-1] > 0 else 0.0

    def first(self, count: int) -> "Trace":
        """The requests that come first."""
        columns = (self.arrival[:count], self.prompt[:count], self.output[:count])
        return self if count >= len(self) else Trace(*columns, self.chains[:count])

    def at_rate(self, rate: float) -> "Trace":
        """Replayed faster or slower, so that ``rate`` requests come a second; one that has a rate."""
        return Trace(self.arrival * (self.rate / rate), self.prompt, self.output, self.chains)


def parse_trace(data: bytes) -> Trace:
    """The requests of a file's bytes.

    Raises UnreadableFile with ``trace.empty``, ``trace.not_text``,
    ``trace.columns`` {missing, found, accepted}, ``trace.number``, ``trace.negative``, ``trace.late`` and
    ``trace.many_tokens`` {line, column, text},
    ``trace.row`` {line}, ``trace.quote`` {line}, ``trace.long`` {limit},
    ``trace.too_many`` {limit} or ``trace.too_large`` {limit}.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableFile(Problem("trace.too_large", values={"limit": MAX_BYTES // 2**20}))
    text = _decoded(data)
    if text is None or "\0" in text:
        raise UnreadableFile(Problem("trace.not_text"))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    whole, text = text, text.lstrip()
    if not text:
        raise UnreadableFile(Problem("trace.empty"))
    above = whole[: len(whole) - len(text)].count("\n")  # blank lines
    if text.startswith("{"):
        return _trace(_objects(text, above))
    plain = _plain_table(text)
    return _trace(_table(text, above)) if plain is None else plain


def is_trace(head: bytes) -> bool:
    """Whether a file that begins like this has the columns of a trace."""
    first = _decoded(head.lstrip().partition(b"\n")[0].partition(b"\r")[0])
    if not first:
        return False
    try:
        if first.startswith("{"):
            next(_objects(first))
        else:
            _places(_names(first))
    except (UnreadableFile, StopIteration):
        return False
    return True


def _decoded(data: bytes) -> str | None:
    """Text in UTF-8, or in the encoding of Chinese spreadsheets where the heading makes sense in it."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    return text if _first(_names(_END.split(text.lstrip(), maxsplit=1)[0]), _TIME) is not None else None


def _names(heading: str) -> list[str]:
    """Names of the columns of a heading without quotes."""
    return [_plain_name(name.strip().strip('"')) for name in heading.split(max(",;\t", key=heading.count))]


def _plain_name(name: str) -> str:
    """A column's name in small letters, without its unit."""
    return _UNITS.sub("", name.strip().lower()).replace(" ", "")


@dataclass(slots=True)
class _Row:
    """One line as it stands there."""

    line: int
    time: Any
    prompt: Any
    output: Any
    prefix: Any = None
    prefix_tokens: Any = None
    hashes: Any = None


def _table(text: str, above: int) -> Iterator[_Row]:
    """The rows; ``above``: lines before the heading.  Between semicolons a comma is a decimal mark."""
    head = text[: text.find("\n")] if "\n" in text else text
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    following = above + 1  # where the next row begins
    try:
        names = [_plain_name(name) for name in next(reader)]
        places = _places(names)
        needed = 1 + max(p for p in places if p is not None)
        line = following = above + reader.line_num + 1
        for cells in reader:
            line, following = following, above + reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if following > line + 1 and _is_unclosed(cells, places, needed):
                raise UnreadableFile(Problem("trace.quote", values={"line": line}))
            if len(cells) < needed:
                values = {"line": line, "found": len(cells), "needed": needed}
                raise UnreadableFile(Problem("trace.short", values=values))
            row = [None if p is None else cells[p] for p in places]
            if separator == ";":
                row[:3] = [
                    cell.replace(",", ".") if cell and cell.count(",") == 1 else cell for cell in row[:3]
                ]
            yield _Row(line, *row)
        # A mark left open in a column of texts has swallowed the rest of the file.
        if following > line + 1 and text.split("\n", line - above - 1)[-1].count('"') % 2:
            raise UnreadableFile(Problem("trace.quote", values={"line": line}))
    except csv.Error:
        code = "trace.quote" if above + reader.line_num > following else "trace.row"
        raise UnreadableFile(Problem(code, values={"line": following})) from None


def _is_unclosed(cells: list[str], places: list[int | None], needed: int) -> bool:
    """Whether a row over several lines is one of a quotation mark left open: texts may go on, numbers not."""
    numbers = [cells[p] for p in places[:3] if p is not None and p < len(cells)]
    return len(cells) < needed or any("\n" in cell.strip() for cell in numbers)


def _plain_table(text: str) -> Trace | None:
    """A long table of nothing but sound numbers, column by column; None where there is more to say."""
    head, _, rest = text.partition("\n")
    separator = max(",;\t", key=head.count)
    names = [_plain_name(name) for name in head.strip().split(separator)]
    columns = [_first(names, known) for known in (_TIME, _INPUT, _OUTPUT)]
    shared = any(_first(names, known) is not None for known in (_PREFIX, _PREFIX_TOKENS))
    if shared or '"' in text or None in columns or rest.count("\n") > MOST_ROWS:
        return None
    parts = []
    try:
        for lines in _pieces(rest):
            cells = [line.split(separator) for line in lines if line.strip()]
            values = [[row[c] for row in cells] for c in columns if c is not None]
            parts.append(np.array(values, dtype=np.float64))
            pause()
    except (ValueError, IndexError):
        return None
    table = np.concatenate(parts, axis=1) if parts else np.empty((3, 0))
    if not 0 < table.shape[1] <= MOST_ROWS:
        return None
    if not np.isfinite(table).all() or table.min() < 0 or table[1:].max() > _MOST_TOKENS:
        return None
    if table[0].max() > _LATEST:
        return None
    order = np.argsort(table[0], kind="stable")
    times, prompt, output = table[:, order]
    return Trace(_since_first(times), np.maximum(np.rint(prompt), 1.0), np.maximum(np.rint(output), 1.0))


def _pieces(text: str) -> Iterator[list[str]]:
    """The lines, some thousand at a time: no other thread runs while one call works on a million."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PIECE)
        end = len(text) if end < 0 else end
        yield text[start:end].split("\n")
        start = end + 1


def _places(names: list[str]) -> list[int | None]:
    places = [_first(names, known) for known in (_TIME, _INPUT, _OUTPUT, _PREFIX, _PREFIX_TOKENS)]
    missing = [k for k, p in zip(_TOLD, places, strict=False) if p is None]
    if missing:
        found, accepted = shortened(", ".join(names)), "; ".join(_TOLD[key] for key in missing)
        values = {"missing": ", ".join(missing), "found": found, "accepted": accepted}
        raise UnreadableFile(Problem("trace.columns", values=values))
    return places


def _first(names: list[str], known: tuple[str, ...]) -> int | None:
    return next((names.index(name) for name in known if name in names), None)


def _objects(text: str, above: int = 0) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), above + 1):
        if not line.strip():
            continue
        try:
            tree = json.loads(line)
        except (json.JSONDecodeError, RecursionError, ValueError):
            raise UnreadableFile(Problem("trace.json", values={"line": number})) from None
        if not isinstance(tree, dict):
            raise UnreadableFile(Problem("trace.json", values={"line": number}))
        fields = {_plain_name(str(key)): value for key, value in tree.items()}
        names = list(fields)
        try:
            places = _places(names)
        except UnreadableFile as error:
            values = {**error.problems[0].values, "line": number}
            code = "trace.fields" if names else "trace.no_fields"
            raise UnreadableFile(Problem(code, values=values)) from None
        row = _Row(number, *(None if p is None else fields[names[p]] for p in places))
        row.hashes = fields.get("hash_ids")
        yield row


def _trace(rows: Iterable[_Row]) -> Trace:
    times: list[float] = []
    prompts: list[int] = []
    outputs: list[int] = []
    marks: list[Any] = []
    shared: list[int] = []
    hashed = False
    for row in rows:
        if len(times) >= MOST_ROWS:
            raise UnreadableFile(Problem("trace.too_many", values={"limit": f"{MOST_ROWS:,}"}))
        hashed = hashed or row.hashes is not None
        times.append(_time(row))
        prompts.append(_tokens(row, "input", row.prompt))
        outputs.append(_tokens(row, "output", row.output))
        marks.append(_mark(row))
        shared.append(
            _tokens(row, "prefix_tokens", row.prefix_tokens) if row.prefix_tokens not in (None, "") else 0
        )
    if not times:
        raise UnreadableFile(Problem("trace.empty"))
    order = np.argsort(np.array(times), kind="stable")
    arrival = np.array(times)[order]
    arrival = _since_first(arrival, 1e-3 if hashed else None)
    # A request without a token in or out still takes a step.
    prompt = np.maximum(np.array(prompts, dtype=np.float64)[order], 1.0)
    output = np.maximum(np.array(outputs, dtype=np.float64)[order], 1.0)
    chains: tuple[tuple[Link, ...], ...] = ()
    if any(mark is not None for mark in marks):
        places = order.tolist()
        chains = _chains([marks[i] for i in places], [shared[i] for i in places], prompt)
    return Trace(arrival, prompt, output, chains)


def _since_first(times: FloatArray, unit: float | None = None) -> FloatArray:
    """Ordered times in seconds after the first one; ``unit``: their seconds, None: as the first one tells."""
    found: FloatArray = (times - times[0]) * (_unit(float(times[0])) if unit is None else unit)
    if found[-1] > _LONGEST_YEARS * 365.25 * 86400:
        raise UnreadableFile(Problem("trace.long", values={"limit": _LONGEST_YEARS}))
    return found


def _unit(first: float) -> float:
    """Seconds of the unit of times of which the earliest is ``first``."""
    return next((unit for least, unit in _SINCE_1970 if first >= least), 1.0)


def _chains(marks: list[Any], shared: list[int], prompt: FloatArray) -> tuple[tuple[Link, ...], ...]:
    """What the prompts begin with: hashed blocks, or one common part for each prefix."""
    reach: dict[Any, int] = {}
    for mark, tokens, length in zip(marks, shared, prompt.tolist(), strict=True):
        if mark is not None and not isinstance(mark, tuple):
            reach[mark] = min(reach.get(mark, _MOST_TOKENS), int(tokens or length))
    chains: list[tuple[Link, ...]] = []
    for mark, length in zip(marks, prompt.tolist(), strict=True):
        if mark is None:
            chains.append(())
        elif isinstance(mark, tuple):
            whole = mark[: int(length) // _HASHED]
            chains.append(tuple((key, _HASHED * (i + 1)) for i, key in enumerate(whole)))
        else:
            chains.append(((mark, min(reach[mark], int(length))),))
    return tuple(chains)


def _mark(row: _Row) -> Any:
    if row.hashes is not None:
        if not isinstance(row.hashes, list) or not all(
            isinstance(h, int | str) and not isinstance(h, bool) for h in row.hashes
        ):
            raise UnreadableFile(Problem("trace.hashes", values={"line": row.line}))
        return tuple(row.hashes) or None
    if row.prefix is None or isinstance(row.prefix, dict | list):
        return None
    return str(row.prefix).strip() or None


def _time(row: _Row) -> float:
    number = _number(row.time)
    if number is None and isinstance(row.time, str):
        try:
            stamp = datetime.fromisoformat(_seven_digits(row.time.strip()))
            number = (stamp - datetime(1970, 1, 1, tzinfo=stamp.tzinfo)).total_seconds()
        except (ValueError, OverflowError):
            number = None
    seconds = _checked(row, "timestamp", row.time, number)
    if seconds > _LATEST:
        raise _refused("trace.late", row, "timestamp", row.time)
    return seconds


def _seven_digits(text: str) -> str:
    """A date with at most six digits of a second: the traces of Azure have seven."""
    head, dot, tail = text.partition(".")
    digits = len(tail) - len(tail.lstrip("0123456789"))
    return head + dot + tail[: min(digits, 6)] + tail[digits:] if dot else text


def _tokens(row: _Row, column: str, value: Any) -> int:
    number = _checked(row, column, value, _number(value))
    if number > _MOST_TOKENS:
        raise _refused("trace.many_tokens", row, column, value)
    return round(number)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _checked(row: _Row, column: str, given: Any, number: float | None) -> float:
    if number is None:
        raise _refused("trace.number", row, column, given)
    if number < 0:
        raise _refused("trace.negative", row, column, given)
    return number


def _refused(code: str, row: _Row, column: str, given: Any) -> UnreadableFile:
    values = {"line": row.line, "column": column, "text": shortened(str(given))}
    return UnreadableFile(Problem(code, values=values))
