"""A trace as a load of the form: the means that estimates and searches take in its place."""

from core.serving.trace import Trace

_DIGITS = 4
_LEAST, _MOST = 1e-6, 1e6  # requests a second that a form takes


def load_changes(trace: Trace, arrivals: bool) -> dict[str, object]:
    """Values by path: mean lengths in tokens, and with ``arrivals`` requests a second.

    A trace whose requests come all at once has no rate, and leaves the form's.  A prefix that the form's
    requests share is none of the trace's, which has columns for that.
    """
    changes: dict[str, object] = {
        "workload.prompt_tokens": max(1, round(float(trace.prompt.mean()))),
        "workload.output_tokens": max(1, round(float(trace.output.mean()))),
        "workload.shared_prefix_tokens": 0,
    }
    if arrivals and trace.rate > 0:
        rate = min(max(trace.rate, _LEAST), _MOST)
        changes |= {"workload.load": "requests", "workload.request_rate": float(f"{rate:.{_DIGITS}g}")}
    return changes
