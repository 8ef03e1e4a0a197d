"""Start-up logs of TensorRT-LLM, of built engines and of the PyTorch back end.

The PyTorch back end allocates a pool twice: a small one to measure with, and the real one; the last line
of each kind holds.  What it calls MB is MiB.
"""

import re

from core.errors import Problem
from core.evidence.readers.common import Builder, Reading, count, number, together
from core.evidence.readers.engine_log import MIB, Ranks, finish, marked_lines, size

KEY, WHOLE = "tensorrt_llm_log", False
_ANY = (
    "for max tokens in paged KV cache",
    "tokens in paged KV cache",
    "bytes for k/v cache",
    "calculating max tokens",
    "[TensorRT-LLM][INFO] Loaded engine size",
)
_MARKS = re.compile(
    r"TensorRT-LLM version|TensorRT LLM version|Engine version|MPI size:|TRTGptModel max|Loaded engine size|"
    r"for execution context memory|memory for runtime buffers|memory for decoder|paged [Kk][Vv] cache|"
    r"bytes for k/v cache|memory usage profiling|Number of tokens per block|max_seq_len=|"
    r"Number of blocks in KV cache primary pool|blocks per sequence|pages per sequence"
)
_X = r"\s?([\d.]{1,14}) ?"
_SIZED: tuple[tuple[str, "re.Pattern[str]"], ...] = tuple(
    (line, re.compile(rf"{pattern} ?(B|KB|KiB|MB|MiB|GB|GiB)\b{after}"))
    for line, pattern, after in (
        ("weights", rf"Loaded engine size:{_X}", ""),
        ("weights", rf"loading model weights \(inside torch\) in memory usage profiling:{_X}", ""),
        ("non_torch", rf"loading model weights \(outside torch\) in memory usage profiling:{_X}", ""),
        ("weights", rf"model weights \(inside torch\) in memory usage profiling:{_X}", ""),
        ("activation_peak", rf"Allocated{_X}", " for execution context memory"),
        ("runtime_buffers", rf"Allocated{_X}", " GPU memory for runtime buffers"),
        ("decoder_buffers", rf"Allocated{_X}", " GPU memory for decoder"),
        ("kv_cache", rf"Allocated{_X}", " for max tokens"),
        ("device_total", rf"paged kv cache: total:{_X}", ""),
        ("free_before_pool", rf"paged kv cache: total: [\d.]{{1,12}} ?GiB, available:{_X}", ""),
        ("peak", rf"memory usage profiling \(torch \+ non-torch\):{_X}", ""),
        ("available_kv", rf"available KV cache memory when calculating max tokens:{_X}", ""),
        ("device_total", rf"device total memory{_X}", ""),
        ("measuring_pool", rf"(?:tmp kv_mem|temporary kv cache memory during profiling){_X}", ""),
    )
)
_UNITS = {"B": 1, "KB": 2**10, "KiB": 2**10, "MB": MIB, "MiB": MIB, "GB": 2**30, "GiB": 2**30}
_OLD_POOL = re.compile(r"Allocate (\d{1,15}) bytes for k/v cache")
_TOKENS = re.compile(r"max tokens in paged KV cache \((\d{1,15})\)|Using (\d{1,15}) tokens in paged KV cache")
_STAMP = re.compile(r"\[(\d\d)/(\d\d)/(\d{4})-(\d\d:\d\d:\d\d)\]")
_SETTINGS = (
    ("sequences", r"TRTGptModel max(?:NumSequences|BatchSize):? (\d{1,9})|max_num_requests=(\d{1,9})"),
    ("context_limit", r"TRTGptModel maxSequenceLen:? (\d{1,9})|max_seq_len=(\d{1,9})"),
    ("batched_tokens", r"TRTGptModel maxNumTokens:? (\d{1,9})|max_num_tokens=(\d{1,9})"),
    ("block_size", r"Number of tokens per block: (\d{1,6})|tokens per block=(\d{1,6})"),
    ("accelerators", r"MPI size: (\d{1,5})|world_size=(\d{1,5})"),
)
_VERSION = re.compile(r"(?:TensorRT[- ]LLM version:?|Engine version) v?(\d[\w.+-]{1,40})")


def looks_like(text: str, _name: str) -> bool:
    """Whether a line of the ledger is there."""
    return any(part in text for part in _ANY)


def read(text: str, name: str) -> Reading:
    """One run a start of the engine: a version is printed at each."""
    starts: list[_Start] = []
    told: list[Problem] = []
    for number_, line in marked_lines(text, _MARKS, name, told):
        begins = "TensorRT-LLM version" in line or "TensorRT LLM version" in line
        if not starts or (begins and "kv_cache" in starts[-1].ranks.ledger()):
            starts.append(_Start(name, number_))
        starts[-1].take(line)
        starts[-1].ranks.quote(number_, line)
    made = together(start.reading() for start in starts if start.ranks or len(starts) == 1)
    return made + Reading((), tuple(told))


class _Start:
    """One start of the engine."""

    def __init__(self, name: str, line: int) -> None:
        self.made = Builder(KEY, name, line)
        self.made.set(engine="trtllm")
        self.ranks = Ranks()

    def take(self, line: str) -> None:
        """Everything that one line states."""
        made = self.made
        if not made.started_at and (stamp := _STAMP.search(line, 0, 600)):
            made.started_at = f"{stamp[3]}-{stamp[1]}-{stamp[2]}T{stamp[4]}"
        if found := _VERSION.search(line):
            made.version = made.version or found[1]
            made.set(engine_version=made.version)
        rank = found[1] if (found := re.search(r"\[RANK (\d{1,4})\]", line, re.IGNORECASE)) else ""
        for entry, pattern in _SIZED:
            if found := pattern.search(line):
                self.ranks.put(rank, entry, size(found, _UNITS[found[2]]), again=True)
        if found := _OLD_POOL.search(line):
            self.ranks.put(rank, "kv_cache", number(found[1]), again=True)
        if found := _TOKENS.search(line):
            self.ranks.put(rank, "kv_cache_tokens", count(found[1] or found[2]), again=True)
        for setting, expression in _SETTINGS:
            if found := re.search(expression, line):
                made.set(**{setting: count(found[1] or found[2])})
        if found := re.search(r"fraction is set ([\d.]{1,8}),", line):
            made.rest["kv_fraction"] = number(found[1].rstrip("."))
        if found := re.search(r"kv size(?: per token)? is ([\d.]{1,14})", line):
            made.rest["kv_bytes_per_token"] = number(found[1].rstrip("."))

    def reading(self) -> Reading:
        """The run of this start."""
        made, ledger = self.made, self.ranks.ledger()
        if {"peak", "weights"} <= ledger.keys() and "activation_peak" not in ledger:
            parts = ("weights", "non_torch", "measuring_pool")
            ledger["activation_peak"] = max(
                0.0, ledger["peak"] - sum(ledger.get(part, 0.0) for part in parts)
            )
            made.converted("activation_of_peak")
        finish(made, ledger)
        made.log = self.ranks.quotes.kept
        if others := self.ranks.others():
            made.rest["ranks"] = others
        return made.reading()
