"""JSON as files bring it, read with limits: size, depth, numbers, doubled keys.

Plain ``json.loads`` takes the last of two equal keys, turns ``NaN`` into a number and runs out of
stack on deep nesting.  Here each of these is a typed error that names the place in the file.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from core.errors import Problem, UnreadableFile

MAX_BYTES = 20 * 2**20
MAX_DEPTH = 64
# Of a text: what may open an object or a list, and what may divide their parts.  A tree of millions of
# empty objects would take gibibytes before anything could be said about it.
MAX_GROUPS = 400_000
MAX_PARTS = 2_000_000
_MAX_DIGITS = 40  # of one number; the largest that any field takes has 17
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SHOWN = 60  # characters of a foreign text that a message repeats


# What a value stands in, and under which key; kept as it is until it has to be said.
_Place = tuple[Any, str | int]


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands in the tree where a value cannot be taken; ``code`` is the problem's."""

    code: str
    text: str


def parse(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """Return the tree of dicts, lists, texts, finite numbers, booleans and None.

    Raises UnreadableFile with the code ``file.empty``, ``file.too_large`` {limit}, ``file.not_text``,
    ``file.too_many_parts`` {limit},
    ``file.cut_off``, ``file.not_json`` {line, column}, ``file.too_deep`` {limit}, ``field.duplicate``,
    ``field.number`` {text} or ``field.not_text``.
    """
    if len(data) > max_bytes:
        raise UnreadableFile(Problem("file.too_large", values={"limit": max_bytes // 2**20}))
    text = _decoded(data)
    if not text.strip():
        raise UnreadableFile(Problem("file.empty"))
    if text.count("{") + text.count("[") > MAX_GROUPS or text.count(",") > MAX_PARTS:
        raise UnreadableFile(Problem("file.too_many_parts", values={"limit": MAX_GROUPS}))
    try:
        tree = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=lambda word: _Refused("field.number", word),
            parse_int=_integer,
            parse_float=_real,
        )
    except json.JSONDecodeError as error:
        raise UnreadableFile(_syntax_problem(error)) from None
    except RecursionError:
        raise UnreadableFile(Problem("file.too_deep", values={"limit": MAX_DEPTH})) from None
    _check(tree, surrogates=_SURROGATE.search(text) is not None)
    return tree


def shortened(text: str) -> str:
    """A foreign text made fit for a message: one printable line of bounded length."""
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[: _SHOWN + 1])
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


def shortened_path(path: str) -> str:
    """A path made fit for a message: what is too long loses its middle, for the name stands at the end."""
    if len(path) <= _SHOWN:
        return shortened(path)
    head = _SHOWN // 4
    return f"{shortened(path[:head])}…{shortened(path[head + 1 - _SHOWN :])}"


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile(Problem("file.not_text")) from None
    if "\0" in text:
        raise UnreadableFile(Problem("file.not_text"))
    return text


def _syntax_problem(error: json.JSONDecodeError) -> Problem:
    """Told apart: text that ends too early, as after a broken copy, and text that is wrong."""
    rest = error.doc[error.pos :].strip()
    if not rest or error.msg.startswith("Unterminated string"):
        return Problem("file.cut_off", values={"line": error.lineno})
    return Problem("file.not_json", values={"line": error.lineno, "column": error.colno})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                tree[key] = _Refused("field.duplicate", key)
            seen.add(key)
    return tree


def _integer(digits: str) -> int | _Refused:
    return int(digits) if len(digits) <= _MAX_DIGITS else _Refused("field.number", digits)


def _real(digits: str) -> float | _Refused:
    number = float(digits)
    return number if math.isfinite(number) else _Refused("field.number", digits)


def _check(tree: Any, surrogates: bool) -> None:
    """Raise for the first value that cannot be taken, and for too deep nesting.

    ``surrogates``: texts may hold halves of characters, which no file can be written with.
    """
    pending: list[tuple[Any, _Place | None, int]] = [(tree, None, 0)]
    while pending:
        node, place, depth = pending.pop()
        if isinstance(node, str) and (depth or not _is_text(node)):
            node = _Refused("field.not_text", node)
        if isinstance(node, _Refused):
            path = _path(place)
            values: dict[str, object] = {"field": path, "text": shortened(node.text)}
            raise UnreadableFile(Problem(node.code, (path,), values))
        if depth > MAX_DEPTH:
            raise UnreadableFile(Problem("file.too_deep", values={"limit": MAX_DEPTH}))
        pending.extend((child, (place, key), depth + 1) for key, child in _children(node, surrogates))


def _path(place: _Place | None) -> str:
    """A place in dotted form."""
    keys: list[str] = []
    while place is not None:
        place, key = place
        keys.append(shortened(str(key)))
    return ".".join(reversed(keys))


def _children(node: Any, surrogates: bool) -> Iterator[tuple[str | int, Any]]:
    """Parts that may hold or be a refused value, with their keys; a text only when it is broken."""
    if isinstance(node, dict):
        parts: Iterator[tuple[str | int, Any]] = iter(node.items())
    elif isinstance(node, list):
        parts = iter(enumerate(node))
    else:
        return
    for key, child in parts:
        if isinstance(child, (dict, list, _Refused)):
            yield key, child
        elif surrogates:
            broken = next((t for t in (key, child) if isinstance(t, str) and not _is_text(t)), None)
            if broken is not None:
                yield key, broken


def _is_text(text: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in text)
