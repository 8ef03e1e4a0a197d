"""Any two inputs against any result: values, whether the service starts, whether targets are met.

Rows are worked out one after the other, coarse ones first, each with all its columns in one call where
the column is a load, a length, a setting that leaves the step's plan alone, a number of copies, or what a
step's time is a plain function of; everything that does not depend on the column is prepared once a row.
Other cells (two categories) are worked out one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InvalidScenario
from core.planning.explore_axes import Axis, coarse_first
from core.planning.explore_columns import (
    SettingRows,
    copied,
    only_cell,
    plain,
    planned,
    quick,
    quickest,
    roomy,
    row_of_loads,
)
from core.planning.explore_memory import BoolArray
from core.planning.explore_results import RESULTS, ResultKey, Row, no_row, result_of
from core.planning.explore_services import Services
from core.planning.explore_together import Prepared, cells_of, rows_of
from core.quantities import FloatArray
from core.spec.scenario import Scenario

FINE = 200  # points of an axis of numbers
_TOGETHER = 12  # rows of arrivals
_FREED = 1 << 21  # numbers


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole picture; arrays (rows, columns)."""

    x: Axis
    y: Axis
    result: ResultKey
    values: FloatArray
    starts: BoolArray
    meets: BoolArray


def is_fast(scenario: Scenario, x: Axis, y: Axis) -> bool:
    """Whether a row is one call: 200 × 200 take some tenths of a second, most where arrivals meet other
    lives in every cell.
    """
    ways = ((x.path, y.path), (y.path, x.path))
    return any(column in copied(scenario, row) for column, row in ways)


def turned(scenario: Scenario, x: Axis, y: Axis) -> bool:
    """Whether the axes should change places so that rows are quick."""
    for ways in (quickest, planned, roomy, quick, plain, copied):
        if x.path in ways(scenario, y.path):
            return False
        if y.path in ways(scenario, x.path):
            return True
    # Each row is prepared once: few rows of many columns.
    return x.is_category and not y.is_category


def explore_rows(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Iterator[Row]:
    """The rows of the grid as they are done, coarse first; a row holds the cells of one value of ``y``.

    Where only columns are quick (``turned``) ``explore_grid`` lets the axes change places.
    """
    # Where a large piece has been freed, common C libraries keep smaller ones for whoever asks next; else
    # each block of cells would get its memory anew from the system, which takes longer than to fill it.
    np.empty(_FREED)
    work_out = _way(scenario, x, y, result)
    waiting: list[Prepared] = []
    for index in coarse_first(len(y.values)):
        try:
            row = work_out(y.apply(scenario, index), index)
        except InvalidScenario:
            row = no_row(index, len(x.values))
        if isinstance(row, Row):
            yield row
            continue
        waiting.append(row)
        if not row.is_joined or len(waiting) >= _TOGETHER:
            yield from rows_of(waiting, result)
            waiting = []
    yield from rows_of(waiting, result)


def _way(
    scenario: Scenario, x: Axis, y: Axis, result: ResultKey
) -> Callable[[Scenario, int], Prepared | Row]:
    """How a row is worked out."""
    if x.path != y.path and x.path in quickest(scenario, y.path):
        services = Services(x, y.path)
        return lambda own, index: row_of_loads(own, x, index, services)
    if x.path != y.path and x.path in copied(scenario, y.path):
        return SettingRows(x, y.path).row
    return lambda own, index: _row_of_cells(own, x, index, result)


def _row_of_cells(own: Scenario, x: Axis, index: int, result: ResultKey) -> Row:
    """Cells that have nothing in common."""
    found = [_cell(own, x, column, result) for column in range(len(x.values))]
    done = {cell.index: cell for cell in found if isinstance(cell, Row)}
    waiting = [cell for cell in found if not isinstance(cell, Row)]
    done |= {cell.index: cell for cell in cells_of(waiting, result)}
    cells = [done[column] for column in range(len(x.values))]
    values, starts, meets = (
        np.concatenate([getattr(cell, name) for cell in cells]) for name in ("values", "starts", "meets")
    )
    return Row(index, values, starts, meets)


def _cell(own: Scenario, x: Axis, column: int, result: ResultKey) -> Prepared | Row:
    try:
        return only_cell(x.apply(own, column), column, result)
    except InvalidScenario:
        return no_row(column, 1)


def explore_grid(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Iterator[tuple[float, Grid]]:
    """The grid as it fills: the finished share and always the same arrays, cells to come are nan.

    Coarse rows (or columns, where those are quick) come first, so every picture is of the whole range.
    Stop by not asking for the next one.
    """
    swap = turned(scenario, x, y)
    across, down = (y, x) if swap else (x, y)
    shape = (len(down.values), len(across.values))
    values = np.full(shape, np.nan)
    starts, meets = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    seen = (values.T, starts.T, meets.T) if swap else (values, starts, meets)
    grid = Grid(x, y, result, *seen)
    for count, row in enumerate(explore_rows(scenario, across, down, result), 1):
        values[row.index], starts[row.index], meets[row.index] = row.values, row.starts, row.meets
        yield count / shape[0], grid


def explore(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Grid:
    """The whole grid at once."""
    steps = list(explore_grid(scenario, x, y, result))
    return steps[-1][1]


def family(grid: Grid, most: int = 7) -> Sequence[int]:
    """Rows that stand for the grid as a family of curves: its ends and even steps between."""
    count = len(grid.y.values)
    return tuple(sorted({round(i) for i in np.linspace(0, count - 1, min(most, count))}))


__all__ = [
    "FINE",
    "RESULTS",
    "Axis",
    "Grid",
    "ResultKey",
    "Row",
    "explore",
    "explore_grid",
    "explore_rows",
    "family",
    "is_fast",
    "result_of",
    "turned",
]
