"""Bits per weight of a class of tensors, for every format and model.

A GGUF file type is a mixture, so its bits depend on the model's shapes and depth; every other
format has the same bits everywhere.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from core.errors import NotFound, Problem
from core.model.gguf_mix import Mixture, is_outside
from core.model.gguf_tensors import GgufTensor, gguf_tensors, outside_tensors, tensors_of_group
from core.spec.architecture import Architecture
from core.spec.formats import WEIGHT_FORMATS, TensorClass, WeightFormat, gguf_key
from core.spec.gguf_types import BASE_TYPE, TENSOR_TYPES

# Bits of a row that every type divides into whole blocks: sums of whole numbers, as fractions are slow.
_ROW = 256
_ROW_BITS = {name: 8 * kind.block_bytes * _ROW // kind.block for name, kind in TENSOR_TYPES.items()}
Stored = int | Fraction  # bits, times _ROW


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """Bytes of one layer in a file: all tensors, and of these the routed experts."""

    total: int
    experts: int


@dataclass(frozen=True, slots=True)
class GgufSizes:
    """What a GGUF file of a model holds.  ``outside`` are tensors of no layer, by name."""

    class_bits: dict[TensorClass, Fraction]
    layers: tuple[LayerBytes, ...]
    outside: dict[str, int]
    parameters: int

    @property
    def bytes(self) -> int:
        """All tensors, without header and padding."""
        return sum(layer.total for layer in self.layers) + sum(self.outside.values())


@lru_cache(maxsize=768)  # all models with the formats that a search tries
def gguf_sizes(arch: Architecture, file_type: str) -> GgufSizes:
    """Sizes of ``arch`` in a file type such as "Q4_K_M".  Raises NotFound for an unknown type."""
    if file_type not in BASE_TYPE:
        raise NotFound(Problem("format_unknown", ("precision.weights",), {"format": file_type}))
    file = _File(arch, file_type)
    outside: dict[str, int] = {}
    beside, groups = _tensors(arch)
    for tensor in beside:
        size = file.size(tensor, file.mixture.type_of(tensor))
        file.add(tensor, 1, size)
        outside[tensor.name] = _bytes_of(size)
    layers: list[LayerBytes] = []
    for tensors, places in groups:
        layers += file.layers(tensors, places)
    elements = file.elements
    return GgufSizes(
        {cls: Fraction(file.stored[cls], _ROW * elements[cls]) for cls in elements},
        tuple(layers),
        outside,
        sum(elements.values()),
    )


_Group = tuple[tuple[GgufTensor, ...], range]  # of its first layer; its layers


@lru_cache(maxsize=32)
def _tensors(arch: Architecture) -> tuple[tuple[GgufTensor, ...], tuple[_Group, ...]]:
    """Tensors outside the layers, and of each group: the same in every file type."""
    groups: list[_Group] = []
    first = 0
    for group in arch.groups:
        places = range(first, first + group.count)
        groups.append((tensors_of_group(group, first, arch.hidden), places))
        first = places.stop
    return outside_tensors(arch), tuple(groups)


class _File:
    """Adds up what the tensors of a file take; groups of layers in their order."""

    def __init__(self, arch: Architecture, file_type: str) -> None:
        self.mixture, self._found = Mixture(arch, file_type), _found_bits(arch, gguf_key(file_type))
        self.elements: dict[TensorClass, int] = {}
        self.stored: dict[TensorClass, Stored] = {}

    def size(self, tensor: GgufTensor, kind: str) -> Stored:
        """What a tensor takes as a type."""
        bits = self._found.get(tensor.tensor_class)
        return tensor.elements * (_ROW_BITS[kind] if bits is None else bits * _ROW)

    def add(self, tensor: GgufTensor, count: int, size: Stored) -> None:
        """So many tensors of one kind, all of the same size."""
        cls = tensor.tensor_class
        self.elements[cls] = self.elements.get(cls, 0) + count * tensor.elements
        self.stored[cls] = self.stored.get(cls, 0) + count * size

    def layers(self, tensors: tuple[GgufTensor, ...], places: range) -> list[LayerBytes]:
        """Layers that have the same tensors; few of these change their type from layer to layer."""
        mixture, fixed, varying = self.mixture, _Sum(), list[GgufTensor]()
        for tensor in tensors:
            if mixture.varies(tensor):
                varying.append(tensor)
                continue
            size = self.size(tensor, mixture.type_of(tensor))
            self.add(tensor, len(places), size)
            fixed.add(tensor, size)
        if not varying:
            return [fixed.bytes] * len(places)
        types = [tuple(mixture.type_at(tensor, layer) for tensor in varying) for layer in places]
        known: dict[tuple[str, ...], LayerBytes] = {}
        for kinds, times in Counter(types).items():
            whole = _Sum(fixed.total, fixed.experts)
            for tensor, kind in zip(varying, kinds, strict=True):
                size = self.size(tensor, kind)
                self.add(tensor, times, size)
                whole.add(tensor, size)
            known[kinds] = whole.bytes
        return [known[kinds] for kinds in types]


@dataclass(slots=True)
class _Sum:
    """What the tensors of a layer take."""

    total: Stored = 0
    experts: Stored = 0

    def add(self, tensor: GgufTensor, size: Stored) -> None:
        self.total += size
        if tensor.tensor_class == "expert":
            self.experts += size

    @property
    def bytes(self) -> LayerBytes:
        return LayerBytes(_bytes_of(self.total), _bytes_of(self.experts))


def _stored_tensors(arch: Architecture, file_type: str) -> Iterator[tuple[GgufTensor, Stored]]:
    """The tensors of a file one by one, each with what it takes."""
    file = _File(arch, file_type)
    for tensor in gguf_tensors(arch):
        yield tensor, file.size(tensor, file.mixture.type_of(tensor))


def _bytes_of(stored: Stored) -> int:
    """Whole bytes, rounded up."""
    return int(-(-stored // (8 * _ROW)))


@lru_cache(maxsize=256)
def largest_matrices(arch: Architecture, file_type: str) -> tuple[int, int, int]:
    """Bytes of the largest stack of experts, of the largest other matrix of a layer, and of the output."""
    experts = others = table = output = 0
    for tensor, stored in _stored_tensors(arch, file_type):
        size = _bytes_of(stored)
        if is_outside(tensor):
            output = size if tensor.name == "output.weight" else output
            table = size if tensor.name == "token_embd.weight" else table
        elif tensor.tensor_class == "expert":
            experts = max(experts, size)
        elif tensor.matrix:
            others = max(others, size)
    return experts, others, output or table


def _found_bits(arch: Architecture, key: str) -> dict[str, Fraction]:
    """Bits of each class in the model's own file, where that is at hand and in this format."""
    if arch.file_format != key:
        return {}
    return {one.tensor_class: Fraction(8 * one.bytes, one.parameters) for one in arch.file_sizes}


def file_bytes(arch: Architecture, file_type: str) -> int:
    """Bytes of all tensors of the text model in a GGUF file type."""
    sizes = gguf_sizes(arch, file_type)
    if arch.stated_parameters is None:
        return sizes.bytes
    return math.ceil(Fraction(sizes.bytes * arch.stated_parameters, sizes.parameters))


def bits_per_weight(arch: Architecture, file_type: str) -> float:
    """Mean bits of a stored weight, norms and routers included, as llama.cpp prints it."""
    sizes = gguf_sizes(arch, file_type)
    return 8 * sizes.bytes / sizes.parameters


def class_bits(arch: Architecture, file_type: str) -> dict[TensorClass, Fraction]:
    """Mean bits of a weight of each class of tensors that the model has."""
    return dict(gguf_sizes(arch, file_type).class_bits)


def stored_bits(arch: Architecture, weights: WeightFormat, tensor_class: TensorClass) -> Fraction:
    """Bits per weight of a class of tensors of this model, in any format."""
    found = _found_bits(arch, weights.key).get(tensor_class)
    if found is not None:
        return found
    if weights.gguf:
        known = gguf_sizes(arch, weights.gguf).class_bits.get(tensor_class)
        if known is not None:
            return known
        # Towers have a file of their own, in 16 bit.
        return Fraction(32 if weights.gguf == "F32" else 16)
    if tensor_class == "expert" and weights.expert_bits is not None:
        return weights.expert_bits
    return weights.bits if tensor_class in weights.narrow else Fraction(weights.wide_bits)


def gguf_format(file_type: str) -> WeightFormat | None:
    """The weight format of a file type in any spelling, None for one nobody knows."""
    return WEIGHT_FORMATS.get(gguf_key(file_type))
