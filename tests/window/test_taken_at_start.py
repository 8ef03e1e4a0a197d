"""llama.cpp and Ollama have no budget: they take what they need as they start, and the rest stays free."""

import pytest

from core.estimator import estimate
from core.reports.as_text import estimate_text
from core.reports.content import metric_values
from core.results import Estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import show_bytes
from core.words import Words
from gui.widgets.card_content import cards_of
from gui.widgets.ledger_content import account_of


def point_of(scenario: Scenario, engine: str, **changes: object) -> Estimate:
    """The sample's model in GGUF, on one card."""
    given = {
        "engine.name": engine,
        "engine.version": "",
        "engine.n_parallel": 2,
        "precision.weights": "gguf_q4_k_m",
        "precision.kv_cache": "fp16",
    }
    return estimate(with_values(scenario, {**given, **changes}))


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_what_is_taken_is_no_limit(scenario: Scenario, engine: str, language: str) -> None:
    point, words = point_of(scenario, engine), Words(language)
    ledger = point.ledger
    taken, free = show_bytes(ledger.budget_bytes), show_bytes(ledger.device_bytes - ledger.budget_bytes)
    assert ledger.fits and ledger.budget_bytes < 0.9 * ledger.device_bytes
    card = next(card for card in cards_of(point, words) if card.key == "memory_per_device")
    assert card.target == f"≤ {show_bytes(ledger.device_bytes).number}"
    assert card.target_mark == 1 and taken.number in card.note
    assert str(taken) in card.tip and str(free) in card.tip
    account = account_of(point, words)
    names = [row.name for row in account.rows]
    assert words("ledger.taken") in names and words("ledger.unused") in names
    assert words("ledger.budget") not in names
    told = f"{account.limit_text} {account.shares} {estimate_text(point, words)}"
    assert "budget" not in told.lower() and "预算" not in told
    limit = next(target for key, _, target, _ in metric_values(point) if key == "memory_per_device")
    assert limit == ledger.device_bytes


def test_what_does_not_fit_is_limited_by_the_device(scenario: Scenario) -> None:
    words = Words("en")
    point = point_of(scenario, "llamacpp", **{"engine.max_model_len": 10**6})
    assert not point.ledger.fits and point.ledger.budget_bytes == point.ledger.device_bytes
    assert words("ledger.budget") in [row.name for row in account_of(point, words).rows]
