"""A ``config.json`` in the Hugging Face style → the architecture it describes.

Nothing is downloaded or executed; the file is data.  Every refusal is an InvalidScenario with a
code below ``importer.`` and the field's dotted path.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from core.errors import InvalidScenario, Problem
from core.importers.hf.assemble import standard
from core.importers.hf.attention import max_context, refuse_context
from core.importers.hf.families import ARCHITECTURES, FAMILIES
from core.importers.hf.quantisation import weight_format
from core.importers.hf.reader import Reader
from core.importers.hf.towers import audio_parameters, vision_parameters
from core.spec.architecture import Architecture
from core.spec.model import Model


def known_model_types() -> tuple[str, ...]:
    """Every ``model_type`` that can be read, sorted."""
    return tuple(sorted(FAMILIES))


def architecture_from_config(
    config: Mapping[str, Any],
    *,
    vision_parameters_stated: int | None = None,
    audio_parameters_stated: int | None = None,
) -> Architecture:
    """The architecture that ``config`` describes.

    ``*_stated``: parameters of a tower whose size the file does not pin.
    Raises InvalidScenario: ``importer.unknown_model_type``, ``missing_field``, ``wrong_type``,
    ``out_of_range``, ``too_short``, ``unknown_layer``, ``unknown_variant``, ``impossible``.
    """
    text, top = _readers(config)
    family = FAMILIES[text.model_type]
    try:
        arch = (family.build or standard)(text, family)
        vision, audio = vision_parameters_stated, audio_parameters_stated
        vision = vision_parameters(top, arch.hidden) if vision is None else vision
        audio = audio_parameters(top, arch.hidden) if audio is None else audio
        module, beside = family.prediction(text, family, arch) if family.prediction else ((), 0)
        whole = {
            **arch.model_dump(),
            "vision_parameters": vision,
            "audio_parameters": audio,
            "mtp_groups": tuple(group.model_dump() for group in module),
            "mtp_other_parameters": beside,
        }
        # Checked as a whole once more: what is read here can be stored in a scenario.
        return Architecture.model_validate(whole)
    except ValidationError as error:
        raise _impossible(error, text.model_type) from None


# Families as the catalogue names them, where an engine treats one in a way of its own.
_FAMILY_OF = {
    "phi": "Phi",
    "phi3": "Phi-3",
    "mistral": "Mistral",
    "starcoder2": "StarCoder2",
    "gpt_bigcode": "StarCoder",
    "gpt_neox": "GPT-NeoX",
    "gptj": "GPT-J",
    "gpt2": "GPT-2",
    "bloom": "BLOOM",
    "mpt": "MPT",
    "falcon": "Falcon",
    "chatglm": "ChatGLM",
    "qwen": "Qwen",
    "qwen2": "Qwen2",
    "dbrx": "DBRX",
    "cohere": "Command R",
    "cohere2": "Command R7B",
}


def model_from_config(
    config: Mapping[str, Any],
    name: str,
    *,
    family: str = "",
    released: str = "",
    licence: str = "",
    max_context_stated: int | None = None,
    published_weight_format: str = "",
    sources: tuple[str, ...] = (),
    vision_parameters_stated: int | None = None,
    audio_parameters_stated: int | None = None,
) -> Model:
    """A model with the given particulars; what is left out comes from the file where it is there."""
    arch = architecture_from_config(
        config,
        vision_parameters_stated=vision_parameters_stated,
        audio_parameters_stated=audio_parameters_stated,
    )
    context = max_context_stated
    if context is None:
        text, top = _readers(config)
        context = max_context(text) or max_context(top)
        if context is None:
            refuse_context(text, top)
    try:
        return Model(
            name=name,
            family=family or _FAMILY_OF.get(_readers(config)[0].model_type, ""),
            released=released,
            licence=licence,
            max_context=context,
            published_weight_format=published_weight_format or weight_format(config),
            architecture=arch,
            sources=sources,
        )
    except ValidationError as error:
        raise _impossible(error, str(config.get("model_type"))) from None


def _readers(config: Mapping[str, Any]) -> tuple[Reader, Reader]:
    """The text part and the whole file, each under the type that decides how it is read."""
    if not isinstance(config, Mapping):
        raise InvalidScenario(Problem("importer.not_an_object", values={"found": type(config).__name__}))
    stated = config.get("model_type")
    top_type = stated if isinstance(stated, str) else ""
    named = config.get("architectures")
    for architecture in named[:8] if isinstance(named, list | tuple) else ():
        if isinstance(architecture, str) and architecture in ARCHITECTURES:
            top_type = ARCHITECTURES[architecture]
    nested = config.get("text_config")
    text: Mapping[str, Any] = config
    text_type = top_type
    if isinstance(nested, Mapping) and nested:
        inner = nested.get("model_type")
        inner_type = inner if isinstance(inner, str) else ""
        # A file that ties says so at the top when its text part is silent.
        text = {key: config[key] for key in ("tie_word_embeddings",) if config.get(key) is not None} | dict(
            nested
        )
        text_type = _text_type(inner_type, top_type)
    if text_type not in FAMILIES:
        shown = (text_type or top_type)[:60]
        raise InvalidScenario(Problem("importer.unknown_model_type", ("model_type",), {"model_type": shown}))
    prefix = "" if text is config else "text_config."
    return Reader(text, text_type, FAMILIES[text_type].defaults, prefix), Reader(config, top_type)


def _text_type(inner: str, outer: str) -> str:
    """The type of a nested text part; some name it after the wrapper with ``_text``."""
    for candidate in (inner, inner.removesuffix("_text")):
        if candidate in FAMILIES:
            return candidate
    return inner or outer


def _impossible(error: ValidationError, model_type: str) -> InvalidScenario:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    values = {"name": path, "model_type": model_type, "value": str(first.get("input"))[:60]}
    return InvalidScenario(Problem("importer.impossible", (path,), values))
