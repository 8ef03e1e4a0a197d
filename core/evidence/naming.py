"""From the names of a log to entries of the catalogue and keys of the formats."""

import json
import re
from functools import cache, lru_cache
from typing import Any

import resources
from core.catalog.accelerators import load_accelerator
from core.catalog.models import all_models, load_model
from core.catalog.search import tokens
from core.errors import NotFound
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model

_ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt-llm": "trtllm",
    "trtllm": "trtllm",
    "trt-llm": "trtllm",
    "llama.cpp": "llamacpp",
    "llamacpp": "llamacpp",
    "ik_llama.cpp": "llamacpp",
    "llama-cpp-python": "llamacpp",
    "koboldcpp": "llamacpp",
    "ollama": "ollama",
    "transformers": "transformers",
    "hf transformers": "transformers",
    "mlx": "mlx",
    "mlx-lm": "mlx",
}
_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bm]|a\d+(?:\.\d+)?b|e\d+b")
_GIB = re.compile(r"(\d+(?:\.\d+)?) ?gib (visible|free)")
_GB = re.compile(r"(\d+) ?gb")
# Spelling of a format in logs → key, the first that is found.
_WEIGHTS: tuple[tuple[str, str], ...] = (
    (r"fp8/fp4|fp4/fp8", "fp8_block_mxfp4_experts"),
    (r"nvfp4", "nvfp4"),
    (r"mxfp4", "mxfp4_experts"),
    (r"mxfp8", "mxfp8"),
    # Published checkpoints of this format have their scales quantised as well.
    (r"bnb|nf4|bitsandbytes", "nf4_dq"),
    (r"fp8.*block|block.*fp8", "fp8_block"),
    (r"fp8", "fp8"),
    (r"awq", "awq_g128"),
    (r"gptq.*g32|int4.*g32", "int4_g32_experts"),
    (r"gptq_marlin|w4a16|int4 w", "int4_g128"),
    (r"gptq", "gptq_g128"),
    (r"w8a16", "w8a16"),
    (r"w8a8|int8", "w8a8"),
    (r"int4|4-?bit", "int4_g128"),
    (r"fp32|float32|f32", "fp32"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16|f16|half", "fp16"),
)
_CACHES: tuple[tuple[str, str], ...] = (
    (r"fp8|e4m3|e5m2", "fp8"),
    (r"q8_0", "q8_0"),
    (r"q5_1", "q5_1"),
    (r"q5_0", "q5_0"),
    (r"q4_1", "q4_1"),
    (r"q4_0", "q4_0"),
    (r"int8", "int8"),
    (r"int4", "int4"),
    (r"fp32|f32|float32", "fp32"),
    (r"f16|fp16|float16|half", "fp16"),
)


@cache
def _names() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/evidence/names.json"))
    return tree


def engine_of(name: str) -> str | None:
    """The key of an engine as ``core.spec.engine.EngineName`` has it; None when it is none of ours."""
    return _ENGINES.get(name.lower().strip())


@lru_cache(maxsize=4096)
def model_of(name: str) -> Model | None:
    """The catalogue's model of a name as people write it in logs: organisation, suffixes and remarks
    aside; a known derivative is given the shape of its parent.  None when nothing fits."""
    for candidate in _candidates(name):
        try:
            return load_model(candidate, ())
        except NotFound:
            pass
        shaped = _shaped(candidate)
        if shaped is not None:
            return shaped
    for candidate in _candidates(name):
        near = _nearest(candidate)
        if near is not None:
            return load_model(near, ())
    return None


def _candidates(name: str) -> list[str]:
    bare = re.sub(r"\(.*?\)", " ", name).strip()
    last = bare.rsplit("/", 1)[-1]
    shortened = re.sub(
        rf"(?i)(?:^|(?<=[-_. ]))({_names()['model_words_of_no_meaning']})(?=[-_. ]|$)", "", last
    )
    plain = re.sub(r"[-_ ]{2,}", "-", shortened).strip("-_. ")
    first = re.split(r"[/ ]", bare)[0]
    inner = re.findall(r"\(([^()]*?/[^() ,]+)", name)
    return [c for c in dict.fromkeys((bare, last, plain, bare.replace(" ", "-"), first, *inner)) if c]


def _shaped(name: str) -> Model | None:
    low = name.lower()
    for pattern, shape in _names()["model_shapes"].items():
        if pattern == "about" or not re.search(pattern, low):
            continue
        try:
            parent = load_model(shape["like"], ())
        except NotFound:
            continue
        arch = parent.architecture.model_copy(update=shape["changes"])
        if "resize" in shape:
            arch = _resized(arch, **shape["resize"])
        return parent.model_copy(update={"name": name, "architecture": arch})
    return None


def _resized(arch: Architecture, layers: int, hidden: int, heads: int, vocabulary: int) -> Architecture:
    """A sibling of other size: plain attention, a feed-forward block four times as wide."""
    group = arch.groups[0]
    mixer = group.token_mixer.model_copy(
        update={"heads": heads, "kv_heads": heads, "head_dim": hidden // heads}
    )
    block = group.channel_mixer.model_copy(update={"intermediate": 4 * hidden})
    norms = group.norm_parameters * hidden // arch.hidden
    one = group.model_copy(
        update={"count": layers, "token_mixer": mixer, "channel_mixer": block, "norm_parameters": norms}
    )
    changes = {"groups": (one,), "hidden": hidden, "vocabulary": vocabulary}
    return arch.model_copy(update={**changes, "final_norm_parameters": 2 * hidden})


def _nearest(name: str) -> str | None:
    """The entry that shares most words, the size among them, and contradicts no number."""
    asked = set(tokens(name.replace("_", "-")))
    sizes = {word for word in asked if _SIZE.fullmatch(word)}
    numbers = {word for word in asked if re.search(r"\d", word)} - sizes
    if not sizes:
        return None
    best: tuple[float, str] | None = None
    for entry in all_models(()):
        known = set(tokens(entry.id.rsplit("/", 1)[-1])) | set(tokens(entry.name))
        shared = asked & known
        if not sizes <= known or not (shared - sizes) or not numbers <= known | {"2507", "2506", "0528"}:
            continue
        score = len(shared) - 0.1 * len(known - asked)
        if best is None or score > best[0]:
            best = (score, entry.id)
    return best[1] if best else None


def free_gib(name: str) -> float | None:
    """The free memory a device's name carries: "24GB class (23.08 GiB free)"."""
    found = _GIB.search(name.lower())
    return float(found[1]) if found and found[2] == "free" else None


def visible_gib(name: str) -> float | None:
    """The total memory a device's name carries: "RTX 5090 (31.84 GiB visible)"."""
    found = _GIB.search(name.lower())
    return float(found[1]) if found and found[2] == "visible" else None


def of_several_sizes(name: str) -> bool:
    """Whether a device of this name was made with more than one size and the name does not tell which."""
    return name.lower().strip() in _names()["several_sizes"]


@lru_cache(maxsize=4096)
def device_of(name: str) -> Accelerator | None:
    """The catalogue's device of a name; where only a size is told, one that has it."""
    bare = re.sub(r"\(.*?\)", " ", name)
    bare = re.split(r"[+,]|\bx ?\d+\b", bare)[0].strip()
    for candidate in dict.fromkeys((name, bare, re.sub(r"(?i)\b\d+ ?gb\b", "", bare).strip(" -"))):
        if not candidate:
            continue
        try:
            return load_accelerator(candidate, ())
        except NotFound:
            pass
    sized = _GB.search(bare.lower())
    known = _names()["devices"].get(f"{sized[1]}gb") if sized else None
    return load_accelerator(known, ()) if isinstance(known, str) else None


def weight_format_of(name: str) -> str | None:
    """The key of a weight format; None when the name is unknown.  An empty name is 16 bit."""
    low = name.lower()
    if low.startswith("gguf"):
        return gguf_type_of(low)
    if not low or low == "auto":
        return "bf16"
    return next((k for pattern, k in _WEIGHTS if re.search(pattern, low) and k in WEIGHT_FORMATS), None)


def gguf_type_of(name: str) -> str | None:
    """ "GGUF UD-Q4_K_XL" → "q4_k_m"; None where the text names no type."""
    found = re.search(r"\b(iq\d_\w+|q\d_\w+|q\d|mxfp4|f16|bf16|f32)\b", name.lower().replace("ud-", ""))
    if found is None:
        return None
    alike = {"q5_k_xl": "q5_k_m", "q2_k_xl": "q2_k", "q3_k_xl": "q3_k_m"}
    alike |= {"q6_k_xl": "q6_k", "q8_k_xl": "q8_0", "mxfp4": "mxfp4_moe"}
    return alike.get(found[1], found[1])


def cache_format_of(name: str) -> str:
    """The key of a cache format; "auto" and the like are 16 bit."""
    low = name.lower()
    return next((k for pattern, k in _CACHES if re.search(pattern, low)), "bf16")
