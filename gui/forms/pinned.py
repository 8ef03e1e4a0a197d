"""An entry that a search box always offers: first when nothing is typed or its own words are."""

from collections.abc import Sequence

from gui.fields.choice_edit import Choice


def with_pinned(found: Sequence[Choice], pinned: Choice, query: str) -> list[Choice]:
    """The hits with the pinned entry before or behind them."""
    typed = query.strip().lower()
    meant = not typed or (len(typed) > 2 and typed in pinned.label.lower())
    return [pinned, *found] if meant else [*found, pinned]
