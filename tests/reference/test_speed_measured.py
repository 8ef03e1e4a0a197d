"""Served speeds against the estimate: medians over all rows, and each row within the shown range or near it.

Sources stand in ``speed_measured.json``.  The rows belong to the families on which the forms of
the terms were found, so this guards the accuracy reached; it does not prove it on new ones.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory.build import build_ledger
from core.memory.capacity import capacity
from core.quantities import EXPECTED, HIGH, LOW
from core.serving.steady_state import closed_loop, open_loop, prepare
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

DATA = json.loads((Path(__file__).parent / "speed_measured.json").read_text(encoding="utf-8"))


def predicted(row):
    tp = row.get("tensor_parallel", 1)
    scenario = Scenario(
        model=load_model(row["model"]),
        accelerator=load_accelerator(row["device"]),
        deployment=Deployment(accelerators=tp, tensor_parallel=tp),
        precision=Precision(weights=row["weights"], kv_cache=row.get("kv_cache", "bf16")),
        engine=Engine(max_model_len=10240),
        workload=Workload(
            prompt_tokens=row["prompt"], output_tokens=row["output"], users=int(row.get("users", 8))
        ),
    )
    pool = capacity(scenario, build_ledger(scenario)).kv_tokens
    if "rate" in row:
        return open_loop(prepare(scenario), np.array([row["rate"]]), pool)
    return closed_loop(prepare(scenario), np.array([float(row["users"])]), pool)


@pytest.fixture(scope="module")
def closed():
    return [(row, predicted(row)) for row in DATA["closed"]]


def errors(pairs, name, key):
    return np.array([abs(getattr(c, name)[EXPECTED, 0] * 1e3 / row[key] - 1) for row, c in pairs])


def test_time_per_output_token(closed):
    """Fitted families reached 7.6 / 20 % (median / p90) in the study the terms come from."""
    off = errors(closed, "time_per_output_token", "tpot_ms")
    assert np.median(off) <= 0.06
    assert np.quantile(off, 0.9) <= 0.20


def test_time_to_first_token(closed):
    """The same study: 23.9 / 66 %."""
    off = errors(closed, "time_to_first_token", "ttft_ms")
    assert np.median(off) <= 0.25
    assert np.quantile(off, 0.9) <= 0.66


def test_ranges_hold_four_in_five(closed):
    for name, key in (("time_per_output_token", "tpot_ms"), ("time_to_first_token", "ttft_ms")):
        inside = [
            getattr(c, name)[LOW, 0] * 1e3 <= row[key] <= getattr(c, name)[HIGH, 0] * 1e3 for row, c in closed
        ]
        assert np.mean(inside) >= 0.8, name


@pytest.mark.parametrize("row", DATA["open"], ids=lambda r: r["id"])
def test_arrivals_at_a_rate(row):
    """Single runs of an older release: within 25 % (TPOT) and 40 % (TTFT)."""
    curve = predicted(row)
    assert curve.time_per_output_token[EXPECTED, 0] * 1e3 == pytest.approx(row["tpot_ms"], rel=0.25)
    assert curve.time_to_first_token[EXPECTED, 0] * 1e3 == pytest.approx(row["ttft_ms"], rel=0.40)
