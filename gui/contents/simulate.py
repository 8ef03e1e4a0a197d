"""What the Simulate workspace says of a run: sentences, figures, tables."""

import math

from core.planning.capacity_search import trial_requests
from core.planning.replay import MOST
from core.planning.simulated_cost import simulated_cost
from core.quantities import Range
from core.reports.simulation import detail as detail_phrases
from core.reports.simulation import goodput, so_far
from core.reports.simulation import headline as headline_phrase
from core.serving.results import SHARES as RANKS
from core.serving.results import Distribution, SimulationResult
from core.units import Shown, bare, show_count, show_limit, show_time, three_digits, time_in
from core.words import Words, counted, numbered, percent
from gui.widgets.card_content import Card
from gui.widgets.grid_table import Cell, Column, Row
from gui.work.simulation import Shot, Study

_FEWEST = 0.005  # requests that wait on average: fewer are none
SHARES = ("p50", "p90", "p95", "p99")
Fact = tuple[str, str]


def headline(result: SimulationResult, words: Words) -> str:
    """The sentence on top."""
    return words.phrase(headline_phrase(result))


def detail(result: SimulationResult, words: Words) -> str:
    """The line below it."""
    return words.sentences(words.phrase(part) for part in detail_phrases(result))


def working(shot: Shot | None, words: Words) -> tuple[str, str]:
    """Sentence and line while a run goes on."""
    if shot is None:
        return words("simulating.starting"), ""
    share = words("simulating.working", share=percent(shot.progress.share))
    return share, words.phrase(so_far(shot.progress))


def cards(result: SimulationResult, words: Words) -> tuple[Card, ...]:
    """First token, per token, goodput, waiting, preempted."""
    targets = result.scenario.targets
    per_token = targets.time_per_output_token_ms
    each = None if per_token is None else per_token / 1e3
    share = result.scenario.simulation.percentile
    return (
        _timed("first_token", result.time_to_first_token, targets.time_to_first_token_s, share, words),
        _timed("per_token", result.time_per_output_token, each, share, words),
        _goodput(result, words),
        _waiting(result, words),
        _preempted(result, words),
    )


def empty_cards(note: str, words: Words) -> tuple[Card, ...]:
    """The cards without numbers; ``note`` says why the first has none."""
    keys = ("first_token", "per_token", "goodput", "waiting", "preempted")
    return tuple(
        Card(key, *_names(key, words), value="–", note="" if i else note) for i, key in enumerate(keys)
    )


def _names(key: str, words: Words) -> tuple[str, str]:
    """The name of a card, and the one where there is little room."""
    brief = f"simulating.figures.brief.{key}"
    return words(f"simulating.figures.{key}"), words(brief) if words.has(brief) else ""


def _timed(key: str, values: Distribution, target: float | None, share: float, words: Words) -> Card:
    """The median, and the percentile that must meet the target."""
    names = _names(key, words)
    if not values.count:
        return Card(key, *names, value="–")
    near = min(RANKS, key=lambda rank: abs(rank - share))
    median, far = values.p50.expected, values.at(near).expected
    shown = show_time(median)
    longest = 1.15 * max(values.p99.expected, target or 0.0, 1e-12)
    met = target is None or far <= target
    late = target is not None and median > target
    limit = Shown("", "") if target is None else show_time(target)
    unit = "" if limit.unit == shown.unit else f" {limit.unit}"
    return Card(
        key,
        *names,
        value=shown.number,
        unit=shown.unit,
        state="warn" if late else "",
        note=words("simulating.figures.far", rank=f"{100 * near:.0f}", value=time_in(far, shown.unit)),
        target="" if target is None else f"≤ {bare(limit.number)}{unit}",
        target_state="" if target is None else "good" if met else "warn",
        has_bullet=True,
        low=median / longest,
        high=far / longest,
        mark=median / longest,
        target_mark=None if target is None else target / longest,
    )


def _goodput(result: SimulationResult, words: Words) -> Card:
    share = result.good_share
    return Card(
        "goodput",
        words("simulating.figures.goodput"),
        value=three_digits(result.goodput),
        unit=words("simulating.figures.per_second"),
        note=words("simulating.figures.of", value=three_digits(result.requests_per_second)),
        target=words.phrase(percent(share)) if result.done else "",
        has_bullet=result.done > 0,
        low=0.0,
        high=share,
        mark=share,
    )


def _waiting(result: SimulationResult, words: Words) -> Card:
    most = result.most_waiting
    mean = result.mean_waiting if result.mean_waiting >= _FEWEST else 0.0
    return Card(
        "waiting",
        words("simulating.figures.waiting"),
        value=show_count(most),
        unit=words(f"simulating.figures.{'request' if most == 1 else 'requests'}"),
        note=words("simulating.figures.mean", value=three_digits(mean)),
        has_bullet=most > 0,
        low=0.0,
        high=min(1.0, result.mean_waiting / max(1, most)),
        mark=1.0,
    )


def _preempted(result: SimulationResult, words: Words) -> Card:
    count = result.preempted
    how = "none" if not result.preemptions else "swapped" if result.swaps else "recomputed"
    return Card(
        "preempted",
        words("simulating.figures.preempted"),
        value=show_count(count),
        unit=words(f"simulating.figures.{'request' if count == 1 else 'requests'}"),
        note=words(f"simulating.figures.{how}"),
        has_bullet=result.done > 0,
        low=0.0,
        high=count / max(1, result.asked),
        mark=count / max(1, result.asked),
    )


# -- percentiles ---------------------------------------------------------------------------------


def percentile_table(result: SimulationResult, words: Words) -> tuple[list[Column], list[Row]]:
    """A row each quantity; a cell says its percentile and, smaller, the range that it lies in."""
    targets = result.scenario.targets
    per_token = targets.time_per_output_token_ms
    limits = {
        "first_token": targets.time_to_first_token_s,
        "per_token": None if per_token is None else per_token / 1e3,
    }
    named = (
        ("first_token", result.time_to_first_token),
        ("per_token", result.time_per_output_token),
        ("inter_token", result.inter_token),
        ("end_to_end", result.end_to_end),
        ("queue", result.queue),
    )
    heads = ["quantity", "mean", *SHARES, "target"]
    columns = [
        Column(words(f"simulating.table.{key}"), right=i > 0, stretch=i == 0) for i, key in enumerate(heads)
    ]
    return columns, [_percentile_row(key, values, limits.get(key), words) for key, values in named]


def _percentile_row(key: str, values: Distribution, limit: float | None, words: Words) -> Row:
    name = words(f"simulating.table.{key}")
    if not values.count:
        return Row((Cell(name), *[Cell("–")] * (len(SHARES) + 2)), name)
    cells = [Cell(name), Cell(str(show_time(values.mean)), colour="ink2")]
    for share in SHARES:
        at: Range = getattr(values, share)
        missed = limit is not None and at.expected > limit
        cells.append(
            Cell(
                str(show_time(at.expected)),
                role="body_medium",
                colour="warn" if missed else "ink",
                after=_interval(at),
            )
        )
    cells.append(Cell("" if limit is None else f"≤ {show_limit(limit)}", colour="ink2"))
    heard = ", ".join(
        f"{share} {cell.text} {cell.after}" for share, cell in zip(SHARES, cells[2:], strict=False)
    )
    return Row(tuple(cells), f"{name}: {heard}")


def _interval(at: Range) -> str:
    if not math.isfinite(at.low) or at.low == at.high:
        return ""
    unit = show_time(at.expected).unit
    low, high = time_in(at.low, unit), time_in(at.high, unit)
    return "" if low == high else f"{low} – {high}"


def facts(result: SimulationResult, words: Words) -> tuple[list[Fact], list[Fact]]:
    """What else there is to say, in two columns: the work, and what it took."""
    targets = result.scenario.targets
    cost = simulated_cost(result)

    def share(value: float) -> str:
        return words.phrase(percent(value))

    def two(mean: str, most: str) -> str:
        return words("simulating.facts.two", mean=mean, most=most)

    work: list[tuple[str, str]] = [
        ("requests", show_count(result.done)),
        ("rate", three_digits(result.requests_per_second)),
        ("tokens", three_digits(result.output_tokens_per_second)),
        ("goodput", goodput(result, words)),
    ]
    if targets.time_to_first_token_s is not None:
        work.append(("meeting_first", share(result.meeting_first_token)))
    if targets.time_per_output_token_ms is not None:
        work.append(("meeting_each", share(result.meeting_per_token)))
    work.append(("running", two(three_digits(result.mean_running), show_count(result.most_running))))
    work.append(("waiting", two(three_digits(result.mean_waiting), show_count(result.most_waiting))))
    took: list[tuple[str, str]] = [
        ("cache", two(share(result.cache_mean), share(min(1.0, result.cache_most)))),
        ("full", str(show_time(result.cache_full_seconds)) if result.cache_full_seconds else "–"),
        ("preemptions", show_count(result.preemptions)),
        ("hits", share(result.cached_share)),
        ("busy", share(result.busy)),
        ("reading", share(result.reading_share)),
        ("energy", str(Shown(three_digits(cost.joules_per_token.expected), "J"))),
    ]
    if result.swaps:
        took.insert(3, ("swaps", show_count(result.swaps)))
    if result.refused:
        work.append(("refused", show_count(result.refused)))
    return tuple([(words(f"simulating.facts.{k}"), v) for k, v in part] for part in (work, took))  # type: ignore[return-value]


# -- load ----------------------------------------------------------------------------------------


def load_headline(study: Study, words: Words) -> str:
    """The largest load, or that there is none."""
    found = study.found
    if not found.most.expected:
        return words("simulating.curve.headline_none")
    return words("simulating.curve.headline_most", value=load_text(study, found.most.expected, words))


def load_detail(study: Study, shot: Shot | None, words: Words) -> str:
    """Range, what ends it, the knee, and what no load lets in."""
    found, parts = study.found, []
    if found.most.high > found.most.low > 0:
        values = {"low": _number(study, found.most.low), "high": _number(study, found.most.high)}
        key = "range_users" if found.by == "users" else "range_rate"
        parts.append(words(f"simulating.curve.{key}", **values))
    ends = "limit" if found.most.expected or found.limit == "trace" else "none"
    parts.append(words(f"simulating.curve.{ends}.{found.limit}"))
    if study.knee >= 0:
        at = load_text(study, study.trials[study.knee].load, words)
        parts.append(words("simulating.curve.knee_at", value=at))
    if shot is not None and shot.result.refused:
        parts.append(words.phrase(counted("simulate.detail.refused", shot.result.refused)))
    return words.sentences(parts)


def load_runs(study: Study, shot: Shot | None, words: Words) -> str:
    """How long the runs of the curve are, and why a shorter run by itself can tell other percentiles."""
    if study.scenario.simulation.arrivals == "trace" and shot is not None:
        return words("simulating.curve.runs_trace", n=show_count(min(shot.result.asked, MOST)))
    requests = trial_requests(study.found.percentile)
    if shot is not None and shot.finished and shot.result.done < requests:
        own = show_count(shot.result.done)
        return words("simulating.curve.runs_longer", n=show_count(requests), own=own)
    return words("simulating.curve.runs", n=show_count(requests))


def load_text(study: Study, load: float, words: Words) -> str:
    """A load with its unit."""
    key = numbered("as_users", load) if study.found.by == "users" else "as_rate"
    return words(f"simulating.curve.{key}", n=_number(study, load))


def _number(study: Study, load: float) -> str:
    return show_count(load) if study.found.by == "users" else three_digits(load)
