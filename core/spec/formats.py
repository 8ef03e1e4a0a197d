"""Number formats of weights and of the cache, with exact bits.

A weight format says for each class of tensors how wide it is stored.  Sources of the bits per
weight and of what stays wide: the formats' own definitions (block sizes and scale widths).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

TensorClass = Literal[
    "embedding", "head", "attention", "mlp", "expert", "shared_expert", "router", "norm", "vision"
]
MATRICES: frozenset[TensorClass] = frozenset({"attention", "mlp", "expert", "shared_expert"})

# The unit that multiplies: a key of Accelerator.peak_tflops.
ComputeFormat = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4", "fp4"]


@dataclass(frozen=True)
class WeightFormat:
    """How weights are stored and multiplied.

    ``bits`` are per weight of the narrow classes, scales and zero points included.
    ``computes`` lists the multiplying formats from the best to the one every card has:
    a card uses the first that it supports, and pays the expansion when that is not ``native``.
    """

    key: str
    label: str
    bits: Fraction
    narrow: frozenset[TensorClass]
    computes: tuple[ComputeFormat, ...]
    wide_bits: int = 16  # of all other matrices; norms and router biases too
    note: str = ""


_ALL: frozenset[TensorClass] = MATRICES | {"embedding", "head", "router", "norm", "vision"}
_NO_ROUTER = MATRICES
_EXPERTS: frozenset[TensorClass] = frozenset({"expert"})
_MLX: frozenset[TensorClass] = MATRICES | {"embedding", "head"}


def _plain(key: str, label: str, bits: int, computes: tuple[ComputeFormat, ...]) -> WeightFormat:
    return WeightFormat(key, label, Fraction(bits), _ALL, computes, bits)


def _grouped(element: int, group: int, *extra: Fraction | int) -> Fraction:
    """Element bits plus per-group extras (scale, zero point), all in bits."""
    return element + sum((Fraction(x) for x in extra), Fraction(0)) / group


WEIGHT_FORMATS: dict[str, WeightFormat] = {
    f.key: f
    for f in (
        _plain("fp32", "FP32", 32, ("tf32", "fp32")),
        _plain("bf16", "BF16", 16, ("bf16", "fp16", "fp32")),
        _plain("fp16", "FP16", 16, ("fp16", "bf16", "fp32")),
        WeightFormat("fp8", "FP8 per tensor", Fraction(8), _NO_ROUTER, ("fp8", "bf16", "fp16", "fp32")),
        WeightFormat(
            "fp8_block",
            "FP8 block 128",
            _grouped(8, 128 * 128, 32),
            _NO_ROUTER,
            ("fp8", "bf16", "fp16", "fp32"),
        ),
        WeightFormat("w8a8", "INT8 W8A8", Fraction(8), _NO_ROUTER, ("int8", "bf16", "fp16", "fp32")),
        WeightFormat("w8a16", "INT8 W8A16", Fraction(8), _NO_ROUTER, ("bf16", "fp16", "fp32")),
        WeightFormat(
            "awq_g128", "AWQ INT4, g128", _grouped(4, 128, 16, 4), _NO_ROUTER, ("bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "awq_g64", "AWQ INT4, g64", _grouped(4, 64, 16, 4), _NO_ROUTER, ("bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "awq_g32", "AWQ INT4, g32", _grouped(4, 32, 16, 4), _NO_ROUTER, ("bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "gptq_g128", "GPTQ INT4, g128", _grouped(4, 128, 16, 4), _NO_ROUTER, ("bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "int4_g128", "INT4 symmetric, g128", _grouped(4, 128, 16), _NO_ROUTER, ("bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "int4_g32_experts", "INT4 experts, g32", _grouped(4, 32, 16), _EXPERTS, ("bf16", "fp16", "fp32")
        ),
        WeightFormat("nf4", "NF4", _grouped(4, 64, 32), _NO_ROUTER, ("bf16", "fp16", "fp32")),
        WeightFormat(
            "nf4_dq",
            "NF4, double quantised",
            _grouped(4, 64, _grouped(8, 256, 32)),
            _NO_ROUTER,
            ("bf16", "fp16", "fp32"),
        ),
        WeightFormat(
            "mxfp4_experts", "MXFP4 experts", _grouped(4, 32, 8), _EXPERTS, ("fp8", "bf16", "fp16", "fp32")
        ),
        WeightFormat(
            "mxfp4", "MXFP4", _grouped(4, 32, 8), _NO_ROUTER, ("fp4", "fp8", "bf16", "fp16", "fp32")
        ),
        WeightFormat("nvfp4", "NVFP4", _grouped(4, 16, 8), _NO_ROUTER, ("fp4", "bf16", "fp16", "fp32")),
        WeightFormat("mxfp8", "MXFP8", _grouped(8, 32, 8), _NO_ROUTER, ("fp8", "bf16", "fp16", "fp32")),
        WeightFormat("mlx_4bit", "MLX 4 bit, g64", _grouped(4, 64, 16, 16), _MLX, ("fp16", "fp32")),
        WeightFormat("mlx_6bit", "MLX 6 bit, g64", _grouped(6, 64, 16, 16), _MLX, ("fp16", "fp32")),
        WeightFormat("mlx_8bit", "MLX 8 bit, g64", _grouped(8, 64, 16, 16), _MLX, ("fp16", "fp32")),
        # The plain bytes-per-parameter rule of textbooks: every tensor alike, no scales.
        _plain("int8", "INT8, plain", 8, ("int8", "bf16", "fp16", "fp32")),
        _plain("int4", "INT4, plain", 4, ("bf16", "fp16", "fp32")),
    )
}


@dataclass(frozen=True)
class CacheFormat:
    """How a cached key or value element is stored; ``bits`` include block scales."""

    key: str
    label: str
    bits: Fraction


CACHE_FORMATS: dict[str, CacheFormat] = {
    f.key: f
    for f in (
        CacheFormat("fp32", "FP32", Fraction(32)),
        CacheFormat("bf16", "BF16", Fraction(16)),
        CacheFormat("fp16", "FP16", Fraction(16)),
        CacheFormat("fp8", "FP8", Fraction(8)),
        CacheFormat("int8", "INT8", Fraction(8)),
        CacheFormat("int4", "INT4", Fraction(4)),
        CacheFormat("nvfp4", "NVFP4", _grouped(4, 16, 8)),
        CacheFormat("q8_0", "q8_0", Fraction(34 * 8, 32)),
        CacheFormat("q5_1", "q5_1", Fraction(24 * 8, 32)),
        CacheFormat("q5_0", "q5_0", Fraction(22 * 8, 32)),
        CacheFormat("q4_1", "q4_1", Fraction(20 * 8, 32)),
        CacheFormat("q4_0", "q4_0", Fraction(18 * 8, 32)),
    )
}
