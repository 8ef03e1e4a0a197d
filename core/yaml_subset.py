"""YAML as programs dump it, read as plain data: no tag makes an object, an alias copies nothing.

Block mappings and sequences, plain, quoted and block scalars, flow collections that are JSON or hold nothing
but scalars, anchors and aliases.  Everything else (tabs as indentation, complex keys, other flow) is refused
with its line.
"""

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 60
_MOST_LINES = 1000  # of one scalar
_NO_PLAIN = frozenset("[]{}#&*!|>%@`,")  # no key begins with these
_QUOTED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_MARK = re.compile(r"(?:&(?P<anchor>[^\s,\[\]{}]{1,100})|!\S{0,200})(?:\s+|$)")
_NUMBER = re.compile(r"[-+]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,4})?")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", "+.inf"), float("inf")),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
    ".NaN": float("nan"),
}
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "r": "\r", "e": "\x1b", " ": " ", "_": "\xa0", "N": "\x85"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)


class NotRead(Exception):
    """Where the text leaves the subset; ``line`` counts from 1."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def parse(text: str, skip: frozenset[str] = frozenset()) -> object:
    """The data of the first document.  What stands below a key in ``skip`` is passed over.

    Raises NotRead.
    """
    reader = _Reader(text.split("\n"), skip)
    return reader.node(-1, 0)


@dataclass
class _Reader:
    lines: list[str]
    skip: frozenset[str]
    at: int = 0
    began: bool = False
    anchors: dict[str, object] = field(default_factory=dict)

    def node(self, above: int, depth: int) -> object:
        """What is indented deeper than ``above``; None when nothing is."""
        if depth > _DEEPEST:
            raise NotRead(self.at + 1)
        indent = self._next()
        if indent <= above:
            return None
        text = self.lines[self.at][indent:]
        if text == "-" or text.startswith("- "):
            return self._sequence(indent, depth)
        if _key(text) is not None:
            return self._mapping(indent, depth)
        self.at += 1
        return self._value(text, above, depth)

    def _next(self) -> int:
        """Go to the next line that says something; its indentation, -1 at the end."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            bare = line.lstrip(" ")
            if bare.startswith("\t"):
                raise NotRead(self.at + 1)
            if self.began and line.startswith(("---", "...")):
                return -1
            if bare.strip() and not bare.startswith(("#", "---", "...", "%")):
                self.began = True
                return len(line) - len(bare)
            self.at += 1
        return -1

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._next() == indent:
            key = _key(self.lines[self.at], indent)
            if key is None:
                raise NotRead(self.at + 1)
            name, rest = key[0], self.lines[self.at][key[1] :].strip()
            self.at += 1
            if name in self.skip:
                self._pass(indent)
                continue
            found[name] = self._value(rest, indent, depth, in_mapping=True)
        if self._next() > indent:
            raise NotRead(self.at + 1)
        return found

    def _pass(self, indent: int) -> None:
        """Pass over what is below a key: deeper lines, or a sequence at its own indentation."""
        lines, dash = self.lines, " " * indent + "-"
        deeper = " " * (indent + 1)
        while self.at < len(lines) and (
            lines[self.at].startswith((deeper, dash)) or not lines[self.at].strip()
        ):
            self.at += 1

    def _sequence(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while self._next() == indent and self.lines[self.at][indent : indent + 2] in ("-", "- "):
            rest = self.lines[self.at][indent + 1 :]
            inner = rest.lstrip(" ")
            if inner == "-" or inner.startswith("- ") or _key(inner) is not None:
                # The item is a block that begins in this line: read it as one of its own lines.
                self.lines[self.at] = " " * (indent + 1) + rest
                found.append(self.node(indent, depth + 1))
            else:
                self.at += 1
                found.append(self._value(inner.strip(), indent, depth))
        return found

    def _value(self, text: str, indent: int, depth: int, in_mapping: bool = False) -> object:
        """A scalar or flow collection of this line and those it goes on in, or the block below it."""
        anchor = ""
        while mark := _MARK.match(text):
            anchor, text = mark["anchor"] or anchor, text[mark.end() :]
        if text.startswith("*"):
            if text[1:] not in self.anchors:
                raise NotRead(self.at)
            return self.anchors[text[1:]]
        if not text or text.startswith("#"):
            below = self._below(indent, depth, in_mapping)
            value = below
        elif text[0] in "|>":
            value = self._block(indent, text[0] == ">")
        else:
            value = self._scalar(text, indent)
        if anchor:
            self.anchors[anchor] = value
        return value

    def _below(self, indent: int, depth: int, in_mapping: bool) -> object:
        following = self._next()
        same = in_mapping and following == indent
        if same and self.lines[self.at][indent : indent + 2] in ("-", "- "):
            return self._sequence(indent, depth + 1)
        return self.node(indent, depth + 1)

    def _block(self, indent: int, folded: bool) -> str:
        parts = []
        deeper = " " * (indent + 1)
        while self.at < len(self.lines) and (
            self.lines[self.at].startswith(deeper) or not self.lines[self.at].strip()
        ):
            parts.append(self.lines[self.at].strip())
            self.at += 1
        return (" " if folded else "\n").join(parts).strip()

    def _scalar(self, text: str, indent: int) -> object:
        parts, first = [text], self.at
        while not _closed(parts) and self.at < len(self.lines):
            line = self.lines[self.at]
            plain = text[0] not in "\"'[{"
            if plain and (len(line) - len(line.lstrip(" ")) <= indent or not line.strip()):
                break
            parts.append(line.strip())
            self.at += 1
            if len(parts) > _MOST_LINES:
                raise NotRead(first)
        whole = _joined(parts)
        if text[0] in "[{":
            return _flow(whole, first)
        if text[0] in "\"'":
            return _unquoted(whole, first)
        if text[0] in "%@`" or text.startswith("? "):
            raise NotRead(first)
        return _plain(whole.split(" #")[0].rstrip())


def _flow(text: str, line: int) -> object:
    """A flow collection that is JSON, or a sequence of scalars: "[gpu, 'two words']"."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    found = re.fullmatch(r"\[([^\[\]]*)\]\s*(?:#.*)?", text.strip())
    if found is None:
        raise NotRead(line)
    reader = shlex.shlex(found[1], posix=True)
    reader.whitespace, reader.whitespace_split, reader.commenters = ",", True, ""
    try:
        words = [one.strip() for one in reader]
    except ValueError:  # a quotation mark that is never closed
        raise NotRead(line) from None
    if any("{" in one or "}" in one for one in words):
        raise NotRead(line)
    return [_plain(one) for one in words]


def _key(text: str, start: int = 0) -> tuple[str, int] | None:
    """The key that begins here and where its value does; None for no key."""
    first, following = text[start : start + 1], text[start + 1 : start + 2]
    if first in ("'", '"'):
        quoted = _QUOTED.match(text, start)
        if quoted is None:
            return None
        colon = quoted.end() + len(text[quoted.end() :]) - len(text[quoted.end() :].lstrip(" "))
        ends = text[colon : colon + 1] == ":" and text[colon + 1 : colon + 2] in ("", " ")
        return (_unquoted(quoted[0]), colon + 1) if ends else None
    if not first or first in _NO_PLAIN or (first in "-?:" and following in ("", " ")):
        return None
    colon = text.find(": ", start)
    if colon < 0:
        colon = len(text) - 1 if text.endswith(":") else -1
    if colon < 0 or " #" in text[start:colon]:
        return None
    return text[start:colon].rstrip(), colon + 1


def _joined(parts: list[str]) -> str:
    """Lines of one scalar: a break is a space, an escaped one nothing, an empty line a break."""
    if len(parts) == 1:
        return parts[0]
    text = parts[0]
    for part in parts[1:]:
        if text.endswith("\\") and text[0] == '"':
            text = text[:-1] + part.removeprefix("\\")
        elif not part:
            text += "\n"
        else:
            text += part if text.endswith("\n") else f" {part}"
    return text


def _closed(parts: list[str]) -> bool:
    """Whether a quoted scalar or a flow collection ends in its last line; a plain one may always go on."""
    quote = parts[0][0]
    if quote == "'":
        return len(parts) + len(parts[0]) > 2 and sum(p.count("'") for p in parts) % 2 == 0
    if quote == '"':
        return sum(len(re.findall(r'(?<!\\)(?:\\\\)*"', p)) for p in parts) >= 2
    if quote in "[{":
        text = "".join(parts)
        return text.count("[") + text.count("{") <= text.count("]") + text.count("}")
    return False


def _unquoted(text: str, line: int = 0) -> str:
    bare = text.strip()
    if bare[:1] not in ("'", '"'):
        return bare
    end = bare.rfind(bare[0])
    if end == 0:
        raise NotRead(line)
    inside = bare[1:end]
    return inside.replace("''", "'") if bare[0] == "'" else _ESCAPE.sub(_escaped, inside)


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return (
            chr(number)
            if number < 0x110000 and not 0xD800 <= number < 0xE000
            else "\N{REPLACEMENT CHARACTER}"
        )
    return _PLAIN_ESCAPES.get(match[4], match[4])


def _plain(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text
