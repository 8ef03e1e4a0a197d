"""In a search among few devices all is found that meets every target, whatever layout it takes."""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.planning.estimates import estimated
from core.planning.offers import Offer, nearness
from core.planning.recommend import recommend
from core.planning.search_space import combinations
from core.spec.change import with_values
from core.spec.scenario import Scenario

TARGETS = {
    "targets.time_to_first_token_s": 2.0,
    "targets.time_per_output_token_ms": 50.0,
    "targets.users": 8,
    "search.most_accelerators": 4,
}
CASES = {
    "long answers at a rate": (
        "tiiuae/falcon-40b",
        "B300 SXM",
        {
            "engine.name": "sglang",
            "workload.load": "requests",
            "workload.request_rate": 10.0,
            "workload.prompt_tokens": 1,
            "workload.output_tokens": 4000,
            "engine.max_model_len": 8192,
        },
    ),
    "a tight first token": (
        "THUDM/chatglm3-6b",
        "RTX 4000 Ada",
        {
            "engine.name": "trtllm",
            "workload.users": 2,
            "workload.prompt_tokens": 100,
            "targets.time_to_first_token_s": 0.1,
        },
    ),
    "more of what does": (
        "bigscience/bloom-560m",
        "A100 PCIe 80GB",
        {"engine.name": "vllm", "workload.prompt_tokens": 7000, "targets.time_to_first_token_s": 0.1},
    ),
}


@pytest.fixture(params=CASES)
def wanted(request):
    model, device, changes = CASES[request.param]
    base = Scenario(model=load_model(model), accelerator=load_accelerator(device))
    chosen = {**TARGETS, "precision.weights": "bf16", "search.devices": (device,), **changes}
    return with_values(base, chosen)


def test_hardware_is_offered_where_any_layout_meets_every_target(wanted):
    *_, state = recommend(wanted)
    answers = [estimated(wanted, c) for c in combinations(wanted) if c.reason is None]
    serving = {a.count for a in answers if isinstance(a, Offer) and not a.missed}
    assert serving and {offer.count for offer in state.offers} == serving


def test_what_is_found_late_is_counted_once(wanted):
    *_, state = recommend(wanted)
    failed = sum(failure.count for failure in state.failures)
    assert all(failure.count > 0 for failure in state.failures)
    assert state.meeting + failed <= state.total == state.searched
    near = {(offer.device.name, offer.count) for offer in state.near}
    assert not near & {(offer.device.name, offer.count) for offer in state.offers}


def test_the_nearest_miss_is_the_one_that_misses_by_least(wanted):
    hopeless = with_values(wanted, {"targets.time_to_first_token_s": 1e-3, "targets.users": None})
    *_, state = recommend(hopeless)
    assert not state.offers
    assert [nearness(offer) for offer in state.near] == sorted(nearness(offer) for offer in state.near)
    assert all(failure.count > 0 for failure in state.failures)
    assert sum(failure.count for failure in state.failures) == state.total
