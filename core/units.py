"""Numbers at the edge: what people type, and what they read.

Inside the core everything is SI (bytes, seconds, FLOP/s) as plain numbers.  Here text becomes a
number and a number becomes text.  K of tokens is 1,024 everywhere; GB is 10⁹ and GiB 2³⁰ bytes.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from core.errors import InvalidScenario, Problem

GIB = 2**30
GB = 10**9
MEMORY_UNITS = {"GiB": GIB, "GB": GB}
_shown_memory = ["GiB"]  # a habit of the reader, like the decimal mark; nothing is reckoned with it

_BINARY = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_NUMBER = re.compile(
    r"""\s*(?:<=|>=|[≤≥<>~≈$])?\s*
        (?P<sign>[-+−]?)(?P<number>\d[\d.,_\u00a0\u202f' ]*|[.,]\d+)(?P<exponent>[eE][-+]?\d{1,3})?
        \s*(?P<rest>[^\d]*?)\s*$""",
    re.VERBOSE,
)
# ½, 1½ or 9/10; no part of a longer number.
_FRACTION = re.compile(
    r"""(?<![\d.,/])(?:(?P<whole>\d{1,9})?\s?(?P<sign>[\u00bc-\u00be\u2150-\u215e])
        |(?P<over>\d{1,9})\s?/\s?(?P<under>\d{1,9}))(?![\d.,/])""",
    re.VERBOSE,
)
# Units as typed, lower case → factor to the base of that dimension.
_TIME_S = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "min": 60.0}
_TIME_S |= {"秒": 1.0, "毫秒": 1e-3, "微秒": 1e-6, "分钟": 60.0, "h": 3600.0}
# Other ways to write the unit that a field has; what is nothing but a unit changes no number.
_SAME = {
    "tokens": ("tok", "token"),
    "1/s": ("/s", "rps", "qps", "req/s", "requests/s"),
    "users": ("user", "个", "人", "位", "名", "用户", "个用户", "位用户", "名用户"),
    "USD": ("$",),
    "USD/h": ("$/h",),
}
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_HAN = {"千": 10**3, "万": 10**4, "亿": 10**8}
_MAX_TEXT = 64
_BINARY_NAMES, _DECIMAL_NAMES = ("MiB", "KiB"), ("MB", "kB")  # below GiB and GB
_ENDLESS = 1e15  # from here on digits only fill lines
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Shown(NamedTuple):
    """A number and its unit as two texts, so that the unit can be drawn smaller."""

    number: str
    unit: str

    def __str__(self) -> str:
        return f"{self.number} {self.unit}".strip()


def show_memory_in(unit: str) -> None:
    """Show memory in GiB or in GB from now on, everywhere; GiB for a unit that is neither."""
    _shown_memory[0] = unit if unit in MEMORY_UNITS else "GiB"


def memory_unit() -> str:
    """The unit in which memory is shown: GiB, or GB where the person wants it."""
    return _shown_memory[0]


def memory_size() -> int:
    """Bytes of the unit in which memory is shown."""
    return MEMORY_UNITS[_shown_memory[0]]


def memory_steps() -> tuple[tuple[int, str], ...]:
    """Units of amounts of memory of any size, the largest first."""
    if memory_unit() == "GiB":
        return ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    return ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def parse_quantity(text: str, unit: str = "") -> float:
    """Read what a person typed into a field of the given unit and return it in that unit.

    Accepts ``8k``, ``32K``, ``1.5M``, ``7B``, ``128Ki``, ``24GB``, ``24 GiB``, ``≤ 100 ms``, ``90 %``,
    ``2 req/s``, ``½``, ``9/10``, ``2万``, full width, grouping by space, apostrophe or
    underscore, and both decimal marks.
    Raises InvalidScenario with the code ``number.unreadable``, ``number.too_large`` or ``number.unit``.
    """
    if not text.isascii():
        text = text.translate(_FULL_WIDTH)  # as an input method may leave it
    match = _NUMBER.match(_FRACTION.sub(_of_fraction, text)) if len(text) <= _MAX_TEXT else None
    if match is None:
        raise InvalidScenario(Problem("number.unreadable", values={"text": text[:_MAX_TEXT]}))
    number = _decimal(match["number"])
    if number is None:
        raise InvalidScenario(Problem("number.unreadable", values={"text": text}))
    value = float(f"{number}{match['exponent'] or ''}")
    if match["sign"] in ("-", "−"):
        value = -value
    factor = _factor(match["rest"].strip(), unit)
    if factor is not None and not math.isfinite(value * factor):
        raise InvalidScenario(Problem("number.too_large", values={"text": text}))
    if factor is None:
        raise InvalidScenario(Problem("number.unit", values={"text": text, "unit": unit}))
    # What people typed has fewer digits than this: 95 % is 0.95, whatever 0.01 is in binary.
    return value if factor == 1.0 else float(f"{value * factor:.15g}")


def _of_fraction(match: re.Match[str]) -> str:
    """A fraction as a decimal number; as it stands where it has none."""
    over, under = match["over"], match["under"]
    if match["sign"]:
        return repr(int(match["whole"] or 0) + unicodedata.numeric(match["sign"]))
    return repr(int(over) / int(under)) if int(under) else match[0]


def _decimal(digits: str) -> str | None:
    """Digits with any grouping to a plain decimal; a lone comma is a decimal mark unless it groups."""
    bare = re.sub(r"[\u00a0\u202f' _]", "", digits).rstrip(".,")
    if "," in bare and "." in bare:
        last = max(bare.rfind(","), bare.rfind("."))
        whole, fraction = re.sub(r"[.,]", "", bare[:last]), bare[last + 1 :]
        return f"{whole}.{fraction}"
    for mark in ",.":
        if bare.count(mark) > 1:
            parts = bare.split(mark)
            return "".join(parts) if all(len(p) == 3 for p in parts[1:]) else None
    if re.fullmatch(r"[1-9]\d{0,2},\d{3}", bare):
        return bare.replace(",", "")  # 4,608 is how this program itself writes it
    return bare.replace(",", ".")


def _factor(rest: str, unit: str) -> float | None:
    """Factor from the typed suffix to ``unit``; None when the two do not go together."""
    low = rest.lower()
    if low[:1] in _HAN:
        after = _factor(rest[1:].strip(), unit)
        return None if after is None else _HAN[low[0]] * after
    if low in ("", unit.lower(), *_SAME.get(unit, ())):
        return 1.0
    if unit in ("s", "ms"):
        given = _TIME_S.get(low)
        return None if given is None else given / _TIME_S[unit]
    if unit == "1":
        return 0.01 if low == "%" else None
    if unit in ("GB", "GiB", "MiB", "GB/s"):
        match = re.fullmatch(r"([kmgt]?)(i?)b?(/s)?", low)
        if match is None or (bool(match[3]) and unit != "GB/s"):
            return None
        given_bytes = (_BINARY if match[2] else _DECIMAL)[match[1]]
        return given_bytes / {"GB": GB, "GB/s": GB, "GiB": GIB, "MiB": 2**20}[unit]
    if not unit and low in ("b", "bn"):
        return 1e9  # of parameters, as people write them
    match = re.fullmatch(r"([kmgt])(i?)\s*([a-z/]*)", low)
    if match is None or match[3] not in ("", unit.lower(), unit.lower().rstrip("s"), "b"):
        return None
    return float((_BINARY if match[2] or unit == "tokens" else _DECIMAL)[match[1]])


def three_digits(value: float) -> str:
    """Three significant digits, grouped, true minus; powers of ten below a ten-thousandth (1.61 × 10⁻⁶)
    and from 10¹⁵ up, beyond all that is counted here.
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    decimals = max(0, 2 - math.floor(math.log10(size)))
    rounded = round(size, decimals)
    decimals = max(0, 2 - math.floor(math.log10(rounded))) if rounded else decimals
    if decimals > 6 or size >= _ENDLESS:
        mantissa, _, exponent = f"{size:.2e}".partition("e")
        text = f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}"
    elif size >= 1000:
        step = 10 ** (math.floor(math.log10(rounded)) - 2)
        text = f"{round(size / step) * step:,.0f}"
    else:
        text = f"{size:.{decimals}f}"
        if "." in text and size >= 100:
            text = text.rstrip("0").rstrip(".")
    return ("−" if value < 0 else "") + text


# Units of a duration, each up to so many seconds.  Minutes begin late: targets are set in seconds.
_DURATIONS = (("µs", 1e-6, 1e-3), ("ms", 1e-3, 1.0), ("s", 1.0, 600.0), ("min", 60.0, 6000.0))
_LONGEST = ("h", 3600.0)


def show_time(seconds: float) -> Shown:
    """A duration in the unit that suits it."""
    if not math.isfinite(seconds):
        return Shown("–", "")
    fitting = (name for name, _, limit in _DURATIONS if abs(seconds) < limit * 0.9995)
    unit = next(fitting, _LONGEST[0])
    return Shown(time_in(seconds, unit), unit)


def time_in(seconds: float, unit: str) -> str:
    """The number of a duration in a unit that ``show_time`` has given to another."""
    size = {name: length for name, length, _ in _DURATIONS} | dict([_LONGEST])
    return three_digits(seconds / size.get(unit, 1.0))


def bare(number: str) -> str:
    """A number that a person set, without the zeros of three digits: 4, not 4.00."""
    return number.rstrip("0").rstrip(".") if "." in number else number


def show_limit(seconds: float) -> Shown:
    """A target of time as people write it: 2 s, 100 ms."""
    shown = show_time(seconds)
    return Shown(bare(shown.number), shown.unit)


def show_late(seconds: float, limit: float) -> Shown:
    """A time beyond a limit, with as many digits as tell the two apart: 50.02 ms beside 50 ms."""
    shown, other = show_time(seconds), show_time(limit)
    if not seconds > limit or shown != other:
        return shown
    size = ({name: length for name, length, _ in _DURATIONS} | dict([_LONGEST]))[shown.unit]
    digits = (f"{seconds / size:,.{decimals}f}" for decimals in range(1, 7))
    apart = (text for text in digits if bare(text) != bare(other.number))
    return Shown(next(apart, shown.number), shown.unit)


def show_bytes(count: float, unit: str = "") -> Shown:
    """Bytes in the unit in which memory is shown, or in GiB or GB where it is given.

    Three significant digits; far less than one in a smaller unit.
    """
    unit = unit or memory_unit()
    step, size, names = (2**10, GIB, _BINARY_NAMES) if unit == "GiB" else (10**3, GB, _DECIMAL_NAMES)
    if count == 0 or abs(count) * 100 >= size:
        return Shown(three_digits(count / size), unit)
    for name in names:
        size //= step
        if abs(count) >= size:
            return Shown(three_digits(count / size), name)
    return Shown(f"{count:.0f}", "B")


def show_power(watts: float) -> Shown:
    """Watts, or kilowatts from a thousand up, in three significant digits."""
    return Shown(three_digits(watts / 1e3), "kW") if abs(watts) >= 999.5 else Shown(three_digits(watts), "W")


def hundredths(parts: Sequence[int], total: int) -> list[int]:
    """Bytes in hundredths of a GiB or GB, as shown, that add up to the rounded total (largest remainder).

    The total is that of the parts; each part is off by less than one hundredth.
    """
    exact = [part * 100 / memory_size() for part in parts]
    floors = [int(value) for value in exact]
    missing = round(total * 100 / memory_size()) - sum(floors)
    order = sorted(range(len(parts)), key=lambda i: floors[i] - exact[i])
    for i in order[: max(0, missing)]:
        floors[i] += 1
    for i in reversed(order):
        if missing >= 0:
            break
        if floors[i] > 0:
            floors[i] -= 1
            missing += 1
    return floors


def show_tokens(count: float) -> str:
    """A number of tokens: 512, 4.5K, 16K, 1M (K is 1,024); in full where K has four digits."""
    if not math.isfinite(count):
        return "–"
    if count >= _ENDLESS:
        return three_digits(count)
    if 999.5 * 2**10 <= count < 2**20:
        return f"{count:,.0f}"
    for size, letter in ((2**20, "M"), (2**10, "K")):
        if count >= size:
            value = count / size
            text = f"{value:.1f}" if value < 100 else f"{value:.0f}"
            return (text[:-2] if text.endswith(".0") else text) + letter
    return f"{count:.0f}"


def show_count(count: float) -> str:
    """A whole number with grouping; three digits from a hundred thousand up."""
    if not math.isfinite(count):
        return "–"
    return f"{count:,.0f}" if abs(count) < 100_000 else three_digits(count)


def editable(value: float, unit: str = "") -> str:
    """The shortest text that reads back as exactly this value in a field of this unit."""
    if unit == "tokens" and value >= 1024 and (value * 2) % 1024 == 0:
        return show_tokens(value) if parse_quantity(show_tokens(value), unit) == value else f"{value:g}"
    if not unit and 1e8 <= value < 1e15 and value % 1e5 == 0:
        return f"{value / 1e9:.10g}B" if value >= 1e9 else f"{value / 1e6:g}M"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value)}"
    return repr(float(value)) if unit != "1" else f"{value:.4g}"
