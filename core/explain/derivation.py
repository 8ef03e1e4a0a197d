"""The working of a number: each step with its formula, the values put in, the result and its source.

``derive(estimate, key)`` answers for every number that the program shows; the keys are in ``KEYS``,
beside ``ledger.<line>``, ``step.<phase>``, ``roofline.<phase>`` and ``operator.<phase>.<operator>``.
The steps are trees that compute themselves (``core.explain.expression``), so what is written down is
what was computed.  Beside them stand the steps of the textbook rule, and why the two differ.
"""

from dataclasses import replace

from core.explain import (
    derivation_capacity,
    derivation_cost,
    derivation_memory,
    derivation_operators,
    derivation_time,
)
from core.explain.derivation_types import Derivation, Step
from core.explain.engine_notes import not_measured
from core.memory.ledger import LINE_ORDER
from core.results import Estimate
from core.words import Phrase

__all__ = ["KEYS", "Derivation", "Step", "derive", "keys_of"]

KEYS = (
    "time_to_first_token",
    "time_per_output_token",
    "output_throughput",
    "request_throughput",
    "memory_per_device",
    "concurrent_users",
    "kv_tokens",
    "kv_bytes_per_token",
    "max_users_at_model_length",
    "max_length",
    "energy_per_token",
    "cost_per_million_tokens",
)
_TIMES = frozenset(KEYS[:4])
_COSTS = frozenset(KEYS[-2:])
_PHASES = ("decode", "prefill")


def derive(point: Estimate, key: str) -> Derivation | None:
    """The working of one number; None where the number does not exist (a service that does not start)."""
    found = _derive(point, key)
    if found is None or not_measured(point.scenario) is None:
        return found
    return replace(found, steps=tuple(_generic(step) for step in found.steps))


def _generic(step: Step) -> Step:
    """What stands on the profile says so where the profile is a generic one."""
    if step.source.key != "derivation.sources.profile":
        return step
    return replace(step, source=Phrase("derivation.sources.profile_generic"))


def _derive(point: Estimate, key: str) -> Derivation | None:
    head, _, rest = key.partition(".")
    if head == "ledger":
        return derivation_memory.line(point, rest)
    if key == "memory_per_device":
        return derivation_memory.device(point)
    if key in _TIMES:
        return None if point.speed is None else derivation_time.derive_time(point, point.speed, key)
    if key in _COSTS:
        return None if point.speed is None else derivation_cost.derive_cost(point, point.speed, key)
    if head in ("step", "roofline", "operator"):
        return None if point.speed is None else derivation_operators.derive_step(point, point.speed, key)
    return derivation_capacity.derive_capacity(point, key)


def keys_of(point: Estimate) -> tuple[str, ...]:
    """Every key that ``derive`` answers for this estimate."""
    present = {line.key for line in point.ledger.lines}
    lines = tuple(f"ledger.{key}" for key in LINE_ORDER if key in present)
    if point.speed is None:
        return (*(key for key in KEYS if key not in _TIMES | _COSTS), *lines)
    steps = []
    for phase in _PHASES:
        steps += [f"step.{phase}", f"roofline.{phase}"]
        steps += [f"operator.{phase}.{op.key}" for op in getattr(point.speed, phase).operators]
    return (*KEYS, *lines, *steps)
