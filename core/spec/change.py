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
    """A copy with the value at ``path`` replaced; only the records on the way are checked again.

    Raises InvalidScenario with the path of every offending field.
    """
    changed: S = _replaced(spec, path, value, "")
    return changed


def with_values(spec: S, changes: Mapping[str, Any]) -> S:
    """A copy with the values at several paths replaced.  Raises InvalidScenario."""
    for path, value in changes.items():
        spec = with_value(spec, path, value)
    return spec


def _replaced(holder: Any, path: str, value: Any, above: str) -> Any:
    """``holder``, a record or a tuple that stands at ``above``, with the value at ``path`` replaced."""
    head, _, rest = path.partition(".")
    inner = _step(holder, head, above + path)
    new = _replaced(inner, rest, value, f"{above}{head}.") if rest else value
    if isinstance(holder, tuple):
        index = int(head)
        return (*holder[:index], new, *holder[index + 1 :])
    # Built anew, not copied: a copy would take along what the old record had derived and kept.
    return _checked(holder, head, new, above)


def _step(value: Any, name: str, path: str) -> Any:
    if isinstance(value, BaseModel) and name in type(value).model_fields:
        return getattr(value, name)
    if isinstance(value, tuple) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    raise InvalidScenario(Problem("path.unknown", (path,), {"path": path}))


def _checked(record: S, name: str, value: Any, above: str) -> S:
    fields = {field: getattr(record, field) for field in type(record).model_fields}
    fields[name] = value
    try:
        return type(record).model_validate(fields)
    except ValidationError as error:
        raise InvalidScenario(*(_labelled(p) for p in problems_of(error, fields, above))) from None


def _labelled(problem: Problem) -> Problem:
    """The problem without the dotted path among its values, so that words put the field's name there."""
    values = {key: value for key, value in problem.values.items() if key != "field"}
    return replace(problem, values=values)
