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
_TRIED = 1 << 16  # bytes of a text in no marked encoding
_COMMON = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_TRIPLE = re.compile(rb"[\xe3-\xe9][\x80-\xbf]{2}|\xef[\xbc-\xbd][\x80-\xbf]")


def decoded(data: bytes, name: str) -> tuple[str, tuple[Problem, ...]]:
    """The text of a file and what was left out of it.

    UTF-8 and UTF-16 with or without their mark, and GB 18030, in which a spreadsheet on a Chinese Windows
    saves; other bytes become replacement characters, which the figures of no format hold.  ``MAX_BYTES``
    are read.
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
    return "gb18030" if _is_chinese(data[:_TRIED]) else "utf-8-sig"


def _is_chinese(head: bytes) -> bool:
    """Whether bytes that are no UTF-8 are GB 18030: nearly all come in pairs of its common characters."""
    at = max((head.rfind(mark) for mark in (b"\n", b"\r", b",")), default=-1)
    whole = head[: at + 1] if len(head) == _TRIED and at > 0 else head  # no character is cut in two
    try:
        whole.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return False
    try:
        whole.decode("gb18030")
    except UnicodeDecodeError:
        return False
    high = sum(byte >= 0x80 for byte in whole)
    paired = 2 * len(_COMMON.findall(whole))
    # Chinese UTF-8 with a broken byte in it may pass for pairs; its own triples give it away.
    return paired >= 0.8 * high and 3 * len(_TRIPLE.findall(whole)) < 0.5 * high
