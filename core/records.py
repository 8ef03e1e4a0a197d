"""``dataclass`` for the many small records of the program: the standard one's, in two thirds of the time.

The standard library compiles six methods of each class one by one, which took a tenth of the program's
start.  A frozen record with slots shares three of them here, which say the same (tests/rules/test_records.py
holds both side by side).  Any other kind is left to the standard library.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """As ``dataclasses.dataclass``."""

        def make(plain: type) -> type:
            if options == {"frozen": True, "slots": True} and _is_simple(plain):
                return _record(plain)
            return dataclasses.dataclass(**options)(plain)

        return make if cls is None else make(cls)


__all__ = ["dataclass"]


def _is_simple(cls: type) -> bool:
    """Whether all of a class is a row of fields, every one shown and compared."""
    given = [value for value in vars(cls).values() if isinstance(value, dataclasses.Field)]
    above = any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])
    return not above and all(field.repr and field.compare for field in given)


def _record(cls: type) -> type:
    """A frozen class with slots."""
    said = vars(cls).keys()
    made: Any = dataclasses.dataclass(frozen=True, slots=True, repr=False, eq=False)(cls)
    names = tuple(field.name for field in dataclasses.fields(made))
    for name, method in _shared(names).items():
        # An __eq__ of the class's own brings a __hash__ that is None; the standard library replaces that too.
        if name not in said or (name == "__hash__" and vars(cls)[name] is None):
            setattr(made, name, method)
    made.__dataclass_params__.eq = made.__dataclass_params__.repr = True
    return made  # type: ignore[no-any-return]


def _few(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """What reads one field or none; an attrgetter would give the bare value."""
    return lambda record: tuple(getattr(record, name) for name in names)


def _shared(names: tuple[str, ...]) -> dict[str, Any]:
    """The methods that need no compiling."""
    values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names) if len(names) > 1 else _few(names)

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        told = ", ".join(f"{name}={value!r}" for name, value in zip(names, values(self), strict=True))
        return f"{self.__class__.__qualname__}({told})"

    return {"__eq__": __eq__, "__hash__": __hash__, "__repr__": __repr__}
