"""What the plots say of the load: which places are full, and why a ring lies beside the curves.

The curves are of so many users who each wait for their answer; arrivals at a rate are another load.
"""

from core.planning.curves import WorkloadCurves
from core.results import Estimate
from core.spec.engine import LLAMA
from core.units import show_time, three_digits
from core.words import Words
from gui.plots.draw import text_width


def what_is_full(curves: WorkloadCurves, estimate: Estimate | None) -> str:
    """The cache, or the places for requests, which some engines call slots: a key of "latency_over_users"."""
    if not curves.full_by_batch:
        return "full"
    slots = estimate is not None and estimate.scenario.engine.name in LLAMA
    return "slots_full" if slots else "batch_full"


def rate_caption(words: Words, estimate: Estimate, whole: str, brief: str, room: float) -> str:
    """The caption, and why the ring lies beside the curves; both in few words where many have no room."""
    note = words("plots.rate_note", rate=_rate(estimate))
    told = words("plots.with_legend", legend=whole, caption=note)
    if text_width(told) <= room:
        return told
    return words("plots.with_legend", legend=brief, caption=words("plots.rate_note_short"))


def rate_reading(words: Words, key: str, estimate: Estimate, room: float) -> str:
    """The values of the arrivals, and what the curves are of; ``key`` is that of the plot."""
    speed = estimate.speed
    if speed is None:
        return ""
    users = f"{speed.users:,.0f}" if speed.users >= 20 else f"{speed.users:.1f}"
    values = {
        "rate": _rate(estimate),
        "users": words("units.users", n=users),
        "first_token": show_time(speed.time_to_first_token.expected),
        "per_token": show_time(speed.time_per_output_token.expected),
        "throughput": three_digits(speed.output_throughput.expected),
    }
    long = words(f"plots.{key}.rate_reading", **values)
    return long if text_width(long) <= room else words(f"plots.{key}.rate_short", **values)


def _rate(estimate: Estimate) -> str:
    return three_digits(estimate.scenario.workload.request_rate)
