"""Names that go by the device and the engine: what NVIDIA calls CUDA graphs has another maker's name
elsewhere, a processor is no GPU, and not every cache lies in blocks.
"""

from core.memory.ledger import LineKey
from core.results import Estimate
from core.spec.accelerator import Accelerator
from core.spec.engine import LLAMA, SERVERS, EngineName
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


def outside_key(point: Estimate) -> str:
    """What lies beyond the budget, or beyond what was taken, as a word of ``ledger`` and of the steps."""
    return "unused" if taken_at_start(point) else "outside"


def title_of(point: Estimate, key: LineKey | str) -> Phrase:
    """The name of a line of an estimate's ledger."""
    return line_name(outside_key(point) if key == "outside" else key, point.scenario.accelerator)


def budget_key(point: Estimate) -> str:
    """The budget, or what stands in its place, as a word of ``ledger`` and of the steps.

    What llama.cpp and Ollama take at their start, and where they do not fit the device's own memory, for
    which they have no limit of their own.
    """
    if taken_at_start(point):
        return "taken"
    ledger = point.ledger
    whole = point.scenario.engine.name in LLAMA and ledger.budget_bytes == ledger.device_bytes
    return "device" if whole else "budget"


def of_cache(engine: EngineName, key: str) -> str:
    """The key of a text about the blocks of a cache, or of the one for caches that have none.

    llama.cpp and Ollama reserve cells, one a token; the rest let the cache grow piece by piece.
    """
    if engine in SERVERS:
        return key
    return f"{key}_cells" if engine in LLAMA else f"{key}_pieces"


def cache_entry(engine: EngineName) -> str:
    """The entry of the glossary that says how an engine keeps its cache."""
    if engine in SERVERS:
        return "paged_attention"
    return "slot" if engine in LLAMA else "kv_cache"


def taken_at_start(point: Estimate) -> bool:
    """Whether the budget is no limit but what the engine takes as it starts, as much as it needs.

    Where llama.cpp and Ollama do not fit, their budget is all that the device has.
    """
    return point.scenario.engine.name in LLAMA and point.ledger.fits
