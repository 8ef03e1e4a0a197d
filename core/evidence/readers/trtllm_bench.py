"""``trtllm-bench``: ``--report_json`` and what it prints.

TPOT and the speed of a user are of the generation alone; "output throughput per user" is tokens over the
whole request.  The figure per GPU is output only and is not kept as a figure.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, lines, number, text_of, together, tree_of

KEY = "trtllm_bench"
WHOLE = False
NEEDLES = ("system_output_throughput_tok_s", "request_throughput_req_s", "streaming_metrics")
_STATISTIC = {
    **{name: name for name in ("p25", "p50", "p75", "p90", "p95", "p99")},
    "minimum": "min",
    "maximum": "max",
    "average": "mean",
}
_BLOCKS = {
    "engine details": "engine",
    "pytorch backend": "engine",
    "machine details": "machine",
    "world + runtime information": "world_info",
    "request details": "request_info",
    "performance overview": "performance",
}
# Printed label → block, field.
_LABELS = {
    "model": ("engine", "model"),
    "tensorrt llm version": ("engine", "version"),
    "dtype": ("engine", "dtype"),
    "kv cache dtype": ("engine", "kv_cache_dtype"),
    "quantization": ("engine", "quantization"),
    "max sequence length": ("engine", "max_sequence_length"),
    "tp size": ("world_info", "tp_size"),
    "pp size": ("world_info", "pp_size"),
    "ep size": ("world_info", "ep_size"),
    "max runtime batch size": ("world_info", "max_batch_size"),
    "max runtime tokens": ("world_info", "max_num_tokens"),
    "scheduling policy": ("world_info", "scheduling_policy"),
    "kv memory percentage": ("world_info", "kv_cache_percentage"),
    "number of requests": ("request_info", "num_requests"),
    "number of concurrent requests": ("request_info", "avg_num_concurrent_requests"),
    "average input length (tokens)": ("request_info", "avg_input_length"),
    "average output length (tokens)": ("request_info", "avg_output_length"),
    "request throughput (req/sec)": ("performance", "request_throughput_req_s"),
    "total output throughput (tokens/sec)": ("performance", "system_output_throughput_tok_s"),
    "total token throughput (tokens/sec)": ("performance", "system_total_throughput_tok_s"),
    "total latency (ms)": ("performance", "total_latency_ms"),
    "average request latency (ms)": ("performance", "avg_request_latency_ms"),
    "per user output throughput [w/ ctx] (tps/user)": ("performance", "output_throughput_per_user_tok_s"),
    "per gpu output throughput (tps/gpu)": ("performance", "output_throughput_per_gpu_tok_s"),
    "average time-to-first-token [ttft] (ms)": ("streaming_metrics", "avg_ttft_ms"),
    "average time-per-output-token [tpot] (ms)": ("streaming_metrics", "avg_tpot_ms"),
    "per user output speed (tps/user)": ("streaming_metrics", "token_output_speed_tok_s"),
}
_BREAKDOWNS = {
    "TPOT": ("streaming_metrics", "tpot_percentiles"),
    "TTFT": ("streaming_metrics", "ttft_percentiles"),
    "GTPS": ("streaming_metrics", "gen_tps_percentiles"),
    "Latency": ("performance", "request_latency_percentiles_ms"),
    "AL": ("decoding_stats", "acceptance_length_percentiles"),
}
_TITLE = re.compile(r"=\s{1,4}([A-Z][A-Z +]{3,40}?)\s{0,9}")
_PAIR = re.compile(r"([A-Z][A-Za-z0-9 /()\[\]-]{3,60}?)\s{0,9}:\s{1,60}(\S.{0,200}?)\s*")
_BREAKDOWN = re.compile(r"\[(TPOT|TTFT|GTPS|Latency|AL)\] ([A-Z0-9]{3,8})\s{0,9}:\s{0,9}([\d.eE+-]{1,40})\s*")
_MACHINE = re.compile(r"([^,]{3,80}), memory ([\d.]{1,20}|N/A)(?: GB)?, .{1,30}")
_USED = frozenset(
    {
        "engine",
        "machine",
        "world_info",
        "request_info",
        "performance",
        "streaming_metrics",
        "decoding_stats",
        "dataset",
    }
)


def claims(tree: dict[str, Any]) -> bool:
    """A report with its performance."""
    return bool(tree_of(tree.get("performance"))) and ("world_info" in tree or "engine" in tree)


def take(tree: Mapping[str, Any], name: str, line: int) -> Reading:
    """The run of one report."""
    engine, world, requests = (tree_of(tree.get(key)) for key in ("engine", "world_info", "request_info"))
    build = Builder(KEY, name, line, text_of(engine.get("version")))
    build.set(
        engine="trtllm",
        engine_version=text_of(engine.get("version")),
        model=text_of(engine.get("model")),
        accelerator=text_of(tree_of(tree.get("machine")).get("name")),
        accelerators=count(world.get("world_size")) or None,
        tensor_parallel=count(world.get("tp_size")) or None,
        pipeline_parallel=count(world.get("pp_size")) or None,
        expert_parallel=count(world.get("ep_size")) or None,
        weight_format=_stated(engine.get("quantization")) or _stated(engine.get("dtype")),
        kv_cache_format=_stated(engine.get("kv_cache_dtype")),
        context_limit=count(engine.get("max_sequence_length")) or None,
        batched_tokens=count(world.get("max_num_tokens")) or None,
        sequences=count(world.get("max_batch_size")) or None,
        input_tokens=number(requests.get("avg_input_length")) or None,
        output_tokens=number(requests.get("avg_output_length")) or None,
        requests=count(requests.get("num_requests")) or None,
        concurrency=number(requests.get("avg_num_concurrent_requests")) or None,
    )
    if "concurrency" in build.settings:
        build.converted("concurrency_mean")
    _performance(build, tree_of(tree.get("performance")))
    _streaming(build, tree_of(tree.get("streaming_metrics")))
    decoding = tree_of(tree.get("decoding_stats"))
    build.set(drafts=text_of(decoding.get("mode")))
    if _put_all(build, "acceptance_length", decoding.get("acceptance_length_percentiles"), 1.0):
        build.settings.setdefault("drafts", "unspecified")
    build.keep(world, ("tp_size", "pp_size", "ep_size", "world_size", "max_batch_size", "max_num_tokens"))
    build.keep(tree, _USED)
    return build.reading()


def _performance(build: Builder, tree: Mapping[str, Any]) -> None:
    build.put("request_throughput", "mean", tree.get("request_throughput_req_s"))
    build.put("output_throughput", "mean", tree.get("system_output_throughput_tok_s"))
    build.put("total_throughput", "mean", tree.get("system_total_throughput_tok_s"))
    _put_all(build, "end_to_end", tree.get("request_latency_percentiles_ms"), 1e-3)
    if build.put("end_to_end", "mean", tree.get("avg_request_latency_ms"), 1e-3):
        build.converted("milliseconds")
    kept = ("total_latency_ms", "output_throughput_per_user_tok_s", "output_throughput_per_gpu_tok_s")
    build.keep({key: tree[key] for key in kept if key in tree})


def _streaming(build: Builder, tree: Mapping[str, Any]) -> None:
    for figure, mean, spread in (
        ("time_to_first_token", "avg_ttft_ms", "ttft_percentiles"),
        ("time_per_output_token", "avg_tpot_ms", "tpot_percentiles"),
    ):
        _put_all(build, figure, tree.get(spread), 1e-3)
        if build.put(figure, "mean", tree.get(mean), 1e-3):
            build.converted("milliseconds")
    _put_all(build, "user_throughput", tree.get("gen_tps_percentiles"), 1.0)
    build.put("user_throughput", "mean", tree.get("token_output_speed_tok_s"))


def _put_all(build: Builder, figure: str, percentiles: object, factor: float) -> bool:
    put = [
        build.put(figure, _STATISTIC[key], value, factor)
        for key, value in tree_of(percentiles).items()
        if key in _STATISTIC
    ]
    return any(put)


def _stated(value: object) -> str:
    text = text_of(value)
    return "" if text.lower() in ("none", "null") else text


def looks_like(text: str, _name: str) -> bool:
    """Whether the overview is there."""
    return "= PERFORMANCE OVERVIEW" in text


def read(text: str, name: str) -> Reading:
    """One run for each of the printed reports."""
    return together(take(tree, name, line) for line, tree in _reports(text) if "performance" in tree)


def _reports(text: str) -> Iterator[tuple[int, dict[str, dict[str, Any]]]]:
    tree: dict[str, dict[str, Any]] = {}
    began = 0
    for at, line in lines(text):
        title = _TITLE.fullmatch(line)
        block = _BLOCKS.get(title.group(1).lower()) if title else None
        if block is not None:
            if block in tree:
                yield began, tree
                tree = {}
            began = began if tree else at
            tree[block] = {}
        elif tree:
            _take_line(tree, line)
    if tree:
        yield began, tree


def _take_line(tree: dict[str, dict[str, Any]], line: str) -> None:
    breakdown = _BREAKDOWN.fullmatch(line)
    if breakdown:
        block, field = _BREAKDOWNS[breakdown.group(1)]
        tree.setdefault(block, {}).setdefault(field, {})[breakdown.group(2).lower()] = breakdown.group(3)
        return
    if tree.get("machine") == {}:
        machine = _MACHINE.fullmatch(line)
        if machine:
            tree["machine"]["name"] = machine.group(1)
            return
    pair = _PAIR.fullmatch(line)
    place = _LABELS.get(" ".join(pair.group(1).lower().split())) if pair else None
    if pair and place:
        value = pair.group(2)
        tree.setdefault(place[0], {})[place[1]] = value
