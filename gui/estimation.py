"""The coordinator between the document and everything that shows results.

Points first: sentence, cards and ledger are painted before what the visible plots need is worked out.
Only that is worked out.  Every result carries the revision it belongs to, and a result that came too
late is dropped.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from core.errors import InferometerError, Problem
from core.estimator import estimate
from core.planning.started import Started, started
from core.results import Estimate
from core.spec.scenario import Scenario
from gui.document import Document

if TYPE_CHECKING:
    from core.planning.curves import WorkloadCurves
    from core.planning.request_life import RequestLife

# What a tab of plots needs: curves over users; the operators of a step; the course of a request.
View = Literal["", "curves", "operators", "life"]
# While edits follow one another without a pause the plots still follow this often.
_MAX_VIEW_WAIT_S = 0.1


@dataclass(frozen=True, slots=True)
class Course:
    """The course of a request; ``life`` None when none is ever answered, ``started`` when none starts."""

    started: Started | None
    life: RequestLife | None


class Estimation(QObject):
    """Turns scenarios into results at the end of the event-loop turn, so many edits in one turn are one."""

    point_ready = Signal(object, int)  # Estimate, revision
    curves_ready = Signal(object, object, int)  # WorkloadCurves, Estimate, revision
    operators_ready = Signal(object, int)  # Started | None, revision
    life_ready = Signal(object, int)  # Course, revision
    failed = Signal(object, int)  # tuple of Problem, revision; the last good picture stays

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._view: View = ""
        self._view_due_since: float | None = None
        self.estimate: Estimate | None = None
        self.curves: WorkloadCurves | None = None
        self._point_of_curves: Estimate | None = None
        self.revision = -1
        self.shown_revision = -1  # of what the visible plots show
        self._point = QTimer(self, singleShot=True, interval=0)
        self._point.timeout.connect(self._work_out_point)
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._work_out_view)
        document.changed.connect(self._on_changed)

    def start(self) -> None:
        """Work out the document as it stands, at once, and everything of it anew."""
        self._point_of_curves = None
        self._point.stop()
        self._work_out_point()

    def catch_up(self) -> None:
        """Work out an edit that waits, with its plots, before anything of it is painted.

        For what is dragged in a plot: numbers of one place of the hand beside the mark of another tremble.
        """
        if self._point.isActive():
            self._point.stop()
            self._work_out_point()
            if self._later.isActive():
                self._work_out_view()

    def want(self, view: View) -> None:
        """What the plots in sight need; nothing else is worked out."""
        self._view = view
        if view and self.estimate is not None:
            self._work_out_view()

    def _on_changed(self, _scenario: Scenario, _revision: int) -> None:
        self._point.start()

    def _work_out_point(self) -> None:
        revision = self._document.revision
        try:
            result = estimate(self._document.scenario)
        except Exception as error:  # noqa: BLE001 - the window stays usable whatever the core says
            self._later.stop()
            self._tell(error, revision)
            return
        self.estimate, self.revision = result, revision
        self.point_ready.emit(result, revision)
        if not self._view:
            return
        now = time.monotonic()
        if self._view_due_since is None:
            self._view_due_since = now
        if now - self._view_due_since > _MAX_VIEW_WAIT_S:
            self._work_out_view()
        else:
            self._later.start()

    def _work_out_view(self) -> None:
        self._later.stop()
        if self.estimate is None or self.revision != self._document.revision:
            return  # a newer point is on its way and brings its own plots
        self._view_due_since = None
        try:
            self._emit_view(self.estimate, self.revision)
        except Exception as error:  # noqa: BLE001
            self._tell(error, self.revision)
            return
        self.shown_revision = self.revision

    def _tell(self, error: Exception, revision: int) -> None:
        """A failure nobody expected goes to the log as well."""
        if isinstance(error, InferometerError):
            self.failed.emit(error.problems, revision)
            return
        sys.excepthook(type(error), error, error.__traceback__)
        self.failed.emit((Problem("internal", values={"kind": type(error).__name__}),), revision)

    def _curves_of(self, point: Estimate) -> WorkloadCurves:
        """The curves of a point: those there are while nothing but targets has changed since."""
        from core.planning.sweep import workload_curves  # after the first paint

        before, self._point_of_curves = self._point_of_curves, point
        if before is not None and self.curves is not None and _differ_in_targets(before, point):
            return self.curves
        return workload_curves(point.scenario, point)

    def _emit_view(self, point: Estimate, revision: int) -> None:
        if self._view == "curves":
            self.curves = self._curves_of(point)
            self.curves_ready.emit(self.curves, point, revision)
        elif self._view == "operators":
            self.operators_ready.emit(started(point), revision)
        elif self._view == "life":
            running = started(point)
            from core.planning.request_life import request_life

            life = request_life(running) if running is not None else None
            self.life_ready.emit(Course(running, life), revision)


def _differ_in_targets(before: Estimate, point: Estimate) -> bool:
    """Whether two points that run differ in nothing but what is asked of them."""
    one, other = before.scenario, point.scenario
    same = all(
        getattr(one, name) is getattr(other, name) for name in type(one).model_fields if name != "targets"
    )
    results = (before.speed, before.capacity, before.ledger) == (point.speed, point.capacity, point.ledger)
    return same and results and point.speed is not None
