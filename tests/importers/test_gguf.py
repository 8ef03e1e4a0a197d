"""GGUF headers: models come back as they went in, whatever the size of the file."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from core.catalog.models import load_model
from core.errors import InferometerError, InvalidScenario, UnreadableFile
from core.importers.gguf import read_gguf
from core.importers.gguf_model import model_from_gguf
from core.model.cache import kv_bytes_per_token
from core.model.formats import file_bytes
from core.model.parameters import stored_parameters, weight_bytes
from core.spec.architecture import Attention, RecurrentMixer
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS


def _files() -> Any:
    spec = importlib.util.spec_from_file_location("model_files", Path(__file__).with_name("model_files.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("model_files", module)
    spec.loader.exec_module(module)
    return module


files = _files()
# Catalogue entry, architecture name of llama.cpp, keys beside the usual ones.
ROUND_TRIPS = [
    ("Llama-3.1-8B", "llama", {}),
    ("Llama-3.2-1B", "llama", {}),
    ("Qwen2.5-7B", "qwen2", {}),
    ("Qwen3-8B", "qwen3", {}),
    ("Qwen3-30B-A3B", "qwen3moe", {}),
    ("Mixtral-8x7B", "llama", {}),
    ("gemma-2-9b", "gemma2", {}),
    ("gemma-3-27b", "gemma3", {}),
    ("gpt-oss-20b", "gpt-oss", {}),
    ("DeepSeek-V3", "deepseek2", {}),
    ("DeepSeek-V2-Lite", "deepseek2", {}),
    ("GLM-4.5-Air", "glm4moe", {}),
    ("OLMo-2-1124-7B", "olmo2", {}),
    ("Command-R", "command-r", {}),
]


@pytest.mark.parametrize(("entry", "name", "more"), ROUND_TRIPS, ids=[e for e, _, _ in ROUND_TRIPS])
def test_models_come_back(entry: str, name: str, more: dict[str, Any], tmp_path: Path) -> None:
    model = load_model(entry)
    arch = model.architecture.model_copy(update={"vision_parameters": 0})
    keys = files.gguf_keys(arch, name, model.max_context, **more)
    layout = files.gguf_layout(arch, "BF16")
    header = read_gguf(files.write_gguf(tmp_path / "model.gguf", keys, layout))
    found = model_from_gguf(header, "model")
    read = found.model.architecture
    assert read.groups == arch.groups
    assert stored_parameters(read) == stored_parameters(arch)
    cache = CACHE_FORMATS["fp16"]
    assert kv_bytes_per_token(read, cache) == kv_bytes_per_token(arch, cache)
    assert found.model.max_context == model.max_context
    assert (found.model.name, found.model.licence) == ("A Model", "apache-2.0")
    # The ledger's weights are the file's own bytes.
    assert weight_bytes(read, WEIGHT_FORMATS[found.weight_format]) == header.tensor_bytes


def test_two_hundred_gigabytes_open_at_once_and_exactly(tmp_path: Path) -> None:
    arch = load_model("DeepSeek-V3").architecture
    keys = files.gguf_keys(arch, "deepseek2", 163840)
    keys["tokenizer.ggml.tokens"] = [f"token {n}" for n in range(129_280)]
    keys["tokenizer.ggml.token_type"] = [1] * 129_280
    path = files.write_gguf(tmp_path / "big.gguf", keys, files.gguf_layout(arch, "Q4_K"))
    assert path.stat().st_size > 370e9
    header = read_gguf(path)
    found = model_from_gguf(header, "big")
    assert header.file_type == "Q4_K_M" and found.weight_format == "gguf_q4_k_m"
    assert not found.notes
    assert weight_bytes(found.model.architecture, WEIGHT_FORMATS["gguf_q4_k_m"]) == header.tensor_bytes
    # Another format is estimated by its own rules.
    assert weight_bytes(found.model.architecture, WEIGHT_FORMATS["bf16"]) == 2 * stored_parameters(arch)


def test_parts_are_read_together_whichever_is_named(tmp_path: Path) -> None:
    arch = load_model("Qwen3-8B").architecture
    keys, layout = files.gguf_keys(arch, "qwen3", 40960), files.gguf_layout(arch)
    third = len(layout) // 3
    pieces = [layout[:third], layout[third : 2 * third], layout[2 * third :]]
    for number, piece in enumerate(pieces, 1):
        part_keys = keys if number == 1 else {"split.no": number - 1}
        files.write_gguf(tmp_path / f"m-{number:05}-of-00003.gguf", part_keys, piece)
    whole = files.write_gguf(tmp_path / "whole.gguf", keys, layout)
    expected = read_gguf(whole)
    for number in (1, 2, 3):
        header = read_gguf(tmp_path / f"m-{number:05}-of-00003.gguf")
        assert header.tensors == expected.tensors
        assert model_from_gguf(header, "m").model.architecture.groups == arch.groups
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    with pytest.raises(UnreadableFile) as missing:
        read_gguf(tmp_path / "m-00001-of-00003.gguf")
    assert missing.value.problems[0].code == "importer.gguf_part_missing"
    assert missing.value.problems[0].values["part"] == 2


def test_fused_matrices_are_taken_apart(tmp_path: Path) -> None:
    # Phi-3 style: one matrix for queries, keys and values, one for gate and up.
    h, heads, kv, d, wide = 512, 8, 2, 64, 1024
    layout = [("token_embd.weight", (h, 1000), "Q4_K"), ("output.weight", (h, 1000), "Q6_K")]
    for n in range(2):
        layout += [
            (f"blk.{n}.attn_qkv.weight", (h, (heads + 2 * kv) * d), "Q5_K"),
            (f"blk.{n}.attn_output.weight", (heads * d, h), "Q4_K"),
            (f"blk.{n}.ffn_up.weight", (h, 2 * wide), "Q4_K"),
            (f"blk.{n}.ffn_down.weight", (wide, h), "Q4_K"),
        ]
    keys = {
        "general.architecture": "phi3",
        "phi3.block_count": 2,
        "phi3.embedding_length": h,
        "phi3.context_length": 4096,
        "phi3.attention.head_count": heads,
        "phi3.attention.head_count_kv": kv,
        "phi3.attention.sliding_window": 2047,
    }
    header = read_gguf(files.write_gguf(tmp_path / "phi.gguf", keys, layout))
    arch = model_from_gguf(header, "phi").model.architecture
    (group,) = arch.groups
    assert group.token_mixer == Attention(heads=heads, kv_heads=kv, head_dim=d)
    assert group.channel_mixer.intermediate == wide and group.channel_mixer.gated
    assert stored_parameters(arch) == sum(t.elements for t in header.tensors.values())


def test_linear_attention_beside_softmax_attention(tmp_path: Path) -> None:
    # Shapes of Qwen3-Next: 16 key heads and 32 value heads of 128; every fourth layer attends.
    h, nk, nv, d = 2048, 16, 32, 128
    key, value = nk * d, nv * d
    layout = [("token_embd.weight", (h, 1000), "Q4_K"), ("output.weight", (h, 1000), "Q6_K")]
    for n in range(4):
        attends = n == 3
        layout += (
            [
                (f"blk.{n}.attn_q.weight", (h, 2 * 16 * 256), "Q4_K"),
                (f"blk.{n}.attn_k.weight", (h, 2 * 256), "Q4_K"),
                (f"blk.{n}.attn_v.weight", (h, 2 * 256), "Q4_K"),
                (f"blk.{n}.attn_output.weight", (16 * 256, h), "Q4_K"),
                (f"blk.{n}.attn_q_norm.weight", (256,), "F32"),
                (f"blk.{n}.attn_k_norm.weight", (256,), "F32"),
            ]
            if attends
            else [
                (f"blk.{n}.attn_qkv.weight", (h, 2 * key + value), "Q4_K"),
                (f"blk.{n}.attn_gate.weight", (h, value), "Q4_K"),
                (f"blk.{n}.ssm_ba.weight", (h, 2 * nv), "Q4_K"),
                (f"blk.{n}.ssm_conv1d.weight", (4, 2 * key + value), "F32"),
                (f"blk.{n}.ssm_dt.bias", (nv,), "F32"),
                (f"blk.{n}.ssm_a", (nv,), "F32"),
                (f"blk.{n}.ssm_norm.weight", (d,), "F32"),
                (f"blk.{n}.ssm_out.weight", (value, h), "Q4_K"),
            ]
        )
        layout += [(f"blk.{n}.attn_norm.weight", (h,), "F32"), (f"blk.{n}.ffn_up.weight", (h, 512), "Q4_K")]
        layout += [
            (f"blk.{n}.ffn_gate.weight", (h, 512), "Q4_K"),
            (f"blk.{n}.ffn_down.weight", (512, h), "Q4_K"),
        ]
    name = "qwen3next"
    keys = {
        "general.architecture": name,
        f"{name}.block_count": 4,
        f"{name}.embedding_length": h,
        f"{name}.context_length": 262144,
        f"{name}.attention.head_count": 16,
        f"{name}.attention.head_count_kv": 2,
        f"{name}.attention.key_length": 256,
        f"{name}.ssm.conv_kernel": 4,
        f"{name}.ssm.inner_size": value,
        f"{name}.ssm.state_size": d,
        f"{name}.ssm.group_count": nk,
        f"{name}.ssm.time_step_rank": nv,
    }
    header = read_gguf(files.write_gguf(tmp_path / "next.gguf", keys, layout))
    arch = model_from_gguf(header, "next").model.architecture
    linear, full = arch.groups
    assert linear.count == 3 and isinstance(linear.token_mixer, RecurrentMixer)
    # research: conv (2K+V)·(kernel-1), recurrent nv·dk·dv
    assert linear.token_mixer.state_elements == nv * d * d
    assert linear.token_mixer.convolution_elements == (2 * key + value) * 3
    assert full.token_mixer.output_gate == "elementwise" and full.token_mixer.head_dim == 256
    assert stored_parameters(arch) == sum(t.elements for t in header.tensors.values())


def test_types_set_tensor_by_tensor_are_exact(tmp_path: Path) -> None:
    arch = load_model("Qwen3-30B-A3B").architecture
    layout = [
        (name, shape, "IQ2_XXS" if "_exps" in name else "Q8_0" if len(shape) > 1 else kind)
        for name, shape, kind in files.gguf_layout(arch)
    ]
    keys = files.gguf_keys(arch, "qwen3moe", 40960)
    del keys["general.file_type"]
    header = read_gguf(files.write_gguf(tmp_path / "ud.gguf", keys, layout))
    found = model_from_gguf(header, "ud")
    assert found.weight_format.startswith("gguf_iq2")
    assert [note.code for note in found.notes] == ["importer.note_nearest_format"]
    read = found.model.architecture
    assert weight_bytes(read, WEIGHT_FORMATS[found.weight_format]) == header.tensor_bytes
    # Layer by layer too, each rounded up to whole bytes.
    whole = file_bytes(read, WEIGHT_FORMATS[found.weight_format].gguf)
    assert 0 <= whole - header.tensor_bytes <= 2 * read.layers


def test_both_byte_orders_and_versions(tmp_path: Path) -> None:
    arch = load_model("Llama-3.2-1B").architecture
    keys, layout = files.gguf_keys(arch, "llama", 131072), files.gguf_layout(arch)
    little = read_gguf(files.write_gguf(tmp_path / "l.gguf", keys, layout, version=2))
    big = read_gguf(files.write_gguf(tmp_path / "b.gguf", keys, layout, order=">"))
    assert little.tensors == big.tensors and little.keys == big.keys


def test_a_file_cut_off_behind_its_header_says_so(tmp_path: Path) -> None:
    arch = load_model("Llama-3.2-1B").architecture
    path = files.write_gguf(
        tmp_path / "m.gguf", files.gguf_keys(arch, "llama", 131072), files.gguf_layout(arch)
    )
    whole = read_gguf(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1000)
    cut = read_gguf(path)
    assert cut.tensors == whole.tensors
    assert [note.code for note in cut.notes] == ["importer.note_incomplete"]
    with path.open("r+b") as file:
        file.truncate(2000)
    with pytest.raises(UnreadableFile) as error:
        read_gguf(path)
    assert error.value.problems[0].code == "importer.cut_off"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"general.architecture": 7}, "importer.gguf_no_architecture"),
        ({"llama.block_count": 0}, "importer.out_of_range"),
        ({"llama.block_count": 10**6}, "importer.out_of_range"),
        ({"llama.embedding_length": "wide"}, "importer.gguf_key_missing"),
        ({"llama.attention.head_count": 7}, "importer.gguf_shape"),
        ({"llama.attention.head_count_kv": 7}, "importer.gguf_shape"),
        ({"llama.attention.head_count": 0}, "importer.gguf_shape"),
        ({"general.architecture": "clip"}, "importer.gguf_vision_part"),
        ({"general.architecture": "bert"}, "importer.gguf_key_missing"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], code: str, tmp_path: Path) -> None:
    arch = load_model("Llama-3.2-1B").architecture
    keys = {**files.gguf_keys(arch, "llama", 131072), **change}
    header = read_gguf(files.write_gguf(tmp_path / "m.gguf", keys, files.gguf_layout(arch)))
    with pytest.raises(InvalidScenario) as error:
        model_from_gguf(header, "m")
    assert error.value.problems[0].code == code


def test_sizes_that_a_header_claims_are_not_believed(tmp_path: Path) -> None:
    for number, data in enumerate(
        [
            b"GGUF" + (3).to_bytes(4, "little") + (2**63).to_bytes(8, "little") * 2,
            b"GGUF" + (3).to_bytes(4, "little") + bytes(8) + (2**40).to_bytes(8, "little"),
            b"GGUF"
            + (3).to_bytes(4, "little")
            + bytes(8)
            + (1).to_bytes(8, "little")
            + (2**60).to_bytes(8, "little"),
            b"GGUF" + (9).to_bytes(4, "little") + bytes(16),
            b"GGUF",
            b"",
            b"GGML" + bytes(40),
        ]
    ):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(data)
        with pytest.raises(InferometerError):
            read_gguf(path)


def test_the_file_name_says_the_mixture_where_the_header_does_not(tmp_path: Path) -> None:
    arch = load_model("Qwen2.5-7B").architecture
    keys = files.gguf_keys(arch, "qwen2", 32_768)
    del keys["general.file_type"]
    header = read_gguf(files.write_gguf(tmp_path / "m.gguf", keys, files.gguf_layout(arch, "BF16")))
    named = model_from_gguf(header, "Qwen2.5-7B-Instruct-Q4_K_M")
    assert named.weight_format == "gguf_q4_k_m" and named.notes == header.notes
    assert weight_bytes(named.model.architecture, WEIGHT_FORMATS["gguf_q4_k_m"]) == header.tensor_bytes


@pytest.mark.parametrize(
    ("name", "family"), [("qwen2moe", "Qwen2"), ("phi3", "Phi-3"), ("falcon-h1", "Falcon H1"), ("new", "")]
)
def test_families_are_told_apart(name: str, family: str, tmp_path: Path) -> None:
    """By them the engine's graph is known: phi3 has its projections in one, phi2 its blocks side by side."""
    arch = load_model("Qwen2.5-7B").architecture
    keys = files.gguf_keys(arch, "qwen2", 32_768)
    renamed = {key.replace("qwen2.", f"{name}."): value for key, value in keys.items()}
    renamed["general.architecture"] = name
    header = read_gguf(files.write_gguf(tmp_path / "m.gguf", renamed, files.gguf_layout(arch, "BF16")))
    assert model_from_gguf(header, "m").model.family == family
