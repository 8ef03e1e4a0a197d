"""Runs of the log as a sequence of entries, each of which is made when it is first asked for.

A hundred thousand rows are there at once; who predicts, shows or exports them asks for hundreds at a time.
"""

import gc
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, overload

from core.errors import InferometerError
from core.evidence.run import FIGURES, STATISTICS, Origin, Run, Setting
from core.evidence.run_json import assembled, setting_of

_PIECE = 400  # entries that are made together: no other thread runs meanwhile
_KNOWN = frozenset((name, statistic) for name in FIGURES for statistic in STATISTICS)
_UNREADABLE = Run(Origin(""))  # what stands for a damaged row: it measures nothing

Row = tuple[int, bytes, bytes, bytes, int, bytes]  # id, added_at, head, setting, shape, figures


class Entry(NamedTuple):
    """A run as the log keeps it; ``added_at`` is ISO 8601 in UTC."""

    id: int
    added_at: str
    run: Run


class Shape:
    """The figures of runs that have the same ones."""

    def __init__(self, text: bytes) -> None:
        names: list[tuple[str, str]] = []
        with suppress(ValueError, TypeError, AttributeError):  # damaged
            names = [(name.partition(".")[0], name.partition(".")[2]) for name in json.loads(text)]
        self.keys = tuple(names)
        self.packed = struct.Struct(f"<{len(names)}d")
        self.unknown = [key for key in names if key not in _KNOWN]  # of a later version

    def figures(self, packed: bytes) -> dict[tuple[str, str], float]:
        """The figures by name.  Raises struct.error, TypeError."""
        figures = dict(zip(self.keys, self.packed.unpack(packed), strict=True))
        for key in self.unknown:
            del figures[key]
        return figures


class KeptRuns(Sequence[Entry]):
    """Entries of the log in its order.

    ``ids`` are theirs, ``setting_of`` the number of each one's setting: equal where it is written alike.
    A row that turns out damaged is an empty run, and ``found_damaged`` is called with how many there are.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        shapes: dict[int, Shape],
        found_damaged: Callable[[int], object] = lambda _count: None,
    ) -> None:
        self._rows: list[Row | Entry] = list(rows)  # an entry takes the place of its row
        self._shapes, self._found_damaged = shapes, found_damaged
        self.ids = tuple(row[0] for row in rows)
        numbers: dict[bytes, int] = {}
        self.setting_of = [numbers.setdefault(row[3], len(numbers)) for row in rows]
        self._settings: list[bytes | Setting | None] = list(numbers)  # None: damaged
        self.damaged: set[int] = set()  # ids

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> list[Entry]: ...
    def __getitem__(self, at: int | slice) -> Entry | list[Entry]:
        if isinstance(at, slice):
            return self.some(range(*at.indices(len(self))))
        one = self._rows[at]
        return one if type(one) is Entry else self.some((at % len(self),))[0]

    def __iter__(self) -> Iterator[Entry]:
        for start in range(0, len(self), _PIECE):
            yield from self[start : start + _PIECE]

    def some(self, places: Sequence[int]) -> list[Entry]:
        """The entries of these places, made together."""
        for start in range(0, len(places), _PIECE):
            self._make(places[start : start + _PIECE])
        rows: Any = self._rows
        return [rows[at] for at in places]

    def _make(self, places: Sequence[int]) -> None:
        rows: list[Any] = self._rows
        new = [(at, row) for at in places if type(row := rows[at]) is not Entry]
        if not new:
            return
        self._learn([self.setting_of[at] for at, _ in new])
        damaged = len(self.damaged)
        for (at, row), tree in zip(new, _trees([row[2] for _, row in new]), strict=True):
            rows[at] = Entry(row[0], row[1].decode("utf-8", "replace"), self._run(at, row, tree))
        if len(self.damaged) > damaged:
            self._found_damaged(len(self.damaged))

    def _run(self, at: int, row: Any, tree: Any) -> Run:
        setting, shape = self._settings[self.setting_of[at]], self._shapes.get(row[4])
        if type(setting) is Setting and shape is not None and type(tree) is dict:
            with suppress(InferometerError, struct.error, TypeError):
                return assembled(tree, setting, shape.figures(row[5]))
        self.damaged.add(row[0])
        return _UNREADABLE

    def _learn(self, numbers: Sequence[int]) -> None:
        """Make settings that are still texts: runs of a sweep share them."""
        new = [(n, one) for n in dict.fromkeys(numbers) if type(one := self._settings[n]) is bytes]
        for (number, _), tree in zip(new, _trees([text for _, text in new]), strict=True):
            self._settings[number] = None
            with suppress(InferometerError):
                self._settings[number] = setting_of(tree)


@contextmanager
def without_collecting() -> Iterator[None]:
    """For objects by the hundred thousand that all stay: a search for circles would take most of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def entries_at(entries: Sequence[Entry], places: Sequence[int]) -> Sequence[Entry]:
    """Entries of any sequence, made together where they are made only now."""
    return entries.some(places) if isinstance(entries, KeptRuns) else [entries[at] for at in places]


def ids_of(entries: Sequence[Entry]) -> Sequence[int]:
    """The ids of entries, none of which is made for it."""
    return entries.ids if isinstance(entries, KeptRuns) else [entry.id for entry in entries]


def by_setting(entries: Sequence[Entry]) -> list[int]:
    """The places of entries, equal settings together, in the order of the first of each."""
    known: dict[object, list[int]] = {}
    keys = entries.setting_of if isinstance(entries, KeptRuns) else [one.run.setting for one in entries]
    for at, key in enumerate(keys):
        known.setdefault(key, []).append(at)
    return [at for places in known.values() for at in places]


def _trees(texts: list[bytes]) -> list[Any]:
    """Texts as JSON, all at once when none is damaged; None for one that is."""
    with suppress(ValueError, TypeError, RecursionError):
        trees: list[Any] = json.loads(b"[%b]" % b",".join(texts))
        if len(trees) == len(texts):
            return trees
    return [_tree(text) for text in texts]


def _tree(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
