"""Frozen dataclasses of results as JSON trees and back, by their annotations.

Arrays are base64 of their bytes, exact and quick to read; a scenario is written as what differs from the
part's own; numbers that JSON lacks are written as words.
"""

import base64
import binascii
import dataclasses
import functools
import json
import math
import types
import typing
from array import array
from typing import Any, Literal, TypeVar, cast

import numpy as np
from pydantic import ValidationError

from core.serving.requests import Records
from core.spec.accelerator import Accelerator
from core.spec.base import Spec
from core.spec.scenario import Scenario

T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class Book:
    """What a part's trees refer to: its scenario, and the devices in it, each written once."""

    base: Scenario
    trees: list[Any] = dataclasses.field(default_factory=list)  # of the devices
    _numbers: dict[str, int] = dataclasses.field(default_factory=dict)
    _read: dict[int, Accelerator] = dataclasses.field(default_factory=dict)

    def number(self, device: Accelerator) -> int:
        """Of a device among the trees."""
        text = device.model_dump_json()
        if text not in self._numbers:
            self._numbers[text] = len(self.trees)
            self.trees.append(json.loads(text))
        return self._numbers[text]

    def device(self, number: object) -> Accelerator:
        """The device of a number."""
        place = int(_is(type(number) is int and 0 <= number < len(self.trees), number))  # type: ignore[call-overload]
        if place not in self._read:
            self._read[place] = Accelerator.model_validate_json(json.dumps(self.trees[place]))
        return self._read[place]


class Mismatch(ValueError):
    """A tree that is not of the kind."""


def tree_of(value: object, book: Book) -> Any:
    """What ``value_of`` reads; ``book`` the same there."""
    if isinstance(value, Scenario):
        fields = ((name, getattr(value, name)) for name in Scenario.model_fields)
        return {name: tree_of(part, book) for name, part in fields if part != getattr(book.base, name)}
    if isinstance(value, Accelerator):
        return book.number(value)
    if isinstance(value, Spec):
        return value.model_dump(mode="json")
    if isinstance(value, Records):
        return {f.name: _packed(np.array(getattr(value, f.name))) for f in dataclasses.fields(Records)}
    if isinstance(value, np.ndarray):
        return _packed(value.astype(np.float64))
    if dataclasses.is_dataclass(value):
        return {f.name: tree_of(getattr(value, f.name), book) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [tree_of(one, book) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    return value


def value_of(kind: type[T], tree: Any, book: Book) -> T:
    """The value in a tree.  Raises Mismatch."""
    try:
        return cast(T, _value(kind, tree, book))
    except (TypeError, LookupError, AttributeError, ValidationError, binascii.Error) as error:
        raise Mismatch(str(error)) from None


def _value(kind: Any, tree: Any, book: Book) -> object:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if tree is None and type(None) in arguments:
            return None
        kinds = [one for one in arguments if one is not type(None)]
        if len(kinds) > 1 and set(kinds) <= {bool, int, float, str}:
            return _is(type(tree) in kinds, tree)
        return _value(kinds[0], tree, book)
    if origin is Literal:
        return _is(tree in arguments, tree)
    if origin is tuple:
        return _tuple(arguments, tree, book)
    if origin is np.ndarray or kind is np.ndarray:
        return np.frombuffer(_bytes(tree), dtype="<f8").copy()
    if kind is Records:
        return _records(tree)
    if kind is Scenario:
        hints = _hints(Scenario)
        return book.base.model_copy(update={k: _value(hints[k], v, book) for k, v in tree.items()})
    if kind is Accelerator:
        return book.device(tree)
    if isinstance(kind, type) and issubclass(kind, Spec):
        return kind.model_validate_json(json.dumps(tree))
    if dataclasses.is_dataclass(kind):
        hints = _hints(cast(type, kind))
        # A field that an older file does not know has a default.
        fields = [f for f in dataclasses.fields(kind) if f.name in tree or f.default is dataclasses.MISSING]
        given = {f.name: _value(hints[f.name], tree[f.name], book) for f in fields}
        return kind(**given)  # type: ignore[operator]
    return _scalar(kind, tree)


def _tuple(arguments: tuple[Any, ...], tree: Any, book: Book) -> object:
    _is(isinstance(tree, list), tree)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_value(arguments[0], one, book) for one in tree)
    _is(len(tree) == len(arguments), tree)
    return tuple(_value(one, part, book) for one, part in zip(arguments, tree, strict=True))


def _scalar(kind: Any, tree: Any) -> object:
    if kind is float:
        return float(_is(type(tree) in (int, float) or tree in ("nan", "inf", "-inf"), tree))  # type: ignore[arg-type]
    if kind in (int, bool, str):
        return _is(type(tree) is kind, tree)
    return _is(tree is None or isinstance(tree, int | float | str), tree)


def _is(good: bool, tree: object) -> object:
    if not good:
        raise Mismatch(repr(tree)[:60])
    return tree


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _packed(values: "np.ndarray[Any, Any]") -> str:
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode("ascii")


def _bytes(tree: Any) -> bytes:
    return base64.b64decode(str(_is(isinstance(tree, str), tree)), validate=True)


def _records(tree: Any) -> Records:
    found = Records()
    columns: list[array[Any]] = []
    for field in dataclasses.fields(Records):
        column: array[Any] = getattr(found, field.name)
        kind = np.dtype(column.typecode).newbyteorder("<")
        column.frombytes(
            np.frombuffer(_bytes(tree[field.name]), dtype=kind).astype(column.typecode).tobytes()
        )
        columns.append(column)
    _is(len({len(column) for column in columns}) == 1, "columns")
    return found
