"""Filling the places of a text as the language sets it.

Chinese keeps a space between Han characters and Latin letters or digits, and none between Han
characters or beside full-width punctuation.  What stands beside a place is known only once the
place is filled, so the space is set there; the filled values themselves (names, paths) stay as
they are.
"""

import string
from collections.abc import Mapping
from functools import cache

_WIDE = "，。；：？！、（）“”…"
_FORMATTER = string.Formatter()


def is_han(character: str) -> bool:
    """Whether a character is a Han character of the basic block."""
    return "\u4e00" <= character <= "\u9fff"


@cache
def _pieces(text: str) -> tuple[tuple[str, str | None, str], ...]:
    """A text as (words before a place, name of the place, its format)."""
    return tuple((before, name, spec or "") for before, name, spec, _ in _FORMATTER.parse(text))


def fill_chinese(text: str, values: Mapping[str, object]) -> str:
    """``text.format_map(values)`` with the space around each place that Chinese wants."""
    out = ""
    for before, name, spec in _pieces(text):
        out = _join(out, before)
        if name is not None:
            out = _join(out, format(values[name], spec))
    return out


def _join(left: str, right: str) -> str:
    """Two parts with a space between them if, and only if, their letters ask for one."""
    if not left or not right:
        return left + right
    last, first = left.rstrip(" "), right.lstrip(" ")
    if not last or not first:
        return left + right
    if _close(last[-1], first[0]):
        return last + first
    if (is_han(last[-1]) and _latin(first[0])) or (_latin(last[-1]) and is_han(first[0])):
        return f"{last} {first}"
    return left + right


def _close(last: str, first: str) -> bool:
    return (is_han(last) and is_han(first)) or last in _WIDE or first in _WIDE


def _latin(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "$%+")
