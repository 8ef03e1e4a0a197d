"""Rows of a table that are made where they are asked for: of hundreds a screen shows a dozen."""

from collections.abc import Callable, Sequence
from typing import overload

from gui.widgets.grid_table import MEASURED, Row


class MadeRows(Sequence[Row]):
    """``make`` gives the row of a number, always the same one; the first ones are made at once."""

    def __init__(self, count: int, make: Callable[[int], Row]) -> None:
        self._make = make
        self._made: list[Row | None] = [None] * count
        for number in range(min(count, MEASURED)):
            self._made[number] = make(number)

    def __len__(self) -> int:
        """All of them."""
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        """One row, or some."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self._made)))]
        found = self._made[index]
        if found is None:
            found = self._made[index] = self._make(range(len(self._made))[index])
        return found
