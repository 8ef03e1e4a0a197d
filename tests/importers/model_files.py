"""Small writers of model files for tests: real headers, and tensors that are holes in the file."""

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.spec.architecture import (
    Architecture,
    Attention,
    DenseMlp,
    LatentAttention,
    MixtureOfExperts,
)
from core.spec.gguf_types import TENSOR_TYPES, VALUE_TYPES

Tensor = tuple[str, tuple[int, ...], str]  # name, shape with the row width first, type


def _text(text: str, order: str = "<") -> bytes:
    data = text.encode()
    return struct.pack(order + "Q", len(data)) + data


def _value(value: Any, order: str = "<") -> bytes:
    kind = VALUE_TYPES
    if isinstance(value, bool):
        return struct.pack(order + "IB", kind["BOOL"], value)
    if isinstance(value, int):
        return struct.pack(order + "II", kind["UINT32"], value)
    if isinstance(value, float):
        return struct.pack(order + "If", kind["FLOAT32"], value)
    if isinstance(value, str):
        return struct.pack(order + "I", kind["STRING"]) + _text(value, order)
    items = list(value)
    if items and isinstance(items[0], str):
        head = struct.pack(order + "IIQ", kind["ARRAY"], kind["STRING"], len(items))
        return head + b"".join(_text(item, order) for item in items)
    if items and isinstance(items[0], bool):
        head = struct.pack(order + "IIQ", kind["ARRAY"], kind["BOOL"], len(items))
        return head + bytes(items)
    return struct.pack(order + f"IIQ{len(items)}i", kind["ARRAY"], kind["INT32"], len(items), *items)


def gguf_bytes(
    keys: Mapping[str, Any], tensors: list[Tensor], version: int = 3, order: str = "<"
) -> tuple[bytes, int]:
    """The header of a GGUF file, and the size that the whole file has."""
    out = [b"GGUF", struct.pack(order + "IQQ", version, len(tensors), len(keys))]
    for name, value in keys.items():
        out += [_text(name, order), _value(value, order)]
    offset = 0
    for name, shape, kind in tensors:
        type_ = TENSOR_TYPES[kind]
        elements = 1
        for size in shape:
            elements *= size
        out += [_text(name, order), struct.pack(order + f"I{len(shape)}Q", len(shape), *shape)]
        out.append(struct.pack(order + "IQ", type_.number, offset))
        offset += -(-(elements // type_.block * type_.block_bytes) // 32) * 32
    head = b"".join(out)
    head += bytes(-len(head) % 32)
    return head, len(head) + offset


def write_gguf(path: Path, keys: Mapping[str, Any], tensors: list[Tensor], **options: Any) -> Path:
    """A GGUF file of full size whose tensors take no room on the disk."""
    head, size = gguf_bytes(keys, tensors, **options)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
    return path


def safetensors_bytes(tensors: Mapping[str, tuple[str, list[int]]], **metadata: str) -> tuple[bytes, int]:
    """The header of a .safetensors file, and the size of the whole file."""
    widths = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "U8": 1, "I32": 4, "I8": 1}
    tree: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    offset = 0
    for name, (kind, shape) in tensors.items():
        size = widths[kind]
        for n in shape:
            size *= n
        tree[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    head = json.dumps(tree).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head, 8 + len(head) + offset


def write_safetensors(path: Path, tensors: Mapping[str, tuple[str, list[int]]], **metadata: str) -> Path:
    """A .safetensors file of full size whose tensors take no room on the disk."""
    head, size = safetensors_bytes(tensors, **metadata)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
    return path


def gguf_layout(arch: Architecture, kind: str = "Q4_K") -> list[Tensor]:
    """Tensors of a model under llama.cpp's names, matrices in one type."""
    h, out = (
        arch.hidden,
        [("token_embd.weight", (arch.embedding_width or arch.hidden, arch.vocabulary), kind)],
    )
    if not arch.tied_embeddings:
        out.append(("output.weight", (h, arch.vocabulary), "Q6_K"))
    if arch.final_norm_parameters:
        out.append(("output_norm.weight", (arch.final_norm_parameters,), "F32"))
    layer = 0
    for group in arch.groups:
        for _ in range(group.count):
            mixers = _attention(group.token_mixer, h, kind), _channel(group.channel_mixer, h, kind)
            norms = [(f"norm_{n}.weight", (h,), "F32") for n in range(group.norm_parameters // h)]
            for part in (*mixers, norms):
                out += [(f"blk.{layer}.{name}", shape, t) for name, shape, t in part]
            layer += 1
    return out


def _attention(mixer: Any, h: int, kind: str) -> Iterator[Tensor]:
    match mixer:
        case Attention():
            d, v = mixer.head_dim, mixer.value_head_dim or mixer.head_dim
            yield "attn_q.weight", (h, mixer.heads * d), kind
            yield "attn_k.weight", (h, mixer.kv_heads * d), kind
            yield "attn_v.weight", (h, mixer.kv_heads * v), kind
            yield "attn_output.weight", (mixer.heads * v, h), kind
            if mixer.qkv_bias:
                for part, width in (("q", mixer.heads), ("k", mixer.kv_heads), ("v", mixer.kv_heads)):
                    yield f"attn_{part}.bias", (width * d,), "F32"
            if mixer.output_bias:
                yield "attn_output.bias", (h,), "F32"
            if mixer.sinks:
                yield "attn_sinks.weight", (mixer.heads,), "F32"
            if mixer.qk_norm != "none":
                full = mixer.qk_norm == "full"
                yield "attn_q_norm.weight", (mixer.heads * d if full else d,), "F32"
                yield "attn_k_norm.weight", (mixer.kv_heads * d if full else d,), "F32"
        case LatentAttention():
            n, queries = mixer.heads, mixer.heads * (mixer.nope_head_dim + mixer.rope_head_dim)
            if mixer.query_rank:
                yield "attn_q_a.weight", (h, mixer.query_rank), kind
                yield "attn_q_a_norm.weight", (mixer.query_rank,), "F32"
            name = "attn_q_b.weight" if mixer.query_rank else "attn_q.weight"
            yield name, (mixer.query_rank or h, queries), kind
            yield "attn_kv_a_mqa.weight", (h, mixer.kv_rank + mixer.rope_head_dim), kind
            yield "attn_kv_a_norm.weight", (mixer.kv_rank,), "F32"
            yield "attn_k_b.weight", (mixer.nope_head_dim, mixer.kv_rank, n), "Q8_0"
            yield "attn_v_b.weight", (mixer.kv_rank, mixer.value_head_dim, n), "Q8_0"
            yield "attn_output.weight", (n * mixer.value_head_dim, h), kind


def _channel(mixer: Any, h: int, kind: str) -> Iterator[Tensor]:
    match mixer:
        case DenseMlp():
            if mixer.gated:
                yield "ffn_gate.weight", (h, mixer.intermediate), kind
            yield "ffn_up.weight", (h, mixer.intermediate), kind
            yield "ffn_down.weight", (mixer.intermediate, h), kind
            if mixer.bias:
                yield "ffn_up.bias", (mixer.intermediate,), "F32"
                yield "ffn_down.bias", (h,), "F32"
        case MixtureOfExperts():
            n, wide = mixer.experts, mixer.intermediate
            kind = kind if wide % 256 == 0 and h % 256 == 0 else "MXFP4"
            yield "ffn_gate_inp.weight", (h, n), "F32"
            for part in ("gate", "up"):
                yield f"ffn_{part}_exps.weight", (h, wide, n), kind
            yield "ffn_down_exps.weight", (wide, h, n), kind
            if mixer.expert_bias:
                yield "ffn_gate_exps.bias", (wide, n), "F32"
                yield "ffn_up_exps.bias", (wide, n), "F32"
                yield "ffn_down_exps.bias", (h, n), "F32"
            if mixer.router_bias:
                yield "exp_probs_b.bias", (n,), "F32"
            if mixer.shared_intermediate:
                for part, shape in (
                    ("gate", (h, mixer.shared_intermediate)),
                    ("up", (h, mixer.shared_intermediate)),
                ):
                    yield f"ffn_{part}_shexp.weight", shape, kind
                yield "ffn_down_shexp.weight", (mixer.shared_intermediate, h), kind
            if mixer.shared_gate:
                yield "ffn_gate_inp_shexp.weight", (h,), "F32"


def gguf_keys(arch: Architecture, name: str, context: int, **more: Any) -> dict[str, Any]:
    """The keys that llama.cpp writes for a model."""
    mixer: Any = next(g.token_mixer for g in arch.groups)
    keys: dict[str, Any] = {
        "general.architecture": name,
        "general.name": "A Model",
        "general.license": "apache-2.0",
        "general.file_type": 15,
        f"{name}.block_count": arch.layers,
        f"{name}.context_length": context,
        f"{name}.embedding_length": arch.hidden,
        f"{name}.attention.head_count": mixer.heads,
        f"{name}.rope.freq_base": 1e6,
    }
    if isinstance(mixer, Attention):
        keys[f"{name}.attention.head_count_kv"] = mixer.kv_heads
        keys[f"{name}.attention.key_length"] = mixer.head_dim
        windows = {g.token_mixer.window for g in arch.groups if isinstance(g.token_mixer, Attention)} - {None}
        if windows:
            keys[f"{name}.attention.sliding_window"] = max(windows)
    else:
        keys[f"{name}.attention.head_count_kv"] = 1
        keys[f"{name}.rope.dimension_count"] = mixer.rope_head_dim
    experts = [g.channel_mixer for g in arch.groups if isinstance(g.channel_mixer, MixtureOfExperts)]
    if experts:
        keys[f"{name}.expert_count"] = experts[0].experts
        keys[f"{name}.expert_used_count"] = experts[0].experts_per_token
    keys["tokenizer.ggml.tokens"] = ["<s>", "</s>"] + [f"t{n}" for n in range(500)]
    return {**keys, **{f"{name}.{key}": value for key, value in more.items()}}
