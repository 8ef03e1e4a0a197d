"""What the roofline shows: ceilings of one device, and the operators of both phases; no painting here."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.latency.machine import activation_format, peak_flops
from core.planning.request_life import prompt_step_tokens
from core.planning.started import Started

PhaseName = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class Dot:
    """One operator: FLOP per byte, FLOP/s, and its share of the step."""

    key: str
    phase: PhaseName
    intensity: float  # inf where the formulas count no bytes
    rate: float
    share: float
    roof: float  # FLOP/s that the device allows at this intensity, in the format in use
    bound: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Roofs:
    """Ceilings, FLOP/s and bytes/s."""

    bandwidth: float
    peak: float
    compute: str  # format of ``peak``
    other_peak: float | None  # of attention and of 16-bit matrices, where it differs
    other: str


@dataclass(frozen=True, slots=True)
class RooflineData:
    """Everything to be drawn."""

    roofs: Roofs
    dots: tuple[Dot, ...]  # the largest shares first
    left_out: tuple[tuple[PhaseName, str, float], ...]  # phase, key, share of operators without FLOPs
    prompt_tokens: float
    running: float


def roofline_of(started: Started) -> RooflineData:
    """Points and ceilings of an estimate."""
    speed, device = started.speed, started.estimate.scenario.accelerator
    compute, other = speed.prefill.compute_format, activation_format(device)
    peak = peak_flops(device, compute)  # type: ignore[arg-type]
    other_peak = peak_flops(device, other)
    bandwidth = device.memory_bandwidth_gbps * 1e9
    if started.estimate.scenario.engine.name == "textbook":
        # The plain formulas take the devices of a group as one.
        together = started.estimate.scenario.deployment.tensor_parallel
        peak, other_peak, bandwidth = peak * together, other_peak * together, bandwidth * together
    roofs = Roofs(bandwidth, peak, compute, None if other_peak == peak else other_peak, other)
    dots, left_out = [], []
    phases: tuple[tuple[PhaseName, object], ...] = (("prefill", speed.prefill), ("decode", speed.decode))
    for name, phase in phases:
        for op in phase.operators:  # type: ignore[attr-defined]
            total = phase.seconds  # type: ignore[attr-defined]
            if not 0 < op.seconds < math.inf:
                continue
            share = min(1.0, op.seconds / total) if total > 0 else 0.0
            if 0 < op.flops < math.inf:
                intensity = op.flops / op.bytes if op.bytes > 0 else math.inf
                roof = min(peak, bandwidth * intensity)
                dots.append(
                    Dot(op.key, name, intensity, op.flops / op.seconds, share, roof, op.bound, op.seconds)
                )
            elif share > 0:
                left_out.append((name, op.key, share))
    good = [d for d in dots if d.intensity > 0 and math.isfinite(d.rate)]
    return RooflineData(
        roofs,
        tuple(sorted(good, key=lambda d: -d.share)),
        tuple(left_out),
        prompt_step_tokens(started.estimate.scenario, speed),
        speed.decode.requests,
    )


def wrapped(parts: Sequence[str], mark: str, fits: Callable[[str], bool]) -> list[str]:
    """Parts of a list in as many lines as they need, each as full as it can be."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{mark}{part}" if lines else part
        if lines and fits(longer + mark.rstrip()):  # with what ends a line
            lines[-1] = longer
        else:
            if lines:
                lines[-1] += mark.rstrip()
            lines.append(part)
    return lines
