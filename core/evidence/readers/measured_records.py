"""Tables of measurements in this project's own shapes: ``memory.jsonl``, ``speed.jsonl``, served points.

A record of speed has one metric: records that differ in nothing else are one run.  Of the points only what
was measured ("silicon") is a figure; predictions of others are kept unread.
"""

import csv
import json
import re
from typing import Any

from core.evidence.naming import engine_of
from core.evidence.readers.common import Builder, Reading, lines, number, problem, text_of, tree_of
from core.evidence.readers.objects import Found, objects

KEY, WHOLE = "measured_records", True
_HEAD = 20_000
_METRICS = {
    "ttft_ms": ("time_to_first_token", 1e-3),
    "tpot_ms": ("time_per_output_token", 1e-3),
    "itl_ms": ("inter_token_latency", 1e-3),
    "latency_s": ("end_to_end", 1.0),
    "output_tok_s": ("output_throughput", 1.0),
    "decode_tok_s": ("decode_throughput", 1.0),
    "prefill_tok_s": ("prompt_throughput", 1.0),
    "total_tok_s": ("total_throughput", 1.0),
}
_STATISTICS = {
    "": "mean",
    "none": "mean",
    "mean": "mean",
    "median": "p50",
    "p50": "p50",
    "p90": "p90",
    "p95": "p95",
    "p99": "p99",
}
# Name of an observed line without its unit → ours.
_LINES = {"model_buffer": "weights", "kv_buffer": "kv_cache", "kv_tokens": "kv_cache_tokens"}
_FACTORS = {"gib": float(2**30), "mib": float(2**20), "gb": 1e9}
_EXTRA_LINES = ("device_total", "requested", "free_at_start", "non_kv_total", "cuda_graph_estimated")
# Of the extra settings of a record, those that go with its metric and not with the run.
_OF_METRIC = frozenset({"bw_frac", "flop_frac", "std", "output_tok_s", "total_tok_s", "runs"})


def looks_like(text: str, _name: str) -> bool:
    """Whether the first record, or the header, is one of these."""
    head = text.lstrip()[:_HEAD]
    if head.startswith("{"):
        metric = '"metric":' in head and '"statistic":' in head and '"value":' in head
        return '"id":' in head and '"gpu_count":' in head and (metric or '"observed":' in head)
    first = head.partition("\n")[0]
    return "silicon_ttft_ms" in first and "backend" in first


def read(text: str, name: str) -> Reading:
    """The runs of all records."""
    if not text.lstrip().startswith("{"):
        return _points(text, name)
    found, problems = objects(text, name)
    made: dict[str, Builder] = {}
    for one in found:
        if isinstance(one.tree.get("observed"), dict):
            made[f"{one.line}"] = _memory(one, name)
        elif "metric" in one.tree:
            _speed(one, name, made)
        else:
            problems.append(problem("unknown_object", name, one.line))
    readings = [build.reading() for build in made.values()]
    runs = tuple(run for reading in readings for run in reading.runs)
    return Reading(runs, (*problems, *(p for reading in readings for p in reading.problems))[:50])


def _built(tree: dict[str, Any], name: str, line: int) -> Builder:
    """The settings that both kinds of record have."""
    build = Builder(KEY, name, line)
    engine = text_of(tree.get("engine"))
    build.set(
        engine=engine_of(engine) or engine,
        engine_version=text_of(tree.get("engine_version")),
        model=text_of(tree.get("model")),
        accelerator=text_of(tree.get("gpu")),
        weight_format=text_of(tree.get("weight_format")),
        kv_cache_format=text_of(tree.get("kv_dtype")),
    )
    for setting, field in (
        ("accelerators", "gpu_count"),
        ("tensor_parallel", "tp"),
        ("pipeline_parallel", "pp"),
        ("expert_parallel", "ep"),
        ("context_limit", "max_model_len"),
        ("batched_tokens", "max_num_batched_tokens"),
        ("sequences", "max_num_seqs"),
        ("block_size", "block_size"),
    ):
        value = number(tree.get(field))
        build.set(**{setting: round(value) if value else None})
    build.label = text_of(tree.get("id"))
    build.keep({key: tree[key] for key in ("source_url", "notes", "cpu_offload") if tree.get(key)})
    extra = tree_of(tree.get("extra"))
    build.keep(extra, _OF_METRIC)
    for entry in _EXTRA_LINES:
        found = number(extra.get(f"{entry}_gib"))
        if found is not None:
            build.ledger[entry] = max(0.0, found) * _FACTORS["gib"]
    return build


def _memory(one: Found, name: str) -> Builder:
    tree = one.tree
    build = _built(tree, name, one.line)
    build.set(utilization=number(tree.get("gpu_memory_utilization")))
    if isinstance(tree.get("enforce_eager"), bool):
        build.set(graphs=not tree["enforce_eager"])
    prefix = tree_of(tree.get("extra")).get("prefix_caching")
    build.set(prefix_cache=prefix if isinstance(prefix, bool) else None)
    for field, value in tree["observed"].items():
        line, _, unit = str(field).rpartition("_")
        factor = _FACTORS.get(unit)
        key = line if factor else str(field)
        found = number(value)
        if found is not None:
            build.ledger[_LINES.get(key, text_of(key))] = max(0.0, found) * (factor or 1.0)
    return build


def _speed(one: Found, name: str, made: dict[str, Builder]) -> None:
    """Add the metric of a record to the run that it belongs to."""
    tree = one.tree
    metric, statistic = text_of(tree.get("metric")), text_of(str(tree.get("statistic") or "")).lower()
    known = _METRICS.get(metric)
    key = _key(tree)
    build = made.get(key)
    if build is not None and known and (known[0], _STATISTICS.get(statistic, "")) in build.figures:
        key, build = f"{key}{one.line}", None  # measured twice
    if build is None:
        build = made[key] = _built(tree, name, one.line)
        extra = tree_of(tree.get("extra"))
        build.set(
            input_tokens=number(tree.get("input_len")),
            output_tokens=number(tree.get("output_len")),
            concurrency=number(tree.get("batch_or_concurrency")),
            request_rate=number(tree.get("request_rate")),
            context_tokens=round(number(extra.get("depth")) or 0) or None,
            layers_on_device=round(number(tree_of(tree.get("cpu_offload")).get("ngl")) or 0) or None,
        )
        build.rest["mode"] = text_of(tree.get("mode"))
        build.rest["ids"] = []
    ids = build.rest["ids"]
    if isinstance(ids, list):
        ids.append(text_of(tree.get("id")))
    if known is None or statistic not in _STATISTICS:
        build.complain("unknown_metric", metric=f"{metric} {statistic}".strip()[:60])
    else:
        build.put(known[0], _STATISTICS[statistic], tree.get("value"), known[1])


def _key(tree: dict[str, Any]) -> str:
    """What records of one run have in common."""
    extra = {k: v for k, v in tree_of(tree.get("extra")).items() if k not in _OF_METRIC}
    skipped = ("id", "metric", "statistic", "value", "extra")
    rest = {k: v for k, v in tree.items() if k not in skipped}
    return json.dumps([rest, extra], sort_keys=True, default=str)


def _points(text: str, name: str) -> Reading:
    heads: list[str] = []
    readings: list[Reading] = []
    for line, part in lines(text):
        if not part.strip():
            continue
        try:
            cells = next(csv.reader([part]), [])
        except csv.Error:
            cells = []
        if not heads:
            heads = [cell.strip() for cell in cells]
        elif len(cells) != len(heads):
            readings.append(Reading((), (problem("line", name, line, "warning"),)))
        else:
            readings.append(_point(dict(zip(heads, cells, strict=True)), name, line))
    runs = tuple(run for reading in readings for run in reading.runs)
    return Reading(runs, tuple(p for reading in readings for p in reading.problems)[:50])


def _point(row: dict[str, str], name: str, line: int) -> Reading:
    build = Builder(KEY, name, line)
    label = row.get("id", "")
    engine = text_of(row.get("backend"))
    users, devices = re.search(r"_c(\d{1,7})(?:_|$)", label), re.search(r"_tp(\d{1,5})", label)
    tp, ep = (round(number(row.get(f"moe_{kind}_size")) or 1) for kind in ("tp", "ep"))
    build.set(
        engine=engine_of(engine) or engine,
        engine_version=text_of(row.get("backend_version")),
        model=text_of(row.get("model_path")),
        accelerator=text_of(row.get("system")),
        weight_format=text_of(row.get("precision")),
        input_tokens=number(row.get("isl")),
        output_tokens=number(row.get("osl")),
        concurrency=float(users[1]) if users else number(row.get("batch_size")),
        # The columns alone do not tell: where both are alike, the experts are dealt to the same devices.
        accelerators=int(devices[1]) if devices else tp if tp == ep else tp * ep,
    )
    for setting, field in (
        ("tensor_parallel", "tp_size"),
        ("pipeline_parallel", "pp_size"),
        ("data_parallel", "attention_dp_size"),
        ("expert_parallel", "moe_ep_size"),
    ):
        value = number(row.get(field))
        build.set(**{setting: round(value) if value else None})
    build.put("time_to_first_token", "mean", row.get("silicon_ttft_ms"), 1e-3)
    build.put("time_per_output_token", "mean", row.get("silicon_tpot_ms"), 1e-3)
    build.label, build.started_at = text_of(label), text_of(row.get("measured_on"))
    known = {
        "id",
        "backend",
        "backend_version",
        "model_path",
        "system",
        "precision",
        "isl",
        "osl",
        "measured_on",
    }
    build.keep(
        {key: value for key, value in row.items() if value}, known | {"silicon_ttft_ms", "silicon_tpot_ms"}
    )
    return build.reading()
