"""Results kept beside a scenario's file, so that what took long to work out is there when it opens again.

``{"format": "inferometer-results", "schema": 1, "version": "…", "run": {…}, "load": {…}, "search": {…},
"models": {…}}``
Each part says which scenario it is of; whether that is still the scenario's is for the reader to ask.
A file that cannot be read costs the results only: the scenario stands in its own.
"""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from core import strict_json
from core.errors import InferometerError, Problem, UnreadableFile
from core.files import atomic
from core.files.plain_tree import Book, Mismatch, tree_of, value_of
from core.files.scenario_file import validated
from core.planning.capacity_search import CapacityFound, ReplicasFound, Trial
from core.planning.offers import Offer
from core.planning.recommend import Recommendation
from core.planning.what_runs import WhatRuns
from core.serving.requests import Records
from core.serving.results import Over, SimulationResult
from core.spec.scenario import Scenario
from core.version import VERSION

FORMAT = "inferometer-results"
SCHEMA = 1
ENDING = ".results"  # after the whole name of the scenario's file
MAX_BYTES = 16 * 2**20
MOST_REQUESTS = 100_000  # whose fates are kept; of longer runs the figures and the course are


@dataclass(frozen=True, slots=True, eq=False)
class KeptRun:
    """A simulation."""

    scenario: Scenario
    result: SimulationResult
    trace: str  # path of the trace it read
    seconds: float  # of computing


@dataclass(frozen=True, slots=True, eq=False)
class KeptLoad:
    """The largest load with the curve around it, and the copies that the scenario's rate takes."""

    scenario: Scenario
    found: CapacityFound
    trials: tuple[Trial, ...]
    knee: int
    replicas: ReplicasFound | None


@dataclass(frozen=True, slots=True, eq=False)
class KeptSearch:
    """A search for hardware."""

    scenario: Scenario
    state: Recommendation
    seconds: float
    trace: str = ""  # that its offers were simulated with: where it lay, and what tells it from others


@dataclass(frozen=True, slots=True, eq=False)
class KeptModels:
    """A search for models."""

    scenario: Scenario
    state: WhatRuns
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class KeptResults:
    """What a file holds; ``version`` is of the program that worked it out."""

    run: KeptRun | None = None
    load: KeptLoad | None = None
    search: KeptSearch | None = None
    models: KeptModels | None = None
    version: str = VERSION


_PARTS: dict[str, type] = {"run": KeptRun, "load": KeptLoad, "search": KeptSearch, "models": KeptModels}


def place_of(scenario_file: Path) -> Path:
    """Where the results of a scenario's file are kept."""
    return scenario_file.with_name(scenario_file.name + ENDING)


def dumps(kept: KeptResults) -> bytes:
    """The bytes of the file."""
    tree: dict[str, Any] = {"format": FORMAT, "schema": SCHEMA, "version": kept.version}
    for name in _PARTS:
        part = getattr(kept, name)
        if part is None:
            continue
        base: Scenario = part.scenario
        slim, book = _slim(part), Book(base)
        rest = {f.name: tree_of(getattr(slim, f.name), book) for f in fields(slim) if f.name != "scenario"}
        tree[name] = {"scenario": base.model_dump(mode="json"), "devices": book.trees, **rest}
    return (json.dumps(tree, ensure_ascii=False, allow_nan=False) + "\n").encode()


def loads(data: bytes) -> KeptResults:
    """What the bytes hold.  Raises UnreadableFile."""
    tree = strict_json.parse(data, MAX_BYTES)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or tree.get("schema") != SCHEMA:
        raise UnreadableFile(Problem("file.no_results"))
    parts: dict[str, Any] = {}
    try:
        for name, kind in _PARTS.items():
            if tree.get(name) is not None:
                book = Book(validated(tree[name]["scenario"]), list(tree[name]["devices"]))
                parts[name] = value_of(kind, {**tree[name], "scenario": {}}, book)
        return KeptResults(**parts, version=str(tree.get("version", "")))
    except (Mismatch, LookupError, TypeError, ValueError) as error:
        raise UnreadableFile(Problem("file.no_results")) from error
    except InferometerError as error:
        raise UnreadableFile(*error.problems) from error


def save(scenario_file: Path, kept: KeptResults) -> None:
    """Write the results beside a scenario's file.  Raises UnwritableFile."""
    atomic.write_atomic(place_of(scenario_file), dumps(kept))


def load(scenario_file: Path) -> KeptResults:
    """The results beside a scenario's file.  Raises UnreadableFile."""
    return loads(atomic.read_limited(place_of(scenario_file), MAX_BYTES))


def _slim(part: Any) -> Any:
    """Without what would make the file large."""
    if isinstance(part, KeptRun) and len(part.result.records) > MOST_REQUESTS:
        return replace(part, result=replace(part.result, records=Records()))
    if isinstance(part, KeptSearch):
        state = part.state
        offers, near = (tuple(map(_without_course, some)) for some in (state.offers, state.near))
        return replace(part, state=replace(state, offers=offers, near=near))
    return part


def _without_course(offer: Offer) -> Offer:
    if offer.verified is None:
        return offer
    nothing = Over(*[np.zeros(0)] * len(fields(Over)))
    return replace(offer, verified=replace(offer.verified, over=nothing, records=Records()))
