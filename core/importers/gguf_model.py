"""A model from the header of its GGUF file.

Widths, biases, norms, gates and experts are read off the tensors themselves, so that an architecture
nobody has described yet is right as well; what no shape tells (heads, windows, experts for a token,
states) comes from the keys.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from core.errors import InvalidScenario, Problem
from core.importers.gguf import GgufHeader, TensorInfo, Texts
from core.importers.gguf_keys import Keys, fail
from core.importers.gguf_mixers import Block, channel_mixer, token_mixers
from core.importers.imported_model import ImportedModel
from core.importers.limits import MAX_LAYERS
from core.importers.model_names import split_format
from core.spec.architecture import Architecture, LayerGroup, NoMixer, StoredClass
from core.spec.formats import WEIGHT_FORMATS, TensorClass, gguf_key
from core.spec.model import Model

_BLOCK = re.compile(r"blk\.(\d{1,5})\.(.+)")
# Buffers that are no weights.
_NO_WEIGHTS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
_OUTSIDE = ("token_embd.weight", "output.weight", "output.bias", "position_embd.weight")
# Families as the catalogue names them, by how the architecture's name begins; the longest that fits counts.
_NAMES = {
    "gemma": "Gemma",
    "llama": "Llama",
    "deepseek": "DeepSeek",
    "qwen": "Qwen",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
    "phi2": "Phi",
    "phi3": "Phi-3",
    "command-r": "Command R",
    "cohere2": "Command R7B",
    "falcon": "Falcon",
    "falcon-h1": "Falcon H1",
    "gptneox": "GPT-NeoX",
    "gpt2": "GPT-2",
    "mpt": "MPT",
    "bloom": "BLOOM",
    "starcoder": "StarCoder",
    "starcoder2": "StarCoder2",
    "chatglm": "ChatGLM",
    "dbrx": "DBRX",
}


def model_from_gguf(header: GgufHeader, fallback_name: str) -> ImportedModel:
    """The model in a header.  Raises InvalidScenario with ``importer.gguf_…`` or ``importer.impossible``."""
    name = header.keys.get("general.architecture")
    if not isinstance(name, str) or not name:
        fail("gguf_no_architecture", "general.architecture")
    if name == "clip":  # "mmproj" files
        fail("gguf_vision_part", "general.architecture")
    keys = Keys(header, str(name)[:64])
    try:
        arch = _architecture(keys)
        weight_format, arch, notes = _with_sizes(header, arch, fallback_name)
        model = Model(
            name=(keys.text("name") or fallback_name)[:300] or keys.arch,
            family=_NAMES.get(max((k for k in _NAMES if keys.arch.startswith(k)), key=len, default=""), ""),
            licence=keys.text("license"),
            max_context=max(1, keys.number("context_length", default=4096)),
            published_weight_format=weight_format,
            architecture=arch,
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        values = {"name": path, "model_type": keys.arch, "value": str(first.get("input"))[:60]}
        raise InvalidScenario(Problem("importer.impossible", (path,), values)) from None
    return ImportedModel(model, weight_format, (*header.notes, *keys.assumed, *notes))


def _architecture(keys: Keys) -> Architecture:
    hidden = keys.number("embedding_length")
    tensors = keys.header.tensors
    layers = _layers(keys)
    embedding = tensors.get("token_embd.weight")
    outside = [t for t in tensors.values() if not _BLOCK.fullmatch(t.name) and t.name not in _NO_WEIGHTS]
    extra = [t for t in outside if t.name not in _OUTSIDE]
    vectors = sum(t.elements for t in extra if len(t.shape) == 1)
    lookup = tensors.get("per_layer_token_embd.weight")
    other = sum(t.elements for t in extra if len(t.shape) > 1 and t is not lookup)
    positions = tensors.get("position_embd.weight")
    width = embedding.shape[0] if embedding is not None else hidden
    return Architecture(
        hidden=hidden,
        vocabulary=_vocabulary(keys, embedding),
        groups=tuple(layers),
        tied_embeddings="output.weight" not in tensors,
        embedding_width=None if width == hidden else width,
        position_parameters=positions.elements if positions else 0,
        final_norm_parameters=vectors,
        head_bias="output.bias" in tensors,
        lookup_parameters=lookup.elements if lookup else 0,
        other_text_parameters=other,
    )


def _vocabulary(keys: Keys, embedding: TensorInfo | None) -> int:
    if embedding is not None and len(embedding.shape) > 1:
        return embedding.shape[1]
    tokens = keys.header.keys.get("tokenizer.ggml.tokens")
    return keys.number("vocab_size", default=tokens.count if isinstance(tokens, Texts) else None)


def _layers(keys: Keys) -> list[LayerGroup]:
    count = keys.number("block_count") - keys.number("nextn_predict_layers", default=0)
    if not 1 <= count <= MAX_LAYERS:
        fail("out_of_range", f"{keys.arch}.block_count", value=count, low=1, high=MAX_LAYERS)
    blocks: list[dict[str, TensorInfo]] = [{} for _ in range(count)]
    for tensor in keys.header.tensors.values():
        match = _BLOCK.fullmatch(tensor.name)
        if match and int(match[1]) < count:
            blocks[int(match[1])][match[2]] = tensor
    if not any(blocks):
        fail("gguf_no_layers", "blk", architecture=keys.arch)
    groups: list[LayerGroup] = []
    made: dict[Any, LayerGroup] = {}
    for layer, tensors in enumerate(blocks):
        signature = (tuple(sorted((n, t.shape) for n, t in tensors.items())), _varying(keys, layer))
        if signature not in made:
            made[signature] = _group(Block(keys, layer, count, tensors))
        one = made[signature]
        if groups and groups[-1].model_copy(update={"count": 1}) == one:
            groups[-1] = one.model_copy(update={"count": groups[-1].count + 1})
        else:
            groups.append(one)
    return groups


def _varying(keys: Keys, layer: int) -> tuple[Any, ...]:
    """What may differ between layers of the same shapes."""
    lists = (keys.values(name) for name in ("attention.head_count", "attention.head_count_kv"))
    return (*(v[min(layer, len(v) - 1)] for v in lists if isinstance(v, tuple) and v), *_place(keys, layer))


def _place(keys: Keys, layer: int) -> Iterator[Any]:
    # Windows and shared caches go by the layer's number.
    yield keys.number("attention.sliding_window", default=0) and layer
    yield keys.number("attention.shared_kv_layers", default=0) and layer


def _group(block: Block) -> LayerGroup:
    mixers = token_mixers(block)
    channel = channel_mixer(block)
    rest = sum(t.elements for name, t in block.tensors.items() if name not in block.used)
    return LayerGroup(
        count=1,
        token_mixer=mixers[0] if mixers else NoMixer(),
        parallel_mixer=mixers[1] if len(mixers) > 1 else None,
        channel_mixer=channel,
        norm_parameters=rest,
    )


def class_of(tensor: TensorInfo) -> TensorClass:
    """The storage class of a tensor, as the program divides weights."""
    name = tensor.name
    if name in ("token_embd.weight", "per_layer_token_embd.weight", "position_embd.weight"):
        return "embedding"
    if name == "output.weight":
        return "head"
    if "ffn_gate_inp" in name:
        return "norm" if name.endswith(".bias") else "router"
    if len(tensor.shape) == 1 or not name.endswith(".weight"):
        return "norm"
    if "_exps" in name or re.search(r"ffn_\w+\.\d+\.weight$", name):
        return "expert"
    if "_shexp" in name:
        return "shared_expert"
    if re.search(r"\.(attn|ssm|shortconv|indexer)", name):
        return "norm" if "conv" in name and not name.endswith("proj.weight") else "attention"
    return "mlp"


def _with_sizes(header: GgufHeader, arch: Architecture, name: str) -> tuple[str, Architecture, list[Problem]]:
    """The nearest format, and the architecture with the exact size of each class of tensors in it."""
    sizes: dict[TensorClass, list[int]] = {}
    last = arch.layers
    for tensor in header.tensors.values():
        match = _BLOCK.fullmatch(tensor.name)
        if tensor.name in _NO_WEIGHTS or (match and int(match[1]) >= last):
            continue
        pair = sizes.setdefault(class_of(tensor), [0, 0])
        pair[0] += tensor.bytes
        pair[1] += tensor.elements
    total = sum(size for size, _ in sizes.values())
    count = max(1, sum(number for _, number in sizes.values()))
    bits = 8 * total / count
    # Where the header does not say the mixture, the file's name often does.
    stated = gguf_key(header.file_type) if header.file_type else split_format(f"{name}.gguf")[1]
    notes: list[Problem] = []
    key = stated if stated in WEIGHT_FORMATS and WEIGHT_FORMATS[stated].gguf else ""
    if not key:
        mixtures = [f for f in WEIGHT_FORMATS.values() if f.gguf]
        key = min(mixtures, key=lambda f: abs(float(f.bits) - bits)).key
        values = {"format": WEIGHT_FORMATS[key].label, "bits": f"{bits:.2f}"}
        notes.append(Problem("importer.note_nearest_format", ("precision.weights",), values, "note"))
    stored = tuple(
        StoredClass(tensor_class=cls, bytes=size, parameters=number) for cls, (size, number) in sizes.items()
    )
    return key, arch.model_copy(update={"file_format": key, "file_sizes": stored}), notes
