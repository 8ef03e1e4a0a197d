"""Names cut to a width so that each still says what the others do not."""

from collections import defaultdict
from collections.abc import Callable, Sequence
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
    shared = {first: _shared(alike) if len(alike) > 1 else 0 for first, alike in long.items()}
    return tuple(
        name if fits(name) else _without(name.split(), shared[name.partition(" ")[0]], fits, elided)
        for name in names
    )


def _shared(names: list[list[str]]) -> int:
    """How many words they all begin with."""
    return len(list(takewhile(lambda at: len(set(at)) == 1, zip(*names, strict=False))))


def _without(words: list[str], shared: int, fits: Fits, elided: Elided) -> str:
    """As many of the first words as have room, and all those that are not shared."""
    if 0 < shared < len(words):
        for kept in range(shared - 1, -1, -1):
            shown = " ".join([*words[:kept], "…", *words[shared:]])
            if fits(shown) or kept == 0:
                return elided(shown)
    return elided(" ".join(words))
