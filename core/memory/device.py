"""How much memory of a device a program can reach."""

import json
from functools import cache, lru_cache
from typing import Any

import resources
from core.spec.accelerator import Accelerator
from core.units import GB, GIB

MIB = 2**20


@cache
def _totals() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/device_totals.json"))
    return tree


def driver_total_bytes(device: Accelerator) -> int:
    """Total memory as CUDA or HIP reports it to a program, bytes.

    The listed figure where logs give one and the entry reports the size it was listed for; else what
    nvidia-smi reports, or the nominal size in GiB, less the share that the driver keeps.
    """
    if device.memory_gib_driver is not None:
        return round(device.memory_gib_driver * GIB)
    return _driver_total(
        device.name, device.memory_mib_reported, device.memory_gb_nominal, device.unified_memory
    )


@lru_cache(maxsize=1024)
def _driver_total(name: str, reported_mib: int | None, nominal_gb: float, unified: bool) -> int:
    visible = round(nominal_gb * GIB) if reported_mib is None else reported_mib * MIB
    listed = _totals()["gib"].get(name)
    if listed is not None:
        total = round(float(listed["value"]) * GIB)
        # A catalogue name with another size (an edited entry) is another device.
        if 0.9 * visible <= total <= visible:
            return total
    if unified:
        return visible
    rule = _totals()["carve_out"]
    kept = float(min(rule["base_gib"] * GIB + rule["share"] * visible, rule["limit_gib"] * GIB))
    return max(0, round(visible - min(kept, visible / 10)))


def nominal_bytes(device: Accelerator) -> int:
    """The size on the data sheet in decimal gigabytes, as hand calculations take it."""
    return round(device.memory_gb_nominal * GB)
