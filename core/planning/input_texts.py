"""Inputs as a person reads them."""

from core.spec.base import field_meta
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.units import Shown, show_count, show_tokens, three_digits
from core.words import Phrase

_CHOICES = {
    "engine.name": "choices.engines",
    "workload.load": "choices.load",
    "speculative.kind": "choices.drafts",
    "engine.backend": "choices.backends",
}
# How many ways the model is divided: "TP 2" as in the form, not a bare number.
_DEGREES = {
    "deployment.tensor_parallel": ("choices.tp", "degree"),
    "deployment.pipeline_parallel": ("choices.pp", "stages"),
}


def shown_input(path: str, value: object) -> Shown | Phrase:
    """An input as a person reads it."""
    if value is None or (path == "engine.calibration" and not value):
        return Phrase("compare.none")
    if path in _CHOICES:
        return Phrase(f"{_CHOICES[path]}.{value}")
    if isinstance(value, bool):
        # The field is shown as its opposite: CUDA graphs on or off.
        on = not value if path == "engine.enforce_eager" else value
        return Phrase("choices.on" if on else "choices.off")
    if path == "precision.weights" and value in WEIGHT_FORMATS:
        return Shown(WEIGHT_FORMATS[str(value)].label, "")
    if path == "precision.kv_cache" and value in CACHE_FORMATS:
        return Shown(CACHE_FORMATS[str(value)].label, "")
    if path in _DEGREES and value:
        key, name = _DEGREES[path]
        return Phrase(key, {name: str(value)})
    if path == "deployment.link":
        return Phrase(f"compare.links.{value}")
    if isinstance(value, int | float):
        part, _, name = path.partition(".")
        unit = (
            field_meta(type(Scenario.model_fields[part].get_default(call_default_factory=True)), name).unit
            if name
            else ""
        )
        if unit == "tokens":
            return Shown(show_tokens(value), "tok")
        if unit == "1":
            return Shown(f"{value:.2f}", "")
        text = show_count(value) if float(value).is_integer() else three_digits(value)
        return Shown(text, "" if unit == "users" else unit)
    return Shown(str(getattr(value, "name", value)), "")
