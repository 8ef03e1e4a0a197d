"""Padding of a decode batch to the sizes that CUDA graphs were captured for.

A graph replays kernels of fixed shapes, so a batch between two captured sizes is filled up with rows
that nobody reads: they pass through every matrix, but they read no cache and give no logits.  All of
them carry the same token, so in a mixture they visit the experts of one.  A batch beyond the largest
size runs outside the graph.  A step with prompts in it runs outside too, but in engines that capture the
pieces between the attentions, where it does only when its tokens are more than the largest size.

    padded(n) = the next captured size, for whole n; between whole numbers in a straight line

A mean of 8.3 running sequences is 8 in seven steps of ten and 9 in three: the line is their mean.
"""

import json
from functools import cache, lru_cache
from typing import Literal

import numpy as np
from pydantic import Field

import resources
from core.latency.efficiency import version_number
from core.quantities import FloatArray
from core.spec.base import Spec

FILE = "data/efficiency/graphs.json"
_FAR = 1e9  # sequences; beyond the last size nothing is padded


class Sizes(Spec):
    """Captured sizes: single ones, and ranges as first, last, step."""

    first: tuple[int, ...]
    every: tuple[tuple[int, int, int], ...]

    def all(self) -> list[int]:
        """In order."""
        found = set(self.first)
        for first, last, step in self.every:
            found |= set(range(first, last + 1, step))
        return sorted(found)


class Captured(Sizes):
    """What releases from ``since`` on capture."""

    since: str
    unit: Literal["tokens", "sequences"]
    prompts: bool = False  # steps with prompts, in pieces
    drafts: Sizes | None = Field(None)  # with speculative decoding, where it differs


@cache
def _stored() -> dict[str, list[Captured]]:
    tree = json.loads(resources.read_text(FILE))
    return {
        engine: [Captured.model_validate_json(json.dumps(entry)) for entry in entries]
        for engine, entries in tree["engines"].items()
    }


def _captured(engine: str, version: str) -> Captured | None:
    """What a release captures.  A version nobody can read is new."""
    wanted, chosen = version_number(version), None
    for entry in _stored().get(engine, ()):
        if chosen is None or not wanted or version_number(entry.since) <= wanted:
            chosen = entry
    return chosen


def captured_sizes(engine: str, version: str, verified: int = 1) -> tuple[int, ...]:
    """Sequences of the captured batches; ``verified`` tokens of each."""
    chosen = _captured(engine, version)
    if chosen is None:
        return ()
    sizes = (chosen.drafts if verified > 1 and chosen.drafts is not None else chosen).all()
    if chosen.unit == "tokens" and verified > 1:
        sizes = sorted({-(-size // verified) for size in sizes})
    return tuple(sizes)


class Padding:
    """Padded batches by interpolation between whole numbers of sequences."""

    __slots__ = ("_at", "_padded", "largest", "largest_prompt")

    def __init__(self, sizes: tuple[int, ...], prompts: bool = False) -> None:
        self.largest_prompt = float(sizes[-1]) if prompts and sizes else 0.0  # tokens of a step with prompts
        self.largest = float(sizes[-1]) if sizes else _FAR
        at, padded = [0.0], [0.0]
        for size, after in zip(sizes, (*sizes[1:], 0), strict=False):
            at.append(float(size))
            padded.append(float(size))
            if after > size + 1:
                at.append(size + 1.0)
                padded.append(float(after))
        self._at = np.array([*at, _FAR])
        self._padded = np.array([*padded, _FAR])

    def of(self, decoding: FloatArray) -> FloatArray:
        """Rows that the kernels of a batch of ``decoding`` sequences (n,) have."""
        return np.asarray(np.interp(decoding, self._at, self._padded))


@lru_cache(maxsize=64)
def padding_of(engine: str, version: str, verified: int, eager: bool) -> Padding:
    """The padding of an engine's batches; in eager mode there is none."""
    if eager:
        return Padding(())
    captured = _captured(engine, version)
    prompts = captured is not None and captured.prompts
    return Padding(captured_sizes(engine, version, verified), prompts)
