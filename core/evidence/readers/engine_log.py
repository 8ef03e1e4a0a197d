"""What the readers of start-up logs share: the lines that matter, and a ledger of several ranks."""

import re
from collections.abc import Iterator
from typing import Any

from core.errors import Problem
from core.evidence.quotes import Quotes
from core.evidence.readers.common import Builder, number, problem

GIB, MIB = 2**30, 2**20
# Of a line: as much as the longest list of arguments needs.  Of a log: start-up is a few hundred lines.
_BEFORE, _AFTER = 400, 12_000
_MOST_LINES = 20_000
_MOST_CHARACTERS = 8 * 2**20
_MOST, _MOST_COUNT = 1e18, 10**12
# Lines of a ledger of which the smallest of all ranks binds the engine.
_POOLS = ("kv_cache", "available_kv")
_COUNTS = ("kv_cache_tokens", "max_concurrency", "gpu_blocks")


def marked_lines(
    text: str, marks: "re.Pattern[str]", name: str, told: list[Problem]
) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of the lines in which ``marks`` occurs.

    A line ends at a line feed or a carriage return, and is cut to what lies near the mark; a log of
    millions of marks is read up to a limit, which is ``told``.
    """
    line, counted, at, seen = 1, 0, 0, 0
    for _ in range(_MOST_LINES):
        found = marks.search(text, at)
        if found is None:
            return
        if seen > _MOST_CHARACTERS:
            break
        place = found.start()
        begin = max(text.rfind(mark, max(at, place - _BEFORE), place) + 1 for mark in "\n\r")
        begin = begin or max(at, place - _BEFORE)
        stop = min(len(text), place + _AFTER)
        ends = [end for mark in "\n\r" if (end := text.find(mark, found.end(), stop)) >= 0]
        at = min(ends, default=stop)
        line += text.count("\n", counted, begin)
        counted = begin
        seen += at - begin
        yield line, text[begin:at]
    if marks.search(text, at) is not None:
        told.append(problem("too_many_rows", name, line, "warning", limit=f"{line:,}"))


def size(found: "re.Match[str] | None", unit: float = GIB, group: int = 1) -> float | None:
    """The bytes that a group of a match states; below nothing, which freed caches make, is nothing."""
    value = number(found[group]) if found is not None else None
    return None if value is None else max(0.0, value) * unit


def stated(text: str, name: str) -> str:
    """The value of ``name=value`` or ``'name': value`` in a list of arguments; "" where there is none.

    Of a value with brackets as much as stands before the first comma; quotation marks are taken off.
    """
    found = re.search(
        rf"(?<![\w.])'?{name}'?(?:=|: ?)('[^'\n]{{0,300}}'|\"[^\"\n]{{0,300}}\"|[^,\s)}}]{{1,300}})", text
    )
    value = found[1].strip("'\"") if found else ""
    return "" if value in ("None", "null") else value


def flag(text: str, name: str) -> bool | None:
    """The value of an argument that is on or off."""
    return {"true": True, "false": False}.get(stated(text, name).lower())


def whole(text: str, name: str) -> int | None:
    """The value of an argument that is a whole number above nothing."""
    value = stated(text, name)
    return int(value) if value.isascii() and value.isdigit() and 0 < int(value[:16]) < 10**15 else None


def finish(made: Builder, ledger: dict[str, float], devices: float | None = None) -> None:
    """Give a run its ledger and its number of devices, without what no machine has."""
    made.ledger = {line: value for line, value in ledger.items() if 0 <= value <= _MOST}
    if devices:
        made.set(accelerators=devices)
    for setting, value in list(made.settings.items()):
        if isinstance(value, int) and not isinstance(value, bool) and value > _MOST_COUNT:
            del made.settings[setting]


class Ranks:
    """Ledgers of the processes of one engine.

    The ledger of the engine is that of the rank with the smallest pool, which all others have to follow;
    what that one did not print is the largest of the others.
    """

    def __init__(self) -> None:
        self.lines: dict[str, dict[str, float]] = {}
        self.gave: set[str] = set()  # by the line of the log that is being read
        self.quotes = Quotes()

    def quote(self, number_: int, line: str) -> None:
        """Keep a line of the log that has been read, with what it gave."""
        self.quotes.add(number_, line, self.gave)
        self.gave = set()

    def put(self, rank: str, line: str, value: float | None, *, again: bool = False) -> None:
        """A line as a rank printed it: the first figure stays, unless ``again``."""
        if value is not None:
            self.gave.add(line)
            held = self.lines.setdefault(rank, {})
            held[line] = value if again else held.get(line, value)

    def add(self, rank: str, line: str, value: float | None) -> None:
        """A line that is the sum of what is printed."""
        if value is not None:
            self.gave.add(line)
            held = self.lines.setdefault(rank, {})
            held[line] = held.get(line, 0.0) + value

    def __bool__(self) -> bool:
        return any(self.lines.values())

    def ledger(self) -> dict[str, float]:
        """One ledger of all."""
        merged: dict[str, float] = {}
        for held in self.lines.values():
            for line, value in held.items():
                choose = min if line in _COUNTS else max
                merged[line] = choose(merged.get(line, value), value)
        return merged | self._binding()

    def _binding(self) -> dict[str, float]:
        pools = [(min(pool), held) for held in self.lines.values() if (pool := _values(held, _POOLS))]
        return min(pools, key=lambda one: one[0])[1] if pools else {}

    def others(self) -> dict[str, Any]:
        """What each rank printed, where they differ in a line that several printed."""
        for line in ("weights", "non_torch", "activation_peak", *_POOLS):
            if len({round(held[line]) for held in self.lines.values() if line in held}) > 1:
                break
        else:
            return {}
        return {rank or "engine": dict(held) for rank, held in list(self.lines.items())[:64]}


def _values(held: dict[str, float], names: tuple[str, ...]) -> list[float]:
    return [held[name] for name in names if name in held]
