"""The arrival rate that keeps a wanted number of requests in the system."""

import numpy as np

from core.quantities import EXPECTED
from core.serving.steady_state import open_loop, prepare
from core.spec.scenario import Scenario

# Shares of the ceiling: dense where few users are in the system, and where the queue begins to grow.
_SHARES = np.concatenate([np.geomspace(1e-3, 0.4, 24), 1.0 - np.geomspace(0.55, 1e-4, 36)])


def rate_for_users(scenario: Scenario, users: float, kv_tokens: float) -> float:
    """Requests per second at which ``users`` requests are in the system on average.

    ``kv_tokens`` is what the cache pools of all replicas hold together.  Below the rate that the
    service can answer at most, however many users are asked for; three or more significant digits,
    as many as the steepness asks for.
    """
    service = prepare(scenario)
    ceiling = float(open_loop(service, np.array([1e9]), kv_tokens).requests_per_second[EXPECTED, 0])
    rates = ceiling * _SHARES
    found = open_loop(service, rates, kv_tokens)
    inside = np.isfinite(found.users)
    rising = np.maximum.accumulate(found.users[inside])
    rate = float(np.interp(users, np.append(0.0, rising), np.append(0.0, rates[inside])))
    digits = 4 if rate < 0.99 * ceiling else 6
    rounded = float(f"{rate:.{digits}g}")
    return rounded if 0 < rounded < ceiling else rate
