"""Energy and money of an estimate; the formulas are those of ``core.serving.cost``."""

from core.results import Estimate
from core.serving.cost import (
    COMPUTE_SHARE,
    FALLBACK_TDP_W,
    HOURS_A_YEAR,
    IDLE_SHARE,
    MEMORY_SHARE,
    Cost,
    Prices,
    compute_share,
    cost_of,
    power_watts,
    usd_per_hour,
)

__all__ = [
    "COMPUTE_SHARE",
    "FALLBACK_TDP_W",
    "HOURS_A_YEAR",
    "IDLE_SHARE",
    "MEMORY_SHARE",
    "Cost",
    "Prices",
    "compute_share",
    "cost_of",
    "power_watts",
    "running_cost",
    "usd_per_hour",
]


def running_cost(point: Estimate, prices: Prices | None = None) -> Cost | None:
    """Cost of the service of an estimate at its load; None where it does not start or puts nothing out."""
    scenario, speed = point.scenario, point.speed
    if speed is None or not speed.output_throughput.low > 0:
        return None
    place = scenario.deployment
    compute = compute_share(place, speed.prefill, speed.decode, speed.prefill_share)
    return cost_of(scenario.accelerator, place.accelerators, speed.output_throughput, compute, prices)
