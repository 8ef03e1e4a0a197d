"""What Ollama says of one request (``--verbose``, or the end of an API answer), and llama-server's timings.

The prompt and the generation are timed apart; tokens that were in the cache are not in ``prompt_eval_count``.
Durations of ``--verbose`` are written as Go does ("1m2.5s", "130ms"), those of the API in nanoseconds.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, lines, number, text_of, together, tree_of
from core.units import three_digits

KEY = "ollama"
WHOLE = False
NEEDLES = ("eval_duration", "predicted_per_second")
_LINE = re.compile(
    r"(?:>>>|\s)*(total duration|load duration|prompt eval count|prompt eval duration|prompt eval rate"
    r"|eval count|eval duration|eval rate):\s{1,30}(\S{1,40})(?: (?:token\(s\)|tokens/s))?\s*"
)
_DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:([\d.]{1,30})(ms|µs|μs|us|ns|s))?")
_SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ns": 1e-9}
_COMMAND = re.compile(r"ollama run\s{1,9}(?:--\S{1,40}\s{1,9})*([^\s\"'-]\S{0,200})")
_USED = frozenset(
    {
        *("model", "created_at", "response", "context", "message", "prompt_eval_count", "eval_count"),
        *("prompt_eval_duration", "eval_duration", "total_duration", "prompt_eval_rate", "eval_rate"),
    }
)
_SERVER = frozenset(
    {
        *("prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second", "predicted_n", "predicted_ms"),
        *("predicted_per_token_ms", "predicted_per_second"),
    }
)


def claims(tree: dict[str, Any]) -> bool:
    """An answer with its durations, or one with timings."""
    timings = tree_of(tree.get("timings")) or tree
    return ("eval_count" in tree and "eval_duration" in tree) or "predicted_per_second" in timings


def take(tree: dict[str, Any], name: str, line: int) -> Reading:
    """The run of one answer."""
    if "eval_duration" not in tree:
        return _take_timings(tree, name, line)
    seconds = {key: (number(value) or 0.0) * 1e-9 for key, value in tree.items() if key.endswith("_duration")}
    build = _run(tree, seconds, name, line)
    build.converted("nanoseconds")
    return build.reading()


def looks_like(text: str, _name: str) -> bool:
    """Whether the lines of ``--verbose`` are there."""
    return "eval duration:" in text and "eval count:" in text


def read(text: str, name: str) -> Reading:
    """One run for each of the blocks, which begin with the total duration."""
    readings: list[Reading] = []
    fields: dict[str, str] = {}
    began, model = 0, ""
    for at, line in lines(text):
        if "ollama run" in line:
            command = _COMMAND.search(line)
            model = command.group(1) if command else model
        match = _LINE.fullmatch(line) if ":" in line else None
        if match is None:
            continue
        key = match.group(1).replace(" ", "_")
        if key in fields or not fields:
            if fields:
                readings.append(_verbose(fields, model, name, began))
            fields, began = {}, at
        fields[key] = match.group(2)
    if fields:
        readings.append(_verbose(fields, model, name, began))
    return together(readings)


def _verbose(fields: Mapping[str, str], model: str, name: str, line: int) -> Reading:
    seconds = {key: _seconds(value) for key, value in fields.items() if key.endswith("_duration")}
    return _run({**fields, "model": model}, seconds, name, line).reading()


def _seconds(text: str) -> float:
    """Seconds of a duration as Go writes it; 0 for another text."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        return 0.0
    hours, minutes, rest, unit = match.groups()
    parts = (number(hours) or 0.0) * 3600.0 + (number(minutes) or 0.0) * 60.0
    return parts + ((number(rest) or 0.0) * _SECONDS[unit] if unit else 0.0)


def _run(fields: Mapping[str, Any], seconds: Mapping[str, float], name: str, line: int) -> Builder:
    build = Builder(KEY, name, line)
    prompt, made = number(fields.get("prompt_eval_count")), number(fields.get("eval_count"))
    reading, making = seconds.get("prompt_eval_duration", 0.0), seconds.get("eval_duration", 0.0)
    build.set(engine="ollama", model=text_of(fields.get("model")), concurrency=1.0, requests=1)
    build.set(input_tokens=prompt, output_tokens=made)
    build.started_at = text_of(fields.get("created_at"))
    if prompt and reading > 0:
        build.put("prompt_throughput", "mean", prompt / reading)
        build.put("time_to_first_token", "mean", reading)
        build.converted("prefill_is_first")
    elif number(fields.get("prompt_eval_rate")):
        build.put("prompt_throughput", "mean", fields["prompt_eval_rate"])
    rate = made / making if made and making > 0 else number(fields.get("eval_rate"))
    if rate and rate > 0:
        build.put("decode_throughput", "mean", rate)
        build.put("user_throughput", "mean", rate)
        build.put("time_per_output_token", "mean", 1.0 / rate)
        build.converted("token_of_rate", rate=three_digits(rate))
    build.put(
        "end_to_end", "mean", (seconds.get("total_duration", 0.0) - seconds.get("load_duration", 0.0)) or None
    )
    if seconds.get("load_duration") and seconds.get("total_duration"):
        build.converted("without_loading", seconds=three_digits(seconds["load_duration"]))
    build.keep(fields, _USED)
    return build


def _take_timings(tree: dict[str, Any], name: str, line: int) -> Reading:
    timings = tree_of(tree.get("timings")) or tree
    build = Builder("llama_server", name, line)
    build.set(engine="llamacpp", model=text_of(tree.get("model")), concurrency=1.0, requests=1)
    build.set(input_tokens=number(timings.get("prompt_n")), output_tokens=number(timings.get("predicted_n")))
    build.put("prompt_throughput", "mean", timings.get("prompt_per_second"))
    if build.put("time_to_first_token", "mean", timings.get("prompt_ms"), 1e-3):
        build.converted("milliseconds")
        build.converted("prefill_is_first")
    build.put("decode_throughput", "mean", timings.get("predicted_per_second"))
    build.put("user_throughput", "mean", timings.get("predicted_per_second"))
    build.put("time_per_output_token", "mean", timings.get("predicted_per_token_ms"), 1e-3)
    drafted, accepted = count(timings.get("draft_n")), count(timings.get("draft_n_accepted"))
    made = number(timings.get("predicted_n"))
    if drafted and accepted is not None and made and made > accepted:
        build.set(drafts="unspecified")
        build.put("acceptance_length", "mean", made / (made - accepted))
        build.converted("acceptance_of_counts", accepted=accepted, n=f"{made:g}")
    build.keep(timings, _SERVER)
    return build.reading()
