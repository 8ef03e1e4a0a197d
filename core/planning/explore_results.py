"""The results of an exploration: of one estimate, and of many cells at once."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.planning.explore_memory import BoolArray, Memory
from core.planning.hardware_moves import price_of
from core.quantities import EXPECTED, FloatArray
from core.results import Estimate
from core.serving.load import LoadCurve
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


@dataclass(frozen=True, slots=True)
class Row:
    """One finished row of the grid; arrays (columns,)."""

    index: int
    values: FloatArray  # SI units; nan: the service does not start, inf: endless
    starts: BoolArray
    meets: BoolArray  # every target, and the load is carried without a queue for room


def no_row(index: int, columns: int) -> Row:
    """A row in which nothing starts."""
    none = np.zeros(columns, dtype=bool)
    return Row(index, np.full(columns, np.nan), none, none.copy())


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


def results_of(
    scenario: Scenario,
    curve: LoadCurve,
    memory: Memory,
    needed: FloatArray,
    result: ResultKey,
    devices: FloatArray | int,
) -> FloatArray:
    """The same of many cells, (n,); ``needed`` bytes of one of the ``devices``."""
    price = (price_of(scenario) or np.nan) * (devices / scenario.deployment.accelerators)
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


def meets_targets(targets: Targets, curve: LoadCurve, memory: Memory) -> BoolArray:
    """What ``core.explain.verdict.judge`` calls good where the engine runs."""
    good = (curve.stable > 0) & (curve.users <= memory.at_once)
    if targets.time_to_first_token_s is not None:
        good &= curve.time_to_first_token[EXPECTED] <= targets.time_to_first_token_s
    if targets.time_per_output_token_ms is not None:
        good &= curve.time_per_output_token[EXPECTED] * 1e3 <= targets.time_per_output_token_ms
    if targets.users is not None:
        good &= memory.at_once >= targets.users
    return good
