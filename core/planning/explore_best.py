"""The point of an exploration to name: of all that are as good as the best, the one that asks for least."""

import math
from dataclasses import dataclass

import numpy as np

from core.planning.explore_axes import Axis
from core.planning.explore_memory import BoolArray
from core.quantities import FloatArray
from core.spec.accelerator import Accelerator
from core.spec.change import get_value
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario

ALIKE = 0.01  # share of the best value within which nobody would feel a difference
# More of these costs money.
_BOUGHT = ("accelerator.memory_bandwidth_gbps", "accelerator.memory_gb_nominal", "deployment.accelerators")
_LOADS = ("workload.users", "workload.request_rate")  # fewer wait less


@dataclass(frozen=True, slots=True)
class Best:
    """A cell, and how many are as good within ``ALIKE``, itself included."""

    row: int
    column: int
    alike: int


def best_of(
    scenario: Scenario, x: Axis, y: Axis, values: FloatArray, meets: BoolArray, lower: bool
) -> Best | None:
    """The best among cells that meet every target; arrays (rows, columns).

    ``lower``: less is better.  Among equals the cheapest, then the least load, then the formats with the
    most bits, then what is nearest to the scenario.  None where no cell meets every target.
    """
    good = meets & np.isfinite(values)
    if not good.any():
        return None
    found = values[good]
    best = float(found.min() if lower else found.max())
    margin = ALIKE * abs(best)
    alike = good & ((values <= best + margin) if lower else (values >= best - margin))
    rows, columns = np.nonzero(alike)
    keys = [
        own(scenario, y)[rows] + own(scenario, x)[columns] for own in (_cost, _load, _lost_bits, _distance)
    ]
    # The last key of lexsort counts most; the value itself settles what is left.
    exact = values[alike] if lower else -values[alike]
    first = int(np.lexsort((exact, *reversed(keys)))[0])
    return Best(int(rows[first]), int(columns[first]), len(rows))


def _numbers(axis: Axis) -> FloatArray:
    return np.array([float(v) for v in axis.values])  # type: ignore[arg-type]


def _cost(scenario: Scenario, axis: Axis) -> FloatArray:
    """The logarithm of what a value costs, so that the costs of two inputs multiply."""
    if axis.path == "accelerator":
        return np.array([_price(device) for device in axis.values])
    if axis.path == "deployment.tensor_parallel":
        place = scenario.deployment
        groups = (int(v) * place.pipeline_parallel for v in axis.values)  # type: ignore[call-overload]
        return np.log([-(-place.accelerators // group) * group for group in groups])
    if axis.path in _BOUGHT:
        return np.log(np.maximum(_numbers(axis), 1e-9))
    return np.zeros(len(axis.values))


def _price(device: object) -> float:
    assert isinstance(device, Accelerator)
    return math.log(device.price_usd) if device.price_usd else 1e3  # what has no price comes last


def _load(_scenario: Scenario, axis: Axis) -> FloatArray:
    return _numbers(axis) if axis.path in _LOADS else np.zeros(len(axis.values))


def _lost_bits(_scenario: Scenario, axis: Axis) -> FloatArray:
    if axis.path == "precision.weights":
        return np.array([-float(WEIGHT_FORMATS[str(key)].bits) for key in axis.values])
    if axis.path == "precision.kv_cache":
        return np.array([-float(CACHE_FORMATS[str(key)].bits) for key in axis.values])
    return np.zeros(len(axis.values))


def _distance(scenario: Scenario, axis: Axis) -> FloatArray:
    """How far a number lies from the scenario's own, as a share of the axis; 0 of names."""
    if axis.is_category:
        return np.zeros(len(axis.values))
    numbers, own = _numbers(axis), float(get_value(scenario, axis.path) or 0)
    if axis.log and own > 0:
        numbers, own = np.log(numbers), math.log(own)
    width = float(np.ptp(numbers))
    return np.abs(numbers - own) / width if width else np.zeros(len(numbers))
