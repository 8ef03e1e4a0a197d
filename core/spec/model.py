"""A model as a catalogue entry or as stored inside a scenario."""

from typing import Annotated

from pydantic import Field

from core.spec.architecture import Architecture
from core.spec.base import Line, Spec, Word, declared


class Model(Spec):
    """What is known of a model.  ``architecture`` is derived from its configuration once."""

    name: Line = Field(min_length=1)
    family: Line = ""
    released: Word = ""
    licence: Line = ""
    max_context: int = declared(unit="tokens", kind="count", ge=1, le=10**9)
    published_weight_format: Word = ""
    architecture: Architecture
    sources: tuple[Annotated[str, Field(max_length=1000)], ...] = Field((), max_length=64)
