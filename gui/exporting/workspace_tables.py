"""The data behind the plots of Compare, Explore, Recommend and Simulate, as tables to give away."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtWidgets import QWidget

from core.planning.capacity_search import Trial
from core.quantities import FloatArray
from core.units import memory_size, memory_unit
from core.words import Words
from gui.exporting.plot_tables import Cell, DataTable, table_of
from gui.plots.compare_curves import CompareCurves
from gui.plots.price_plot import Point
from gui.work.exploration import Picture
from gui.work.simulation import Shot, Study


@dataclass(frozen=True, slots=True)
class Given:
    """A plot that a workspace gives away; ``table`` makes its data, None where there is none yet."""

    title: str
    widget: QWidget
    table: Callable[[], DataTable | None]


def _heads(words: Words, *keys: str) -> tuple[str, ...]:
    return tuple(words(f"export.heads.{key}", unit=memory_unit()) for key in keys)


def compare_table(plot: CompareCurves, words: Words) -> DataTable | None:
    """A row for each point of each scenario's curve: their users need not be the same."""
    sizes = {"first_token": 1.0, "per_token": 1e-3, "throughput": 1.0, "memory": float(memory_size())}
    heads = _heads(words, "scenario", "users", "gib" if plot.kind == "memory" else plot.kind)
    rows: list[tuple[Cell, ...]] = []
    for one in plot.series:
        users, values = plot.points(one)
        for count, value in zip(users.tolist(), values.tolist(), strict=True):
            rows.append((one.letter, float(count), float(value) / sizes[plot.kind]))
    return DataTable(heads, tuple(rows)) if rows else None


def explore_table(picture: Picture | None, words: Words) -> DataTable | None:
    """A row for each cell, in SI units: both inputs, the result, whether it starts and meets the targets."""
    if picture is None:
        return None
    x, y = picture.x, picture.y
    names = [words.phrase(axis.name) for axis in (x, y)]
    heads = (*names, words(f"explore.results.{picture.result}"), *_heads(words, "starts", "meets"))
    said = {True: words("export.yes"), False: words("export.no")}
    across = [_input(x.values[i], x.labels, i) for i in range(len(x.values))]
    rows: list[tuple[Cell, ...]] = []
    for row in range(len(y.values)):
        down = _input(y.values[row], y.labels, row)
        values, starts, meets = (
            part[row].tolist() for part in (picture.values, picture.starts, picture.meets)
        )
        rows += [(across[i], down, values[i], said[starts[i]], said[meets[i]]) for i in range(len(across))]
    return DataTable(heads, tuple(rows))


def _input(value: object, labels: Sequence[str], index: int) -> Cell:
    return labels[index] if labels else float(value)  # type: ignore[arg-type]


def points_table(points: Sequence[Point], for_models: bool, words: Words) -> DataTable | None:
    """What was searched: a row for each point of the plot."""
    heads = _heads(words, "name", "size" if for_models else "price", "throughput", "meets")
    said = {True: words("export.yes"), False: words("export.no")}
    rows = tuple((p.label, float(p.x), float(p.y), said[p.good]) for p in points)
    return DataTable(heads, rows) if rows else None


def over_time_table(shot: Shot | None, words: Words) -> DataTable | None:
    """What went on in a simulated service, over time."""
    if shot is None or not len(shot.result.over.time):
        return None
    over = shot.result.over
    heads = _heads(words, "time", "running", "waiting", "cache", "preemptions", "hits")
    columns = [over.time, over.running, over.waiting, 100 * over.cache, over.preemptions, 100 * over.hits]
    return table_of(heads, columns)


def requests_table(shot: Shot | None, words: Words) -> DataTable | None:
    """What became of each simulated request."""
    if shot is None or not len(shot.fates):
        return None
    fates = shot.fates
    heads = _heads(
        words, "arrival", "admitted", "first_at", "finish", "prompt", "answer", "cached", "first_token",
        "per_token",
    )  # fmt: skip
    several = np.maximum(fates.output - 1.0, np.nan)
    several[~(fates.output > 1)] = np.nan  # one token has no time between tokens
    columns: list[FloatArray] = [
        fates.arrival,
        fates.admitted,
        fates.first,
        fates.finish,
        fates.prompt,
        fates.output,
        fates.cached,
        fates.first - fates.arrival,
        1e3 * (fates.finish - fates.first) / several,
    ]
    return table_of(heads, columns)


def study_table(study: Study | None, words: Words) -> DataTable | None:
    """Latency and throughput at every load that was simulated."""
    if study is None or not study.trials:
        return None
    trials: tuple[Trial, ...] = study.trials
    by = "users" if study.found.by == "users" else "rate"
    names = [words(f"export.heads.{key}") for key in ("first_token", "per_token")]
    heads = [words(f"export.heads.{by}")]
    for name in names:
        heads += [name, words("export.heads.low", name=name), words("export.heads.high", name=name)]
    columns = [np.array([one.load for one in trials])]
    for field, factor in (("time_to_first_token", 1.0), ("time_per_output_token", 1e3)):
        ranges = [getattr(one, field) for one in trials]
        columns += [
            factor * np.array([getattr(r, side) for r in ranges]) for side in ("expected", "low", "high")
        ]
    columns.append(np.array([one.output_tokens_per_second for one in trials]))
    return table_of([*heads, words("export.heads.throughput")], columns)


__all__ = [
    "Given",
    "compare_table",
    "explore_table",
    "over_time_table",
    "points_table",
    "requests_table",
    "study_table",
]
