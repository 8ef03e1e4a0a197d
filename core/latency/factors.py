"""Factors that carry kernels measured one by one over to a running server.

Each applies to a term, for the engine, the family of devices and the format (or kind of model) that it
names, or for all; those that apply multiply.  The values were fitted together, shrunken towards the
start value with the spread stated, by ``core.evidence.fit``.
"""

import json
from functools import cache

from pydantic import Field

import resources
from core.spec.base import Spec

FILE = "data/efficiency/factors.json"


class Grounds(Spec):
    """What a value was fitted on: rows whose prediction it moves, of how many models, devices, sources."""

    rows: int = Field(ge=0)
    models: int = Field(ge=0)
    devices: int = Field(ge=0)
    sources: int = Field(0, ge=0)


class Factor(Spec):
    """One fitted value.  Empty texts: for all of them."""

    term: str
    engine: str = ""
    family: str = ""
    # Of weights or cache, several joined by "+"; for the terms of the first token the kind of model.
    format: str = ""
    value: float = Field(gt=0)
    start: float = Field(gt=0)  # before the fit: from the kernels' tables or from a study of forms
    spread: float = Field(gt=0)  # of the prior, in the logarithm
    fitted_on: Grounds | None = None

    @property
    def name(self) -> str:
        """Term and conditions in one word."""
        return "/".join((self.term, self.engine or "*", self.family or "*", self.format or "*"))


class Factors:
    """All factors; compared by identity."""

    def __init__(self, entries: tuple[Factor, ...]) -> None:
        self.entries = entries
        self._by_term: dict[str, list[Factor]] = {}
        for entry in entries:
            self._by_term.setdefault(entry.term, []).append(entry)

    def of(self, term: str, engine: str, family: str, fmt: str = "") -> float:
        """The product of all that apply; 1 when none does."""
        product = 1.0
        for entry in self._by_term.get(term, ()):
            if entry.engine in ("", engine) and entry.family in ("", family) and _names(entry.format, fmt):
                product *= entry.value
        return product


def _names(formats: str, fmt: str) -> bool:
    """Whether ``formats``, one or several joined by "+", holds ``fmt``; empty: any."""
    return not formats or fmt in formats.split("+")


@cache
def load_factors() -> Factors:
    """The packaged factors."""
    tree = json.loads(resources.read_text(FILE))
    return Factors(tuple(Factor.model_validate(entry) for entry in tree["factors"]))
