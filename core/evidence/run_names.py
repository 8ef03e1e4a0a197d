"""Names in a run as entries of the catalogue, the user's own folders first."""

import re
from functools import lru_cache
from pathlib import Path

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import NotFound
from core.evidence import naming
from core.evidence.served import known_system
from core.model.formats import gguf_format
from core.spec.accelerator import Accelerator
from core.spec.architecture import LatentAttention, MixtureOfExperts
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model

# Formats that checkpoints carry in their names, the first that is found.
_IN_NAMES = (
    *("nvfp4", "mxfp4", "awq", "gptq", "w8a8", "w4a16", "fp8", "bnb", "int4", "int8"),
    *("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0", "q3_k_m"),
)
_BLOCK_FAMILIES = ("qwen3", "glm", "minimax")  # whose FP8 checkpoints are scaled by blocks


@lru_cache(maxsize=4096)
def model_of(name: str, folder: Path | None = None) -> Model | None:
    """The model of a name: exact in the user's folder, else as people write it in logs."""
    bare = name.strip()
    if folder is not None:
        for candidate in dict.fromkeys((bare, bare.rsplit("/", 1)[-1])):
            try:
                return load_model(candidate, (folder,))
            except NotFound:
                pass
    return naming.model_of(bare)


@lru_cache(maxsize=4096)
def device_of(name: str, folder: Path | None = None) -> Accelerator | None:
    """The device of a name, with or without its maker before it."""
    plain = re.sub(r"(?i)^(nvidia|amd|intel)[ -]+(geforce )?", "", name.strip())
    if folder is not None:
        for candidate in (name.strip(), plain):
            try:
                return load_accelerator(candidate, (folder,))
            except NotFound:
                pass
    return known_system(name.strip()) or naming.device_of(name) or naming.device_of(plain)


def weights_of(name: str, model: Model, engine: str) -> str | None:
    """Key of the weight format that a run states; None when it is unknown."""
    low = name.lower().strip()
    if engine in ("llamacpp", "ollama"):
        kind = naming.gguf_type_of(low)
        found = gguf_format(kind) if kind else None
        return found.key if found else None
    kinds = model.architecture.kinds
    sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in kinds)
    latent = any(isinstance(m, LatentAttention) for k in kinds for m in k.token_mixers)
    published = model.published_weight_format
    if low in ("nvfp4", "fp4", "modelopt_fp4"):
        return "nvfp4" if not sparse else ("nvfp4_mlp" if latent else "nvfp4_experts")
    blocks = latent or published == "fp8_block" or model.name.lower().startswith(_BLOCK_FAMILIES)
    if low == "fp8" and blocks and engine != "trtllm":
        return "fp8_block"
    if low in ("mxfp4", "fp4") or (published == "mxfp4_experts" and low in ("", "bf16", "auto")):
        return "mxfp4_experts"
    key = naming.weight_format_of(low)
    return key if key in WEIGHT_FORMATS else None


def weights_in_name(name: str) -> str:
    """The spelling of a format that the name of a checkpoint or file carries; "" when it has none."""
    low = name.lower()
    return next((word for word in _IN_NAMES if word in low), "")
