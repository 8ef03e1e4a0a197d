"""Which weight format a configuration declares."""

from collections.abc import Mapping
from typing import Any

_GROUPS = {128: "g128", 64: "g64", 32: "g32"}
_DTYPES = {"float32": "fp32", "float16": "fp16"}


def weight_format(config: Mapping[str, Any]) -> str:
    """Key of the weight format that the file declares; ``bf16`` without a declaration."""
    text = config.get("text_config")
    nested = text if isinstance(text, Mapping) else {}
    for place in (config, nested):
        declared = place.get("quantization_config")
        if isinstance(declared, Mapping):
            found = _quantised(declared)
            # DeepSeek V4 states the routed experts' format beside the others'.
            narrower = "fp4" in (config.get("expert_dtype"), declared.get("expert_dtype"))
            return "fp8_block_mxfp4_experts" if found == "fp8_block" and narrower else found
        if isinstance(place.get("quantization"), Mapping):  # as mlx_lm.convert writes it
            return _by_bits(place["quantization"])
    stated = [place.get(key) for place in (config, nested) for key in ("torch_dtype", "dtype")]
    dtype = next((name for name in stated if isinstance(name, str)), "")
    return _DTYPES.get(dtype, "bf16")


def unknown_method(config: Mapping[str, Any]) -> str:
    """The name of a quantisation that is not known by its method, "" where there is none."""
    text = config.get("text_config")
    for place in (config, text if isinstance(text, Mapping) else {}):
        declared = place.get("quantization_config")
        if isinstance(declared, Mapping):
            method = _text(declared, "quant_method")
            known = method in _KNOWN or _is_mlx(declared)
            return "" if known else method[:40] or "?"
    return ""


_KNOWN = frozenset(
    ("fp8", "fbgemm_fp8", "mxfp4", "awq", "gptq", "bitsandbytes", "modelopt", "compressed-tensors")
)


def _is_mlx(declared: Mapping[str, Any]) -> bool:
    return not declared.get("quant_method") and {"bits", "group_size"} <= declared.keys()


def _by_bits(declared: Mapping[str, Any]) -> str:
    """The nearest format of a quantisation of which only the width is known; MLX's own have theirs."""
    bits = next((declared[key] for key in ("bits", "nbits", "w_bit") if declared.get(key)), 0)
    if not isinstance(bits, int) or isinstance(bits, bool) or not 0 < bits <= 8:
        return "bf16"
    if not declared.get("quant_method"):
        return f"mlx_{min((4, 6, 8), key=lambda known: abs(known - bits))}bit"
    return "int4_g128" if bits <= 4 else "w8a16"


def _text(declared: Mapping[str, Any], key: str) -> str:
    value = declared.get(key)
    return value if isinstance(value, str) else ""


def _quantised(declared: Mapping[str, Any]) -> str:
    size = declared.get("group_size")
    group = _GROUPS.get(size, "g128") if isinstance(size, int) else "g128"
    match _text(declared, "quant_method"):
        case "fp8" | "fbgemm_fp8":
            return "fp8_block" if declared.get("weight_block_size") else "fp8"
        case "mxfp4":
            return "mxfp4_experts"
        case "awq":
            return f"awq_{group}"
        case "gptq":
            return "w8a16" if declared.get("bits") == 8 else "gptq_g128"
        case "bitsandbytes":
            if declared.get("load_in_8bit"):
                return "w8a16"
            return "nf4_dq" if declared.get("bnb_4bit_use_double_quant") else "nf4"
        case "modelopt":
            return "nvfp4" if "NVFP4" in _text(declared, "quant_algo") else "fp8"
        case "compressed-tensors":
            return _compressed(declared)
    return _by_bits(declared)


def _compressed(declared: Mapping[str, Any]) -> str:
    groups = declared.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(weights, Mapping):
        return "bf16"
    floating = weights.get("type") == "float"
    if weights.get("num_bits") == 8:
        return "fp8" if floating else "w8a8" if first.get("input_activations") else "w8a16"
    if weights.get("num_bits") == 4:
        if floating:
            if weights.get("group_size") == 16:
                return "nvfp4"
            ignored = declared.get("ignore")
            kept = ignored if isinstance(ignored, list) else []
            return "mxfp4_experts" if any("self_attn" in str(name)[:200] for name in kept) else "mxfp4"
        return "int4_g32_experts" if weights.get("group_size") == 32 else "int4_g128"
    return "bf16"
