"""How far a predicted figure may be off: the 80 % band of each line, by engine.

Widths are residuals of start-up logs (data/engines/uncertainty.json, made by
``core.evidence.memory_bands``).
"""

import json
from functools import cache
from typing import Any

import resources
from core.spec.scenario import Scenario

# No log of such a figure was compared.
_WIDE = {"relative": 0.1}


@cache
def _file() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/uncertainty.json"))
    return tree


def band_of(engine: str, metric: str, value: float, scenario: Scenario) -> tuple[float, float]:
    """The low and the high end of the 80 % band of a figure in its own unit."""
    rule = _file()["engines"].get(engine, {}).get(metric, _WIDE)
    if "home" in rule:
        at_home = any(name in scenario.accelerator.name for name in _file()["home"])
        rule = rule["home" if at_home else "elsewhere"]
    width = max(abs(value) * float(rule.get("relative", 0.0)), float(rule.get("absolute", 0.0)))
    return value - width, value + width
