"""The plain formulas of a first course: weights over bandwidth, two FLOPs a parameter and token.

decode step = max(weight bytes / bandwidth, 2 N b / compute)        prefill = 2 N L / compute
"""

from dataclasses import dataclass
from functools import lru_cache

from core.latency.machine import Identity, compute_format, is_native, peak_flops
from core.model.parameters import active_parameters, plain_weight_bytes, stored_parameters
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture
from core.spec.deployment import Deployment
from core.spec.engine import Precision
from core.spec.formats import WEIGHT_FORMATS, ComputeFormat


@dataclass(frozen=True, slots=True)
class TextbookPlan:
    """A model on the devices of one replica, by the plain formulas."""

    read_bytes: float  # weights that one decoded token reads
    parameters: float  # that one token is multiplied with
    bandwidth: float  # bytes/s of the devices together
    peak: float  # FLOP/s of the devices together
    compute: ComputeFormat
    native: bool


def textbook_plan(
    architecture: Architecture, device: Accelerator, deployment: Deployment, precision: Precision
) -> TextbookPlan:
    """The plan of a model; active weights only for mixtures of experts."""
    return _plan(Identity(architecture), Identity(device), deployment.tensor_parallel, precision.weights)


@lru_cache(maxsize=256)
def _plan(
    architecture: Identity[Architecture], accelerator: Identity[Accelerator], devices: int, weight_format: str
) -> TextbookPlan:
    arch, device, weights = architecture.it, accelerator.it, WEIGHT_FORMATS[weight_format]
    stored, active = stored_parameters(arch), active_parameters(arch)
    if arch.groups and not any(g.channel_mixer.kind == "moe" for g in arch.groups):
        active = stored  # the rule of thumb counts every parameter of a dense model
    compute = compute_format(device, weights)
    return TextbookPlan(
        read_bytes=plain_weight_bytes(arch, weights) * active / max(1, stored),
        parameters=float(active),
        bandwidth=device.memory_bandwidth_gbps * 1e9 * devices,
        peak=peak_flops(device, compute) * devices,
        compute=compute,
        native=is_native(device, weights),
    )
