"""What was read from files of measurements, as text for a terminal and as JSON."""

import json
import math
from dataclasses import fields

from core.errors import Problem
from core.evidence.readers.common import Reading
from core.evidence.run import COUNTED_LINES, FIGURES, STATISTICS, Run, Setting
from core.evidence.run_json import to_tree
from core.reports.as_text import table
from core.spec.checks import LABELS
from core.units import show_bytes, show_time, three_digits
from core.words import Words, counted, percent

# Said of runs that were read whole; all else is of files, lines or cells that were not.
_WITH_CARE = frozenset(
    f"reading.{code}"
    for code in ("failed_requests", "failed_run", "no_averages", "not_streamed", "cancelled", "negative")
)
_SHOWN = ("mean", "p50", "p90", "p99", "max")


def reading_text(reading: Reading, words: Words) -> str:
    """Every run with its setting, figures and conversions; then what was not read, with line and reason."""
    lines = [line for run in reading.runs for line in (*_run_lines(run, words), "")]
    lines.append(words.phrase(counted("cli.read.runs", len(reading.runs))))
    if reading.problems:
        lines += ["", words("cli.read.problem"), *(f"  {words.located(p)}" for p in reading.problems)]
    return "\n".join(lines) + "\n"


def reading_json(reading: Reading, words: Words) -> str:
    """The runs, their conversions in words as well, and the problems with file, line and reason."""
    runs = [
        to_tree(run) | {"conversions_told": [words.phrase(phrase) for phrase in run.conversions]}
        for run in reading.runs
    ]
    tree = {"runs": runs, "problems": [_problem_tree(problem, words) for problem in reading.problems]}
    return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"


def left_out(problem: Problem) -> bool:
    """Whether the problem is of a file, a line or a cell that was not read."""
    return problem.severity != "note" and problem.code not in _WITH_CARE


def shown_figure(figure: str, value: float, words: Words) -> str:
    """A figure with its unit, as a person reads it."""
    unit = FIGURES[figure]
    if unit == "s":
        return str(show_time(value))
    if unit == "B":
        return str(show_bytes(value))
    if unit == "1":
        return words.phrase(percent(value))
    if unit == "Hz":
        return f"{three_digits(value / 1e6)} MHz"
    if unit == "1/s":
        unit = "req/s"
    return f"{three_digits(value)} {unit}"


def setting_told(setting: Setting, words: Words) -> list[tuple[str, str]]:
    """Name and value of everything that the file states."""
    told = []
    for field in fields(Setting):
        value = getattr(setting, field.name)
        if value is None or value == "":
            continue
        text = LABELS.get(value, value) if field.name == "engine" else _plain(value, words)
        told.append((words(f"measured.settings.{field.name}"), text))
    return told


def _plain(value: object, words: Words) -> str:
    if isinstance(value, bool):
        return words(f"measured.values.{str(value).lower()}")
    if value == "unspecified":
        return words("measured.values.unspecified")
    if isinstance(value, float):
        return words("measured.values.at_once") if math.isinf(value) else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _run_lines(run: Run, words: Words) -> list[str]:
    origin = run.origin
    place = f"{origin.file}:{origin.line}" if origin.line else origin.file
    head = [place, f"{origin.tool} {origin.tool_version}".strip(), run.label, run.started_at]
    lines = ["  ".join(part for part in head if part)]
    lines += [f"  {line}" for line in table(setting_told(run.setting, words))]
    statistics = [name for name in STATISTICS if name in _SHOWN and any(s == name for _, s in run.figures)]
    rows = [
        [words(f"measured.figures.{figure}"), *(_cell(run, figure, name, words) for name in statistics)]
        for figure in FIGURES
        if any((figure, name) in run.figures for name in statistics)
    ]
    if rows:
        head = [words("cli.read.figure"), *(words(f"measured.statistics.{name}") for name in statistics)]
        lines += [f"  {line}" for line in table([head, *rows], range(1, len(head)))]
    lines += [f"  {line}" for line in table(_ledger(run, words), (1,))]
    if run.operators:
        lines.append(f"  {words.phrase(counted('cli.read.operators', len(run.operators)))}")
    if run.conversions:
        lines += [f"  {words('cli.read.conversion')}", *(f"    {words.phrase(p)}" for p in run.conversions)]
    return lines


def _cell(run: Run, figure: str, statistic: str, words: Words) -> str:
    value = run.figures.get((figure, statistic))
    return "" if value is None else shown_figure(figure, value, words)


def _ledger(run: Run, words: Words) -> list[tuple[str, str]]:
    """Lines of the engine's memory by what they are; counts as they are."""
    return [
        (_line(name, words), f"{value:,.6g}" if name in COUNTED_LINES else str(show_bytes(value)))
        for name, value in run.ledger.items()
    ]


def _line(name: str, words: Words) -> str:
    known = f"measured.lines.{name}"
    return words(known) if words.has(known) else name


def _problem_tree(problem: Problem, words: Words) -> dict[str, object]:
    values = problem.values
    return {
        "file": values.get("file", ""),
        "line": values.get("line", 0),
        "code": problem.code,
        "severity": problem.severity,
        "reason": words.problem(problem),
    }
