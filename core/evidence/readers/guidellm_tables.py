"""GuideLLM's ``benchmarks.csv`` and the tables of its console, made into the tree of its JSON.

Two shapes of each.  CSV until 0.3: one row of headers ("Successful Time to first token ms mean"), and one of
eleven values "[min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]".  From 0.4: three rows of headers (group, status
and unit, statistic).  A console until 0.3: one table with a row of sections above the headers; from 0.4: a
table each for tokens, latency and throughput, rows of the same benchmark in the same place.
"""

import csv
import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from core.errors import Problem
from core.evidence.readers.common import MAX_LINE, lines, number, problem

Made = tuple[int, dict[str, Any]]  # line of a benchmark, and its tree
_MOST_ROWS = 1000
_MOST_CELLS = 2000
_OLD_HEADER = "Successful Time to first token ms mean"
_PERCENTILES = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")
_STATISTICS = {"mean": "mean", "mdn": "median", "median": "median", "std dev": "std_dev"}
# Group and unit of a CSV from 0.4, group and name of a console from 0.4.
_NEW = {
    ("Request Latency", "Sec"): "request_latency",
    ("Time to First Token", "ms"): "time_to_first_token_ms",
    ("Time per Output Token", "ms"): "time_per_output_token_ms",
    ("Inter Token Latency", "ms"): "inter_token_latency_ms",
    ("Server Throughput", "Requests/Sec"): "requests_per_second",
    ("Server Throughput", "Concurrency"): "request_concurrency",
    ("Token Metrics", "Input Tokens"): "prompt_token_count",
    ("Token Metrics", "Output Tokens"): "output_token_count",
    ("Token Throughput", "Output Tokens/Sec"): "output_tokens_per_second",
    ("Token Throughput", "Total Tokens/Sec"): "tokens_per_second",
    ("TTFT", "ms"): "time_to_first_token_ms",
    ("ITL", "ms"): "inter_token_latency_ms",
    ("TPOT", "ms"): "time_per_output_token_ms",
    ("Requests", "Per Sec"): "requests_per_second",
    ("Requests", "Concurrency"): "request_concurrency",
    ("Input Tok", "Per Req"): "prompt_token_count",
    ("Output Tok", "Per Req"): "output_token_count",
    ("Output Tokens", "Per Sec"): "output_tokens_per_second",
    ("Total Tokens", "Per Sec"): "tokens_per_second",
}
# Sections of the console until 0.3; its "Req Latency (ms)" holds seconds, as the first releases wrote.
_SECTIONS = {
    "Out Tok/sec": "output_tokens_per_second",
    "Tot Tok/sec": "tokens_per_second",
    "Req Latency (sec)": "request_latency",
    "Req Latency (ms)": "request_latency",
    "TTFT (ms)": "time_to_first_token_ms",
    "ITL (ms)": "inter_token_latency_ms",
    "TPOT (ms)": "time_per_output_token_ms",
    "Prompt Tok/Req": "prompt_token_count",
    "Output Tok/Req": "output_token_count",
}
_REQUESTS = {"Per Second": "requests_per_second", "Concurrency": "request_concurrency"}
_COUNTS = {"Comp": "successful", "Inc": "incomplete", "Err": "errored"}
_RULE = re.compile(r"[\s|=+-]+")
_SETTLED = ("successful", "incomplete", "errored")


def is_csv(text: str) -> bool:
    """Whether it begins with the headers of a CSV."""
    head = text.lstrip()[:MAX_LINE]
    first = head.split("\n", 1)[0]
    return _OLD_HEADER in head or (first.startswith("Run Info,") and "\nRun ID," in head.replace("\r", ""))


def is_console(text: str) -> bool:
    """Whether it holds a table of the console."""
    return "Req Latency (" in text or "Request Latency Statistics" in text


def from_csv(text: str, name: str) -> tuple[list[Made], list[Problem]]:
    """One benchmark a row; a row of another width cannot be told apart and is named."""
    made: list[Made] = []
    problems: list[Problem] = []
    rows = _csv_rows(text)
    first, line = next(rows, ([], 1))
    old = first[:1] != ["Run Info"]
    heads = [(head, "", "") for head in first]
    if not old:
        second, third = (next(rows, ([], 0))[0] for _ in range(2))
        wide = [row + [""] * (len(first) - len(row)) for row in (first, second, third)]
        heads = list(zip(*wide, strict=False))
    for cells, line in rows:
        if len(made) >= _MOST_ROWS:
            break
        if len(cells) != len(heads):
            problems.append(problem("row", name, line, found=len(cells), wanted=len(heads)))
            continue
        made.append((line, (_old_row if old else _new_row)(dict(zip(heads, cells, strict=True)))))
    return made, problems


def _csv_rows(text: str) -> Iterator[tuple[list[str], int]]:
    reader = csv.reader(text.split("\n"))
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if any(cell.strip() for cell in row):
            yield [cell.strip() for cell in row[:_MOST_CELLS]], reader.line_num


def _spread(text: str) -> dict[str, float]:
    """The eleven values of a cell in brackets."""
    values = [number(part) for part in text.strip("[] ").split(",")]
    if len(values) != len(_PERCENTILES):
        return {}
    return {key: value for key, value in zip(_PERCENTILES, values, strict=True) if value is not None}


def _put(metrics: dict[str, Any], metric: str, statistic: str, text: str) -> None:
    kept = metrics.setdefault(metric, {"successful": {}})["successful"]
    if statistic == "percentiles":
        spread = _spread(text)
        kept["percentiles"] = {key: value for key, value in spread.items() if key[0] == "p"}
        kept |= {key: value for key, value in spread.items() if key[0] != "p"}
    elif statistic in _STATISTICS:
        kept[_STATISTICS[statistic]] = number(text)
    elif re.fullmatch(r"p\d{2}", statistic):
        kept.setdefault("percentiles", {})[statistic] = number(text)


def _object(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def _seconds(text: str) -> float | None:
    """A local time of the machine that measured, as one of this machine."""
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _strategy(name: str) -> dict[str, Any]:
    """ "concurrent@8", "constant@1.50", "synchronous"."""
    kind, _, rate = name.partition("@")
    value = number(rate)
    found: dict[str, Any] = {"type_": kind.strip()}
    if value is not None:
        found["streams" if found["type_"] == "concurrent" else "rate"] = value
    return found


def _old_row(row: dict[tuple[str, str, str], str]) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    totals: dict[str, float | None] = {}
    plain = {head: cell for (head, _, _), cell in row.items()}
    for head, cell in plain.items():
        status, _, rest = head.partition(" ")
        if rest == "Requests" and status.lower() in _SETTLED:
            totals[status.lower()] = number(cell)
        elif status == "Successful":
            words = rest.partition(" [")[0] if "[" in rest else rest
            statistic = (
                "percentiles"
                if "[" in rest
                else next((s for s in _STATISTICS if words.lower().endswith(f" {s}")), "")
            )
            metric = words if "[" in rest else words[: len(words) - len(statistic) - 1]
            if statistic:
                _put(metrics, metric.lower().replace(" ", "_"), statistic, cell)
    metrics["request_totals"] = totals
    return {
        "args": {"strategy": _strategy(plain.get("Name", "")), "backend": _object(plain.get("Backend", ""))},
        "metrics": metrics,
        "start_time": _seconds(plain.get("Start Time", "")),
    }


def _new_row(row: dict[tuple[str, str, str], str]) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    totals: dict[str, float | None] = {}
    for (group, field, statistic), cell in row.items():
        status, _, unit = field.partition(" ")
        if group == "Request Counts" and field.lower() in _SETTLED:
            totals[field.lower()] = number(cell)
        elif status == "Successful" and (group, unit) in _NEW:
            _put(metrics, _NEW[group, unit], statistic.lower(), cell)
    metrics["request_totals"] = totals
    profile = _object(row.get(("Run Info", "Profile", ""), ""))
    kind = row.get(("Benchmark", "Strategy", ""), "")
    return {
        "config": {
            "strategy": {"type_": kind} | _only_load(profile, kind),
            "backend": _object(row.get(("Run Info", "Backend", ""), "")),
        },
        "metrics": metrics,
        "start_time": _seconds(row.get(("Timings", "Start Time", ""), "")),
    }


def _only_load(profile: dict[str, Any], kind: str) -> dict[str, Any]:
    """Streams or rate of the profile where it has one alone; which of several this row is, is not stated."""
    for field, wanted in (("streams", "concurrent"), ("rate", "")):
        value = profile.get(field)
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if number(one) is not None and wanted in ("", kind) and kind not in ("synchronous", "throughput"):
            return {field: number(one)}
    return {}


def from_console(text: str) -> list[Made]:
    """The benchmarks of all tables, those of one report by their place in it."""
    made: dict[tuple[int, int], Made] = {}
    seen: set[str] = set()
    report = 0
    for heads, rows in _tables(text):
        title = "|".join(f"{group}/{field}" for group, field, _ in heads)
        if title in seen:  # the same table again: the next report
            report, seen = report + 1, set()
        seen.add(title)
        for place, (line, cells) in enumerate(rows[:_MOST_ROWS]):
            tree = made.setdefault((report, place), (line, {"config": {}, "metrics": {}}))[1]
            _console_row(tree, dict(zip(heads, cells, strict=True)))
    return [one for one in made.values() if len(one[1]["metrics"]) > 1]


def _console_row(tree: dict[str, Any], row: dict[tuple[str, str, str], str]) -> None:
    metrics, settled = tree["metrics"], {}
    for (group, field, statistic), cell in row.items():
        if field == "Benchmark" or (group, field) == ("Benchmark", "Strategy"):
            tree["config"]["strategy"] = _strategy(cell)
        elif group == "Request Stats":
            _put(metrics, _REQUESTS.get(field, field), "mean", cell)
        elif group == "Requests Made" and field in _COUNTS:
            settled[_COUNTS[field]] = number(cell)
        elif group in _SECTIONS and field in ("Comp", *_STATISTICS, "p99"):
            _put(metrics, _SECTIONS[group], "mean" if field == "Comp" else field, cell)
        elif (group, field) in _NEW:
            _put(metrics, _NEW[group, field], statistic.lower(), cell)
        elif (group, field) == ("Request Latency", "Sec"):
            _put(metrics, "request_latency", statistic.lower(), cell)
    if settled:
        metrics["request_totals"] = settled


_Table = tuple[list[tuple[str, str, str]], list[tuple[int, list[str]]]]


def _tables(text: str) -> Iterator[_Table]:
    """Headers (section, name, statistic) and rows of every table with bars and a row of sections."""
    block: list[tuple[int, str]] = []
    for at, line in lines(text):
        bare = line.strip()
        if "|" in bare or (block and bare and _RULE.fullmatch(bare)):
            block.append((at, bare))
        elif block:
            yield from _table(block)
            block = []
    yield from _table(block)


def _table(block: list[tuple[int, str]]) -> Iterator[_Table]:
    framed = any(bare.startswith("|") for _, bare in block)
    told = [(at, _bars(bare, framed)) for at, bare in block if not _RULE.fullmatch(bare)]
    depth = 3 if framed else 2  # rows of headers
    if len(told) <= depth:
        return
    width = max(len(cells) for _, cells in told[depth:])
    heads = [_carried(cells, width) for _, cells in told[: depth - 1]]
    heads.append((told[depth - 1][1] + [""] * width)[:width])
    groups, fields = heads[0], heads[1]
    last = heads[2] if framed else [""] * width
    rows = [(at, cells) for at, cells in told[depth:] if len(cells) == width]
    yield list(zip(groups, fields, last, strict=True)), rows


def _bars(bare: str, framed: bool) -> list[str]:
    inside = bare.removeprefix("|").removesuffix("|") if framed else bare
    return [cell.strip() for cell in inside.split("|")][:_MOST_CELLS]


def _carried(cells: list[str], width: int) -> list[str]:
    """Headers over several columns stand over the first of them."""
    found: list[str] = []
    for cell in (cells + [""] * width)[:width]:
        found.append(cell or (found[-1] if found else ""))
    return found
