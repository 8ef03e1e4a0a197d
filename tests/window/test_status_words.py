"""What the line at the bottom says of the engine and of what limits."""

from core.estimator import estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.frame.statusbar import limit, profile


def test_an_engine_without_a_version_leaves_no_gap(scenario: Scenario) -> None:
    for language in ("en", "zh_CN"):
        words = Words(language)
        for engine in ("vllm", "sglang", "trtllm"):
            told = profile(
                estimate(with_values(scenario, {"engine.name": engine, "engine.version": ""})), words
            )
            assert "  " not in told and told == told.strip()


def test_a_request_that_is_too_long_is_named_as_the_limit(scenario: Scenario) -> None:
    words = Words("en")
    point = estimate(with_values(scenario, {"engine.max_model_len": 1024}))
    assert limit(point, words) == words("status.limit.too_long")
