"""Sizes of GGUF files against llama.cpp's own figures.

Bits per weight: https://github.com/ggml-org/llama.cpp/blob/master/tools/quantize/README.md, table of
Llama-3.1-8B (IQ4_* made without an importance matrix, the lowest types with one).  Other sizes:
the "BPW" line of llama.cpp's loader for files made with the stock quantiser.
"""

from collections import Counter
from fractions import Fraction

import pytest

from core.catalog.models import all_models, load_model
from core.errors import NotFound
from core.model.formats import bits_per_weight, class_bits, file_bytes, gguf_sizes, stored_bits
from core.model.gguf_tensors import gguf_tensors
from core.model.parameters import stored_parameters, tensor_groups, weight_bytes
from core.spec.formats import WEIGHT_FORMATS, TensorClass
from core.spec.gguf_types import BASE_TYPE, FILE_TYPE_NUMBERS, TENSOR_TYPES

PUBLISHED = {
    "IQ1_S": 2.0042,
    "IQ1_M": 2.1460,
    "IQ2_XXS": 2.3824,
    "IQ2_XS": 2.5882,
    "IQ2_S": 2.7403,
    "IQ2_M": 2.9294,
    "IQ3_XXS": 3.2548,
    "IQ3_XS": 3.4977,
    "IQ3_S": 3.6606,
    "IQ3_M": 3.7628,
    "IQ4_XS": 4.4597,
    "IQ4_NL": 4.6818,
    "Q2_K_S": 2.9697,
    "Q2_K": 3.1593,
    "Q3_K_S": 3.6429,
    "Q3_K_L": 4.2979,
    "Q4_K_S": 4.6672,
    "Q4_K_M": 4.8944,
    "Q5_K_S": 5.5704,
    "Q5_K_M": 5.7036,
    "Q6_K": 6.5633,
    "Q8_0": 8.5008,
    "F16": 16.0005,
}
# Names of files on the hub carry these for Q4_K_M; each to the last digit given.
OTHER_SIZES = [
    ("Llama-3.1-70B", 4.82),
    ("Qwen3-30B-A3B", 4.86),
    ("Qwen2.5-7B", 4.91),
    ("Llama-3.2-1B", 5.18),
    ("Qwen2.5-0.5B", 6.34),
]
# Model buffers of all devices together, as llama.cpp's log prints them (MiB).
LOGGED = [
    ("Llama-3.1-70B", "Q4_K_S", 18764.46 + 19142.56 + 563.65),
    # llama-bench on ggml-org/gpt-oss-20b-GGUF: "gpt-oss 20B MXFP4 MoE, 11.27 GiB"
    ("gpt-oss-20b", "MXFP4_MOE", 11.27 * 1024),
]


@pytest.mark.parametrize(("file_type", "bits"), PUBLISHED.items())
def test_published_bits_per_weight(file_type: str, bits: float) -> None:
    arch = load_model("Llama-3.1-8B").architecture
    assert bits_per_weight(arch, file_type) == pytest.approx(bits, abs=6e-5)
    nominal = WEIGHT_FORMATS[f"gguf_{file_type.lower()}"].bits
    assert float(nominal) == pytest.approx(bits, rel=1e-3)


@pytest.mark.parametrize(("model", "bits"), OTHER_SIZES)
def test_the_same_type_on_other_models(model: str, bits: float) -> None:
    assert bits_per_weight(load_model(model).architecture, "Q4_K_M") == pytest.approx(bits, abs=6e-3)


@pytest.mark.parametrize(("model", "file_type", "mebibytes"), LOGGED)
def test_logged_model_buffers(model: str, file_type: str, mebibytes: float) -> None:
    assert file_bytes(load_model(model).architecture, file_type) / 2**20 == pytest.approx(mebibytes, rel=2e-3)


def test_every_file_type_has_a_format_with_the_bits_of_the_reference_model() -> None:
    arch = load_model("Llama-3.1-8B").architecture
    formats = {f.gguf: f for f in WEIGHT_FORMATS.values() if f.gguf}
    assert set(formats) == set(FILE_TYPE_NUMBERS) == set(BASE_TYPE)
    for file_type, fmt in formats.items():
        assert float(fmt.bits) == pytest.approx(bits_per_weight(arch, file_type), rel=1e-3)


@pytest.mark.parametrize("model", all_models(), ids=lambda m: m.id)
def test_the_file_holds_the_weights_of_the_model(model: object) -> None:
    arch = load_model(model.id).architecture  # type: ignore[attr-defined]
    stored: Counter[TensorClass] = Counter()
    for group in tensor_groups(arch):
        if group.tensor_class != "vision":
            stored[group.tensor_class] += group.parameters
    in_file: Counter[TensorClass] = Counter()
    for tensor in gguf_tensors(arch):
        in_file[tensor.tensor_class] += tensor.elements
    assert in_file == stored


@pytest.mark.parametrize("file_type", ["F32", "BF16", "Q4_K_M", "IQ2_XS", "MXFP4_MOE", "Q2_K"])
@pytest.mark.parametrize("name", ["Qwen2.5-0.5B", "Mixtral-8x7B", "DeepSeek-V3", "gpt-oss-20b", "gpt2"])
def test_bytes_of_classes_layers_and_ledger_agree(name: str, file_type: str) -> None:
    arch = load_model(name).architecture
    sizes = gguf_sizes(arch, file_type)
    by_class = sum(
        group.parameters * sizes.class_bits[group.tensor_class]
        for group in tensor_groups(arch)
        if group.tensor_class != "vision"
    )
    # Each layer and each tensor outside them is rounded up to whole bytes.
    assert 0 <= sizes.bytes - by_class / 8 <= len(sizes.layers) + len(sizes.outside)
    weights = WEIGHT_FORMATS[f"gguf_{file_type.lower()}"]
    towers = 16 * (arch.vision_parameters + arch.audio_parameters)
    assert weight_bytes(arch, weights) == -(-(by_class + towers) // 8)


def test_rows_that_blocks_do_not_divide_fall_back() -> None:
    # 896 is 3.5 blocks of 256: Q4_K becomes Q5_0, Q6_K becomes Q8_0.
    bits = class_bits(load_model("Qwen2.5-0.5B").architecture, "Q4_K_M")
    assert bits["embedding"] == TENSOR_TYPES["Q8_0"].bits == Fraction(17, 2)
    assert bits["attention"] >= TENSOR_TYPES["Q5_0"].bits
    assert bits["norm"] == 32


def test_small_tensors_stay_wide_and_towers_are_apart() -> None:
    arch = load_model("Qwen3-30B-A3B").architecture
    weights = WEIGHT_FORMATS["gguf_q4_k_m"]
    assert stored_bits(arch, weights, "router") == stored_bits(arch, weights, "norm") == 32
    assert stored_bits(arch, weights, "vision") == 16
    assert stored_bits(arch, WEIGHT_FORMATS["awq_g128"], "head") == 16


def test_stated_totals_scale_the_file() -> None:
    arch = load_model("Llama-3.1-8B").architecture
    doubled = arch.model_copy(update={"stated_parameters": 2 * stored_parameters(arch)})
    assert file_bytes(doubled, "Q4_K_M") == pytest.approx(2 * file_bytes(arch, "Q4_K_M"), abs=2)


def test_unknown_types_are_refused() -> None:
    with pytest.raises(NotFound):
        gguf_sizes(load_model("Llama-3.1-8B").architecture, "Q9_K")


def test_constants_are_those_of_the_package() -> None:
    constants = pytest.importorskip("gguf.constants")
    for one, (block, size) in constants.GGML_QUANT_SIZES.items():
        ours = TENSOR_TYPES[one.name]
        assert (ours.number, ours.block, ours.block_bytes) == (one.value, block, size)
