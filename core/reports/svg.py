"""A small writer of SVG: axes, curves, bands and bars for a printed page, without any window.

Colours are the light palette of the program's design; curves also differ by dash, so that a copy in
grey can be read.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

WIDTH, HEIGHT = 560.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 16.0, 28.0, 34.0
INK, INK3, GRID, AXIS, CANVAS = "#14181F", "#5F6978", "#ECEEF1", "#98A1AE", "#FFFFFF"
BAND, WARN, ACCENT = "#D9DFE7", "#935A00", "#2B5FD9"
LEDGER = {
    "weights": "#30679A",
    "kv_cache": "#249A95",
    "kv_cache_spare": "#E9F6F5",
    "activations": "#BD8014",
    "graphs": "#83205C",
    "runtime": "#2A2F36",
    "outside": "#FFFFFF",
}
BOUNDS = {"compute": "#30679A", "bandwidth": "#249A95", "link": "#BD8014", "launch": "#2A2F36"}
_SERIES = (("#2A3442", ""), ("#4F86BF", "5 2"), ("#C9662F", "2 2"), ("#6934A2", "6 2 2 2"))
_FONT = 'font-family="Inter, system-ui, sans-serif" font-size="11"'


def text(x: float, y: float, said: str, anchor: str = "start", colour: str = INK3, bold: bool = False) -> str:
    """A label; what it says is escaped."""
    weight = ' font-weight="600"' if bold else ""
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {where} {_FONT}{weight}>{escape(said)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dash: str = "") -> str:
    """A straight line."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    where = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {where} stroke="{colour}" stroke-width="{width}"{dashed}/>'


def rect(x: float, y: float, w: float, h: float, fill: str, edge: str = "none") -> str:
    """A bar."""
    where = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.0, w):.1f}" height="{h:.1f}"'
    return f'<rect {where} fill="{fill}" stroke="{edge}"/>'


def document(parts: Sequence[str], title: str, width: float = WIDTH, height: float = HEIGHT) -> str:
    """A whole picture.  ``title`` is read aloud."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'
    ground = rect(0, 0, width, height, CANVAS)
    return "\n".join([head, f"<title>{escape(title)}</title>", ground, *parts, "</svg>"])


_LETTER, _BOLD = 6.4, 7.5  # of a label, px
_CJK = 11.0  # of an ideograph
_OFF = 6.0  # px between a name and the line of the operating point with its ring
Word = tuple[float, float, float]  # its right end, its row, its width, px


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of one curve, in the units of the axes; ``low`` and ``high`` make a band."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    marks: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot of curves.  ``limits`` lie, ``x_limits`` stand, each with a label; ``here``: operating point.

    ``beyond`` leads on from the first curve to the operating point, where more arrive than it is about.
    """

    title: str
    x_name: str
    y_name: str
    curves: Sequence[Curve]
    limits: Sequence[tuple[float, str]] = ()
    here: tuple[float, float, str] | None = None
    x_scale: Literal["linear", "log"] = "linear"
    most_y: float | None = None
    x_limits: Sequence[tuple[float, str]] = ()
    notes: Sequence[str] = field(default_factory=tuple)
    beyond: Curve | None = None
    least_x: float = 0.0


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers between two ends."""
    if not high > low:
        return [low]
    raw = (high - low) / max(1, wanted)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _wide(said: str) -> float:
    """About the width of a label, px."""
    return sum(_CJK if ord(c) > 0x2E7F else _LETTER for c in said)


def _label(value: float) -> str:
    return f"{value:,.10g}" if abs(value) < 1e5 else f"{value:,.0f}"


class _Scale:
    """Values to places on the page."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool = False) -> None:
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log and low > 0

    def __call__(self, value: float) -> float:
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def draw(chart: Chart, height: float = HEIGHT) -> str:
    """The chart as SVG."""
    log = chart.x_scale == "log"
    here_x, here_y = _here_inside(chart.here, log)
    finite = [v for c in chart.curves for v in (*c.y, *c.high) if math.isfinite(v)]
    high = max([*finite, *here_y, *(v for v, _ in chart.limits), 1e-12])
    high = min(1.06 * high, chart.most_y or math.inf)
    xs = [*(v for c in chart.curves for v in c.x if math.isfinite(v)), *here_x] or [0.0, 1.0]
    low_x = min(xs) if log else 0.0
    high_x = max(max(*xs, low_x * 1.0001 + 1e-12) * (1.0 if log else 1.06), chart.least_x)
    x = _Scale(low_x, high_x, _LEFT, WIDTH - _RIGHT, log)
    y = _Scale(0.0, high, height - _BOTTOM, _TOP)
    parts = [*_axes(chart, x, y, height)]
    parts += [_band(curve, x, y) for curve in chart.curves if curve.low and curve.high]
    for value, _ in chart.limits:
        if value <= high:
            parts.append(line(_LEFT, y(value), WIDTH - _RIGHT, y(value), WARN, 1.2, "4 3"))
    for value, _ in chart.x_limits:
        if x.low <= value <= x.high:
            parts.append(line(x(value), _TOP, x(value), height - _BOTTOM, WARN, 1.2, "4 3"))
    taken = [(WIDTH - _RIGHT, y(value) - 4, _LETTER * len(label)) for value, label in chart.limits]
    unit = _LETTER * len(chart.y_name)
    taken.append((_LEFT - 6 + unit, 10.0, unit))
    upright = x(chart.here[0]) if chart.here is not None and math.isfinite(chart.here[0]) else None
    if chart.here is not None:
        taken.append(_here_label(chart, chart.here, x))
    if chart.beyond is not None:
        parts += _curve(chart.beyond, 0, x, y, high, "4 3")
    for index, curve in enumerate(chart.curves):
        parts += _curve(curve, index, x, y, high)
        if len(chart.curves) > 1:
            parts += _curve_name(curve, index, x, y, high, taken, upright)
    for value, label in chart.limits:
        if value <= high:  # over the curves, on a plate: a line through its words cannot be read
            wide = _LETTER * len(label)
            parts.append(rect(WIDTH - _RIGHT - wide, y(value) - 15, wide, 13, CANVAS))
            parts.append(text(WIDTH - _RIGHT, y(value) - 4, label, "end", WARN))
    if chart.here is not None and all(map(math.isfinite, chart.here[:2])):
        at, value, label = chart.here
        parts.append(line(x(at), _TOP, x(at), height - _BOTTOM, ACCENT))
        parts.append(
            f'<circle cx="{x(at):.1f}" cy="{y(value):.1f}" r="4" fill="{CANVAS}" stroke="{ACCENT}"/>'
        )
        right, row, wide = _here_label(chart, chart.here, x)
        parts.append(rect(right - wide, row - 11, wide, 13, CANVAS))
        parts.append(text(right, row, label, "end", ACCENT, True))
    parts += _standing_names(chart, x, height)
    return document(parts, chart.title, WIDTH, height)


def _here_inside(
    here: tuple[float, float, str] | None, log: bool
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What the axes must reach for the operating point to be seen."""
    if here is None or not all(map(math.isfinite, here[:2])) or (log and here[0] <= 0):
        return (), ()
    return (here[0],), (here[1],)


def _standing_names(chart: Chart, x: _Scale, height: float) -> list[str]:
    """Names of the limits that stand, on a plate: the line of the operating point may pass there."""
    parts = []
    for value, label in chart.x_limits:
        if x.low <= value <= x.high:
            right, row, wide = x(value) - 5, height - _BOTTOM - 8, _wide(label)
            parts.append(rect(right - wide, row - 11, wide, 13, CANVAS))
            parts.append(text(right, row, label, "end", WARN))
    return parts


def _here_label(chart: Chart, here: tuple[float, float, str], x: _Scale) -> Word:
    """Where the operating point's word stands: right of its line, left where limits have their names."""
    wide, at = _BOLD * len(here[2]), x(here[0])
    last = WIDTH - 120 if chart.limits else WIDTH - 8 - wide
    return at - 6 if at > last else at + 6 + wide, _TOP + 10, wide


def _axes(chart: Chart, x: _Scale, y: _Scale, height: float) -> list[str]:
    parts = []
    for value in ticks(0.0, y.high):
        parts.append(line(_LEFT, y(value), WIDTH - _RIGHT, y(value), GRID))
        parts.append(text(_LEFT - 6, y(value) + 4, _label(value), "end"))
    base = height - _BOTTOM
    parts.append(line(_LEFT, base, WIDTH - _RIGHT, base, AXIS))
    places = [2.0**i for i in range(21) if x.low <= 2.0**i <= x.high] if x.log else ticks(x.low, x.high)
    free = 0.0
    for value in places:
        parts.append(line(x(value), base, x(value), base - 4, AXIS))
        label, half = _label(value), _wide(_label(value)) / 2
        if free <= x(value) - half and x(value) + half <= WIDTH:
            parts.append(text(x(value), base + 14, label, "middle"))
            free = x(value) + half + 6
    parts.append(text(WIDTH - _RIGHT, base + 27, chart.x_name, "end"))
    # Lines of their own: beside the highest number the two would read as one.
    parts.append(text(_LEFT - 6, 10, chart.y_name, "start"))
    return parts


def _band(curve: Curve, x: _Scale, y: _Scale) -> str:
    there = [(x(a), y(b)) for a, b in zip(curve.x, curve.high, strict=True)]
    back = [(x(a), y(b)) for a, b in zip(curve.x, curve.low, strict=True)][::-1]
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in (*there, *back))
    return f'<polygon points="{points}" fill="{BAND}"/>'


def _curve(
    curve: Curve, index: int, x: _Scale, y: _Scale, high: float, dashes: str | None = None
) -> list[str]:
    colour, dash = _SERIES[index % len(_SERIES)]
    dash = dash if dashes is None else dashes
    inside = [(a, b) for a, b in zip(curve.x, curve.y, strict=True) if math.isfinite(b) and b <= high]
    points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in inside)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    parts = [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>']
    if curve.marks:
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.5" fill="{colour}"/>' for a, b in inside]
    return parts


def _curve_name(
    curve: Curve, index: int, x: _Scale, y: _Scale, high: float, taken: list[Word], upright: float | None
) -> list[str]:
    """The name at the end of a curve, moved where another word or the line ``upright`` stands."""
    inside = [(a, b) for a, b in zip(curve.x, curve.y, strict=True) if math.isfinite(b) and b <= high]
    if not inside:
        return []
    right, end = x(inside[-1][0]), y(inside[-1][1])
    wide = _BOLD * len(curve.name)
    # Beside the line of the operating point, not under it.
    rights = [right] if upright is None else [right, upright - _OFF, upright + _OFF + wide]

    def clear(last: float, row: float) -> bool:
        crossed = upright is not None and last - wide < upright + _OFF - 1 and upright - _OFF + 1 < last
        return (
            not crossed
            and row >= 9
            and all(
                abs(row - other) >= 13 or last < left - size or last - wide > left
                for left, other, size in taken
            )
        )

    places = ((last, end + by) for by in (-6, 16, -20, 30, 44, 58) for last in rights)
    right, row = next((place for place in places if clear(*place)), (right, end - 6))
    taken.append((right, row, wide))
    return [text(right, row, curve.name, "end", _SERIES[index % len(_SERIES)][0], True)]


def bars(rows: Sequence[tuple[str, float, str, str]], title: str, name_width: float = 190.0) -> str:
    """Horizontal bars: name, value, its text, colour."""
    step, top = 22.0, 8.0
    height = top + step * len(rows) + 6
    most = max((value for _, value, _, _ in rows), default=1.0) or 1.0
    parts = []
    for index, (name, value, said, colour) in enumerate(rows):
        y = top + index * step
        length = (WIDTH - name_width - 180) * value / most
        parts.append(text(name_width - 8, y + 13, name, "end", INK))
        parts.append(rect(name_width, y + 3, length, 13, colour))
        parts.append(text(name_width + length + 6, y + 13, said))
    return document(parts, title, WIDTH, height)


def stacked(rows: Sequence[tuple[str, str, float, str]], limit: tuple[float, str], title: str) -> str:
    """One stacked bar with its account: key, name, value, text; ``limit`` is a mark on the bar."""
    total = max(sum(value for _, _, value, _ in rows), limit[0], 1e-12)
    scale = (WIDTH - _RIGHT) / total
    parts, place = [], 0.0
    for key, _, value, _ in rows:
        edge = AXIS if key in ("outside", "kv_cache_spare") else "none"
        parts.append(rect(place, 24, value * scale - 1, 24, LEDGER.get(key, INK3), edge))
        place += value * scale
    mark = limit[0] * scale
    parts.append(line(mark, 18, mark, 52, INK, 1.5))
    parts.append(text(mark, 12, limit[1], "end" if mark > WIDTH / 2 else "start", INK))
    for index, (key, name, _, said) in enumerate(rows):
        y = 68 + 20 * index
        parts.append(rect(0.5, y, 10, 10, LEDGER.get(key, INK3), AXIS))
        parts.append(text(18, y + 9, name, "start", INK))
        parts.append(text(WIDTH - _RIGHT, y + 9, said, "end", INK))
    return document(parts, title, WIDTH, 68 + 20 * len(rows) + 8)
