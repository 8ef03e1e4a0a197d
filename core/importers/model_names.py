"""Names of models as tools write them, resolved to a catalogue entry and a weight format.

"qwen3:30b-a3b-q4_K_M" (Ollama), "lmstudio-community/Qwen3-32B-GGUF" and "qwen/qwen3-8b@q4_k_m"
(LM Studio), "hf.co/bartowski/…-GGUF:Q5_K_M", "Qwen/Qwen2.5-7B-Instruct-AWQ", file names.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from core.catalog.entries import own_folders
from core.catalog.models import CatalogModel, all_models, load_model, search_models
from core.catalog.search import compact
from core.errors import NotFound, Problem
from core.spec.formats import WEIGHT_FORMATS, gguf_key
from core.spec.gguf_types import FILE_TYPE_NUMBERS

MAX_NAME = 300
_BACKSLASH = "\\"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A catalogue entry, the key of the weight format the name states ("": none), and notes."""

    model_id: str
    weight_format: str
    notes: tuple[Problem, ...] = ()


# What the Ollama library means by a name without a tag, or by one that people do not use elsewhere
# (https://ollama.com/library, the tag "latest" of each).
_LIBRARY: dict[str, str] = {
    "llama2": "llama 2 7b",
    "llama3": "llama 3 8b",
    "llama3.1": "llama 3.1 8b",
    "llama3.2": "llama 3.2 3b",
    "llama3.3": "llama 3.3 70b",
    "llama4": "llama 4 scout",
    "mistral": "mistral 7b",
    "mixtral": "mixtral 8x7b",
    "mistral-nemo": "mistral nemo",
    "mistral-small": "mistral small 24b",
    "qwen2": "qwen2 7b",
    "qwen2.5": "qwen2.5 7b",
    "qwen2.5-coder": "qwen2.5 coder 7b",
    "qwen3": "qwen3 8b",
    "qwen3-coder": "qwen3 coder 30b",
    "gemma": "gemma 7b",
    "gemma2": "gemma 2 9b",
    "gemma3": "gemma 3 4b",
    "phi3": "phi 3 mini",
    "phi3.5": "phi 3.5 mini",
    "phi4": "phi 4",
    "deepseek-r1": "deepseek r1 distill llama 8b",
    "deepseek-v3": "deepseek v3",
    "gpt-oss": "gpt oss 20b",
    "codellama": "codellama 7b",
    "qwq": "qwq 32b",
    "command-r": "command r v01",
}
# Sizes of deepseek-r1 in that library that are other models' shapes.
_DISTILLED = {
    "1.5b": "deepseek r1 distill qwen 1.5b",
    "7b": "deepseek r1 distill qwen 7b",
    "8b": "deepseek r1 distill llama 8b",
    "14b": "deepseek r1 distill qwen 14b",
    "32b": "deepseek r1 distill qwen 32b",
    "70b": "deepseek r1 distill llama 70b",
    "671b": "deepseek r1",
}
_GGUF = re.compile(
    r"(?:^|[-_.:@/ ])(?:ud-)?((?:iq|q|tq)\d(?:_\d|_k|_nl)?(?:_xxs|_xs|_xl|_s|_m|_l|_k)?|mxfp4(?:_moe)?)"
    r"(?=$|[-_.:@ ])",
    re.IGNORECASE,
)
# Endings of repositories, the first that is found counts.
_SUFFIXES: tuple[tuple[str, str], ...] = (
    (r"nvfp4", "nvfp4"),
    (r"fp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"mxfp8", "mxfp8"),
    (r"bnb-4bit|nf4", "nf4_dq"),
    (r"fp8-dynamic|fp8_dynamic|fp8", "fp8"),
    (r"(?:quantized\.)?w8a8(?:-int8)?", "w8a8"),
    (r"(?:quantized\.)?w4a16(?:-g128)?", "int4_g128"),
    (r"(?:quantized\.)?w8a16", "w8a16"),
    (r"awq(?:-int4)?|int4-awq", "awq_g128"),
    (r"gptq-int8|int8-gptq", "w8a16"),
    (r"gptq(?:-int4)?(?:-4bit)?(?:-128g)?|int4-gptq", "gptq_g128"),
    (r"8bit|mlx-8bit", "mlx_8bit"),
    (r"6bit|mlx-6bit", "mlx_6bit"),
    (r"4bit|mlx-4bit|mlx", "mlx_4bit"),
    (r"bf16", "bf16"),
    (r"fp16|f16", "fp16"),
    (r"fp32|f32", "fp32"),
    (r"int8", "w8a16"),
    (r"int4", "int4_g128"),
)
# Formats without a customary ending are written out: "-awq-g64".
_KEYS = "|".join(key.replace("_", "[-_]") for key, f in WEIGHT_FORMATS.items() if not f.gguf and "_" in key)
_IN_GGUF = {"bf16": "gguf_bf16", "fp16": "gguf_f16", "fp32": "gguf_f32"}
# Publishers whose FP8 has a scale for each block of 128 × 128.
_BLOCKED = ("qwen/", "deepseek-ai/", "zai-org/", "minimaxai/", "moonshotai/")
# Parts of names that say nothing about the architecture.
_DROPPED = re.compile(
    r"(?:^|(?<=[-_. ]))(?:gguf|imatrix|i1|ud|qat|abliterated|unsloth|dynamic|mlx|latest|cloud)(?=$|[-_. ])",
    re.IGNORECASE,
)


# Words for a training of the same shape: dates of releases and what a variant is for.
_VARIANT = re.compile(
    r"(?:^|(?<=[-_. ]))(?:thinking|reasoning|instruct|chat|it|base|pt|hf|preview|\d{4}|20\d{6}|cloud)"
    r"(?=$|[-_. :])",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\d+(?:\.\d+)?[bm]", re.IGNORECASE)


def split_format(name: str) -> tuple[str, str]:
    """The name without its statement of a weight format, and that format's key, "" without one."""
    found_types = list(_GGUF.finditer(name))
    if found_types:
        match = found_types[-1]
        key = _gguf(match[1])
        if key:
            return (name[: match.start()] + name[match.end() :]).strip("-_.:@ "), key
    ending = re.search(rf"[-_.](?:{_KEYS})$", name, re.IGNORECASE)
    if ending:
        return name[: ending.start()], ending[0][1:].lower().replace("-", "_")
    for pattern, key in _SUFFIXES:
        found = re.search(rf"[-_.:@ ](?:{pattern})(?=$|[-_.:@ ])", name, re.IGNORECASE)
        if found:
            return (name[: found.start()] + name[found.end() :]).strip("-_.:@ "), key
    return name, ""


def name_with_format(name: str, weight_format: str) -> str:
    """A repository's or a file's name that says the format; inverse of ``split_format``."""
    known = WEIGHT_FORMATS[weight_format]
    if known.gguf:
        return f"{name.rpartition('/')[2]}-{known.gguf}.gguf"
    if weight_format in ("bf16", "fp16", "fp32"):
        return f"{name}-{weight_format.upper()}"
    custom = {"awq_g128": "AWQ", "gptq_g128": "GPTQ-Int4", "nvfp4": "NVFP4", "w8a8": "quantized.w8a8"}
    custom |= {"fp8": "FP8-dynamic", "mlx_4bit": "4bit", "mlx_8bit": "8bit", "mxfp4": "MXFP4"}
    return f"{name}-{custom.get(weight_format, weight_format.replace('_', '-'))}"


def _gguf(stated: str) -> str:
    """Key of a GGUF type; of the larger variants that some uploaders make, the nearest stock type."""
    upper = stated.upper()
    upper = {"MXFP4": "MXFP4_MOE", "Q8_K_XL": "Q8_0", "Q6_K_XL": "Q6_K", "Q6_K_L": "Q6_K"}.get(upper, upper)
    if upper.endswith("_XL") or upper in ("Q4_K_L", "Q5_K_L", "Q2_K_L"):
        stem = upper.rsplit("_", 1)[0]
        upper = f"{stem}_M" if f"{stem}_M" in FILE_TYPE_NUMBERS else stem
    elif upper in ("Q3_K", "Q4_K", "Q5_K"):
        upper += "_M"
    return gguf_key(upper) if upper in FILE_TYPE_NUMBERS else ""


def resolve(name: str) -> Resolved:
    """The catalogue entry that a tool's name means.  Raises NotFound as ``core.catalog`` does."""
    text = name.strip().strip("'\"")[:MAX_NAME].replace(_BACKSLASH, "/")
    exact = _exact(text)
    if exact and (_is_own(exact) or not (":" in text or text.lower() in _LIBRARY)):
        return Resolved(exact, "")
    text = re.sub(r"^(?:https?://)?(?:hf\.co|huggingface\.co|ollama\.com/library|ollama\.com)/", "", text)
    in_file = text.lower().endswith(".gguf")
    text = re.sub(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors)$", "", text, flags=re.IGNORECASE)
    library = ":" in text or ("/" not in text and text.lower() in _LIBRARY)
    stem, weight_format = split_format(text)
    if "gguf" in text.lower() and not weight_format:
        library = True
    if weight_format == "fp8" and text.lower().startswith(_BLOCKED) and text.lower().endswith("fp8"):
        weight_format = "fp8_block"
    if weight_format == "gguf_mxfp4_moe" and not (in_file or library or "@" in text):
        weight_format = "mxfp4_experts" if "gptoss" in compact(stem) else "mxfp4"  # of a repository's name
    if in_file:
        weight_format = _IN_GGUF.get(weight_format, weight_format)
    notes: list[Problem] = []
    model = _find(stem)
    if model is None:
        model = _variant(stem) or _refuse(name)
        values = {"name": text[:80], "model": load_model(model).name}
        notes.append(Problem("importer.assumed_variant", ("model",), values, "note"))
    if library and not weight_format:
        weight_format = "gguf_mxfp4_moe" if "gptoss" in compact(stem) else "gguf_q4_k_m"
        values = {"format": WEIGHT_FORMATS[weight_format].label, "name": text[:80]}
        notes.append(Problem("importer.assumed_format", ("precision.weights",), values, "note"))
    return Resolved(model, weight_format, tuple(notes))


def _refuse(name: str) -> NoReturn:
    load_model(name.strip()[:80] or "?")  # raises with suggestions
    raise NotFound(Problem("catalog.model_unknown", ("model",), {"name": name[:80]}))


def _exact(text: str) -> str:
    """Id of the entry with this id, name or alias, "" without one."""
    if not text:
        return ""
    try:
        found = load_model(text[:MAX_NAME])
    except NotFound:
        return ""
    return next((m.id for m in all_models() if m.name == found.name), "")


def _is_own(model_id: str) -> bool:
    """Whether an entry is the user's own, which is meant before anything of a library."""
    return bool(own_folders("models")) and all(m.id != model_id for m in all_models(()))


def _find(stem: str) -> str | None:
    repository = stem.rpartition("/")[2] if stem.count("/") else stem
    base, _, tag = repository.partition(":")
    tag = "" if tag.lower() == "latest" else tag
    if base.lower() == "deepseek-r1" and tag.lower() in _DISTILLED:
        return _searched(_DISTILLED[tag.lower()])
    if not tag and base.lower() in _LIBRARY:
        return _searched(_LIBRARY[base.lower()])
    cleaned = _DROPPED.sub("", f"{base}-{tag}" if tag else base)
    cleaned = re.sub(r"[-_ ]{2,}", "-", cleaned).strip("-_. ")
    for candidate in (stem, repository, cleaned, cleaned.removeprefix("Meta-").removeprefix("meta-")):
        if candidate and (found := _exact(candidate)):
            return found
    words = cleaned.replace("_", " ").replace("-", " ")
    words = re.sub(r"\b(?:meta|instruct|chat|it|hf|text|base)\b", " ", words, flags=re.IGNORECASE)
    # Ollama glues a family to its version: "llama3.1" is "llama 3.1" elsewhere.
    glued = re.sub(r"\b([a-z]+)(\d+(?:\.\d+)?)\b", r"\1 \2", words, flags=re.IGNORECASE)
    near = _searched(words) or _searched(glued)
    return near or _of_size(_searched(_LIBRARY.get(base.lower(), "")), tag)


def _of_size(model_id: str | None, tag: str) -> str | None:
    """The library's own choice, unless the tag asks for another size."""
    asked = _SIZE.search(tag)
    if model_id is None or asked is None:
        return model_id
    size = float(asked[0][:-1]) * (1e9 if asked[0][-1] in "bB" else 1e6)
    stored = next((m.parameters for m in all_models() if m.id == model_id), 0)
    return model_id if abs(stored - size) <= 0.15 * size else None


def _variant(stem: str) -> str | None:
    """The entry of the same family and size, whatever it was trained for; its shape is the same."""
    repository = stem.rpartition("/")[2]
    words = _VARIANT.sub(" ", _DROPPED.sub(" ", repository)).replace(":", " ")
    words = re.sub(r"[-_ ]+", " ", words).strip()
    return _searched(words) if _SIZE.search(words) or re.search(r"[a-z]\d", words, re.IGNORECASE) else None


def _searched(words: str) -> str | None:
    """The best entry that has every word; none for a misspelt name, which would be a guess.

    A number or a size alone ("-1", "70b") names no model, although many have it in their names.
    """
    wanted = set(re.findall(r"[a-z]+|\d+(?:\.\d+)?", words.lower()))
    if not any(len(word) > 1 and word.isalpha() for word in wanted):
        return None
    found = search_models(words, 8)
    return next((m.id for m in found if wanted <= _pieces(m)), None)


def _pieces(model: CatalogModel) -> set[str]:
    text = " ".join((model.id, model.name, *model.aliases)).lower()
    return set(re.findall(r"[a-z]+|\d+(?:\.\d+)?", text))
