"""What requests take from a cache, in pages.

Works on whole numbers and on arrays alike, so a ledger (exact integers) and a curve (float arrays)
come from the same lines.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

WindowKind = Literal["sliding", "chunked", "state"]


def _least(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b)


def _not_below_zero(a: Any) -> Any:
    return np.maximum(a, 0) if isinstance(a, np.ndarray) else max(a, 0)


def _is_zero(a: Any) -> bool:
    return not np.any(a) if isinstance(a, np.ndarray) else not a


def _pages(tokens: Any, page_tokens: int) -> Any:
    return -(-tokens // page_tokens)


@dataclass(frozen=True, slots=True)
class PageGroup:
    """Layers whose cache is paged alike.

    ``page_bytes`` of one page over all of them; ``window``: tokens they look back, None: all.
    A "state" is kept in one page, whatever the length (``window`` 1).
    """

    page_bytes: int
    page_tokens: int
    window: int | None = None
    window_kind: WindowKind = "sliding"

    def held(self, tokens: Any) -> Any:
        """Pages that a request of ``tokens`` holds while it decodes."""
        pages = _pages(tokens, self.page_tokens)
        if self.window is None:
            return pages
        if self.window_kind == "state":
            return _least(pages, 1)
        if self.window_kind == "chunked":
            return _least(pages, math.ceil(self.window / self.page_tokens))
        return _least(pages, math.ceil((self.window - 1) / self.page_tokens) + 1)

    def shared(self, tokens: Any, prefix: Any) -> Any:
        """Of them, pages that lie wholly in a prefix common to all requests."""
        if self.window_kind == "state":
            return prefix * 0
        in_prefix = prefix // self.page_tokens
        private = _pages(tokens, self.page_tokens) - in_prefix
        return _least(in_prefix, _not_below_zero(self.held(tokens) - private))

    def reserved(self, tokens: Any, batched_tokens: int) -> Any:
        """Pages that the engine counts for a request when it prints its maximum concurrency.

        A window may be full while a whole batch of new tokens is written behind it.
        """
        if self.window is None:
            return _pages(tokens, self.page_tokens)
        if self.window_kind == "state":
            return _least(_pages(tokens, self.page_tokens), 1)
        if self.window_kind == "chunked":
            return _pages(_least(tokens, self.window + batched_tokens), self.page_tokens)
        return _pages(_least(tokens, self.window - 1 + batched_tokens), self.page_tokens) + 1


@dataclass(frozen=True, slots=True)
class CacheDemand:
    """The cache of one device: groups of layers, and a state of fixed size for each sequence."""

    groups: tuple[PageGroup, ...]
    state_bytes: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether a request's cache grows with its length alone: no windows, no state."""
        return not self.state_bytes and all(g.window is None for g in self.groups)

    def paged(self, tokens: int) -> Self:
        """The same in pages of ``tokens``, for groups that are given by single tokens."""
        groups = (
            PageGroup(g.page_bytes * tokens, tokens, g.window, g.window_kind) if g.page_tokens == 1 else g
            for g in self.groups
        )
        return replace(self, groups=tuple(groups))

    def request_bytes(self, tokens: Any, prefix: Any = 0) -> Any:
        """Bytes that one more request takes, without the pages it shares with the others."""
        total: Any = self.state_bytes
        for group in self.groups:
            pages = group.held(tokens)
            if not _is_zero(prefix):
                pages = pages - group.shared(tokens, prefix)
            total = total + pages * group.page_bytes
        return total

    def shared_bytes(self, tokens: Any, prefix: Any) -> Any:
        """Bytes of the pages that all requests share, counted once."""
        if _is_zero(prefix):
            return 0
        return sum(group.shared(tokens, prefix) * group.page_bytes for group in self.groups)

    def reserved_bytes(self, tokens: int, batched_tokens: int) -> int:
        """Bytes of one request as the engine's own concurrency line counts them."""
        pages = sum(g.reserved(tokens, batched_tokens) * g.page_bytes for g in self.groups)
        return int(pages) + self.state_bytes

    def bytes_per_token(self) -> int:
        """Bytes that one more token adds at long context: windowed layers left out."""
        pages = (g for g in self.groups if g.window is None)
        return math.ceil(sum(Fraction(g.page_bytes, g.page_tokens) for g in pages))

    def whole_pages(self, pool: int) -> int:
        """Bytes of a pool that can be used: whole pages where all groups share one page size."""
        sizes = {g.page_bytes for g in self.groups}
        return pool - pool % sizes.pop() if len(sizes) == 1 and not self.state_bytes else pool

    def tokens_in(self, pool: int, length: int) -> int:
        """Tokens that a pool holds in requests of ``length``; without windows and state, at any length."""
        if self.is_plain:
            page_bytes = sum(g.page_bytes for g in self.groups)
            return pool // page_bytes * self.groups[0].page_tokens if page_bytes else 0
        each = int(self.request_bytes(length))
        return pool * length // each if each else 0
