"""Which part of a model stays in host memory, and what its work costs there.

llama.cpp keeps the last ``n_gpu_layers`` layers on the devices; the output matrix counts as one more.
``n_cpu_moe`` leaves the experts of the first layers in host memory.  Work on what stays there is done by
the processor at the rate of its memory; for prompts the weights may cross the link to the device
instead, where they are multiplied: the engine does so for batches, and so does the faster way here.
"""

from dataclasses import dataclass

from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, MixtureOfExperts
from core.spec.engine import Engine

_FALLBACK_LINK = 16e9  # bytes/s, where a device does not say: PCIe 3 x16
# Tokens of a micro-batch from which llama.cpp copies weights to the device (ggml-cuda, op_offload).
LEAST_COPIED_BATCH = 32.0


@dataclass(frozen=True, slots=True)
class Placement:
    """Shares of each part that are in host memory, 0 to 1."""

    layers: float = 0.0  # whole layers, with their cache
    experts: float = 0.0  # routed experts, whole layers included
    head: float = 0.0
    cache: float = 0.0
    crossings: float = 0.0  # changes between device and processor in one step

    @property
    def anything(self) -> bool:
        """Whether anything at all is left to the host."""
        return max(self.layers, self.experts, self.head, self.cache) > 0


def placement(arch: Architecture, engine: Engine, device: Accelerator) -> Placement:
    """Where an engine with llama.cpp's settings puts the parts of a model."""
    if engine.name not in ("llamacpp", "ollama") or device.kind == "cpu" or device.unified_memory:
        return Placement()
    layers = arch.layers
    asked = layers + 1 if engine.n_gpu_layers is None else engine.n_gpu_layers
    if asked > layers and not engine.n_cpu_moe and not engine.kv_on_host:
        return Placement()
    left = max(0, layers - asked)
    mixtures = [
        isinstance(group.channel_mixer, MixtureOfExperts) for group in arch.groups for _ in range(group.count)
    ]
    total = sum(mixtures)
    first = max(left, min(engine.n_cpu_moe, layers))
    experts = sum(mixtures[:first]) / total if total else 0.0
    split = sum(mixtures[left:first])  # layers that compute on both sides
    on_host = engine.kv_on_host
    return Placement(
        layers=left / layers,
        experts=experts,
        head=0.0 if asked > layers else 1.0,
        cache=1.0 if on_host else left / layers,
        crossings=2.0 * split
        + (1.0 if left or asked <= layers else 0.0)
        + (2.0 * (layers - left) if on_host else 0.0),
    )


def link_bytes_per_second(device: Accelerator) -> float:
    """One direction of the link between host and device."""
    rate = device.pcie.gbps_per_direction
    return _FALLBACK_LINK if rate is None else rate * 1e9
