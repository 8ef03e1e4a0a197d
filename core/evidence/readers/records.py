"""Results that tools write as JSON: finds which tool an object is of, and hands it to that tool's reader.

A shape is a module with ``NEEDLES`` (field names as they stand in the text), ``claims(tree)`` and
``take(tree, name, line)``.
"""

import re
from typing import Any, Protocol

from core.errors import Problem
from core.evidence.readers import (
    aiperf,
    guidellm,
    llama_batched,
    llama_bench,
    llmperf,
    ollama,
    serving_json,
    sglang_batch,
    trtllm_bench,
    vllm_offline,
)
from core.evidence.readers.common import Reading, problem, together
from core.evidence.readers.objects import objects

KEY = "json"
WHOLE = False
_MAX_TOLD = 20
_ENOUGH = 200_000  # characters of JSON without one known field
_IS_JSON = re.compile(r'\s*(?:\{\s*["}]|\[\s*\{)')


class Shape(Protocol):
    """The shape of a module that reads the JSON of one tool."""

    @property
    def NEEDLES(self) -> tuple[str, ...]:
        """Names of fields, one of which every such object has."""

    def claims(self, tree: dict[str, Any], /) -> bool:
        """Whether the object is a result of this tool."""

    def take(self, tree: dict[str, Any], name: str, line: int, /) -> Reading:
        """The runs of such an object."""


# In this order: fields of the later ones are also in the earlier.
SHAPES: tuple[Shape, ...] = (
    serving_json,
    guidellm,
    trtllm_bench,
    aiperf,
    llmperf,
    llama_bench,
    llama_batched,
    sglang_batch,
    vllm_offline,
    ollama,
)
# Field → what to open instead: files of requests one by one, or made for other programs.
_ELSEWHERE = {
    "experiments": "profile_export_genai_perf.json",
    "benchmark_phase": "profile_export_aiperf.json",
    "benchmark_values": "*.json",
    "request_output_throughput_token_per_s": "*_summary.json",
}


def looks_like(text: str, _name: str) -> bool:
    """Whether the text is JSON, or holds an object with a field of one of the tools."""
    if _IS_JSON.match(text):
        return True
    return "{" in text and bool(_named_in(text))


def read(text: str, name: str) -> Reading:
    """The runs of all objects."""
    asked = _named_in(text)
    found, problems = objects(text if asked else _beginning(text), name)
    readings: list[Reading] = []
    strange: list[Problem] = []
    for one in found:
        shape = next((shape for shape in asked if shape.claims(one.tree)), None)
        if shape is not None:
            readings.append(shape.take(one.tree, name, one.line))
        elif one.whole and len(strange) < _MAX_TOLD:
            strange.append(problem("unknown_object", name, one.line))
    taken = together(readings)
    strange += [told for told in taken.problems if told.code == "reading.unknown_object"]
    kept = [told for told in taken.problems if told.code != "reading.unknown_object"]
    # A log has objects of its own: only a file of nothing else is told about.
    if strange and not taken.runs and _IS_JSON.match(text):
        other = next((instead for field, instead in _ELSEWHERE.items() if f'"{field}"' in text), "")
        kept += [problem("other_file", name, 1, instead=other)] if other else strange
    return Reading(taken.runs, (*kept[:_MAX_TOLD], *problems))


def _beginning(text: str) -> str:
    """The first objects of a text that has one a line: enough to say that nothing of it is known."""
    end = text.find("\n{", _ENOUGH) if text.lstrip()[:1] == "{" else -1
    return text if end < 0 else text[:end]


def _named_in(text: str) -> list[Shape]:
    """The shapes that the text can hold: of a million foreign objects none is asked about ten times."""
    return [shape for shape in SHAPES if any(f'"{needle}' in text for needle in shape.NEEDLES)]
