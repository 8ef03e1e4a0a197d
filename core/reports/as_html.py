"""A report as one HTML file: no script, nothing loaded from elsewhere, made to print."""

import re
from collections.abc import Callable
from html import escape

from core.explain.derivation_types import Derivation, Step, range_text
from core.reports.content import Prose, Report, Table
from core.reports.plots import Picture
from core.words import Words

_LINK = re.compile(r"https?://[^\s<>\"'，。；、（）]+")
_INDEX = re.compile(r"([^\W_]+)_(\w+)")
_POWER = re.compile(r"\^(\w+)")
_STYLE = """
body { font: 13px/1.5 Inter, "Segoe UI", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif;
 color: #14181F; background: #FFFFFF; max-width: 860px; margin: 24px auto; padding: 0 24px;
 font-feature-settings: "tnum"; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 15px; margin: 28px 0 6px; } h3 { font-size: 13px; }
p.detail, p.made, td.source, caption { color: #5F6978; }
p.verdict { font-size: 16px; font-weight: 600; padding: 8px 12px; }
p.good { background: #E4F3EC; color: #176B4D; } p.warn { background: #FBF0DA; color: #935A00; }
p.bad { background: #FBE9E7; color: #9C1F19; }
table { border-collapse: collapse; width: 100%; margin: 4px 0 12px; }
th { text-align: left; font-weight: 500; color: #5F6978; font-size: 11px; }
td, th { padding: 3px 12px 3px 0; border-bottom: 1px solid #E4E7EB; vertical-align: top; }
td.n, th.n { text-align: right; } tr.sum td { font-weight: 600; border-top: 1px solid #D2D7DE; }
td.f { font-style: italic; } td.n { white-space: nowrap; }
sub, sup { line-height: 0; } div.picture { break-inside: avoid; }
p.caption { font-weight: 600; margin: 14px 0 2px; }
svg, img { max-width: 100%; height: auto; } ul { padding-left: 18px; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""
# Shares of a table's width: columns of sentences are wider than their words would make them.
_ADVICE_WIDTHS = ("17%", "13%", "36%", "20%", "14%")
_STEP_WIDTHS = ("19%", "24%", "26%", "15%", "16%")
_MARKS = {"good": "✓", "warn": "⚠", "bad": "✗"}


def report_html(report: Report, words: Words, picture: Callable[[Picture], str] | None = None) -> str:
    """The whole report.

    ``picture`` gives the markup of a picture where SVG inside the page is not understood (Qt's rich text,
    for a PDF): an <img>; by default the SVG itself.
    """
    draw = picture or (lambda one: one.svg)
    figures = [_picture(one.title, draw(one)) for one in report.pictures]
    over = [_picture(one.title, draw(one)) for one in report.compared_pictures]
    workings = [_working(working, words) for working in report.derivations]
    body = [
        f"<h1>{escape(report.name)}</h1>",
        f'<p class="verdict {report.state}">{_MARKS[report.state]} {escape(report.verdict)}</p>',
        f'<p class="detail">{escape(report.detail)}</p>',
        "" if report.compared is None else _table(report.compared),
        *over,
        _table(report.metrics),
        _table(report.scenario),
        _table(report.ledger),
        _heading(words("reports.pictures")),
        *figures,
        _table(report.cost),
        _table(report.advice, _ADVICE_WIDTHS),
        _heading(words("derivation.title")),
        *workings,
        _prose(report.assumptions),
        _prose(report.sources),
        f'<p class="made">{escape(report.made_by)}</p>',
    ]
    language = words.language.replace("_", "-")
    head = f'<meta charset="utf-8"><title>{escape(report.name)}</title><style>{_STYLE}</style>'
    inside = "\n".join(part for part in body if part)
    return f'<!DOCTYPE html>\n<html lang="{language}"><head>{head}</head>\n<body>\n{inside}\n</body></html>\n'


def _picture(title: str, markup: str) -> str:
    return f'<div class="picture"><p class="caption">{escape(title)}<br>{markup}</p></div>'


def _heading(title: str) -> str:
    return f"<h2>{escape(title)}</h2>"


def _table(table: Table, widths: tuple[str, ...] = ()) -> str:
    if not table.rows:
        return ""
    sizes = [f"width='{w}'" for w in widths] or [""] * len(table.head)
    cell_class = ['class="n"' if i in table.right else "" for i in range(len(table.head))]
    heads = "".join(
        f"<th {c} {w}>{escape(h)}</th>" for h, c, w in zip(table.head, cell_class, sizes, strict=True)
    )
    rows = []
    for index, row in enumerate(table.rows):
        cells = "".join(f"<td {c}>{escape(v)}</td>" for v, c in zip(row, cell_class, strict=True))
        is_sum = table.is_sum(index)
        rows.append(f'<tr class="sum">{cells}</tr>' if is_sum else f"<tr>{cells}</tr>")
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return f"{_heading(table.title)}{note}<table width='100%'><tr>{heads}</tr>{''.join(rows)}</table>"


def _working(working: Derivation, words: Words) -> str:
    parts = [f"<h3>{escape(words.phrase(working.title))}</h3>", _steps(working.steps, words)]
    if working.range is not None:
        source = "" if working.range_source is None else words.phrase(working.range_source)
        said = words(
            "derivation.range", range=range_text(working.range, working.total.symbol.unit), source=source
        )
        parts.append(f'<p class="detail">{escape(said)}</p>')
    if working.textbook:
        parts.append(f"<h3>{escape(words('derivation.textbook'))}</h3>{_steps(working.textbook, words)}")
        parts.append(_items([words.phrase(reason) for reason in working.why]))
    return "".join(parts)


def _steps(steps: tuple[Step, ...], words: Words) -> str:
    names = ("step", "formula", "values", "result", "source")
    heads = "".join(
        f"<th {'class=n' if name == 'result' else ''} width='{width}'>"
        f"{escape(words(f'derivation.columns.{name}'))}</th>"
        for name, width in zip(names, _STEP_WIDTHS, strict=True)
    )
    rows = []
    for index, step in enumerate(steps):
        symbol = step.symbol.name
        formula = f"{symbol} = {step.formula_text}" if step.formula_text else symbol
        cells = (
            f"<td>{escape(words.phrase(step.name))}</td><td class=f>{_with_indices(formula)}</td>"
            f"<td>{escape(step.values_text)}</td><td class=n>{escape(str(step.result))}</td>"
            f"<td class=source>{escape(words.phrase(step.source))}</td>"
        )
        rows.append(f'<tr class="sum">{cells}</tr>' if index == len(steps) - 1 else f"<tr>{cells}</tr>")
    return f"<table width='100%'><tr>{heads}</tr>{''.join(rows)}</table>"


def _with_indices(formula: str) -> str:
    """ "t_d" with a small d below, "L^2" with a small 2 above."""
    below = _INDEX.sub(lambda found: f"{found[1]}<sub>{found[2].replace('_', ' ')}</sub>", escape(formula))
    return _POWER.sub(r"<sup>\1</sup>", below)


def _prose(prose: Prose) -> str:
    return f"{_heading(prose.title)}{_items(list(prose.lines))}" if prose.lines else ""


def _items(lines: list[str]) -> str:
    return "<ul>" + "".join(f"<li>{_with_links(line)}</li>" for line in lines) + "</ul>" if lines else ""


def without_stops(address: str) -> str:
    """An address without the stops of the sentence it stands in; brackets that it opened itself stay."""
    while address[-1] in ".,;:!?" or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def _with_links(line: str) -> str:
    parts, place = [], 0
    for match in _LINK.finditer(line):
        bare = without_stops(match.group())
        address = escape(bare, quote=True)
        parts += [escape(line[place : match.start()]), f'<a rel="noreferrer" href="{address}">{address}</a>']
        place = match.start() + len(bare)
    return "".join([*parts, escape(line[place:])])
