"""Searches that set the slots of llama.cpp and Ollama: as many as the load asks for, a context for all."""

import json
import math

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.files import scenario_file
from core.planning.recommend import recommend
from core.planning.slots import at_once, slot_settings, wanted_at_once
from core.planning.what_runs import what_runs
from core.reports.recommendation import (
    changes_of,
    hardware,
    recommendation_json,
    recommendation_text,
    settings,
    what_runs_text,
)
from core.spec.change import with_values
from core.words import Words

FEW = ("RTX 5060", "RTX 2060 12GB", "RTX 4090", "L40S", "Instinct MI300X", "Radeon RX 7900 XTX")
ENGLISH = Words("en")


@pytest.fixture(params=["llamacpp", "ollama"])
def wanted(samples, request):
    base = scenario_file.load(samples[0])  # Llama 3.1 8B for eight users, who wait at most 2 s
    chosen = {
        "engine.name": request.param,
        "precision.weights": "gguf_q4_k_m",
        "precision.kv_cache": "bf16",
        "search.devices": FEW,
    }
    return with_values(base, chosen)


def last(states):
    state = None
    for state in states:  # noqa: B007
        pass
    return state


def opened(base, offer):
    return with_values(base, {change.path: change.value for change in changes_of(offer)})


def test_one_card_with_eight_slots_does_what_eight_cards_with_one_did(wanted):
    best = last(recommend(wanted)).offers[0]
    assert (best.device.name, best.count, best.price) == ("RTX 5060", 1, 300)
    assert dict(best.combination.settings)["n_parallel"] == 8 == best.most_users


def test_an_offer_opened_is_what_was_promised(wanted):
    for offer in last(recommend(wanted)).offers:
        scenario = opened(wanted, offer)
        assert scenario.workload.tokens_per_request <= scenario.engine.longest_request
        found = estimate(scenario)
        assert found.capacity.at_once == offer.most_users >= wanted.targets.users
        assert found.speed.time_to_first_token.expected == pytest.approx(offer.time_to_first_token, rel=1e-6)
        assert found.speed.time_per_output_token.expected == pytest.approx(
            offer.time_per_output_token, rel=1e-6
        )


def test_single_cards_are_those_of_a_trial_of_every_format(wanted):
    offered = {o.device.name for o in last(recommend(wanted)).offers if o.count == 1}
    meets = set()
    for name in FEW:
        for weights in ("gguf_q8_0", "gguf_q6_k", "gguf_q5_k_m", "gguf_q4_k_m"):
            for cache in ("bf16", "q8_0"):
                changes = {f"engine.{k}": v for k, v in slot_settings(wanted, 8)}
                changes |= {"accelerator": load_accelerator(name), "precision.weights": weights}
                found = estimate(with_values(wanted, {**changes, "precision.kv_cache": cache}))
                if found.speed is not None and found.ledger.fits:
                    first = found.speed.time_to_first_token.expected
                    each = found.speed.time_per_output_token.expected
                    targets = wanted.targets
                    if (
                        first <= targets.time_to_first_token_s
                        and 1e3 * each <= targets.time_per_output_token_ms
                    ):
                        meets.add(name)
    assert offered == meets


def test_a_card_that_just_holds_all_users_is_offered(wanted):
    """Sixteen users of Qwen3-32B in 4 bit, each with 1.5K: 24 GB hold them with a cache of 8 bits."""
    tight = {"model": load_model("Qwen/Qwen3-32B"), "workload.users": 16, "targets.users": 16}
    patient = {"targets.time_to_first_token_s": 20.0, "targets.time_per_output_token_ms": 100.0}
    one = {"search.devices": ("RTX 3090", "RTX 4090"), "search.most_accelerators": 1}
    offers = last(recommend(with_values(wanted, {**tight, **patient, **one}))).offers
    assert {offer.device.name for offer in offers} == {"RTX 3090", "RTX 4090"}


def test_slots_that_are_enough_stay_as_they_are(wanted):
    plenty = with_values(wanted, {"engine.n_parallel": 16, "engine.max_model_len": 16 * 2048})
    for offer in last(recommend(plenty)).offers:
        assert "n_parallel" not in dict(offer.combination.settings)
    # Nobody says how long a first token may take: who finds no slot waits for one.
    patient = with_values(wanted, {"targets.time_to_first_token_s": None, "targets.users": None})
    assert wanted_at_once(patient) == 1 <= at_once(patient)


def test_at_a_rate_there_is_a_slot_for_all_who_stay(wanted):
    rate = {"workload.load": "requests", "workload.request_rate": 2.0, "targets.users": None}
    state = last(recommend(with_values(wanted, rate)))
    assert state.offers
    for offer in state.offers:
        assert not offer.missed
        stay = offer.time_to_first_token + wanted.workload.output_tokens * offer.time_per_output_token
        assert offer.most_users >= 2.0 * stay  # Little's law
    longest = 2.0 + 0.05 * wanted.workload.output_tokens
    assert wanted_at_once(with_values(wanted, rate)) == math.ceil(2 * longest + 2 * math.sqrt(2 * longest))


def test_what_is_set_is_told_everywhere(wanted):
    state = last(recommend(wanted))
    best = state.offers[0]
    assert ENGLISH.phrase(settings(best)) == "8 slots · context of 12K, 1.5K each"
    text = recommendation_text(state, ENGLISH)
    assert "8 slots · context of 12K, 1.5K each" in text
    tree = json.loads(recommendation_json(state, ENGLISH))
    assert tree["offers"][0]["engine_settings"] == {"n_parallel": 8, "max_model_len": 12288}


def test_a_cache_in_another_format_is_named(wanted):
    state = last(recommend(wanted))
    seen = set()
    for offer in (*state.offers, *state.near, *(f.nearest for f in state.failures)):
        combination = getattr(offer, "combination", offer)
        named = ENGLISH.phrase(hardware(combination))
        assert ("KV q8_0" in named) == (combination.cache == "q8_0" != wanted.precision.kv_cache)
        seen.add(combination.cache)
    assert seen == {"bf16", "q8_0"}


def test_models_are_offered_with_the_slots_that_the_users_need(wanted):
    state = last(what_runs(with_values(wanted, {"search.weight_formats": ("gguf_q4_k_m",)})))
    good = [runs for runs in state.runs if runs.good]
    assert good
    for runs in good:
        assert dict(runs.offer.combination.settings)["n_parallel"] == 8 == runs.offer.most_users
    assert "8 slots" in what_runs_text(state, ENGLISH, wanted.workload.tokens_per_request)


def test_the_scenarios_own_slots_are_offered_where_more_of_them_miss(wanted):
    """Sixteen users and 12 ms a token: four at a time do it, all together take 21 ms."""
    patient = {"targets.time_to_first_token_s": 60.0, "targets.time_per_output_token_ms": 12.0}
    load = {"workload.users": 16, "workload.output_tokens": 200, "targets.users": None}
    four = {"engine.n_parallel": 4, "engine.max_model_len": 8192}
    only = {"search.devices": ("RTX 4090",), "search.most_accelerators": 1}
    base = with_values(wanted, {**patient, **load, **four, **only, "search.weight_formats": ("gguf_q4_k_m",)})
    (offer,) = last(recommend(base)).offers
    assert offer.combination.settings == () and offer.most_users == 4
    assert not last(recommend(with_values(base, {"targets.users": 8}))).offers


def test_no_cache_is_offered_that_the_engine_refuses_as_it_is_set(wanted):
    plain = with_values(wanted, {"engine.flash_attention": False})
    state = last(recommend(plain))
    assert state.offers
    assert {o.combination.cache for o in (*state.offers, *state.near)} == {"bf16"}


@pytest.mark.parametrize("setting", [{"engine.n_cpu_moe": 99}, {"engine.n_gpu_layers": 5}])
def test_weights_that_the_host_holds_are_not_ruled_out(wanted, setting):
    large = {"model": load_model("openai/gpt-oss-120b"), "workload.users": 1, "targets.users": 1}
    slow = {"targets.time_to_first_token_s": 600.0, "targets.time_per_output_token_ms": 5000.0}
    only = {"search.devices": ("RTX 4090",), "search.most_accelerators": 1}
    base = with_values(
        wanted, {**large, **slow, **only, **setting, "accelerator": load_accelerator("RTX 4090")}
    )
    assert estimate(base).speed is not None
    assert last(recommend(base)).offers
    models = last(what_runs(with_values(base, {"search.weight_formats": ("gguf_q4_k_m",)})))
    assert "openai/gpt-oss-120b" in {runs.model.id for runs in models.runs}


@pytest.mark.parametrize("output", [1, 2])
def test_answers_of_a_token_or_two_are_not_ruled_out_by_steps_that_nobody_waits_for(wanted, output):
    short = {"workload.output_tokens": output, "workload.users": 40, "workload.prompt_tokens": 381}
    targets = {"targets.users": 40, "targets.time_to_first_token_s": 60.0}
    only = {"search.devices": ("RTX 4090",), "search.most_accelerators": 1}
    base = with_values(wanted, {**short, **targets, **only, "search.weight_formats": ("gguf_q4_k_m",)})
    fits = {f"engine.{name}": value for name, value in slot_settings(base, 40)}
    speed = estimate(with_values(base, {**fits, "accelerator": load_accelerator("RTX 4090")})).speed
    just = 1e3 * speed.time_per_output_token.expected * 1.01
    assert last(recommend(with_values(base, {"targets.time_per_output_token_ms": just}))).offers
