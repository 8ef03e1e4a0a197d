"""A report as Markdown.  Names are escaped, so nothing in them becomes a mark, a link or HTML."""

import re

from core.explain.derivation_types import as_markdown, markdown_text
from core.reports.content import Prose, Report, Table
from core.words import Words

_MARKS = {"good": "✓", "warn": "!", "bad": "✗"}
_LINK = re.compile(r"https?://[^\s<>()\[\]\"'`|\\]+")


def report_markdown(report: Report, words: Words) -> str:
    """The whole report; pictures are tables of the numbers they draw."""
    blocks = [
        f"# {markdown_text(report.name)}",
        f"**{_MARKS[report.state]} {markdown_text(report.verdict)}**",
        markdown_text(report.detail),
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
