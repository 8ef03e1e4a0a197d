"""One step of a phase taken apart: who takes what, and what limits it."""

import numpy as np

from core.latency.protocol import Part, StepPlan
from core.latency.step import Plan
from core.latency.textbook import TextbookPlan
from core.serving.load import OperatorTime, Phase

BOUNDS = ("compute", "bandwidth", "link", "launch")


def engine_phases(plan: StepPlan, *points: tuple[float, float, float, float]) -> tuple[Phase, ...]:
    """Steps with sequences that decode, on so many tokens, and a chunk of a prompt, after so many tokens."""
    if isinstance(plan, Plan):
        apart = plan.parts_of(np.array(points).T)
    else:
        apart = tuple(plan.parts(*point) for point in points)
    return tuple(_phase(plan, parts, p[0], p[2]) for parts, p in zip(apart, points, strict=True))


def _phase(plan: StepPlan, parts: tuple[Part, ...], decoding: float, prefill: float) -> Phase:
    taken = [(part.compute, part.bandwidth, part.link, part.launch) for part in parts]
    bounds = [sum(column) for column in zip(*taken, strict=True)]
    total = sum(bounds)
    operators = [
        OperatorTime(part.key, sum(seconds), part.flops, part.bytes, BOUNDS[seconds.index(max(seconds))])
        for part, seconds in zip(parts, taken, strict=True)
    ]
    return Phase(
        seconds=total,
        shares={bound: seconds / total for bound, seconds in zip(BOUNDS, bounds, strict=True)},
        operators=tuple(sorted(operators, key=lambda o: -o.seconds)),
        compute_format=plan.compute_format,
        native=plan.is_native,
        requests=decoding,
        prompt_tokens=prefill,
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
        requests=decoding,
        prompt_tokens=prefill,
    )
