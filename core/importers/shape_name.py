"""A name for a configuration that states none: the catalogue's of that shape, else class and size."""

import re
from dataclasses import replace
from typing import Any

from core.catalog.models import CatalogModel, all_models, load_model
from core.errors import InferometerError
from core.importers.imported_model import ImportedModel
from core.spec.model import Model
from core.strict_json import shortened

_CLASS_ENDS = re.compile(r"(For[A-Z]\w*|LMHeadModel|Model)$")


def named_by_shape(found: ImportedModel, tree: dict[str, Any]) -> ImportedModel:
    """The model with a name: "Qwen3-8B" where it has exactly that one's shape, else "Qwen3 64x5120"."""
    name = _known(found.model) or _class_and_size(tree)
    return replace(found, model=found.model.model_copy(update={"name": name}))


def _known(model: Model) -> str:
    """The catalogue's model of the same architecture; the shortest name is the plainest."""
    alike = (entry for entry in all_models() if entry.max_context == model.max_context)
    for entry in sorted(alike, key=lambda one: (len(one.name), one.name)):
        if _has_shape(entry, model):
            return entry.name
    return ""


def _has_shape(entry: CatalogModel, model: Model) -> bool:
    try:
        return load_model(entry.id).architecture == model.architecture
    except InferometerError:  # a user's own file may be broken
        return False


def _class_and_size(tree: dict[str, Any]) -> str:
    """Class, layers and width."""
    inner = tree.get("text_config")
    text = {**tree, **inner} if isinstance(inner, dict) else tree
    named = tree.get("architectures")
    first = named[0] if isinstance(named, list) and named else tree.get("model_type")
    stem = _CLASS_ENDS.sub("", first) if isinstance(first, str) else ""
    sizes = [text.get("num_hidden_layers", text.get("n_layer")), text.get("hidden_size", text.get("n_embd"))]
    shape = "x".join(str(n) for n in sizes if isinstance(n, int) and 0 < n < 10**7)
    return shortened(" ".join(part for part in (stem, shape) if part)) or "model"
