"""The base of every specification: immutable, strict, and closed against unknown fields.

A field is declared once, here and nowhere else: type, unit, range, step.  Forms, messages,
file checks and tooltips read this declaration.  The words of a field live in the catalogue of
each language under ``fields.<class>.<field>.{label,help}``.
"""

import unicodedata
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

# Control characters, halves of characters, and what turns the direction of writing.
_UNSHOWN_CATEGORIES = frozenset({"Cc", "Cs"})
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_one_line(text: str) -> bool:
    """Whether a text can be shown anywhere: no control characters, which would steer a terminal."""
    if text.isascii():
        return text.isprintable()
    return not any(unicodedata.category(c) in _UNSHOWN_CATEGORIES or c in _TURNING for c in text)


def as_one_line(text: str) -> str:
    """A text of a foreign file with a space for every character that ``is_one_line`` refuses."""
    return text if is_one_line(text) else "".join(c if is_one_line(c) else " " for c in text)


def _one_line(text: str) -> str:
    if not is_one_line(text):
        raise PydanticCustomError("control_characters", "holds control characters")
    return text


# Texts are bounded: an endless one would be hashed, drawn and written with every edit.
Line = Annotated[str, Field(max_length=300), AfterValidator(_one_line)]
Word = Annotated[str, Field(max_length=60), AfterValidator(_one_line)]  # a version, a key, a date
Remark = Annotated[str, Field(max_length=10_000)]  # may have several lines


class Spec(BaseModel):
    """An immutable record.  Wrong types, unknown fields, NaN and infinity are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


class FieldMeta(NamedTuple):
    """What an editor must know about a field beyond its type."""

    unit: str  # "", "tokens", "GB", "GiB", "s", "ms", "1" (a bare share), ...
    step: float  # of the arrow keys; 0: no stepping
    kind: str  # "count", "quantity", "fraction", "choice", "text"
    minimum: float | None
    maximum: float | None
    engines: tuple[str, ...] = ()  # that know the setting; empty: all


def declared(
    default: Any = ...,
    *,
    unit: str = "",
    step: float = 0,
    kind: str = "quantity",
    ge: float | None = None,
    le: float | None = None,
    choices: str = "",
    engines: tuple[str, ...] = (),
) -> Any:
    """Declare a field with its unit, range and step.

    ``choices`` names the list that a choice is taken from ("weight_formats", "accelerators", ...);
    the list itself depends on the scenario and is given by the form.  ``engines``: to which
    engines a setting belongs; empty: to all.
    """
    extra: dict[str, JsonValue] = {"unit": unit, "step": step, "kind": kind, "choices": choices}
    if engines:
        extra["engines"] = list(engines)
    return Field(default, ge=ge, le=le, json_schema_extra=extra)


def field_meta(spec: type[BaseModel], name: str) -> FieldMeta:
    """Return the declaration of ``spec.name``.  KeyError for an unknown field."""
    info: FieldInfo = spec.model_fields[name]
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    engines = extra.get("engines")
    low = high = None
    for constraint in info.metadata:
        low = getattr(constraint, "ge", low)
        high = getattr(constraint, "le", high)
    return FieldMeta(
        str(extra.get("unit", "")),
        float(extra.get("step", 0) or 0),  # type: ignore[arg-type]
        str(extra.get("kind", "quantity")),
        low,
        high,
        tuple(map(str, engines)) if isinstance(engines, list) else (),
    )
