"""How a service is simulated: when requests come, how long they are, and what the scheduler does.

Mean rate, number of users and mean lengths are those of the workload.
"""

from typing import Literal

from core.spec.base import Spec, declared

# diurnal: the rate swings around its mean like a day; trace: times and lengths of a file.
Arrivals = Literal["poisson", "constant", "gamma", "diurnal", "trace"]
# file: drawn from the rows of a trace, without its times.
LengthKind = Literal["fixed", "uniform", "lognormal", "file"]
Routing = Literal["round_robin", "least_loaded", "prefix_aware"]
Preemption = Literal["recompute", "swap"]
Batching = Literal["guaranteed_no_evict", "max_utilization"]


class Simulation(Spec):
    """Settings of the simulator; the defaults need no thought."""

    arrivals: Arrivals = declared("poisson", kind="choice", choices="arrivals")
    # Standard deviation of the gaps between arrivals over their mean ("gamma"); 1 is Poisson.
    burstiness: float = declared(2.0, unit="1", step=0.5, ge=0.05, le=20)
    period_s: float = declared(600.0, unit="s", step=60, ge=1, le=10**7)  # of the swing ("diurnal")
    swing: float = declared(0.5, unit="1", kind="fraction", step=0.1, ge=0.0, le=1.0)  # of the mean rate
    think_time_s: float = declared(0.0, unit="s", step=1, ge=0.0, le=10**6)  # after an answer, mean
    prompt_lengths: LengthKind = declared("fixed", kind="choice", choices="length_kinds")
    prompt_spread: float = declared(0.5, unit="1", kind="fraction", step=0.1, ge=0.0, le=5.0)  # SD / mean
    output_lengths: LengthKind = declared("fixed", kind="choice", choices="length_kinds")
    output_spread: float = declared(0.5, unit="1", kind="fraction", step=0.1, ge=0.0, le=5.0)
    # Questions of one conversation; each prompt carries all that was said before.
    turns: int = declared(1, kind="count", step=1, ge=1, le=1000)
    duration_s: float = declared(600.0, unit="s", step=60, ge=0.1, le=10**8)  # arrivals end here
    requests: int | None = declared(None, kind="count", step=100, ge=1, le=10**7)  # at most; None: no limit
    warm_up: float = declared(0.1, unit="1", kind="fraction", step=0.05, ge=0.0, le=0.9)  # left out
    seed: int = declared(1, kind="count", step=1, ge=0, le=2**63 - 1)
    # The share of requests that must meet the targets.
    percentile: float = declared(0.95, unit="1", kind="fraction", step=0.01, ge=0.01, le=0.999)
    trace: str = declared("", kind="text")  # name of the trace file, beside the scenario's
    routing: Routing = declared("round_robin", kind="choice", choices="routings")
    prefix_caching: bool = declared(True, kind="choice")
    preemption: Preemption = declared("recompute", kind="choice", choices="preemptions", engines=("vllm",))
    swap_space_gib: float = declared(
        4.0, unit="GiB", kind="quantity", step=1, ge=0.0, le=10_000, engines=("vllm",)
    )
    batching: Batching = declared(
        "guaranteed_no_evict", kind="choice", choices="batchings", engines=("trtllm",)
    )
    # Static batches: requests of one batch at most, and how long the first one waits for others.
    static_batch: int = declared(1, kind="count", step=1, ge=1, le=4096, engines=("transformers", "mlx"))
    batch_wait_s: float = declared(0.0, unit="s", step=1, ge=0.0, le=10**4, engines=("transformers", "mlx"))

    @property
    def reads_trace(self) -> bool:
        """Whether arrivals or lengths come from a trace."""
        return self.arrivals == "trace" or "file" in (self.prompt_lengths, self.output_lengths)
