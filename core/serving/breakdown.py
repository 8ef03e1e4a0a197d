"""One step of a phase taken apart: who takes what, and what limits it."""

from core.latency.protocol import StepPlan
from core.latency.textbook import TextbookPlan
from core.serving.load import OperatorTime, Phase

BOUNDS = ("compute", "bandwidth", "link", "launch")


def engine_phase(plan: StepPlan, decoding: float, context: float, prefill: float, history: float) -> Phase:
    """The step with ``decoding`` sequences on ``context`` tokens and a chunk of ``prefill`` tokens."""
    parts = plan.parts(decoding, context, prefill, history)
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
