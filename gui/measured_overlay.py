"""Measured runs of the open project over the plots of Estimate, as far as they are of this scenario."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QTimer

from core.evidence.kept_runs import Entry
from core.evidence.run import Run
from core.evidence.run_scenario import describe
from core.spec.scenario import Scenario
from core.words import counted
from gui.kept.runs import RunStore
from gui.plots.measured_marks import Marks
from gui.work.background import Work

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

_REST_MS = 150
_PORTION = 200
_ALIKE = 0.1  # share by which lengths may differ
_MOST = 2000  # marks: more cover one another


def is_of(run: Run, scenario: Scenario, folder: Path | None) -> bool:
    """Whether a run is of this scenario, at whatever load."""
    own = describe(run, scenario, folder).scenario
    if own is None:
        return False
    place, other = own.deployment, scenario.deployment
    return (
        (own.model.name, own.accelerator.name, own.engine.name, own.precision.weights)
        == (
            scenario.model.name,
            scenario.accelerator.name,
            scenario.engine.name,
            scenario.precision.weights,
        )
        and (place.accelerators, place.tensor_parallel, place.pipeline_parallel)
        == (other.accelerators, other.tensor_parallel, other.pipeline_parallel)
        and _near(own.workload.prompt_tokens, scenario.workload.prompt_tokens)
        and _near(own.workload.output_tokens, scenario.workload.output_tokens)
    )


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _ALIKE * max(one, other)


def marks_of(entries: Sequence[Entry], scenario: Scenario, folder: Path | None) -> Iterator[Marks | None]:
    """The marks of the runs that are of this scenario."""
    found: list[Run] = []
    known: dict[object, bool] = {}
    for at in range(0, len(entries), _PORTION):
        for entry in entries[at : at + _PORTION]:
            run = entry.run
            key = run.setting, run.figure("prefix_hit_share")
            if key not in known:
                known[key] = is_of(run, scenario, folder)
                yield None
            if known[key] and run.figures:
                found.append(run)
        yield None
        if len(found) > _MOST:
            break
    yield _marks(found[:_MOST])


def _marks(runs: Sequence[Run]) -> Marks:
    def column(name: str) -> list[float]:
        values = (run.figure(name) for run in runs)
        return [float("nan") if value is None else value for value in values]

    users = [run.setting.concurrency or 1.0 for run in runs]
    names = ("time_to_first_token", "time_per_output_token", "output_throughput", "memory_used")
    return Marks(len(runs), np.array(users, dtype=float), *(np.array(column(name)) for name in names))


class MeasuredOverlay(QObject):
    """Follows the log and the scenario while Estimate is in sight."""

    def __init__(self, window: "MainWindow", store: RunStore) -> None:
        super().__init__(window)
        self._window, self._store = window, store
        self._asked: tuple[object, ...] = ()
        self._marks: Marks | None = None
        self._work = Work(self)
        self._work.news.connect(self._show)
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self._begin)
        store.loaded.connect(self.follow)
        window.document.changed.connect(lambda _scenario, _revision: self.follow())
        window.stack.switched.connect(lambda _key: self.follow())
        store.want()

    @property
    def settled(self) -> bool:
        """Whether nothing is under way."""
        return not (self._rest.isActive() or self._work.working or self._store.busy)

    def follow(self) -> None:
        """Look again, after a while; out of sight nothing runs."""
        if self._window.stack.key == "estimate":
            self._rest.start()
        elif self._work.working:
            self._work.stop()
            self._asked = ()

    def _begin(self) -> None:
        if not self._store.is_current:
            return
        window, entries = self._window, self._store.entries
        scenario, data = window.document.scenario, window.shell.data
        asked = (entries, scenario)
        if self._asked and self._asked[0] is entries and self._asked[1] == scenario:
            return
        self._asked = asked
        folder = data / "catalogue" if data is not None else None
        self._work.start(lambda: marks_of(entries, scenario, folder))

    def say_again(self) -> None:
        """Another language is spoken."""
        if self._marks is not None:
            self._show(self._marks)

    def _show(self, marks: Marks) -> None:
        self._marks = marks
        words = self._window.words
        text = words.phrase(counted("validating.on_plots", marks.count)) if marks.count else ""
        self._window.workspace.tabs.show_measured(marks, text)
