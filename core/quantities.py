"""Values with a range, and the nomenclature of every quantity the program shows."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Axis 0 of every speed array: the optimistic, expected and pessimistic efficiency quantile.
LOW, EXPECTED, HIGH = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Range:
    """A value with the band that holds it in 80 % of measured cases; low <= expected <= high."""

    low: float
    expected: float
    high: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """Name of a quantity: key of its words, symbol in formulas, SI unit, unit on screen."""

    key: str
    symbol: str
    si_unit: str
    shown_unit: str
    better: Literal["lower", "higher", ""] = ""


QUANTITIES: dict[str, Quantity] = {
    q.key: q
    for q in (
        Quantity("time_to_first_token", "TTFT", "s", "s", "lower"),
        Quantity("time_per_output_token", "TPOT", "s", "ms", "lower"),
        Quantity("output_throughput", "X", "1/s", "tok/s", "higher"),
        Quantity("request_throughput", "R", "1/s", "req/s", "higher"),
        Quantity("memory_per_device", "M", "B", "GiB", "lower"),
        Quantity("concurrent_users", "C", "1", "users", "higher"),
        Quantity("kv_tokens", "T", "1", "tokens", "higher"),
        Quantity("kv_bytes_per_token", "k", "B", "B", "lower"),
    )
}


def distinct(values: FloatArray) -> FloatArray:
    """The values in order, each once.  As np.unique, which would load all of numpy.ma at the start."""
    ordered: FloatArray = np.sort(values)
    found: FloatArray = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def as_array(value: Any) -> FloatArray:
    """Any number or sequence as a float array."""
    return np.asarray(value, dtype=np.float64)
