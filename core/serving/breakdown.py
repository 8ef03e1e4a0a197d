"""One step of a phase taken apart: who takes what, and what limits it."""

from core.latency.protocol import StepPlan
from core.latency.textbook import TextbookPlan
from core.serving.load import OperatorTime, Phase

BOUNDS = ("compute", "bandwidth", "link", "launch")


def engine_phase(plan: StepPlan, decoding: float, context: float, prefill: float, history: float) -> Phase:
    """The step with ``decoding`` sequences on ``context`` tokens and a chunk of ``prefill`` tokens."""
    parts = plan.parts(decoding, context, prefill, history)
    total = sum(part.seconds for part in parts)
    operators = [
        OperatorTime(
            part.key, part.seconds, part.flops, part.bytes, max(BOUNDS, key=lambda b: getattr(part, b))
        )
        for part in parts
    ]
    return Phase(
        seconds=total,
        shares={bound: sum(getattr(part, bound) for part in parts) / total for bound in BOUNDS},
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
