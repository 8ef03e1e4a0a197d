"""``vllm bench serve`` (``benchmark_serving.py``) and ``sglang.bench_serving``: their JSON."""

from typing import Any

from core.evidence.readers.common import Builder, Reading, text_of
from core.evidence.readers.serving import fill

NEEDLES = ("request_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms", "mean_e2e_latency_ms")
_SGLANG = frozenset(
    {
        *("mean_e2e_latency_ms", "total_output_tokens_retokenized", "accept_length", "random_input_len"),
        *("sharegpt_output_len", "server_info", "dataset_name"),
    }
)


def claims(tree: dict[str, Any]) -> bool:
    """Totals of a run, or statistics of its times; numbers, not the objects of other tools."""
    if "performance" in tree or isinstance(tree.get("request_throughput"), dict):
        return False
    return "completed" in tree and ("request_throughput" in tree or "mean_ttft_ms" in tree)


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The run of one result."""
    sglang = bool(tree.keys() & _SGLANG)
    build = Builder("sglang_serving" if sglang else "vllm_serve", name, line)
    fill(build, tree)
    if sglang and "engine" not in build.settings and not text_of(tree.get("backend")):
        build.set(engine="sglang")
    return build.reading()
