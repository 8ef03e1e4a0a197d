"""Start-up logs of vLLM, V0 and V1: every spelling of the memory ledger since 2023.

The figures called GB are GiB.  Lines that differ by version:
V0: "Loading model weights took", "Memory profiling results" (0.6.4: name=value, 0.6.5: a table, later a
sentence), "# GPU blocks" (also CUDA, cuda, and ROCm blocks).
V1: "Model loading took", "Available KV cache memory", "GPU KV cache size", one closing sentence "Actual usage
is …" (weights and non-torch apart; from 0.2x "consumed memory" holds both), and the errors of a pool that
is too small.
"""

import re

from core.errors import Problem
from core.evidence.readers.common import Builder, Reading, count, number, problem, shown, together
from core.evidence.readers.engine_log import Ranks, finish, flag, marked_lines, size, stated, whole
from core.words import Phrase

KEY, WHOLE = "vllm_log", False
_ANY = (
    "Available KV cache memory",
    "GPU KV cache size",
    "GPU blocks:",
    "CUDA blocks:",
    "cuda blocks:",
    "Model loading took",
    "Loading model weights took",
    "model weights take",
    "Memory profiling results",
    "GiB KV cache is needed",
    "stored in KV cache (",
)
_MARKS = re.compile(
    r"LLM engine \(|LLM engine with config|vLLM API server version|non-default args|Namespace\(|"
    r"oading model weights took|odel loading took|odel weights take|emory profiling results|"
    r"total_gpu_memory|non_torch_memory|PyTorch activation peak|available_kv_cache_memory|"
    r"gpu_memory_utilization|"
    r"GPU KV cache size|Available KV cache memory|[GPUCDAgpucdaROm]{3,4} blocks:|Maximum concurrency for|"
    r"Graph capturing finished|CUDA graph pool memory|Estimated CUDA graph memory|Actual usage is|"
    r"Free memory on device|Initial free memory|Total non KV cache memory|KV cache is needed|"
    r"stored in KV cache \(|No available memory for the cache blocks|Setting attention block size|"
    r"vLLM instance can use|max_num_batched_tokens=|Cudagraph is disabled|"
    r"Prefix cache hit rate|Mean acceptance length"
)
_PREFIX = re.compile(
    r"\((?:Vllm|Engine|Ray)?(\w{1,40})(?: rank=(\d{1,4}))?(?: pid=(\d{1,9}))?(?:, ip=[\d.]+)?\)"
)
_X = r"\s{0,8}([-\d.]{1,12}) ?"
# Line of the ledger → pattern, in GiB.
_LINES: tuple[tuple[str, "re.Pattern[str]"], ...] = tuple(
    (line, re.compile(pattern))
    for line, pattern in (
        ("weights", rf"(?:Loading model weights took|Model loading took|[Mm]odel weights take){_X}Gi?B"),
        ("weights", rf"Actual usage is{_X}GiB for weight"),
        ("weights", rf"weights memory:{_X}GiB"),
        ("non_torch", rf"non_torch_memory(?: takes|=)?{_X}GiB"),
        ("non_torch", rf"{_X}GiB for non-torch memory"),
        ("non_torch", rf"non-torch forward increase memory:{_X}GiB"),
        ("activation_peak", rf"PyTorch activation peak memory(?: takes)?{_X}GiB"),
        ("activation_peak", rf"{_X}GiB for peak activation"),
        ("activation_peak", rf"torch peak memory increase:{_X}GiB"),
        ("peak_torch", rf"peak_torch_memory={_X}GiB"),
        ("cuda_graph", rf"{_X}GiB for CUDAGraph memory"),
        ("cuda_graph", rf"CUDA graph pool memory:{_X}GiB \(actual\)"),
        ("cuda_graph", rf"Graph capturing finished in [\d.]{{1,9}} secs?, took{_X}GiB"),
        ("cuda_graph_estimated", rf"Estimated CUDA graph memory:{_X}GiB"),
        ("consumed", rf"Actual usage is{_X}GiB for consumed memory"),
        ("available_kv", rf"Available KV cache memory:{_X}GiB"),
        ("available_kv", rf"available_kv_cache_memory{_X}GiB"),
        ("available_kv", rf"available KV cache memory \({_X}GiB\)"),
        ("kv_cache", rf"reserved for KV Cache is{_X}GiB"),
        ("kv_cache", rf"reserved{_X}GiB memory for KV Cache"),
        ("kv_cache", rf"kv_cache_size={_X}GiB"),
        ("kv_cache", rf"kv cache memory in use is{_X}GiB"),
        ("kv_needed", rf"{_X}GiB KV cache is needed"),
        ("device_total", rf"total_gpu_memory(?: \(|=)?{_X}GiB"),
        ("device_total", rf"Free memory on device \([\d.]{{1,9}}/{_X}GiB\)"),
        ("free_at_start", rf"Free memory on device \({_X}/"),
        ("free_at_start", rf"Initial free memory:?{_X}GiB"),
        ("requested", rf"gpu_memory_utilization \([\d.]{{1,6}}\) ={_X}GiB"),
        ("requested", rf"current vLLM instance can use{_X}GiB"),
        ("requested", rf"Desired GPU memory utilization is \([\d.]{{1,6}},{_X}GiB\)"),
        ("requested", rf"Requested memory: [\d.]{{1,6}} \(util\),{_X}GiB"),
        ("non_kv_total", rf"Total non KV cache memory:{_X}GiB"),
    )
)
_AMOUNT = re.compile(
    r"(Loading model weights took|Model loading took|[Aa]vailable KV cache memory:)\s{1,8}(\S{1,20}) ?GiB"
)
_KV_BYTES = re.compile(r"kv cache memory in use is (\d{1,15}) bytes")
_TOKENS = re.compile(r"GPU KV cache size: ([\d,]{1,20}) tokens")
_BLOCKS = re.compile(r"# (?:GPU|CUDA|cuda|gpu|ROCm|rocm) blocks: (\d{1,12})(?:, # CPU blocks: (\d{1,12}))?")
_CONCURRENCY = re.compile(r"Maximum concurrency for ([\d,]{1,20}) tokens per request: ([\d.]{1,12})x")
_TOO_LONG = re.compile(
    r"max seq len \((\d{1,12})\)"
    r"(?: is larger than the maximum number of tokens that can be stored in KV cache \((\d{1,12})\))?"
)
_FITTING = re.compile(r"estimated maximum model length is (\d{1,12})")
_SHARE = re.compile(
    r"(?:gpu_memory_utilization(?:=|': | {1,8}|\t| \()|Desired GPU memory utilization is \(|"
    r"Requested memory: )"
    r"([01]?\.\d{1,6}|1\.0|1)\b"
)
_ENGINE = re.compile(r"LLM engine (?:\(v?([\w.+-]{1,60})\) )?with config:?")
_BLOCK_SIZES = (1, 8, 16, 32, 64, 128, 256)


def looks_like(text: str, _name: str) -> bool:
    """Whether a line of the ledger is there."""
    return any(part in text for part in _ANY)


def read(text: str, name: str) -> Reading:
    """One run a start of the engine."""
    starts: list[_Start] = []
    told: list[Problem] = []
    for number_, line in marked_lines(text, _MARKS, name, told):
        rank = _rank(line)
        if not starts or _begins(line, rank, starts[-1]):
            starts.append(_Start(name, number_))
        starts[-1].take(line, rank, number_)
        starts[-1].ranks.quote(number_, line)
    made = together(start.reading() for start in starts if start.ranks or len(starts) == 1)
    return made + Reading((), tuple(told))


def _rank(line: str) -> str:
    found = _PREFIX.search(line, 0, 200)
    if found is None:
        return ""
    kind, rank, process = found.groups()
    if kind in ("APIServer", "Core", "Core_0") or kind.startswith("Core_DP"):
        return "" if kind in ("APIServer", "Core", "Core_0", "Core_DP0") else kind
    return rank or (kind if any(c.isdigit() for c in kind) else process or kind)


def _begins(line: str, rank: str, start: "_Start") -> bool:
    """Whether the line is of the next start of the engine."""
    if not start.ranks:
        return False
    return "vLLM API server version" in line or (rank in start.configured and "with config" in line)


class _Start:
    """One start of the engine."""

    def __init__(self, name: str, line: int) -> None:
        self.made = Builder(KEY, name, line)
        self.made.set(engine="vllm")
        self.ranks = Ranks()
        self.configured: set[str] = set()
        self.not_started = False

    def take(self, line: str, rank: str, number_: int) -> None:
        """Everything that one line states."""
        self._check(line, number_)
        if "with config" in line and (found := _ENGINE.search(line)):
            self.configured.add(rank)
            self._version(found[1])
            self._arguments(line[found.end() :])
        elif "API server version" in line and (found := re.search(r"version v?([\w.+-]{1,60})", line)):
            self._version(found[1])
        elif "non-default args" in line or "Namespace(" in line:
            self._arguments(line)
        for entry, pattern in _LINES:
            value = size(pattern.search(line))
            self.ranks.put(rank, entry, value, again=entry in ("kv_cache",))
        if found := _KV_BYTES.search(line):
            self.ranks.put(rank, "kv_cache", number(found[1]), again=True)
        self._counts(line)
        self._rest(line)

    def _check(self, line: str, number_: int) -> None:
        """Say what stands where an amount should, and a pool below nothing."""
        found = _AMOUNT.search(line)
        if found is None:
            return
        words, text = found.groups()
        entry = "available_kv" if "KV" in words else "weights"
        value = number(text)
        values = {"text": shown(text), "figure": Phrase(f"cli.validate.lines.{entry}")}
        if value is None:
            self.made.problems.append(problem("number", self.made.name, number_, "warning", **values))
        elif value < 0:
            self.made.problems.append(problem("negative", self.made.name, number_, "warning", **values))

    def _version(self, version: str | None) -> None:
        if version:
            self.made.version = version
            self.made.set(engine_version=version)

    def _arguments(self, line: str) -> None:
        """The configuration of the engine, or the arguments that it was called with."""
        method = re.search(r"SpeculativeConfig\(method='?([\w-]{1,40})|'method': ?'([\w-]{1,40})", line)
        kind = stated(line, "quantization") or stated(line, "dtype").removeprefix("torch.")
        cache = stated(line, "kv_cache_dtype")
        eager = flag(line, "enforce_eager")
        self.made.set(
            model=stated(line, "model"),
            weight_format="" if kind == "auto" else kind,
            kv_cache_format=cache if cache != "auto" else "auto",
            context_limit=whole(line, "max_seq_len") or whole(line, "max_model_len"),
            tensor_parallel=whole(line, "tensor_parallel_size"),
            pipeline_parallel=whole(line, "pipeline_parallel_size"),
            data_parallel=whole(line, "data_parallel_size"),
            batched_tokens=whole(line, "max_num_batched_tokens"),
            sequences=whole(line, "max_num_seqs"),
            block_size=whole(line, "block_size"),
            graphs=None if eager is None else not eager,
            prefix_cache=flag(line, "enable_prefix_caching"),
            drafts=(method[1] or method[2]) if method else "",
        )
        if flag(line, "enable_expert_parallel"):
            held = self.made.settings
            held["expert_parallel"] = held.get("tensor_parallel", 1) * held.get("data_parallel", 1)

    def _counts(self, line: str) -> None:
        if found := _TOKENS.search(line):
            self.ranks.put("", "kv_cache_tokens", count(found[1]), again=True)
        if found := _BLOCKS.search(line):
            self.ranks.put("", "gpu_blocks", count(found[1]), again=True)
            if found[2]:
                self.ranks.put("", "cpu_blocks", count(found[2]), again=True)
        if found := _CONCURRENCY.search(line):
            self.ranks.put("", "max_concurrency", number(found[2]), again=True)
            self.made.set(context_limit=count(found[1]))
        if found := _TOO_LONG.search(line):
            self.not_started = True
            self.made.set(context_limit=count(found[1]))
            if found[2]:
                self.ranks.put("", "kv_cache_tokens", count(found[2]), again=True)
        if found := _FITTING.search(line):
            self.ranks.put("", "fitting_tokens", count(found[1]))

    def _rest(self, line: str) -> None:
        if found := _SHARE.search(line):
            self.made.set(utilization=number(found[1]))
        if found := re.search(r"with max_num_batched_tokens=(\d{1,9})", line):
            self.made.set(batched_tokens=count(found[1]))
        if found := re.search(r"Setting attention block size to (\d{1,7}) tokens", line):
            self.made.set(block_size=count(found[1]))
        if "Cudagraph is disabled" in line:
            self.made.set(graphs=False)
        if "No available memory for the cache blocks" in line:
            self.not_started = True
        # Printed again and again while requests are served: the last holds.
        if found := re.search(r"Prefix cache hit rate: (?:GPU: )?([\d.]{1,8})%", line):
            self.made.put("prefix_hit_share", "mean", found[1], 0.01)
        if found := re.search(r"Mean acceptance length: ([\d.]{1,8})", line):
            self.made.put("acceptance_length", "mean", found[1])

    def reading(self) -> Reading:
        """The run of this start."""
        made, ledger = self.made, self.ranks.ledger()
        self._completed(ledger)
        held = made.settings
        devices = (
            held.get("tensor_parallel", 0) * held.get("pipeline_parallel", 1) * held.get("data_parallel", 1)
        )
        finish(made, ledger, devices)
        made.log = self.ranks.quotes.kept
        if others := self.ranks.others():
            made.rest["ranks"] = others
        if self.not_started:
            made.rest["not_started"] = True
        return made.reading()

    def _completed(self, ledger: dict[str, float]) -> None:
        """Lines that follow from others; how is said."""
        made = self.made
        if "consumed" in ledger and "weights" in ledger and "non_torch" not in ledger:
            ledger["non_torch"] = max(0.0, ledger["consumed"] - ledger["weights"])
            made.converted("non_torch_of_consumed")
        if "peak_torch" in ledger and "weights" in ledger and "activation_peak" not in ledger:
            ledger["activation_peak"] = max(0.0, ledger["peak_torch"] - ledger["weights"])
            made.converted("activation_of_peak")
        if "available_kv" in ledger and "kv_cache" not in ledger and not self.not_started:
            ledger["kv_cache"] = ledger["available_kv"]
            made.converted("pool_is_available")
        if "gpu_blocks" in ledger and "kv_cache_tokens" not in ledger and ledger["gpu_blocks"]:
            block = self._block(ledger)
            ledger["kv_cache_tokens"] = ledger["gpu_blocks"] * block
            made.converted("tokens_of_blocks", block=block)

    def _block(self, ledger: dict[str, float]) -> int:
        """Tokens of a block: as stated, as the concurrency tells, else the default."""
        known = self.made.settings.get("block_size")
        longest = self.made.settings.get("context_limit")
        if known is None and longest and "max_concurrency" in ledger:
            told = ledger["max_concurrency"] * longest / ledger["gpu_blocks"]
            known = min(_BLOCK_SIZES, key=lambda size_: abs(size_ - told))
        return int(known or 16)
