"""The scenarios pinned for comparison: named, ordered, one of all as the baseline.

They live beside the scenario under edit and outside its undo: undoing an edit never loses a pin, and a
pin taken away comes back by ``take_back``.  The recovery file keeps them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.errors import InferometerError
from core.estimator import estimate
from core.results import Estimate
from core.spec.scenario import Scenario

if TYPE_CHECKING:
    from core.planning.curves import WorkloadCurves

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Pin:
    """A scenario put aside.  ``name`` is empty until a person gives one."""

    scenario: Scenario
    name: str = ""
    key: int = field(default_factory=lambda: next(_numbers))


@dataclass(frozen=True, slots=True)
class _State:
    pins: tuple[Pin, ...] = ()
    baseline: int = 0  # key of a pin; 0: the scenario under edit


def letter(index: int) -> str:
    """Name of a column: A for the scenario under edit, then B, C ... Z, AA."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, len(LETTERS))
        text = LETTERS[rest] + text
    return text


class Pinned(QObject):
    """``changed`` follows everything that is done to them."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = _State()
        self._before: list[_State] = []
        self._points: dict[int, Estimate] = {}
        self._curves: dict[int, WorkloadCurves] = {}

    # -- reading ---------------------------------------------------------------------------------

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All of them, in order."""
        return self._state.pins

    @property
    def baseline(self) -> int:
        """Key of the pin that the others are compared with; 0 for the scenario under edit."""
        return self._state.baseline

    @property
    def baseline_index(self) -> int:
        """The same as a column: 0 for the scenario under edit, 1 for the first pin."""
        return next((i for i, pin in enumerate(self.pins, 1) if pin.key == self.baseline), 0)

    def estimate_of(self, pin: Pin) -> Estimate:
        """The estimate of a pin, worked out once.  Raises InferometerError."""
        found = self._points.get(pin.key)
        if found is None:
            found = self._points[pin.key] = estimate(pin.scenario)
        return found

    def curves_of(self, pin: Pin) -> "WorkloadCurves":
        """The curves of a pin, worked out once.  Raises InferometerError."""
        found = self._curves.get(pin.key)
        if found is None:
            from core.planning.sweep import workload_curves  # comes with the first plots

            found = self._curves[pin.key] = workload_curves(pin.scenario, self.estimate_of(pin))
        return found

    def forget_results(self) -> None:
        """What was worked out says memory in another unit by now."""
        self._points.clear()
        self._curves.clear()

    # -- changing --------------------------------------------------------------------------------

    def pin(self, scenario: Scenario, name: str = "") -> Pin | None:
        """Put a scenario aside, last in the row; None for one that cannot be estimated."""
        made = Pin(scenario, name.strip())
        try:
            self.estimate_of(made)
        except InferometerError:
            return None
        self._to(replace(self._state, pins=(*self.pins, made)))
        return made

    def rename(self, key: int, name: str) -> None:
        """Give a name; an empty one leaves the naming to the program."""
        pins = tuple(replace(pin, name=name.strip()) if pin.key == key else pin for pin in self.pins)
        self._to(replace(self._state, pins=pins))

    def move(self, key: int, by: int) -> None:
        """Further back (positive) or to the front."""
        pins = list(self.pins)
        start = next((i for i, pin in enumerate(pins) if pin.key == key), None)
        if start is None:
            return
        taken = pins.pop(start)
        pins.insert(min(max(start + by, 0), len(pins)), taken)
        self._to(replace(self._state, pins=tuple(pins)))

    def remove(self, key: int) -> None:
        """Take a pin away; what was compared with it is compared with the scenario under edit."""
        pins = tuple(pin for pin in self.pins if pin.key != key)
        self._to(_State(pins, 0 if self.baseline == key else self.baseline))

    def clear(self) -> None:
        """Take all away."""
        self._to(_State())

    def set_baseline(self, key: int) -> None:
        """Compare with this one; 0: the scenario under edit."""
        if key == 0 or any(pin.key == key for pin in self.pins):
            self._to(replace(self._state, baseline=key))

    def take_back(self) -> None:
        """Undo what was done to the pins last."""
        if self._before:
            self._state = self._before.pop()
            self.changed.emit()

    def restore(self, pins: Sequence[Pin], baseline: int = 0) -> None:
        """Start with pins kept elsewhere; those that cannot be estimated any more are left out."""
        sound = []
        for pin in pins:
            try:
                self.estimate_of(pin)
            except InferometerError:
                continue
            sound.append(pin)
        chosen = pins[baseline - 1].key if 0 < baseline <= len(pins) and pins[baseline - 1] in sound else 0
        self._before.clear()
        self._state = _State(tuple(sound), chosen)
        self.changed.emit()

    def _to(self, state: _State) -> None:
        if state == self._state:
            return
        self._before = [*self._before[-99:], self._state]
        self._state = state
        kept = {pin.key for each in (*self._before, state) for pin in each.pins}
        for store in (self._points, self._curves):
            for key in [key for key in store if key not in kept]:
                del store[key]
        self.changed.emit()


__all__ = ["Pin", "Pinned", "letter"]
