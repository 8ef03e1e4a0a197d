"""The working of energy and cost; see ``core.serving.cost``."""

from core.explain.derivation_types import Derivation, Step, given, worked
from core.explain.expression import Num, Sym, largest
from core.results import Estimate, Speed
from core.serving.cost import (
    COMPUTE_SHARE,
    FALLBACK_TDP_W,
    HOURS_A_YEAR,
    IDLE_SHARE,
    MEMORY_SHARE,
    Prices,
    compute_share,
)
from core.words import Phrase

_SHEET = "derivation.sources.data_sheet"
_INPUT = "derivation.sources.input"
_LOAD = "derivation.sources.load"
_ASSUMED = "derivation.sources.assumed"


def derive_cost(point: Estimate, speed: Speed, key: str) -> Derivation | None:
    """The working of ``energy_per_token`` or ``cost_per_million_tokens``; None without output or price."""
    if not speed.output_throughput.low > 0:
        return None
    watts = _power(point, speed)
    rate = Sym("X_out", speed.output_throughput.expected, "tok/s", "X_out")
    out = given("throughput_out", rate, _LOAD, "throughput", "output_throughput")
    title = Phrase(f"derivation.titles.{key}")
    if key == "energy_per_token":
        total = worked("energy_token", "E", watts[-1].symbol / rate, "J", Phrase(_LOAD))
        return Derivation(key, title, (*watts, out, total))
    hourly = _hour(point, watts[-1].symbol)
    if not hourly:
        return None
    before = watts if len(hourly) > 3 else ()  # a rent has the power in it
    million = Num(1e6) * hourly[-1].symbol / (Num(3600) * rate)
    return Derivation(
        key, title, (*before, *hourly, out, worked("million", "c_m", million, "USD", Phrase(_LOAD)))
    )


def _power(point: Estimate, speed: Speed) -> tuple[Step, ...]:
    device, place = point.scenario.accelerator, point.scenario.deployment
    limit = Sym("W_t", device.tdp_w or FALLBACK_TDP_W, "W", "W_t")
    matrices = Sym(
        "m_c", compute_share(place, speed.prefill, speed.decode, speed.prefill_share), "share", "m_c"
    )
    drawn = largest(COMPUTE_SHARE * matrices + MEMORY_SHARE * (1 - matrices), IDLE_SHARE)
    share = worked("load_share", "e_l", drawn, "share", Phrase(_ASSUMED))
    count = Sym("k_g", float(place.accelerators), "count", "k_g")
    site = Sym("x_s", Prices().facility_factor, "share", "x_s")
    return (
        given("power_limit", limit, _SHEET if device.tdp_w else _ASSUMED),
        share,
        worked("watts", "P_w", limit * share.symbol * count * site, "W", Phrase(_ASSUMED)),
    )


def _hour(point: Estimate, watts: Sym) -> tuple[Step, ...]:
    """Dollars an hour of all devices; nothing where no price is known."""
    device, prices = point.scenario.accelerator, Prices()
    count = Sym("k_g", float(point.scenario.deployment.accelerators), "count", "k_g")
    if device.cloud_usd_per_hour is not None:
        each = Sym("c_h", device.cloud_usd_per_hour, "USD", "c_h")
        total = worked("hour", "c_a", each * count, "USD", Phrase(_INPUT))
        return given("hour_each", each, _INPUT), total
    if device.price_usd is None:
        return ()
    bought = Sym("c_p", device.price_usd, "USD", "c_p")
    hours = Sym("y_l", prices.lifetime_years * HOURS_A_YEAR, "count", "y_l")
    current = Sym("c_e", prices.electricity_usd_per_kwh, "USD", "c_e")
    owned = bought * count / hours + watts * current / 1000
    steps = (given("purchase", bought, _INPUT), given("lifetime", hours, _ASSUMED))
    tariff = given("tariff", current, _ASSUMED)
    return (*steps, tariff, worked("hour_owned", "c_a", owned, "USD", Phrase(_ASSUMED)))
