"""Headers of .safetensors files and their index: sizes and types of all tensors, never the tensors.

Format: 8 bytes of length, a JSON object of that length, the data
(https://github.com/huggingface/safetensors#format).  Only files named in the index and lying beside
it are opened.
"""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from core import strict_json
from core.importers.limits import MAX_FILES, opened, plain_file, read_bounded, refuse, told_of, too_much
from core.strict_json import shortened

MAX_HEADER_BYTES = 12 * 2**20
MAX_ALL_HEADERS = 96 * 2**20
INDEX = "model.safetensors.index.json"
SUFFIX = ".safetensors"
_MAX_DIMENSIONS = 16

# Bits of each type of the format.
DTYPE_BITS: dict[str, int] = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
    "C64": 64,
}


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Stored elements; packed weights hold several in one."""
        total = 1
        for size in self.shape:
            total *= size
        return total


def read_header(path: Path) -> tuple[StoredTensor, ...]:
    """All tensors of one file.

    Raises UnreadableFile: ``importer.safetensors_header``, ``importer.safetensors_tensor`` {name},
    ``importer.cut_off`` {missing}, and the codes of ``core.strict_json``.
    """
    size = plain_file(path)
    with opened(path) as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 10 or not 2 <= length <= MAX_HEADER_BYTES:
            refuse("safetensors_header", file=shortened(path.name))
        if length > size - 8:
            refuse("cut_off", missing=length + 8 - size)
        tree = strict_json.parse(file.read(length), MAX_HEADER_BYTES)
    if not isinstance(tree, dict):
        refuse("safetensors_header", file=shortened(path.name))
    return tuple(
        _tensor(name, entry, size - 8 - length) for name, entry in tree.items() if name != "__metadata__"
    )


def _tensor(name: str, entry: Any, room: int) -> StoredTensor:
    shown = shortened(name)
    if not isinstance(entry, dict):
        refuse("safetensors_tensor", name=shown)
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
        refuse("safetensors_tensor", name=shown)
    if not _sizes(shape, _MAX_DIMENSIONS) or not _sizes(offsets, 2) or len(offsets) != 2:
        refuse("safetensors_tensor", name=shown)
    start, end = offsets
    tensor = StoredTensor(name, dtype, tuple(shape), end - start)
    if start > end or 8 * tensor.bytes != tensor.elements * DTYPE_BITS[dtype]:
        refuse("safetensors_tensor", name=shown)
    if end > room:
        refuse("cut_off", missing=end - room)
    return tensor


def _sizes(value: Any, most: int) -> TypeGuard[list[int]]:
    return (
        isinstance(value, list)
        and len(value) <= most
        and all(type(n) is int and 0 <= n < 2**60 for n in value)
    )


def files_of_index(path: Path) -> list[Path]:
    """The files that an index names, beside it; each a plain name in the same folder.

    Raises UnreadableFile: ``importer.index_bad``, ``importer.outside_folder`` {name}.
    """
    tree = strict_json.parse(read_bounded(path))
    names = tree.get("weight_map") if isinstance(tree, dict) else None
    if not isinstance(names, Mapping):
        refuse("index_bad", file=shortened(path.name))
    found: dict[str, None] = {}
    for name in names.values():
        if not isinstance(name, str):
            refuse("index_bad", file=shortened(path.name))
        found[name] = None
        if len(found) > MAX_FILES:
            too_much("files", MAX_FILES)
    for name in found:
        if not name or set(name) & set("/\\:\0") or name.startswith(".") or not name.endswith(SUFFIX):
            refuse("outside_folder", name=shortened(name))
    return [path.with_name(name) for name in sorted(found)]


def tensors_of(files: list[Path], named: Path | None = None) -> Iterator[StoredTensor]:
    """All tensors of several files, one header in memory at a time; ``named``: the one that was asked for."""
    total = 0
    for path in files:
        with opened(path) as file:
            total += int.from_bytes(file.read(8), "little")
        if total > MAX_ALL_HEADERS:
            too_much("header", MAX_ALL_HEADERS)
        with nullcontext() if path == named else told_of(path):
            tensors = read_header(path)
        yield from tensors
