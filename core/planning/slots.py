"""Slots of llama.cpp and Ollama: how many requests they serve at once is a setting of theirs.

The defaults are for one person (four slots, and one).  A search for more users sets as many as the load
asks for, with a context that holds a request in each, as advice does.
"""

import math
from functools import lru_cache

import numpy as np

from core.memory.llama_rules import n_parallel, padded
from core.planning.engine_settings import Settings
from core.planning.search_bounds import Bounds
from core.quantities import FloatArray, as_array
from core.spec.engine import LLAMA
from core.spec.scenario import Scenario

_MOST = 256  # sequences that llama.cpp keeps apart (LLAMA_MAX_SEQ)
_PATIENT = 0.1  # s a token where no target says how slow an answer may be
_CROWDED = 2.0  # standard deviations of a Poisson number of requests that find a slot


def slot_settings(scenario: Scenario, slots: int) -> Settings:
    """So many slots, and a context (of all together) that holds a request in each."""
    return _settings(slots, scenario.workload.tokens_per_request, scenario.engine.max_model_len)


@lru_cache(maxsize=1024)
def _settings(slots: int, tokens: int, context: int) -> Settings:
    wanted = slots * padded(tokens)
    found: Settings = (("n_parallel", slots),)
    return (*found, ("max_model_len", wanted)) if wanted > context else found


def at_once(scenario: Scenario) -> int:
    """Requests that a copy has a place for, as the scenario sets it."""
    engine, tokens = scenario.engine, max(1, scenario.workload.tokens_per_request)
    slots = n_parallel(engine)
    return slots if engine.separate_slots > 1 else min(slots, engine.max_model_len // tokens)


def wanted_at_once(scenario: Scenario) -> int:
    """Requests for which all copies together need a place, for the targets to be met.

    Users who may not wait for a first token need one each.  At a rate it is Little's law: requests a second
    times the longest that one may stay within the targets.
    """
    work, targets = scenario.workload, scenario.targets
    wanted = targets.users or 1
    if work.load == "users":
        return max(wanted, work.users) if targets.time_to_first_token_s is not None else wanted
    each = targets.time_per_output_token_ms
    stay = work.output_tokens * (_PATIENT if each is None else each / 1e3)
    stay += targets.time_to_first_token_s or 0.0
    inside = work.request_rate * stay
    return max(wanted, math.ceil(inside + _CROWDED * math.sqrt(inside)))


def slots_on(scenario: Scenario, replicas: int, bounds: Bounds) -> FloatArray | None:
    """Slots of each copy on the devices (d,) of the bounds: as many as are wanted or surely have room; 0 and
    None: as the scenario sets them.
    """
    if scenario.engine.name not in LLAMA:
        return None
    own, wanted = at_once(scenario), min(_MOST, -(-wanted_at_once(scenario) // replicas))
    if own >= wanted or own < 1:
        return None
    slots = np.minimum(np.floor(bounds.room), wanted)
    if (scenario.targets.users or 0) > (wanted - 1) * replicas:  # fewer miss the target: none of them, or all
        slots = np.where(bounds.most_room >= wanted, wanted, slots)
    return as_array(np.where(slots > own, slots, 0.0))
