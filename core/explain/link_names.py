"""What joins the devices of a scenario, by the name that people know: "NVLink bridge", "PCIe 4.0 ×16"."""

import re

from core.latency.machine import link_of
from core.spec.scenario import Scenario
from core.units import Shown
from core.words import Phrase

# Fast links with a name below "choices.links."; others are called what the device calls them.
NAMED = frozenset(
    ("nvlink_bridge", "nvlink", "xgmi", "hccs", "roce", "ici", "xelink", "ub", "neuronlink")
)  # fmt: skip


def link_said(scenario: Scenario) -> Phrase | Shown:
    """The link in use; "auto" is named by what it comes to, as in the form."""
    device, place = scenario.accelerator, scenario.deployment
    if place.link not in ("auto", "scale_up"):
        return Phrase(f"compare.links.{place.link}")
    group = place.tensor_parallel if place.tensor_parallel > 1 else place.group
    if group > 1 and link_of(device, place, group, False).kind == "network":
        return Phrase("choices.links.network")
    joined = group <= device.scale_up.max_devices or place.link == "scale_up"
    if device.scale_up.gbps_per_direction is not None and joined:
        return _fast(device.scale_up.kind)
    if device.pcie.gbps_per_direction is None:
        return Phrase("choices.links.unknown")
    if device.pcie.gen:
        values: dict[str, object] = {"gen": str(device.pcie.gen), "lanes": str(device.pcie.lanes or 16)}
        return Phrase("choices.links.pcie_gen", values)
    return Phrase("choices.links.pcie")


def _fast(kind: str) -> Phrase | Shown:
    stem = re.sub(r"[\d-].*", "", kind.replace("-bridge", "_bridge"))
    for name in (stem, stem.removesuffix("_bridge")):
        if name in NAMED:
            return Phrase(f"choices.links.{name}")
    return Shown(kind, "")
