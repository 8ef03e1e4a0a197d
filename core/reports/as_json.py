"""An estimate as JSON for other programs.  The shape is stable within one ``schema``.

::

    {"format": "inferometer-estimate", "schema": 1,
     "scenario": {…the fields of a scenario file…},
     "verdict": {"state": "good" | "warn" | "bad", "headline": text, "detail": text, "missed": [key, …]},
     "memory": {"device_bytes", "budget_bytes", "needed_bytes", "kv_pool_bytes", "fits",
                "lines": [{"key", "bytes", "engine_word"}, …]},           # of one device
     "capacity": {"kv_bytes_per_token", "kv_tokens", "max_users", "max_users_at_model_length", "max_length"},
     "speed": null or {
        "time_to_first_token_s": {"low", "expected", "high"}, "first_token_parts_s": {…},
        "time_per_output_token_s": {…}, "output_tokens_per_s": {…}, "requests_per_s": {…},
        "users", "running", "stable", "prefill_share",
        "prefill": phase, "decode": phase},
     "cost": null or {                                       # of all devices; prices from the device's fields
        "power_w", "energy_j_per_token": {"low", "expected", "high"},
        "usd_per_hour": null or number, "usd_per_million_tokens": null or {…}},
     "calibration": null or name,
     "notes": [{"code", "severity", "paths", "text"}, …]}

What is ``missed`` are keys of results that miss their target, "cannot_run", and "rate" where more requests
come than are answered.

A phase is ``{"seconds", "bottleneck", "compute_format", "native", "shares": {bound: share},
"operators": [{"key", "seconds", "flops", "bytes", "bound"}, …]}``.  ``low`` to ``high`` is the band
that holds 80 % of measured cases.  A number that has no finite value is null.
"""

import json
import math
from dataclasses import asdict
from typing import Any

from core.errors import Problem
from core.planning.cost import Cost, running_cost
from core.quantities import Range
from core.results import Estimate, Speed
from core.serving.load import Phase
from core.words import Words

FORMAT = "inferometer-estimate"
SCHEMA = 1


def estimate_json(estimate: Estimate, words: Words) -> str:
    """The JSON text, two spaces deep, with a closing line end."""
    return to_json(estimate_tree(estimate, words))


def to_json(tree: Any) -> str:
    """Any tree as this program writes JSON: readable, in UTF-8, without NaN or infinity."""
    return json.dumps(_finite(tree), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def estimate_tree(estimate: Estimate, words: Words) -> dict[str, Any]:
    """The tree described at the head of this file."""
    ledger = estimate.ledger
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "scenario": estimate.scenario.model_dump(mode="json"),
        "verdict": {
            "state": estimate.verdict.state,
            "headline": words.phrase(estimate.verdict.headline),
            "detail": words.phrase(estimate.verdict.detail),
            "missed": list(estimate.verdict.missed),
        },
        "memory": {
            "device_bytes": ledger.device_bytes,
            "budget_bytes": ledger.budget_bytes,
            "needed_bytes": ledger.needed_bytes,
            "kv_pool_bytes": ledger.kv_pool_bytes,
            "fits": ledger.fits,
            "lines": [asdict(line) for line in ledger.lines],
        },
        "capacity": asdict(estimate.capacity),
        "speed": None if estimate.speed is None else _speed(estimate.speed),
        "cost": _cost(running_cost(estimate)),
        "calibration": estimate.calibration or None,
        "notes": [_note(problem, words) for problem in estimate.notes],
    }


def _speed(speed: Speed) -> dict[str, Any]:
    return {
        "time_to_first_token_s": _range(speed.time_to_first_token),
        "first_token_parts_s": dict(speed.first_token_parts),
        "time_per_output_token_s": _range(speed.time_per_output_token),
        "output_tokens_per_s": _range(speed.output_throughput),
        "requests_per_s": _range(speed.request_throughput),
        "users": speed.users,
        "running": speed.running,
        "stable": speed.stable,
        "prefill_share": speed.prefill_share,
        "prefill": _phase(speed.prefill),
        "decode": _phase(speed.decode),
    }


def _cost(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    million = cost.usd_per_million_tokens
    return {
        "power_w": cost.watts,
        "energy_j_per_token": _range(cost.joules_per_token),
        "usd_per_hour": cost.usd_per_hour,
        "usd_per_million_tokens": None if million is None else _range(million),
    }


def _range(value: Range) -> dict[str, float]:
    return {"low": value.low, "expected": value.expected, "high": value.high}


def _phase(phase: Phase) -> dict[str, Any]:
    return {
        "seconds": phase.seconds,
        "bottleneck": phase.bottleneck,
        "compute_format": phase.compute_format,
        "native": phase.native,
        "shares": dict(phase.shares),
        "operators": [asdict(operator) for operator in phase.operators],
    }


def _note(problem: Problem, words: Words) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity,
        "paths": list(problem.paths),
        "text": words.problem(problem),
    }


def _finite(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _finite(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_finite(value) for value in node]
    if isinstance(node, float) and not math.isfinite(node):
        return None
    return node
