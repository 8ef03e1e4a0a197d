"""The tables of Recommend: offers and near misses, models, why combinations fail."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.explain.engine_notes import not_measured
from core.pauses import pause
from core.planning.offers import Offer, shortfall
from core.planning.recommend import Failure, Recommendation
from core.planning.verify import confirmed
from core.planning.what_runs import Runs, WhatRuns
from core.reports import recommendation as report
from core.serving.results import SimulationResult
from core.units import show_count, show_time, three_digits
from core.words import Words, counted
from gui.contents.recommend_entry import Entry, hardware_name, what
from gui.forms.model import size_text
from gui.theme import Role
from gui.widgets.grid_rows import MadeRows
from gui.widgets.grid_table import Cell, Column, Row

MOST_NEAR = 6
MOST_AT_FIRST = 40  # rows while the search goes on: nobody reads on before they stand still
HARDWARE_HEADS = (
    "rank", "hardware", "parallel", "weights", "price", "first_token", "per_token", "throughput", "bar",
    "energy", "users", "state",
)  # fmt: skip
MODEL_HEADS = (
    "rank", "model", "size", "weights", "parallel", "first_token", "per_token", "throughput", "bar",
    "users", "longest",
)  # fmt: skip
_SPARE = {"bar": 1, "parallel": 2, "size": 3, "users": 4, "longest": 5, "state": 6, "weights": 7}
_LEAST = {"hardware": 200, "model": 260}  # px of the columns that stretch
_BY_ENERGY = "energy"  # a rank, and the column that only it has
_RIGHT = frozenset({"price", "first_token", "per_token", "throughput", "users", "size", "longest", "energy"})


@dataclass(frozen=True, slots=True)
class _Made:
    """What of an offer's row stays the same.  Holds the offer, so that nothing else has its identity."""

    offer: Offer
    before: tuple[Cell, ...]
    after: tuple[Cell, ...]
    spoken: str
    tips: tuple[str, ...]


Made = dict[int, _Made]  # by the identity of an offer


def near_reason(offer: Offer, words: Words) -> str:
    """Which target is missed, and by how much."""
    short = shortfall(offer)
    if short.reason in ("per_token", "first_token"):
        value: object = show_time(short.value)
        limit: object = show_time(short.limit)
    elif short.reason == "users":
        value, limit = show_count(short.value), show_count(short.limit)
    else:
        value, limit = three_digits(short.value), three_digits(short.limit)
    return words(f"recommending.near_reason.{short.reason}", value=value, limit=limit)


def hardware_heads(rank: str) -> tuple[str, ...]:
    """The columns of a search that is ranked by ``rank``."""
    return tuple(head for head in HARDWARE_HEADS if head != _BY_ENERGY or rank == _BY_ENERGY)


def columns(heads: Sequence[str], share: float, words: Words) -> list[Column]:
    """The heads of a table."""
    made = []
    for head in heads:
        if head in ("rank", "bar"):
            rank = head == "rank"
            made.append(Column("", width=40 if rank else 92, spare=_SPARE.get(head, 0), fixed=rank))
        elif head == "state":
            title = words("recommending.heads.verified", p=f"{100 * share:g}")
            made.append(Column(title, spare=_SPARE[head]))
        else:
            title, least = words(f"recommending.heads.{head}"), _LEAST.get(head, 0)
            spare = _SPARE.get(head, 0)
            made.append(Column(title, head in _RIGHT, stretch=bool(least), spare=spare, least=least))
    return made


def hardware_rows(
    state: Recommendation, rank: str, words: Words, made: Made | None = None
) -> tuple[Sequence[Row], list[Entry | None]]:
    """Offers by rank, then the near misses under a heading of their own."""
    known = made if made is not None else {}
    near = state.near[:MOST_NEAR]
    fastest = max([o.output_tokens_per_second for o in (*state.offers, *near)], default=1.0)
    shown = state.offers if state.finished else state.offers[:MOST_AT_FIRST]
    entries: list[Entry | None] = [Entry(offer) for offer in shown]
    if state.finished and near:
        entries += [None, *(Entry(offer) for offer in near)]

    def row(index: int) -> Row:
        entry = entries[index]
        if entry is None:
            return _heading(words("recommending.near"), len(hardware_heads(rank)))
        number = str(index + 1) if index < len(shown) else ""
        return _offer_row(entry.offer, number, fastest, rank, words, known)

    return MadeRows(len(entries), row), entries


def _heading(text: str, count: int) -> Row:
    cells = [Cell()] * count
    cells[1] = Cell(text, "caption_semibold", "ink2")
    return Row(tuple(cells), text)


def _offer_row(offer: Offer, rank: str, fastest: float, by: str, words: Words, made: Made) -> Row:
    known = made.get(id(offer))
    if known is None:
        pause()
        known = made[id(offer)] = _Made(offer, *_offer_cells(offer, by, words))
    front = offer.on_frontier and not offer.missed and (offer.verified is None or confirmed(offer))
    first = Cell(rank, colour="ink3", icon="frontier" if front else "", icon_colour="accent_text",
                 tip=words("recommending.pareto") if front else "")  # fmt: skip
    return _row(known, first, fastest)


def _row(known: _Made, first: Cell, fastest: float) -> Row:
    """A row: only its number and its bar change while the search goes on."""
    spoken = f"{first.text} {known.spoken}".strip()
    cells = (first, *known.before, _bar(known.offer, fastest), *known.after)
    return Row(cells, " ".join(part for part in (spoken, *known.tips) if part))


def _offer_cells(
    offer: Offer, by: str, words: Words
) -> tuple[tuple[Cell, ...], tuple[Cell, ...], str, tuple[str, ...]]:
    """Cells between the number and the bar, those behind it, what is spoken, and what it adds."""
    missed = offer.missed
    ink = "ink3" if missed else "ink"
    strong: Role = "body" if missed else "body_semibold"
    medium: Role = "body" if missed else "body_medium"
    price = "–" if offer.price is None else f"${offer.price:,.0f}"
    reason = near_reason(offer, words) if missed else ""
    energy = (Cell(three_digits(offer.joules_per_token), medium, ink),) if by == _BY_ENERGY else ()
    note = not_measured(offer.scenario)
    before = (
        Cell(hardware_name(offer), strong, ink, icon="info" if note else "",
             tip=words.phrase(note) if note else ""),
        _layout_cell(offer, ink, words),
        Cell(words.phrase(report.formats(offer.combination)), colour=ink),
        Cell(price, medium, ink),
        _time_cell(offer.time_to_first_token, "first_token" in missed, ink),
        _time_cell(offer.time_per_output_token, "per_token" in missed, ink),
        Cell(three_digits(offer.output_tokens_per_second), medium,
             "warn" if "rate" in missed else ink),
    )  # fmt: skip
    users = Cell(show_count(offer.most_users), medium, "warn" if "users" in missed else ink)
    times = ", ".join(cell.text for cell in before[4:])
    spoken = f"{what(offer, words)}, {price}, {times} tok/s"
    after = (*energy, users, _state_cell(offer, reason, words))
    return before, after, spoken, (before[0].tip, before[1].tip, reason)


def _layout_cell(offer: Offer, ink: str, words: Words) -> Cell:
    """How the model lies over the devices, marked where the engine is set otherwise."""
    other = report.settings(offer)
    tip = words("recommending.settings", settings=words.phrase(other)) if other else ""
    laid = words.phrase(report.layout(offer.combination))
    return Cell(laid, colour=ink, icon="sliders" if other else "", tip=tip)


def _bar(offer: Offer, fastest: float) -> Cell:
    share = offer.output_tokens_per_second / max(fastest, 1e-9)
    return Cell(bar=share, bar_colour="ghost" if offer.missed else "curve")


def _time_cell(seconds: float, missed: bool, ink: str) -> Cell:
    return Cell(str(show_time(seconds)), "body_medium" if ink == "ink" else "body", "warn" if missed else ink)


def _state_cell(offer: Offer, reason: str, words: Words) -> Cell:
    """Whether a simulation has confirmed the entry; of a near miss what it misses."""
    if reason:
        return Cell(reason, "caption", "warn", tip=reason)
    result = offer.verified
    if result is None:
        return Cell()
    first, each = _times(result)
    good = confirmed(offer)
    if report.untested(offer):
        return _untested_cell(offer, result, words)
    told = {"p": f"{100 * result.scenario.simulation.percentile:g}", "n": show_count(result.done)}
    key = "verified_good" if good else "verified_bad"
    said = words(f"recommending.{key}", first=show_time(first), each=show_time(each), **told)
    tip = _with_source(said, offer, result, words)
    colour = "good" if good else "warn"
    icon = "circle_tick" if good else "circle_x"
    return Cell(
        f"{show_time(first)} · {show_time(each)}", "caption_medium", colour, "", icon, colour, tip=tip
    )


def _with_source(said: str, offer: Offer, result: SimulationResult, words: Words) -> str:
    """What is said of a simulation, with what was refused, and whence its requests are that should be a
    trace's.
    """
    if result.refused:
        said += f"\n{words.phrase(counted('recommending.too_long', result.refused))}"
    if not offer.scenario.simulation.reads_trace:
        return said
    key = "of_trace" if result.scenario.simulation.reads_trace else "not_of_trace"
    return f"{said}\n{words(f'recommending.{key}')}"


def _untested_cell(offer: Offer, result: SimulationResult, words: Words) -> Cell:
    """The percentiles as ranges and in no colour: a simulation of generic figures confirms nothing."""
    share = result.scenario.simulation.percentile
    first, each = result.time_to_first_token.at(share), result.time_per_output_token.at(share)
    times = [words.phrase(report.between(one)) for one in (first, each)]
    told = {"p": f"{100 * share:g}", "n": show_count(result.done), "first": times[0], "each": times[1]}
    tip = _with_source(words("recommending.verified_untested", **told), offer, result, words)
    return Cell(" · ".join(times), "caption_medium", "ink2", "", "info", "ink3", tip=tip)


def _times(result: SimulationResult) -> tuple[float, float]:
    share = result.scenario.simulation.percentile
    return (
        result.time_to_first_token.at(share).expected,
        result.time_per_output_token.at(share).expected,
    )


def model_rows(
    state: WhatRuns, words: Words, made: Made | None = None
) -> tuple[Sequence[Row], list[Entry | None]]:
    """Good ones first, largest first; then those that miss a target."""
    known = made if made is not None else {}
    fastest = max([runs.offer.output_tokens_per_second for runs in state.runs], default=1.0)
    good = [runs for runs in state.runs if runs.good]
    missed = [runs for runs in state.runs if not runs.good]
    entries: list[Entry | None] = [Entry(runs.offer, runs) for runs in good]
    if missed:
        entries += [None, *(Entry(runs.offer, runs) for runs in missed)]

    def row(index: int) -> Row:
        entry = entries[index]
        if entry is None or entry.runs is None:
            return _heading(words("recommending.near"), len(MODEL_HEADS))
        return _model_row(entry.runs, str(index + 1) if index < len(good) else "", fastest, words, known)

    return MadeRows(len(entries), row), entries


def _model_row(runs: Runs, rank: str, fastest: float, words: Words, made: Made) -> Row:
    known = made.get(id(runs.offer))
    if known is None:
        pause()
        known = made[id(runs.offer)] = _Made(runs.offer, *_model_cells(runs, words))
    return _row(known, Cell(rank, colour="ink3"), fastest)


def _model_cells(runs: Runs, words: Words) -> tuple[tuple[Cell, ...], tuple[Cell, ...], str, tuple[str, ...]]:
    """As ``_offer_cells``."""
    offer, missed = runs.offer, runs.offer.missed
    ink = "ink3" if missed else "ink"
    medium: Role = "body" if missed else "body_medium"
    reason = near_reason(offer, words) if missed else ""
    note = not_measured(offer.scenario)
    tips = [part for part in (reason, words.phrase(note) if note else "") if part]
    before = (
        Cell(runs.model.name, "body" if missed else "body_semibold", ink, icon="info" if note else "",
             tip=words.sentences(tips) if tips else ""),
        Cell(size_text(runs.model.parameters), colour=ink),
        Cell(words.phrase(report.formats(offer.combination)), colour=ink),
        _layout_cell(offer, ink, words),
        _time_cell(offer.time_to_first_token, "first_token" in missed, ink),
        _time_cell(offer.time_per_output_token, "per_token" in missed, ink),
        Cell(three_digits(offer.output_tokens_per_second), medium, "warn" if "rate" in missed else ink),
    )  # fmt: skip
    after = (
        Cell(show_count(offer.most_users), medium, "warn" if "users" in missed else ink),
        Cell(report.longest(runs), medium, ink),
    )
    return (
        before,
        after,
        f"{runs.model.name}, {before[2].text}, {before[6].text} tok/s",
        (*tips, before[3].tip),
    )


def failure_table(failures: Sequence[Failure], words: Words) -> tuple[list[Column], list[Row]]:
    """How many fail why, with the one that comes nearest."""
    heads = [
        Column(words("recommending.why_heads.count"), width=112, fixed=True),
        Column(words("recommending.why_heads.reason")),
        Column(words("recommending.why_heads.nearest"), stretch=True, least=560),
        Column("", width=104, spare=1),
    ]
    most = max([failure.count for failure in failures], default=1)
    rows = [
        Row(
            (
                Cell(show_count(failure.count), "body_semibold"),
                Cell(words.phrase(report.reason(failure))),
                Cell(near := words.phrase(report.nearest(failure)), colour="ink2", tip=near),
                Cell(bar=failure.count / most, bar_colour="ghost"),
            ),
            f"{show_count(failure.count)} {words.phrase(report.reason(failure))}",
        )
        for failure in failures
    ]
    return heads, rows
