"""Tables in texts: Markdown with bars, and CSV with quoted cells."""

import csv
import re
from collections.abc import Callable, Iterator

from core.evidence.readers.common import lines

Row = tuple[int, dict[str, str]]  # line, and cell by header
_RULE = re.compile(r"[\s|:+-]{3,}")
_MAX_COLUMNS = 200


def markdown(text: str, is_head: Callable[[list[str]], bool]) -> Iterator[tuple[int, list[str], list[Row]]]:
    """Line, header and rows of every table whose header is wanted; rows of another width are kept by name."""
    head: list[str] | None = None
    began = 0
    rows: list[Row] = []
    for number, line in lines(text):
        # What a terminal or a log puts before the first bar is no cell.
        bar = line.find("|")
        cells = [cell.strip() for cell in line[bar:].strip().strip("|").split("|")] if bar >= 0 else []
        if len(cells) < 3 or len(cells) > _MAX_COLUMNS:
            if head is not None and line.strip():
                yield began, head, rows
                head = None
            continue
        if is_head(cells):
            if head is not None:
                yield began, head, rows
            head, began, rows = cells, number, []
        elif head is not None and not _RULE.fullmatch(line[bar:]):
            rows.append((number, dict(zip(head, cells, strict=False)) | {"": str(len(cells))}))
    if head is not None:
        yield began, head, rows


def comma_separated(
    text: str, is_head: Callable[[list[str]], bool]
) -> Iterator[tuple[int, list[str], list[tuple[int, list[str]]]]]:
    """Line, header and rows of every table whose header is wanted; a table ends at an empty line.

    Every line is parsed alone: no tool here writes a cell of two lines.
    """
    head: list[str] | None = None
    began = 0
    rows: list[tuple[int, list[str]]] = []
    for number, line in lines(text):
        cells = _cells(line)
        if is_head(cells):
            if head is not None:
                yield began, head, rows
            head, began, rows = cells, number, []
        elif head is not None:
            if len(cells) < 2:
                yield began, head, rows
                head = None
            else:
                rows.append((number, cells))
    if head is not None:
        yield began, head, rows


def _cells(line: str) -> list[str]:
    if "," not in line:
        return []
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")][:_MAX_COLUMNS]
    try:
        return [cell.strip() for cell in next(csv.reader([line.strip()]), [])][:_MAX_COLUMNS]
    except csv.Error:
        return []
