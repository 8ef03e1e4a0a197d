"""Finding an entry by what people type: "4090", "qwen 32b", "dsv3", "llama 70b"."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

import resources

_WORD = re.compile(r"[a-z0-9.+]+")
_SIZE = re.compile(r"(?:\d+x)?[ae]?\d+(?:\.\d+)?[bmt]|\d+gb?")
_PART = re.compile(r"[a-z]+|\d+(?:\.\d+)*[a-z+]*")
# Words that distinguish nothing: a name without them is the same name.
_NOISE = frozenset(
    re.findall(
        r"\w+",
        "instruct chat it hf base pt inst meta "
        "nvidia amd intel apple geforce radeon instinct tesla rtx gtx rx gpu",
    )
)
_VERSION = re.compile(r"v?\d(?:\.\d+)?")
# Number formats, which people type behind a model's name; they are chosen in a field of their own.
_FORMAT = re.compile(
    r"(?<![a-z0-9])(?:\d{1,2}[- ]?bits?|quanti[sz]ed|quant|gguf|ggml|exl[23]|mlx|bnb|awq|gptq|nf4(?:_dq)?"
    r"|(?:mx|nv)?fp\d{1,2}|bf16|f16|f32|int\d|w\d{1,2}a\d{1,2}|(?:iq|q|tq)\d(?:_\w+)?)(?![a-z0-9])"
)
_MAX_QUERY = 200
_LEAST_MISTYPED = 3  # letters: a shorter word is like a part of any name
_MOST_KEPT = 2000  # answers
_WITHIN = 5  # how well a name answers that has the query in its midst
_OTHER_LETTERS = re.compile(r"[^\x00-\x7f\W]+")  # Han and all else that ``_WORD`` passes over


def compact(text: str) -> str:
    """Letters, digits, dots and plus signs only: what makes two spellings of a name equal."""
    return "".join(_WORD.findall(text.lower()))


def tokens(text: str) -> list[str]:
    """Words of a text; sizes stay whole."""
    return [word.strip(".") for word in _WORD.findall(text.lower()) if word.strip(".")]


def _parts(word: str) -> list[str]:
    """A word and the pieces it is glued from: "qwen3" is also "qwen" and "3"."""
    return [word] if _SIZE.fullmatch(word) else [word, *_PART.findall(word)]


@dataclass(frozen=True)
class Searchable:
    """What of an entry is compared.  ``order``: of two equal matches the greater comes first."""

    key: str
    name: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # words it answers to beside its names
    order: str = ""
    family: str = ""

    @cached_property
    def exact(self) -> frozenset[str]:
        """Spellings that mean this entry and no other."""
        return frozenset(compact(text) for text in (self.key, self.name, *self.aliases))

    @cached_property
    def whole(self) -> frozenset[str]:
        """Words of all its names."""
        return frozenset(
            word for text in (self.key, self.name, *self.aliases) for word in tokens(text)
        ).union(self.tags)

    @cached_property
    def words(self) -> frozenset[str]:
        """The same and the pieces they are glued from."""
        return frozenset(part for word in self.whole for part in _parts(word))

    @cached_property
    def starts(self) -> str:
        """The words one below the other: what begins with a line's end and is in it begins one of them."""
        return "\n" + "\n".join(self.words)

    @cached_property
    def spellings(self) -> str:
        """The exact spellings one below the other."""
        return "\n".join(self.exact)

    @cached_property
    def family_key(self) -> str:
        """The family, as queries are compared."""
        return compact(self.family)

    @cached_property
    def own_words(self) -> frozenset[str]:
        """Words of the name that tell it from its relatives."""
        return frozenset(w for w in tokens(self.name) if w not in _NOISE and not _VERSION.fullmatch(w))


class Shelf(tuple[Searchable, ...]):
    """Entries that are searched at every key: what was found once is kept."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words of all entries."""
        return _words_of(self)

    @cached_property
    def found(self) -> dict[tuple[str, bool], list[str]]:
        """Keys by query, and whether it was mended."""
        return {}


def _words_of(pool: Iterable[Searchable]) -> tuple[str, ...]:
    return tuple(sorted({word for entry in pool for word in entry.words}))


@cache
def _chinese_names() -> Mapping[str, str]:
    """What families and vendors are called in Chinese, the longest name first; "" says nothing."""
    names: dict[str, str] = json.loads(resources.read_text("data/chinese_names.json"))
    return dict(sorted(names.items(), key=lambda item: -len(item[0])))


def in_latin(query: str) -> str:
    """A query with known Chinese names as the catalogue has them."""
    if query.isascii():
        return query
    for name, latin in _chinese_names().items():
        query = query.replace(name, f" {latin} ")
    return query


def _written(entry: Searchable, parts: Sequence[str]) -> bool:
    """Whether an entry's names hold every part, which is of other letters than Latin ones."""
    names = " ".join((entry.name, *entry.aliases)).lower()
    return all(part in names for part in parts)


def _covered(word: str, asked: Sequence[str]) -> bool:
    return any(one == word or one in _parts(word) for one in asked)


def _match(entry: Searchable, query: str, asked: Sequence[str]) -> int | None:
    """How well an entry answers, 0 best; None: not at all."""
    if query in entry.exact:
        return 0
    if query == entry.family_key:
        return 1
    if entry.whole.issuperset(asked):
        return 2
    if entry.words.issuperset(asked):
        return 3
    if all(f"\n{word}" in entry.starts for word in asked):
        return 4
    if len(query) >= 2 and query in entry.spellings and not _SIZE.fullmatch(query):
        return _WITHIN
    return None


def is_size(word: str) -> bool:
    """Whether a word states a number of parameters or of bytes: "671b", "8x7b", "80gb"."""
    return _SIZE.fullmatch(word) is not None


def search(
    entries: Iterable[Searchable], query: str, limit: int | None = None, mend: bool = True
) -> list[str]:
    """Keys of the entries that answer ``query``, best first; all of them for an empty query.

    Number formats ("4 bit", "AWQ", "Q4_K_M") are passed over where no name has them; with ``mend`` a word
    that no entry has is taken for the most alike one.
    """
    query = query[:_MAX_QUERY]
    if not isinstance(entries, Shelf):
        return _search(list(entries), query, mend)[:limit]
    kept, asked = entries.found, (query, mend)
    if asked not in kept:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        kept[asked] = _search(entries, query, mend)
    return kept[asked][:limit]


def _search(pool: Sequence[Searchable], query: str, mend: bool) -> list[str]:
    query = in_latin(query)
    parts = _OTHER_LETTERS.findall(query.lower())
    if parts:
        pool = [entry for entry in pool if _written(entry, parts)]
    asked = tokens(query)
    if not asked:
        return [entry.key for entry in pool]
    found = _ranked(pool, compact(query), asked)
    plain = _FORMAT.sub(" ", query.lower())
    if not found and tokens(plain):
        asked = tokens(plain)
        found = _ranked(pool, compact(plain), asked)
    if mend and (not found or _in_the_midst(pool, found[0], compact(query), asked)):
        found = list(dict.fromkeys((*_mended(pool, asked), *found)))
    return found


def _in_the_midst(pool: Sequence[Searchable], key: str, query: str, asked: Sequence[str]) -> bool:
    """Whether the best answer has the query somewhere within its name, at no word's start: "lama 70"."""
    best = next(entry for entry in pool if entry.key == key)
    return _match(best, query, asked) == _WITHIN


def _mended(pool: Sequence[Searchable], asked: Sequence[str]) -> list[str]:
    """What answers words that were glued together, or that no entry has and that are like others."""
    known = pool.words if isinstance(pool, Shelf) else _words_of(pool)
    pieces = [piece for word in asked for piece in (_parts(word)[1:] or [word])]
    for words in (pieces, [_alike(word, known) for word in asked], [_alike(word, known) for word in pieces]):
        if words != asked and (found := _ranked(pool, "".join(words), words)):
            return found
    return []


def _ranked(pool: Sequence[Searchable], query: str, asked: Sequence[str]) -> list[str]:
    matches = [
        (quality, sum(not _covered(word, asked) for word in entry.own_words), entry)
        for entry in pool
        if (quality := _match(entry, query, asked)) is not None
    ]
    matches.sort(key=lambda m: (m[2].order, m[2].key), reverse=True)
    matches.sort(key=lambda m: m[:2])
    return [entry.key for _, _, entry in matches]


@lru_cache(_MOST_KEPT)
def _alike(word: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    if len(word) < _LEAST_MISTYPED or any(other.startswith(word) for other in known):
        return word
    close = get_close_matches(word, known, 1, 0.6)
    return close[0] if close else word


def suggestions(entries: Iterable[Searchable], name: str, limit: int = 3) -> list[str]:
    """Keys of entries that may have been meant by a name nobody has."""
    from difflib import get_close_matches

    pool = list(entries)
    found = search(pool, name, limit)
    if not found:
        by_name = {compact(entry.name): entry.key for entry in pool}
        close = get_close_matches(compact(name[:_MAX_QUERY]), list(by_name), limit, 0.4)
        found = [by_name[one] for one in close]
    return found
