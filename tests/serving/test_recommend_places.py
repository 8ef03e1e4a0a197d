"""Searches with engines that have places for so many requests; slots that are set: test_recommend_slots."""

import math

import pytest

from core.files import scenario_file
from core.planning.estimates import estimated
from core.planning.offers import Offer
from core.planning.recommend import recommend
from core.planning.search_space import combinations, combining
from core.spec.change import with_values

FEW = ("RTX 2060 12GB", "RTX 4090", "L40S", "Instinct MI300X", "Radeon RX 7900 XTX", "Apple M3 Ultra")
FORMATS = {"llamacpp": "gguf_q4_k_m", "ollama": "gguf_q4_k_m", "transformers": "bf16", "mlx": "mlx_4bit"}


def under(samples, engine):
    base = scenario_file.load(samples[0])  # Llama 3.1 8B for eight users
    chosen = {
        "engine.name": engine,
        "precision.weights": FORMATS[engine],
        "precision.kv_cache": "bf16",
        "search.devices": FEW,
    }
    return with_values(base, chosen)


@pytest.fixture(params=FORMATS)
def wanted(samples, request):
    return under(samples, request.param)


@pytest.fixture(params=["transformers", "mlx"])
def one_by_one(samples, request):
    """Engines that answer one request after the other, whatever is set."""
    return under(samples, request.param)


def last(states):
    state = None
    for state in states:  # noqa: B007
        pass
    return state


def test_what_has_too_few_places_never_serves_the_users(one_by_one):
    seen, wanted = 0, one_by_one
    for part in filter(None, combining(wanted)):
        for i in range(len(part.field.devices)):
            offer = estimated(wanted, part.at(i)) if part.allowed[i] else None
            if isinstance(offer, Offer):
                room = part.rooms[i]
                assert offer.most_users <= room
                assert ("users" in offer.missed) >= (room < wanted.targets.users)
                seen += room < wanted.targets.users
    assert seen


def test_the_cheapest_of_all_is_found_and_each_that_fails_is_counted(wanted):
    state = last(recommend(wanted))
    meets = []
    for combination in combinations(wanted):
        offer = estimated(wanted, combination) if combination.reason is None else None
        if isinstance(offer, Offer) and not offer.missed:
            meets.append(offer)
    prices = [offer.price for offer in meets if offer.price is not None]
    assert [o.price for o in state.offers[:1]] == sorted(prices)[:1]
    assert {(o.device.name, o.count) for o in state.offers} == {(o.device.name, o.count) for o in meets}
    assert state.searched == state.total
    assert 0 < sum(f.count for f in state.failures) <= state.total - state.meeting


def test_what_comes_nearest_is_estimated_and_shown(one_by_one):
    state = last(recommend(with_values(one_by_one, {"search.most_accelerators": 1})))
    assert not state.offers and state.near
    short = next(f.short for f in state.failures if f.reason == "users")
    assert short.value < short.limit == one_by_one.targets.users
    assert any("users" in offer.missed for offer in state.near)


def test_servers_have_as_many_places_as_the_memory_holds(samples):
    base = scenario_file.load(samples[0])
    assert {room for part in combining(base) if part is not None for room in part.rooms} == {math.inf}


@pytest.mark.parametrize("users", [2, 8, 64, 10**6])
def test_what_fails_first_for_another_reason_is_counted_too(wanted, users):
    chosen = {"workload.load": "requests", "workload.request_rate": 2.0, "targets.users": users}
    state = last(recommend(with_values(wanted, chosen)))
    assert state.finished and state.failures
    for failure in state.failures:
        assert failure.count > 0 and failure.short.reason == failure.reason
