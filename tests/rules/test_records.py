"""Records of ``core.records`` are those of the standard library."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, Generic, TypeVar

import pytest

from core import records

T = TypeVar("T")
Make = Callable[[type], type]


def plain(make: Make) -> type:
    @make
    class Plain:
        """Of every kind of field."""

        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list)

        def sum(self) -> int:
            return self.first + len(self.second) + len(self.third)

        @property
        def doubled(self) -> int:
            return 2 * self.first

    return Plain


def single(make: Make) -> type:
    @make
    class Single:
        first: float

    return Single


def empty(make: Make) -> type:
    @make
    class Empty:
        pass

    return Empty


def own_methods(make: Make) -> type:
    @make
    class Own:
        first: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.first % 10 == other.first % 10

        def __repr__(self) -> str:
            return "own"

    return Own


def generic(make: Make) -> type:
    @make
    class Box(Generic[T]):
        first: T
        second: int = 0

    return Box


def odd(make: Make) -> type:
    """Left to the standard library."""

    @make
    class Odd:
        first: int
        second: int = field(default=2, compare=False, repr=False)
        third: int = field(init=False, default=3)

    return Odd


def after(make: Make) -> type:
    @make
    class After:
        first: int

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError

    return After


KINDS = (plain, single, empty, own_methods, generic, odd, after)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "plain": ((1,), (1, "b"), (1, "b", [1]), (2,)),
    "single": ((1.0,), (float("nan"),), (2.0,)),
    "empty": ((),),
    "own_methods": ((1,), (11,), (2,)),
    "generic": (("a",), ("a", 1)),
    "odd": ((1,), (1, 5)),
    "after": ((1,), (3,)),
}
both = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def pair(kind: Callable[[Make], type]) -> tuple[type, type]:
    """Made by each."""
    return kind(dataclasses.dataclass(frozen=True, slots=True)), kind(
        records.dataclass(frozen=True, slots=True)
    )


def hashed(one: object) -> object:
    try:
        return hash(one)
    except TypeError:
        return "unhashable"


@both
def test_values_are_equal_hashed_and_told_alike(kind: Callable[[Make], type]) -> None:
    theirs, ours = pair(kind)
    given = VALUES[kind.__name__]
    told = []
    for cls in (theirs, ours):
        made = [cls(*values) for values in given]
        told.append(
            (
                [repr(one) for one in made],
                [[one == other for other in made] for one in made],
                [hashed(one) for one in made],
                [dataclasses.asdict(one) for one in made if kind is not own_methods],
                [dataclasses.replace(one) == one for one in made],
                [copy.copy(one) == one for one in made],
                [repr(copy.deepcopy(one)) for one in made],
            )
        )
        assert made[0] != 5
    assert repr(told[0]) == repr(told[1])  # a NaN is not equal to itself


@both
def test_classes_are_alike(kind: Callable[[Make], type]) -> None:
    theirs, ours = pair(kind)
    for name in ("__doc__", "__name__", "__qualname__", "__module__", "__slots__", "__match_args__"):
        if name != "__doc__" or kind is plain:  # the standard library invents one
            assert getattr(theirs, name) == getattr(ours, name), name
    said = [
        [(f.name, f.type, f.init, f.repr, f.compare) for f in dataclasses.fields(cls)]
        for cls in (theirs, ours)
    ]
    assert said[0] == said[1]
    parameters = [list(inspect.signature(cls).parameters) for cls in (theirs, ours)]
    assert parameters[0] == parameters[1]
    assert not hasattr(ours(*VALUES[kind.__name__][0]), "__dict__") or kind is generic


@both
def test_nothing_can_be_changed(kind: Callable[[Make], type]) -> None:
    for cls in pair(kind):
        one = cls(*VALUES[kind.__name__][0])
        for name in ("first", "other"):
            if kind is generic and name == "other":
                continue
            with pytest.raises((FrozenInstanceError, TypeError)):
                setattr(one, name, 1)
            with pytest.raises((FrozenInstanceError, TypeError)):
                delattr(one, name)


def test_every_record_has_lists_of_its_own() -> None:
    cls = pair(plain)[1]
    one, other = cls(1), cls(1)
    one.third.append(1)
    assert other.third == []


def test_what_is_missing_or_too_much_is_refused() -> None:
    for cls in pair(plain):
        with pytest.raises(TypeError, match="first"):
            cls()
        with pytest.raises(TypeError, match="fourth"):
            cls(1, fourth=1)


def test_a_pattern_takes_it_apart() -> None:
    match pair(generic)[1]("a", 3):
        case object(first=name, second=number):
            assert (name, number) == ("a", 3)


def test_a_record_in_itself_is_told() -> None:
    told = []
    for cls in pair(plain):
        inside: list[Any] = []
        one = cls(1, "b", inside)
        inside.append(one)
        told.append(repr(one))
    assert told[0] == told[1] and "..." in told[1]


def test_a_record_may_be_derived_from_another() -> None:
    base = pair(single)[1]

    @records.dataclass(frozen=True, slots=True)
    class Derived(base):  # type: ignore[misc, valid-type]
        second: int = 2

    assert repr(Derived(1.0)).endswith("Derived(first=1.0, second=2)")
    with pytest.raises(FrozenInstanceError):
        Derived(1.0).second = 3
