"""The Precision section: formats of weights and cache."""

from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.fields.binder import build as bind
from gui.forms import choices
from gui.forms.parts import Part


def build(document: Document, words: Words) -> Part:
    """Weights, KV cache."""
    return Part(
        "precision",
        [
            bind(document, "precision.weights", words, choices=choices.weight_formats),
            bind(document, "precision.kv_cache", words, choices=choices.cache_formats),
        ],
        _summary,
    )


def _summary(scenario: Scenario, words: Words) -> str:
    weights, cache = scenario.precision.weights, scenario.precision.kv_cache
    shown = WEIGHT_FORMATS[weights].label if weights in WEIGHT_FORMATS else weights
    kept = CACHE_FORMATS[cache].label if cache in CACHE_FORMATS else cache
    shown = shown.replace(", ", " ")
    return f"{shown} · {words('forms.kv', format=kept)}"
