"""Observations of a service that cannot all be true together, whatever it runs on.

A request is in flight for L = first token + (n - 1) × each further one, and of N requests in flight come
N n / L tokens a second (Little's law).  So a throughput with its times says how many are in flight, and one
below it how fast the times must be.  Requests that arrive one after the other are asked for at their rate.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from core.evidence.run import Setting
from core.spec.scenario import Scenario
from core.units import show_bytes, show_count, show_time, three_digits
from core.words import Phrase, counted

# Means of requests against a mean over the whole run, with its beginning and its end.
_MORE, _FEWER, _BEHIND = 1.2, 0.5, 0.8
_LEAST_TIME = 1e-6  # s


def contradictions(
    scenario: Scenario, observed: Mapping[Any, float], stated: Setting | None = None
) -> tuple[Phrase, ...]:
    """What of ``observed`` (s, tok/s, bytes) contradicts the rest or the scenario's load.

    ``stated``: the setting of the run that it was observed in; None: what is observed is of the scenario.
    """
    return tuple(_found(scenario, observed, stated))


def _found(scenario: Scenario, observed: Mapping[Any, float], stated: Setting | None) -> Iterator[Phrase]:
    memory = observed.get("memory_used")
    device = scenario.accelerator
    if memory is not None and memory > device.memory_gb_nominal * 2.0**30:
        values = {"observed": str(show_bytes(memory)), "device": device.name}
        yield Phrase("diagnose.contradicts.memory", values)
    yield from _of_load(scenario, observed)
    waits = observed.get("time_to_first_token")
    if (
        waits is not None
        and stated is not None
        and stated.concurrency is None
        and stated.request_rate is None
    ):
        yield Phrase("diagnose.contradicts.load_assumed", {"load": _load(scenario)})


def in_flight(observed: Mapping[Any, float], tokens: int) -> float | None:
    """Requests in flight that throughput and times tell of, at least; None without both.  ``tokens``: of an
    answer.
    """
    rate = observed.get("output_throughput")
    first, each = observed.get("time_to_first_token"), observed.get("time_per_output_token")
    if rate is None or (first is None and each is None):
        return None
    life = (first or 0.0) + max(tokens - 1, 0) * (each or 0.0)
    return rate * life / tokens if life > _LEAST_TIME else None


def _of_load(scenario: Scenario, observed: Mapping[Any, float]) -> Iterator[Phrase]:
    work, rate = scenario.workload, observed.get("output_throughput")
    flight = in_flight(observed, work.output_tokens)
    values: dict[str, object] = {"load": _load(scenario), "output": show_count(work.output_tokens)}
    if rate is not None:
        values["rate"] = f"{three_digits(rate)} tok/s"
    if work.load == "users" and flight is not None:
        users = float(work.users)
        values["flight"] = three_digits(flight)
        values["times"] = _times(observed)
        both = observed.keys() >= {"time_to_first_token", "time_per_output_token"}
        if flight > _MORE * users:
            yield Phrase("diagnose.contradicts.more_in_flight", values)
        elif both and flight < _FEWER * users:
            yield Phrase("diagnose.contradicts.fewer_in_flight", values)
    elif work.load == "requests" and rate is not None:
        asked = work.request_rate * work.output_tokens
        values["asked"] = f"{three_digits(asked)} tok/s"
        if not np.isfinite(asked):
            return
        if rate > _MORE * asked:
            yield Phrase("diagnose.contradicts.more_than_asked", values)
        elif rate < _BEHIND * asked:
            yield Phrase("diagnose.contradicts.falls_behind", values)


def _times(observed: Mapping[Any, float]) -> Phrase:
    """The observed times, named."""
    told = [
        Phrase(f"diagnose.contradicts.{name}", {"time": str(show_time(observed[name]))})
        for name in ("time_to_first_token", "time_per_output_token")
        if name in observed
    ]
    return told[0] if len(told) == 1 else Phrase("calibrate.and", {"first": told[0], "second": told[1]})


def _load(scenario: Scenario) -> Phrase:
    work = scenario.workload
    if work.load == "requests":
        return Phrase("diagnose.contradicts.at_rate", {"rate": three_digits(work.request_rate)})
    return counted("units.users", work.users)
