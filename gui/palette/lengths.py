"""Which number of a typed question is whose: "16 users 16k output 1k" reads 16K and writes 1K.

A number belongs to a word beside it, before or behind.  Of all ways to give each word a number of its own
the likeliest is taken: most words have one, a number that a device is called by has none where another is
beside the word, and of two that an "output" stands between it has the less.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal

from core.catalog.accelerators import search_accelerators
from core.units import parse_quantity
from gui.palette.numerals import PEOPLE, PEOPLE_ZH

Kind = Literal["read", "written", "context", "users"]
# Chinese letters end a Latin word, so the ends of words are told by Latin letters and digits.
_START, _END = r"(?<![a-z0-9_.-])", r"(?![a-z0-9_-])"
_TOKENS = r"(?:\d{1,7}(?:\.\d{1,3})?\s*[km]|\d{1,7}(?!\.?\d))"
_UNIT = r"(?:\s*tokens?(?![a-z]))?"
_WORDS: dict[Kind, str] = {
    "read": rf"{_START}(?:inputs?|prompts?|isl)(?![a-z])|输入|提示词?",
    "written": rf"{_START}(?:out(?:puts?)?|answers?|osl)(?![a-z])|输出|回答|生成",
    "context": rf"{_START}(?:context|ctx)(?![a-z])|上下文",
    "users": rf"{_START}(?:(?:concurrent\s+)?(?:{PEOPLE})|concurren(?:t|cy))(?![a-z])|(?:{PEOPLE_ZH})数?",
}
_ITEM = re.compile(
    "|".join(f"(?P<{kind}>{word})" for kind, word in _WORDS.items())
    + rf"|(?P<number>{_START}{_TOKENS}{_END}{_UNIT})"
)
# What may stand between a word and its number.
_BETWEEN = re.compile(r"(?:\s|[:=<≤~]|of|is|length|tokens?|的|长度?|为|是)*")
# "in" is a word of any sentence ("a 3090 in 4 bit"): a length stands before it only where "out" has one
# too, where it is told in thousands, or where the text ends.
_IN = re.compile(rf"(?<!tx )(?<![x×] ){_START}({_TOKENS}{_UNIT})\s*in(?![a-z])(\s*$)?")
_GLUED = re.compile(
    rf"({_START}{_TOKENS})(?=(?:in(?:puts?)?|prompts?|out(?:puts?)?|answers?|ctx|context|users?)(?![a-z]))"
    rf"|({_START}(?:inputs?|prompts?|out(?:puts?)?|answers?|ctx|context|[io]sl|users?))(?=\d)"
)
_OUT = re.compile(rf"{_TOKENS}{_UNIT}\s*out(?![a-z])")
_LONG = r"\d{1,7}(?:\.\d{1,3})?k|\d{3,7}"
_PAIR = re.compile(rf"{_START}({_LONG})\s*(?:[/+→]|->)\s*({_LONG}){_END}{_UNIT}(?!\s*(?:out|输出))")
# What makes a number beside "users" one of something else: "16 users 4 cards".
_OF_OTHERS = re.compile(r"\s*(?:(?:gpus?|cards?|nodes?)(?![a-z])|-?\s*bits?(?![a-z])|[张块卡位x×*])")
_PEOPLE_NUMBER = re.compile(r"\d+|\d+(?:\.\d+)?\s*k")
# "gemma 3 users 16": the first number is the end of a name where the second one is no other thing's.
_NAMED = re.compile(r"(?<![a-z0-9])[a-z]+\s*$")
_LAST = re.compile(r"\s*(?:$|\d+(?:\.\d+)?\s*[km](?![a-z0-9]))")
_MOST = 8  # words with a number that are weighed against each other


@dataclass(frozen=True, slots=True)
class Length:
    """A length that a text says, and where in it."""

    kind: Kind
    text: str  # the number as typed
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Item:
    """A number or a word that has one; ``kind`` is None for a number."""

    kind: Kind | None
    text: str
    start: int
    end: int

    @property
    def of_device(self) -> bool:
        """Whether a number may be a device's name: "4090 output 1k"."""
        return self.text in _device_numbers()


_Claim = tuple[_Item, _Item]  # a word and its number


@cache
def _device_numbers() -> frozenset[str]:
    """The numbers that devices are called by, as in "RTX 4090"."""
    names = " ".join(device.name for device in search_accelerators(""))
    return frozenset(re.findall(r"(?<![\w.-])\d{4}(?![\w.])", names))


def spelt_out(text: str) -> str:
    """The text with whole words for lengths: "16k/1k" and "16k in"."""
    text = _PAIR.sub(r"\1 input \2 output", text)
    text = _GLUED.sub(r"\g<0> ", text)
    out = _OUT.search(text) is not None

    def whole(found: re.Match[str]) -> str:
        meant = not found[1].isdecimal() or found[2] is not None or out
        return f"{found[1]} input{found[2] or ''}" if meant else found[0]

    return _IN.sub(whole, text)


def lengths_in(text: str) -> list[Length]:
    """The lengths and users that a spelt-out text says, in the text's order."""
    items = [_item(found) for found in _ITEM.finditer(text)]
    choices: list[list[_Claim | None]] = []
    for place, word in enumerate(items):
        if word.kind is None:
            continue
        beside = items[max(0, place - 1) : place] + items[place + 1 : place + 2]
        choices.append([None, *((word, number) for number in beside if _belongs(word, number, text))])
    found: list[Length] = []
    for word, number in max(_ways(choices), key=lambda way: _likely(way, text), default=[]):
        if word.kind is not None:
            start, end = min(word.start, number.start), max(word.end, number.end)
            found.append(Length(word.kind, number.text, start, end))
    return sorted(found, key=lambda length: length.start)


def _item(found: re.Match[str]) -> _Item:
    kind = next((kind for kind in _WORDS if found[kind] is not None), None)
    return _Item(kind, found[0], found.start(), found.end())


def _belongs(word: _Item, number: _Item, text: str) -> bool:
    if number.kind is not None:
        return False
    behind = number.start > word.start
    between = text[word.end : number.start] if behind else text[number.end : word.start]
    if _BETWEEN.fullmatch(between) is None:
        return False
    if word.kind != "users":
        return True
    if behind and (_OF_OTHERS.match(text, number.end) or not (number.text.isdecimal() or between.strip())):
        return False  # "16 users 16k", but "users: 1k"
    return _PEOPLE_NUMBER.fullmatch(number.text) is not None


def _ways(choices: list[list[_Claim | None]]) -> list[list[_Claim]]:
    """Every way to give words numbers, no number to two of them."""
    ways = ([claim for claim in way if claim is not None] for way in product(*choices[:_MOST]))
    return [way for way in ways if len({number.start for _, number in way}) == len(way)]


def _likely(way: list[_Claim], text: str) -> tuple[float, ...]:
    lengths = [(word, number) for word, number in way if word.kind != "users"]
    users = [(word, number) for word, number in way if word.kind == "users"]
    return (
        len(way),
        -sum(
            number.of_device and (word.kind == "users" or number.start < word.start) for word, number in way
        ),
        -sum(not number.text.isdecimal() for _, number in users),
        -sum(_tokens(number) for word, number in lengths if word.kind == "written"),
        sum(_tokens(number) for word, number in lengths if word.kind != "written"),
        sum(number.start > word.start for word, number in lengths),
        sum(_ahead(word, number, text) for word, number in users),
    )


def _ahead(word: _Item, number: _Item, text: str) -> float:
    """How well a number of users stands where it does: before the word rather than behind it."""
    if number.start < word.start:
        return 0.5
    before = re.search(r"\d+\s*$", text[: word.start])
    return float(
        before is not None
        and _NAMED.search(text[: before.start()]) is not None
        and _LAST.match(text, number.end) is not None
    )


def _tokens(number: _Item) -> float:
    return parse_quantity(re.sub(r"\s*tokens?$", "", number.text), "tokens")
