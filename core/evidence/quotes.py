"""The lines of a start-up log that a run was read from, kept with it to be laid beside the ledger.

In a file of runs they are ``"log": [[number, text, "weights kv_cache"], …]``: number of the line from 1, the
line without its stamps, the lines of the ledger that it gave ("" for none).
"""

import re
from collections.abc import Iterable

from core.evidence.run import Quote

_MOST_GIVING, _MOST_OTHERS = 40, 10  # lines kept: what gave nothing is there to find one's way only
_LONG, _SHORT = 480, 160  # characters of such lines
_STAMPS = re.compile(
    r"\(\w{1,40}(?: rank=\d{1,4})?(?: pid=\d{1,9})(?:, ip=[\d.]{1,40})?\)|"  # which process
    r"\b(?:time=)?(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:\d\d)?|"  # when
    r"\[(?:\d\d/\d\d/\d{4}-)?\d\d:\d\d:\d\d\]|"
    r"^\d{1,4}\.\d\d\.\d{3}\.\d{3} [A-Z]\b|"
    r"\[?\b[\w./-]{1,80}\.(?:py|cpp|go):\d{1,6}\]|\bsource=\w{1,40}\.go:\d{1,6}"  # where in the engine
)


class Quotes:
    """What of a log is kept while it is read."""

    def __init__(self) -> None:
        self._giving = self._others = 0
        self._kept: list[Quote] = []

    def add(self, number: int, line: str, gave: Iterable[str]) -> None:
        """One line, unless there are enough of its kind."""
        names = tuple(sorted(gave))
        if names:
            self._giving += 1
        else:
            self._others += 1
        if self._giving > _MOST_GIVING if names else self._others > _MOST_OTHERS:
            return
        self._kept.append(Quote(number, _plain(line, _LONG if names else _SHORT), names))

    @property
    def kept(self) -> tuple[Quote, ...]:
        """What is laid beside the ledger; nothing where no line gave anything."""
        return tuple(self._kept) if self._giving else ()


def _plain(line: str, most: int) -> str:
    """The line without stamps, control characters and runs of blanks, cut to what can be read."""
    text = _STAMPS.sub(" ", line[: 2 * most + 200])
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    text = text.replace("[ ] ", "").replace("[ ", "[")
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def quotes_tree(log: Iterable[Quote]) -> list[list[object]]:
    """The lines as JSON values."""
    return [[one.number, one.text, " ".join(one.gave)] for one in log]


def quotes_from(tree: object) -> tuple[Quote, ...]:
    """The lines of a tree; what somebody's file holds in their place is passed over."""
    found = []
    for one in tree[: _MOST_GIVING + _MOST_OTHERS] if isinstance(tree, list) else ():
        if not isinstance(one, list) or len(one) != 3:
            continue
        number, text, gave = one
        if type(number) is int and type(text) is str and type(gave) is str:
            found.append(Quote(number, text[:_LONG], tuple(gave[:_LONG].split())))
    return tuple(found)
