"""Energy and money of an estimate; the formulas are those of ``core.serving.cost``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

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
from core.words import Phrase

Basis = Literal["bought", "rented", "mixed"]

__all__ = [
    "COMPUTE_SHARE",
    "FALLBACK_TDP_W",
    "HOURS_A_YEAR",
    "IDLE_SHARE",
    "MEMORY_SHARE",
    "Basis",
    "Cost",
    "Prices",
    "basis_of",
    "compute_share",
    "cost_of",
    "on_one_basis",
    "power_watts",
    "running_cost",
    "told_of",
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


def basis_of(point: Estimate) -> Literal["bought", "rented"]:
    """What the cost of an hour begins with, where a price is known: a cloud's rent goes first."""
    return "bought" if point.scenario.accelerator.cloud_usd_per_hour is None else "rented"


def on_one_basis(points: Sequence[Estimate]) -> tuple[tuple[Estimate, ...], Basis]:
    """Points whose costs of an hour are of one kind: all bought, else all rented, else as each comes."""
    devices = [point.scenario.accelerator for point in points]
    priced = [d for d in devices if d.price_usd is not None or d.cloud_usd_per_hour is not None]
    if all(device.price_usd is not None for device in priced):
        return tuple(_bought(point) for point in points), "bought"
    rented = all(device.cloud_usd_per_hour is not None for device in priced)
    return tuple(points), "rented" if rented else "mixed"


def told_of(basis: Basis) -> Phrase:
    """What costs on a basis rest on."""
    asked = Prices()
    values = {"years": f"{asked.lifetime_years:g}", "tariff": f"${asked.electricity_usd_per_kwh:g}"}
    return Phrase(f"compare.costs.{basis}_told", values)


def _bought(point: Estimate) -> Estimate:
    """The same where no cloud offers the device."""
    if point.scenario.accelerator.cloud_usd_per_hour is None:
        return point
    device = point.scenario.accelerator.model_copy(update={"cloud_usd_per_hour": None})
    return replace(point, scenario=point.scenario.model_copy(update={"accelerator": device}))
