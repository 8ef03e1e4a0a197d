"""Fields of a specification by dotted path, and specifications with one field changed."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import InvalidScenario, Problem

S = TypeVar("S", bound=BaseModel)

# Kinds of pydantic errors → text keys below "problems.value."; all types not listed are "invalid".
_CODES = {
    "greater_than_equal": "too_small",
    "greater_than": "too_small",
    "less_than_equal": "too_large",
    "less_than": "too_large",
    "missing": "missing",
    "extra_forbidden": "unknown",
    "literal_error": "not_a_choice",
    "union_tag_invalid": "not_a_choice",
    "finite_number": "not_finite",
    "string_too_long": "too_long",
    "string_too_short": "too_short",
    "too_long": "too_long",
    "too_short": "too_short",
}
_LIMITS = ("ge", "gt", "le", "lt", "max_length", "min_length", "expected", "expected_tags")
_SHOWN = 60


def get_value(spec: BaseModel, path: str) -> Any:
    """The value at a dotted path such as ``workload.users`` or ``model.architecture.groups.0.count``.

    Raises InvalidScenario with the code ``path.unknown``.
    """
    value: Any = spec
    for name in path.split("."):
        value = _step(value, name, path)
    return value


def with_value(spec: S, path: str, value: Any) -> S:
    """A copy with the value at ``path`` replaced; only the record that holds it is checked again.

    Raises InvalidScenario with the path of every offending field.
    """
    head, _, rest = path.partition(".")
    old = _step(spec, head, path)
    if not rest:
        return _checked(spec, head, value, path)
    new = _replaced(old, rest, value, path)
    return spec if new is old else spec.model_copy(update={head: new})


def problems_of(error: ValidationError, prefix: str = "") -> tuple[Problem, ...]:
    """What pydantic found, as problems that name their fields."""
    found = []
    for item in error.errors(include_url=False):
        location = ".".join(str(part) for part in item["loc"])
        path = ".".join(part for part in (prefix, location) if part)
        kind = item["type"]
        code = _CODES.get(kind, "wrong_type" if "type" in kind or "int" in kind else "invalid")
        context = item.get("ctx", {})
        limit = next((context[name] for name in _LIMITS if name in context), "")
        values = {"value": _shown(item.get("input")), "limit": limit, "path": path}
        found.append(Problem(f"value.{code}", (path,), values))
    return tuple(found)


def _replaced(old: Any, path: str, value: Any, whole: str) -> Any:
    """``old``, a record or a tuple, with the value at ``path`` replaced."""
    if isinstance(old, BaseModel):
        head, _, rest = path.partition(".")
        inner = _step(old, head, whole)
        if not rest:
            return _checked(old, head, value, whole)
        return old.model_copy(update={head: _replaced(inner, rest, value, whole)})
    head, _, rest = path.partition(".")
    inner = _step(old, head, whole)
    if not rest:
        raise InvalidScenario(Problem("path.unknown", (whole,), {"path": whole}))
    index = int(head)
    return (*old[:index], _replaced(inner, rest, value, whole), *old[index + 1 :])


def _step(value: Any, name: str, path: str) -> Any:
    if isinstance(value, BaseModel) and name in type(value).model_fields:
        return getattr(value, name)
    if isinstance(value, tuple) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    raise InvalidScenario(Problem("path.unknown", (path,), {"path": path}))


def _checked(record: S, name: str, value: Any, path: str) -> S:
    fields = {field: getattr(record, field) for field in type(record).model_fields}
    fields[name] = value
    try:
        return type(record).model_validate(fields)
    except ValidationError as error:
        prefix = path.rpartition(".")[0]
        raise InvalidScenario(*problems_of(error, prefix)) from error


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
