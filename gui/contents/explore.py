"""What the Explore workspace says: values as text, classes of a heat map, ticks, the sentence on top."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from core.planning.explore import ResultKey
from core.planning.explore_axes import Axis, changes_for, shown_value
from core.planning.explore_best import Best, best_of
from core.quantities import FloatArray
from core.spec.change import get_value
from core.spec.scenario import Scenario
from core.units import Shown, memory_size, memory_unit, show_count, show_time, three_digits
from core.words import Words, counted, numbered, percent
from gui.work.exploration import Picture

_DEGREE = "deployment.tensor_parallel"
TIMES = ("time_to_first_token", "time_per_output_token")
LOWER_IS_BETTER = (*TIMES, "memory_per_device", "price")
_UNITS = {
    "user_tokens_per_second": "tok/s",
    "output_throughput": "tok/s",
    "request_throughput": "req/s",
    "kv_tokens": "tok",
}
# Figures within a decade, from the finest.
_PARTS = ((1, 1.5, 2, 3, 4, 5, 7), (1, 1.5, 2, 3, 5, 7), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))
_LOG_FROM = 12.0  # a spread beyond this has classes by decades


def show_result(key: ResultKey, value: float) -> Shown:
    """A result with its unit; a dash where there is none."""
    if not math.isfinite(value):
        return Shown("–", "")
    if key in TIMES:
        return show_time(value)
    if key == "memory_per_device":
        return Shown(three_digits(value / memory_size()), memory_unit())
    if key == "price":
        return Shown(f"${value:,.0f}", "")
    if key in ("concurrent_users", "kv_tokens"):
        return Shown(show_count(value), _UNITS.get(key, ""))
    return Shown(three_digits(value), _UNITS.get(key, ""))


def scale_of(key: ResultKey, most: float) -> tuple[str, float]:
    """Unit of an axis or a legend up to ``most``, and the factor from SI to it."""
    if key in TIMES:
        return ("ms", 1e3) if most < 1.0 else ("s", 1.0)
    if key == "memory_per_device":
        return memory_unit(), 1 / memory_size()
    return ("$", 1.0) if key == "price" else (_UNITS.get(key, ""), 1.0)


def breaks(values: FloatArray, most: int = 7) -> tuple[float, ...]:
    """Round limits between the classes of a heat map, at most ``most``; none where all values are alike."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return ()
    low, high = np.percentile(finite, [2.0, 98.0])
    if not high > low:
        low, high = float(finite.min()), float(finite.max())
    if not high > low:
        return ()
    if low > 0 and high / low > _LOG_FROM:
        return _decades(float(low), float(high), most)
    for step in _steps((high - low) / (most + 1)):
        first = math.floor(low / step) + 1
        found = [step * i for i in range(first, math.ceil(high / step))]
        if len(found) <= most:
            return tuple(found)
    return ()


def _steps(least: float) -> list[float]:
    power = math.floor(math.log10(least))
    return [
        m * 10.0**e
        for e in (power, power + 1, power + 2)
        for m in (1, 1.5, 2, 2.5, 3, 4, 5)
        if m * 10.0**e >= least
    ]


def _decades(low: float, high: float, most: int) -> tuple[float, ...]:
    for parts in _PARTS:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [m * 10.0**e for e in powers for m in parts if low < m * 10.0**e < high]
        if len(found) <= most:
            return tuple(found)
    return tuple(found[:: math.ceil(len(found) / most)])


def break_text(value: float, factor: float) -> str:
    """A limit as short as it is exact: 40, 2.5, 0.05."""
    text = f"{round(value * factor, 9):,.6f}".rstrip("0").rstrip(".")
    return text if len(text) <= 7 else three_digits(value * factor)


def ticks(axis: Axis) -> list[float]:
    """Round values along an axis of numbers: powers of two of what is counted, decades otherwise."""
    low, high = ends(axis)
    if axis.is_category or high <= low:
        return []
    tokens = "tokens" in axis.path or axis.path.endswith("max_model_len")
    if axis.log:
        counted = tokens or axis.path in ("workload.users", "deployment.accelerators")
        if counted:
            found = [2.0**i for i in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
            return found[:: max(1, math.ceil(len(found) / 9))]
        parts = (1, 2, 5)
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [
            m * 10.0**e for e in powers for m in parts if low * (1 - 1e-9) <= m * 10.0**e <= high * (1 + 1e-9)
        ]
        return found if len(found) <= 10 else [v for v in found if f"{v:e}"[0] == "1"]
    unit = 1024.0 if tokens and high > 2048 else 1.0
    for step in _steps((high - low) / unit / 7):
        first = math.ceil(low / unit / step - 1e-9)
        found = [unit * step * i for i in range(first, math.floor(high / unit / step + 1e-9) + 1)]
        if len(found) <= 8:
            return found
    return []


def ends(axis: Axis) -> tuple[float, float]:
    """First and last value of an axis of numbers."""
    return float(axis.values[0]), float(axis.values[-1])  # type: ignore[arg-type]


def axis_name(axis: Axis, words: Words) -> str:
    """The input's name."""
    return words.phrase(axis.name)


def at_index(axis: Axis, index: int, words: Words) -> str:
    """A value of an axis within a sentence: "16 users", "prompt 4K", "RTX 4090"."""
    shown = axis.shown(index)
    if axis.is_category:
        return shown.number
    if axis.path == "workload.users":
        return words.phrase(counted("units.users", round(float(axis.values[index]))))  # type: ignore[arg-type]
    key = numbered(f"explore.at.{axis.path}", float(axis.values[index]))  # type: ignore[arg-type]
    if not words.has(key):
        key = f"explore.at.{axis.path}"
    if words.has(key) or words(key) != key:
        return words(key, value=shown.number)
    return f"{axis_name(axis, words)} {shown}"


def nearest(axis: Axis, scenario: Scenario) -> int | None:
    """Index of the scenario's own value; None when it lies outside."""
    if axis.is_category:
        own = getattr(scenario, axis.path) if "." not in axis.path else get_value(scenario, axis.path)
        name = getattr(own, "name", own)
        found = (i for i, value in enumerate(axis.values) if getattr(value, "name", value) == name)
        return next(found, None)
    own = float(get_value(scenario, axis.path) or 0)
    low, high = ends(axis)
    if not low <= own <= high:
        return None
    return int(np.argmin([abs(float(v) - own) for v in axis.values]))  # type: ignore[arg-type]


def around(axis: Axis, scenario: Scenario) -> list[int]:
    """Indices of the values at, or on both sides of, the scenario's own; none when it lies outside."""
    index = nearest(axis, scenario)
    if index is None or axis.is_category:
        return [] if index is None else [index]
    values = np.array([float(v) for v in axis.values])  # type: ignore[arg-type]
    own = own_value(axis, scenario)
    if np.isclose(values[index], own, rtol=1e-9):
        return [index]
    above = int(np.searchsorted(values, own))
    return [above - 1, above]


def shown_within(axis: Axis, index: int, end: Callable[[float], int]) -> float:
    """A value that its text does not round beyond itself: ``end`` is ``math.floor`` or ``math.ceil``."""
    value = float(axis.values[index])  # type: ignore[arg-type]
    if "tokens" in axis.path or axis.path.endswith("max_model_len"):
        size = next((s for s in (2.0**20, 2.0**10) if value >= s), 1.0)
        part = 1.0 if size == 1.0 or value >= 100 * size else 10.0
        full = size == 2.0**10 and value >= 999.5 * size  # written in full
        return value if full else end(value / size * part) / part * size
    if value.is_integer() or value <= 0:
        return value
    shares = axis.path in ("speculative.acceptance", "engine.gpu_memory_utilization")
    grain = 0.01 if shares else 10.0 ** (math.floor(math.log10(value)) - 2)
    return round(end(value / grain + (1e-9 if end is math.floor else -1e-9)) * grain, 12)


def own_value(axis: Axis, scenario: Scenario) -> float:
    """The scenario's own number on an axis of numbers."""
    return float(get_value(scenario, axis.path) or 0)


def own_place(axis: Axis, scenario: Scenario) -> float | None:
    """Where the scenario stands on an axis, 0 to 1; None outside."""
    index = nearest(axis, scenario)
    if index is None:
        return None
    return float(places(axis)[index]) if axis.is_category else place_of(axis, own_value(axis, scenario))


def own_text(axis: Axis, scenario: Scenario, words: Words) -> str:
    """The scenario's value of an axis within a sentence."""
    index = nearest(axis, scenario)
    if axis.is_category:
        return at_index(axis, index, words) if index is not None else ""
    value = get_value(scenario, axis.path) or 0
    return at_index(Axis(axis.path, (value,)), 0, words)


def headline(picture: Picture, scenario: Scenario, words: Words) -> str:
    """Where every target is met along the first axis, at the scenario's own value of the second."""
    x, y = picture.x, picture.y
    if not picture.starts.any():
        return words("explore.says.nothing_starts")
    if not picture.meets.any():
        return words("explore.says.nothing_meets")
    rows = around(y, scenario)
    if not rows:
        return words("explore.says.elsewhere")
    at = own_text(y, scenario, words)
    at = at if y.is_category else at[:1].upper() + at[1:]  # a name keeps its own spelling
    # Between two rows only what holds in both is surely within the limit.
    good = np.flatnonzero(picture.meets[rows].all(axis=0))
    if x.is_category:
        count = len(x.values)
        return words("explore.says.some", n=good.size, count=count, name=axis_name(x, words), at=at)
    if not good.size:
        return words("explore.says.none_at", at=at)
    first, last = int(good[0]), int(good[-1])
    low, high = (
        at_index(Axis(x.path, (shown_within(x, i, end),)), 0, words)
        for i, end in ((first, math.ceil), (last, math.floor))
    )
    if first == 0 and last == len(x.values) - 1:
        return words("explore.says.all_at", at=at)
    if first == 0:
        return words("explore.says.up_to", at=at, value=high)
    if last == len(x.values) - 1:
        return words("explore.says.from", at=at, value=low)
    return words("explore.says.between", at=at, low=low, high=high)


def detail(picture: Picture, scenario: Scenario, words: Words) -> str:
    """What is shown, and the best that meets every target."""
    name = words(f"explore.results.{picture.result}")
    count, device = scenario.deployment.accelerators, scenario.accelerator.name
    paths = (picture.x.path, picture.y.path)
    same_count = {"deployment.accelerators", _DEGREE}.isdisjoint(paths)
    place = f"{count} × {device}" if count > 1 and same_count else device
    key = "explore.shows_on"
    if "accelerator" in paths:
        key = "explore.shows_count" if count > 1 and same_count else "explore.shows"
    text = words(key, result=name, model=scenario.model.name, place=place, count=count)
    if _DEGREE in paths and "deployment.accelerators" not in paths:
        axis = picture.x if picture.x.path == _DEGREE else picture.y
        text = words("explore.two", first=text, second=_counts(axis, scenario, words))
    best = best_cell(picture)
    if best is None:
        return text
    said = words(
        "explore.best" if best.alike == 1 else "explore.best_of",
        value=show_result(picture.result, float(picture.values[best.row, best.column])),
        x=_with_count(picture.x, best.column, picture.y, scenario, words),
        y=_with_count(picture.y, best.row, picture.x, scenario, words),
        n=show_count(best.alike),
    )
    return words("explore.two", first=text, second=said)


def devices_of(axis: Axis, index: int, scenario: Scenario) -> int:
    """How many GPUs a degree of tensor parallelism takes."""
    return int(str(changes_for(scenario, axis.path, axis.values[index])["deployment.accelerators"]))


def _counts(axis: Axis, scenario: Scenario, words: Words) -> str:
    """How many GPUs each degree takes."""
    told = [
        words("explore.degree", degree=axis.labels[i], n=show_count(devices_of(axis, i, scenario)))
        for i in range(len(axis.values))
    ]
    return words("explore.degrees", counts=words("units.list_mark").join(told))


def _with_count(axis: Axis, index: int, other: Axis, scenario: Scenario, words: Words) -> str:
    """A value of an axis within a sentence; a degree with the GPUs that it takes."""
    said = at_index(axis, index, words)
    if axis.path != _DEGREE or other.path == "deployment.accelerators":
        return said
    device = words("explore.devices") if other.path == "accelerator" else scenario.accelerator.name
    place = f"{show_count(devices_of(axis, index, scenario))} × {device}"
    return words("explore.at_degree", degree=said, place=place)


def best_cell(picture: Picture) -> Best | None:
    """The point to name: the best that meets every target, of several as good the one that asks for least."""
    lower = picture.result in LOWER_IS_BETTER
    return best_of(picture.scenario, picture.x, picture.y, picture.values, picture.meets, lower)


def time_taken(picture: Picture, words: Words) -> str:
    """How many points there are, and how long they took."""
    rows, columns = picture.values.shape
    return words("explore.took", x=columns, y=rows, time=show_time(picture.seconds))


def progress(picture: Picture, words: Words) -> str:
    """How far it is, and how long the rest will take at this pace."""
    left = picture.seconds * (1 / picture.share - 1)
    key = "explore.working_left" if left >= 1 else "explore.working"
    return words(key, share=percent(picture.share), time=show_time(max(1.0, left)))


def range_text(axis: Axis) -> str:
    """The ends of an axis as they are typed: "1 … 64"."""
    low, high = (shown_value(axis.path, end).number for end in ends(axis))
    return f"{low} … {high}"


def with_unit(shown: Shown, words: Words) -> str:
    """A value of an axis with its unit in the language of the window."""
    unit = words("explore.users_unit") if shown.unit == "users" else shown.unit
    return f"{shown.number} {unit}".strip()


def places(axis: Axis) -> FloatArray:
    """Where the values of an axis stand, 0 to 1."""
    count = len(axis.values)
    if axis.is_category:
        return (np.arange(count) + 0.5) / count
    values = np.array([float(v) for v in axis.values])  # type: ignore[arg-type]
    if axis.log and values[0] > 0:
        values = np.log(values)
    width = values[-1] - values[0]
    return (values - values[0]) / width if width > 0 else np.full(count, 0.5)


def place_of(axis: Axis, value: float) -> float:
    """Where any number stands on an axis of numbers, 0 to 1 within it."""
    low, high = ends(axis)
    if axis.log and low > 0 and value > 0:
        return math.log(value / low) / math.log(high / low) if high > low else 0.5
    return (value - low) / (high - low) if high > low else 0.5


def levels(values: FloatArray, limits: Sequence[float]) -> NDArray[np.int_]:
    """The class of each value: 0 below the first limit; nan stays out as the lowest."""
    return np.digitize(np.nan_to_num(values, nan=-np.inf), list(limits))
