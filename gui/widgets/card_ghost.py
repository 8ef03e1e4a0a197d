"""What a suggestion would make of each card: a second value, and a second mark on the bullet."""

import math
from dataclasses import dataclass

from core.results import Estimate
from gui.widgets.card_content import Card


@dataclass(frozen=True)
class CardGhost:
    """The value after a change; ``mark`` is a share of the card's own track."""

    value: str
    unit: str
    state: str
    mark: float | None


def ghosts_of(
    cards: tuple[Card, ...], before: Estimate, changed: tuple[Card, ...], after: Estimate
) -> tuple[CardGhost | None, ...]:
    """One for each card; None where nothing changes."""
    found: list[CardGhost | None] = []
    for card, other in zip(cards, changed, strict=True):
        if (card.value, card.unit) == (other.value, other.unit):
            found.append(None)
            continue
        old, new = _value(before, card.key), _value(after, card.key)
        mark = None
        if card.has_bullet and old and new and math.isfinite(old) and math.isfinite(new):
            mark = min(1.0, card.mark * new / old)
        unit = "" if other.unit == card.unit else other.unit
        found.append(CardGhost(other.value, unit, other.state or other.target_state, mark))
    return tuple(found)


def _value(point: Estimate, key: str) -> float | None:
    if key == "memory_per_device":
        return float(point.ledger.needed_bytes)
    if key == "concurrent_users":
        return float(point.capacity.at_once)
    if point.speed is None:
        return None
    return {
        "time_to_first_token": point.speed.time_to_first_token.expected,
        "time_per_output_token": point.speed.time_per_output_token.expected,
        "output_throughput": point.speed.output_throughput.expected,
    }[key]
