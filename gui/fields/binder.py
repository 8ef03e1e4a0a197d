"""Build an editor from the declaration of a field; nothing about a field is said twice."""

import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Union, get_args, get_origin

from pydantic import BaseModel

from core.spec.base import FieldMeta, field_meta
from core.spec.change import get_value
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.fields.choice_edit import Choice, ChoiceEdit
from gui.fields.quantity_edit import QuantityEdit
from gui.fields.row import Changes, FieldRow, Most
from gui.fields.segmented import Segmented

ChoicesOf = Callable[[Scenario, Words], Sequence[Choice]]
Placeholder = Callable[[Scenario, QuantityEdit], str]
_UNIT_KEYS = {"1": "share", "1/s": "per_second", "GB/s": "gb_per_s", "GFLOP/s": "gflop_per_s"}


def owner_of(path: str) -> tuple[type[BaseModel], str]:
    """The specification that declares the last name of a dotted path, and that name."""
    spec: type[BaseModel] = Scenario
    *heads, last = path.split(".")
    for head in heads:
        annotation = spec.model_fields[head].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            raise KeyError(path)
        spec = annotation
    if last not in spec.model_fields:
        raise KeyError(path)
    return spec, last


@cache
def declaration(path: str) -> tuple[FieldMeta, bool, bool]:
    """Declaration of a field, whether it is a whole number, and whether it may be empty."""
    spec, name = owner_of(path)
    annotation = spec.model_fields[name].annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return field_meta(spec, name), int in parts, type(None) in parts


def unit_word(unit: str, words: Words) -> str:
    """What stands at the right inside the editor."""
    return words(f"forms.units.{_UNIT_KEYS.get(unit, unit)}") if unit else ""


def build(
    document: Document,
    path: str,
    words: Words,
    *,
    choices: ChoicesOf | None = None,
    changes: Changes | None = None,
    prefix: str = "",
    unit: str | None = None,
    placeholder: str | Placeholder = "",
    segmented: bool = False,
    most: Most | None = None,
) -> FieldRow:
    """An editor for ``path`` with its label, words and checks.

    ``choices`` gives the entries of a choice; they may depend on the scenario.  ``most`` is the
    largest number that the rest of the scenario admits, for the words of a refusal.  ``placeholder``
    stands in an empty editor.
    """
    meta, whole, optional = declaration(path)
    if choices is not None:
        return _choice_row(document, path, words, choices, changes, segmented)
    shown_unit = unit_word(meta.unit, words) if unit is None else unit
    editor = QuantityEdit(meta, whole=whole, optional=optional, prefix=prefix, unit=shown_unit)
    editor.take_back_hint = words("forms.take_back")

    def show(scenario: Scenario) -> None:
        editor.setPlaceholderText(
            placeholder if isinstance(placeholder, str) else placeholder(scenario, editor)
        )
        editor.set_value(get_value(scenario, path))

    row = FieldRow(document, path, words, editor, show, changes)
    row.most = most
    editor.edited.connect(row.commit)
    editor.unreadable.connect(row.refuse)
    editor.left.connect(row.end_edit)
    editor.taken_back.connect(row.take_back)
    return row


def _choice_row(
    document: Document,
    path: str,
    words: Words,
    choices: ChoicesOf,
    changes: Changes | None,
    segmented: bool,
) -> FieldRow:
    editor: ChoiceEdit | Segmented = Segmented() if segmented else ChoiceEdit()

    def show(scenario: Scenario) -> None:
        editor.set_choices(choices(scenario, words))
        editor.set_value(get_value(scenario, path))

    label = "" if segmented else None
    row = FieldRow(document, path, words, editor, show, changes, label)
    editor.chosen.connect(row.commit)
    return row
