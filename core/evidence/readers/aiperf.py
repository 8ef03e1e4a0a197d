"""AIPerf and GenAI-Perf: the summary of a run as JSON or CSV.

Their inter-token latency is (request latency − TTFT)/(output tokens − 1): the time per output token here.
The gap between chunks is AIPerf's ``inter_chunk_latency``.  ``unit`` decides, whatever the name says.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, number, problem, text_of, together, tree_of
from core.evidence.readers.tables import comma_separated, markdown
from core.evidence.run import STATISTICS

KEY = "aiperf"
WHOLE = False
NEEDLES = ("request_latency", "time_to_first_token", "inter_token_latency", "output_token_throughput")
_FIGURES = {
    "time_to_first_token": "time_to_first_token",
    "inter_token_latency": "time_per_output_token",
    "inter_chunk_latency": "inter_token_latency",
    "request_latency": "end_to_end",
    "output_token_throughput": "output_throughput",
    "total_token_throughput": "total_throughput",
    "request_throughput": "request_throughput",
    "output_token_throughput_per_user": "user_throughput",
}
_LENGTHS = {
    "input_sequence_length": "input_tokens",
    "output_sequence_length": "output_tokens",
    "num_input_token": "input_tokens",
    "num_output_token": "output_tokens",
}
_SECONDS = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
}
_RATES = frozenset(
    {
        *("tokens/sec", "requests/sec", "tokens/sec/user", "per sec", "tokens/s", "requests/s", "/s"),
        *("tokens/second", "requests/second", "tokens/s/user", "tokens/sec per user", "tok/s", "req/s"),
    }
)
_SCALED = {"milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}
_TELEMETRY = {
    "power_usage": ("power", {"W": 1.0, "mW": 1e-3}),
    "utilization": ("utilization", {"%": 0.01, "percent": 0.01}),
    "memory_used": ("memory_used", {"GB": 1e9, "GiB": 2.0**30, "MB": 1e6, "MiB": 2.0**20, "B": 1.0}),
    "temperature": ("temperature", {"°C": 1.0, "C": 1.0, "celsius": 1.0}),
}
_STATISTIC = {"avg": "mean", "mean": "mean", **{name: name for name in STATISTICS}}
_SUFFIX = re.compile(r"(.{3,60})_(avg|min|max|std|p\d{1,2})")
_OPTION = re.compile(r"(?:^|\s)(--concurrency|--model|-m|--request-rate)[ =]([^\s'\"]{1,200})")
_CELL = re.compile(r"([A-Za-z][A-Za-z0-9 ]{2,60}?)\s*(?:\(([^)]{1,30})\))?")
_BOXES = str.maketrans(dict.fromkeys("┃│┏┳┓┡╇┩├┼┤└┴┘", "|") | dict.fromkeys("━─", "-"))
_USED = frozenset(
    {
        *_FIGURES,
        *_LENGTHS,
        *("request_count", "schema_version", "aiperf_version", "start_time", "end_time", "was_cancelled"),
        *("input_config", "run_info", "telemetry_data", "metrics", "combined", "per_run"),
    }
)


def claims(tree: dict[str, Any]) -> bool:
    """An object with an object for each of the metrics."""
    return any(name in _FIGURES for name, _, _ in _metrics(tree))


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The run of one summary."""
    version = text_of(tree.get("aiperf_version"))
    aiperf = bool(version or "schema_version" in tree or "aiperf" in name.lower())
    build = Builder("aiperf" if aiperf else "genai_perf", name, line, version)
    for metric, statistics, unit in _metrics(tree):
        for statistic, value in statistics.items():
            _put(build, metric, unit, _STATISTIC.get(statistic), value)
    _configured(build, tree_of(tree.get("input_config")), tree_of(tree.get("run_info")))
    _telemetry(build, tree_of(tree.get("telemetry_data")))
    build.started_at = text_of(tree.get("start_time"))
    if tree.get("was_cancelled") is True:
        build.complain("cancelled")
    build.keep(tree, _USED)
    return build.reading()


def looks_like(text: str, _name: str) -> bool:
    """Whether the table of a CSV export, or the one on a terminal, is there."""
    return "Metric,avg," in text or ("┃" in text and " avg " in text)


def read(text: str, name: str) -> Reading:
    """One run for each table of statistics, with the table of values behind it."""
    return together((*_exported(text, name), *_printed(text, name)))


def _exported(text: str, name: str) -> list[Reading]:
    builds: list[Builder] = []
    for line, head, rows in comma_separated(text, lambda cells: cells[:1] == ["Metric"]):
        columns = [cell.lower() for cell in head[1:]]
        if "avg" in columns and "gpu" not in columns:
            builds.append(Builder(_tool(name, head), name, line))
        if builds and "gpu" not in columns:
            for at, cells in rows:
                _take_row(builds[-1], columns, cells, at)
    return [build.reading() for build in builds]


def _printed(text: str, name: str) -> list[Reading]:
    """Tables drawn with box characters; a label that is too long goes on in the next row."""
    if "┃" not in text:
        return []
    readings = []
    plain = text.translate(_BOXES)
    for line, head, rows in markdown(
        plain, lambda cells: "avg" in cells and cells[0] in ("Statistic", "Metric")
    ):
        build = Builder(_tool(name, head), name, line)
        whole: list[tuple[int, list[str]]] = []
        for at, cells in rows:
            values = [cells.get(column, "") for column in head]
            if whole and not any(values[1:]):
                whole[-1][1][0] += f" {values[0]}"
            else:
                whole.append((at, values))
        for at, values in whole:
            _take_row(build, [column.lower() for column in head[1:]], values, at)
        readings.append(build.reading())
    return readings


def _tool(name: str, head: list[str]) -> str:
    """A printed table of GenAI-Perf begins with "Statistic"; the exports tell by the file's name."""
    return "aiperf" if "aiperf" in name.lower() or ("avg" in head and head[-1] == "std") else "genai_perf"


def _take_row(build: Builder, columns: list[str], cells: list[str], line: int) -> None:
    match = _CELL.fullmatch(cells[0])
    if match is None or len(cells) > len(columns) + 1:
        told = problem("row", build.name, line, "warning", found=len(cells), wanted=len(columns) + 1)
        build.problems.append(told)
        return
    metric, unit = match.group(1).strip().lower().replace(" ", "_"), match.group(2) or ""
    if metric not in _FIGURES and metric not in _LENGTHS and metric != "request_count":
        kept = dict(zip(columns, cells[1:], strict=False))
        build.keep({f"{metric} ({unit})" if unit else metric: kept})
    for column, value in zip(columns, cells[1:], strict=False):
        _put(build, metric, unit, "mean" if column == "value" else _STATISTIC.get(column), value)


def _metrics(tree: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, statistics and unit of every metric, those of repeated runs too ("time_to_first_token_p99")."""
    for holder in (tree, tree_of(tree.get("metrics")), tree_of(tree.get("combined"))):
        for name, value in holder.items():
            if not isinstance(value, dict):
                continue
            unit = text_of(value.get("unit"))
            statistics = {key: part for key, part in value.items() if key in _STATISTIC}
            suffix = _SUFFIX.fullmatch(name)
            if suffix and suffix.group(1) in _FIGURES and "mean" in statistics:
                yield suffix.group(1), {suffix.group(2): statistics["mean"]}, unit
            elif statistics and (name in _FIGURES or name in _LENGTHS or name == "request_count"):
                yield name, statistics, unit


def _put(build: Builder, metric: str, unit: str, statistic: str | None, value: object) -> None:
    if statistic is None:
        return
    if metric in _LENGTHS and statistic == "mean":
        build.set(**{_LENGTHS[metric]: number(value) or None})
    elif metric == "request_count":
        build.set(requests=count(value))
    elif metric in _FIGURES and _FIGURES[metric].endswith("throughput"):
        if unit and unit.lower() not in _RATES:
            build.complain("unit", field=metric, unit=unit)
        else:
            build.put(_FIGURES[metric], statistic, value)
    elif metric in _FIGURES:
        _put_time(build, metric, unit, statistic, value)


def _put_time(build: Builder, metric: str, unit: str, statistic: str, value: object) -> None:
    factor = _SECONDS.get(unit.lower())
    if factor is None:
        if statistic == "mean":
            build.complain("unit", field=metric, unit=unit or "–")
    elif build.put(_FIGURES[metric], statistic, value, factor):
        for key, scale in _SCALED.items():
            if scale == factor:
                build.converted(key)
        if metric == "inter_token_latency":
            build.converted(
                "inter_token_is_per_output", tool="AIPerf" if build.tool == "aiperf" else "GenAI-Perf"
            )


def _configured(build: Builder, config: dict[str, Any], run: dict[str, Any]) -> None:
    """Model and load, wherever the version keeps them."""
    for key, value in _walk(config, 0):
        if key in ("model_names", "model", "model_name", "models") and "model" not in build.settings:
            first = value[0] if isinstance(value, list) and value else value
            build.set(model=text_of(first))
        elif key in ("concurrency", "request_rate") and key not in build.settings:
            build.set(**{key: number(value) or None})
    options = dict(_OPTION.findall(text_of(run.get("cli_command"))))
    for key, value in tree_of(run.get("variation_values")).items():
        if str(key).endswith("concurrency"):
            build.set(concurrency=number(value) or None)
    if "concurrency" not in build.settings:
        build.set(concurrency=number(options.get("--concurrency")))
    if "model" not in build.settings:
        build.set(model=options.get("--model") or options.get("-m"))
    build.label = text_of(run.get("run_label"))


def _walk(tree: dict[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in list(tree.items())[:200]:
        if isinstance(value, dict) and depth < 4:
            yield from _walk(value, depth + 1)
        else:
            yield key, value


def _telemetry(build: Builder, telemetry: dict[str, Any]) -> None:
    """Means over the devices of all endpoints."""
    devices = [
        device
        for endpoint in list(tree_of(telemetry.get("endpoints")).values())[:100]
        for device in list(tree_of(tree_of(endpoint).get("gpus")).values())[:1000]
        if isinstance(device, dict)
    ]
    if not devices:
        return
    build.set(accelerator=text_of(devices[0].get("gpu_name")), accelerators=len(devices))
    seen: dict[str, list[float]] = {}
    for device in devices:
        for name, metric in list(tree_of(device.get("metrics")).items())[:200]:
            plain = name.removeprefix("nvidia_").removeprefix("amd_").removeprefix("gpu_")
            known = _TELEMETRY.get(plain)
            value, unit = number(tree_of(metric).get("avg")), text_of(tree_of(metric).get("unit"))
            if known is not None and value is not None and unit in known[1]:
                seen.setdefault(known[0], []).append(value * known[1][unit])
    for figure, values in seen.items():
        build.put(figure, "mean", sum(values) / len(values))
    if seen and len(devices) > 1:
        build.converted("mean_of_devices", n=len(devices))
