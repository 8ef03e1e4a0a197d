"""The points of Recommend's plot, and how its axis is written."""

from core.pauses import pause
from core.planning.offers import Offer
from core.planning.recommend import Recommendation
from core.planning.verify import confirmed
from core.planning.what_runs import WhatRuns
from core.words import Words
from gui.contents.recommend_entry import Entry, hardware_name
from gui.forms.model import size_text
from gui.plots.price_plot import Point

_BETWEEN = 64  # points between two pauses


def price_points(state: Recommendation, words: Words) -> list[Point]:
    """Offers filled, near misses and what a simulation refused open; those without a price are left out."""
    found: list[Point] = []
    told = [*((o, _stands(o)) for o in state.offers), *((o, False) for o in state.near)]
    for number, (offer, good) in enumerate(told):
        if not number % _BETWEEN:
            pause()
        if offer.price:
            speed, name = offer.output_tokens_per_second, hardware_name(offer)
            best = good and offer.on_frontier
            found.append(Point(offer.price, speed, name, good, best, Entry(offer).key))
    return found


def _stands(offer: Offer) -> bool:
    """Whether nothing speaks against it: not simulated yet, or within the targets when it was."""
    return offer.verified is None or confirmed(offer)


def size_points(state: WhatRuns) -> list[Point]:
    """Models by their size."""
    return [
        Point(
            float(runs.model.parameters),
            runs.offer.output_tokens_per_second,
            runs.model.name,
            runs.good,
            False,
            Entry(runs.offer, runs).key,
        )
        for runs in state.runs
    ]


def size(value: float) -> str:
    """3 B, 300 M."""
    number, _, unit = size_text(value).partition(" ")
    return f"{float(number.replace(',', '')):g} {unit}"


def dollars(value: float) -> str:
    """$3K, $100K, $1.2M."""
    for size, unit in ((1e6, "M"), (1e3, "K")):
        if value >= size:
            text = f"{value / size:,.1f}".removesuffix(".0")
            return f"${text}{unit}"
    return f"${value:,.0f}"
