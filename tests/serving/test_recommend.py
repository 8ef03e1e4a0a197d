"""The search for hardware against an exhaustive one, and the search for models."""

import json
import re
from dataclasses import replace

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import all_models, load_model
from core.cli import main
from core.errors import NotFound
from core.estimator import estimate
from core.files import scenario_file
from core.planning import engine_settings, estimates
from core.planning import recommend as recommend_module
from core.planning import what_runs as what_runs_module
from core.planning.estimates import estimated
from core.planning.offers import Offer, merit
from core.planning.recommend import recommend, verified_one
from core.planning.search_space import combinations, weight_formats
from core.planning.verify import confirmed
from core.planning.what_runs import what_runs
from core.reports.recommendation import (
    best_measured,
    changes_of,
    headline,
    nearest,
    recommendation_json,
    recommendation_text,
    untested,
    what_runs_json,
    what_runs_text,
)
from core.reports.recommendation import settings as settings_said
from core.spec.change import with_values
from core.spec.engine import Precision
from core.words import Words

FEW = ("RTX 3090", "RTX 4090", "L40S", "A100 PCIe 80GB", "H100 SXM5 80GB", "Instinct MI300X", "RTX 4060")


def last(states):
    state = None
    for state in states:  # noqa: B007
        pass
    return state


@pytest.fixture(scope="module")
def wanted(samples):
    base = scenario_file.load(samples[1])  # Qwen3-32B for sixteen users
    return with_values(base, {"search.devices": FEW})


def exhaustive(scenario):
    """Every combination estimated, also those that the bounds rule out."""
    found = []
    for combination in combinations(scenario):
        if combination.reason == "unsupported":
            continue
        offer = estimated(scenario, combination)
        if isinstance(offer, Offer) and not offer.missed:
            found.append((combination, offer))
    return found


@pytest.mark.parametrize(
    "changes",
    [
        {"targets.time_per_output_token_ms": 2.0},
        {"targets.time_to_first_token_s": 0.001},
        {"targets.users": 100_000},
        {"search.budget_usd": 100.0},
    ],
)
def test_where_nothing_is_offered_every_combination_has_its_reason(samples, changes):
    state = last(recommend(with_values(scenario_file.load(samples[1]), changes)))
    assert not state.offers
    assert sum(failure.count for failure in state.failures) == state.total


def test_bounds_never_rule_out_what_would_do(wanted):
    assert not [c for c, _ in exhaustive(wanted) if c.reason is not None]


def test_the_cheapest_is_the_cheapest_of_all(wanted):
    state = last(recommend(wanted))
    prices = [offer.price for _, offer in exhaustive(wanted)]
    assert state.offers[0].price == min(prices)
    groups = {(c.device.name, c.deployment.accelerators) for c, _ in exhaustive(wanted)}
    offered = {(o.device.name, o.count) for o in state.offers}
    assert offered <= groups
    # Whatever can be met is offered, at least with the same number of devices or fewer.
    assert {name for name, _ in offered} == {name for name, _ in groups}


def test_the_fastest_is_the_fastest_of_all(wanted):
    scenario = with_values(wanted, {"search.rank": "speed"})
    best = min((offer for _, offer in exhaustive(scenario)), key=lambda o: merit(o, "speed"))
    state = last(recommend(scenario))
    assert state.offers[0].output_tokens_per_second == pytest.approx(best.output_tokens_per_second, rel=0.01)


@pytest.mark.parametrize("rank", ["price", "speed", "energy", "devices"])
def test_offers_are_ranked_and_meet_every_target(wanted, rank):
    state = last(recommend(with_values(wanted, {"search.rank": rank})))
    assert state.offers
    assert [merit(o, rank) for o in state.offers] == sorted(merit(o, rank) for o in state.offers)
    assert len({(o.device.name, o.count) for o in state.offers}) == len(state.offers)
    for offer in state.offers:
        point = estimate(offer.scenario)
        assert not point.verdict.missed
        assert point.speed.output_throughput.expected == pytest.approx(offer.output_tokens_per_second)
        assert point.speed.time_to_first_token.expected == pytest.approx(offer.time_to_first_token)


@pytest.mark.parametrize("weights", ["nvfp4_experts", "nvfp4", "int4", "gguf_q4_k_m"])
def test_bounds_of_the_plain_formulas_are_theirs(samples, weights):
    """They count each weight as its element, whatever is stored wider."""
    few = {"search.weight_formats": (weights,), "search.devices": ("RTX 5060", "Apple M4", "H200 SXM 141GB")}
    changes = {"engine.name": "textbook", "targets.users": None, **few}
    for sample in samples:
        base = with_values(scenario_file.load(sample), changes)
        for combination in combinations(base):
            if combination.reason == "weights":
                found = estimated(base, replace(combination, reason=None), whole=True)
                assert not isinstance(found, Offer)


def test_everything_is_accounted_for(wanted):
    state = last(recommend(wanted))
    assert state.searched == state.total == len(combinations(wanted))
    assert sum(f.count for f in state.failures) < state.total
    for failure in state.failures:
        if failure.reason != "unsupported":
            assert failure.short.ratio > 1.0


@pytest.mark.parametrize("devices", [FEW, ("Arc A770 16GB",), ("RTX 3090",)])
def test_an_example_of_what_fails_is_estimated_and_no_bound(wanted, devices):
    state = last(recommend(with_values(wanted, {"search.devices": devices})))
    for failure in state.failures:
        if failure.reason not in ("per_token", "first_token"):
            continue
        said = Words("en").phrase(nearest(failure))
        assert failure.short.at_least == ("at least" in said)
        speed = estimate(failure.nearest.scenario(wanted)).speed
        if speed is None:
            assert failure.short.at_least
            continue
        times = {"per_token": speed.time_per_output_token, "first_token": speed.time_to_first_token}
        assert failure.short.value == pytest.approx(times[failure.reason].expected)


def test_the_frontier_is_not_beaten(wanted):
    offers = last(recommend(wanted)).offers
    front = [o for o in offers if o.on_frontier]
    assert front
    for one in front:
        for other in offers:
            better = (
                other.price <= one.price,
                other.output_tokens_per_second >= one.output_tokens_per_second,
                other.time_per_output_token <= one.time_per_output_token,
            )
            strictly = (
                other.price < one.price
                or other.output_tokens_per_second > one.output_tokens_per_second
                or other.time_per_output_token < one.time_per_output_token
            )
            assert not (all(better) and strictly)


def test_limits_hold(wanted):
    scenario = with_values(
        wanted,
        {
            "search.devices": (),
            "search.vendors": ("NVIDIA",),
            "search.most_accelerators": 2,
            "search.budget_usd": 20_000.0,
            "search.quality": "careful",
        },
    )
    state = last(recommend(scenario))
    assert state.offers
    for offer in state.offers:
        assert offer.device.vendor == "NVIDIA"
        assert offer.count <= 2
        assert offer.price is None or offer.price <= 20_000
        assert offer.combination.weights in ("bf16", "fp8")
    assert any(f.reason == "budget" for f in state.failures)


def test_rows_come_while_the_search_goes_on(samples):
    from core.files import scenario_file

    states = list(recommend(scenario_file.load(samples[0])))
    assert states[0].offers
    assert not states[0].finished
    assert states[-1].finished
    assert states[0].offers[0].price == states[-1].offers[0].price  # the cheapest is the first


def test_an_offer_opens_as_a_scenario(wanted):
    offer = last(recommend(wanted)).offers[0]
    opened = with_values(wanted, {c.path: c.value for c in changes_of(offer)})
    assert opened == offer.scenario


def test_the_best_are_simulated(wanted):
    state = last(recommend(wanted, verify=2))
    assert [o.verified is not None for o in state.offers[:3]] == [True, True, False]
    result = state.offers[0].verified
    assert result.output_tokens_per_second == pytest.approx(state.offers[0].output_tokens_per_second, rel=0.1)
    assert result.done == result.asked


def test_a_rate_is_searched_too(wanted):
    scenario = with_values(wanted, {"workload.load": "requests", "workload.request_rate": 0.2})
    state = last(recommend(scenario))
    assert state.offers
    assert verified_one(state.offers[0], 300).verified.stable


def test_an_unknown_device_is_said(wanted):
    with pytest.raises(NotFound):
        last(recommend(with_values(wanted, {"search.devices": ("RTX 9999",)})))


def test_nothing_is_said_as_nothing(wanted):
    impossible = with_values(wanted, {"targets.time_per_output_token_ms": 0.01})
    state = last(recommend(impossible))
    assert not state.offers
    assert "Nothing" in recommendation_text(state, Words("en"))


def test_what_runs_on_a_card(samples):
    from core.files import scenario_file

    base = scenario_file.load(samples[0])
    state = last(what_runs(base))
    good = [r for r in state.runs if r.good]
    assert good
    sizes = [r.model.parameters for r in good]
    assert sizes == sorted(sizes, reverse=True)
    for runs in good[:20]:
        assert not estimate(runs.offer.scenario).verdict.missed
        assert runs.longest >= base.workload.tokens_per_request
    names = {r.model.name for r in good}
    assert any("8B" in name for name in names)
    assert all(r.model.parameters < 200e9 for r in state.runs)  # none larger than 24 GB can hold
    more = last(what_runs(with_values(base, {"accelerator": load_accelerator("H200")})))
    assert sum(r.good for r in more.runs) > len(good)
    assert more.too_large < state.too_large


@pytest.mark.parametrize("extra", [[], ["--models"], ["--verify", "1"]])
def test_the_command(samples, capsys, extra):
    assert main(["recommend", str(samples[0]), *extra]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert len(said.out.splitlines()) > 5
    assert main(["recommend", str(samples[0]), *extra, "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["schema"] == 1
    assert tree.get("offers") or tree.get("models")


def test_the_first_is_one_that_the_simulator_confirms(samples):
    """Means meet the targets, the 95th percentile of lengths that differ does not everywhere."""
    from core.files import scenario_file

    base = with_values(
        scenario_file.load(samples[1]),
        {
            "search.devices": FEW,
            "workload.load": "requests",
            "workload.request_rate": 0.4,
            "simulation.prompt_lengths": "lognormal",
            "simulation.prompt_spread": 1.0,
            "targets.time_to_first_token_s": 5.0,
        },
    )
    plain = last(recommend(base))
    state = last(recommend(base, verify=2))
    assert not confirmed(verified_one(plain.offers[0]))  # else this shows nothing
    assert all(confirmed(offer) for offer in state.offers[:2])
    failed = [o for o in state.offers if o.verified is not None and not confirmed(o)]
    assert failed
    assert state.offers[-len(failed) :] == tuple(failed)
    assert len(state.offers) == len(plain.offers)


def test_settings_of_the_engine_are_tried_where_a_target_is_just_missed(wanted):
    """Whatever the devices' speeds: among so many targets some are just missed with 512 tokens a step."""
    found = 0
    for first_token in (2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0):
        targets = {"targets.time_to_first_token_s": first_token}
        scenario = with_values(wanted, {"engine.max_num_batched_tokens": 512, **targets})
        for offer in last(recommend(scenario)).offers:
            if not offer.combination.settings:
                continue
            found += 1
            plain = estimated(scenario, replace(offer.combination, settings=()))
            assert plain.missed
            assert not estimate(offer.scenario).verdict.missed
            assert with_values(scenario, {c.path: c.value for c in changes_of(offer)}) == offer.scenario
    assert found >= 2


@pytest.mark.parametrize("rank", ["price", "speed"])
def test_a_search_pauses_after_every_estimate(wanted, rank, monkeypatch):
    """The window goes first: nothing in between may take longer than an estimate does."""
    counted, ready = [0], estimates._ready

    def counting(*arguments):
        counted[0] += 1
        return ready(*arguments)

    monkeypatch.setattr(estimates, "_ready", counting)
    searched = with_values(wanted, {"search.rank": rank})
    for search in (recommend_module.looks(searched), what_runs_module.looks(searched)):
        seen = counted[0] = 0
        for _ in search:
            assert counted[0] - seen <= 1
            seen = counted[0]
        assert seen > 50


@pytest.mark.parametrize("load", ["users", "requests"])
@pytest.mark.parametrize(
    ("model", "engine", "weights"),
    [
        ("Qwen/Qwen3-32B", "vllm", "bf16"),
        ("openai/gpt-oss-120b", "sglang", "bf16"),
        ("deepseek-ai/DeepSeek-V3", "vllm", "fp8"),
        ("Qwen/Qwen3-32B", "llamacpp", "gguf_q4_k_m"),
        ("Qwen/Qwen3-30B-A3B", "llamacpp", "gguf_q4_k_m"),
        ("Qwen/Qwen3-32B", "transformers", "bf16"),
    ],
)
def test_together_is_the_same_as_one_by_one(wanted, load, model, engine, weights):
    """Plans side by side: every layout and format of some devices, as ``estimate`` tells them alone."""
    changes = {"workload.load": load, "workload.request_rate": 0.5, "engine.name": engine}
    if "DeepSeek" in model:
        large = ("H200 SXM 141GB", "Instinct MI300X")
        changes |= {"search.devices": large, "search.most_accelerators": 16, "search.most_nodes": 2}
    formats = Precision(weights=weights, kv_cache="bf16")
    base = with_values(wanted, changes).model_copy(update={"model": load_model(model), "precision": formats})
    open_ones = [c for c in combinations(base) if c.reason != "unsupported"][::3]
    steps, answers = estimates.estimating([(base, c) for c in open_ones], whole=True), None
    while answers is None:
        try:
            next(steps)
        except StopIteration as end:
            answers = end.value
    found = [a for a in answers if isinstance(a, Offer)]
    assert len(found) > 8
    for offer in found:
        speed = estimate(offer.scenario).speed
        assert offer.time_per_output_token == pytest.approx(speed.time_per_output_token.expected, rel=1e-9)
        assert offer.time_to_first_token == pytest.approx(speed.time_to_first_token.expected, rel=1e-9)
        assert offer.output_tokens_per_second == pytest.approx(speed.output_throughput.expected, rel=1e-9)


def test_what_just_fails_says_by_how_much(wanted):
    """6.91 GiB needed and 6.91 GiB usable would look like no failure."""
    failure = next(f for f in last(recommend(wanted)).failures if f.reason in ("weights", "cache"))
    limit = float(6.91 * 2**30)

    def said(value):
        short = replace(failure.short, value=value, limit=limit)
        return Words("en").phrase(nearest(replace(failure, short=short)))

    assert said(limit + 2**20).endswith("6.91 GiB needed, 6.91 GiB usable (1.00 MiB apart)")
    assert said(limit + 2**30).endswith("7.91 GiB needed, 6.91 GiB usable")


def test_what_nobody_measured_is_marked(wanted):
    # Kernels were measured on the RTX 3090 and on Intel's Arc Pro B60, on the latter in 16 bits only; nobody
    # measured the RX 9070.
    cards = ("RTX 3090", "Arc A770 16GB", "Radeon RX 9070")
    state = last(recommend(with_values(wanted, {"search.devices": cards})))
    lines = [line for line in recommendation_text(state, Words("en")).splitlines() if " × " in line]
    marked = {
        (line.split(" × ")[1][:3], "BF16" in line): line.split("  ")[1].endswith(" *")
        for line in lines
        if "$" in line and "Best measured" not in line
    }
    assert marked["Arc", False] and not marked["Arc", True]
    assert all(mark for (card, _), mark in marked.items() if card == "Rad")
    assert not any(mark for (card, _), mark in marked.items() if card == "RTX")
    assert "* Nobody measured" in recommendation_text(state, Words("en"))
    tree = json.loads(recommendation_json(state, Words("en")))
    assert {o["measured"] for o in tree["offers"] if o["device"] == "RTX 3090"} == {True}
    assert {o["measured"] for o in tree["offers"] if o["device"] == "Radeon RX 9070"} == {False}


def test_an_untested_winner_is_called_so_with_its_range_and_the_best_measured_one(wanted):
    words = Words("en")
    state = last(recommend(with_values(wanted, {"search.devices": ("RTX 3090", "Radeon RX 9070")})))
    tested = [o for o in state.offers if not untested(o)]
    others = [o for o in state.offers if untested(o)]
    assert tested and others
    said = words.phrase(headline(replace(state, offers=(*others, *tested))))
    assert "untested" in said and re.search(r"per token [\d.]+ to [\d.]+ ms", said)
    text = recommendation_text(replace(state, offers=(*others, *tested)), words)
    assert f"no. {len(others) + 1}, {tested[0].count} × RTX 3090" in text
    assert "untested" not in words.phrase(headline(replace(state, offers=(*tested, *others))))
    assert best_measured(replace(state, offers=(*tested, *others))) is None
    assert "No offer" in recommendation_text(replace(state, offers=tuple(others)), words)


def test_rows_that_are_left_out_are_counted(wanted):
    state = last(recommend(with_values(wanted, {"search.devices": ("RTX 3090",)})))
    many = replace(state, offers=state.offers[:1] * 30)
    assert "The first 12 of 30" in recommendation_text(many, Words("en"))
    assert "The first" not in recommendation_text(replace(state, offers=state.offers[:1]), Words("en"))


def test_a_model_is_offered_in_the_narrow_format_it_was_published_in(wanted):
    # https://huggingface.co/openai/gpt-oss-20b: MXFP4 experts; there is no 8-bit or 16-bit original.
    for quality in ("any", "careful", "lossless"):
        model = {"model": load_model("openai/gpt-oss-20b"), "search.quality": quality}
        assert weight_formats(with_values(wanted, model))[0] == "mxfp4_experts"
    chosen = {"model": load_model("openai/gpt-oss-20b"), "search.weight_formats": ("bf16",)}
    assert weight_formats(with_values(wanted, chosen)) == ("bf16",)
    assert "bf16" in weight_formats(wanted)  # Qwen3-32B is published so


def test_what_runs_offers_the_published_format(wanted):
    runs = {r.model.id: r.offer.combination.weights for r in last(what_runs(wanted)).runs}
    assert runs["openai/gpt-oss-20b"] == "mxfp4_experts"


def test_a_module_of_the_model_drafts_where_tokens_come_just_too_late(samples):
    """DeepSeek-V3 at 12 ms a token: without a draft nothing in the catalogue does."""
    base = scenario_file.load(samples[2])
    tight = with_values(base, {"targets.time_per_output_token_ms": 12.0, "workload.users": 32})
    mended = [
        o for o in last(recommend(tight)).offers if ("speculative.kind", "mtp") in o.combination.settings
    ]
    assert mended
    for offer in mended:
        assert offer.scenario.speculative.kind == "mtp"
        assert not estimate(offer.scenario).verdict.missed
        assert with_values(tight, {c.path: c.value for c in changes_of(offer)}) == offer.scenario
        said = Words("en").phrase(settings_said(offer))
        assert "MTP draft, 70 % accepted" in said


def test_a_search_by_speed_takes_what_puts_out_more(samples):
    """Offers of the first rows with and without a draft: never slower than the plain ones."""
    base = with_values(scenario_file.load(samples[2]), {"search.rank": "speed"})
    first = last(recommend(base)).offers[0]
    assert first.combination.settings
    plain = estimated(base, replace(first.combination, settings=()))
    assert first.output_tokens_per_second > 1.1 * plain.output_tokens_per_second


def test_as_many_sequences_as_fit_where_the_engine_would_preempt(samples):
    """Of long prompts, which are dear to read again; of long answers fewer at once would cost more."""
    crowd = {"workload.users": 300, "workload.prompt_tokens": 6000, "workload.output_tokens": 512}
    large = {"accelerator": load_accelerator("H100 SXM5 80GB")}
    base = with_values(scenario_file.load(samples[0]), {**large, **crowd})
    (settings,) = [s for s in engine_settings.faster(base) if s[0][0] == "max_num_seqs"]
    limited = with_values(base, {"engine.max_num_seqs": settings[0][1]})
    before, after = (estimate(one).speed.output_throughput.expected for one in (base, limited))
    assert after > before
    assert not [s for s in engine_settings.faster(limited) if s[0][0] == "max_num_seqs"]
    reserved = with_values(base, {"engine.name": "trtllm"})
    assert not [s for s in engine_settings.faster(reserved) if s[0][0] == "max_batch_size"]


def test_prefix_caching_is_tried_where_prompts_begin_alike(samples):
    shared = {"workload.shared_prefix_tokens": 512, "simulation.prefix_caching": False}
    base = with_values(scenario_file.load(samples[0]), shared)
    wanted = (("simulation.prefix_caching", True),)
    assert wanted in engine_settings.variants(base, ("first_token",))
    assert wanted not in engine_settings.variants(base, ("per_token",))
    alone = with_values(base, {"workload.shared_prefix_tokens": 0})
    assert wanted not in engine_settings.variants(alone, ("first_token",))
    several = with_values(alone, {"simulation.turns": 3})
    assert wanted in engine_settings.variants(several, ("first_token",))


@pytest.mark.parametrize("limit", ["search.budget_usd", "search.budget_usd_per_hour"])
def test_a_budget_leaves_out_what_nobody_knows_the_price_of(samples, limit):
    base = scenario_file.load(samples[0])
    nothing = last(recommend(with_values(base, {limit: 0.0})))
    assert not nothing.offers
    assert not nothing.near
    unpriced = next(failure for failure in nothing.failures if failure.reason == "no_price")
    device = unpriced.nearest.device
    assert (device.price_usd if limit == "search.budget_usd" else device.cloud_usd_per_hour) is None
    assert Words("en").phrase(nearest(unpriced))
    some = last(recommend(with_values(base, {limit: 40_000.0})))
    assert some.offers
    for offer in some.offers:
        assert (offer.price if limit == "search.budget_usd" else offer.device.cloud_usd_per_hour) is not None
    # Without a budget they are offered.
    assert any(offer.price is None for offer in last(recommend(base)).offers)


@pytest.mark.parametrize("search", [recommend, what_runs])
@pytest.mark.parametrize(
    ("path", "name", "told"),
    [
        ("search.vendors", "Acme", "NVIDIA"),
        ("search.weight_formats", "foo", "foo"),
        ("search.cache_formats", "bar", "bar"),
        ("search.weight_formats", "gguf_q4_k_m", "vLLM"),
    ],
)
def test_a_name_that_is_none_is_refused_and_not_passed_over(samples, search, path, name, told):
    base = scenario_file.load(samples[0])
    with pytest.raises(NotFound) as caught:
        last(search(with_values(base, {path: (name,)})))
    (problem,) = caught.value.problems
    assert problem.paths == (path,)
    for language in ("en", "zh_CN"):
        assert told in Words(language).problem(problem)


def test_the_command_refuses_a_vendor_that_is_none(samples, tmp_path, capsys):
    base = scenario_file.load(samples[0])
    scenario_file.save(tmp_path / "s.json", with_values(base, {"search.vendors": ("Acme",)}))
    assert main(["recommend", str(tmp_path / "s.json")]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "Acme" in said.err
    assert last(recommend(with_values(base, {"search.vendors": ("nvidia",)}))).total > 0


@pytest.mark.parametrize("tokens", [600, 40_000])
def test_every_model_of_the_catalogue_is_counted(samples, tokens):
    """Those that take less than a request of the workload are told, too."""
    base = scenario_file.load(samples[0])
    changes = {"workload.prompt_tokens": tokens - 100, "workload.output_tokens": 100}
    base = with_values(base, {"engine.max_model_len": 65_536, **changes})
    state = last(what_runs(base))
    lengths = [m.max_context for m in all_models()]
    assert state.too_short == sum(0 < (most or 0) < tokens for most in lengths)
    assert (tokens == 600) == (state.too_short == 0)
    head = what_runs_text(state, Words("en"), tokens).splitlines()[0]
    counts = re.findall(r"\d[\d,]*", head.removesuffix(f" of {tokens:,} tokens."))
    good, total, near, large, *short = (int(count.replace(",", "")) for count in counts)
    assert total == state.total
    assert good + near + large + sum(short) == total
    assert json.loads(what_runs_json(state))["too_short"] == sum(short)


@pytest.mark.parametrize(
    ("engine", "device", "all_refused"),
    [("mlx", "RTX 4090", True), ("vllm", "Apple M2 Ultra", True), ("vllm", "RTX 4090", False)],
)
def test_no_model_runs_where_its_engine_does_not(samples, engine, device, all_refused):
    base = scenario_file.load(samples[0]).model_copy(update={"accelerator": load_accelerator(device)})
    scenario = with_values(base, {"engine.name": engine})
    state = last(what_runs(scenario))
    assert state.finished and state.searched == state.total
    assert (state.refused == state.total) is all_refused
    assert state.too_short >= 0
    for runs in state.runs:
        assert not runs.good or not estimate(runs.offer.scenario).verdict.missed
    said = what_runs_text(state, Words("en"), 1000)
    assert ("does not run on this device" in said) is all_refused
    assert json.loads(what_runs_json(state))["refused"] == state.refused
