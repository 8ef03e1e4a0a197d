"""Bytes of a file as text: encodings, ends of lines, escape sequences, size."""

import re

from core.errors import Problem
from core.evidence.readers.common import problem

MAX_BYTES = 64 * 2**20
# Colours and cursor movements of terminals, titles of windows.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;?]{0,30}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)?|[@-Z\\^_])"
)
# All but tab, line feed and carriage return.
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_HEAD = 4096


def decoded(data: bytes, name: str) -> tuple[str, tuple[Problem, ...]]:
    """The text of a file and what was left out of it.

    UTF-8 and UTF-16 with or without their mark; other bytes become replacement characters, which the
    figures of no format hold.  ``MAX_BYTES`` are read.
    """
    notes: list[Problem] = []
    if len(data) > MAX_BYTES:
        data = data[:MAX_BYTES]
        notes.append(problem("too_large", name, limit=MAX_BYTES // 2**20, severity="warning"))
    encoding = _encoding(data)
    text = data.decode(encoding, "replace")
    if "\N{REPLACEMENT CHARACTER}" in text[:-1]:  # the last character may be cut in two
        at = text.index("\N{REPLACEMENT CHARACTER}")
        notes.append(problem("encoding", name, text.count("\n", 0, at) + 1, severity="note"))
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\n" not in text:
            text = text.replace("\r", "\n")
    if any(chr(code) in text for code in _CONTROL):
        text = text.translate(_CONTROL)
    return text.removeprefix("\ufeff"), tuple(notes)


def _encoding(data: bytes) -> str:
    """The encoding that the first bytes speak for."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = data[:_HEAD]
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    if len(head) >= 4 and max(even, odd) > 0.4 * half and min(even, odd) < 0.1 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8-sig"
