"""GuideLLM's reports as JSON, YAML, CSV and console text: one run for each benchmark (a sweep is several).

Its inter-token latency is (last − first token)/(n − 1): the time per output token here.  Its own time per
output token is over all n tokens, from 0.4 on with the first one in it.  Latencies are those of completed
requests; the ones that the time limit cut off are apart.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, number, problem, text_of, together, tree_of
from core.evidence.readers.guidellm_tables import from_console, from_csv, is_console, is_csv
from core.evidence.run import STATISTICS
from core.units import three_digits
from core.yaml_subset import NotRead, parse

KEY = "guidellm_other"  # what is no JSON; that comes by ``claims``
WHOLE = False
NEEDLES = ("benchmarks", "inter_token_latency_ms", "time_to_first_token_ms")
# Metric → figure, factor.
_METRICS = {
    "time_to_first_token_ms": ("time_to_first_token", 1e-3),
    "inter_token_latency_ms": ("time_per_output_token", 1e-3),
    "request_latency": ("end_to_end", 1.0),
}
_RATES = {
    "requests_per_second": "request_throughput",
    "output_tokens_per_second": "output_throughput",
    "tokens_per_second": "total_throughput",
}
_SETTINGS = {"prompt_token_count": "input_tokens", "output_token_count": "output_tokens"}
# The first versions: means under these names, percentiles beside them.
_FIRST = {
    "time_to_first_token": ("time_to_first_token", 1e-3),
    "inter_token_latency": ("time_per_output_token", 1e-3),
    "request_latency": ("end_to_end", 1.0),
}
_STATISTIC = {"median": "p50", "std_dev": "std", **{name: name for name in STATISTICS}}
_MAX_BENCHMARKS = 1000
_MAX_TOLD = 20
_YAML = re.compile(r"^[ -]{0,20}(?:inter_token_latency(?:_ms)?|time_to_first_token(?:_ms)?):", re.MULTILINE)
_LONG = frozenset({"requests", "request_samples"})  # of single requests: passed over


def claims(tree: dict[str, Any]) -> bool:
    """A list of benchmarks with metrics, or one benchmark of it."""
    every = tree.get("benchmarks")
    if isinstance(every, list):
        return any(isinstance(one, dict) and (_is_new(one) or _is_first(one)) for one in every)
    return _is_new(tree) and "run_stats" in tree


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The runs of a report."""
    every = tree.get("benchmarks", [tree])
    version = text_of(tree_of(tree.get("metadata")).get("guidellm_version"))
    arguments = tree_of(tree.get("args"))
    readings = []
    for one in every[:_MAX_BENCHMARKS]:
        if isinstance(one, dict) and _is_new(one):
            readings.append(_new(one, arguments, Builder("guidellm", name, line, version)))
        elif isinstance(one, dict) and _is_first(one):
            readings.append(_first(one, Builder("guidellm", name, line, version or "0.1")))
        else:
            readings.append(Reading((), (problem("unknown_object", name, line),)))
    return together(readings)


def looks_like(text: str, _name: str) -> bool:
    """Whether it is the same report as YAML, as CSV or as the tables of the console."""
    return _is_yaml(text) or is_csv(text) or is_console(text)


def read(text: str, name: str) -> Reading:
    """The runs of a report that is not JSON."""
    if _is_yaml(text):
        return _yaml(text, name)
    made, problems = from_csv(text, name) if is_csv(text) else (from_console(text), [])
    readings = [_new(tree, {}, Builder("guidellm", name, line)) for line, tree in made]
    return together([*readings, Reading((), tuple(problems[:_MAX_TOLD]))])


def _is_yaml(text: str) -> bool:
    return "\n" in text and bool(_YAML.search(text)) and text.lstrip()[:1] not in ("{", "[")


def _yaml(text: str, name: str) -> Reading:
    try:
        tree = parse(text, _LONG)
    except NotRead as found:
        return Reading((), (problem("yaml", name, found.line),))
    if not isinstance(tree, dict) or not claims(tree):
        return Reading((), (problem("unknown_yaml", name, 1),))
    return take(tree, name, 1)


def _is_new(tree: Mapping[str, Any]) -> bool:
    metrics = tree_of(tree.get("metrics"))
    return bool(metrics.keys() & _METRICS.keys() or metrics.keys() & _RATES.keys())


def _is_first(tree: Mapping[str, Any]) -> bool:
    return "mode" in tree and ("results" in tree or "time_to_first_token" in tree)


def _of_status(metric: object, status: str = "successful") -> dict[str, Any]:
    """The distribution of completed requests, or the only one there is."""
    tree = tree_of(metric)
    return tree_of(tree[status]) if status in tree else {} if "total" in tree else tree


def _put_all(build: Builder, figure: str, factor: float, distribution: Mapping[str, Any]) -> bool:
    """Mean, spread and percentiles; True when there is a mean or a median."""
    for key, value in (*distribution.items(), *tree_of(distribution.get("percentiles")).items()):
        statistic = _STATISTIC.get(key)
        if statistic is not None:
            build.put(figure, statistic, value, factor)
    return (figure, "mean") in build.figures or (figure, "p50") in build.figures


def _new(one: dict[str, Any], arguments: dict[str, Any], build: Builder) -> Reading:
    metrics = tree_of(one.get("metrics"))
    _load(build, one, arguments, metrics)
    for metric, (figure, factor) in _METRICS.items():
        if _put_all(build, figure, factor, _of_status(metrics.get(metric))):
            if factor != 1.0:
                build.converted("milliseconds")
            if metric == "inter_token_latency_ms":
                build.converted("inter_token_is_per_output", tool="GuideLLM")
    for metric, figure in _RATES.items():
        build.put(figure, "mean", _of_status(metrics.get(metric)).get("mean"))
    for metric, setting in _SETTINGS.items():
        lengths = _of_status(metrics.get(metric))
        build.set(**{setting: number(lengths.get("mean")) or number(lengths.get("median")) or None})
    _own_token_time(build, metrics, holds_first="config" in one)
    _counts(build, one, metrics)
    known = (*_METRICS, *_RATES, *_SETTINGS, "request_concurrency", "request_totals")
    kept = {name: _of_status(value).get("mean") for name, value in metrics.items() if name not in known}
    build.keep({name: mean for name, mean in kept.items() if mean is not None}, prefix="mean ")
    return build.reading()


def _own_token_time(build: Builder, metrics: Mapping[str, Any], holds_first: bool) -> None:
    """From the time over all tokens, where the time between them is not stated."""
    if build.figures.keys() & {("time_per_output_token", "mean"), ("time_per_output_token", "p50")}:
        return
    own = number(_of_status(metrics.get("time_per_output_token_ms")).get("mean"))
    n = number(build.settings.get("output_tokens"))
    first = build.figures.get(("time_to_first_token", "mean"))
    if not own or not n or n <= 1 or (holds_first and not first):
        return
    value = (own * 1e-3 * n - (first or 0.0 if holds_first else 0.0)) / (n - 1)
    if build.put("time_per_output_token", "mean", value if value > 0 else None):
        key = "token_time_without_first" if holds_first else "token_time_over_gaps"
        build.converted(key, tpot=three_digits(own), n=three_digits(n))


def _load(
    build: Builder, one: Mapping[str, Any], arguments: Mapping[str, Any], metrics: Mapping[str, Any]
) -> None:
    config = tree_of(one.get("config")) or tree_of(one.get("args")) or tree_of(one.get("benchmarker"))
    strategy = tree_of(config.get("strategy"))
    kind = text_of(strategy.get("type_"))
    build.label = kind
    streams, rate = number(strategy.get("streams")), number(strategy.get("rate"))
    if kind == "synchronous":
        build.set(concurrency=1.0)
    elif streams:
        build.set(concurrency=streams)
        build.label = f"{kind}@{streams:g}"
    elif rate:
        build.set(request_rate=rate)
        build.label = f"{kind}@{rate:g}"
    elif kind == "throughput":
        build.set(request_rate=float("inf"), concurrency=number(strategy.get("max_concurrency")) or None)
    mean = number(_of_status(metrics.get("request_concurrency")).get("mean"))
    if mean and "concurrency" not in build.settings:
        build.set(concurrency=mean)
        build.converted("concurrency_mean")
    backend = tree_of(config.get("backend"))
    worker = tree_of(one.get("worker"))
    for model in (
        backend.get("model"),
        worker.get("backend_model"),
        arguments.get("model"),
        backend.get("model_id"),
    ):
        if "model" not in build.settings:
            build.set(model=text_of(model))
    started = number(one.get("start_time")) or number(tree_of(one.get("run_stats")).get("start_time"))
    if started and 0 < started < 1e11:
        build.started_at = datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")


def _counts(build: Builder, one: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
    totals = tree_of(metrics.get("request_totals")) or tree_of(
        tree_of(one.get("run_stats")).get("requests_made")
    )
    done, cut, failed = (count(totals.get(key)) or 0 for key in ("successful", "incomplete", "errored"))
    build.set(requests=done or None)
    if cut and done:
        build.converted("completed_only", done=done, cut=cut)
    if failed:
        build.complain("failed_requests", failed=failed, all=done + cut + failed)


def _first(one: dict[str, Any], build: Builder) -> Reading:
    mode, rate = text_of(one.get("mode")), number(one.get("rate"))
    build.label = f"{mode}@{rate:g}" if rate else mode
    build.set(
        request_rate=float("inf") if mode == "throughput" else rate or None,
        concurrency=1.0 if mode == "synchronous" else None,
        input_tokens=number(one.get("prompt_token")) or None,
        output_tokens=number(one.get("output_token")) or None,
        requests=count(one.get("request_count")) or None,
    )
    for name, (figure, factor) in _FIRST.items():
        if build.put(figure, "mean", one.get(name), factor) and factor != 1.0:
            build.converted("milliseconds")
        for percentile, value in tree_of(one.get(f"{name}_percentiles")).items():
            if f"p{percentile}" in STATISTICS:
                build.put(figure, f"p{percentile}", value, factor)
    if ("time_per_output_token", "mean") in build.figures:
        build.converted("inter_token_is_per_output", tool="GuideLLM")
    build.put("output_throughput", "mean", one.get("output_token_throughput"))
    build.put("request_throughput", "mean", one.get("completed_request_rate"))
    failed = count(one.get("error_count")) or 0
    if failed:
        build.complain("failed_requests", failed=failed, all=failed + (count(one.get("request_count")) or 0))
    return build.reading()
