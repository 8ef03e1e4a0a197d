"""Sizes of GGUF files layer by layer are those of their tensors one by one."""

from fractions import Fraction

import pytest

from core.catalog.models import all_models, load_model
from core.errors import InferometerError
from core.model.formats import _ROW, _bytes_of, _stored_tensors, gguf_sizes
from core.model.gguf_mix import Mixture, is_outside
from core.model.gguf_tensors import gguf_tensors
from core.spec.gguf_types import BASE_TYPE

STEP = 6  # every so many models of the catalogue


def architectures(start):
    for entry in all_models()[start::STEP]:
        try:
            yield load_model(entry.id).architecture
        except InferometerError:
            continue


@pytest.mark.parametrize("file_type", sorted(BASE_TYPE))
def test_layers_are_the_sums_of_their_tensors(file_type):
    for arch in architectures(sorted(BASE_TYPE).index(file_type) % STEP):
        totals, experts = [0] * arch.layers, [0] * arch.layers
        elements, stored, outside = {}, {}, {}
        for tensor, size in _stored_tensors(arch, file_type):
            cls = tensor.tensor_class
            elements[cls] = elements.get(cls, 0) + tensor.elements
            stored[cls] = stored.get(cls, 0) + size
            if is_outside(tensor):
                outside[tensor.name] = _bytes_of(size)
                continue
            totals[tensor.layer] += size
            if cls == "expert":
                experts[tensor.layer] += size
        found = gguf_sizes(arch, file_type)
        assert [layer.total for layer in found.layers] == list(map(_bytes_of, totals))
        assert [layer.experts for layer in found.layers] == list(map(_bytes_of, experts))
        assert found.outside == outside
        assert found.parameters == sum(elements.values())
        assert found.class_bits == {c: Fraction(stored[c]) / (_ROW * elements[c]) for c in elements}


@pytest.mark.parametrize("file_type", sorted(BASE_TYPE))
def test_what_does_not_vary_has_one_type_in_all_layers_of_a_group(file_type):
    for arch in architectures(2):
        mixture, place = Mixture(arch, file_type), {}
        groups = [i for i, group in enumerate(arch.groups) for _ in range(group.count)]
        for tensor in gguf_tensors(arch):
            kind = mixture.type_of(tensor)
            if not is_outside(tensor) and not mixture.varies(tensor):
                name = tensor.name.split(".", 2)[2]
                assert place.setdefault((groups[tensor.layer], name), kind) == kind
