"""Any two inputs against any result: values, whether the service starts, whether targets are met.

Rows are worked out one after the other, coarse ones first, each with all its columns in one call where
the column is a load or a length; everything that does not depend on the column is prepared once a row.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from core.errors import InvalidScenario
from core.estimator import estimate
from core.memory.build import plan_memory
from core.memory.capacity import queues, refuses_long
from core.planning.explore_axes import Axis, coarse_first
from core.planning.hardware_moves import price_of
from core.quantities import EXPECTED, FloatArray
from core.results import Estimate
from core.serving.lifecycle import Lengths
from core.serving.load import LoadCurve
from core.serving.steady_state import Service, closed_loop, open_loop, prepare
from core.spec.change import with_value
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.spec.workload import Targets

ResultKey = Literal[
    "time_to_first_token",  # s
    "time_per_output_token",  # s
    "user_tokens_per_second",  # 1/s, of one user
    "output_throughput",  # tok/s
    "request_throughput",  # 1/s
    "memory_per_device",  # bytes
    "concurrent_users",  # at most
    "kv_tokens",
    "price",  # US dollars of all devices
    "throughput_per_price",  # tok/s for a thousand dollars
]
RESULTS: tuple[ResultKey, ...] = (
    "time_to_first_token",
    "time_per_output_token",
    "user_tokens_per_second",
    "output_throughput",
    "request_throughput",
    "memory_per_device",
    "concurrent_users",
    "kv_tokens",
    "price",
    "throughput_per_price",
)
BoolArray = NDArray[np.bool_]
_LENGTHS = ("workload.prompt_tokens", "workload.output_tokens", "workload.shared_prefix_tokens")
# Their memory depends on the prompt itself.
_BY_PROMPT = ("transformers", "mlx")
FINE, ROUGH = 200, 32  # points of an axis: where a row is one call, and where every cell is an estimate


@dataclass(frozen=True, slots=True)
class Row:
    """One finished row of the grid; arrays (columns,)."""

    index: int
    values: FloatArray  # SI units; nan: the service does not start, inf: endless
    starts: BoolArray
    meets: BoolArray  # every target, and the load is carried without a queue for room


@dataclass(frozen=True, slots=True)
class Grid:
    """The whole picture; arrays (rows, columns)."""

    x: Axis
    y: Axis
    result: ResultKey
    values: FloatArray
    starts: BoolArray
    meets: BoolArray


def is_fast(scenario: Scenario, x: Axis, y: Axis) -> bool:
    """Whether a row is one call, so that 200 × 200 take less than a second."""
    ways = ((x.path, y.path), (y.path, x.path))
    return any(column in _columns_of(scenario, row) for column, row in ways)


def _columns_of(scenario: Scenario, row: str) -> tuple[str, ...]:
    """Paths that a whole row can run over."""
    work = scenario.workload
    load = "workload.users" if work.load == "users" else "workload.request_rate"
    if row == "workload.load":
        return ()
    lengths = () if scenario.engine.name in _BY_PROMPT or work.load == "requests" else _LENGTHS
    return (load, *lengths) if row != "engine.name" else (load,)


def explore_rows(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Iterator[Row]:
    """The rows of the grid as they are done, coarse first; a row holds the cells of one value of ``y``.

    Where only columns are quick (``turned``) ``explore_grid`` lets the axes change places.
    """
    for index in coarse_first(len(y.values)):
        yield _row(scenario, x, y, index, result)


def turned(scenario: Scenario, x: Axis, y: Axis) -> bool:
    """Whether the axes should change places so that rows are quick."""
    return x.path not in _columns_of(scenario, y.path) and y.path in _columns_of(scenario, x.path)


def explore_grid(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Iterator[tuple[float, Grid]]:
    """The grid as it fills: the finished share and always the same arrays, cells to come are nan.

    Coarse rows (or columns, where those are quick) come first, so every picture is of the whole range.
    Stop by not asking for the next one.
    """
    swap = turned(scenario, x, y)
    across, down = (y, x) if swap else (x, y)
    shape = (len(down.values), len(across.values))
    values = np.full(shape, np.nan)
    starts, meets = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    seen = (values.T, starts.T, meets.T) if swap else (values, starts, meets)
    grid = Grid(x, y, result, *seen)
    for count, row in enumerate(explore_rows(scenario, across, down, result), 1):
        values[row.index], starts[row.index], meets[row.index] = row.values, row.starts, row.meets
        yield count / shape[0], grid


def explore(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Grid:
    """The whole grid at once."""
    steps = list(explore_grid(scenario, x, y, result))
    return steps[-1][1]


def _row(scenario: Scenario, x: Axis, y: Axis, index: int, result: ResultKey) -> Row:
    columns = len(x.values)
    try:
        own = y.apply(scenario, index)
    except InvalidScenario:
        return _nothing(index, columns)
    if x.path in _columns_of(own, y.path) and x.path != y.path:
        return _in_one_call(own, x, index, result)
    cells = [_cell(own, x, column, result) for column in range(columns)]
    values, starts, meets = zip(*cells, strict=True)
    return Row(index, np.array(values, dtype=np.float64), np.array(starts), np.array(meets))


def _nothing(index: int, columns: int) -> Row:
    none = np.zeros(columns, dtype=bool)
    return Row(index, np.full(columns, np.nan), none, none.copy())


def _cell(scenario: Scenario, x: Axis, column: int, result: ResultKey) -> tuple[float, bool, bool]:
    """One cell by a whole estimate."""
    try:
        changed = x.apply(scenario, column)
    except InvalidScenario:
        return np.nan, False, False
    if any(p.severity == "error" for p in check(changed)):
        return np.nan, False, False
    point = estimate(changed)
    return result_of(point, result), point.speed is not None, point.verdict.state == "good"


def result_of(point: Estimate, result: ResultKey) -> float:
    """A result of an estimate in SI units; nan where it does not exist."""
    speed = point.speed
    if result == "memory_per_device":
        return float(point.ledger.needed_bytes)
    if speed is None:
        return np.nan
    price = price_of(point.scenario)
    match result:
        case "time_to_first_token":
            return speed.time_to_first_token.expected
        case "time_per_output_token":
            return speed.time_per_output_token.expected
        case "user_tokens_per_second":
            return 1 / speed.time_per_output_token.expected
        case "output_throughput":
            return speed.output_throughput.expected
        case "request_throughput":
            return speed.request_throughput.expected
        case "concurrent_users":
            return float(point.capacity.at_once)
        case "kv_tokens":
            return float(point.capacity.kv_tokens)
        case "price":
            return np.nan if price is None else price
        case "throughput_per_price":
            return np.nan if not price else 1e3 * speed.output_throughput.expected / price


def _in_one_call(scenario: Scenario, x: Axis, index: int, result: ResultKey) -> Row:
    """All columns of a row; the first column stands for what does not depend on the column."""
    columns = len(x.values)
    numbers = np.array([float(cast(float, v)) for v in x.values])
    # A column that is refused must not refuse the row: the shortest length is the least to ask.
    base = with_value(scenario, x.path, x.values[0])
    if any(p.severity == "error" for p in check(base)):
        return _nothing(index, columns)
    work = base.workload
    one = np.ones(columns)
    prompt = numbers if x.path == _LENGTHS[0] else work.prompt_tokens * one
    output = numbers if x.path == _LENGTHS[1] else work.output_tokens * one
    prefix = numbers if x.path == _LENGTHS[2] else work.shared_prefix_tokens * one
    users = numbers if x.path == "workload.users" else work.users * one
    allowed = prefix < prompt
    if scenario.engine.name != "textbook":
        allowed &= prompt + output <= scenario.engine.longest_request
    memory = _memory(base, prompt, output, np.minimum(prefix, prompt - 1.0))
    service = prepare(base)
    if x.path in _LENGTHS:
        service = _with_lengths(service, prompt, output, prefix)
    kv_tokens: FloatArray | float = memory.kv_tokens if x.path in _LENGTHS else float(memory.kv_tokens[0])
    if work.load == "requests":
        curve = open_loop(service, numbers, float(memory.kv_tokens[0]))
    else:
        curve = closed_loop(service, users, cast(float, kv_tokens))
    waits = queues(base)
    if work.load == "users":
        less = np.minimum(users, memory.at_once) if waits else users
        needed = memory.needed(np.where(memory.at_once >= 1, less, users))
    else:
        held = np.where(memory.one_fits, np.minimum(curve.users, memory.at_once), 1.0)
        needed = memory.needed(np.maximum(held, 1.0))
    starts = allowed & (memory.one_fits if waits else needed <= memory.budget)
    values = _results(base, curve, memory, needed, result)
    if result != "memory_per_device":
        values = np.where(starts, values, np.nan)
    else:
        values = np.where(allowed, values, np.nan)
    meets = starts & _meets(base.targets, curve, memory)
    return Row(index, values, starts, meets)


@dataclass(frozen=True, slots=True)
class _Memory:
    """Ceilings over the columns, arrays (n,)."""

    kv_tokens: FloatArray
    at_once: FloatArray  # users that memory and scheduler allow
    one_fits: BoolArray
    budget: int
    needed: Callable[[FloatArray], FloatArray]


def _memory(scenario: Scenario, prompt: FloatArray, output: FloatArray, prefix: FloatArray) -> _Memory:
    """As ``core.memory.capacity``, over arrays of lengths."""
    plan = plan_memory(scenario)
    tokens, pool = prompt + output, float(plan.pool)
    caches = float(plan.replicas * plan.copies)
    each = np.asarray(plan.demand.request_bytes(tokens, prefix), dtype=np.float64) * np.ones_like(tokens)
    whole = np.asarray(plan.demand.request_bytes(tokens), dtype=np.float64) * np.ones_like(tokens)
    common = np.asarray(plan.demand.shared_bytes(tokens, prefix), dtype=np.float64) * np.ones_like(tokens)
    room = np.maximum(0.0, np.floor((pool - common) / np.maximum(each, 1.0)))
    held = np.where(each > 0, room, float(plan.free_users))
    per_token = plan.demand.bytes_per_token()
    if plan.token_pool is not None:
        own = each - plan.demand.state_bytes
        held = np.where(own > 0, np.minimum(held, np.floor(plan.token_pool / np.maximum(own, 1.0))), held)
    if plan.slots is not None:
        held = np.minimum(held, float(plan.slots))
    if plan.token_pool is not None and per_token:
        kv_tokens = np.full_like(tokens, float(plan.token_pool // per_token))
    elif plan.demand.is_plain:
        kv_tokens = np.full_like(tokens, float(plan.demand.tokens_in(plan.pool, 1)))
    else:
        kv_tokens = np.where(whole > 0, np.floor(pool * tokens / np.maximum(whole, 1.0)), 0.0)
    kv_tokens = np.where(whole > 0, kv_tokens, plan.free_tokens(tokens))
    reserved = plan.demand.reserved_bytes(scenario.engine.longest_request, plan.batched_tokens)
    # A prefix differs from column to column, which ``needed_over`` takes as one number: the same rule here.
    fixed, least = float(sum(plan.fixed.values())), float(plan.least_cache)
    ceiling = math.inf if plan.most_cache is None else float(plan.most_cache)

    def needed(users: FloatArray) -> FloatArray:
        below = np.floor(users)
        low, high = np.ceil(below / caches), np.ceil(np.ceil(users) / caches)
        requests = low + (users - below) * (high - low)
        cache = requests * each + np.minimum(users, 1.0) * common
        return np.asarray(np.clip(cache, least, ceiling) + fixed)

    one_fits = needed(np.ones_like(tokens)) <= plan.budget
    if refuses_long(scenario):
        one_fits &= reserved <= plan.pool
    most = caches * held
    running = plan.most_running()
    at_once = most if running is None else np.minimum(most, float(running))
    return _Memory(caches * kv_tokens, at_once, one_fits, plan.budget, needed)


def _with_lengths(service: Service, prompt: FloatArray, output: FloatArray, prefix: FloatArray) -> Service:
    """The service with a length for each column (``Lengths`` may hold arrays)."""
    shared = np.minimum(prefix, prompt - 1.0)
    lengths = Lengths(
        cast(float, prompt - shared),
        cast(float, shared),
        cast(float, output),
        service.lengths.token_budget,
        service.lengths.spread,
    )
    return replace(service, lengths=lengths)


def _results(
    scenario: Scenario, curve: LoadCurve, memory: _Memory, needed: FloatArray, result: ResultKey
) -> FloatArray:
    price = price_of(scenario) or np.nan
    match result:
        case "time_to_first_token":
            return np.asarray(curve.time_to_first_token[EXPECTED])
        case "time_per_output_token":
            return np.asarray(curve.time_per_output_token[EXPECTED])
        case "user_tokens_per_second":
            return np.asarray(1 / curve.time_per_output_token[EXPECTED])
        case "output_throughput":
            return np.asarray(curve.output_tokens_per_second[EXPECTED])
        case "request_throughput":
            return np.asarray(curve.requests_per_second[EXPECTED])
        case "memory_per_device":
            return needed
        case "concurrent_users":
            return memory.at_once
        case "kv_tokens":
            return memory.kv_tokens
        case "price":
            return np.full_like(needed, price)
        case "throughput_per_price":
            return np.asarray(1e3 * curve.output_tokens_per_second[EXPECTED] / price)


def _meets(targets: Targets, curve: LoadCurve, memory: _Memory) -> BoolArray:
    """What ``core.explain.verdict.judge`` calls good."""
    good = (curve.stable > 0) & (curve.users <= memory.at_once)
    if targets.time_to_first_token_s is not None:
        good &= curve.time_to_first_token[EXPECTED] <= targets.time_to_first_token_s
    if targets.time_per_output_token_ms is not None:
        good &= curve.time_per_output_token[EXPECTED] * 1e3 <= targets.time_per_output_token_ms
    if targets.users is not None:
        good &= memory.at_once >= targets.users
    return good


def family(grid: Grid, most: int = 7) -> Sequence[int]:
    """Rows that stand for the grid as a family of curves: its ends and even steps between."""
    count = len(grid.y.values)
    return tuple(sorted({round(i) for i in np.linspace(0, count - 1, min(most, count))}))


__all__ = [
    "RESULTS",
    "Axis",
    "Grid",
    "ResultKey",
    "Row",
    "explore",
    "explore_grid",
    "explore_rows",
    "family",
    "is_fast",
    "result_of",
    "turned",
]
