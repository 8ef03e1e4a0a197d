"""What every reader uses: what it hands back, a run under construction, lines, numbers, problems.

A reader is a module with ``KEY`` (the tool's key, as in ``Origin.tool``), ``WHOLE`` (True: a file that
looks like this is nothing else; False: a text that others may find their own parts in as well),
``looks_like(text, name)``, which must be cheap, and ``read(text, name)``.  Texts come from
``decoding.decoded``: no byte-order mark, no escape sequences, lines divided by a line feed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from core.errors import Problem
from core.evidence.run import FIGURES, STATISTICS, Operator, Origin, Quote, Run, Setting
from core.words import Phrase

MAX_LINE = 8192  # characters of a line that a reader looks at; measured lines are far shorter
_MAX_REST = 200  # fields that a run keeps without understanding them
_MAX_TEXT = 500
_MAX_ITEMS = 50
_MAX_NESTING = 3
_LARGEST = 1e18  # no figure and no setting in our units is larger
_NUMBER = re.compile(r"[-+]?(?:\d[\d,_]{0,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?")
_NO_NUMBER_NEEDED = frozenset({"", "-", "–", "n/a", "N/A", "None", "null", "nan", "NaN"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: its runs, and with line and reason what could not be read."""

    runs: tuple[Run, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __add__(self, other: "Reading") -> "Reading":
        return Reading(self.runs + other.runs, self.problems + other.problems)


class Reader(Protocol):
    """The shape of a reader's module."""

    KEY: str
    WHOLE: bool

    def looks_like(self, text: str, name: str, /) -> bool:
        """Whether the text may hold what this reader reads."""

    def read(self, text: str, name: str, /) -> Reading:
        """The runs in the text; never raises."""


def problem(
    code: str,
    name: str,
    line: int = 0,
    severity: Literal["error", "warning", "note"] = "error",
    **values: object,
) -> Problem:
    """A problem of a file: the sentence below ``problems.reading.`` is the reason, the path is the place."""
    place = f"{name}:{line}" if line else name
    return Problem(f"reading.{code}", (place,), {"file": name, "line": line, **values}, severity)


def together(readings: Iterable[Reading]) -> Reading:
    """Several readings as one."""
    every = tuple(readings)
    return Reading(
        tuple(run for reading in every for run in reading.runs),
        tuple(found for reading in every for found in reading.problems),
    )


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line, cut to ``MAX_LINE`` characters.

    A progress bar overwrites its line after a carriage return: every state of it is a part with the
    number of the line that it is in.
    """
    start, number = 0, 1
    size = len(text)
    while start <= size:
        end = text.find("\n", start)
        end = size if end < 0 else end
        if text.find("\r", start, end) < 0:
            yield number, text[start : min(end, start + MAX_LINE)]
        else:
            for part in text[start:end].split("\r"):
                yield number, part[:MAX_LINE]
        start, number = end + 1, number + 1


def number(value: object) -> float | None:
    """A finite number, given as one or written as one ("1,234.5"); None for anything else."""
    if type(value) is float:
        return value if -_LARGEST <= value <= _LARGEST else None  # false for what is no number
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        value = float(text.replace(",", "").replace("_", ""))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_LARGEST <= value <= _LARGEST else None


def count(value: object) -> int | None:
    """A whole number that is not negative; None for anything else."""
    found = number(value)
    return round(found) if found is not None and 0 <= found <= 1e15 and found == round(found) else None


def text_of(value: object) -> str:
    """A short text on one line, "" for anything else."""
    if not isinstance(value, str):
        return ""
    return " ".join(_printable(value[:_MAX_TEXT]).split())


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def shown(value: object) -> str:
    """A foreign value as a message repeats it: one short printable line."""
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else "[…]"
    return text_of(str(value) if isinstance(value, str | int | float | bool) else "")[:40]


def tree_of(value: object) -> dict[str, Any]:
    """The object that a field holds, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def bounded(value: object, nesting: int = 0) -> object:
    """A foreign value cut to what is worth keeping: JSON of bounded size."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _printable(value[:_MAX_TEXT])
    if isinstance(value, int | float):
        return value if number(value) is not None else str(value)[:40]
    if nesting >= _MAX_NESTING:
        return "…"
    if isinstance(value, dict):
        some = list(value.items())[:_MAX_ITEMS]
        return {text_of(str(key)): bounded(part, nesting + 1) for key, part in some}
    if isinstance(value, list | tuple):
        return [bounded(part, nesting + 1) for part in value[:_MAX_ITEMS]]
    return "…"


class Builder:
    """A run under construction, with the problems met on the way."""

    def __init__(self, tool: str, name: str, line: int = 0, version: str = "") -> None:
        self.tool, self.name, self.line, self.version = tool, name, line, version
        self.settings: dict[str, Any] = {}
        self.figures: dict[tuple[str, str], float] = {}
        self.ledger: dict[str, float] = {}
        self.operators: list[Operator] = []
        self.rest: dict[str, object] = {}
        self.problems: list[Problem] = []
        self.started_at = ""
        self.label = ""
        self.log: tuple[Quote, ...] = ()
        self._conversions: dict[str, Phrase] = {}

    def put(self, figure: str, statistic: str, value: object, factor: float = 1.0) -> bool:
        """A figure as the file states it, times what makes it our unit; True when it is one.

        Zero is what tools write for what they could not measure, but a spread may be zero.
        """
        assert figure in FIGURES and statistic in STATISTICS, (figure, statistic)
        found = number(value)
        made = number(found * factor) if found is not None else None
        if made is None or made < 0 or (made == 0 and statistic != "std"):
            text = shown(value)
            if value is not None and found != 0 and text not in _NO_NUMBER_NEEDED:
                self.complain("number", text=text, figure=Phrase(f"measured.figures.{figure}"))
            return False
        self.figures[figure, statistic] = made
        return True

    def set(self, **settings: object) -> None:
        """Settings that the file states; None and "" leave what is there."""
        for key, value in settings.items():
            if value is None or value == "":
                continue
            if isinstance(value, str):
                self.settings[key] = text_of(value)
            elif isinstance(value, int | float) and value < 0:
                self.complain("number", text=shown(value), figure=Phrase(f"measured.settings.{key}"))
            else:
                self.settings[key] = value

    def converted(self, key: str, /, **values: object) -> None:
        """Say once that something was computed; the text is below ``conversions.``."""
        self._conversions.setdefault(f"{key}{sorted(values.items())}", Phrase(f"conversions.{key}", values))

    def complain(
        self, code: str, severity: Literal["error", "warning", "note"] = "warning", /, **values: object
    ) -> None:
        """Something of this run that could not be taken."""
        self.problems.append(problem(code, self.name, self.line, severity, **values))

    def keep(self, tree: Mapping[str, object], known: Iterable[str] = (), prefix: str = "") -> None:
        """Keep the fields that are not in ``known``, in bounded form."""
        skip = frozenset(known)
        for key, value in tree.items():
            if len(self.rest) >= _MAX_REST:
                return
            if key not in skip:
                self.rest[prefix + text_of(str(key))] = bounded(value)

    def run(self) -> Run:
        """What was gathered."""
        return Run(
            Origin(self.tool, text_of(self.version), self.name, self.line),
            Setting(**self.settings),
            self.figures,
            self.ledger,
            tuple(self.operators),
            text_of(self.started_at),
            text_of(self.label),
            tuple(self._conversions.values()),
            self.rest,
            self.log,
        )

    def reading(self) -> Reading:
        """The run with its problems; only a problem when nothing at all was measured."""
        if self.figures or self.ledger or self.operators:
            return Reading((self.run(),), tuple(self.problems))
        return Reading((), (*self.problems, problem("no_figures", self.name, self.line, tool=self.tool)))
