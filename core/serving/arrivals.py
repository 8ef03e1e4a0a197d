"""When requests come: seeded streams of times, drawn in portions so that a run may be of any length.

Poisson: gaps exponential    gamma: gaps of mean 1/rate and a given spread    constant: gaps 1/rate
diurnal: Poisson at rate (1 + swing sin(2 pi t / period)), by its integral
"""

import math
from collections.abc import Iterator

import numpy as np

from core.quantities import FloatArray
from core.spec.simulation import Simulation

_PORTION = 4096
_GRID = 4096  # points of one period


def arrival_times(settings: Simulation, rate: float, generator: np.random.Generator) -> Iterator[float]:
    """Times in s from 0 on, endless, at ``rate`` a second on average."""
    last = 0.0
    period = _period(settings) if settings.arrivals == "diurnal" else None
    while True:
        gaps = _gaps(settings, generator) / rate
        # Of the diurnal stream these are values of the integral of the rate, over the mean rate.
        times = last + np.cumsum(gaps)
        last = float(times[-1])
        yield from (times if period is None else _of_day(times, *period)).tolist()


def _gaps(settings: Simulation, generator: np.random.Generator) -> FloatArray:
    """Gaps of mean 1."""
    if settings.arrivals == "constant":
        return np.ones(_PORTION)
    if settings.arrivals == "gamma":
        shape = settings.burstiness**-2
        return generator.gamma(shape, 1.0 / shape, _PORTION)
    return generator.exponential(1.0, _PORTION)


def _period(settings: Simulation) -> tuple[FloatArray, FloatArray]:
    """Times of one period and the integral of the relative rate up to them."""
    times = np.linspace(0.0, settings.period_s, _GRID)
    turn = 2.0 * math.pi / settings.period_s
    return times, times + settings.swing / turn * (1.0 - np.cos(turn * times))


def _of_day(values: FloatArray, times: FloatArray, integral: FloatArray) -> FloatArray:
    """The times at which the integral reaches ``values``; a period adds its own length to both."""
    length = times[-1]
    whole = np.floor(values / length)
    return np.asarray(whole * length + np.interp(values - whole * length, integral, times))
