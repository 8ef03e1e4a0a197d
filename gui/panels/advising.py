"""Advice worked out in idle moments: after the plots, in slices, dropped when the scenario moves on."""

import time
from collections.abc import Callable, Iterator

from PySide6.QtCore import QObject, QTimer, Signal

from core.errors import InferometerError
from core.planning.curves import WorkloadCurves
from core.planning.suggestion import Suggestion
from core.planning.sweep import workload_curves
from core.results import Estimate
from core.spec.scenario import Scenario
from gui.estimation import Estimation
from gui.work.loading import is_loaded

REST_MS = 60  # without an edit before the work begins: a drag is never held up
HELD_MS = 250  # the same while a handle is held
_SLICE_S = 0.006  # then the event loop has its turn
_LONG_S = 0.4  # what is found after this comes later
_STALE_MS = 200
_SEARCH = "core.planning.recommend"  # what the last resort needs, and the simulator with it


class Advising(QObject):
    """Suggestions for the scenario that is set.

    ``ready`` carries the suggestions and the estimate that they improve; ``late`` says that the ones
    shown belong to an older scenario for longer than a person should be left to think otherwise.
    ``held`` tells whether the scenario hangs on a handle that moves.
    """

    ready = Signal(object, object)  # tuple of Suggestion, Estimate
    late = Signal()

    def __init__(
        self, estimation: Estimation, parent: QObject | None = None, held: Callable[[], bool] = lambda: False
    ) -> None:
        super().__init__(parent)
        self._estimation = estimation
        self._held = held
        self.resting = False  # out of sight: nothing is worked out
        self._steps: Iterator[Suggestion | None] | None = None
        self._found: list[Suggestion] = []
        self._begun = 0.0
        self._told = False  # before all was tried
        self._point: Estimate | None = None
        self._curves: dict[int, tuple[Suggestion, WorkloadCurves]] = {}
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._begin)
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._slice)
        self._stale = QTimer(self, singleShot=True, interval=_STALE_MS)
        self._stale.timeout.connect(self.late)
        estimation.point_ready.connect(self._on_point)
        estimation.failed.connect(self._on_failed)

    @property
    def busy(self) -> bool:
        """Whether an answer is still to come."""
        return self._rest.isActive() or self._turn.isActive()

    @property
    def searching(self) -> bool:
        """Whether others than those told may still be found."""
        return self._steps is not None

    def drop(self, _scenario: Scenario | None = None, _revision: int = 0) -> None:
        """The scenario has changed: what is under way is of no use."""
        self._rest.stop()
        self._turn.stop()
        self._steps = None
        self._found = []

    def postpone(self) -> None:
        """What is about to begin waits its time anew."""
        if self._rest.isActive():
            self._rest.start()

    def begin(self, point: Estimate) -> None:
        """Take up an estimate that was there before."""
        self._on_point(point, 0)

    def _on_point(self, point: Estimate, _revision: int) -> None:
        self.drop()
        self._point = point
        if self.resting:
            return
        self._rest.start(HELD_MS if self._held() else REST_MS)
        if not self._stale.isActive():
            self._stale.start()

    def _on_failed(self, _problems: object, _revision: int) -> None:
        self.drop()
        self.late.emit()

    def _begin(self) -> None:
        if self._point is None:
            return
        if self._point.verdict.state != "good" and not is_loaded(_SEARCH):
            self._rest.start()
            return
        self._curves.clear()
        self._begun, self._told = time.perf_counter(), False
        self._steps = self._attempts(self._point)
        self._slice()

    def _attempts(self, point: Estimate) -> Iterator[Suggestion | None]:
        from core.planning.advise import (
            Found,
            changes,
            devices,
        )  # with the first advice, after the first paint

        found: Found = []
        yield from changes(point, found)
        for one in devices(point, found):
            yield one
            if not self._told and time.perf_counter() > self._begun + _LONG_S:
                self._tell(point)

    def _slice(self) -> None:
        steps = self._steps
        if steps is None or self._point is None:
            return
        end = time.perf_counter() + _SLICE_S
        try:
            while time.perf_counter() < end and self._steps is steps:
                found = next(steps)
                if found is not None:
                    self._found.append(found)
        except (StopIteration, InferometerError):
            self._finish(self._point)
            return
        if self._steps is steps:
            self._turn.start()

    def _finish(self, point: Estimate) -> None:
        best = self._best()
        self._steps, self._found = None, []
        self._stale.stop()
        self.ready.emit(best, point)

    def _tell(self, point: Estimate) -> None:
        """What was found so far, while the catalogue is still searched: nobody waits for a last resort."""
        self._told = True
        best = self._best()
        if best:
            self._stale.stop()
            self.ready.emit(best, point)

    def _best(self) -> tuple[Suggestion, ...]:
        from core.planning.advise import ranked

        return ranked(self._found)

    def curves_of(self, suggestion: Suggestion) -> WorkloadCurves | None:
        """The curves of the changed scenario, worked out when first asked for."""
        known = self._curves.get(id(suggestion))
        if known is None:
            try:
                curves = workload_curves(suggestion.estimate.scenario, suggestion.estimate)
            except InferometerError:
                return None
            known = self._curves[id(suggestion)] = (suggestion, curves)
        return known[1]
