"""The Precision section: formats of weights and cache."""

from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.fields.binder import build as bind
from gui.forms import choices
from gui.forms.not_measured import GENERIC_FORMAT, mark_of
from gui.forms.parts import Part


def build(document: Document, words: Words) -> Part:
    """Weights, KV cache."""
    weights = bind(document, "precision.weights", words, choices=choices.weight_formats)
    cache = bind(document, "precision.kv_cache", words, choices=choices.cache_formats)

    def refresh(scenario: Scenario) -> None:
        weights.show_note(mark_of(scenario, GENERIC_FORMAT, words))

    return Part("precision", [weights, cache], _summary, refresh)


def _summary(scenario: Scenario, words: Words) -> str:
    weights, cache = scenario.precision.weights, scenario.precision.kv_cache
    shown = WEIGHT_FORMATS[weights].label if weights in WEIGHT_FORMATS else weights
    kept = CACHE_FORMATS[cache].label if cache in CACHE_FORMATS else cache
    shown = shown.replace(", ", " ")
    return f"{shown} · {words('forms.kv', format=kept)}"
