"""One thing has one number wherever it is told."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.explain.derivation_time import terms_of
from core.files import scenario_file
from core.latency.textbook import textbook_plan
from core.serving.simulator import simulate
from core.serving.steady_state import prepare
from core.spec.change import with_values


@pytest.fixture
def loaded(samples):
    return [scenario_file.load(path) for path in samples]


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("stages", [1, 2])
def test_the_decode_step_of_the_estimate_is_that_of_the_derivation(loaded, which, stages):
    scenario = loaded[which]
    place = scenario.deployment
    if stages == 2:
        if place.accelerators == 1:
            pytest.skip("one device has one stage")
        layout = {"tensor_parallel": place.accelerators // 2, "pipeline_parallel": 2}
        scenario = with_values(scenario, {f"deployment.{name}": value for name, value in layout.items()})
    point = estimate(scenario)
    terms = terms_of(point, prepare(scenario))
    assert point.speed.decode.seconds == pytest.approx(terms["step"], rel=1e-9)
    assert point.speed.decode.requests == pytest.approx(terms["decoding"], rel=1e-9)


@pytest.mark.parametrize("weights", ["bf16", "int8", "int4", "awq_g128"])
def test_the_textbook_reads_the_weights_that_it_counts(loaded, weights):
    """Parameters × bytes in the memory as in the time of a token."""
    scenario = with_values(
        loaded[1], {"engine.name": "textbook", "precision.weights": weights, "targets.users": None}
    )
    devices = scenario.deployment.tensor_parallel
    rule = textbook_plan(
        scenario.model.architecture, scenario.accelerator, scenario.deployment, scenario.precision
    )
    held = estimate(scenario).ledger.bytes_of("weights")
    assert rule.read_bytes == pytest.approx(held * devices, rel=1e-9)


def test_what_lacks_room_for_one_request_lacks_no_more(loaded):
    """A server lets the others wait: what is short is what one request needs."""
    scenario = with_values(loaded[2], {"accelerator": load_accelerator("H20 96GB")})
    point = estimate(scenario)
    assert point.speed is None
    alone = estimate(with_values(scenario, {"workload.users": 1, "targets.users": None}))
    assert point.ledger == alone.ledger
    short = point.ledger.needed_bytes - point.ledger.budget_bytes
    share = scenario.engine.gpu_memory_utilization
    more = share + 1.01 * short / point.ledger.device_bytes
    assert more < 0.95
    assert estimate(with_values(scenario, {"engine.gpu_memory_utilization": more})).ledger.fits


def test_the_first_user_finds_the_engine_empty(loaded):
    """Users collide with those who are there, not with those to come."""
    busy = simulate(with_values(loaded[1], {"workload.users": 16})).records
    alone = simulate(with_values(loaded[1], {"workload.users": 1})).records
    waits = np.array(busy.first) - np.array(busy.arrival)
    own = alone.first[0] - alone.arrival[0]
    assert waits[0] == pytest.approx(own, rel=0.02)
    assert np.all(np.diff(waits[:8]) > 0)
    assert waits[-1] > 1.5 * own
