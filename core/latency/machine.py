"""One device, or many side by side, as the rates that a step runs against."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from core.spec.accelerator import Accelerator
from core.spec.deployment import Deployment
from core.spec.formats import ComputeFormat, WeightFormat

T = TypeVar("T")


class Identity(Generic[T]):
    """A key for caches that compares by identity: hashing a large record on every call is slow."""

    __slots__ = ("it",)

    def __init__(self, it: T) -> None:
        self.it = it

    def __hash__(self) -> int:
        return id(self.it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.it is other.it


@dataclass(frozen=True, slots=True)
class Link:
    """What joins the devices of one tensor-parallel group."""

    kind: str  # key of the all-reduce fits
    bytes_per_second: float  # one direction of one device


_ACTIVATION_FORMATS: tuple[ComputeFormat, ...] = ("bf16", "fp16", "fp32")
_DEVICES_OF_A_NODE = 8
_PCIE = {"pcie_host": "pcie_staged", "pcie_switch": "pcie_switch", "pcie_sockets": "pcie_sockets"}
_FALLBACK_LINK = 16e9  # bytes/s, where neither link of a device is known: PCIe 3 x16


def supports(device: Accelerator, compute: ComputeFormat) -> bool:
    """Whether the device multiplies in this format by itself."""
    return getattr(device.peak_tflops, compute) is not None


def peak_flops(device: Accelerator, compute: ComputeFormat) -> float:
    """Peak of a format, FLOP/s; a device without it runs at the best rate it has for 16 or 32 bit."""
    rates = device.peak_tflops
    for name in (compute, "bf16", "fp16", "fp32", "tf32", "int8", "fp8"):
        rate = getattr(rates, name)
        if rate is not None:
            return float(rate) * 1e12
    return 1e12


def compute_format(device: Accelerator, weights: WeightFormat) -> ComputeFormat:
    """The unit that multiplies the narrow matrices: the first of the format's list that the device has.

    Block-scaled FP8 operands (MXFP4 weights, MXFP8) need the units that came with FP4.
    """
    for compute in weights.computes:
        if compute == "fp8" and weights.key.startswith("mx") and device.peak_tflops.fp4 is None:
            continue
        if supports(device, compute):
            return compute
    return weights.computes[-1]


_NARROW: frozenset[ComputeFormat] = frozenset({"fp8", "int8", "int4", "fp4"})


def is_native(device: Accelerator, weights: WeightFormat) -> bool:
    """Whether weights are multiplied as stored; False: they are expanded first."""
    compute = compute_format(device, weights)
    return weights.bits >= 16 or (compute == weights.computes[0] and compute in _NARROW)


def activation_format(device: Accelerator) -> ComputeFormat:
    """The unit of attention and of 16-bit matrices."""
    return next((f for f in _ACTIVATION_FORMATS if supports(device, f)), "fp32")


def link_of(device: Accelerator, deployment: Deployment, devices: int, halves_accumulation: bool) -> Link:
    """The link among ``devices``: the network where they stand in several nodes, the fast one where the
    device has it and it reaches far enough, else PCIe.
    """
    fast, asked = device.scale_up, deployment.link
    apart = deployment.nodes > 1 and devices > deployment.devices_of_a_node
    reaches = (devices <= fast.max_devices and asked == "auto") or asked == "scale_up"
    if fast.gbps_per_direction is not None and reaches and not apart:
        return Link(_link_kind(fast.kind), fast.gbps_per_direction * 1e9)
    if apart or devices > _DEVICES_OF_A_NODE:
        return network_of(device, deployment)
    rate = device.pcie.gbps_per_direction
    kind = "pcie_staged" if halves_accumulation else _PCIE.get(asked, "pcie")
    return Link(kind, _FALLBACK_LINK if rate is None else rate * 1e9)


def network_of(device: Accelerator, deployment: Deployment) -> Link:
    """What joins nodes; a device's adapter is no faster than its way to it."""
    rate = deployment.network_gbit_per_s * 1e9 / 8
    way = device.pcie.gbps_per_direction
    return Link("network", rate if way is None else min(rate, way * 1e9))


def hand_over_of(device: Accelerator, deployment: Deployment) -> Link:
    """What carries a cache from a device that reads prompts to one that answers."""
    if deployment.nodes > 1:
        return network_of(device, deployment)
    return link_of(device, deployment, deployment.accelerators, False)


def _link_kind(kind: str) -> str:
    if "bridge" in kind:
        return "bridge"
    if kind in ("nvlink3", "nvlink4", "nvlink5"):
        return kind
    if kind.startswith("nvlink"):
        return "nvlink"
    return "xgmi" if kind.startswith("xgmi") else "other"
