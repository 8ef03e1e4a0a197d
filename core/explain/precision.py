"""Advice on number formats: bytes, what gains, and the quality caution by task.

The judgement by task is that of the teaching material: 16 bits are safest, 8 bits lose next to nothing,
4 bits show in code, mathematics and long documents and are fine for chat and summaries.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import resources
from core.spec.formats import WEIGHT_FORMATS
from core.spec.workload import Workload
from core.words import Phrase

Task = Literal["chat", "rag", "long_document", "code", "agent", "batch", "other"]
_CAREFUL: frozenset[str] = frozenset({"code", "long_document", "agent"})
_LONG = 16_384  # tokens of a prompt from which on any use counts as one of long documents
_LENGTHS = ("prompt_tokens", "output_tokens", "shared_prefix_tokens")


@cache
def _presets() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(resources.read_text("data/workloads/presets.json"))["presets"])


def task_of(work: Workload) -> Task:
    """The kind of use: the preset with these lengths, a shared prefix left out; else by length."""
    for preset in _presets():
        if all(getattr(work, name) == preset[name] for name in _LENGTHS[:2]):
            task: Task = preset["key"]
            return task
    return "long_document" if work.prompt_tokens >= _LONG else "other"


def is_careful(task: Task) -> bool:
    """Whether few bits show in this use."""
    return task in _CAREFUL


def weight_caution(bits: int, task: Task) -> Phrase:
    """What ``bits`` a weight cost in quality."""
    if bits >= 16:
        return Phrase("advice.cautions.weights_16")
    if bits >= 8:
        return Phrase("advice.cautions.weights_8")
    if is_careful(task):
        return Phrase("advice.cautions.weights_4_careful", {"task": Phrase(f"choices.presets.{task}")})
    return Phrase("advice.cautions.weights_4")


def cache_caution(task: Task) -> Phrase:
    """What an 8-bit cache costs in quality."""
    return Phrase("advice.cautions.cache_8_careful" if is_careful(task) else "advice.cautions.cache_8")


@dataclass(frozen=True, slots=True)
class PrecisionRow:
    """One row of the table "bytes per precision" with its advice; sizes are of plain elements, no scales."""

    format: str
    bytes_per_parameter: float
    size_7b_gb: float  # of 7 billion parameters, decimal
    size_70b_gb: float
    quality: Phrase
    use: Phrase


_ROWS: tuple[tuple[str, str, str], ...] = (
    ("fp32", "precision.quality.wide", "precision.use.fp32"),
    ("bf16", "precision.quality.safe", "precision.use.bf16"),
    ("fp16", "precision.quality.safe", "precision.use.fp16"),
    ("fp8", "precision.quality.tiny", "precision.use.fp8"),
    ("w8a8", "precision.quality.tiny", "precision.use.int8"),
    ("w8a16", "precision.quality.tiny", "precision.use.w8a16"),
    ("int4", "precision.quality.visible", "precision.use.int4"),
    ("nvfp4", "precision.quality.visible", "precision.use.fp4"),
)


def precision_table() -> tuple[PrecisionRow, ...]:
    """Bytes for each parameter by format, what that makes of 7 and 70 billion, and when to use it."""
    rows = []
    for key, quality, use in _ROWS:
        size = int(WEIGHT_FORMATS[key].bits) / 8
        label = WEIGHT_FORMATS[key].label
        rows.append(PrecisionRow(label, size, 7 * size, 70 * size, Phrase(quality), Phrase(use)))
    return tuple(rows)
