"""The manual: pages of Markdown in both languages, with the parts that the program itself knows filled in.

A page is ``resources/help/<language>/<key>.md``.  A line that is nothing but ``{{name}}`` stands for a
part: ``{{glossary}}``, ``{{symptoms}}``, ``{{commands}}``, ``{{parts}}``, ``{{version}}``, ``{{caches}}``,
``{{options COMMAND}}``, and the steps to a number of the example: ``{{worked KEY}}``, ``{{textbook KEY}}``.
A picture is ``![words](picture:workspace)``; links between pages are ``[words](page.md)`` or
``[words](page.md#heading)``.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import resources
from core.console import COMMANDS, about_key
from core.explain.glossary import ENTRIES
from core.explain.symptoms import symptom_table
from core.version import VERSION
from core.words import Words

# In the order of the list of contents.
PAGES = (
    "start",
    "estimate",
    "compare",
    "explore",
    "recommend",
    "simulate",
    "validate",
    "physics",
    "accuracy",
    "symptoms",
    "glossary",
    "files",
    "commands",
    "extend",
    "faq",
    "about",
)
LICENCES = "licences"
_PART = re.compile(r"^\{\{(\w+)(?: ([\w.]+))?\}\}$", re.MULTILINE)
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """A heading as the end of a link: lower case, words joined by "-", Chinese as it is."""
    plain = unicodedata.normalize("NFKC", heading).casefold()
    return "-".join(re.findall(r"[^\W_]+", plain))


def page(key: str, words: Words) -> str:
    """The Markdown of a page, its parts filled in.  Raises KeyError where there is no such page."""
    if key not in PAGES:
        raise KeyError(key)
    return _page(key, words.language)


@lru_cache(maxsize=2 * len(PAGES))
def _page(key: str, language: str) -> str:
    words = Words(language)
    text = resources.read_text(f"help/{language}/{key}.md")
    return _PART.sub(lambda found: _part(found[1], found[2], words), text)


def _part(name: str, of: str | None, words: Words) -> str:
    """A part: one that the program knows, or one that it works out."""
    if name in _PARTS:
        return _PARTS[name](words)
    from core import manual_worked  # a reader of other pages needs no estimate

    if name == "caches":
        return manual_worked.caches(words)
    if name == "options":
        return manual_worked.options(str(of), words)
    return manual_worked.worked(str(of), words, textbook=name == "textbook")


def title(key: str, words: Words) -> str:
    """The first heading of a page."""
    found = _HEADING.search(page(key, words))
    return found[2] if found else key


def headings(key: str, words: Words) -> tuple[tuple[int, str], ...]:
    """Level and words of every heading of a page, in order."""
    text = _FENCED.sub("", page(key, words))
    return tuple((len(mark), words_) for mark, words_ in _HEADING.findall(text))


def find(text: str, words: Words) -> tuple[str, ...]:
    """Keys of the pages that hold every word of ``text``, those that have it in a heading first."""
    wanted = unicodedata.normalize("NFKC", text).casefold().split()
    if not wanted:
        return PAGES
    found = []
    for key in PAGES:
        whole = unicodedata.normalize("NFKC", page(key, words)).casefold()
        if all(word in whole for word in wanted):
            heads = " ".join(name for _, name in headings(key, words)).casefold()
            found.append((not all(word in heads for word in wanted), PAGES.index(key), key))
    return tuple(key for _, _, key in sorted(found))


def _glossary(words: Words) -> str:
    """Every entry under its name, with links to what is related."""
    parts = []
    for entry in ENTRIES.values():
        name = words.phrase(entry.name)
        parts.append(f"## {name}\n\n{words.phrase(entry.text)}")
        related = [words.phrase(ENTRIES[other].name) for other in entry.see if other in ENTRIES]
        if related:
            links = words.listed(f"[{other}](glossary.md#{slug(other)})" for other in related)
            parts.append(words("glossary.see", names=links))
    return "\n\n".join(parts)


def _symptoms(words: Words) -> str:
    """The table of symptoms, one heading and one table each."""
    parts = []
    heads = [words(f"symptoms.columns.{column}") for column in ("cause", "check", "remedy")]
    for symptom in symptom_table():
        rows = [
            [words.phrase(text) for text in (cause.text, cause.check, cause.remedy)]
            for cause in symptom.causes
        ]
        lines = [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
        metric = words(
            "units.told", name=words("symptoms.columns.metric"), value=words.phrase(symptom.metric)
        )
        parts.append(f"## {words.phrase(symptom.name)}\n\n{metric}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _commands(words: Words) -> str:
    """What the program is called with, a line each."""
    said = {name: about_key(name, words) for name in COMMANDS}
    said |= {name: f"window.cli.{name}" for name in ("screenshot", "completion")}
    return "\n".join(f"- [`{name}`](commands.md#{name}): {words(said[name])}" for name in sorted(said))


def _parts(words: Words) -> str:
    """What others made, a row each, with links to the licence texts that are here."""
    heads = [words(f"manual.parts.{column}") for column in ("name", "version", "licence", "texts")]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for part in parts_inside():
        there = [name for name in part["texts"] if licence_text(name)]
        links = [f"[{name}](licence:{name.replace(' ', '%20')})" for name in there]
        lines.append(_row([part["name"], part["version"], part["licence"], words.listed(links)]))
    return "\n".join(lines)


def parts_inside() -> list[dict[str, Any]]:
    """What others made: in a packaged program every library with it, in a source tree what is imported."""
    for name in ("bundled.json", "parts.json"):  # the first is written by packaging/freeze/licences.py
        try:
            found: list[dict[str, Any]] = json.loads(resources.read_text(f"{LICENCES}/{name}"))["parts"]
        except OSError:
            continue
        return found
    return []


def licence_text(name: str) -> str:
    """A licence as its authors wrote it; "" where it is not packaged (source trees hold only some)."""
    if not re.fullmatch(r"[\w .+-]+(/[\w .+-]+)*", name) or ".." in name:
        return ""
    try:
        return resources.read_text(f"{LICENCES}/{name}")
    except OSError:
        return ""


def _version(words: Words) -> str:
    return f"{words('manual.name')} {VERSION}"


_PARTS: dict[str, Callable[[Words], str]] = {
    "glossary": _glossary,
    "symptoms": _symptoms,
    "commands": _commands,
    "parts": _parts,
    "version": _version,
}
