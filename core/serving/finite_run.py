"""A benchmark of N requests at a rate: it starts with an idle engine and ends when the last answer does.

    n (N / rate + L(n)) = N L(n)        in the engine, while there is room
    wait = (N / mu - N / rate) / 2      in the queue, mu the lesser of what the full engine answers
                                        and the prompts that steps full of them read

So it never settles where it is short or the rate is more than the engine carries.
"""

from dataclasses import replace

import numpy as np

from core.latency.textbook import TextbookPlan
from core.quantities import EXPECTED, FloatArray
from core.serving.lifecycle import live
from core.serving.load import LoadCurve
from core.serving.steady_state import Service, curve_of, open_loop, read_anew, room

_POINTS = 40


def finite_run(service: Service, request_rate: FloatArray, requests: float, kv_tokens: float) -> LoadCurve:
    """Speeds of runs of ``requests`` at each of ``request_rate`` (n,) requests per second."""
    rate = np.asarray(request_rate, dtype=np.float64).reshape(-1)
    if isinstance(service.plan, TextbookPlan):
        return open_loop(service, rate, kv_tokens)
    count, here = max(1.0, requests / service.replicas), rate / service.replicas
    limit = min(room(service, kv_tokens), count)
    grid = np.geomspace(1.0, max(limit, 1.0 + 1e-9), _POINTS)
    total = live(service.plan, service.lengths, grid, together=False).total[EXPECTED]
    arriving = count / here
    # Left of the root fewer are inside than arrive meanwhile.
    off = grid * (arriving[:, None] + total) - count * total
    inside = np.array([np.interp(0.0, row, grid) for row in np.maximum.accumulate(off, axis=1)])
    # Those that came and found no room are there too, and crowd the cache of an engine that preempts.
    crowd = np.where(inside >= limit * (1 - 1e-9), count, inside)
    lengths = replace(service.lengths, anew=read_anew(service, crowd, kv_tokens))
    life = live(service.plan, lengths, inside, together=False)
    lasts = np.where(inside >= limit * (1 - 1e-9), count / (inside / life.total), 0.0)
    # s to read all prompts: those that come faster than that wait for each other, room or not.
    reading = count * life.terms.mixed * life.terms.carriers / life.terms.together
    queue = 0.5 * np.maximum(0.0, np.maximum(lasts, reading) - arriving)
    length = np.maximum(arriving + life.total, lasts)
    served = service.replicas * count / length
    users = served[EXPECTED] * (life.total + queue)[EXPECTED]
    running = service.replicas * inside * life.share
    return curve_of(service, users, running, life, queue, served, np.ones_like(rate))
