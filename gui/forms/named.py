"""A model's name as a tool writes it, with the weight format that it states: "qwen3:30b-a3b-q4_K_M"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import InferometerError
from core.spec.formats import WEIGHT_FORMATS
from gui.document import Document
from gui.forms.consequences import settled

# The readers of names are imported when somebody types one, not at the start.
if TYPE_CHECKING:
    from core.importers.imported_model import ImportedModel

_MARKS = frozenset(":@/")


def named(text: str) -> ImportedModel | None:
    """The model and format of one word that states both; None for any other text."""
    bare = text.strip()
    if not bare or len(bare.split()) > 1:
        return None
    from core.importers.model_names import resolve, split_format
    from core.importers.recognise import named_model

    if _MARKS.isdisjoint(bare) and not split_format(bare)[1]:
        return None
    try:
        return named_model(bare) if resolve(bare).weight_format else None
    except InferometerError:
        return None


def format_label(found: ImportedModel) -> str:
    """The format as it is shown."""
    key = found.weight_format
    return WEIGHT_FORMATS[key].label if key in WEIGHT_FORMATS else key


def take(found: ImportedModel, document: Document) -> None:
    """The model in its format, and the engine that loads it, as one edit.  Raises InferometerError."""
    from core.importers.recognise import Imported, apply_import

    before = document.scenario
    applied, _ = apply_import(Imported("model", found.notes, model=found), before)
    document.replace(settled(applied, before)[0], "intake.edit.model")
