"""Fields of a specification by dotted path, and specifications with one field changed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from core.errors import InvalidScenario, Problem
from core.spec.problems import problems_of

S = TypeVar("S", bound=BaseModel)


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


def with_values(spec: S, changes: Mapping[str, Any]) -> S:
    """A copy with the values at several paths replaced.  Raises InvalidScenario."""
    for path, value in changes.items():
        spec = with_value(spec, path, value)
    return spec


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
        prefix = path[: len(path) - len(name)]
        raise InvalidScenario(*(_labelled(p) for p in problems_of(error, fields, prefix))) from None


def _labelled(problem: Problem) -> Problem:
    """The problem without the dotted path among its values, so that words put the field's name there."""
    values = {key: value for key, value in problem.values.items() if key != "field"}
    return replace(problem, values=values)
