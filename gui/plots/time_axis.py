"""Ticks and texts of simulated time."""

import math

_STEPS = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200,
    10_800, 14_400, 21_600, 43_200, 86_400,
)  # fmt: skip
_CLOCK = 60.0  # s: a longer span is read as minutes and seconds


def step_for(span: float, most: int) -> float:
    """The finest step in s that gives at most ``most`` intervals."""
    for step in _STEPS:
        if span / step <= most:
            return float(step)
    return 86_400.0 * math.ceil(span / 86_400.0 / most)


def ticks(start: float, end: float, most: int = 7) -> list[float]:
    """Round times from ``start`` to ``end``."""
    if not end > start:
        return []
    step = step_for(end - start, most)
    first = math.ceil(start / step - 1e-9)
    return [i * step for i in range(first, math.floor(end / step + 1e-9) + 1)]


def label(seconds: float, span: float) -> str:
    """A tick within ``span``, in the notation of ``clock``; of a short run without the unit: 0, 2.5, 10."""
    if span >= _CLOCK:
        return clock(seconds, span)
    return f"{seconds:.2f}".rstrip("0").rstrip(".")


def end_label(span: float) -> str:
    """The end of the axis: 3:14:51, or 6.4 s with as many digits as tell it from the last tick."""
    if span >= _CLOCK:
        return clock(span, span)
    return f"{span:.0f} s" if span >= 20 or abs(span - round(span)) < 0.01 else f"{span:.1f} s"


def clock(seconds: float, span: float) -> str:
    """A moment within ``span``: 6:42, 1:06:42, or 6.4 s in a short run."""
    if not math.isfinite(seconds):
        return "–"
    if span < _CLOCK:
        return f"{seconds:.1f} s" if span >= 5 else f"{seconds:.2f} s"
    whole = math.floor(seconds + 1e-9)
    if span >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}"
