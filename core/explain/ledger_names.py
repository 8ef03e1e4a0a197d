"""Names that go by the device: what NVIDIA calls CUDA graphs has another maker's name elsewhere, and a
processor is no GPU.
"""

from core.memory.ledger import LineKey
from core.results import Estimate
from core.spec.accelerator import Accelerator
from core.spec.engine import LLAMA
from core.words import Phrase


def has_cuda(device: Accelerator) -> bool:
    """Whether the device's own words are CUDA's; a device of no vendor is taken for one."""
    return device.vendor in ("NVIDIA", "") and device.kind != "cpu"


def of_device(device: Accelerator, key: str) -> str:
    """The key of a text, or of the one that stands in for it where the device is a processor."""
    return f"{key}_cpu" if device.kind == "cpu" else key


def line_name(key: LineKey | str, device: Accelerator, head: str = "ledger") -> Phrase:
    """The name of a line of the ledger of a device; ``head`` is where the names stand."""
    return Phrase(f"{head}.graphs_plain" if key == "graphs" and not has_cuda(device) else f"{head}.{key}")


def taken_at_start(point: Estimate) -> bool:
    """Whether the budget is no limit but what the engine takes as it starts, as much as it needs.

    Where llama.cpp and Ollama do not fit, their budget is all that the device has.
    """
    return point.scenario.engine.name in LLAMA and point.ledger.fits
