"""``llama-bench``: CSV, JSON, JSON lines, Markdown and SQL.

Each row is one test: ``pp`` reads prompts, ``tg`` generates from an empty cache unless a depth is given,
``pp+tg`` is one rate over both.  Tokenizing and sampling are not in the time.  Versions differ in the
columns; every one is found by its name, and what is absent is not stated.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.evidence.readers.common import (
    Builder,
    Reading,
    count,
    lines,
    number,
    problem,
    shown,
    text_of,
    together,
)
from core.evidence.readers.llama_devices import Named, devices_above
from core.evidence.readers.tables import comma_separated, markdown
from core.units import three_digits

KEY = "llama_bench"
WHOLE = False
NEEDLES = ("avg_ts", "model_n_params")
_TEST = re.compile(r"(?:pp\s?(\d{1,9}))?\s?\+?\s?(?:tg\s?(\d{1,9}))?(?:\s?@\s?d\s?(\d{1,9}))?", re.IGNORECASE)
_RATE = re.compile(r"([\d.]{1,30}(?:e[+-]?\d{1,3})?)(?:\s{0,4}(?:±|\+/-|\+-|_|�)?\s{0,4}([\d.]{1,30}|nan))?")
_SIZE = re.compile(r"([\d.]{1,20}) (GiB|MiB|KiB|B)")
_BUILD = re.compile(r"build: ([0-9a-f]{6,40}) \((\d{1,9})\)")
# The file type at the end of a model's name: "Q4_K - Medium", "Q8_0", "IQ4_XS - 4.25 bpw", "MXFP4 MoE".
_TYPE = re.compile(r"\b(I?Q\d(?:_[A-Z0-9]{1,3})*|MXFP4|BF16|F16|F32)(?: - (Small|Medium|Large))?\b")
_UNITS = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}
_INSERT = re.compile(
    r"\s{0,20}INSERT INTO (?:llama_bench|test) \(([^)]{1,4000})\) VALUES \((.{1,7000})\);?\s*"
)
_VALUE = re.compile(r"'((?:[^']|'')*)'|([^,']+)")
# Columns that older versions have, one for each back end that was compiled in.
_OLD_BACKENDS = (
    *("cuda", "opencl", "vulkan", "kompute", "metal", "sycl", "gpu_blas", "blas", "rpc", "hip", "musa"),
)
_BACKEND_NAMES = {"cuda": "CUDA", "metal": "Metal", "vulkan": "Vulkan", "sycl": "SYCL"}
_USED = frozenset(
    {
        *(
            "build_commit",
            "build_number",
            "gpu_info",
            "model_filename",
            "model_type",
            "model_size",
            "type_k",
            "type_v",
        ),
        *("n_gpu_layers", "n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts"),
        *("stddev_ts", "samples_ns", "samples_ts", "n_batch", "model", "size", "ngl", "test", "t/s", ""),
    }
)


def claims(tree: dict[str, Any]) -> bool:
    """A test with its rate."""
    return "avg_ts" in tree and ("n_gen" in tree or "n_prompt" in tree)


def take(tree: Mapping[str, Any], name: str, line: int) -> Reading:
    """The run of one test, its fields named as in the CSV."""
    build = _builder(name, line)
    commit, number_of = text_of(str(tree.get("build_commit", ""))), text_of(str(tree.get("build_number", "")))
    build.version = f"b{number_of} ({commit})" if number_of and commit else commit
    split = text_of(str(tree.get("split_mode", "")))
    build.set(
        engine_version=build.version,
        model=_model(text_of(tree.get("model_type")), text_of(tree.get("model_filename"))),
        weight_format=_file_type(text_of(tree.get("model_type"))),
        accelerator=_accelerator(tree),
        kv_cache_format=_cache(tree),
        batched_tokens=count(tree.get("n_batch")) or None,
        layers_on_device=_layers(tree.get("n_gpu_layers")),
    )
    if split == "none":
        build.set(accelerators=1)
    _weights(build, number(tree.get("model_size")))
    build.started_at = text_of(tree.get("test_time"))
    prompt, made = count(tree.get("n_prompt")) or 0, count(tree.get("n_gen")) or 0
    _shape(build, prompt, made, count(tree.get("n_depth")))
    _rates(build, prompt, made, tree.get("avg_ts"), tree.get("stddev_ts"))
    seconds = number(tree.get("avg_ns"))
    if seconds and made and not prompt:
        build.put("time_per_output_token", "mean", seconds / made, 1e-9)
        build.converted("token_of_nanoseconds", n=made)
    elif seconds and prompt and not made:
        build.put("time_to_first_token", "mean", seconds, 1e-9)
        build.converted("first_of_prompt", n=prompt)
    build.keep(tree, _USED)
    return build.reading()


def looks_like(text: str, _name: str) -> bool:
    """Whether a table or a statement of the tool is there."""
    return (
        ("t/s" in text and "|" in text and "params" in text)
        or ("avg_ts" in text and "model_filename" in text and "," in text)
        or "INSERT INTO llama_bench (" in text
        or "INSERT INTO test (" in text  # of older versions
    )


def read(text: str, name: str) -> Reading:
    """The tests of all Markdown tables, CSV tables and SQL statements."""
    return together((_read_markdown(text, name), _read_csv(text, name), _read_sql(text, name)))


def _read_csv(text: str, name: str) -> Reading:
    readings = []
    for _, head, rows in comma_separated(text, lambda cells: "avg_ts" in cells and "n_gen" in cells):
        for line, cells in rows:
            if len(cells) != len(head):
                readings.append(
                    Reading((), (problem("row", name, line, found=len(cells), wanted=len(head)),))
                )
            else:
                readings.append(take(dict(zip(head, cells, strict=True)), name, line))
    return together(readings)


def _read_sql(text: str, name: str) -> Reading:
    if "INSERT INTO" not in text:
        return Reading()
    readings = []
    for line, statement in lines(text):
        match = _INSERT.fullmatch(statement) if "INSERT INTO" in statement else None
        if match is None:
            continue
        head = [column.strip() for column in match.group(1).split(",")]
        cells = [
            (quoted.replace("''", "'") if quoted or not plain else plain.strip())
            for quoted, plain in _VALUE.findall(match.group(2))
            if quoted or plain.strip() or not plain
        ]
        if len(cells) != len(head):
            readings.append(Reading((), (problem("row", name, line, found=len(cells), wanted=len(head)),)))
        else:
            readings.append(take(dict(zip(head, cells, strict=True)), name, line))
    return together(readings)


def _read_markdown(text: str, name: str) -> Reading:
    builds = _BUILD.search(text)
    version = f"b{builds.group(2)} ({builds.group(1)})" if builds else ""
    readings = []
    for _, head, rows in markdown(text, lambda cells: "test" in cells and "t/s" in cells):
        above: Named | None = None
        for line, cells in rows:
            above = above or devices_above(text, line)
            if int(cells[""]) != len(head):
                readings.append(
                    Reading((), (problem("row", name, line, found=int(cells[""]), wanted=len(head)),))
                )
            else:
                readings.append(_take_row(cells, name, line, version, above))
    return together(readings)


def _take_row(cells: dict[str, str], name: str, line: int, version: str, above: Named) -> Reading:
    test, rate = _TEST.fullmatch(cells["test"].strip()), _RATE.fullmatch(cells["t/s"].strip())
    if test is None or rate is None or not any(test.groups()[:2]):
        text = cells["test"] if rate else cells["t/s"]
        return Reading((), (problem("cell", name, line, text=shown(text)),))
    build = _builder(name, line)
    build.version = version
    build.set(
        engine_version=version,
        model=_model(cells.get("model", ""), ""),
        weight_format=_file_type(cells.get("model", "")),
        kv_cache_format=_cache(cells),
        batched_tokens=count(cells.get("n_batch")) or None,
        layers_on_device=_layers(cells.get("ngl")),
    )
    if above.name and cells.get("backend", "").upper() not in ("CPU", "BLAS"):
        one = cells.get("sm", "") == "none"
        build.set(accelerator=above.name, accelerators=1 if one else above.count)
    size = _SIZE.fullmatch(cells.get("size", "").strip())
    _weights(build, (number(size.group(1)) or 0.0) * _UNITS[size.group(2)] if size else None)
    prompt, made, depth = (count(group) or 0 for group in test.groups())
    _shape(build, prompt, made, depth or None)
    _rates(build, prompt, made, rate.group(1), rate.group(2))
    mean = number(rate.group(1))
    if mean and made and not prompt:
        build.put("time_per_output_token", "mean", 1.0 / mean)
        build.converted("token_of_rate", rate=three_digits(mean))
    elif mean and prompt and not made:
        build.put("time_to_first_token", "mean", prompt / mean)
        build.converted("first_of_rate_of_prompt", n=prompt, rate=three_digits(mean))
    build.keep(cells, _USED)
    return build.reading()


def _builder(name: str, line: int) -> Builder:
    build = Builder(KEY, name, line)
    build.set(engine="llamacpp", concurrency=1.0)
    return build


def _shape(build: Builder, prompt: int, made: int, depth: int | None) -> None:
    build.set(
        input_tokens=float(prompt) if prompt else None,
        output_tokens=float(made) if made else None,
        context_tokens=depth,
    )
    build.label = "+".join([*([f"pp{prompt}"] if prompt else []), *([f"tg{made}"] if made else [])])
    if depth:
        build.label += f" @ d{depth}"


def _rates(build: Builder, prompt: int, made: int, mean: object, spread: object) -> None:
    """One figure for what the test did; ``made`` without a prompt is decoding alone."""
    figure = "total_throughput" if prompt and made else "prompt_throughput" if prompt else "decode_throughput"
    build.put(figure, "mean", mean)
    build.put(figure, "std", spread)
    if figure == "decode_throughput":
        build.put("user_throughput", "mean", mean)


def _model(kind: str, file: str) -> str:
    """The file's name says more than the type; the folder is not the program's business."""
    return re.split(r"[/\\]", file)[-1] if file else kind


def _file_type(kind: str) -> str:
    """The type of the weights in the name of a model, as files spell it; "" where it names none."""
    found = _TYPE.search(kind)
    return "" if found is None else f"{found[1]}_{found[2][0]}" if found[2] else found[1]


def _weights(build: Builder, size: float | None) -> None:
    if size and size > 0:
        build.ledger["weights"] = size


def _layers(value: object) -> int | None:
    """Layers on the device; −1, and 99 of older versions, mean all and are no count."""
    layers = count(value)
    return layers if layers is not None and layers != 99 else None


def _cache(fields: Mapping[str, Any]) -> str:
    key, value = text_of(fields.get("type_k")), text_of(fields.get("type_v"))
    return key if key == value or not value else f"{key}/{value}" if key else value


def _accelerator(fields: Mapping[str, Any]) -> str:
    gpu = text_of(fields.get("gpu_info"))
    backends = text_of(fields.get("backends"))
    if not backends:
        on = [old for old in _OLD_BACKENDS if str(fields.get(old)).lower() in ("1", "true")]
        backends = ",".join(_BACKEND_NAMES.get(old, old) for old in on)
    return gpu or ("" if backends.upper() not in ("CPU", "BLAS") else text_of(fields.get("cpu_info")))
