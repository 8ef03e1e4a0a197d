"""Where no single change reaches the targets, sets of changes and the cheapest devices are offered."""

import pytest

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.files import scenario_file
from core.memory.capacity import Change
from core.planning import together
from core.planning.advise import advise, attempts, missed_keys
from core.planning.recommend import recommend
from core.planning.suggestion import FREE, TOGETHER, Move, lead
from core.planning.together import _joined
from core.reports.as_markdown import report_markdown
from core.reports.content import report_of
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.formats import WEIGHT_FORMATS
from core.words import Phrase, Words


@pytest.fixture(scope="module")
def qwen(samples):
    """Qwen3-32B in 4 bits on two RTX 3090."""
    return scenario_file.load(samples[1])


@pytest.fixture(scope="module")
def hard(qwen):
    """Sixteen users with 16K tokens each: four fit at once, and every target is missed."""
    return estimate(with_values(qwen, {"workload.prompt_tokens": 16384, "engine.max_model_len": 32768}))


@pytest.fixture(scope="module")
def middling(qwen):
    """Half of that: two changes together are enough."""
    return estimate(with_values(qwen, {"workload.prompt_tokens": 8192}))


def test_the_cheapest_devices_that_reach_the_targets_are_those_of_the_search(hard):
    found = next(s for s in advise(hard.scenario, hard) if s.key == "machine")
    own = hard.scenario.precision.weights
    offers = list(recommend(with_values(hard.scenario, {"search.weight_formats": (own,)})))[-1].offers
    cheapest = {(offer.device.name, offer.count) for offer in offers if offer.price == offers[0].price}
    after = found.estimate.scenario
    assert (after.accelerator.name, after.deployment.accelerators) in cheapest
    assert after.accelerator in all_accelerators()
    assert after.workload == hard.scenario.workload and after.targets == hard.scenario.targets


@pytest.mark.parametrize("which", ["hard", "middling"])
def test_what_is_offered_together_meets_every_target_and_comes_first(which, request):
    point = request.getfixturevalue(which)
    found = advise(point.scenario, point)
    offered = [s for s in found if s.key in TOGETHER]
    assert offered and list(found[: len(offered)]) == offered
    for one in offered:
        changed = with_values(point.scenario, {c.path: c.value for c in one.changes})
        assert not [p for p in check(changed) if p.severity == "error"]
        again = estimate(changed)
        assert again.verdict.state == "good" and not missed_keys(again) and one.purpose == "fixes"


def test_no_part_of_a_set_is_enough_alone(middling):
    (pair,) = [s for s in advise(middling.scenario, middling) if s.key in ("pair", "three")]
    for change in pair.changes:
        alone = with_values(middling.scenario, {change.path: change.value})
        assert missed_keys(estimate(alone))


def test_it_is_said_that_no_single_change_is_enough(hard, middling, qwen):
    for point in (hard, middling):
        said = lead(point.verdict.state, advise(point.scenario, point))
        assert said is not None and said.key.startswith("advice.no_single.")
        for language in ("en", "zh_CN"):
            words = Words(language)
            assert words.phrase(said) in report_of(point, words).advice.note
            assert words.phrase(said) in report_markdown(report_of(point, words), words)
    alone = estimate(qwen)  # half the prompt in common is enough there
    assert missed_keys(alone) and lead(alone.verdict.state, advise(qwen, alone)) is None
    never = estimate(with_values(qwen, {"targets.time_to_first_token_s": 0.01}))
    said = lead(never.verdict.state, advise(never.scenario, never))
    assert said is not None and said.key == "advice.nothing_reaches"


def test_the_window_has_its_turn_between_attempts(hard):
    """Attempts that come to nothing are told too, so the work can be left in between."""
    assert sum(one is None for one in attempts(hard)) > 50


def test_a_set_is_not_said_to_be_free_where_one_of_its_changes_costs(qwen):
    tight = {"workload.prompt_tokens": 8192, "workload.users": 16}
    point = estimate(with_values(qwen, tight))
    one, other = (
        Move("a", Phrase("a"), (Change("workload.users", 1),), 1.0, (Phrase(FREE),)),
        Move("b", Phrase("b"), (Change("deployment.nodes", 2),), 1.0, (Phrase("advice.cautions.price"),)),
    )
    assert [caution.key for caution in _joined((one, other)).cautions] == ["advice.cautions.price"]
    said = [[c.key for c in s.cautions] for s in advise(point.scenario, point) if s.key in TOGETHER]
    assert not [keys for keys in said if FREE in keys and len(keys) > 1]


@pytest.fixture(scope="module")
def asked_for(samples):
    """Qwen3-32B in FP8 on one H100, long prompts of eight users: no single change is enough."""
    names = {"model": load_model("Qwen3-32B"), "accelerator": load_accelerator("H100 SXM5 80GB")}
    load = {"workload.users": 8, "targets.users": 8, "workload.prompt_tokens": 32768}
    formats = {"precision.weights": "fp8", "engine.max_model_len": 40960}
    return estimate(with_values(scenario_file.load(samples[0]), {**names, **load, **formats}))


def machine_of(point):
    return next(s for s in advise(point.scenario, point) if s.key == "machine")


def test_other_devices_keep_the_weights_that_were_asked_for(asked_for):
    found = machine_of(asked_for)
    assert found.estimate.scenario.precision.weights == "fp8"
    assert not any(change.path == "precision.weights" for change in found.changes)
    assert found.cautions[0].key == "advice.cautions.cheapest"


def test_devices_that_do_not_run_the_format_come_after_those_that_do(asked_for):
    """The searches: the own format on every device, devices that lack it, narrower formats."""
    seen = []

    def nothing(scenario, search):
        seen.append(search)
        return iter(())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_cheapest", nothing)
        assert not list(together._devices(asked_for.scenario))
    own, others, narrower = seen
    assert own.weight_formats == ("fp8",) and not own.devices
    lacking = set(others.devices)
    assert "V100 SXM2 32GB" in lacking and "H100 SXM5 80GB" not in lacking
    assert narrower.weight_formats and "bf16" not in narrower.weight_formats


def test_another_format_is_told_with_the_reason(qwen):
    """Two RTX 3090 in 16 bits: devices are offered in fewer bits only where none is enough with 16."""
    wide = {"precision.weights": "bf16", "targets.time_per_output_token_ms": 6.0, "workload.users": 1}
    tight = {**wide, "targets.users": 1, "targets.time_to_first_token_s": 1.0, "search.most_accelerators": 1}
    point = estimate(with_values(qwen, tight))
    found = machine_of(point)
    now = found.estimate.scenario.precision.weights
    assert now != "bf16" and found.cautions[0].key == "advice.cautions.cheapest_other"
    assert found.cautions[0].values["format"] == "BF16"
    assert WEIGHT_FORMATS[now].label in Words("en").phrase(found.title)
