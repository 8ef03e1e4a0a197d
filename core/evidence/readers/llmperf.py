"""LLMPerf (``token_benchmark_ray.py``): the ``…_summary.json``.

Its inter-token latency divides the whole request by all its tokens, the first one's wait in it: the time per
output token here is (theirs·n − TTFT)/(n − 1), for the mean only, which is all that means allow.
Tokens per second of a request hold the first one's wait as well, and are kept as they are.
"""

from typing import Any

from core.evidence.readers.common import Builder, Reading, count, number, text_of, tree_of
from core.evidence.run import STATISTICS
from core.units import three_digits

NEEDLES = ("results_ttft_s_mean", "results_inter_token_latency_s_mean", "num_concurrent_requests", "ttft_s")
_FIGURES = {"ttft_s": "time_to_first_token", "end_to_end_latency_s": "end_to_end"}
_STATISTIC = {"stddev": "std", **{name: name for name in STATISTICS}}


def claims(tree: dict[str, Any]) -> bool:
    """Flat names as the file has them, or the nested ones they are made of."""
    results = tree_of(tree.get("results"))
    return (
        "results_ttft_s_mean" in tree or "results_inter_token_latency_s_mean" in tree or "ttft_s" in results
    )


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The run of one summary."""
    flat = dict(tree) | {f"results_{key}": value for key, value in _flat(tree_of(tree.get("results")), "", 0)}
    build = Builder("llmperf", name, line, text_of(tree.get("version")))
    build.set(
        model=text_of(tree.get("model")),
        concurrency=number(tree.get("num_concurrent_requests")) or None,
        input_tokens=number(flat.get("results_number_input_tokens_mean"))
        or number(tree.get("mean_input_tokens")),
        output_tokens=number(flat.get("results_number_output_tokens_mean"))
        or number(tree.get("mean_output_tokens")),
        requests=count(flat.get("results_num_completed_requests")) or None,
    )
    used = {
        "results",
        "model",
        "version",
        "num_concurrent_requests",
        "mean_input_tokens",
        "mean_output_tokens",
    }
    for metric, figure in _FIGURES.items():
        for word, statistic in _STATISTIC.items():
            for key in (f"results_{metric}_{word}", f"results_{metric}_quantiles_{word}"):
                if key in flat:
                    used.add(key)
                    build.put(figure, statistic, flat[key])
    build.put("output_throughput", "mean", flat.get("results_mean_output_throughput_token_per_s"))
    minute = number(flat.get("results_num_completed_requests_per_min"))
    if minute:
        build.put("request_throughput", "mean", minute / 60.0)
        build.converted("per_minute")
    _token_time(build, number(flat.get("results_inter_token_latency_s_mean")))
    errors = count(flat.get("results_number_errors"))
    if errors:
        build.complain("failed_requests", failed=errors, all=errors + (build.settings.get("requests") or 0))
    build.keep(flat, used)
    return build.reading()


def _token_time(build: Builder, theirs: float | None) -> None:
    n, first = build.settings.get("output_tokens"), build.figures.get(("time_to_first_token", "mean"))
    if not theirs or not n or n <= 1 or not first:
        return
    value = (theirs * n - first) / (n - 1)
    if value > 0 and build.put("time_per_output_token", "mean", value):
        build.converted("token_time_without_first", tpot=three_digits(1e3 * theirs), n=three_digits(n))


def _flat(tree: dict[str, Any], prefix: str, depth: int) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in list(tree.items())[:200]:
        if isinstance(value, dict) and depth < 4:
            found += _flat(value, f"{prefix}{key}_", depth + 1)
        else:
            found.append((f"{prefix}{key}", value))
    return found
