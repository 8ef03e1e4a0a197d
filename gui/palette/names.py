"""Which words of a typed question name a thing: "qwen3-8b" and "qwen 3 8b" both name "Qwen3-8B".

Words of a name must begin where a part of it begins, and one of them must be a name by itself: "small",
"chat", "bf16" or "12" are in names of models and choose none.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

_LEAST_WITHIN = 2  # letters of a word up to which it must be a whole part of a name
_LEAST_CUT = 4  # letters of a name that may be typed for all of it
_SHORT_NUMBER = re.compile(r"\d{1,2}")
_SIZE = re.compile(r"(?:\d+x)?[ae]?\d+(?:\.\d+)?b")
_SEPARATORS = re.compile(r"[\s_-]")
# Parts of a name begin behind what separates them, and numbers also behind letters: "qwen3".
_START = r"(?:(?<![a-z\d.])|(?<=[a-z])(?=\d))"
# Words in names of models that are not their own: kinds and sizes of models, formats, makers.
_GENERAL = frozenset(
    re.findall(
        r"\w+",
        "ai air amd apple awq base bf bit chat chinese code coder coding distill dual edge fast flash fp gguf"
        " google gptq gpu hf huawei instruct int intel it kv language large light lightning linear lite llm"
        " long low max medium meta microsoft micro mini model models moe multi nano new next nvidia open plus"
        " preview pro pt quad quant rl server single small super tencent text thinking tiny tool turbo ultra"
        " vision vl xl",
    )
)
# Words before a device that name none: "nvidia rtx 4090".
MAKERS = frozenset(("amd", "apple", "ascend", "google", "huawei", "intel", "nvidia"))


def bare(name: str) -> str:
    """A name or word without what people leave out or add between its parts."""
    return _SEPARATORS.sub("", name.lower())


@lru_cache(2000)
def _pattern(word: str) -> re.Pattern[str]:
    """A word within a name, however its parts are separated there: at the start of a part, a number whole."""
    start, end = _START, ""
    if word.isdecimal():
        start = start if len(word) <= _LEAST_WITHIN else r"(?<![a-z\d.])"  # 100 is no part of "H100"
        end = r"(?!\d)"
    return re.compile(start + r"[\s_-]*".join(map(re.escape, word)) + end)


def _place(name: str, word: str, after: int = 0) -> int | None:
    """Where a name holds a word, behind a place; None where it does not."""
    found = _pattern(word).search(name.lower(), after)
    return None if found is None else found.start()


def holds(name: str, word: str) -> bool:
    """Whether a name holds a word; one or two letters are no part of just any word."""
    if not word:
        return False
    if len(word) > _LEAST_WITHIN:
        return _place(name, word) is not None
    before, after = ("[0-9]" if end.isdecimal() else "[a-z]" for end in (word[0], word[-1]))
    return re.search(rf"(?<!{before}){re.escape(word)}(?!{after})", name.lower()) is not None


def named_by(said: Sequence[str], name: str, family: str, sizes: bool = False) -> bool:
    """Whether words name a model: all are in its name, and one of them is a name by itself.

    ``sizes``: sizes need not be in the name, "671b".
    """
    return _all_in([bare(word) for word in said], name, sizes) and any(
        _tells(word, name, family) for word in said
    )


def is_memory(word: str) -> bool:
    """Whether a word states an amount of memory and nothing else: "24gb"."""
    return re.fullmatch(r"\d+gi?b?", word) is not None


def _all_in(words: Sequence[str], name: str, sizes: bool) -> bool:
    """Whether a name holds all words; short numbers only behind the word before: "qwen 3", not "qwen3 1"."""
    last: int | None = None
    for word in words:
        if _SHORT_NUMBER.fullmatch(word):
            if last is None or _place(name, word, last) is None:
                return False
        elif holds(name, word) or (sizes and _SIZE.fullmatch(word)):
            last = _place(name, word) or 0
        else:
            return False
    return True


def _tells(word: str, name: str, family: str) -> bool:
    """Whether a word is a name or its beginning, or a number of parameters."""
    if _SIZE.fullmatch(word) or (not word.isascii() and len(word) >= _LEAST_WITHIN):
        return True
    own = set(re.findall(r"[a-z]{2,}", f"{name} {family}".lower())) - _GENERAL
    for piece in re.findall(r"[a-z]{2,}", word):
        longer = any(piece.startswith(part) for part in own)  # "gptoss"
        cut = len(piece) >= _LEAST_CUT and any(part.startswith(piece) for part in own)
        if piece not in _GENERAL and (longer or cut):
            return True
    return False
