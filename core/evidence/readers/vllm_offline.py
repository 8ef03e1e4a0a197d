"""``vllm bench throughput`` and ``vllm bench latency``: JSON and what they print.

Throughput is measured without a server: all requests at once, tokens of the whole run over its time.
Latency is the time of one batch from its prompts to its last token; lengths and batch are not in the file.
"""

import re
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, lines, number, text_of, together, tree_of
from core.evidence.run import STATISTICS

KEY = "vllm_offline"
WHOLE = False
NEEDLES = ("requests_per_second", "avg_latency")
_THROUGHPUT = re.compile(
    r"Throughput:\s{1,9}([\d.,eE+-]{1,40}) requests/s,\s{1,9}([\d.,eE+-]{1,40}) (total )?tokens/s"
    r"(?:,\s{1,9}([\d.,eE+-]{1,40}) output tokens/s)?"
)
_TOKENS = re.compile(r"Total num (prompt|output) tokens:\s{1,9}(\d{1,18})")
_LATENCY = re.compile(r"(Avg|Std|\d{1,2}%) (?:percentile )?latency: ([\d.eE+-]{1,40}) seconds")
_WORDS = {"Avg": "mean", "Std": "std", "25%": "p25", "50%": "p50", "75%": "p75", "90%": "p90", "99%": "p99"}
_ARGUMENTS = re.compile(
    r"\b(model|input_len|output_len|batch_size|num_prompts|tensor_parallel_size)='?([^',\s)]{1,200})"
)
_SETTINGS = {"input_len": "input_tokens", "output_len": "output_tokens", "batch_size": "concurrency"}


def claims(tree: dict[str, Any]) -> bool:
    """Either result."""
    return ("elapsed_time" in tree and "requests_per_second" in tree) or (
        "avg_latency" in tree and ("latencies" in tree or "percentiles" in tree)
    )


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The run of one result."""
    if "avg_latency" in tree:
        build = _builder("vllm_latency", name, line)
        build.put("end_to_end", "mean", tree["avg_latency"])
        build.put("end_to_end", "std", tree.get("std_latency"))
        for percent, value in tree_of(tree.get("percentiles")).items():
            statistic = f"p{percent}"
            if statistic in STATISTICS:
                build.put("end_to_end", statistic, value)
        latencies = tree.get("latencies")
        if isinstance(latencies, list):
            build.rest["iterations"] = len(latencies)
        build.keep(tree, ("avg_latency", "std_latency", "percentiles", "latencies"))
        return build.reading()
    build = _builder("vllm_throughput", name, line)
    build.put("request_throughput", "mean", tree["requests_per_second"])
    build.put("total_throughput", "mean", tree.get("tokens_per_second"))
    build.set(requests=count(tree.get("num_requests")), request_rate=float("inf"))
    build.keep(tree, ("requests_per_second", "tokens_per_second", "num_requests"))
    return build.reading()


def looks_like(text: str, _name: str) -> bool:
    """Whether one of the lines that end such a run is there."""
    return ("Throughput: " in text and " requests/s, " in text) or "Avg latency: " in text


def read(text: str, name: str) -> Reading:
    """One run for each of the lines that end one."""
    builds: list[Builder] = []
    arguments: dict[str, str] = {}
    for at, line in lines(text):
        throughput, latency, tokens = _THROUGHPUT.search(line), _LATENCY.search(line), _TOKENS.search(line)
        if "model=" in line and "Namespace(" in line:
            arguments = dict(_ARGUMENTS.findall(line))
        elif throughput:
            builds.append(_throughput(throughput, arguments, name, at))
        elif latency:
            word = latency.group(1)
            if word == "Avg":
                builds.append(_builder("vllm_latency", name, at))
                _argue(builds[-1], arguments)
            if builds and builds[-1].tool == "vllm_latency" and word in _WORDS:
                builds[-1].put("end_to_end", _WORDS[word], latency.group(2))
        elif tokens and builds and builds[-1].tool == "vllm_throughput":
            requests = count(arguments.get("num_prompts")) or None
            total = number(tokens.group(2))
            builds[-1].rest[f"total_{tokens.group(1)}_tokens"] = total
            if total and requests:
                part = "input_tokens" if tokens.group(1) == "prompt" else "output_tokens"
                builds[-1].set(requests=requests, **{part: total / requests})
                builds[-1].converted("tokens_of_a_request", n=requests)
    return together(build.reading() for build in builds)


def _builder(tool: str, name: str, line: int) -> Builder:
    build = Builder(tool, name, line)
    build.set(engine="vllm")
    return build


def _throughput(match: re.Match[str], arguments: dict[str, str], name: str, line: int) -> Builder:
    build = _builder("vllm_throughput", name, line)
    build.set(request_rate=float("inf"))
    build.put("request_throughput", "mean", match.group(1))
    build.put("total_throughput", "mean", match.group(2))
    build.put("output_throughput", "mean", match.group(4))
    _argue(build, arguments)
    return build


def _argue(build: Builder, arguments: dict[str, str]) -> None:
    """What the printed arguments say."""
    build.set(
        model=text_of(arguments.get("model")),
        tensor_parallel=count(arguments.get("tensor_parallel_size")) or None,
        **{name: number(arguments.get(key)) for key, name in _SETTINGS.items()},
    )
