"""Tensor types and file types of GGUF files, from the packaged copy of the ``gguf`` package's constants."""

import json
from dataclasses import dataclass
from fractions import Fraction

import resources


@dataclass(frozen=True, slots=True)
class TensorType:
    """A way to store rows of numbers: ``block`` elements in ``block_bytes`` bytes, scales included."""

    name: str
    number: int  # in the file
    block: int
    block_bytes: int

    @property
    def bits(self) -> Fraction:
        """Bits per element."""
        return Fraction(8 * self.block_bytes, self.block)


_CONSTANTS = json.loads(resources.read_bytes("data/gguf/types.json"))
TENSOR_TYPES: dict[str, TensorType] = {
    name: TensorType(name, one["id"], one["block"], one["bytes"]) for name, one in _CONSTANTS["types"].items()
}
TYPE_BY_NUMBER: dict[int, TensorType] = {one.number: one for one in TENSOR_TYPES.values()}
# Name of a file type, as in the names of files, and its number in their headers.
FILE_TYPE_NUMBERS: dict[str, int] = _CONSTANTS["file_types"]
FILE_TYPE_BY_NUMBER: dict[int, str] = {number: name for name, number in FILE_TYPE_NUMBERS.items()}
VALUE_TYPES: dict[str, int] = _CONSTANTS["value_types"]

# The tensor type that each file type starts from (llama.cpp, src/llama-quant.cpp,
# llama_ftype_get_default_type).
_STEMS = {"IQ2_S": "IQ2_XS", "IQ2_M": "IQ2_S", "IQ3_XS": "IQ3_S", "IQ3_M": "IQ3_S", "MXFP4_MOE": "MXFP4"}
BASE_TYPE: dict[str, str] = {
    name: _STEMS.get(name)
    or (name if name in TENSOR_TYPES else name.removesuffix("_S").removesuffix("_M").removesuffix("_L"))
    for name in FILE_TYPE_NUMBERS
}
