"""What the Recommend workspace says: sentences, tables and points of a state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.explain.engine_notes import not_measured
from core.pauses import pause
from core.planning.offers import Offer
from core.planning.recommend import Recommendation
from core.planning.verify import standing
from core.planning.what_runs import WhatRuns
from core.reports import recommendation as report
from core.spec.scenario import Scenario
from core.units import show_count
from core.words import Phrase, Words, percent
from gui.contents.recommend_entry import Entry, what
from gui.contents.recommend_points import price_points, size_points
from gui.contents.recommend_rows import (
    MODEL_HEADS,
    Made,
    columns,
    failure_table,
    hardware_heads,
    hardware_rows,
    model_rows,
    near_reason,
)
from gui.plots.price_plot import Point
from gui.widgets.grid_table import Column, Row


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A state as it is shown: made beside the search, not while the window waits."""

    headline: str
    line: str
    beside: str  # in small print, where a warning has taken the line
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    entries: tuple[Entry | None, ...]
    keys: tuple[object, ...]  # of the entries
    points: tuple[Point, ...]
    why: tuple[list[Column], list[Row]] | None = None


def view_of(
    state: Recommendation | WhatRuns, scenario: Scenario, words: Words, made: Made | None = None
) -> View:
    """The tables and points of a state; ``made``: of earlier states of the same search."""
    why: tuple[list[Column], list[Row]] | None = None
    if isinstance(state, WhatRuns):
        rows, entries = model_rows(state, words, made)
        heads, points = columns(MODEL_HEADS, 0.95, words), size_points(state)
    else:
        rank = scenario.search.rank
        rows, entries = hardware_rows(state, rank, words, made)
        heads = columns(hardware_heads(rank), scenario.simulation.percentile, words)
        points = price_points(state, words)
        pause()
        why = failure_table(state.failures, words)
    pause()
    keys = tuple(entry.key if entry else None for entry in entries)
    pause()
    said = (*headline(state, scenario, words), beside_note(state, scenario, words))
    return View(*said, tuple(heads), rows, tuple(entries), keys, tuple(points), why)


# -- sentences -----------------------------------------------------------------------------------


def headline(state: Recommendation | WhatRuns, scenario: Scenario, words: Words) -> tuple[str, str]:
    """Sentence and line."""
    if isinstance(state, WhatRuns):
        return _models_headline(state, scenario, words)
    if not state.finished:
        return words.phrase(report.headline(state)), _progress(state, words)
    if state.offers:
        note, measured = _note_of(state), report.best_measured(state)
        told = [words.phrase(phrase) for phrase in (measured, note) if phrase is not None]
        return words.phrase(report.headline(state)), (
            words.sentences(told) if told else words.phrase(report.detail(state))
        )
    line = ""
    if state.near:
        near = state.near[0]
        line = words("recommending.nearest", what=what(near, words), reason=near_reason(near, words))
    elif state.failures:
        worst = max(state.failures, key=lambda failure: failure.count)
        said = {"count": show_count(worst.count), "total": show_count(state.total)}
        line = words("recommending.mostly", reason=words.phrase(report.reason(worst)), **said)
    return words.phrase(report.headline(state)), line


def beside_note(state: Recommendation | WhatRuns, scenario: Scenario, words: Words) -> str:
    """How many entries do, where a warning about the first has taken the line for it."""
    if isinstance(state, WhatRuns):
        return _models_counted(state, scenario, words) if _note_of(state) is not None else ""
    whole = state.finished and _note_of(state) is not None
    return words.phrase(report.detail(state)) if whole else ""


def _note_of(state: Recommendation | WhatRuns) -> Phrase | None:
    """A warning where nobody measured what is named first."""
    if isinstance(state, WhatRuns):
        best = next((runs.offer for runs in state.runs if runs.good), None)
    else:
        best = state.offers[0] if state.offers else None
    return not_measured(best.scenario) if best is not None else None


def _progress(state: Recommendation, words: Words) -> str:
    share = percent(state.searched / max(1, state.total))
    return words("recommending.working", share=share, total=show_count(state.total))


def _models_headline(state: WhatRuns, scenario: Scenario, words: Words) -> tuple[str, str]:
    count, device = scenario.deployment.accelerators, scenario.accelerator.name
    place = f"{show_count(count)} × {device}"
    good = [runs for runs in state.runs if runs.good]
    if good:
        best = good[0]
        label = words.phrase(report.formats(best.offer.combination))
        text = words("recommending.models_headline", model=best.model.name, format=label)
    elif state.finished and state.refused == state.total:
        return report.refused(state, words), place
    elif state.finished:
        text = words("recommending.models_none", hardware=place)
    else:
        text = words("recommending.starting")
    if not state.finished:
        share = percent(state.searched / max(1, state.total))
        return text, words("recommending.working_models", share=share, total=show_count(state.total))
    note = _note_of(state)
    return text, _models_counted(state, scenario, words) if note is None else words.phrase(note)


def _models_counted(state: WhatRuns, scenario: Scenario, words: Words) -> str:
    place = f"{show_count(scenario.deployment.accelerators)} × {scenario.accelerator.name}"
    good = sum(runs.good for runs in state.runs)
    values = {"good": show_count(good), "near": show_count(len(state.runs) - good)}
    values |= {"hardware": place, "large": show_count(state.too_large)}
    if state.refused == state.total:
        return report.refused(state, words)
    short = "_short" if state.too_short else ""
    if state.too_short:
        tokens = show_count(scenario.workload.tokens_per_request)
        values |= {"short": show_count(state.too_short), "tokens": tokens}
    counted = words(f"recommending.models_detail{short}", **values)
    return words.sentences((counted, report.refused(state, words))) if state.refused else counted


def with_offer(state: Recommendation, offer: Offer) -> Recommendation:
    """The state with an offer in place of the same one without a simulation."""

    def put(offers: Sequence[Offer]) -> tuple[Offer, ...]:
        return tuple(offer if one.combination is offer.combination else one for one in offers)

    return replace(state, offers=standing(put(state.offers)), near=put(state.near))
