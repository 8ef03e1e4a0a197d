"""A model from its folder: the configuration says what the layers are, the headers how they are stored.

Packed formats are recognised by the names and types that their tensors have; scales, zero points and
index tables count as bytes of the weights they belong to.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from core import strict_json
from core.errors import InferometerError, InvalidScenario, Problem
from core.importers.hf.best_effort import best_effort
from core.importers.hf.quantisation import unknown_method
from core.importers.hf_config import model_from_config
from core.importers.imported_model import ImportedModel
from core.importers.limits import is_file, is_folder, read_bounded, told_of
from core.importers.safetensors import (
    INDEX,
    SUFFIX,
    StoredTensor,
    files_of_index,
    tensors_of,
)
from core.spec.architecture import StoredClass
from core.spec.base import is_one_line
from core.spec.formats import WEIGHT_FORMATS, TensorClass
from core.strict_json import shortened

CONFIG = "config.json"
# Endings of tensors that go with a weight and are none themselves.
_BESIDE = (
    *(".scales", ".qzeros", ".g_idx", ".weight_scale", ".weight_scale_inv", ".weight_scale_2"),
    *(".weight_zero_point", ".weight_shape", ".weight_g_idx", ".input_scale", ".input_global_scale"),
    *(".weight_global_scale", ".k_scale", ".v_scale", ".SCB", ".biases", ".output_scale"),
    *("_proj_scales", ".weight.scale", ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"),
    *(".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map"),
)
_BUFFERS = ("inv_freq", "attn.masked_bias", ".attn.bias", "attention.bias", ".rotary_emb.cos_cached")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d{1,6})\.")
_PLAIN = {"F32": "fp32", "F16": "fp16", "BF16": "bf16"}


def model_from_files(path: Path) -> ImportedModel:
    """The model that a folder, a ``config.json``, an index or a ``.safetensors`` file belongs to.

    Beside the named file only ``config.json``, the index and the files it lists are opened.
    Raises UnreadableFile and InvalidScenario; ``importer.config_missing`` {gigabytes} when nothing
    says what the layers are.
    """
    folder = path if is_folder(path) else path.parent
    config_path = path if path.name.endswith(CONFIG) and not is_folder(path) else folder / CONFIG
    files = _files(path, folder)
    if not is_file(config_path):
        if not files:
            where = {"folder": shortened(folder.name)}
            raise InvalidScenario(Problem("importer.folder_without_model", (CONFIG,), where))
        stored = sum(tensor.bytes for tensor in tensors_of(files, path)) if files else 0
        told = {"gigabytes": f"{stored / 1e9:.2f}", "folder": shortened(folder.name)}
        raise InvalidScenario(Problem("importer.config_missing", (CONFIG,), told))
    with nullcontext() if config_path == path else told_of(config_path):
        config = strict_json.parse(read_bounded(config_path))
    found = model_from_tree(config, _name(config, folder))
    missing = [file for file in files if not is_file(file)]
    if missing:
        values: dict[str, object] = {
            "missing": len(missing),
            "files": len(files),
            "file": shortened(missing[0].name),
        }
        note = Problem("importer.note_shards_missing", (), values, "warning")
        return ImportedModel(found.model, found.weight_format, (*found.notes, note))
    return with_stored(found, config, tensors_of(files, path)) if files else found


def model_from_tree(config: Any, name: str) -> ImportedModel:
    """The model of a configuration; of an unknown type by best effort, marked as such."""
    try:
        model = model_from_config(config, name)
        notes: tuple[Problem, ...] = ()
    except InferometerError as error:
        if error.problems[0].code != "importer.unknown_model_type" or not isinstance(config, Mapping):
            raise
        read, notes = best_effort(config)
        model = model_from_config(read, name)
    method = unknown_method(config)
    if method:
        label = WEIGHT_FORMATS[model.published_weight_format].label
        values = {"name": method, "format": label}
        notes += (Problem("importer.assumed_quantisation", ("quantization_config",), values, "warning"),)
    return ImportedModel(model, model.published_weight_format, notes)


def _name(config: Any, folder: Path) -> str:
    stated = config.get("_name_or_path") if isinstance(config, dict) else None
    if isinstance(stated, str) and stated.strip("./ ") and len(stated) < 200 and is_one_line(stated):
        return stated.rstrip("/").rpartition("/")[2] or shortened(folder.name) or "model"
    return shortened(folder.name) or "model"


def _files(path: Path, folder: Path) -> list[Path]:
    """The weight files that belong to what was named."""
    if path.name.endswith(".index.json"):
        return files_of_index(path)
    if path.name.endswith(SUFFIX):
        index = folder / INDEX
        if is_file(index):
            listed = files_of_index(index)
            if path.name in {file.name for file in listed}:
                return listed
        return [path]
    index, single = folder / INDEX, folder / f"model{SUFFIX}"
    if is_file(index):
        return files_of_index(index)
    return [single] if is_file(single) else []


def class_of(name: str, dimensions: int) -> TensorClass:
    """The storage class of a tensor with a name in the Hugging Face style."""
    low = name.lower()
    if re.search(r"vision|visual|vit\.|image_|mm_projector|multi_modal|audio|patch_embed", low):
        return "vision"
    if re.search(r"embed_tokens|wte\.|word_embeddings|tok_embeddings|embed_in|wpe\.|embed_positions", low):
        return "embedding"
    if re.search(r"lm_head|embed_out|^output\.weight", low):
        return "head"
    if "shared_expert" in low:
        return "router" if "gate." in low and "gate_proj" not in low else "shared_expert"
    if low.endswith("bias") or "norm" in low or "sinks" in low:
        return "norm"
    if re.search(r"experts\.", low):
        return "expert"
    if re.search(r"(mlp|moe|ffn|feed_forward)\.gate\.|router|\.gate\.wg", low):
        return "router"
    if dimensions < 2:
        return "norm"
    if re.search(r"attn|attention|mamba|mixer|\.wq|\.wk|\.wv|\.wo|query_key_value|ssm", low):
        return "attention"
    return "mlp"


def weights_in(tensor: StoredTensor, packed_bits: int) -> int:
    """Logical weights of a tensor: none of scales and buffers, several of a packed element."""
    name = tensor.name
    if name.endswith(_BESIDE) or name.endswith(_BUFFERS) or "quant_state" in name:
        return 0
    if name.endswith((".qweight", ".weight_packed")):
        return tensor.elements * (32 if tensor.dtype in ("I32", "U32") else 8) // packed_bits
    if name.endswith("_blocks") or (tensor.dtype == "U8" and name.endswith("weight")):
        return tensor.elements * 8 // packed_bits
    if tensor.dtype == "U32" and name.endswith("weight"):  # MLX
        return tensor.elements * 32 // packed_bits
    return tensor.elements


def with_stored(
    found: ImportedModel, config: Mapping[str, Any], tensors: Iterable[StoredTensor]
) -> ImportedModel:
    """The model with the exact bytes of each class, as the files hold them."""
    arch = found.model.architecture
    bits = _packed_bits(config)
    sizes: dict[TensorClass, list[int]] = {}
    kinds: dict[str, int] = {}
    dropped = 0
    for tensor in tensors:
        layer = _LAYER.search(tensor.name)
        tied_copy = arch.tied_embeddings and class_of(tensor.name, 2) == "head"
        beyond = layer is not None and int(layer[1]) >= arch.layers and "vis" not in tensor.name.lower()
        if beyond or tied_copy or tensor.name.startswith("mtp.") or ".mtp." in tensor.name:
            dropped += tensor.bytes
            continue
        if tensor.name.endswith(_BUFFERS):
            continue
        count = weights_in(tensor, bits)
        pair = sizes.setdefault(class_of(tensor.name, len(tensor.shape) if count else 2), [0, 0])
        pair[0] += tensor.bytes
        pair[1] += count
        kinds[tensor.dtype] = kinds.get(tensor.dtype, 0) + tensor.bytes
    key = _format(found.weight_format, config, kinds)
    stored = tuple(
        StoredClass(tensor_class=cls, bytes=size, parameters=count)
        for cls, (size, count) in sizes.items()
        if count
    )
    notes = list(found.notes)
    if dropped:
        values = {"gigabytes": f"{dropped / 1e9:.2f}"}
        notes.append(Problem("importer.note_not_loaded", (), values, "note"))
    model = found.model.model_copy(
        update={
            "architecture": arch.model_copy(update={"file_format": key, "file_sizes": stored}),
            "published_weight_format": key,
        }
    )
    return ImportedModel(model, key, tuple(notes))


def _packed_bits(config: Mapping[str, Any]) -> int:
    """Bits of a packed weight, 4 unless the configuration says 8 or another power of two."""
    text = config.get("text_config")
    for place in (config, text if isinstance(text, Mapping) else {}):
        declared = place.get("quantization_config") or place.get("quantization")
        if isinstance(declared, Mapping):
            for name in ("bits", "w_bit"):
                if declared.get(name) in (2, 3, 4, 6, 8):
                    return int(declared[name])
    return 4


def _format(declared: str, config: Mapping[str, Any], kinds: Mapping[str, int]) -> str:
    """The declared format, or where nothing is declared the type that most bytes are in."""
    if "quantization" in config and "quantization_config" not in config and kinds.get("U32"):
        bits = _packed_bits(config)
        return f"mlx_{bits}bit" if bits in (4, 6, 8) else "mlx_4bit"
    if declared not in _PLAIN.values() or not kinds:
        return declared
    most = max(kinds, key=lambda kind: kinds[kind])
    if most.startswith("F8"):
        return "fp8"
    return _PLAIN.get(most, declared)
