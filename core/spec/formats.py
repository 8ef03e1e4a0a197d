"""Number formats of weights and of the cache, with exact bits.

A weight format says for each class of tensors how wide it is stored.  Sources of the bits per
weight and of what stays wide: the formats' own definitions (block sizes and scale widths).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from core.spec.gguf_types import BASE_TYPE, TENSOR_TYPES

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
    expert_bits: Fraction | None = None  # of routed experts that are narrower still
    # The GGUF file type: a mixture whose bits depend on the model (core.model.formats); ``bits`` are
    # then those of Llama-3.1-8B, for order and display only.
    gguf: str = ""


_ALL: frozenset[TensorClass] = MATRICES | {"embedding", "head", "router", "norm", "vision"}
_NO_ROUTER = MATRICES
_EXPERTS: frozenset[TensorClass] = frozenset({"expert"})
_MLX: frozenset[TensorClass] = MATRICES | {"embedding", "head"}


def _plain(key: str, label: str, bits: int, computes: tuple[ComputeFormat, ...]) -> WeightFormat:
    return WeightFormat(key, label, Fraction(bits), _ALL, computes, bits)


def _grouped(element: int, group: int, *extra: Fraction | int) -> Fraction:
    """Element bits plus per-group extras (scale, zero point), all in bits."""
    return element + sum((Fraction(x) for x in extra), Fraction(0)) / group


# Bits per weight of Llama-3.1-8B: published (llama.cpp, tools/quantize/README.md) where the table there
# has the type, by the rules of core.model.formats for the others.
_GGUF_NOMINAL: dict[str, str] = {
    "F32": "32",
    "BF16": "16",
    "F16": "16.0005",
    "Q8_0": "8.5008",
    "Q6_K": "6.5633",
    "Q5_K_M": "5.7036",
    "Q5_K_S": "5.5704",
    "Q5_1": "6.0377",
    "Q5_0": "5.5704",
    "Q4_K_M": "4.8944",
    "Q4_K_S": "4.6672",
    "IQ4_NL": "4.6818",
    "Q4_1": "5.1031",
    "Q4_0": "4.6358",
    "IQ4_XS": "4.4597",
    "MXFP4_MOE": "8.5008",
    "NVFP4": "4.6358",
    "Q3_K_L": "4.2979",
    "Q3_K_M": "3.9960",
    "IQ3_M": "3.7628",
    "IQ3_S": "3.6606",
    "Q3_K_S": "3.6429",
    "IQ3_XS": "3.4977",
    "IQ3_XXS": "3.2548",
    "Q2_K": "3.1593",
    "Q2_K_S": "2.9697",
    "IQ2_M": "2.9294",
    "IQ2_S": "2.7403",
    "IQ2_XS": "2.5882",
    "IQ2_XXS": "2.3824",
    "TQ2_0": "2.5173",
    "IQ1_M": "2.1460",
    "TQ1_0": "2.1914",
    "IQ1_S": "2.0042",
    "Q1_0": "1.4817",
}


def gguf_key(file_type: str) -> str:
    """Key of the weight format of a GGUF file type: "Q4_K_M" → "gguf_q4_k_m"."""
    return f"gguf_{file_type.lower()}"


def _gguf(file_type: str, nominal: str) -> WeightFormat:
    """Multiplied as 16-bit numbers after expansion, on every card."""
    plain = TENSOR_TYPES[BASE_TYPE[file_type]].block == 1
    bits = TENSOR_TYPES[BASE_TYPE[file_type]].bits if plain else Fraction(nominal)
    computes: tuple[ComputeFormat, ...] = ("fp16", "bf16", "fp32")
    return WeightFormat(
        gguf_key(file_type),
        f"GGUF {file_type}",
        bits,
        _MLX,
        computes,
        int(bits) if plain else 16,
        gguf=file_type,
    )


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
            "fp8_block_mxfp4_experts",
            "FP8 block 128, MXFP4 experts",
            _grouped(8, 128 * 128, 32),
            _NO_ROUTER,
            ("fp8", "bf16", "fp16", "fp32"),
            expert_bits=_grouped(4, 32, 8),
        ),
        WeightFormat(
            "mxfp4", "MXFP4", _grouped(4, 32, 8), _NO_ROUTER, ("fp4", "fp8", "bf16", "fp16", "fp32")
        ),
        WeightFormat("nvfp4", "NVFP4", _grouped(4, 16, 8), _NO_ROUTER, ("fp4", "bf16", "fp16", "fp32")),
        WeightFormat(
            "nvfp4_mlp",
            "NVFP4, attention 16 bit",
            _grouped(4, 16, 8),
            _NO_ROUTER - {"attention"},
            ("fp4", "bf16", "fp16", "fp32"),
        ),
        WeightFormat(
            "nvfp4_experts", "NVFP4 experts", _grouped(4, 16, 8), _EXPERTS, ("fp4", "bf16", "fp16", "fp32")
        ),
        WeightFormat("mxfp8", "MXFP8", _grouped(8, 32, 8), _NO_ROUTER, ("fp8", "bf16", "fp16", "fp32")),
        WeightFormat("mlx_4bit", "MLX 4 bit, g64", _grouped(4, 64, 16, 16), _MLX, ("fp16", "fp32")),
        WeightFormat("mlx_6bit", "MLX 6 bit, g64", _grouped(6, 64, 16, 16), _MLX, ("fp16", "fp32")),
        WeightFormat("mlx_8bit", "MLX 8 bit, g64", _grouped(8, 64, 16, 16), _MLX, ("fp16", "fp32")),
        # The plain bytes-per-parameter rule of textbooks: every tensor alike, no scales.
        _plain("int8", "INT8, plain", 8, ("int8", "bf16", "fp16", "fp32")),
        _plain("int4", "INT4, plain", 4, ("bf16", "fp16", "fp32")),
        *(_gguf(file_type, nominal) for file_type, nominal in _GGUF_NOMINAL.items()),
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
