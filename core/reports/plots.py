"""The pictures of a report, drawn from the same curves as the window's plots."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.explain.ledger_names import budget_key, line_name, of_device
from core.memory.capacity import at_least
from core.planning.curves import LengthLine, WorkloadCurves
from core.planning.sweep import workload_curves
from core.quantities import EXPECTED, HIGH, LOW, FloatArray
from core.reports.svg import BOUNDS, INK3, Chart, Curve, bars, draw, stacked
from core.results import Estimate
from core.serving.load import LoadCurve
from core.units import memory_size, memory_unit, show_count, show_limit, show_time, show_tokens
from core.words import Words

_MOST_POINTS = 80
_ROOM = 1.6  # of the users: the budget has its name at the right
IndexArray = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture with the numbers it draws: ``columns`` of equal length, named with their units."""

    key: str
    title: str
    svg: str
    columns: tuple[tuple[str, tuple[float, ...]], ...] = ()


def pictures_of(point: Estimate, words: Words) -> tuple[Picture, ...]:
    """Ledger, memory, latencies and frontier over users, and one decode step."""
    curves = workload_curves(point.scenario, point)
    found = [_ledger(point, words), _memory(point, curves, words)]
    if point.speed is not None and curves.load is not None:
        found += [*_latencies(point, curves, words), _frontier(point, curves, words), _step(point, words)]
    return tuple(found)


def _ledger(point: Estimate, words: Words) -> Picture:
    lines = [line for line in point.ledger.lines if line.bytes > 0]
    rows = [
        (
            line.key,
            words.phrase(line_name(line.key, point.scenario.accelerator)),
            line.bytes / memory_size(),
            f"{line.bytes / memory_size():,.2f} {memory_unit()}",
        )
        for line in lines
    ]
    budget = point.ledger.budget_bytes / memory_size()
    title = words(of_device(point.scenario.accelerator, "ledger.title"))
    mark = (budget, words(_mark(point), value=f"{budget:,.2f} {memory_unit()}"))
    return Picture("ledger", title, stacked(rows, mark, title))


def _mark(point: Estimate) -> str:
    return f"ledger.{budget_key(point)}_mark"


def _thinned(values: FloatArray, keep: IndexArray) -> tuple[float, ...]:
    return tuple(float(v) for v in values[keep])


def _indices(count: int) -> IndexArray:
    if count <= _MOST_POINTS:
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, _MOST_POINTS)).astype(int))


def thinned(users: FloatArray, values: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A curve with no more points than a picture needs."""
    keep = _indices(len(users))
    return _thinned(users, keep), _thinned(values, keep)


def whole_users(users: tuple[float, ...], *values: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Users and values at whole numbers of users: between them a curve is bent, and nobody is there."""
    kept = [i for i, count in enumerate(users) if count == int(count)]
    return tuple(tuple(column[i] for i in kept) for column in (users, *values))


def _memory(point: Estimate, curves: WorkloadCurves, words: Words) -> Picture:
    title = words("reports.plots.memory")
    keep = _indices(len(curves.memory_users))
    users = _thinned(curves.memory_users, keep)
    lines = [curves.memory, *curves.other_lengths]
    drawn = [_length_curve(one, curves, point.ledger.fits) for one in lines]
    needed = point.ledger.needed_bytes / memory_size()
    # Of what does not start the account counts the users that need room for it to start.
    users_shown = curves.users if point.ledger.fits else float(at_least(point.scenario))
    budget = curves.budget_bytes / memory_size()
    chart = Chart(
        title,
        words("reports.axes.users"),
        words("reports.axes.gib", unit=memory_unit()),
        drawn,
        ((budget, words(_mark(point), value=f"{budget:,.2f} {memory_unit()}")),),
        (users_shown, needed, show_count(users_shown)),
        most_y=1.5 * max(budget, point.ledger.device_bytes / memory_size()),
        beyond=_held(point, curves, needed),
        least_x=_ROOM * users_shown,
    )
    names = [words("reports.axes.users"), *(f"{memory_unit()}, {one.name}" for one in drawn)]
    values = (_thinned(one.bytes / memory_size(), keep) for one in lines)
    columns = tuple(zip(names, whole_users(users, *values), strict=True))
    return Picture("memory_over_users", title, draw(chart), columns)


def _length_curve(line: LengthLine, curves: WorkloadCurves, fits: bool) -> Curve:
    """Memory at one length, until the budget is full: the rest wait."""
    users, values = curves.memory_users, line.bytes / memory_size()
    stop = min(line.full_at, float(users[-1])) if fits else float(users[-1])
    inside = users < stop
    shown = thinned(np.append(users[inside], stop), np.append(values[inside], np.interp(stop, users, values)))
    return Curve(show_tokens(line.tokens), *shown)


def _held(point: Estimate, curves: WorkloadCurves, needed: float) -> Curve | None:
    """Memory stays where it is while the rest of the users wait."""
    if not point.ledger.fits or not point.capacity.at_once < curves.users < math.inf:
        return None
    return Curve("", (float(point.capacity.at_once), curves.users), (needed, needed))


def _latencies(point: Estimate, curves: WorkloadCurves, words: Words) -> list[Picture]:
    load, speed, targets = curves.load, point.speed, point.scenario.targets
    assert load is not None and speed is not None
    keep = _indices(len(load.users))
    users = _thinned(load.users, keep)
    each = targets.time_per_output_token_ms
    kinds = (
        ("time_to_first_token", load.time_to_first_token, 1.0, "s", targets.time_to_first_token_s),
        ("time_per_output_token", load.time_per_output_token, 1e3, "ms", each),
    )
    found = []
    for key, values, scale, unit, target in kinds:
        low, middle, high = (_thinned(scale * values[q], keep) for q in (LOW, EXPECTED, HIGH))
        title = words(f"reports.plots.{key}")
        here = getattr(speed, key).expected * scale
        most = max(3 * here, 2 * (target or 0.0)) if np.isfinite(here) else None
        limits = () if target is None else ((target, f"≤ {show_limit(target / scale)}"),)
        chart = Chart(
            title,
            words("reports.axes.users"),
            unit,
            [Curve(title, users, middle, low, high)],
            limits,
            (curves.users, here, str(show_time(here / scale))),
            "log",
            most,
        )
        names = (words("reports.axes.users"), *(f"{unit}, {words(f'reports.axes.{q}')}" for q in _BANDS))
        columns = tuple(zip(names, whole_users(users, low, middle, high), strict=True))
        found.append(Picture(f"{key}_over_users", title, draw(chart), columns))
    return found


_BANDS = ("low", "expected", "high")


def _frontier(point: Estimate, curves: WorkloadCurves, words: Words) -> Picture:
    load, speed = curves.load, point.speed
    assert load is not None and speed is not None
    chosen = np.array(curves.frontier, dtype=int)
    each = tuple(float(v) for v in 1e3 * load.time_per_output_token[EXPECTED][chosen])
    rate = tuple(float(v) for v in load.output_tokens_per_second[EXPECTED][chosen])
    title = words("reports.plots.frontier")
    target = point.scenario.targets.time_per_output_token_ms
    here = (1e3 * speed.time_per_output_token.expected, speed.output_throughput.expected)
    chart = Chart(
        title,
        words("reports.axes.per_token"),
        words("reports.axes.throughput"),
        [Curve(title, each, rate, marks=True)],
        here=(*here, show_count(curves.users)),
        x_limits=() if target is None else ((target, f"≤ {show_limit(target / 1e3)}"),),
        beyond=_overloaded(point, curves, load, here),
    )
    users = tuple(float(v) for v in load.users[chosen])
    names = (words("reports.axes.users"), words("reports.axes.per_token"), words("reports.axes.throughput"))
    return Picture(
        "throughput_latency", title, draw(chart), tuple(zip(names, (users, each, rate), strict=True))
    )


def _overloaded(
    point: Estimate, curves: WorkloadCurves, load: LoadCurve, here: tuple[float, float]
) -> Curve | None:
    """From the last users that fit on to the operating point of more."""
    by_users = point.scenario.workload.load == "users"
    if not by_users or not curves.frontier or not max(curves.full_at, 1.0) < curves.users < math.inf:
        return None
    last = float(load.users[curves.frontier[-1]])
    between = np.flatnonzero((load.users >= last) & (load.users < curves.users))
    each, rate = load.time_per_output_token[EXPECTED], load.output_tokens_per_second[EXPECTED]
    return Curve("", *thinned(np.append(1e3 * each[between], here[0]), np.append(rate[between], here[1])))


def _step(point: Estimate, words: Words) -> Picture:
    assert point.speed is not None
    title = words("derivation.titles.step_decode")
    rows = [
        (
            words(f"operators.{o.key}"),
            o.seconds,
            f"{show_time(o.seconds)} · {words(f'bounds.{o.bound}')}",
            BOUNDS.get(o.bound, INK3),
        )
        for o in point.speed.decode.operators
    ]
    return Picture("decode_step", title, bars(rows, title))
