"""What the engine does not run on is red everywhere in the window."""

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.frame.statusbar import limit
from gui.widgets.card_content import cards_of


def refused(scenario: Scenario) -> Scenario:
    """VLLM on a Mac."""
    device = load_accelerator("Apple M4 Max (40-core GPU)")
    return with_values(scenario, {"accelerator": device, "workload.users": 1, "targets.users": 1})


def test_no_card_meets_its_target_where_the_engine_does_not_run(scenario: Scenario) -> None:
    for language in ("en", "zh_CN"):
        words = Words(language)
        point = estimate(refused(scenario))
        cards = cards_of(point, words)
        assert {card.target_state for card in cards} == {"bad"}
        assert {card.target for card in cards} == {words("cards.cannot_run")}
        assert all(words("cards.cannot_run") in card.spoken for card in cards)
        assert limit(point, words) == words("status.limit.cannot_run")
