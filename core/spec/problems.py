"""What pydantic refuses, as problems that name the field and the reason in the program's own words."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from core.errors import Problem
from core.strict_json import shortened

_MOST = 8  # problems told at once; a wholly foreign file has hundreds

_WANTED = {
    "int_type": "integer",
    "int_from_float": "integer",
    "int_parsing": "integer",
    "float_type": "number",
    "float_parsing": "number",
    "finite_number": "number",
    "string_type": "text",
    "string_unicode": "text",
    "bool_type": "boolean",
    "bool_parsing": "boolean",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "tuple_type": "list",
    "list_type": "list",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "field.too_small"),
    "greater_than": ("gt", "field.not_above"),
    "less_than_equal": ("le", "field.too_big"),
    "less_than": ("lt", "field.not_below"),
    "too_short": ("min_length", "field.too_few"),
    "too_long": ("max_length", "field.too_many"),
    "string_too_short": ("min_length", "field.text_too_short"),
    "string_too_long": ("max_length", "field.text_too_long"),
}


def problems_of(error: ValidationError, tree: Any, prefix: str = "") -> tuple[Problem, ...]:
    """Return a problem for each error, with the field's path in ``tree``, the first few only.

    Codes: ``field.missing``, ``field.unknown``, ``field.type`` {wanted}, ``field.choice`` {choices},
    ``field.range`` {minimum, maximum} and its one-sided forms, ``field.invalid``.  ``values`` always
    hold ``field`` (the dotted path) and ``given`` (what stands there).
    """
    errors = error.errors(include_url=False)
    # A list whose items are refused also counts as too short: only the items' errors say why.
    places = {e["loc"][:n] for e in errors for n in range(len(e["loc"]))}
    told = [e for e in errors if not (e["type"] in ("too_short", "too_long") and e["loc"] in places)]
    return tuple(_problem(e, tree, prefix) for e in told[:_MOST])


def _problem(error: Any, tree: Any, prefix: str) -> Problem:
    kind = str(error["type"])
    path = prefix + ".".join(_path(error["loc"], tree))
    context = error.get("ctx", {})
    values: dict[str, object] = {"field": path, "given": _given(error["input"])}
    code = "field.invalid"
    if kind == "missing":
        code = "field.missing"
    elif kind == "extra_forbidden":
        code = "field.unknown"
    elif kind in _WANTED:
        code, values["wanted"] = f"field.type_{_WANTED[kind]}", _WANTED[kind]
    elif kind in _BOUNDS:
        key, code = _BOUNDS[kind]
        values["limit"] = _plain(context[key])
    elif kind == "literal_error":
        code, values["choices"] = "field.choice", context["expected"].replace("'", "").replace(" or ", ", ")
    elif kind == "control_characters":
        code = "field.control_characters"
    elif kind == "experts_per_token":
        code, path = "model.top_k", prefix + ".".join(_path((*error["loc"], "experts_per_token"), tree))
        values |= {"field": path, **context}
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        path = f"{path}.kind"
        values["field"] = path
        tag = context.get("tag")
        code = "field.missing" if tag is None else "field.choice"
        values["given"] = "" if tag is None else shortened(str(tag))
        values["choices"] = context.get("expected_tags", "").replace("'", "")
    return Problem(code, (path,), values)


def _path(loc: Sequence[str | int], tree: Any) -> list[str]:
    """The error's place as keys of the tree: pydantic adds the name of the union's member, we do not."""
    path: list[str] = []
    node = tree
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if isinstance(node, dict):
            if part not in node and not last and node.get("kind") == part:
                continue
            node = node.get(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            node = None
        path.append(shortened(str(part)))
    return path


def _given(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return "{…}" if isinstance(value, dict) else "[…]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return shortened(value) if value.strip() else '""'  # a sentence about nothing would end in nothing
    return shortened(repr(value))


def _plain(limit: Any) -> str:
    return f"{limit:,.10g}" if isinstance(limit, (int, float)) else shortened(str(limit))
