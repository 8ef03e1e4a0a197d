"""A model as a catalogue entry or as stored inside a scenario."""

from pydantic import Field

from core.spec.architecture import Architecture
from core.spec.base import Spec, declared


class Model(Spec):
    """What is known of a model.  ``architecture`` is derived from its configuration once."""

    name: str = Field(min_length=1, max_length=300)
    family: str = ""
    released: str = ""
    licence: str = ""
    max_context: int = declared(unit="tokens", kind="count", ge=1, le=10**9)
    published_weight_format: str = ""
    architecture: Architecture
    sources: tuple[str, ...] = ()
