"""A report as Markdown.  Names are escaped, so nothing in them becomes a mark, a link or HTML."""

import re

from core.explain.derivation_types import as_markdown, markdown_text
from core.reports.content import Prose, Report, Table
from core.units import three_digits
from core.words import Words

_MARKS = {"good": "✓", "warn": "!", "bad": "✗"}
_LINK = re.compile(r"https?://[^\s<>()\[\]\"'`|\\]+")


def report_markdown(report: Report, words: Words) -> str:
    """The whole report; pictures are tables of the numbers they draw."""
    blocks = [
        f"# {markdown_text(report.name)}",
        f"**{_MARKS[report.state]} {markdown_text(report.verdict)}**",
        markdown_text(report.detail),
        *_compared(report),
        _table(report.scenario),
        _table(report.metrics),
        _table(report.ledger),
        _table(report.cost),
        _table(report.advice),
        f"## {words('derivation.title')}",
        *(as_markdown(working, words) for working in report.derivations),
        _prose(report.assumptions),
        _prose(report.sources, linked=True),
        f"*{markdown_text(report.made_by)}*",
    ]
    return "\n\n".join(block.rstrip() for block in blocks if block) + "\n"


_MOST_ROWS = 24


def _compared(report: Report) -> list[str]:
    """The comparison; each of its curves as a table of the numbers that it goes through."""
    if report.compared is None:
        return []
    blocks = [_table(report.compared)]
    for picture in report.compared_pictures:
        columns = [values[:: -(-len(values) // _MOST_ROWS)] for _, values in picture.columns]
        longest = max(map(len, columns))
        texts = [[three_digits(v) for v in values] + [""] * (longest - len(values)) for values in columns]
        head = tuple(name for name, _ in picture.columns)
        rows = tuple(zip(*texts, strict=True))
        blocks.append(_table(Table(picture.key, picture.title, head, rows, tuple(range(len(head))))))
    return blocks


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    marks = ["---:" if i in table.right else "---" for i in range(len(table.head))]
    note = [markdown_text(table.note), ""] if table.note else []
    lines = [f"## {markdown_text(table.title)}", "", *note, _row(table.head), "|" + "|".join(marks) + "|"]
    for index, row in enumerate(table.rows):
        is_sum = table.is_sum(index)
        lines.append(_row(row, bold=is_sum))
    return "\n".join(lines)


def _row(cells: tuple[str, ...], bold: bool = False) -> str:
    texts = [markdown_text(cell) for cell in cells]
    return "| " + " | ".join(f"**{t}**" if bold and t else t for t in texts) + " |"


def _prose(prose: Prose, linked: bool = False) -> str:
    if not prose.lines:
        return ""
    lines = [f"- {_with_links(line) if linked else markdown_text(line)}" for line in prose.lines]
    return "\n".join([f"## {markdown_text(prose.title)}", "", *lines])


def _with_links(line: str) -> str:
    """Addresses as links, the rest escaped."""
    parts, place = [], 0
    for match in _LINK.finditer(line):
        parts += [markdown_text(line[place : match.start()]), f"<{match.group()}>"]
        place = match.end()
    return "".join([*parts, markdown_text(line[place:])])
