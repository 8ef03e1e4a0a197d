"""One thing has one number wherever it is told."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation_time import terms_of
from core.explain.verdict import OVERLOADED
from core.files import scenario_file
from core.latency.textbook import textbook_plan
from core.planning.advise import judged, missed_keys
from core.planning.estimates import estimated
from core.planning.hardware_moves import host_memory
from core.planning.moves import most_users_within
from core.planning.offers import Offer
from core.planning.search_space import Combination
from core.reports.simulation import detail
from core.serving.simulator import simulate
from core.serving.steady_state import prepare
from core.spec.change import with_values
from core.units import show_bytes
from core.words import Words


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


@pytest.mark.parametrize("limit", [60.0, 80.0, 99.0, 104.0])
def test_advice_counts_users_to_the_last_that_meets_the_targets(loaded, limit):
    changes = {"targets.time_to_first_token_s": None, "targets.users": None}
    scenario = with_values(loaded[1], {**changes, "targets.time_per_output_token_ms": limit})
    point = estimate(scenario)

    def good(users):
        speed = estimate(with_values(scenario, {"workload.users": users})).speed
        return 1e3 * speed.time_per_output_token.expected <= limit

    most = most_users_within(point, point.capacity.at_once)
    assert good(most) and (most == point.capacity.at_once or not good(most + 1))


def test_advice_names_the_engine_that_takes_layers_to_the_host(loaded):
    scenario = with_values(loaded[1], {"model": load_model("deepseek-ai/DeepSeek-V3")})
    (move,) = host_memory(scenario)
    said = Words("en").phrase(move.title)
    assert said.startswith("llama.cpp, GGUF Q4_K_M: ")
    after = judged(estimate(scenario), estimate(changed_by(scenario, move)), move)
    assert after.estimate.ledger.needed_bytes > estimate(scenario).ledger.budget_bytes
    limit = f"{show_bytes(after.estimate.ledger.budget_bytes)}"
    assert limit in Words("en").phrase(after.cautions[0])


def changed_by(scenario, move):
    """The scenario after a move."""
    return with_values(scenario, {change.path: change.value for change in move.changes})


@pytest.mark.parametrize("spread", [False, True])
def test_a_run_in_step_says_so(loaded, spread):
    lengths = {"simulation.output_lengths": "lognormal" if spread else "fixed", "simulation.requests": 100}
    result = simulate(with_values(loaded[0], {"workload.users": 4, **lengths}))
    told = [phrase.key for phrase in detail(result)]
    assert ("simulate.detail.in_step" in told) != spread


def test_shares_and_rates_say_whose_they_are(loaded):
    """Where many who came are still waiting, the share is not that of the rates."""
    load = {"workload.load": "requests", "simulation.requests": 200, "simulation.warm_up": 0.1}
    calm = simulate(with_values(loaded[0], {**load, "workload.request_rate": 0.5}))
    busy = simulate(with_values(loaded[1], {**load, "workload.request_rate": 0.35}))
    assert "simulate.detail.meeting" in {phrase.key for phrase in detail(calm)}
    (said,) = (phrase for phrase in detail(busy) if phrase.key.startswith("simulate.detail.meeting"))
    assert said.key == "simulate.detail.meeting_of"
    assert said.values["came"] == f"{busy.time_to_first_token.count}"
    assert said.values["ended"] == f"{busy.answered}"


def test_a_service_that_cannot_keep_up_misses_the_rate_in_estimate_and_search(scenario):
    """Targets of none of its times: the rate is missed all the same, by the same word."""
    changes = {"workload.load": "requests", "workload.request_rate": 1e4}
    none = {f"targets.{name}": None for name in type(scenario.targets).model_fields}
    point = estimate(with_values(scenario, changes | none))
    assert point.speed is not None and not point.speed.stable
    assert point.verdict.missed == (OVERLOADED,)
    assert missed_keys(point) == ("stable",)
    place = point.scenario.deployment
    formats = point.scenario.precision
    combination = Combination(
        point.scenario.accelerator, place, formats.weights, formats.kv_cache, price=None
    )
    found = estimated(point.scenario, combination, whole=True)
    assert isinstance(found, Offer) and found.missed == (OVERLOADED,)
