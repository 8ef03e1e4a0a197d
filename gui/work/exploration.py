"""Explorations off the interface thread: pictures that sharpen, stale ones dropped."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Signal

from core.errors import InferometerError
from core.planning.explore import ResultKey, explore_rows, turned
from core.planning.explore_axes import Axis
from core.planning.explore_memory import BoolArray
from core.quantities import FloatArray
from core.spec.scenario import Scenario
from gui.work import threads

# Between two pictures of one exploration: painting one takes as long as working out several rows, and both
# share the interpreter.  The first come soon, the next ones when there is more to see.
_FIRST_S, _LONGEST_S, _GROWTH = 0.05, 0.5, 0.6


@dataclass(frozen=True, slots=True)
class Picture:
    """A grid as far as it is worked out; rows to come look like the last one below that is there.

    Names have no neighbours to look like: what is to come of them is not ``known``.

    Arrays (rows of ``y``, columns of ``x``).
    """

    scenario: Scenario
    x: Axis
    y: Axis
    result: ResultKey
    values: FloatArray  # SI units; nan where there is none
    starts: BoolArray
    meets: BoolArray
    share: float  # worked out, 1: complete
    seconds: float
    known: BoolArray | None = None  # None: all of it


class Exploration(QObject):
    """One exploration at a time; a new one ends the one before."""

    shown = Signal(object)  # Picture
    failed = Signal(object)  # tuple of Problem

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._token = 0
        self._thread: threading.Thread | None = None
        self.working = False

    def start(self, scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> None:
        """Work a grid out; ``shown`` follows, several times for one that takes long."""
        self._token += 1
        self.working = True
        run = partial(self._run, self._token, scenario, x, y, result)
        self._thread = threads.begin("exploration", run)

    def stop(self) -> None:
        """End what is running; what is there stays."""
        self._token += 1
        self.working = False

    def wait(self, seconds: float = 10.0) -> None:
        """Until the thread has ended."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self, token: int, scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> None:
        news: object
        try:
            for news in _pictures(scenario, x, y, result):
                if not self._tell(token, news):
                    return
        except InferometerError as error:
            self._tell(token, error.problems)

    def _tell(self, token: int, news: object) -> bool:
        """Hand something over to the window's thread; False when nobody wants it any more."""
        if token != self._token:
            return False
        if news is not None:
            threads.tell(partial(self._on_news, token, news), self)
        return True

    def _on_news(self, token: int, news: object) -> None:
        if token != self._token:
            return
        if isinstance(news, Picture):
            self.working = news.share < 1
            self.shown.emit(news)
        else:
            self.working = False
            self.failed.emit(news)


def _pictures(scenario: Scenario, x: Axis, y: Axis, result: ResultKey) -> Iterator[Picture | None]:
    """A picture now and then, None in between, the complete one last."""
    begun = time.perf_counter()
    swap = turned(scenario, x, y)
    across, down = (y, x) if swap else (x, y)
    count = len(down.values)
    shape = (count, len(across.values))
    values = np.full(shape, np.nan)
    starts, meets = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    done = np.zeros(count, dtype=bool)
    last = begun
    for number, row in enumerate(explore_rows(scenario, across, down, result), 1):
        values[row.index], starts[row.index], meets[row.index] = row.values, row.starts, row.meets
        done[row.index] = True
        now = time.perf_counter()
        pause = min(max(_FIRST_S, _GROWTH * (now - begun)), _LONGEST_S)
        if number < count and now - last < pause:
            yield None
            continue
        last = now
        known = None
        source = np.arange(count)
        if not down.is_category:
            source = np.maximum.accumulate(np.where(done, source, 0))
        elif number < count:
            known = np.broadcast_to(done.copy()[:, np.newaxis], shape)  # ``done`` goes on changing
            known = known.T if swap else known
        filled = values[source], starts[source], meets[source]
        if swap:
            filled = filled[0].T, filled[1].T, filled[2].T
        yield Picture(scenario, x, y, result, *filled, number / count, now - begun, known)
