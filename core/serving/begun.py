"""How many of the users had begun in a simulation, from the times of their requests.

A user who has begun is inside the service until an answer ends, and from then on thinks; without a time
for that the next question comes at the same moment.  So the most requests that were there at once are
the users who had begun.
"""

import math
from dataclasses import dataclass

import numpy as np

from core.quantities import FloatArray
from core.serving.requests import Records
from core.spec.scenario import Scenario

_SURE = 4.0  # roots of the number who think: more than chance makes of it


@dataclass(frozen=True, slots=True)
class Begun:
    """Users who had begun when the last request was sent, of those there are."""

    users: int
    of: int
    seconds: float  # until all of them would have, at the rate at which they began
    last: bool = False  # the last request was that of the last user: nothing came when all were there

    @property
    def reached(self) -> bool:
        """Whether requests met the whole load."""
        return self.users >= self.of and not self.last


def asked_by_users(scenario: Scenario) -> bool:
    """Whether the requests are those of users who ask again, not of a rate or a trace."""
    return scenario.workload.load == "users" and scenario.simulation.arrivals != "trace"


def full_from(scenario: Scenario, arrival: FloatArray, finish: FloatArray) -> float:
    """The time at which the last user began, s; 0 where it is not known, or never came."""
    if not asked_by_users(scenario) or scenario.simulation.think_time_s:
        return 0.0
    times, inside = _inside(arrival, finish)
    at = np.flatnonzero(inside >= scenario.workload.users)
    return float(times[at[0]]) if len(at) else 0.0


def begun(scenario: Scenario, records: Records) -> Begun | None:
    """The users of a finished run; None where requests do not come from users."""
    if not asked_by_users(scenario) or not len(records):
        return None
    arrival, finish = np.array(records.arrival), np.array(records.finish)
    _, inside = _inside(arrival, finish)
    users, found, length = scenario.workload.users, int(inside.max()), float(arrival[-1] - arrival[0])
    think = scenario.simulation.think_time_s
    if think and length:
        thinking = think * len(arrival) / length
        found += math.ceil(thinking + _SURE * math.sqrt(thinking))
    found = min(found, users)
    last = found == users > 1 and full_from(scenario, arrival, finish) >= float(arrival[-1])
    return Begun(found, users, length * users / found, last)


def _inside(arrival: FloatArray, finish: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Times, and the requests that are there from each on; an answer ends before the next question."""
    ended = finish[np.isfinite(finish)]
    times = np.concatenate([ended, arrival])
    change = np.concatenate([-np.ones(len(ended)), np.ones(len(arrival))])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(change[order])
