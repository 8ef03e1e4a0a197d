"""Configurations of a type nobody has described: read by the names that most files share.

What comes out is marked as a guess, and every assumption is a note.
"""

from collections.abc import Mapping
from typing import Any

from core.errors import Problem
from core.importers.hf.reader import ALIASES

# A field, and the note on what is assumed in its absence.
_ASSUMED: tuple[tuple[str, str], ...] = (
    ("tie_word_embeddings", "untied"),
    ("head_dim", "head_dim"),
    ("kv_heads", "kv_heads"),
    ("attention_bias", "no_bias"),
)
_TEXT = "text_config"


def best_effort(config: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """The configuration under the nearest known type, and what that assumes.

    With a latent rank it is read as latent attention, else as grouped-query attention; gated blocks,
    two norms a layer, experts wherever the file counts any.
    """
    nested = config.get(_TEXT)
    text = nested if isinstance(nested, Mapping) and nested else config
    latent = text.get("kv_lora_rank") is not None
    base = "deepseek_v3" if latent else "llama"
    stated = config.get("model_type")
    shown = stated[:60] if isinstance(stated, str) else ""
    code = "importer.guessed_latent" if latent else "importer.guessed"
    notes = [Problem(code, ("model_type",), {"model_type": shown or "?"}, "warning")]
    for field, note in _ASSUMED:
        names = ALIASES.get(field, (field,))
        if not (latent and field in ("head_dim", "kv_heads")) and all(text.get(n) is None for n in names):
            notes.append(Problem(f"importer.assumed_{note}", (names[0],), {"name": names[0]}, "note"))
    if text.get("sliding_window") is not None and text.get("layer_types") is None:
        values = {"name": "sliding_window"}
        notes.append(Problem("importer.assumed_no_window", ("sliding_window",), values, "note"))
    if isinstance(config.get("vision_config"), Mapping):
        notes.append(Problem("importer.assumed_tower", ("vision_config",), {"name": "vision_config"}, "note"))
    read = {key: value for key, value in config.items() if key != "architectures"}
    read["model_type"] = base
    if text is not config:
        read[_TEXT] = {**text, "model_type": base}
    return read, tuple(notes)
