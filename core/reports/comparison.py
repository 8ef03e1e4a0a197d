"""Scenarios beside each other in a report: the table of what differs, and their curves over one another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.planning.compare import Row, difference_table, headline
from core.planning.curves import WorkloadCurves
from core.planning.sweep import workload_curves
from core.quantities import EXPECTED, FloatArray
from core.reports.plots import Picture, thinned, whole_users
from core.reports.svg import Chart, Curve, draw
from core.results import Estimate
from core.units import memory_size, memory_unit, show_limit
from core.words import Phrase, Words

_BEYOND = 2.0  # of the largest value at a scenario's own load: what rises further leaves the picture


@dataclass(frozen=True, slots=True)
class Series:
    """One of the scenarios: its letter and name, and its curves where they are known already."""

    letter: str
    name: str
    point: Estimate
    curves: WorkloadCurves | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scenarios, the first that of the report; ``baseline``: which of them the others are held against."""

    series: tuple[Series, ...]
    baseline: int = 0
    only_differences: bool = True

    def rows(self) -> tuple[Row, ...]:
        """The rows of the table."""
        points = [one.point for one in self.series]
        return difference_table(points, self.baseline, self.only_differences)


@dataclass(frozen=True, slots=True)
class Compared:
    """The comparison in words: who is fastest, head and rows of the table, pictures."""

    title: str
    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    pictures: tuple[Picture, ...]


def compared(found: Comparison, words: Words) -> Compared:
    """What a report says of a comparison."""
    letters = [one.letter for one in found.series]
    heads = [f"{one.letter} · {one.name}" for one in found.series]
    sentence = headline([one.point for one in found.series], letters)
    rows: list[tuple[str, ...]] = []
    section = ""
    for row in found.rows():
        if row.section != section:
            section = row.section
            rows.append((words(f"compare.sections.{section}"), *("" for _ in found.series)))
        rows.append((words.phrase(row.name), *_cells(row, words)))
    head = (words("reports.columns.quantity"), *heads)
    return Compared(
        words("compare.title"), words.phrase(sentence), head, tuple(rows), _pictures(found, words)
    )


def _cells(row: Row, words: Words) -> list[str]:
    """Each value with its distance from the baseline."""
    texts = []
    for cell in row.cells:
        text = words.phrase(cell.shown) if isinstance(cell.shown, Phrase) else str(cell.shown)
        change = cell.change_said
        texts.append(text if change is None else f"{text} ({words.phrase(change)})")
    return texts


def _pictures(found: Comparison, words: Words) -> tuple[Picture, ...]:
    known = [
        (one, one.curves if one.curves is not None else workload_curves(one.point.scenario, one.point))
        for one in found.series
    ]
    kinds = ("first_token", "per_token", "throughput", "memory")
    return tuple(picture for kind in kinds if (picture := _picture(kind, known, words)) is not None)


def _picture(kind: str, known: Sequence[tuple[Series, WorkloadCurves]], words: Words) -> Picture | None:
    unit, size = {
        "first_token": ("s", 1.0),
        "per_token": ("ms", 1e-3),
        "throughput": (words("reports.axes.throughput"), 1.0),
        "memory": (words("reports.axes.gib", unit=memory_unit()), float(memory_size())),
    }[kind]
    drawn, columns, here = [], [], []
    for one, curves in known:
        values = _values(kind, one, curves)
        if values is None:
            continue
        users, y = thinned(*values)
        y = tuple(value / size for value in y)
        drawn.append(Curve(one.letter, users, y))
        kept, shown = whole_users(users, y)
        columns += [(f"{one.letter}, {words('reports.axes.users')}", kept), (f"{one.letter}, {unit}", shown)]
        value = _here(kind, one.point) / size
        here.append(value if math.isfinite(value) else 0.0)
    if not drawn:
        return None
    title = words(f"plots.compare_{kind}.title")
    target = _target(kind, known[0][0].point)
    limits = () if target is None else ((target / size, f"≤ {show_limit(target)}"),)
    most = max(_BEYOND * max(here), 1.2 * (target or 0.0) / size) if max(here) > 0 else None
    chart = Chart(title, words("reports.axes.users"), unit, drawn, limits, None, "linear", most)
    return Picture(f"compare_{kind}", title, draw(chart), tuple(columns))


def _values(kind: str, one: Series, curves: WorkloadCurves) -> tuple[FloatArray, FloatArray] | None:
    """Users and SI values; None for a scenario that does not start."""
    if kind == "memory":
        return curves.memory_users, curves.memory.bytes
    load = curves.load
    if load is None or one.point.speed is None:
        return None
    return load.users, {
        "first_token": load.time_to_first_token,
        "per_token": load.time_per_output_token,
        "throughput": load.output_tokens_per_second,
    }[kind][EXPECTED]


def _here(kind: str, point: Estimate) -> float:
    """The value at the scenario's own load."""
    if kind == "memory":
        return 0.6 * max(point.ledger.needed_bytes, point.ledger.device_bytes)
    assert point.speed is not None
    names = {
        "first_token": "time_to_first_token",
        "per_token": "time_per_output_token",
        "throughput": "output_throughput",
    }
    return float(getattr(point.speed, names[kind]).expected)


def _target(kind: str, point: Estimate) -> float | None:
    targets = point.scenario.targets
    if kind == "first_token":
        return targets.time_to_first_token_s
    each = targets.time_per_output_token_ms
    return None if kind != "per_token" or each is None else each / 1e3
