"""Records of measured memory, one JSON object a line, read tolerantly.

Fields of a record: ``id``, ``engine``, ``engine_version``, ``model``, ``gpu``, ``gpu_count``, ``tp``,
``pp``, ``ep``, ``weight_format``, ``kv_dtype``, ``max_model_len``, ``gpu_memory_utilization``,
``max_num_batched_tokens``, ``max_num_seqs``, ``block_size``, ``enforce_eager``, ``extra`` (settings that
only some engines have) and ``observed`` (figures by metric).  Anything may be absent or null.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import Problem, UnreadableFile
from core.os_reasons import reason_of

MAX_BYTES = 64 * 2**20
_LARGEST = 1e9  # no setting is larger


@dataclass(frozen=True)
class MeasuredMemory:
    """One run: what was set, and what its log says.  0 and "" mean: not stated."""

    id: str
    engine: str
    version: str
    model: str
    gpu: str
    devices: int
    tensor_parallel: int
    pipeline_parallel: int
    expert_parallel: int
    weight_format: str
    cache_format: str
    max_model_len: int
    utilization: float
    batched_tokens: int
    sequences: int
    block_size: int
    enforce_eager: bool
    extra: dict[str, Any]
    observed: dict[str, float]

    @property
    def inferred(self) -> tuple[str, ...]:
        """Fields that the record's author guessed."""
        fields = self.extra.get("inferred_fields")
        return tuple(map(str, fields)) if isinstance(fields, list | tuple) else ()

    def setting(self, *names: str) -> float | None:
        """The first of these settings that the record states as a number."""
        for name in names:
            value = self.extra.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if math.isfinite(value) and abs(value) < _LARGEST:
                return float(value)
        return None

    def flag(self, name: str) -> bool | None:
        """A setting that is on or off; None when it is not stated."""
        value = self.extra.get(name)
        return value if isinstance(value, bool) else None


def publisher(source: str) -> str:
    """Who measured: files of one repository are one source, each of its issues and requests is another."""
    found = re.match(r"https?://github\.com/([^/]+/[^/]+)(/(?:issues|pull)/\d+)?", source)
    return found[0] if found else source


def _text(tree: dict[str, Any], key: str) -> str:
    value = tree.get(key)
    return value.strip()[:300] if isinstance(value, str) else ""


def _number(tree: dict[str, Any], key: str) -> float:
    value = tree.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.0
    return float(value)


def _count(tree: dict[str, Any], key: str) -> int:
    return max(0, int(min(_number(tree, key), 1e15)))


def record_of(tree: dict[str, Any], line: int) -> MeasuredMemory:
    """One record from its parsed line; ``line`` names a record without an id."""
    extra, observed = tree.get("extra"), tree.get("observed")
    seen = observed if isinstance(observed, dict) else {}
    return MeasuredMemory(
        id=_text(tree, "id") or f"line {line}",
        engine=_text(tree, "engine").lower(),
        version=_text(tree, "engine_version"),
        model=_text(tree, "model"),
        gpu=_text(tree, "gpu"),
        devices=_count(tree, "gpu_count") or 1,
        tensor_parallel=_count(tree, "tp") or 1,
        pipeline_parallel=_count(tree, "pp") or 1,
        expert_parallel=_count(tree, "ep") or 1,
        weight_format=_text(tree, "weight_format"),
        cache_format=_text(tree, "kv_dtype"),
        max_model_len=_count(tree, "max_model_len"),
        utilization=_number(tree, "gpu_memory_utilization"),
        batched_tokens=_count(tree, "max_num_batched_tokens"),
        sequences=_count(tree, "max_num_seqs"),
        block_size=_count(tree, "block_size"),
        enforce_eager=tree.get("enforce_eager") is True,
        extra=dict(extra) if isinstance(extra, dict) else {},
        observed={key: _number(seen, key) for key in seen if isinstance(seen[key], int | float)},
    )


def read_table(path: Path) -> str:
    """The text of a table; raises UnreadableFile as ``read_records`` does."""
    return _read(path).decode("utf-8-sig", "replace")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = reason_of(error)
        raise UnreadableFile(
            Problem("evidence.not_read", values={"path": str(path), "reason": reason})
        ) from None
    if len(data) > MAX_BYTES:
        values = {"path": str(path), "limit": MAX_BYTES // 2**20}
        raise UnreadableFile(Problem("evidence.too_large", values=values))
    return data


def read_records(path: Path) -> tuple[dict[str, Any], ...]:
    """The objects of a JSON-lines file.

    Raises UnreadableFile with ``evidence.not_read`` {path}, ``evidence.too_large`` {path, limit} or
    ``evidence.bad_line`` {path, line}.
    """
    records = []
    for number, text in enumerate(_read(path).decode("utf-8-sig", "replace").splitlines(), 1):
        if not text.strip():
            continue
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            tree = None
        if not isinstance(tree, dict):
            raise UnreadableFile(
                Problem("evidence.bad_line", values={"path": str(path), "line": number})
            ) from None
        records.append(tree)
    return tuple(records)
