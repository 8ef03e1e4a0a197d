"""The figures of a run as cases of the time model: which load, which figure, and what cannot be said."""

import math
from dataclasses import dataclass
from typing import Any

from core.evidence.run import FIGURES, Run
from core.evidence.run_record import MONITOR
from core.evidence.served import Case, Group, Load
from core.latency.efficiency import SERVER_ENGINES
from core.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Kind:
    """How a figure is predicted: metric and group of ``core.evidence.speed``; ``inverse``: one over it."""

    metric: str
    group: Group
    inverse: bool = False


KINDS: dict[str, Kind] = {
    "time_to_first_token": Kind("ttft", "server TTFT"),
    "time_per_output_token": Kind("tpot", "server TPOT"),
    "inter_token_latency": Kind("itl", "server TPOT"),
    "end_to_end": Kind("latency", "server throughput"),
    "prompt_throughput": Kind("prefill", "one prompt"),
    "decode_throughput": Kind("decode", "one stream"),
    "output_throughput": Kind("output", "server throughput"),
    "total_throughput": Kind("total", "server throughput"),
    "request_throughput": Kind("requests", "server throughput"),
    "user_throughput": Kind("tpot", "server TPOT", inverse=True),
}
# Tools that run one batch with no server around it.
BATCH_TOOLS = frozenset(
    {"llama_bench", "llama_batched_bench", "llama_sweep_bench", "sglang_one_batch"}
    | {"sglang_one_batch_server", "vllm_latency", "ollama", "mlx_lm", "torch_profiler"}
)
_OF_BATCHES: dict[str, Group] = {
    "ttft": "one prompt",
    "prefill": "one prompt",
    "tpot": "one stream",
    "itl": "one stream",
    "decode": "one stream",
}
_OFFLINE_TOOLS = ("vllm_throughput", "trtllm_bench")  # a queue that is always full
_BATCH_MODES = ("llama_bench", "single_batch")
_STATISTICS = ("mean", "p50")
_LARGEST = 1e12


def load_of(run: Run, scenario: Scenario) -> tuple[Load, float]:
    """How requests came, and how many or how fast."""
    setting = run.setting
    alone = set(run.figures) and all(
        figure in ("prompt_throughput", "decode_throughput") for figure, _ in run.figures
    )
    if run.origin.tool in BATCH_TOOLS or run.rest.get("mode") in _BATCH_MODES or alone:
        return "batch", setting.concurrency or 1.0
    if scenario.workload.load == "requests" and setting.request_rate is not None:
        return "rate", scenario.workload.request_rate
    if setting.concurrency:
        # A mean in flight is no whole number; a what-if may ask for other users than were measured.
        users = scenario.workload.users
        own = abs(setting.concurrency - users) <= 1.0
        return "users", setting.concurrency if own else float(users)
    if setting.requests and run.origin.tool in _OFFLINE_TOOLS:
        return "full", 0.0
    if setting.requests:
        # All at once: those that have no room wait for those that have.
        return "batch", float(setting.requests)
    return ("full", 0.0) if run.rest.get("mode") == "offline_throughput" else ("users", 1.0)


def cases_of_run(
    run: Run, scenario: Scenario
) -> tuple[list[tuple[str, str, Case]], list[tuple[str, str, str]]]:
    """Cases by figure and statistic; and figures left out with the key of the reason."""
    cases, left = [], []
    load, amount = load_of(run, scenario)
    if scenario.engine.name == "textbook":
        return [], [(figure, statistic, "engine") for figure, statistic in run.figures]
    copies = scenario.deployment.replicas
    pool = run.ledger.get("kv_cache_tokens", 0.0) * copies
    place = scenario.deployment
    stack = (
        f"{scenario.model.name}|{scenario.accelerator.name}|{scenario.engine.name}"
        f"|{scenario.engine.version}|{scenario.precision.weights}|{place.tensor_parallel}"
        f"|{place.pipeline_parallel}|{place.accelerators}"
    )
    for (figure, statistic), measured in run.figures.items():
        if figure == "memory_used" and run.origin.tool == MONITOR:
            continue  # a line of the ledger
        reason = _left_out(run, figure, statistic, measured, load, scenario)
        if reason:
            left.append((figure, statistic, reason))
            continue
        kind = _kind(figure, statistic, scenario)
        group = _OF_BATCHES.get(kind.metric, "batches") if load in ("batch", "full") else kind.group
        details: dict[str, Any] = {"pool": pool if math.isfinite(pool) else 0.0}
        if load == "rate":
            details["requests"] = float(run.setting.requests or 0)
        value = 1.0 / measured if kind.inverse else measured
        case = Case(
            run.label,
            group,
            kind.metric,
            value,
            scenario,
            load,
            amount,
            scenario.model.name,
            scenario.accelerator.name,
            stack,
            **details,
        )
        cases.append((figure, statistic, case))
    return cases, left


def _kind(figure: str, statistic: str, scenario: Scenario) -> Kind:
    """A step makes one token without drafts: the mean gap is the mean time of a token, prompts that come
    between included, and only the median is the bare step."""
    if figure == "inter_token_latency" and statistic == "mean" and scenario.speculative.kind == "none":
        return KINDS["time_per_output_token"]
    return KINDS[figure]


def _left_out(run: Run, figure: str, statistic: str, measured: float, load: Load, scenario: Scenario) -> str:
    if figure not in KINDS:
        return "reading" if figure in FIGURES else "other_metric"
    if statistic not in _STATISTICS:
        return "spread" if statistic == "std" else "percentile"
    if not 0.0 < measured < _LARGEST:
        return "no_number"
    if figure == "time_to_first_token" and load == "batch" and (run.setting.requests or 0) > 1:
        return "burst"
    if load == "full" and figure not in ("output_throughput", "total_throughput", "request_throughput"):
        return "load_not_stated"
    drafts = run.setting.drafts and scenario.speculative.kind == "none"
    if drafts and KINDS[figure].metric != "ttft":
        stated = run.figure("acceptance_length") is not None
        return "speculation_of_unknown_kind" if stated else "speculation_of_unknown_acceptance"
    if load == "batch" and scenario.engine.name in SERVER_ENGINES and figure == "inter_token_latency":
        return "load_not_stated"
    return ""
