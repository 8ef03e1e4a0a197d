"""The words of the program: one catalogue a language, looked up by key.

``Words`` is handed to whoever speaks (command line, window, reports); nothing here is global.
Keys are dotted; a text may hold ``{name}`` places.  A missing key falls back to English and then
to the key itself, and a test keeps that from ever happening.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import resources
from core.errors import Problem
from core.typesetting import fill_chinese
from core.units import show_count

LANGUAGES = ("en", "zh_CN")


@dataclass(frozen=True)
class Phrase:
    """A text key with what fills its places: text, numbers, or further phrases."""

    key: str
    values: Mapping[str, object] = field(default_factory=dict, compare=False)


def counted(key: str, count: int) -> Phrase:
    """``key`` with ``{n}``, or ``key_one`` for one: "16 users", "1 user"."""
    return Phrase(numbered(key, count), {"n": show_count(count)})


def numbered(key: str, count: float) -> str:
    """``key``, or ``key_one`` where its text tells one of what it counts."""
    return f"{key}_one" if count == 1 else key


def percent(share: float, digits: int = 0, sign: str = "") -> Phrase:
    """A share of one as the language writes it: "76 %" in English, "76%" in Chinese."""
    return Phrase("units.percent", {"n": f"{100 * share:{sign},.{digits}f}"})


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    try:
        tree = json.loads(resources.read_text(f"i18n/{language}.json"))
    except FileNotFoundError:
        return {}  # a language whose catalogue does not ship speaks English
    flat: dict[str, str] = {}

    def walk(prefix: str, node: Any) -> None:
        for key, value in node.items():
            if isinstance(value, dict):
                walk(f"{prefix}{key}.", value)
            else:
                flat[prefix + key] = value

    walk("", tree)
    return flat


class Words:
    """The texts of one language."""

    def __init__(self, language: str = "en") -> None:
        self.speak(language)

    def speak(self, language: str) -> None:
        """Go over to another language; whoever holds these words speaks it from now on."""
        self.language = language if language in LANGUAGES else "en"
        self._texts = _catalogue(self.language)

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of a key with its places filled."""
        text = self._texts.get(key)
        text = _catalogue("en").get(key) if text is None else text
        if text is None:
            return key
        if not values:
            return text
        filled = {k: v if type(v) is str else self._value(v) for k, v in values.items()}
        chinese = self.language == "zh_CN"
        return (fill_chinese(text, filled) if chinese else text.format_map(filled)).strip()

    def _value(self, value: object) -> object:
        """A phrase in words, a plain tuple as a list; a named tuple is one value, a number with its unit."""
        if isinstance(value, Phrase):
            return self.phrase(value)
        return self.listed(str(self._value(one)) for one in value) if type(value) is tuple else value

    def phrase(self, phrase: Phrase) -> str:
        """The text of a phrase, inner phrases included."""
        return self(phrase.key, **phrase.values)

    def has(self, key: str) -> bool:
        """Whether the language itself has the key."""
        return key in self._texts

    def listed(self, texts: Iterable[str]) -> str:
        """Texts one after the other, with the mark that the language sets between them."""
        return self("units.list_mark").join(texts)

    def sentences(self, texts: Iterable[str]) -> str:
        """Sentences one after the other: with a space between them in English, with none in Chinese."""
        return self("units.sentence_space").join(texts)

    def problem(self, problem: Problem) -> str:
        """The sentence for a problem."""
        values = dict(problem.values)
        if problem.paths:
            values.setdefault("field", self.field(problem.paths[0]))
        return self(f"problems.{problem.code}", **values)

    def located(self, problem: Problem) -> str:
        """The sentence for a problem in a file: led by the place in the file unless it says it itself."""
        sentence = self.problem(problem)
        place = problem.paths[0] if problem.paths else ""
        return sentence if place in sentence else f"{place}: {sentence}"

    def field(self, path: str) -> str:
        """The name of a scenario field such as ``workload.users``."""
        key = f"fields.{path}.label"
        return self(key) if self.has(key) or key in _catalogue("en") else path
