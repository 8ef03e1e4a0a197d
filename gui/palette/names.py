"""Which words of a typed question are in a name: "qwen3-8b" and "qwen 3 8b" are both in "Qwen3-8B"."""

import re

_LEAST_WITHIN = 2  # letters of a word up to which it must be a whole part of a name


def bare(name: str) -> str:
    """A name or word without what people leave out or add between its parts."""
    return re.sub(r"[\s_-]", "", name.lower())


def holds(name: str, word: str) -> bool:
    """Whether a model's name holds a word; one or two letters are no part of just any word."""
    if len(word) > _LEAST_WITHIN:
        return word in bare(name)
    if not word:
        return False
    before, after = ("[0-9]" if end.isdecimal() else "[a-z]" for end in (word[0], word[-1]))
    return re.search(rf"(?<!{before}){re.escape(word)}(?!{after})", name.lower()) is not None
