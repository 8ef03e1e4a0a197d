"""What the serving benchmarks of vLLM and SGLang have in common: their fields, and a run of them.

Both call (latency − TTFT)/(n − 1) the time per output token, leave requests of one token out of it, and
pool the gaps between chunks of all requests as inter-token latency.  The console names are turned into
those of the JSON, so both go the same way.  TensorRT-LLM's ``benchmark_serving`` follows vLLM's.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.evidence.readers.common import Builder, count, number, text_of, tree_of
from core.evidence.run import STATISTICS
from core.units import three_digits

_MEASURES = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2el": "end_to_end",
    "e2e_latency": "end_to_end",
}
_TIME = re.compile(
    r"(mean|median|std|min|max|p\d{1,2}(?:\.\d{1,3})?)_(ttft|tpot|itl|e2el|e2e_latency)_(ms|s)"
)
# Kept nowhere: one value a request, or texts.
_ARRAYS = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors", "latencies")
_USED = frozenset(
    {
        *("backend", "endpoint_type", "model_id", "model", "date", "label", "tag", "request_rate"),
        *("max_concurrency", "concurrency", "num_prompts", "completed", "total_input_tokens"),
        *("total_output_tokens", "request_throughput", "output_throughput", "total_token_throughput"),
        *("total_throughput", "accept_length", "spec_decode_acceptance_length", "server_info"),
        *("start_times", "queue_times", *_ARRAYS),
    }
)
_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)")
_ENGINES = (
    ("sglang", "sglang"),
    ("vllm", "vllm"),
    ("tensorrt", "trtllm"),
    ("trt", "trtllm"),
    ("llama.cpp", "llamacpp"),
)
# What people write with ``--metadata`` → setting.
_METADATA = {
    "tensor_parallel_size": "tensor_parallel",
    "tp": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "pp": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "gpu": "accelerator",
    "gpu_name": "accelerator",
    "gpu_type": "accelerator",
    "device": "accelerator",
    "version": "engine_version",
    "vllm_version": "engine_version",
    "quantization": "weight_format",
    "kv_cache_dtype": "kv_cache_format",
}
_TEXTS = frozenset({"accelerator", "engine_version", "weight_format", "kv_cache_format"})


def fill(build: Builder, fields: Mapping[str, Any]) -> None:
    """Take the fields, named as in the JSON, into the run."""
    _settings(build, fields)
    _times(build, fields)
    _throughputs(build, fields)
    _server(build, tree_of(fields.get("server_info")))
    used = {key for key in fields if key in _USED or key in _METADATA or _is_statistic(key)}
    build.keep({key.rstrip(":"): value for key, value in fields.items() if key not in used})
    if text_of(fields.get("error")):
        build.complain("failed_run", text=text_of(fields["error"])[:200])


def engine_of(backend: str) -> str:
    """The engine that the name of a backend speaks of; "" for one that any server answers to."""
    return next((engine for word, engine in _ENGINES if word in backend.lower()), "")


def _is_statistic(key: str) -> bool:
    match = _TIME.fullmatch(key)
    return match is not None and _statistic(match.group(1)) in STATISTICS


def _statistic(word: str) -> str:
    return "p50" if word == "median" else word


def _settings(build: Builder, fields: Mapping[str, Any]) -> None:
    backend = text_of(fields.get("backend")) or text_of(fields.get("endpoint_type"))
    build.set(
        engine=engine_of(backend), model=text_of(fields.get("model_id")) or text_of(fields.get("model"))
    )
    build.label = text_of(fields.get("label")) or text_of(fields.get("tag"))
    if backend:
        build.rest["backend"] = backend
    date = _DATE.fullmatch(text_of(fields.get("date")))
    build.started_at = "{}-{}-{}T{}:{}:{}".format(*date.groups()) if date else text_of(fields.get("date"))
    rate = fields.get("request_rate")
    unlimited = rate == float("inf") or text_of(rate).lower() in ("inf", "infinity")
    build.set(
        request_rate=float("inf") if unlimited else number(rate) or None,
        concurrency=number(fields.get("max_concurrency")) or number(fields.get("concurrency")) or None,
        requests=count(fields.get("completed")),
    )
    if not number(fields.get("max_concurrency")) and number(fields.get("concurrency")):
        build.converted("concurrency_mean")
    for key, name in _METADATA.items():
        value = fields.get(key)
        build.set(**{name: text_of(value) if name in _TEXTS else count(value) or None})
    asked, completed = count(fields.get("num_prompts")), count(fields.get("completed"))
    failed = count(fields.get("failed")) or (asked - completed if asked and completed is not None else 0)
    if failed > 0 and completed:
        build.complain("failed_requests", failed=failed, all=failed + completed)


def _times(build: Builder, fields: Mapping[str, Any]) -> None:
    streamed = _streamed(fields)
    for key, value in fields.items():
        match = _TIME.fullmatch(key)
        if match is None or _statistic(match.group(1)) not in STATISTICS:
            continue
        word, measure, unit = match.groups()
        if _MEASURES[measure] != "end_to_end" and not streamed:
            continue
        factor = 1e-3 if unit == "ms" else 1.0
        if build.put(_MEASURES[measure], _statistic(word), value, factor) and unit == "ms":
            build.converted("milliseconds")
    if not streamed and number(fields.get("mean_tpot_ms")):
        build.complain("not_streamed", tpot=three_digits(number(fields["mean_tpot_ms"]) or 0.0))


def _streamed(fields: Mapping[str, Any]) -> bool:
    """Whether tokens came one by one.

    Without streaming TTFT and ITL are written as 0 and TPOT holds the prefill; an answer that comes as a
    whole has no gaps either, and its first token is its last.
    """
    first, gap = number(fields.get("mean_ttft_ms")), number(fields.get("mean_itl_ms"))
    if first is None or gap is None or gap > 0:
        return first != 0
    made, completed = number(fields.get("total_output_tokens")), number(fields.get("completed"))
    return bool(first and made and completed and made <= 1.5 * completed)


def _throughputs(build: Builder, fields: Mapping[str, Any]) -> None:
    build.put("request_throughput", "mean", fields.get("request_throughput"))
    build.put("output_throughput", "mean", fields.get("output_throughput"))
    total = fields.get("total_token_throughput", fields.get("total_throughput"))
    taken, made = number(fields.get("input_throughput")), number(fields.get("output_throughput"))
    if total is not None:
        build.put("total_throughput", "mean", total)
    elif taken and made:
        build.put("total_throughput", "mean", taken + made)
        build.converted("sum", input=three_digits(taken), output=three_digits(made))
    completed = count(fields.get("completed"))
    for key, name in (("total_input_tokens", "input_tokens"), ("total_output_tokens", "output_tokens")):
        tokens = number(fields.get(key))
        if tokens and completed:
            build.set(**{name: tokens / completed})
            build.converted("tokens_of_a_request", n=completed)
    for key in ("accept_length", "spec_decode_acceptance_length"):
        if build.put("acceptance_length", "mean", fields.get(key)):
            build.set(drafts="unspecified")


def _server(build: Builder, server: dict[str, Any]) -> None:
    """SGLang's newer results carry what the server was started with."""
    if not server:
        return
    build.set(
        engine_version=text_of(server.get("version")),
        model=text_of(server.get("model_path")),
        tensor_parallel=count(server.get("tp_size")) or None,
        pipeline_parallel=count(server.get("pp_size")) or None,
        expert_parallel=count(server.get("ep_size")) or None,
        data_parallel=count(server.get("dp_size")) or None,
        weight_format=text_of(server.get("quantization")),
        kv_cache_format=text_of(server.get("kv_cache_dtype")),
        context_limit=count(server.get("context_length")) or None,
        utilization=number(server.get("mem_fraction_static")),
        batched_tokens=count(server.get("chunked_prefill_size")) or None,
        sequences=count(server.get("max_running_requests")) or None,
        block_size=count(server.get("page_size")) or None,
        drafts=text_of(server.get("speculative_algorithm")),
    )
    for key, name in (("disable_radix_cache", "prefix_cache"), ("disable_cuda_graph", "graphs")):
        if isinstance(server.get(key), bool):
            build.set(**{name: not server[key]})
    build.rest["server_info"] = "…"
