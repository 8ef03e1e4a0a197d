"""What reading a model's own files yields."""

from dataclasses import dataclass

from core.errors import Problem
from core.spec.model import Model


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """The model, the key of the format its weights are in or nearest to, and what had to be assumed."""

    model: Model
    weight_format: str
    notes: tuple[Problem, ...] = ()
