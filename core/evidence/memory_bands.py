"""How wide the 80 % bands of memory figures are: residuals of start-up logs, by one rule.

A band is ± a share of the value, or ± an amount for figures that are differences of two readings
(activations, non-torch, graphs).  Its width is the residual that four fifths of the group keep below,
with one added for the run to come: the ⌈0.8 (n + 1)⌉-th of n (split conformal prediction).  Groups of fewer
than four figures have no such rank: they take the width of the nearest larger group, and never less
than the largest residual they show.  vLLM on the H100, where most logs are from, is a group of its own.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from core.evidence import naming
from core.evidence.memory_predictions import Prediction

COVERAGE = 0.8
LEAST = 4  # from so many figures on there is a rank
AMOUNTS = ("activation_peak_gib", "non_torch_gib", "cuda_graph_gib")
# Logs print four digits, amounts to a hundredth.
ROUNDING = {"relative": 0.001, "absolute": 0.01}
_ALIKE = (
    ("model_buffer_mib", "kv_buffer_mib", "compute_buffer_mib", "bpw", "params", "total_gib"),
    ("kv_tokens", "gpu_blocks", "max_concurrency", "kv_cache_gib", "kv_needed_gib"),
    AMOUNTS,
)


@dataclass(frozen=True, slots=True)
class Residual:
    """One compared figure.  ``size``: of its error, as a share of the value or as an amount."""

    engine: str
    metric: str
    home: bool
    size: float
    source: str


def residuals(predictions: Iterable[Prediction], records: Mapping[str, Mapping[str, Any]]) -> list[Residual]:
    """Errors of the predictions; ``records`` by id say the device and where the log was published."""
    found = []
    for p in predictions:
        engine = naming.engine_of(p.engine)
        if p.predicted is None or engine is None or p.id not in records:
            continue
        record, error = records[p.id], abs(p.predicted - p.measured)
        size = error if p.metric in AMOUNTS else error / max(abs(p.predicted), 1e-12)
        home = engine == "vllm" and "H100" in str(record.get("gpu") or "")
        found.append(Residual(engine, p.metric, home, size, str(record.get("source_url") or p.id)))
    return found


def widths(found: Iterable[Residual]) -> dict[str, Any]:
    """Half widths by engine and metric, "home" and "elsewhere" for vLLM."""
    every = list(found)
    tree: dict[str, Any] = {}
    for engine, metric in sorted({(r.engine, r.metric) for r in every}):
        rules = tree.setdefault(engine, {})
        if engine != "vllm":
            rules[metric] = _width(every, engine, metric, None)
            continue
        for place, home in (("home", True), ("elsewhere", False)):
            rules.setdefault(metric, {})[place] = _width(every, engine, metric, home)
    return tree


def _width(every: list[Residual], engine: str, metric: str, home: bool | None) -> dict[str, Any]:
    alike = next((group for group in _ALIKE if metric in group), (metric,))
    own = [r for r in every if (r.engine, r.metric) == (engine, metric) and home in (None, r.home)]
    pools = (
        own,
        [r for r in every if (r.engine, r.metric) == (engine, metric)],
        [r for r in every if r.engine == engine and r.metric in alike],
        [r for r in every if r.metric == metric],
        [r for r in every if r.metric in alike],
    )
    pool = next((pool for pool in pools if len(pool) >= LEAST), every)
    sizes = sorted(r.size for r in pool)
    width = sizes[min(len(sizes), math.ceil(COVERAGE * (len(sizes) + 1))) - 1] if sizes else 0.0
    if len(own) < LEAST:
        width = max([width, *(r.size for r in own)])
    kind = "absolute" if metric in AMOUNTS else "relative"
    return {kind: _rounded_up(max(width, ROUNDING[kind])), "n": len(own), "pool": len(pool)}


def _rounded_up(width: float) -> float:
    """Two digits."""
    step = 10.0 ** (math.floor(math.log10(width)) - 1)
    return float(f"{math.ceil(width / step - 1e-9) * step:.6g}")


def left_out(found: Iterable[Residual]) -> tuple[int, int]:
    """How many figures lie inside a band that was made without the logs of their source, of how many."""
    every = list(found)
    inside = 0
    for source in {r.source for r in every}:
        rest = [r for r in every if r.source != source]
        for r in every:
            if r.source == source:
                home = r.home if r.engine == "vllm" else None
                rule = _width(rest, r.engine, r.metric, home)
                inside += r.size <= rule.get("absolute", rule.get("relative", 0.0))
    return inside, len(every)
