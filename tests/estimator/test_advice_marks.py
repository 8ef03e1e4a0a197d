"""Marks in advice are those of the cards: the targets', and nothing else's."""

import pytest

from core.estimator import estimate
from core.files import scenario_file
from core.planning.advise import advise, missed_keys
from core.planning.suggestion import lead
from core.spec.change import with_values
from core.words import Words

JUDGED = ("time_to_first_token", "time_per_output_token", "concurrent_users")


@pytest.fixture(scope="module")
def crowded(samples):
    """More users than the target asks for, and than there is room for."""
    load = {"workload.users": 16, "workload.prompt_tokens": 8192, "targets.users": 8}
    changes = {**load, "engine.max_model_len": 16384, "targets.time_to_first_token_s": None}
    return with_values(scenario_file.load(samples[0]), changes)


def test_a_mark_is_the_targets_whoever_waits(crowded):
    found = advise(crowded, most=100)
    cache = next(one for one in found if one.key == "cache_8_bit")
    assert "queue" in missed_keys(cache.estimate)
    for one in found:
        for effect in one.effects:
            if effect.key in JUDGED and effect.target:
                assert (effect.target == "misses") == (effect.key in one.estimate.verdict.missed), one.key


def test_without_a_target_there_is_no_mark(crowded):
    found = advise(with_values(crowded, {"targets.users": None}), most=100)
    assert all(e.target == "" for one in found for e in one.effects if e.key == "concurrent_users")


@pytest.mark.parametrize(
    ("language", "said"), [("en", "8 of the 16 users at once"), ("zh_CN", "可同时服务 8 个")]
)
def test_who_still_waits_is_told_in_words(crowded, language, said):
    cache = next(one for one in advise(crowded, most=100) if one.key == "cache_8_bit")
    words = Words(language)
    assert any(said in words.phrase(caution) for caution in cache.cautions)
    served = [one for one in advise(crowded, most=100) if "queue" not in missed_keys(one.estimate)]
    assert served and all(c.key != "advice.cautions.waiting" for one in served for c in one.cautions)


def test_what_reaches_the_targets_is_not_said_to_miss_them(crowded):
    """Where the users of the load wait after every change, that is what is told."""
    helping = tuple(one for one in advise(crowded, most=100) if one.key == "cache_8_bit")
    assert estimate(crowded).verdict.state != "good" and not helping[0].estimate.verdict.missed
    above = lead("warn", helping)
    assert above is not None and above.key == "advice.not_all_at_once"
