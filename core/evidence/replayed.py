"""A benchmark at a rate, simulated as the tool runs it, for the percentiles that no steady state has.

It begins with an idle engine, sends so many requests at gamma-distributed gaps (``burstiness`` 1 is
Poisson, as the tools define it: the shape of the distribution) and counts all of them.  Lengths are those
of a set of conversations: lognormal, cut where the tool cuts them, and scaled back to the mean that was
reported.  A sweep sends the same prompts at one rate after the other, so what an earlier pass has left in
the prefix cache is found there.
"""

from dataclasses import dataclass

import numpy as np

from core.quantities import FloatArray
from core.serving.prefix_cache import Link
from core.serving.simulator import Run
from core.serving.trace import Trace
from core.spec.change import with_values
from core.spec.scenario import Scenario

SHARED_GPT = (1.15, 0.95)  # standard deviation over the mean of prompts and answers, as the tools cut them
_SHORTEST, _LONGEST = 4.0, 1024.0  # tokens that the tools keep
_PAUSE = 1000.0  # s between two passes of a sweep: more than any answer takes
_STATISTICS = ("mean", "median", "p99")


@dataclass(frozen=True, slots=True)
class Replay:
    """What was sent.  Mean lengths are those of the scenario's workload."""

    scenario: Scenario
    rate: float  # requests a second
    requests: int
    spreads: tuple[float, float] = SHARED_GPT
    longest: tuple[float, float] = (_LONGEST, _LONGEST)
    burstiness: float = 1.0
    before: tuple[float, ...] = ()  # rates of the sweep's earlier passes


def spread_of(mean: float, median: float) -> float:
    """Standard deviation over the mean of lognormal lengths: mean / median = exp(sigma^2 / 2).

    0 where the median is not below the mean, as of no lognormal lengths.
    """
    return float(np.sqrt(max((mean / median) ** 2 - 1.0, 0.0)))


def replayed(replay: Replay, seeds: int = 3) -> dict[tuple[str, str], float]:
    """Figures of the last pass in s, (``ttft`` or ``tpot``, ``mean``, ``median`` or ``p99``); mean of seeds.

    Raises InvalidScenario with ``simulate.does_not_start`` for a service without room for a request.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        for key, value in _one(replay, np.random.default_rng(seed)).items():
            found.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def _one(replay: Replay, generator: np.random.Generator) -> dict[tuple[str, str], float]:
    n, work = replay.requests, replay.scenario.workload
    prompts = _lengths(work.prompt_tokens, replay.spreads[0], replay.longest[0], n, generator)
    answers = _lengths(work.output_tokens, replay.spreads[1], replay.longest[1], n, generator)
    passes, end = [], 0.0
    for rate in (*replay.before, replay.rate):
        gaps = generator.gamma(replay.burstiness, 1.0 / (rate * replay.burstiness), n)
        passes.append(end + np.cumsum(gaps))
        end = float(passes[-1][-1]) + _PAUSE
    count = len(passes)
    chains: tuple[tuple[Link, ...], ...] = tuple(((i, int(tokens)),) for i, tokens in enumerate(prompts))
    trace = Trace(np.concatenate(passes), np.tile(prompts, count), np.tile(answers, count), chains * count)
    settings = {"simulation.arrivals": "trace", "simulation.warm_up": 0.0}
    run = Run(with_values(replay.scenario, settings), trace)
    for _ in run.steps():
        pass
    records = run.records
    arrival, first, finish = (np.array(c)[-n:] for c in (records.arrival, records.first, records.finish))
    done = np.isfinite(finish)
    several = done & (answers > 1)
    each = (finish - first)[several] / (answers[several] - 1.0)
    return {**_figures("ttft", (first - arrival)[done]), **_figures("tpot", each)}


def _lengths(
    mean: float, spread: float, longest: float, n: int, generator: np.random.Generator
) -> FloatArray:
    variance = np.log1p(spread * spread)
    drawn = generator.lognormal(np.log(mean) - 0.5 * variance, np.sqrt(variance), n)
    cut = np.clip(drawn, _SHORTEST, longest)
    return np.asarray(np.maximum(np.rint(cut * (mean / cut.mean())), 1.0))


def _figures(metric: str, values: FloatArray) -> dict[tuple[str, str], float]:
    found = (values.mean(), np.median(values), np.quantile(values, 0.99))
    return {(metric, name): float(value) for name, value in zip(_STATISTICS, found, strict=True)}
