"""Searches for hardware and models off the interface thread: the states as they come, the best simulated."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from core.errors import InferometerError
from core.files.atomic import read_limited
from core.planning import what_runs
from core.planning.offers import Offer
from core.planning.recommend import Recommendation, looks, verified_one, verifying
from core.planning.what_runs import WhatRuns
from core.serving.trace import MAX_BYTES, Trace, parse_trace
from core.spec.scenario import Scenario
from gui.work.trace_file import TraceFile

_EVERY_S = 0.15
_WORTH = 8.0  # times as long as a state took to make, the next one waits at least
_VERIFIED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """One state.  ``state`` is a Recommendation or a WhatRuns; ``verifying`` the number that is simulated."""

    state: Recommendation | WhatRuns
    seconds: float
    view: object = None  # what ``dress`` makes of the state
    verifying: int = -1

    @property
    def finished(self) -> bool:
        """Whether the search itself is over."""
        return self.state.finished


Dress = Callable[[Recommendation | WhatRuns], object]


def hardware(
    scenario: Scenario, dress: Dress, trace: TraceFile | None = None, verify: int = _VERIFIED
) -> Iterator[Found | None]:
    """A state now and then, None in between, the complete one, then with the first few simulated.

    ``trace``: where the requests lie that the scenario replays.
    """
    begun = last = time.perf_counter()
    state: Recommendation | None = None
    shown, wait = 0, _EVERY_S
    for look in looks(scenario):
        if look is None:
            yield None
            continue
        now = time.perf_counter()
        early = shown < 2 and look.offers > shown
        if look.finished or early or now - last > wait:
            state = look.state()
            news = Found(state, now - begun, dress(state))
            last, shown = time.perf_counter(), shown + 1
            wait = max(_EVERY_S, _WORTH * (last - now))
            yield news
        else:
            yield None
    if state is None:
        return
    took = time.perf_counter() - begun
    requests = _requests(trace)
    yield None
    for found in verifying(scenario, state.offers, verify, requests):
        state = replace(state, offers=found.offers)
        yield Found(state, took, dress(state), found.number)


def simulated(offer: Offer, trace: TraceFile | None = None) -> Iterator[Offer]:
    """One offer with its simulation."""
    yield verified_one(offer, trace=_requests(trace))


@lru_cache(maxsize=1)  # each offer that is simulated asks
def _requests(file: TraceFile | None) -> Trace | None:
    """What a trace holds; None where it cannot be read, of which Simulate tells."""
    try:
        return None if file is None else parse_trace(read_limited(file.path, MAX_BYTES))
    except InferometerError:
        return None


def models(scenario: Scenario, dress: Dress) -> Iterator[Found | None]:
    """What runs on the scenario's devices, as it is found."""
    begun = last = time.perf_counter()
    first = True
    for state in what_runs.looks(scenario):
        if state is None:
            yield None
            continue
        now = time.perf_counter()
        if state.finished or first or now - last > _EVERY_S:
            first, last = False, now
            yield Found(state, now - begun, dress(state))
        else:
            yield None
