"""What to measure next: the three runs that tell the factors apart best, beside those there are.

Each run moves the factors by its own slopes; that one is taken whose figures add most to the logarithm of
the determinant of the information, then the next beside it.
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
_USERS = (1, 8, 32, 128)
_LENGTHS = ((128, 256), (1024, 512), (4096, 64), (16384, 32))  # prompt, answer
_FIGURES: tuple[tuple[str, Group], ...] = (("ttft", "server TTFT"), ("tpot", "server TPOT"))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run to make: the scenario's engine and settings at this load.

    ``tells``: the factors that it narrows most, the first most.
    """

    users: int
    prompt_tokens: int
    output_tokens: int
    requests: int  # that are enough for steady figures
    tells: tuple[FactorName, ...]


def measurements(
    scenario: Scenario, rows: Rows | None = None, linear: Linear | None = None
) -> tuple[Measurement, ...]:
    """The runs to make; none for an engine that is not calibrated."""
    if scenario.engine.name == "textbook":
        return ()
    loads = _loads(scenario)
    if not loads:
        return ()
    cases = [case for load in loads for case in _cases(scenario, *load)]
    new = rows_of(cases)
    slopes = new.slopes() / new.scales[:, None]
    information = np.diag([PRIORS[name] ** -2.0 for name in FACTORS])
    if rows is not None and linear is not None:
        known = linear.slopes[linear.fitted] / rows.scales[linear.fitted][:, None]
        information = information + known.T @ known
    return _chosen(loads, slopes.reshape(len(loads), len(_FIGURES), len(FACTORS)), information)


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


def _chosen(
    loads: list[tuple[int, int, int]], slopes: FloatArray, information: FloatArray
) -> tuple[Measurement, ...]:
    found: list[Measurement] = []
    left = list(range(len(loads)))
    while left and len(found) < RUNS:
        gains = [np.linalg.slogdet(information + slopes[i].T @ slopes[i])[1] for i in left]
        best = left.pop(int(np.argmax(gains)))
        before = np.diag(np.linalg.inv(information))
        information = information + slopes[best].T @ slopes[best]
        narrowed = 1.0 - np.diag(np.linalg.inv(information)) / before
        order = np.argsort(-narrowed)
        tells = tuple(FACTORS[i] for i in order[:2] if narrowed[i] > 0.05)
        users, prompt, answer = loads[best]
        found.append(Measurement(users, prompt, answer, max(10 * users, 20), tells))
    return tuple(found)
