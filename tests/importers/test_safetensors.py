"""Folders of .safetensors files: the ledger's weights are the files' own bytes."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import resources
from core.catalog.models import load_model
from core.errors import InferometerError, InvalidScenario, UnreadableFile
from core.importers.safetensors import read_header, tensors_of
from core.importers.safetensors_model import class_of, model_from_files
from core.model.parameters import stored_parameters, weight_bytes
from core.spec.formats import WEIGHT_FORMATS

SPEC = importlib.util.spec_from_file_location("model_files", Path(__file__).with_name("model_files.py"))
assert SPEC and SPEC.loader
files = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(files)

Layout = dict[str, tuple[str, list[int]]]
CONFIGS: dict[str, Any] = {
    entry["name"]: entry["config"]
    for name in resources.names("data/models", ".json")
    for entry in json.loads(resources.read_bytes(name))
    if "config" in entry
}


def config_of(entry: str) -> dict[str, Any]:
    return dict(CONFIGS[load_model(entry).name])


def linear(name: str, rows: int, columns: int, kind: str) -> Layout:
    """A matrix in one of the published packings."""
    match kind:
        case "awq":  # https://github.com/casper-hansen/AutoAWQ, WQLinear_GEMM
            return {
                f"{name}.qweight": ("I32", [columns, rows // 8]),
                f"{name}.qzeros": ("I32", [columns // 128, rows // 8]),
                f"{name}.scales": ("F16", [columns // 128, rows]),
            }
        case "fp8_block":
            blocks = [-(-rows // 128), -(-columns // 128)]
            return {
                f"{name}.weight": ("F8_E4M3", [rows, columns]),
                f"{name}.weight_scale_inv": ("F32", blocks),
            }
        case "nvfp4":
            return {
                f"{name}.weight": ("U8", [rows, columns // 2]),
                f"{name}.weight_scale": ("F8_E4M3", [rows, columns // 16]),
                f"{name}.weight_scale_2": ("F32", []),
                f"{name}.input_scale": ("F32", []),
            }
    return {f"{name}.weight": ("BF16", [rows, columns])}


def llama_layout(config: dict[str, Any], kind: str = "bf16", qk_norm: bool = False) -> Layout:
    h, d = (
        config["hidden_size"],
        config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"],
    )
    out: Layout = {"model.embed_tokens.weight": ("BF16", [config["vocab_size"], h])}
    for n in range(config["num_hidden_layers"]):
        p = f"model.layers.{n}"
        for part, rows, columns in (
            ("self_attn.q_proj", config["num_attention_heads"] * d, h),
            ("self_attn.k_proj", config["num_key_value_heads"] * d, h),
            ("self_attn.v_proj", config["num_key_value_heads"] * d, h),
            ("self_attn.o_proj", h, config["num_attention_heads"] * d),
            ("mlp.gate_proj", config["intermediate_size"], h),
            ("mlp.up_proj", config["intermediate_size"], h),
            ("mlp.down_proj", h, config["intermediate_size"]),
        ):
            out |= linear(f"{p}.{part}", rows, columns, kind)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            out[f"{p}.{norm}.weight"] = ("BF16", [h])
        for norm in ("q_norm", "k_norm") if qk_norm else ():
            out[f"{p}.self_attn.{norm}.weight"] = ("BF16", [d])
    out["model.norm.weight"] = ("BF16", [h])
    out["lm_head.weight"] = ("BF16", [config["vocab_size"], h])
    return out


def write_folder(folder: Path, config: dict[str, Any] | None, layout: Layout, shards: int = 1) -> int:
    """Write a model's folder; the bytes of its tensors."""
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    names = list(layout)
    if shards == 1:
        files.write_safetensors(folder / "model.safetensors", layout, format="pt")
    else:
        weight_map = {}
        for n in range(shards):
            file = f"model-{n + 1:05}-of-{shards:05}.safetensors"
            part = {name: layout[name] for name in names[n::shards]}
            files.write_safetensors(folder / file, part, format="pt")
            weight_map.update(dict.fromkeys(part, file))
        tree = {"metadata": {"total_size": 1}, "weight_map": weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(tree))
    return sum(t.bytes for t in tensors_of(sorted(folder.glob("*.safetensors"))))


@pytest.mark.parametrize(
    ("entry", "kind", "quantisation"),
    [
        ("Llama-3.1-8B", "bf16", None),
        ("Qwen3-8B", "bf16", None),
        ("Llama-3.1-8B", "awq", {"quant_method": "awq", "bits": 4, "group_size": 128}),
        ("Qwen3-8B", "fp8_block", {"quant_method": "fp8", "weight_block_size": [128, 128]}),
        ("Llama-3.1-8B", "nvfp4", {"quant_method": "modelopt", "quant_algo": "NVFP4"}),
    ],
)
@pytest.mark.parametrize("shards", [1, 4])
def test_weights_are_the_bytes_of_the_files(
    entry: str, kind: str, quantisation: dict[str, Any] | None, shards: int, tmp_path: Path
) -> None:
    config = config_of(entry)
    if quantisation:
        config["quantization_config"] = quantisation
    layout = llama_layout(config, kind, qk_norm="Qwen3" in entry)
    total = write_folder(tmp_path, config, layout, shards)
    index = tmp_path / "model.safetensors.index.json"
    named = [
        tmp_path,
        tmp_path / "config.json",
        *tmp_path.glob("*.safetensors"),
        *([index] if shards > 1 else []),
    ]
    for path in named:
        found = model_from_files(path)
        arch = found.model.architecture
        assert stored_parameters(arch) == stored_parameters(load_model(entry).architecture)
        assert WEIGHT_FORMATS[found.weight_format]
        assert weight_bytes(arch, WEIGHT_FORMATS[found.weight_format]) == total, path
        assert found.notes == ()
        assert found.model.published_weight_format == found.weight_format
    expected = {"bf16": "bf16", "awq": "awq_g128", "fp8_block": "fp8_block", "nvfp4": "nvfp4"}[kind]
    assert found.weight_format == expected
    # The formats' own bits are the same to a thousandth.
    rule = weight_bytes(load_model(entry).architecture, WEIGHT_FORMATS[expected])
    assert total == pytest.approx(rule, rel=2e-3)


def test_copies_and_prediction_modules_are_not_loaded(tmp_path: Path) -> None:
    config = config_of("Qwen3-0.6B")
    layout = llama_layout(config, qk_norm=True)  # tied, and stores its head all the same
    layout["model.layers.28.eh_proj.weight"] = ("BF16", [1024, 2048])
    layout["model.layers.0.self_attn.rotary_emb.inv_freq"] = ("F32", [64])
    write_folder(tmp_path, config, layout)
    found = model_from_files(tmp_path)
    arch = found.model.architecture
    assert weight_bytes(arch, WEIGHT_FORMATS["bf16"]) == 2 * stored_parameters(arch)
    assert [note.code for note in found.notes] == ["importer.note_not_loaded"]


def test_gpt_oss_blocks_and_scales(tmp_path: Path) -> None:
    # Shapes of openai/gpt-oss-20b: 32 experts, rows of 2880 in 90 blocks of 16 bytes.
    config = config_of("gpt-oss-20b")
    h, n = config["hidden_size"], config["num_local_experts"]
    layout: Layout = {}
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}.mlp.experts"
        layout[f"{p}.gate_up_proj_blocks"] = ("U8", [n, 2 * h, h // 32, 16])
        layout[f"{p}.gate_up_proj_scales"] = ("U8", [n, 2 * h, h // 32])
        layout[f"{p}.down_proj_blocks"] = ("U8", [n, h, h // 32, 16])
        layout[f"{p}.down_proj_scales"] = ("U8", [n, h, h // 32])
    write_folder(tmp_path, config, layout)
    (stored,) = model_from_files(tmp_path).model.architecture.file_sizes
    assert stored.tensor_class == "expert"
    assert stored.parameters == 24 * 32 * 3 * 2880 * 2880
    assert 8 * stored.bytes / stored.parameters == 4.25


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("model.embed_tokens.weight", "embedding"),
        ("transformer.wte.weight", "embedding"),
        ("lm_head.weight", "head"),
        ("model.layers.0.self_attn.q_a_proj.weight", "attention"),
        ("model.layers.0.linear_attn.in_proj_qkvz.weight", "attention"),
        ("backbone.layers.3.mixer.in_proj.weight", "attention"),
        ("model.layers.5.mlp.experts.17.gate_proj.weight", "expert"),
        ("model.layers.5.block_sparse_moe.experts.7.w1.weight", "expert"),
        ("model.layers.5.block_sparse_moe.gate.weight", "router"),
        ("model.layers.5.mlp.gate.weight", "router"),
        ("model.layers.5.mlp.gate.e_score_correction_bias", "norm"),
        ("model.layers.5.mlp.shared_experts.up_proj.weight", "shared_expert"),
        ("model.layers.5.mlp.shared_expert_gate.weight", "router"),
        ("model.layers.0.mlp.gate_up_proj.weight", "mlp"),
        ("model.layers.0.post_attention_layernorm.weight", "norm"),
        ("visual.blocks.0.attn.qkv.weight", "vision"),
        ("vision_tower.encoder.layers.0.mlp.fc1.weight", "vision"),
    ],
)
def test_classes_of_published_names(name: str, cls: str) -> None:
    assert class_of(name, 1 if "norm" in name or "bias" in name else 2) == cls


def test_unknown_types_are_read_by_their_field_names_and_marked(tmp_path: Path) -> None:
    config = config_of("Qwen3-8B") | {"model_type": "brand_new", "architectures": ["BrandNewForCausalLM"]}
    del config["tie_word_embeddings"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = model_from_files(tmp_path / "config.json")
    codes = [note.code for note in found.notes]
    assert codes[0] == "importer.guessed" and found.notes[0].severity == "warning"
    assert "importer.assumed_untied" in codes and "importer.assumed_head_dim" not in codes
    assert found.model.architecture.layers == 36
    mla = config_of("DeepSeek-V3") | {"model_type": "brand_new_mla"}
    (tmp_path / "config.json").write_text(json.dumps(mla))
    found = model_from_files(tmp_path)
    assert found.notes[0].code == "importer.guessed_latent"
    assert found.model.architecture.groups == load_model("DeepSeek-V3").architecture.groups


def test_without_a_configuration_the_error_says_what_to_put_there(tmp_path: Path) -> None:
    total = write_folder(tmp_path, None, llama_layout(config_of("Llama-3.2-1B")))
    with pytest.raises(InvalidScenario) as error:
        model_from_files(tmp_path / "model.safetensors")
    problem = error.value.problems[0]
    assert problem.code == "importer.config_missing"
    assert problem.values["gigabytes"] == f"{total / 1e9:.2f}"


@pytest.mark.parametrize(
    "name", ["../other.safetensors", "/etc/passwd", "a/b.safetensors", "x.bin", "..", ""]
)
def test_an_index_opens_nothing_outside_its_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_of("Llama-3.2-1B")))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": name}}))
    with pytest.raises(UnreadableFile) as error:
        model_from_files(tmp_path)
    assert error.value.problems[0].code == "importer.outside_folder"


def test_shards_that_are_not_there_are_told(tmp_path: Path) -> None:
    config = config_of("Llama-3.2-1B")
    write_folder(tmp_path, config, llama_layout(config), shards=3)
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    found = model_from_files(tmp_path)
    assert [note.code for note in found.notes] == ["importer.note_shards_missing"]
    assert not found.model.architecture.file_sizes


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08\0\0\0\0\0\0\0{}",
        (2**62).to_bytes(8, "little") + b"{}",
        (14).to_bytes(8, "little") + b'{"a":{"dtype":1}}',
        (2).to_bytes(8, "little") + b"[]",
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"BF16","shape":[9],"data_offsets":[0,18]}}    ',
        (60).to_bytes(8, "little")
        + b'{"a":{"dtype":"BF16","shape":[9],"data_offsets":[0,17]}}    '
        + bytes(99),
    ],
)
def test_broken_headers_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(data)
    with pytest.raises(InferometerError):
        read_header(path)
