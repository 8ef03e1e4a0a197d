"""The Targets section: what the service should reach; an empty field is no target."""

from core.spec.scenario import Scenario
from core.units import editable, show_count
from core.words import Words
from gui.document import Document
from gui.fields.binder import build as bind
from gui.forms.parts import Part


def build(document: Document, words: Words) -> Part:
    """First token, per token, users."""
    none = words("forms.no_target")
    return Part(
        "targets",
        [
            bind(document, "targets.time_to_first_token_s", words, prefix="≤", placeholder=none),
            bind(document, "targets.time_per_output_token_ms", words, prefix="≤", placeholder=none),
            bind(document, "targets.users", words, prefix="≥", placeholder=none),
        ],
        _summary,
    )


def _summary(scenario: Scenario, words: Words) -> str:
    targets = scenario.targets
    shown = []
    if targets.time_to_first_token_s is not None:
        shown.append(f"≤ {editable(targets.time_to_first_token_s, 's')} s")
    if targets.time_per_output_token_ms is not None:
        shown.append(f"≤ {editable(targets.time_per_output_token_ms, 'ms')} ms")
    if targets.users is not None:
        shown.append(f"≥ {show_count(targets.users)}")
    return " · ".join(shown) or words("forms.no_target")
