"""Cached prompts that later requests may start from, kept block by block until room is needed.

A prompt is a chain of segments (a system prompt, the turns of a conversation, hashed blocks of a
trace).  A segment that a running request reads is held; one that nobody reads is idle and is given
up, least recently used first and the end of a chain before its beginning.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence

# Key of a segment, and the tokens of the chain up to its end.
Link = tuple[Hashable, int]


class PrefixCache:
    """Blocks of segments: ``held_blocks`` are in use, ``idle_blocks`` can be given up."""

    def __init__(self, block: int, apart: int = 0) -> None:
        self._block, self._apart = block, apart  # blocks at the beginning of every chain that are not counted
        self._held: dict[Hashable, list[int]] = {}  # key -> [blocks, tokens up to its end, readers]
        self._idle: OrderedDict[Hashable, tuple[int, int]] = OrderedDict()  # key -> blocks, tokens
        self.held_blocks = 0
        self.idle_blocks = 0

    def match(self, chain: Sequence[Link]) -> tuple[int, int]:
        """Links from the beginning that are cached, and their whole blocks in tokens."""
        links = tokens = 0
        for key, end in chain:
            entry = self._held.get(key) or self._idle.get(key)
            if entry is None:
                break
            links += 1
            tokens = min(end, entry[1])
        return links, tokens // self._block * self._block

    def idle_in(self, chain: Sequence[Link]) -> int:
        """Idle blocks of the links, which become held when the chain is."""
        return sum(self._idle[key][0] for key, _ in chain if key in self._idle)

    def hold(self, chain: Sequence[Link]) -> None:
        """One more reader of each link; all of them are cached."""
        for key, _ in chain:
            entry = self._idle.pop(key, None)
            if entry is None:
                self._held[key][2] += 1
                continue
            self._held[key] = [*entry, 1]
            self.idle_blocks -= entry[0]
            self.held_blocks += entry[0]

    def insert(self, chain: Sequence[Link], start: int) -> tuple[int, int]:
        """Add and hold the links from number ``start``; blocks they take over, and the links held then.

        Stops at a link that another request has inserted meanwhile: the own copy stays private.
        """
        taken, before = 0, chain[start - 1][1] // self._block if start else self._apart
        for key, end in chain[start:]:
            if key in self._held or key in self._idle:
                break
            blocks = max(0, end // self._block - before)
            before += blocks
            self._held[key] = [blocks, end, 1]
            self.held_blocks += blocks
            taken += blocks
            start += 1
        return taken, start

    def release(self, chain: Sequence[Link]) -> None:
        """One reader fewer of each link."""
        for key, _ in reversed(chain):
            entry = self._held[key]
            entry[2] -= 1
            if not entry[2]:
                del self._held[key]
                self._idle[key] = entry[0], entry[1]
                self.held_blocks -= entry[0]
                self.idle_blocks += entry[0]

    def evict(self, blocks: int) -> int:
        """Give up idle segments until ``blocks`` are free or none is left; blocks freed."""
        freed = 0
        while freed < blocks and self._idle:
            freed += self._idle.popitem(last=False)[1][0]
        self.idle_blocks -= freed
        return freed
