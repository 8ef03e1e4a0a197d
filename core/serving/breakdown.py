"""One step of a phase taken apart: who takes what, and what limits it."""

import numpy as np

from core.latency.step import Plan, expected_seconds
from core.latency.textbook import TextbookPlan
from core.model.operators import TOKENS, features
from core.quantities import EXPECTED
from core.serving.load import OperatorTime, Phase

BOUNDS = ("compute", "bandwidth", "link", "launch")


def engine_phase(plan: Plan, decoding: float, context: float, prefill: float, history: float) -> Phase:
    """The step with ``decoding`` sequences on ``context`` tokens and a chunk of ``prefill`` tokens.

    An operator's time on the roofline is divided between compute and bandwidth as its two terms;
    starts of kernels, step overhead and launches outside a graph are the bound "launch".
    """
    point = [np.array([value]) for value in (decoding, context, prefill, history)]
    total = float(expected_seconds(plan, *point)[0])
    rows = plan.operators.rows
    work = features(plan.operators, *point)
    scaled = (plan.seconds[EXPECTED] @ work)[:, 0].tolist()
    flops, moved = (plan.operators.flops @ work)[:, 0].tolist(), (plan.operators.bytes @ work)[:, 0].tolist()
    runs = {"always": True, "decode": decoding > 0, "prefill": prefill > 0}
    merged: dict[str, list[float]] = {}  # key -> compute, bandwidth, link, launch seconds, FLOPs, bytes
    for index, row in enumerate(rows):
        compute, memory = scaled[index], scaled[len(rows) + index]
        powers = compute**plan.p, memory**plan.p
        kernel = sum(powers) ** (1 / plan.p)
        by_compute = powers[0] / sum(powers) if kernel else 0.0
        sums = merged.setdefault(row.key, [0.0] * 6)
        sums[0] += kernel * by_compute
        sums[1] += kernel * (1 - by_compute)
        sums[3] += plan.starts[index] if runs[row.when] else 0.0
        sums[4] += flops[index]
        sums[5] += moved[index]
    if plan.operators.all_reduces:
        tokens, ops = float(work[TOKENS, 0]), plan.operators
        ring = float(plan.reduce_start[EXPECTED, 0] + plan.reduce_ring[EXPECTED, 0] * tokens)
        wire = min(float(plan.reduce_direct[EXPECTED, 0]) * tokens, ring) + plan.reduce_alpha
        merged["all_reduce"] = [0, 0, wire, 0, 0, ops.all_reduces * ops.all_reduce_bytes * tokens]
    # What is left of the step: its overhead, and what the processor adds when it is the slower side.
    merged["overhead"] = [0, 0, 0, max(0.0, total - sum(sum(s[:4]) for s in merged.values())), 0, 0]
    shares = {bound: sum(s[i] for s in merged.values()) / total for i, bound in enumerate(BOUNDS)}
    operators = [
        OperatorTime(key, sum(s[:4]), s[4], s[5], BOUNDS[s.index(max(s[:4]))])
        for key, s in merged.items()
        if sum(s[:4]) > 0
    ]
    return Phase(
        seconds=total,
        shares=shares,
        operators=tuple(sorted(operators, key=lambda o: -o.seconds)),
        compute_format=plan.compute[0],
        native=plan.native[0],
    )


def textbook_phase(plan: TextbookPlan, decoding: float, prefill: float) -> Phase:
    """The same by the plain formulas: one operator, the weights."""
    flops = 2 * plan.parameters * (decoding + prefill)
    compute = flops / plan.peak
    memory = plan.read_bytes / plan.bandwidth if decoding else 0.0
    seconds = max(compute, memory)
    bound = "compute" if compute >= memory else "bandwidth"
    return Phase(
        seconds=seconds,
        shares={name: float(name == bound) for name in BOUNDS},
        operators=(OperatorTime("weights", seconds, flops, plan.read_bytes if decoding else 0.0, bound),),
        compute_format=plan.compute,
        native=plan.native,
    )
