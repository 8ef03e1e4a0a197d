"""What to measure next: the three runs that tell most of what is not known yet, beside those there are.

Each run moves the factors by its own slopes.  That one is taken after which least is left of

    sum over the factors of (variance now) / (variance before any run)

then the next beside it (A-optimal design in units of the priors).  A factor that is known already has little
to give to that sum, however sharply a run would tell it once more.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from core.errors import InferometerError
from core.evidence.calibration_fit import PRIORS
from core.evidence.calibration_rows import Linear, Rows, rows_of
from core.evidence.served import Case, Group
from core.latency.efficiency import SERVER_ENGINES
from core.memory.build import build_ledger
from core.memory.capacity import capacity
from core.quantities import FloatArray
from core.spec.calibration import FACTORS, FactorName
from core.spec.scenario import Scenario
from core.spec.workload import Workload

RUNS = 3
_STILL, _BEYOND = 1e-4, 0.64  # slope of a time that does not move; share that is left with every load run
_TELLING = 0.03  # of a prior's variance, from which on a run is said to tell a factor
_USERS = (1, 8, 32, 128)
_LENGTHS = ((128, 256), (1024, 512), (4096, 64), (16384, 32))  # prompt, answer
_FIGURES: tuple[tuple[str, Group], ...] = (("ttft", "server TTFT"), ("tpot", "server TPOT"))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run to make: the scenario's engine and settings at this load.

    ``tells``: the factors that it takes most of the remaining doubt from, the first most.
    """

    users: int
    prompt_tokens: int
    output_tokens: int
    requests: int  # that are enough for steady figures
    tells: tuple[FactorName, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs to make, and the factors that times here hang on but that no load would tell."""

    runs: tuple[Measurement, ...] = ()
    beyond: tuple[FactorName, ...] = ()


def plan_of(scenario: Scenario, rows: Rows | None = None, linear: Linear | None = None) -> Plan:
    """What to measure; nothing for an engine that is not calibrated."""
    if scenario.engine.name == "textbook":
        return Plan()
    loads = _loads(scenario)
    if not loads:
        return Plan()
    cases = [case for load in loads for case in _cases(scenario, *load)]
    new = rows_of(cases)
    slopes = new.slopes() / new.scales[:, None]
    information = np.diag([PRIORS[name] ** -2.0 for name in FACTORS])
    if rows is not None and linear is not None:
        known = linear.slopes[linear.fitted] / rows.scales[linear.fitted][:, None]
        information = information + known.T @ known
    left = unknown(information + slopes.T @ slopes)
    moved = np.asarray(np.abs(slopes).max(axis=0)) > _STILL
    beyond = tuple(name for i, name in enumerate(FACTORS) if moved[i] and left[i] > _BEYOND)
    return Plan(_chosen(loads, slopes.reshape(len(loads), len(_FIGURES), len(FACTORS)), information), beyond)


def _loads(scenario: Scenario) -> list[tuple[int, int, int]]:
    """Users, prompt and answer that the engine admits and the cache holds."""
    longest = min(scenario.engine.max_model_len, scenario.model.max_context)
    try:
        tokens = capacity(scenario, build_ledger(scenario)).kv_tokens
    except InferometerError:
        return []
    most = 128 if scenario.engine.name in SERVER_ENGINES else 1
    return [
        (users, prompt, answer)
        for users, (prompt, answer) in product(_USERS, _LENGTHS)
        if users <= most and prompt + answer <= longest and users * (prompt + answer) <= 0.9 * tokens
    ]


def _cases(scenario: Scenario, users: int, prompt: int, answer: int) -> list[Case]:
    work = Workload(users=users, prompt_tokens=prompt, output_tokens=answer)
    changed = scenario.model_copy(update={"workload": work, "engine": _plain(scenario)})
    details: dict[str, Any] = {"model": "", "gpu": scenario.accelerator.name, "stack": ""}
    return [
        Case("", group, metric, 1.0, changed, "users", float(users), **details) for metric, group in _FIGURES
    ]


def _plain(scenario: Scenario) -> Any:
    return scenario.engine.model_copy(update={"calibration": ""})


def unknown(information: FloatArray) -> FloatArray:
    """Of each factor's prior variance the share that is left, (factors,): 1 nothing is known, 0 all is."""
    priors = np.array([PRIORS[name] for name in FACTORS])
    return np.asarray(np.diag(np.linalg.inv(information)) / priors**2)


def _chosen(
    loads: list[tuple[int, int, int]], slopes: FloatArray, information: FloatArray
) -> tuple[Measurement, ...]:
    found: list[Measurement] = []
    left = list(range(len(loads)))
    while left and len(found) < RUNS:
        remaining = [unknown(information + slopes[i].T @ slopes[i]).sum() for i in left]
        best = left.pop(int(np.argmin(remaining)))
        before = unknown(information)
        information = information + slopes[best].T @ slopes[best]
        narrowed = before - unknown(information)
        order = np.argsort(-narrowed)
        tells = tuple(FACTORS[i] for i in order[:2] if narrowed[i] > _TELLING)
        if not tells:
            break  # nothing is left that a run would tell
        users, prompt, answer = loads[best]
        found.append(Measurement(users, prompt, answer, max(10 * users, 20), tells))
    return tuple(found)
