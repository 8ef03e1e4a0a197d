"""The JSON objects in a text: whole files, JSON lines, several objects one after the other, among noise.

Unlike ``core.strict_json`` this takes what tools write: bare ``Infinity`` and ``NaN``, objects appended to
a file, log lines between them, and the records before the place where a file is cut off.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from core.errors import Problem
from core.evidence.readers.common import problem

MAX_GROUPS = 1_000_000  # what may open an object or a list
MAX_PARTS = 5_000_000  # what may divide their parts
_MAX_FAILURES = 500
_MAX_TOLD = 20
_LONG_LINE = 40  # characters; the first line of an object that goes on is shorter
_MAX_DIGITS = 40  # of an integer; longer ones are no figure
# Where an object, or a list of objects, may begin: at the start of a line.
_BEGINNING = re.compile(r'^[^\S\n]{0,400}(?=\{\s{0,400}["}]|\[\s{0,400}\{)', re.MULTILINE)
_LIST = re.compile(r"\[\s*(?=\{)")
_NEXT = re.compile(r"\s*,\s*(?=\{)")
_END = re.compile(r"\s*\]")


@dataclass(frozen=True, slots=True)
class Found:
    """An object, the line it begins in, and whether the text around it is whole."""

    line: int
    tree: dict[str, Any]
    whole: bool = True


def objects(text: str, name: str) -> tuple[list[Found], list[Problem]]:
    """Every object that begins a line or stands in a list that begins a line, and what is broken.

    Problems: ``cut_off``, ``not_json`` {column}, ``too_deep``, ``too_many_parts`` {limit}.
    """
    if text.count("{") + text.count("[") > MAX_GROUPS or text.count(",") > MAX_PARTS:
        return [], [problem("too_many_parts", name, limit=f"{MAX_PARTS:,}")]
    scan = _Scan(text, name)
    while scan.goes_on():
        match = _BEGINNING.search(text, scan.at)
        if match is None:
            break
        scan.indented = match.end() > match.start()
        opening = _LIST.match(text, match.end())
        if opening is None:
            scan.one(match.end())
        else:
            scan.list(opening.end())
    return scan.found, scan.problems


class _Scan:
    """A walk through the text that never spends more than a few times its length."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name, self.at = text, name, 0
        self.found: list[Found] = []
        self.problems: list[Problem] = []
        self.indented = False
        self._failures, self._spent, self._budget = 0, 0, 3 * len(text) + 1_000_000
        self._broken = False  # what follows a broken object is a part of it as long as it is indented
        self._line, self._line_at = 1, 0

    def goes_on(self) -> bool:
        return self._failures < _MAX_FAILURES and self._spent < self._budget

    def one(self, start: int) -> bool:
        """The object that begins here; False when it is broken."""
        line = self._line_of(start)
        try:
            tree, self.at = self._decoded(start)
        except RecursionError:
            self._spent += len(self.text) // 4
            self._fail(start, "too_deep", line)
            return False
        except _BrokenAt as broken:
            self._spent += broken.position - start + 1
            self._fail(start, broken.code, line, broken.position)
            return False
        self.found.append(Found(line, tree, not (self._broken and self.indented)))
        if not self.indented:
            self._broken = False
        return True

    def list(self, start: int) -> None:
        """The objects of a list."""
        line = self._line_of(start)
        while self.one(start):
            following = _NEXT.match(self.text, self.at)
            if following is not None:
                start = following.end()
                continue
            ending = _END.match(self.text, self.at)
            if ending is None:
                unfinished = not self.text[self.at : self.at + 4096].strip()
                self._fail(self.at, "cut_off" if unfinished else "not_json", line, self.at)
            else:
                self.at = ending.end()
            return

    def _decoded(self, start: int) -> tuple[dict[str, Any], int]:
        """The object and where it ends; its line alone is tried first, so that a broken line costs little."""
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        try:
            tree, size = _decode(self.text[start:end], 0)
        except json.JSONDecodeError as error:
            if error.doc[error.pos :].strip() and not error.msg.startswith("Unterminated"):
                raise _BrokenAt("not_json", start + error.pos) from None
            if end == len(self.text):
                raise _BrokenAt("cut_off", end) from None
        else:
            return tree, start + size
        try:
            return _decode(self.text, start)
        except json.JSONDecodeError as error:
            self._spent += len(self.text) // 20  # an error is slow to make in a long text
            if end - start > _LONG_LINE and not self.text[end : error.pos].strip():
                raise _BrokenAt("cut_off", error.pos) from None  # a line of its own, and the next is another
            unfinished = not self.text[error.pos : error.pos + 4096].strip()
            code = "cut_off" if unfinished or error.msg.startswith("Unterminated") else "not_json"
            raise _BrokenAt(code, error.pos) from None

    def _line_of(self, position: int) -> int:
        self._line += self.text.count("\n", self._line_at, position)
        self._line_at = position
        return self._line

    def _fail(self, start: int, code: str, line: int, position: int = 0) -> None:
        """Go on behind the first character of what is broken, and say so unless it is a part of such."""
        self._failures += 1
        if not (self._broken and self.indented) and len(self.problems) < _MAX_TOLD:
            if code == "not_json":
                line = self.text.count("\n", 0, position) + 1
                column = position - self.text.rfind("\n", 0, position)
                self.problems.append(problem(code, self.name, line, column=column))
            else:
                self.problems.append(problem(code, self.name, line))
        self._broken = True
        self.at = start + 1


class _BrokenAt(Exception):
    """Where an object is broken, and how: ends too early, or is wrong."""

    def __init__(self, code: str, position: int) -> None:
        super().__init__(code)
        self.code, self.position = code, position


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float("inf")


_PLAIN = json.JSONDecoder(strict=False)
_CAREFUL = json.JSONDecoder(strict=False, parse_int=_integer)


def _decode(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        return _PLAIN.raw_decode(text, start)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than an integer is made of
        return _CAREFUL.raw_decode(text, start)
