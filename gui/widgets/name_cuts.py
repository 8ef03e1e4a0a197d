"""Names cut to a width so that each still says what the others do not."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

Fits = Callable[[str], bool]
Elided = Callable[[str], str]


def cut_apart(names: Sequence[str], fits: Fits, elided: Elided) -> tuple[str, ...]:
    """The names as they have room.

    Those that have none and begin alike lose words of what they share, not what tells them apart:
    "RTX PRO … Server" and "RTX PRO … Max-Q Workstation".
    """
    long = defaultdict(list)
    for name in names:
        if not fits(name):
            long[name.partition(" ")[0]].append(name.split())
    return tuple(
        name if fits(name) else _without(name.split(), long[name.partition(" ")[0]], fits, elided)
        for name in names
    )


def _shared(names: Sequence[list[str]]) -> int:
    """How many words they all begin with."""
    return len(list(takewhile(lambda at: len(set(at)) == 1, zip(*names, strict=False))))


def _without(words: list[str], alike: Sequence[list[str]], fits: Fits, elided: Elided) -> str:
    """As many of the first words as have room, and all those that are not shared.

    Shared by all that begin alike, or, where that is not enough, with the one that is most alike.
    """
    others = [other for other in alike if other != words]
    by_all = _shared([words, *others]) if others else 0
    by_one = max((_shared([words, other]) for other in others), default=0)
    for shared in (by_all, by_one):
        for kept in range(min(shared, len(words) - 1) - 1, -1, -1):
            shown = " ".join([*words[:kept], "…", *words[shared:]])
            if shared < len(words) and fits(shown):
                return shown
    if 0 < by_all < len(words):
        return elided(" ".join(["…", *words[by_all:]]))
    return elided(" ".join(words))


_TOKENS = re.compile(r"\([^)]*\)|\S+")  # what stands in brackets is one


def cuts_within(name: str, others: Sequence[str]) -> Iterator[str]:
    """Shorter forms of a name, the longest first, that can be read as none of the others.

    The end stays, where variants of a device differ: "RTX PRO 6000 … Max-Q"; then less of the beginning.
    """
    tokens = _TOKENS.findall(name)
    tails = [tokens[-1]] if tokens else []
    if tails and tails[0].startswith("(") and " " in tails[0]:
        tails.append(f"{tails[0].split(' ')[0]}…)")
    alike = [other for other in others if other != name]
    for tail in tails:
        end = tail.removesuffix("…)")
        for kept in range(len(tokens) - 2, 0, -1):
            head = " ".join(tokens[:kept])
            if not any(other.startswith(head) and end in other[len(head) :] for other in alike):
                yield f"{head} … {tail}"
        for first in range(1, len(tokens)):
            back = " ".join([*tokens[first:-1], end])
            if not any(back in other for other in alike):
                yield f"… {' '.join([*tokens[first:-1], tail])}"
    # Of a maker the name goes first: "M4 … (32-core…)".
    for tail in tails[1:]:
        end = tail.removesuffix("…)")
        for word in tokens[1:-1]:
            if not any(word in other and end in other.partition(word)[2] for other in alike):
                yield f"{word} … {tail}"
