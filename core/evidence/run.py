"""A measured run in our own definitions and units, whatever tool wrote it down.

Readers make runs, the log keeps them, validation lays them beside the estimate, calibration fits to them.
Absent is not zero: a setting that the file does not state is None or "", a figure is not in ``figures``.
"""

from dataclasses import dataclass, field

from core.words import Phrase

# Figure → unit.  Times are per request, throughputs of the whole service unless the name says otherwise.
FIGURES: dict[str, str] = {
    "time_to_first_token": "s",  # request sent → first chunk
    "time_per_output_token": "s",  # (latency − first token) / (n − 1)
    "inter_token_latency": "s",  # gap between chunks of the stream
    "end_to_end": "s",
    "prompt_throughput": "tok/s",  # prompt tokens of one test, prompts alone
    "decode_throughput": "tok/s",  # generated tokens of all sequences, decoding alone
    "output_throughput": "tok/s",  # generated tokens of all requests over the whole run
    "total_throughput": "tok/s",  # prompt and generated tokens over the whole run
    "request_throughput": "1/s",
    "user_throughput": "tok/s",  # of one user, decoding alone
    "acceptance_length": "tok",  # tokens of one step with drafts, the certain one among them
    "prefix_hit_share": "1",
    "memory_used": "B",  # of one device
    "power": "W",  # of one device
    "temperature": "°C",
    "utilization": "1",  # share of time in which a kernel ran
    "core_clock": "Hz",
    "memory_clock": "Hz",
}
# Lines of a ledger that are counts; all others are bytes.
COUNTED_LINES = frozenset(
    {
        *("kv_cache_tokens", "fitting_tokens", "window_tokens", "max_concurrency"),
        *("gpu_blocks", "cpu_blocks", "recurrent_slots", "bpw", "params"),
    }
)
# "mean" and "p50" are told apart; throughputs and readings of the whole run are "mean".
STATISTICS = ("mean", "std", "min", "p25", "p50", "p75", "p90", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class Operator:
    """What a profiler saw of one kernel: summed seconds on the device, and calls."""

    name: str
    seconds: float
    calls: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run was read: tool and version as the file says, file name, line of its beginning (from 1)."""

    tool: str  # key of the reader: "vllm_serve", "llama_bench", ...
    tool_version: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What ran on what.  Names as the file spells them; matching them to the catalogue comes later."""

    engine: str = ""  # key as in core.spec.engine: "vllm", "sglang", "trtllm", "llamacpp", "ollama", "mlx"
    engine_version: str = ""
    model: str = ""
    accelerator: str = ""
    accelerators: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    data_parallel: int | None = None
    weight_format: str = ""
    kv_cache_format: str = ""
    context_limit: int | None = None  # tokens of the longest request that the server admits
    utilization: float | None = None  # share of the device that the engine may take
    batched_tokens: int | None = None
    sequences: int | None = None  # running at most
    block_size: int | None = None
    graphs: bool | None = None
    prefix_cache: bool | None = None
    drafts: str = ""  # kind of speculative decoding
    layers_on_device: int | None = None
    input_tokens: float | None = None  # mean of a request
    output_tokens: float | None = None
    concurrency: float | None = None  # requests in flight: the client's limit, or the batch
    request_rate: float | None = None  # 1/s; inf: all at once
    requests: int | None = None
    context_tokens: int | None = None  # already in the cache when the test began


@dataclass(frozen=True, slots=True)
class Quote:
    """One line of a log without its stamps; ``gave``: the lines of the ledger that were read in it."""

    number: int  # of the line, from 1
    text: str
    gave: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run.

    ``figures`` is (figure, statistic) → value in the unit of ``FIGURES``; ``ledger`` is line → bytes, the
    names of lines those of the measured memory records without their unit ("weights", "kv_cache",
    "activation_peak", "non_torch", "cuda_graph", "compute_buffer", "available_kv", "total") and
    counts as they are (``COUNTED_LINES``); ``conversions`` says what was computed from what the file
    states; ``rest`` keeps what the reader did not understand.  ``log`` are the lines of a start-up log that
    were read: they measure nothing by themselves, so that runs with and without them are equal.
    """

    origin: Origin
    setting: Setting = field(default_factory=Setting)
    figures: dict[tuple[str, str], float] = field(default_factory=dict)
    ledger: dict[str, float] = field(default_factory=dict)
    operators: tuple[Operator, ...] = ()
    started_at: str = ""  # ISO 8601, as exact as the file is
    label: str = ""
    conversions: tuple[Phrase, ...] = ()
    rest: dict[str, object] = field(default_factory=dict)
    log: tuple[Quote, ...] = field(default=(), compare=False)

    def figure(self, name: str, *statistics: str) -> float | None:
        """The first of these statistics that was measured; mean, then median, where none is named."""
        for statistic in statistics or ("mean", "p50"):
            value = self.figures.get((name, statistic))
            if value is not None:
                return value
        return None
