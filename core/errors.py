"""Expected outcomes as types with data.  Words for them are in the catalogue, not here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Problem:
    """Something a person can act on.

    ``code`` is the text key below ``problems.``; ``paths`` are the fields it is about
    ("deployment.tensor_parallel"); ``values`` fill the sentence.
    """

    code: str
    paths: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict, compare=False)
    severity: Literal["error", "warning", "note"] = "error"


class InferometerError(Exception):
    """An expected failure that carries problems instead of prose."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(f"{p.code} {p.paths} {p.values}" for p in problems))
        self.problems = problems


class InvalidScenario(InferometerError):
    """A scenario, or a part of one, that cannot be."""


class UnreadableFile(InferometerError):
    """A file that is missing, broken, too large, or of a kind we do not know."""


class UnwritableFile(InferometerError):
    """A place that nothing can be written to."""


class NotFound(InferometerError):
    """A name that no catalogue entry answers to."""
