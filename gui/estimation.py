"""The coordinator between the document and everything that shows results.

Points first: sentence, cards and ledger are painted before the curves are worked out.  Every result
carries the revision it belongs to, and a result that came too late is dropped.
"""

import time

from PySide6.QtCore import QObject, QTimer, Signal

from core.errors import InferometerError
from core.estimator import estimate
from core.planning.curves import WorkloadCurves
from core.planning.sweep import workload_curves
from core.results import Estimate
from core.spec.scenario import Scenario
from gui.document import Document

# While edits follow one another without a pause the curves still come this often.
_MAX_CURVE_WAIT_S = 0.1


class Estimation(QObject):
    """Turns scenarios into results at the end of the event-loop turn, so many edits in one turn are one."""

    point_ready = Signal(object, int)  # Estimate, revision
    curves_ready = Signal(object, object, int)  # WorkloadCurves, Estimate, revision
    failed = Signal(object, int)  # tuple of Problem, revision; the last good picture stays

    def __init__(self, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._curves_wanted = False
        self._curves_due_since: float | None = None
        self.estimate: Estimate | None = None
        self.curves: WorkloadCurves | None = None
        self.revision = -1
        self._point = QTimer(self, singleShot=True, interval=0)
        self._point.timeout.connect(self._work_out_point)
        self._curves = QTimer(self, singleShot=True, interval=0)
        self._curves.timeout.connect(self._work_out_curves)
        document.changed.connect(self._on_changed)

    def start(self) -> None:
        """Work out the document as it stands, at once."""
        self._point.stop()
        self._work_out_point()

    def want_curves(self, wanted: bool = True) -> None:
        """Whether any plot shows curves; they cost nothing otherwise."""
        self._curves_wanted = wanted
        if wanted and self.estimate is not None:
            self._work_out_curves()

    def _on_changed(self, _scenario: Scenario, _revision: int) -> None:
        self._point.start()

    def _work_out_point(self) -> None:
        revision = self._document.revision
        try:
            result = estimate(self._document.scenario)
        except InferometerError as error:
            self._curves.stop()
            self.failed.emit(error.problems, revision)
            return
        self.estimate, self.revision = result, revision
        self.point_ready.emit(result, revision)
        if not self._curves_wanted:
            return
        now = time.monotonic()
        if self._curves_due_since is None:
            self._curves_due_since = now
        if now - self._curves_due_since > _MAX_CURVE_WAIT_S:
            self._work_out_curves()
        else:
            self._curves.start()

    def _work_out_curves(self) -> None:
        self._curves.stop()
        if self.estimate is None or self.revision != self._document.revision:
            return  # a newer point is on its way and brings its own curves
        self._curves_due_since = None
        try:
            curves = workload_curves(self.estimate.scenario, self.estimate)
        except InferometerError as error:
            self.failed.emit(error.problems, self.revision)
            return
        self.curves = curves
        self.curves_ready.emit(curves, self.estimate, self.revision)
