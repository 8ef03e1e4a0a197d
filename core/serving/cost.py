"""Energy and money of a service, from its speed, the devices' power and editable prices.

    W = devices (idle + (1 - idle) busy) TDP PUE      J/token = W / (tokens/s)
    $/h = devices rent, or devices price / lifetime + W tariff      $/10^6 tokens = 10^6 $/h / (3600 tokens/s)

A device that works draws less than its TDP: idle power and how far the phases load it (compute-bound
steps more than memory-bound ones) are stated as shares, for the user to replace.
"""

from dataclasses import dataclass

from core.quantities import Range
from core.serving.load import Phase
from core.spec.accelerator import Accelerator
from core.spec.deployment import Deployment

HOURS_A_YEAR = 8766.0
IDLE_SHARE = 0.15  # of the TDP, that a device with a model loaded draws without work
COMPUTE_SHARE = 0.95  # of the TDP while matrices limit the step
MEMORY_SHARE = 0.65  # of the TDP while memory, links or launches limit it
FALLBACK_TDP_W = 300.0  # where a data sheet states none


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost; ``rent`` of one device, None: the device's own cloud price, else bought."""

    rent_usd_per_hour: float | None = None
    purchase_usd: float | None = None  # of one device; None: the data sheet's
    lifetime_years: float = 3.0
    electricity_usd_per_kwh: float = 0.15
    facility_factor: float = 1.3  # power of the whole site over that of the devices (PUE)


@dataclass(frozen=True, slots=True)
class Cost:
    """Energy and money of a running service."""

    watts: float  # devices and site
    joules_per_token: Range
    usd_per_hour: float | None  # None: no price is known
    usd_per_million_tokens: Range | None


def compute_share(deployment: Deployment, prefill: Phase, decode: Phase, prefill_share: float) -> float:
    """Share of the devices' time that matrices limit; ``prefill_share`` of a decoding request's time."""
    readers, all_copies = deployment.readers, deployment.readers + deployment.replicas
    reading = readers / all_copies if readers else prefill_share
    return reading * prefill.shares["compute"] + (1.0 - reading) * decode.shares["compute"]


def drawn_share(compute: float) -> float:
    """Share of its TDP that a busy device draws; ``compute`` is the share of time that matrices limit."""
    share = min(max(compute, 0.0), 1.0)
    return max(share * COMPUTE_SHARE + (1.0 - share) * MEMORY_SHARE, IDLE_SHARE)


def power_watts(device: Accelerator, devices: int, compute: float, facility_factor: float = 1.0) -> float:
    """Mean power of busy devices, W; ``compute`` is the share of time that matrices limit."""
    tdp = device.tdp_w or FALLBACK_TDP_W
    return devices * tdp * drawn_share(compute) * facility_factor


def usd_per_hour(device: Accelerator, devices: int, watts: float, prices: Prices) -> float | None:
    """Rent where there is one, else purchase over its lifetime and electricity; None without a price."""
    rent = prices.rent_usd_per_hour
    if rent is None and prices.purchase_usd is None:
        rent = device.cloud_usd_per_hour
    if rent is not None:
        return devices * rent
    bought = prices.purchase_usd if prices.purchase_usd is not None else device.price_usd
    if bought is None:
        return None
    hourly = bought / (max(prices.lifetime_years, 1e-6) * HOURS_A_YEAR)
    return devices * hourly + watts / 1000.0 * prices.electricity_usd_per_kwh


def cost_of(
    device: Accelerator,
    devices: int,
    tokens_per_second: Range,
    compute: float,
    prices: Prices | None = None,
) -> Cost:
    """Cost of a service that puts out ``tokens_per_second``, all devices together."""
    asked = prices or Prices()
    watts = power_watts(device, devices, compute, asked.facility_factor)
    hourly = usd_per_hour(device, devices, watts, asked)
    million = None if hourly is None else _over(tokens_per_second, hourly / 3600.0 * 1e6)
    return Cost(watts, _over(tokens_per_second, watts), hourly, million)


def _over(rate: Range, amount: float) -> Range:
    """``amount`` a second over a rate: the fastest is the cheapest."""
    return Range(amount / rate.high, amount / rate.expected, amount / rate.low)
