"""``sglang.bench_one_batch`` and ``sglang.bench_one_batch_server``: JSON lines and what they print.

One batch, prompts first, then every step.  The one without a server states the median step; the one with a
server divides by the whole time in older versions and by the time after the first token in newer ones.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.evidence.readers.common import Builder, Reading, lines, number, text_of, together
from core.evidence.readers.tables import markdown
from core.units import three_digits

KEY = "sglang_batch_console"
WHOLE = False
NEEDLES = ("overall_throughput", "prefill_latency", "last_gen_throughput")
_USED = (
    *("run_name", "batch_size", "input_len", "output_len", "prefill_latency", "prefill_throughput"),
    *("median_decode_latency", "median_decode_throughput", "total_latency", "overall_throughput"),
    *("latency", "ttft", "last_ttft", "input_throughput", "output_throughput", "acc_length", "model_path"),
    *("cache_hit_rate",),
)
_STEP = re.compile(
    r"(Prefill|Decode|Total)\.\s{1,4}(median )?latency:\s{0,9}([\d.]{1,30}) s,\s{0,4}"
    r"(?:median )?throughput:\s{0,20}([\d.]{1,30}) token/s"
)
_ONE_STEP = re.compile(r"Decode \d{1,9}\. Batch size: (\d{1,9}), latency")
_PAIR = re.compile(
    r"\s{0,9}(batch size|input_len|output_len|latency|ttft|last_ttft|output throughput|input throughput"
    r"|\(input \+ output\) throughput|last generation throughput|acc_length|acceptance length|last ttft)"
    r":\s{0,9}([\d.]{1,30})(?: s| tok/s| token/s)?\s*"
)
_NAMES = {
    "batch size": "batch_size",
    "last ttft": "ttft",
    "last_ttft": "ttft",
    "output throughput": "output_throughput",
    "input throughput": "input_throughput",
    "(input + output) throughput": "overall_throughput",
    "last generation throughput": "last_gen_throughput",
    "acceptance length": "acc_length",
}
# One length each, before the table of a report.
_LENGTHS = re.compile(r"Input lens: [\[(](\d{1,9}),?[\])]\. Output lens: [\[(](\d{1,9}),?[\])]\.")
_COLUMNS = {
    "batch size": "batch_size",
    "input len": "input_len",
    "output len": "output_len",
    "latency (s)": "latency",
    "input throughput (tok/s)": "input_throughput",
    "output throughput (tok/s)": "output_throughput",
    "acc length": "acc_length",
}


def claims(tree: dict[str, Any]) -> bool:
    """A batch with its lengths and one of the times."""
    return "batch_size" in tree and "input_len" in tree and ("prefill_latency" in tree or "latency" in tree)


def take(tree: Mapping[str, Any], name: str, line: int) -> Reading:
    """The run of one batch."""
    apart = "prefill_latency" in tree or "total_latency" in tree
    build = Builder("sglang_one_batch" if apart else "sglang_one_batch_server", name, line)
    batch, taken, made = (number(tree.get(key)) for key in ("batch_size", "input_len", "output_len"))
    build.set(engine="sglang", concurrency=batch, input_tokens=taken, output_tokens=made)
    build.set(model=text_of(tree.get("model_path")), request_rate=float("inf"))
    build.label = text_of(tree.get("run_name"))
    build.put("total_throughput", "mean", tree.get("overall_throughput"))
    if build.put("acceptance_length", "mean", tree.get("acc_length")):
        build.set(drafts="unspecified")
    build.put("prefix_hit_share", "mean", number(tree.get("cache_hit_rate")) or None)
    if apart:
        _steps(build, tree, batch)
    else:
        _server(build, tree, batch, made)
    build.keep(tree, _USED)
    return build.reading()


def _steps(build: Builder, tree: Mapping[str, Any], batch: float | None) -> None:
    if build.put("time_to_first_token", "mean", tree.get("prefill_latency")):
        build.converted("prefill_is_first")
    build.put("prompt_throughput", "mean", tree.get("prefill_throughput"))
    build.put("time_per_output_token", "p50", tree.get("median_decode_latency"))
    build.put("decode_throughput", "p50", tree.get("median_decode_throughput"))
    build.put("end_to_end", "mean", tree.get("total_latency"))
    reading, seconds = number(tree.get("prefill_throughput")), number(tree.get("prefill_latency"))
    if "input_tokens" not in build.settings and reading and seconds and batch:
        build.set(input_tokens=float(round(reading * seconds / batch)))
        build.converted("length_of_rate", n=f"{batch:g}")
    rate = number(tree.get("median_decode_throughput"))
    if rate and batch:
        build.put("user_throughput", "p50", rate / batch)
        if batch > 1:
            build.converted("user_of_total", total=three_digits(rate), n=f"{batch:g}")


def _server(build: Builder, tree: Mapping[str, Any], batch: float | None, made: float | None) -> None:
    whole = number(tree.get("latency"))
    first = number(tree.get("ttft", tree.get("last_ttft")))
    rate = number(tree.get("output_throughput"))
    build.put("end_to_end", "mean", whole)
    build.put("prompt_throughput", "mean", tree.get("input_throughput"))
    newer = first is not None or "last_gen_throughput" in tree or "input_throughput" in tree
    if not first and newer and rate and whole and batch and made:
        # tokens/(latency − first) is what the newer ones state: first = latency − tokens/rate
        first = whole - batch * made / rate
        if first > 0:
            build.converted("first_of_rate", rate=three_digits(rate))
    if first and first > 0:
        build.put("time_to_first_token", "max", first)
        build.converted("last_first_token")
        if whole and made and made > 1 and whole > first:
            build.put("time_per_output_token", "mean", (whole - first) / (made - 1))
            build.converted("tpot_of_latency", n=f"{made:g}")
    if rate and newer:
        build.put("decode_throughput", "mean", rate)
        if whole and batch and made:
            build.put("output_throughput", "mean", batch * made / whole)
            build.converted("output_of_latency", n=f"{batch:g}", tokens=f"{made:g}")
    elif rate:
        build.put("output_throughput", "mean", rate)


def looks_like(text: str, _name: str) -> bool:
    """Whether the lines of either are there."""
    return (
        "Prefill. latency:" in text
        or ("batch size: " in text and "latency: " in text)
        or ("batch size |" in text and "latency (s)" in text)
    )


def read(text: str, name: str) -> Reading:
    """One run a batch; the warm-up, which is shorter, is passed over."""
    found: list[tuple[int, dict[str, Any]]] = []
    warm = False
    for at, line in lines(text):
        if "Warmup Begin" in line or line.strip() == "Warmup ...":
            warm = True
        elif "Warmup End" in line or line.strip() == "Benchmark ...":
            warm = False
        if warm or ":" not in line:
            continue
        _take_step(found, line, at)
        _take_pair(found, line, at)
    complete = [(at, fields) for at, fields in found if "total_latency" in fields or "latency" in fields]
    return together(take(fields, name, at) for at, fields in complete or _reported(text))


def _reported(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The rows of ``--show-report``, which repeats what was printed before."""
    lengths = _LENGTHS.search(text)
    found: list[tuple[int, dict[str, Any]]] = []
    for _, _, rows in markdown(text, lambda cells: "batch size" in cells and "latency (s)" in cells):
        for at, cells in rows:
            fields: dict[str, Any] = (
                dict(zip(("input_len", "output_len"), lengths.groups(), strict=True)) if lengths else {}
            )
            fields |= {_COLUMNS[head]: cell for head, cell in cells.items() if head in _COLUMNS}
            found.append((at, fields))
    return found


def _take_step(found: list[tuple[int, dict[str, Any]]], line: str, at: int) -> None:
    step, one = _STEP.search(line), _ONE_STEP.search(line)
    if step is None:
        if one and found:
            found[-1][1]["batch_size"] = one.group(1)
        return
    part, median, seconds, rate = step.groups()
    if part == "Prefill":
        found.append((at, {"prefill_latency": seconds, "prefill_throughput": rate}))
    elif not found:
        return
    elif part == "Decode" and median:
        found[-1][1].update(median_decode_latency=seconds, median_decode_throughput=rate)
    elif part == "Total":
        found[-1][1].update(total_latency=seconds, overall_throughput=rate)


def _take_pair(found: list[tuple[int, dict[str, Any]]], line: str, at: int) -> None:
    pair = _PAIR.fullmatch(line)
    if pair is None:
        return
    name = _NAMES.get(pair.group(1), pair.group(1))
    if name == "batch_size":
        found.append((at, {}))
    if found and "prefill_latency" not in found[-1][1]:
        found[-1][1][name] = pair.group(2)
