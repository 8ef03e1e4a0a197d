"""Numbers of a derivation with their units: enough digits that a person can multiply them out."""

import math
from typing import Literal

from core.units import MEMORY_UNITS, Shown, memory_unit

Unit = Literal[
    "count",  # a bare number, whole ones with grouping
    "share",  # a bare number between 0 and 1, or a factor
    "tokens",
    "B",  # bytes, exact
    "GiB",  # bytes in GiB, or in GB where memory is shown so
    "GB",  # bytes in GB: beside a bandwidth
    "s",
    "FLOP",
    "FLOP/s",
    "B/s",
    "1/s",
    "tok/s",
    "G",  # parameters in 10⁹
    "bits",
    "USD",
    "W",
    "J",
]
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_WHOLE_UP_TO = 1e7


def digits(value: float, significant: int = 4) -> str:
    """``significant`` digits with grouping, true minus, no zeros behind the point that say nothing."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if value == 0:
        return "0"
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    if decimals > 9:
        mantissa, _, exponent = f"{abs(value):.{significant - 1}e}".partition("e")
        return f"{'−' if value < 0 else ''}{mantissa} × 10^{int(exponent)}"
    text = f"{abs(value):,.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return ("−" if value < 0 else "") + text


def _scaled(value: float) -> tuple[float, str]:
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor:
            return value / factor, prefix
    return value, ""


def shown(value: float, unit: Unit) -> Shown:
    """A value in SI units as number and unit."""
    if unit in ("count", "tokens", "B", "bits", "share"):
        whole = float(value).is_integer() and abs(value) < _WHOLE_UP_TO * (100 if unit == "B" else 1)
        text = f"{int(value):,}".replace("-", "−") if whole else digits(value)
        return Shown(text, {"tokens": "tok", "B": "B", "bits": "bit"}.get(unit, ""))
    if unit in ("GiB", "GB"):
        name = memory_unit() if unit == "GiB" else "GB"  # beside a bandwidth it is GB always
        scaled = value / MEMORY_UNITS[name]
        if 0 < abs(scaled) < 0.01:
            small = value / (2**20 if name == "GiB" else 1e6)
            return Shown(digits(small), "MiB" if name == "GiB" else "MB")
        return Shown(digits(scaled), name)
    if unit == "s":
        for limit, factor, name in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
            if 0 < abs(value) < limit:
                return Shown(digits(value * factor), name)
        return Shown(digits(value), "s")
    if unit == "G":
        scaled, prefix = _scaled(value)
        return Shown(digits(scaled), prefix)
    if unit in ("FLOP", "FLOP/s", "B/s"):
        if unit == "B/s":
            return Shown(digits(value / 1e9), "GB/s")
        scaled, prefix = _scaled(value)
        return Shown(digits(scaled), f"{prefix}{unit}")
    if unit == "USD":
        return Shown(f"${value:,.2f}", "")
    return Shown(digits(value), "req/s" if unit == "1/s" else unit)


def figure(value: float, unit: Unit) -> str:
    """The same as one text."""
    return str(shown(value, unit))


def figure_latex(value: float, unit: Unit) -> str:
    """The same in LaTeX."""
    number, name = shown(value, unit)
    number = number.replace("−", "-").replace(",", "{,}").replace("$", r"\$").replace("∞", r"\infty")
    number = number.replace("×", r"\times")
    if not name:
        return number
    return rf"{number}\,\mathrm{{{name.replace('µ', chr(92) + 'mu ')}}}"
