"""Headers of GGUF files: keys, and names, shapes and types of tensors; the tensors are never read.

Format: ggml, docs/gguf.md, versions 2 and 3 in either byte order.  A model in parts
("-00001-of-00003.gguf") is read from all of them, whichever part is named.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import Problem
from core.importers.limits import (
    MAX_FILES,
    MAX_TENSORS,
    NUMBER_COST,
    Window,
    is_file,
    opened,
    plain_file,
    refuse,
    too_much,
)
from core.spec.gguf_types import FILE_TYPE_BY_NUMBER, TYPE_BY_NUMBER, VALUE_TYPES, TensorType
from core.strict_json import shortened

MAGIC = b"GGUF"
MAX_KEYS = 20_000
MAX_KEY_BYTES = 65_535  # the format's own limit
MAX_NAME_BYTES = 1024
MAX_ITEMS = 2_000_000  # texts in all arrays: vocabularies and their merges
KEPT_ITEMS = 16_384  # of an array of numbers; a longer one belongs to the tokenizer
KEPT_TEXT = 4096
MAX_DIMENSION = 2**48
MAX_ELEMENTS = 2**53
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_SIZES = {"UINT8": 1, "INT8": 1, "BOOL": 1, "UINT16": 2, "INT16": 2, "UINT32": 4, "INT32": 4, "FLOAT32": 4}
_SIZES |= {"UINT64": 8, "INT64": 8, "FLOAT64": 8}
_INTEGERS = {"UINT8": "B", "INT8": "b", "UINT16": "H", "INT16": "h", "UINT32": "I", "INT32": "i"}
_INTEGERS |= {"UINT64": "Q", "INT64": "q"}
_VALUE_NAMES = {number: name for name, number in VALUE_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Texts:
    """Stands for an array of texts, of which only the number is kept."""

    count: int


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor.  ``shape`` begins with the row width, as the file does."""

    name: str
    shape: tuple[int, ...]
    type: TensorType

    @property
    def elements(self) -> int:
        """Number of weights."""
        total = 1
        for size in self.shape:
            total *= size
        return total

    @property
    def bytes(self) -> int:
        """Size in the file, without padding."""
        return -(-self.elements // self.type.block) * self.type.block_bytes


@dataclass(frozen=True)
class GgufHeader:
    """What all parts of a model say.  ``keys``: numbers, texts, flags, short lists, ``Texts``."""

    keys: dict[str, Any]
    tensors: dict[str, TensorInfo]
    file_bytes: int
    notes: tuple[Problem, ...] = field(default=())

    @property
    def file_type(self) -> str:
        """Name of the file type, "" when the file does not say."""
        number = self.keys.get("general.file_type")
        return FILE_TYPE_BY_NUMBER.get(number, "") if isinstance(number, int) else ""

    @property
    def tensor_bytes(self) -> int:
        """Exact bytes of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors.values())


def is_gguf(head: bytes) -> bool:
    """Whether a file that begins so is a GGUF file."""
    return head[:4] == MAGIC


def read_gguf(path: Path) -> GgufHeader:
    """The headers of a file, and of the parts beside it that belong to the same model.

    Raises UnreadableFile: ``importer.gguf_magic``, ``gguf_version``, ``gguf_type``, ``gguf_value``,
    ``cut_off`` {missing}, ``limit`` {what, limit}, ``gguf_part_missing`` {part, parts}.
    """
    parts = _parts(path)
    keys: dict[str, Any] = {}
    tensors: dict[str, TensorInfo] = {}
    notes: list[Problem] = []
    total = 0
    for part in parts:
        size = plain_file(part)
        total += size
        with opened(part) as file:
            found_keys, found, end = _one(Window(file, size))
        for key, value in found_keys.items():
            keys.setdefault(key, value)
        tensors.update(found)
        if len(tensors) > MAX_TENSORS:
            too_much("tensors", MAX_TENSORS)
        if end > size:
            values = {"file": shortened(part.name), "missing": end - size}
            notes.append(Problem("importer.note_incomplete", (), values, "warning"))
    return GgufHeader(keys, tensors, total, tuple(notes))


def _parts(path: Path) -> list[Path]:
    """All parts of the model that ``path`` is one of, in order."""
    match = _PART.search(path.name)
    if match is None:
        return [path]
    count = int(match[2])
    if not 1 <= count <= MAX_FILES or not 1 <= int(match[1]) <= count:
        too_much("files", MAX_FILES)
    stem, suffix = path.name[: match.start()], path.name[-5:]
    parts = [path.with_name(f"{stem}-{n:05}-of-{count:05}{suffix}") for n in range(1, count + 1)]
    plain_file(path)
    for number, part in enumerate(parts, 1):
        if not is_file(part):
            refuse("gguf_part_missing", part=number, parts=count, file=shortened(part.name))
    return parts


def _one(window: Window) -> tuple[dict[str, Any], dict[str, TensorInfo], int]:
    """Keys, tensors, and the offset at which the last tensor ends."""
    if window.left < 24 or window.take(4) != MAGIC:
        refuse("gguf_magic")
    version = window.number("I")
    if version and version & 0xFFFF == 0:
        window.big_endian, version = True, int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in (2, 3):
        refuse("gguf_version", version=version)
    tensor_count, key_count = window.number("Q"), window.number("Q")
    if tensor_count > MAX_TENSORS:
        too_much("tensors", MAX_TENSORS)
    if key_count > MAX_KEYS:
        too_much("keys", MAX_KEYS)
    keys: dict[str, Any] = {}
    for _ in range(key_count):
        name = window.text(MAX_KEY_BYTES)
        keys[name] = _value(window, window.number("I"))
    tensors: dict[str, TensorInfo] = {}
    last = 0
    for _ in range(tensor_count):
        tensor, offset = _tensor(window)
        tensors[tensor.name] = tensor
        last = max(last, offset + tensor.bytes)
    alignment = keys.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
        refuse("gguf_value", what="general.alignment")
    start = -(-window.position // alignment) * alignment
    return keys, tensors, start + last if tensors else window.position


def _value(window: Window, number: int) -> Any:
    kind = _VALUE_NAMES.get(number)
    if kind == "STRING":
        return window.text(KEPT_TEXT, keep=KEPT_TEXT)
    if kind == "ARRAY":
        return _array(window)
    if kind is None:
        refuse("gguf_value", what=number)
    return _scalar(window, kind)


def _scalar(window: Window, kind: str) -> int | float | bool:
    if kind in _INTEGERS:
        return window.number(_INTEGERS[kind])
    if kind == "BOOL":
        return window.number("B") != 0
    return window.real("f" if kind == "FLOAT32" else "d")


def _array(window: Window) -> Any:
    """A list of numbers or flags; ``Texts`` for texts; ``()`` for more than can matter."""
    kind, count = _VALUE_NAMES.get(window.number("I")), window.number("Q")
    if kind == "STRING":
        window.texts += count
        if window.texts > MAX_ITEMS:
            too_much("items", MAX_ITEMS)
        if 8 * count > window.left:
            refuse("cut_off", missing=8 * count - window.left)
        window.skip_texts(count)
        return Texts(count)
    if kind not in _SIZES:  # arrays of arrays are in the format and in no file
        refuse("gguf_value", what="array")
    if count > KEPT_ITEMS:
        window.skip(count * _SIZES[kind])
        return ()
    window.keep(NUMBER_COST * count)
    return tuple(_scalar(window, kind) for _ in range(count))


def _tensor(window: Window) -> tuple[TensorInfo, int]:
    name = window.text(MAX_NAME_BYTES)
    dimensions = window.number("I")
    if not 1 <= dimensions <= 8:
        too_much("dimensions", 8)
    shape = tuple(window.number("Q") for _ in range(dimensions))
    number, offset = window.number("I"), window.number("Q")
    known = TYPE_BY_NUMBER.get(number)
    if known is None:
        refuse("gguf_type", number=number, name=shortened(name))
    if any(not 1 <= size <= MAX_DIMENSION for size in shape):
        too_much("dimension", MAX_DIMENSION)
    window.keep(8 * NUMBER_COST)
    tensor = TensorInfo(name, shape, known)
    if tensor.elements > MAX_ELEMENTS:
        too_much("elements", MAX_ELEMENTS)
    return tensor, offset
