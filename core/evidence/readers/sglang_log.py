"""Start-up logs of SGLang.  What it calls GB is GiB, measured with the driver's free memory.

The arguments are printed as ``server_args=ServerArgs(…)``.  Each rank prints its pools: K and V apart, one
figure for latent attention, one line a pool where there are several, the recurrent state apart.
"""

import re

from core.errors import Problem
from core.evidence.readers.common import Builder, Reading, count, number, together
from core.evidence.readers.engine_log import Ranks, finish, flag, marked_lines, size, stated, whole

KEY, WHOLE = "sglang_log", False
_ANY = ("KV Cache is allocated", "max_total_num_tokens=", "Memory pool end", "Load weight end")
_MARKS = re.compile(
    r"server_args=ServerArgs\(|Init torch distributed ends|Load weight (?:begin|end)|KV Cache is allocated|"
    r"Mamba Cache is allocated|Memory pool end|Memory profiling: available_gpu|sliding window memory pool|"
    r"graph end\.|max_total_num_tokens=|Disable cuda graph|accept len:|Not enough memory\. Please try"
)
_STAMP = re.compile(
    r"\[(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:,\d{1,6})?"
    r"((?: (?:DP|PP|TP|EP|ATTN_TP|ATTN_DP)\d{1,4}){0,6})[^\]\n]{0,40}\]"
)
_X = r"([-\d.]{1,12}) ?GB"
_AVAILABLE = re.compile(rf"avail mem={_X}")
_USED = re.compile(rf"mem usage={_X}")
_TOKENS = re.compile(r"#tokens: (\d{1,15})")
_POOL = re.compile(rf"(?:K|V|KV) size: {_X}")
_STATE = re.compile(rf"(?:conv_state|ssm_state|temporal_state|intermediate_\w{{1,40}}) size: {_X}")
_PROFILE = re.compile(
    rf"available_gpu_memory={_X}, total_gpu_memory={_X}, mem_fraction_static=([\d.]{{1,8}})"
)
_WINDOWS = re.compile(r"full_layer_tokens=(\d{1,15}), swa_layer_tokens=(\d{1,15})")


def looks_like(text: str, _name: str) -> bool:
    """Whether a line of the ledger is there."""
    return any(part in text for part in _ANY)


def read(text: str, name: str) -> Reading:
    """One run a start of the engine."""
    starts: list[_Start] = []
    told: list[Problem] = []
    for number_, line in marked_lines(text, _MARKS, name, told):
        begins = "server_args=ServerArgs(" in line
        if not starts or (begins and (starts[-1].ranks or starts[-1].configured)):
            starts.append(_Start(name, number_))
        starts[-1].take(line)
        starts[-1].ranks.quote(number_, line)
    made = together(start.reading() for start in starts if start.ranks or len(starts) == 1)
    return made + Reading((), tuple(told))


class _Start:
    """One start of the engine."""

    def __init__(self, name: str, line: int) -> None:
        self.made = Builder(KEY, name, line)
        self.made.set(engine="sglang")
        self.ranks = Ranks()
        self.configured = False
        self.before: dict[str, float] = {}
        self.total_tokens: int | None = None

    def take(self, line: str) -> None:
        """Everything that one line states."""
        rank = self._rank(line)
        if "server_args=ServerArgs(" in line:
            self.configured = True
            self._arguments(line)
        elif "Load weight" in line:
            self._weights(line, rank)
        elif "Cache is allocated" in line:
            self._pools(line, rank)
        elif "graph end." in line:
            self.ranks.add(rank, "cuda_graph", size(_USED.search(line)))
        elif "Init torch distributed ends" in line:
            self.ranks.put(rank, "distributed_init", size(_USED.search(line)))
        elif "Memory pool end" in line:
            self.ranks.put(rank, "free_after_pool", size(_AVAILABLE.search(line)))
        elif "max_total_num_tokens=" in line:
            self._totals(line)
        else:
            self._rest(line, rank)

    def _rest(self, line: str, rank: str) -> None:
        if "Memory profiling" in line and (found := _PROFILE.search(line)):
            self.made.rest["mem_fraction_static"] = number(found[3])
        elif "sliding window memory pool" in line and (found := _WINDOWS.search(line)):
            self.ranks.put(rank, "window_tokens", count(found[2]))
        elif "Disable cuda graph" in line:
            self.made.set(graphs=False)
        elif "Not enough memory" in line:
            self.made.rest["not_started"] = True
        if found := re.search(r"accept len: ([\d.]{1,8})", line):
            self.made.put("acceptance_length", "mean", found[1])

    def _rank(self, line: str) -> str:
        found = _STAMP.search(line, 0, 600)
        if found is None:
            return ""
        if not self.made.started_at:
            self.made.started_at = f"{found[1]}T{found[2]}"
        return found[3].strip()

    def _arguments(self, line: str) -> None:
        disabled, cached = flag(line, "disable_cuda_graph"), flag(line, "disable_radix_cache")
        share = number(stated(line, "mem_fraction_static"))
        kind = stated(line, "quantization") or stated(line, "dtype")
        self.made.set(
            model=stated(line, "model_path"),
            weight_format="" if kind == "auto" else kind,
            kv_cache_format=stated(line, "kv_cache_dtype"),
            context_limit=whole(line, "context_length"),
            tensor_parallel=whole(line, "tp_size"),
            pipeline_parallel=whole(line, "pp_size"),
            data_parallel=whole(line, "dp_size"),
            expert_parallel=whole(line, "ep_size"),
            sequences=whole(line, "max_running_requests"),
            batched_tokens=whole(line, "chunked_prefill_size"),
            block_size=whole(line, "page_size"),
            graphs=None if disabled is None else not disabled,
            prefix_cache=None if cached is None else not cached,
            drafts=stated(line, "speculative_algorithm").lower(),
        )
        if share is not None:
            self.made.rest["mem_fraction_static"] = share
        if flag(line, "enable_dp_attention"):
            self.made.rest["dp_attention"] = True

    def _weights(self, line: str, rank: str) -> None:
        free = size(_AVAILABLE.search(line))
        if "Load weight begin" in line:
            if free is not None:
                self.before[rank] = free
                self.ranks.put(rank, "free_at_start", free)
            return
        used = size(_USED.search(line))
        if used is None and free is not None and rank in self.before:
            used = max(0.0, self.before[rank] - free)
            self.made.converted("weights_of_free")
        # The weights of a draft model are loaded after those of the model itself.
        first = "weights" not in self.ranks.lines.get(rank, {})
        self.ranks.put(rank, "weights" if first else "draft_weights", used)
        self.ranks.put(rank, "free_after_weights", free, again=True)
        if (kind := re.search(r"\bquant=([\w-]{1,40})", line)) or (
            (kind := re.search(r"dtype=torch\.(\w{1,20})", line))
            and not self.made.settings.get("weight_format")
        ):
            self.made.set(weight_format=kind[1])

    def _pools(self, line: str, rank: str) -> None:
        if "Mamba" in line:
            for found in _STATE.finditer(line):
                self.ranks.add(rank, "recurrent_state", size(found))
            if slots := re.search(r"max_mamba_cache_size: (\d{1,9})", line):
                self.ranks.put(rank, "recurrent_slots", count(slots[1]))
            return
        for found in _POOL.finditer(line):
            self.ranks.add(rank, "kv_cache", size(found))
        if tokens := _TOKENS.search(line):
            self.ranks.put(rank, "kv_cache_tokens", count(tokens[1]))
        if kind := re.search(r"dtype: torch\.(\w{1,20})", line):
            self.made.rest["kv_cache_dtype"] = kind[1]

    def _totals(self, line: str) -> None:
        """The last line before requests: what the scheduler works with."""
        self.total_tokens = whole(line, "max_total_num_tokens") or self.total_tokens
        self.ranks.gave.add("kv_cache_tokens")
        chunk = whole(line, "chunked_prefill_size")
        self.made.set(
            batched_tokens=chunk or whole(line, "max_prefill_tokens"),
            sequences=whole(line, "max_running_requests"),
            context_limit=whole(line, "context_len"),
        )
        self.ranks.put("", "free_after_start", size(re.search(rf"available_gpu_mem={_X}", line)))

    def reading(self) -> Reading:
        """The run of this start."""
        made, ledger = self.made, self.ranks.ledger()
        if self.total_tokens:
            ledger["kv_cache_tokens"] = self.total_tokens
        if ledger:
            made.converted("gigabytes_are_gibibytes")
        held = made.settings
        finish(made, ledger, held.get("tensor_parallel", 0) * held.get("pipeline_parallel", 1))
        made.log = self.ranks.quotes.kept
        if others := self.ranks.others():
            made.rest["ranks"] = others
        return made.reading()
