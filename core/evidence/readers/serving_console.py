"""``vllm bench serve`` and ``sglang.bench_serving``: the block they print, as people paste it.

A block begins with a line ``==== Serving Benchmark Result ====`` and ends with a line of ``=``.  What was
said before it (rate, concurrency, the arguments) belongs to it.
"""

import re
from collections.abc import Iterator

from core.evidence.readers.common import Builder, Reading, lines, together
from core.evidence.readers.serving import fill

KEY = "serving_console"
WHOLE = False
_HEADER = re.compile(r"={3,}\s{0,9}(?:Serving|Offline Throughput) Benchmark Result\s{0,9}={3,}")
_RULE = re.compile(r"[#>|\s]{0,9}={20,200}\s*")
_PAIR = re.compile(r"[#>|\s]{0,20}([A-Za-z][A-Za-z0-9 ./%()-]{2,60}?)\s{0,60}:\s{0,300}(\S.{0,200}?)\s*")
_TIME = re.compile(
    r"(mean|median|std|min|max|p\d{1,2}(?:\.\d{1,3})?) (ttft|tpot|itl|e2el|e2e latency) \((ms|s)\)"
)
_ARGUMENT = re.compile(
    r"(?:--|\b)(model|served[-_]model[-_]name)(?:='([^'\s]{1,200})'|[ =]([^\s'\",)]{1,200}))"
)
_BACKEND = re.compile(r"\bbackend='([^']{1,60})'")
_BURST = re.compile(r"[\d.]{1,20}")
_NAMES = {
    "backend": "backend",
    "successful requests": "completed",
    "failed requests": "failed",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total input text tokens": "total_input_text_tokens",
    "total input vision tokens": "total_input_vision_tokens",
    "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "input token throughput (tok/s)": "input_throughput",
    "output token throughput (tok/s)": "output_throughput",
    "total token throughput (tok/s)": "total_token_throughput",
    "total throughput (tok/s)": "total_token_throughput",
    "peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "peak concurrent requests": "max_concurrent_requests",
    "last generation throughput (tok/s)": "last_gen_throughput",
    "traffic request rate": "request_rate",
    "request rate configured (rps)": "request_rate",
    "burstiness factor": "burstiness",
    "max request concurrency": "max_concurrency",
    "max reqeuest concurrency": "max_concurrency",
    "maximum request concurrency": "max_concurrency",
    "concurrency": "concurrency",
    "accept length": "accept_length",
    "acceptance rate (%)": "spec_decode_acceptance_rate",
    "acceptance length": "spec_decode_acceptance_length",
    "drafts": "spec_decode_num_drafts",
    "draft tokens": "spec_decode_draft_tokens",
    "accepted tokens": "spec_decode_accepted_tokens",
}
_BEFORE = ("request_rate", "burstiness", "max_concurrency")
_SGLANG = ("input_throughput", "total_output_tokens_retokenized", "mean_e2e_latency_ms")
_LONGEST = 120  # lines of a block


def looks_like(text: str, _name: str) -> bool:
    """Whether a block begins somewhere."""
    return "Benchmark Result ==" in text


def read(text: str, name: str) -> Reading:
    """One run a block."""
    return together(_run(fields, name, line) for line, fields in _blocks(text))


def _run(fields: dict[str, str], name: str, line: int) -> Reading:
    sglang = any(key in fields for key in _SGLANG)
    build = Builder("sglang_serving" if sglang else "vllm_serve", name, line)
    fill(build, fields)
    return build.reading()


def _blocks(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    before: dict[str, str] = {}
    block: dict[str, str] | None = None
    began = 0
    for number, line in lines(text):
        if _HEADER.search(line):
            if block is not None:
                yield began, block
            block, began = before, number
            before = {}
        elif block is None:
            before.update(_context(line))
        elif _RULE.fullmatch(line) or number - began > _LONGEST:
            yield began, block
            block = None
        else:
            pair = _PAIR.fullmatch(line)
            key = _key(pair.group(1)) if pair else ""
            if pair and key:
                block[key] = pair.group(2)
    if block is not None:
        yield began, block


def _key(label: str) -> str:
    """The name of the JSON field; "" for a line that is none of the block's."""
    words = " ".join(label.lower().split())
    match = _TIME.fullmatch(words)
    if match:
        return f"{match.group(1)}_{match.group(2).replace(' ', '_')}_{match.group(3)}"
    return _NAMES.get(words, "")


def _context(line: str) -> dict[str, str]:
    """What a line before a block says about it."""
    if "model" in line:
        match, backend = _ARGUMENT.search(line), _BACKEND.search(line)
        if match:
            told = {"model": match.group(2) or match.group(3)}
            return told | ({"backend": backend.group(1)} if backend else {})
    if ":" not in line:
        return {}
    pair = _PAIR.fullmatch(line)
    key = _key(pair.group(1)) if pair else ""
    if pair is None or key not in _BEFORE:
        return {}
    value = pair.group(2)
    burst = _BURST.match(value)
    return {key: burst.group() if key == "burstiness" and burst else value}
