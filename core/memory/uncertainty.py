"""How far a predicted figure may be off: the 80 % band of each line, by engine.

Widths are residuals of start-up logs, relative or in GiB (data/engines/uncertainty.json).
"""

import json
from functools import cache
from typing import Any

import resources
from core.spec.scenario import Scenario

_WIDE = {"relative": 0.1, "absolute": 0.0}


@cache
def _file() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/uncertainty.json"))
    return tree


def band_of(engine: str, metric: str, value: float, scenario: Scenario) -> tuple[float, float]:
    """The low and the high end of the 80 % band of a figure in its own unit."""
    rule = _file()["engines"].get(engine, {}).get(metric, _WIDE)
    width = max(abs(value) * float(rule["relative"]), float(rule["absolute"]))
    width *= 1.0 if well_known(engine, scenario) else float(_file()["elsewhere"]["factor"])
    return value - width, value + width


def well_known(engine: str, scenario: Scenario) -> bool:
    """Whether the widths were measured on this class of devices."""
    return engine != "vllm" or any(name in scenario.accelerator.name for name in _file()["measured_on"])
