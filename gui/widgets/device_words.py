"""Words that name the device: a processor is no GPU."""

from core.spec.scenario import Scenario
from core.words import Words


def of_device(scenario: Scenario | None, words: Words, key: str, **values: object) -> str:
    """The text of a key, or the one that stands in for it where the model runs on a processor."""
    processor = scenario is not None and scenario.accelerator.kind == "cpu"
    return words(f"{key}_cpu" if processor else key, **values)
