"""The mark below a field whose choice nobody has measured: the figures are generic and their ranges wide."""

from core.explain.engine_notes import not_measured
from core.spec.scenario import Scenario
from core.words import Words

GENERIC_DEVICE, GENERIC_FORMAT = "engine_notes.generic_profile", "engine_notes.generic_format"


def mark_of(scenario: Scenario, what: str, words: Words) -> str:
    """The words of the mark where ``what`` was not measured, the device or the format; "" where it was."""
    found = not_measured(scenario)
    return words("forms.not_measured") if found is not None and found.key == what else ""
