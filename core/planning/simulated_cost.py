"""Energy and money of a simulated service: the devices idle between requests.

W = devices TDP PUE (idle + busy (load - idle)),  load from the share of the busy time with prompts
"""

from core.planning.cost import (
    COMPUTE_SHARE,
    FALLBACK_TDP_W,
    IDLE_SHARE,
    MEMORY_SHARE,
    Cost,
    Prices,
    usd_per_hour,
)
from core.quantities import Range
from core.serving.results import SimulationResult


def simulated_cost(result: SimulationResult, prices: Prices | None = None) -> Cost:
    """Mean power and cost of the run; per token of what was put out after the warm-up."""
    asked = prices or Prices()
    device, count = result.scenario.accelerator, result.scenario.deployment.accelerators
    reading = min(max(result.reading_share, 0.0), 1.0)
    load = reading * COMPUTE_SHARE + (1.0 - reading) * MEMORY_SHARE
    share = IDLE_SHARE + min(1.0, result.busy) * (load - IDLE_SHARE)
    watts = count * (device.tdp_w or FALLBACK_TDP_W) * share * asked.facility_factor
    hourly = usd_per_hour(device, count, watts, asked)
    rate = max(result.output_tokens_per_second, 1e-9)
    million = None if hourly is None else hourly / 3600.0 * 1e6 / rate
    each = watts / rate
    return Cost(
        watts,
        Range(each, each, each),
        hourly,
        None if million is None else Range(million, million, million),
    )
