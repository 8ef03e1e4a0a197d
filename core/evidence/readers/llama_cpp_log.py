"""Logs of llama.cpp, ik_llama.cpp and of Ollama's runner: buffers at the start, timings afterwards.

Spellings: "llm_load_tensors: CUDA0 buffer size" became "load_tensors: CUDA0 model buffer size", "KV self
size" became "llama_kv_cache: size = …" (one line a cache: windows and recurrent states apart); newer builds
put a time and a letter in front, and close with a table of the memory of each device.

The ledger is the sum over the devices, with each device in ``rest``; what lies in the host's memory has
lines of its own.  Each request of a server is a run with its timings; the first run of a start holds the
ledger.  A load that only measured what fits ("fit") is left out.
"""

import re
from dataclasses import replace

from core.errors import Problem
from core.evidence.quotes import Quotes
from core.evidence.readers.common import Builder, Reading, count, problem, text_of, together
from core.evidence.readers.engine_log import MIB, finish, marked_lines, size, stated

KEY, WHOLE = "llama_cpp_log", False
_ANY = (
    "buffer size =",
    "KV self size",
    "layers to GPU",
    "prompt eval time =",
    "memory breakdown [MiB]",
    "t/s | Generation:",
    "msg=offload",
)
_MARKS = re.compile(
    r"buffer size\s*=|KV self size|KV cache: size|: size\s*=|layers to GPU|eval time\s*=|memory breakdown|"
    r"memory_breakdown_print|t/s \| Generation:|loaded meta data with|general\.name|file type|ftype|"
    r"model params|n_ctx|n_batch|n_ubatch|n_seq_max|flash_attn|build(?: =|:) |Device \d+: |using device |"
    r"_fit_\w+:|params_fit|draft acceptance|source=\w+\.go|VRAM used"
)
_HOST = re.compile(r"CPU|AMX|BLAS|\w+_Host\b")
_DEVICE = r"([A-Za-z][\w-]{0,30}(?:\[[^\]\n]{0,60}\])?)"
_X = r"\s*=\s*([\d.]{1,14}) ?MiB"
# Line of the ledger → pattern with device and MiB.
_BUFFERS: tuple[tuple[str, "re.Pattern[str]"], ...] = (
    ("weights", re.compile(rf"{_DEVICE} model buffer size{_X}")),
    ("weights", re.compile(rf"load_tensors:\s*{_DEVICE} buffer size{_X}")),
    ("kv_cache", re.compile(rf"{_DEVICE} KV buffer size{_X}")),
    ("recurrent_state", re.compile(rf"{_DEVICE} RS buffer size{_X}")),
    ("compute_buffer", re.compile(rf"{_DEVICE}\s+compute buffer size{_X}")),
    ("output_buffer", re.compile(rf"{_DEVICE}\s+output buffer size{_X}")),
)
_KV_TYPES = re.compile(r"(?:K|c\^KV) \((\w{1,12})\): +[\d.]{1,14} MiB(?:, V \((\w{1,12})\))?")
_CELLS = re.compile(r"size\s*=\s*[\d.]{1,14} MiB \(\s*(\d{1,12}) cells,")
_LAYERS = re.compile(r"offloaded (\d{1,6})/(\d{1,6}) layers to GPU")
_EVAL = re.compile(
    r"(prompt )?eval time\s*=\s*([\d.]{1,16}) ms /\s*(\d{1,12}) (?:tokens|runs)"
    r"\s*\(\s*([\d.]{1,16}) ms per token,"
    r"\s*([\d.]{1,16}|inf) tokens per second\)"
)
_BRACKET = re.compile(r"\[ Prompt: ([\d.]{1,12}) t/s \| Generation: ([\d.]{1,12}) t/s")
_DRAFTS = re.compile(
    r"draft acceptance(?: rate)?\s*=\s*[\d.]{1,10} \(\s*(\d{1,12}) accepted /\s*(\d{1,12}) generated"
)
_TABLE = re.compile(
    r"\|\s+- (\w[^|(\n]{0,30})\(([^|\n]{1,80})\)\s*\|\s*(\d{1,9})\s*=\s*(\d{1,9})"
    r"\s*\+\s*\(\s*(\d{1,9})\s*=\s*(\d{1,9})\s*\+\s*(\d{1,9})\s*\+\s*(\d{1,9})\s*\)\s*\+\s*(-?\d{1,9})"
)
_NUMBERS = (
    ("n_ctx", r"\bn_ctx\s*=\s*(\d{1,12})"),
    ("n_ctx_seq", r"\bn_ctx_(?:per_)?seq\s*=\s*(\d{1,12})"),
    ("n_batch", r"\bn_batch\s*=\s*(\d{1,9})"),
    ("n_ubatch", r"\bn_ubatch\s*=\s*(\d{1,9})"),
    ("n_seq_max", r"\bn_seq_max\s*=\s*(\d{1,9})"),
)
_UNITS = {"B": 1.0, "KiB": 2.0**10, "MiB": float(MIB), "GiB": 2.0**30}
# Of Ollama's line about its plan; of several devices the first one's.
_PLANNED = {
    r"memory\.weights\.total": "weights",
    r"memory\.required\.kv": "kv_cache",
    r"memory\.graph\.full": "compute_buffer",
    r"memory\.required\.full": "total",
}
_SIZES = ("Small", "Medium", "Large")
_MOST_TIMINGS = 10_000


def looks_like(text: str, _name: str) -> bool:
    """Whether a buffer or a timing is there."""
    return any(part in text for part in _ANY)


def read(text: str, name: str) -> Reading:
    """The runs of every load of a model."""
    loads: list[_Load] = []
    told: list[Problem] = []
    for number_, line in marked_lines(text, _MARKS, name, told):
        if not loads or ("loaded meta data with" in line and loads[-1].began):
            loads.append(_Load(name, number_, loads[-1].made if loads else None))
        loads[-1].take(line, number_)
        loads[-1].quote(line, number_)
    readings = [load.reading() for load in loads if not load.trial or len(loads) == 1]
    found = together(readings)
    if found.runs:
        kept = [p for p in found.problems if p.code != "reading.no_figures"]
        return Reading(found.runs, (*kept, *told))
    return Reading((), (problem("no_figures", name, tool=KEY), *told))


class _Load:
    """One load of a model, and the requests that it served."""

    def __init__(self, name: str, line: int, known: Builder | None) -> None:
        self.made = Builder(KEY, name, line, known.version if known else "")
        self.made.set(engine="llamacpp", engine_version=self.made.version)
        if known is not None:  # the devices are listed once
            self.made.set(**{k: v for k, v in known.settings.items() if k.startswith("accelerator")})
        self.buffers: dict[str, dict[str, float]] = {}
        self.numbers: dict[str, int] = {}
        self.timings: list[Builder] = []
        self.planned: dict[str, float] = {}  # by Ollama, before its runner says what it holds
        self.gave: set[str] = set()  # by the line that is being read
        self.quotes = Quotes()
        self.began = self.trial = False
        self.named: set[str] = set()

    def take(self, line: str, number_: int) -> None:
        """Everything that one line states."""
        self.began = self.began or "loaded meta data with" in line
        if "fit" in line and re.search(r"(?:params_fit|fit_params)\w*: ", line):
            # The measuring load comes before this line, the real one after it.
            self.trial = self.trial or bool(self.buffers)
        if "eval time" in line or "t/s | Generation" in line or "draft acceptance" in line:
            self._timing(line, number_)
        elif "buffer size" in line or "VRAM used" in line:
            self._buffer(line)
        elif "memory_breakdown" in line:
            self._table(line)
        elif ".go" in line and "msg=" in line:
            self._ollama(line)
        else:
            self._described(line)
            self._numbered(line)

    def quote(self, line: str, number_: int) -> None:
        """Keep a line that has been read, with the lines of the ledger that it gave."""
        self.quotes.add(number_, line, self.gave)
        self.gave = set()

    def _buffer(self, line: str) -> None:
        for entry, pattern in _BUFFERS:
            if found := pattern.search(line):
                self.began = True
                self._add(entry, found[1], size(found, MIB, 2))
                return
        if found := re.search(r"VRAM used:\s*([\d.]{1,12}) Mi?B", line):
            self._add("weights", "CUDA0", size(found, MIB))

    def _add(self, entry: str, device: str, value: float | None) -> None:
        held = self.buffers.setdefault(device, {})
        if value is None:
            return
        self.gave.add(f"{entry}_host" if _HOST.match(device) else entry)
        # A compute buffer is reserved anew when the graph changes; the others are parts.
        held[entry] = (
            max(held.get(entry, 0.0), value) if entry == "compute_buffer" else held.get(entry, 0.0) + value
        )

    def _table(self, line: str) -> None:
        """The closing table: it only adds what the lines above did not say."""
        found = _TABLE.search(line)
        if found is None or _HOST.match(found[1]):
            return
        total, free, _own, model, context, compute, rest = (int(found[n]) * MIB for n in range(3, 10))
        device = found[1].strip()
        held = self.buffers.setdefault(device, {})
        for entry, value in (("weights", model), ("kv_cache", context), ("compute_buffer", compute)):
            held.setdefault(entry, float(value))
        self.gave |= {"weights", "kv_cache", "compute_buffer", "device_total", "free_after_start"}
        held |= {
            "device_total": float(total),
            "free_after_start": float(free),
            "unaccounted": float(max(0, rest)),
        }
        self.made.set(accelerator=self.made.settings.get("accelerator") or text_of(found[2]))

    def _ollama(self, line: str) -> None:
        """The same parts as Ollama itself rounds them; its runner's own lines are exact."""
        self.made.set(engine="ollama")
        self._offloaded(line)
        self._plan(line)
        parts = {"model weights": "weights", "kv cache": "kv_cache", "compute graph": "compute_buffer"}
        found = re.search(
            r'msg="(model weights|kv cache|compute graph)" device=(\w{1,30})'
            r' size="([\d.]{1,12}) (KiB|MiB|GiB|B)"',
            line,
        )
        if found is not None and parts[found[1]] not in self.buffers.get(found[2], {}):
            self._add(parts[found[1]], found[2], size(found, _UNITS[found[4]], 3))

    def _plan(self, line: str) -> None:
        """Layers and sizes that Ollama reckons with, and what it asks its runner for."""
        if "msg=offload" in line:
            self.began = True
            held = self.made.rest
            for name, key in (("layers.offload", "layers_on_device"), ("layers.model", "layers")):
                value = count(stated(line, name))
                if key == "layers" and value is not None:
                    held["layers"] = value
                elif value is not None:
                    self.made.set(layers_on_device=value)
            for name, entry in _PLANNED.items():
                found = re.search(rf'{name}="\[?([\d.]{{1,12}}) (KiB|MiB|GiB|B)', line)
                if found is not None:
                    self.planned[entry] = size(found, _UNITS[found[2]]) or 0.0
        elif "msg=load " in line and (found := re.search(r"KvSize:(\d{1,12})", line)):
            self.numbers["n_ctx"] = int(found[1])
            kind = re.search(r"KvCacheType:(\w{1,12})", line)
            self.made.set(kv_cache_format=kind[1] if kind is not None else "")

    def _described(self, line: str) -> None:
        """Build, devices, model."""
        made = self.made
        if found := re.search(r"build(?: =|:) (\d{1,7}) \(", line):
            made.version = f"b{found[1]}"
            made.set(engine_version=made.version)
        elif found := re.search(r"Device (\d{1,3}): ([^,\n]{1,100}), compute capability", line):
            made.set(accelerator=text_of(found[2]), accelerators=int(found[1]) + 1)
        elif found := re.search(
            r"using device (\w{1,30}) \(([^)\n]{1,100})\)[^-\n]{0,40}- (\d{1,9}) MiB free", line
        ):
            self._device(found)
        elif found := re.search(r"loaded meta data with .{0,80} from ([^\n]{1,400}?)(?: \(version|$)", line):
            stem = re.split(r"[/\\]", found[1])[-1].removesuffix(".gguf")
            made.set(model=made.settings.get("model") or text_of(stem))
            made.rest["model_file"] = text_of(re.split(r"[/\\]", found[1])[-1])
        elif found := re.search(r"general\.name(?: str)?\s*=\s*([^\n]{1,200})", line):
            made.set(model=text_of(found[1]))
        elif found := re.search(r"(?:model ftype|file type)\s*=\s*([^\n]{1,60})", line):
            kind, _, size_ = text_of(found[1].split(" (")[0]).partition(" - ")
            made.set(weight_format=f"{kind}_{size_[0]}" if size_ in _SIZES else kind)
        self._offloaded(line)

    def _offloaded(self, line: str) -> None:
        if found := _LAYERS.search(line):
            self.began = True
            self.made.set(layers_on_device=count(found[1]))
            self.made.rest["layers"] = count(found[2])

    def _device(self, found: "re.Match[str]") -> None:
        held = self.buffers.setdefault(found[1], {})
        held["free_at_start"] = float(found[3]) * MIB
        self.made.set(accelerator=text_of(found[2]))
        self.named.add(found[1])
        self.made.set(accelerators=len(self.named))

    def _numbered(self, line: str) -> None:
        """Sizes of context and batch, kinds of the cache."""
        for name, expression in _NUMBERS:
            if found := re.search(expression, line):
                self.numbers.setdefault(name, int(found[1]))
        if found := _KV_TYPES.search(line):
            kinds = [found[1], found[2] or found[1]]
            self.made.set(kv_cache_format=kinds[0] if kinds[0] == kinds[1] else "/".join(kinds))
        if found := _CELLS.search(line):
            cells = self.made.ledger.get("kv_cache_tokens", 0.0)
            if "recurrent" not in line:
                self.gave.add("kv_cache_tokens")
                self.made.ledger["kv_cache_tokens"] = max(cells, float(found[1]))
        if found := re.search(r"flash_attn\s*=\s*(\w{1,10})", line):
            self.made.rest["flash_attn"] = found[1]

    def _timing(self, line: str, number_: int) -> None:
        if found := _BRACKET.search(line):
            one = self._request(number_)
            one.put("prompt_throughput", "mean", found[1])
            one.put("user_throughput", "mean", found[2])
            one.put("decode_throughput", "mean", found[2])
            return
        if (found := _DRAFTS.search(line)) and self.timings:
            self._drafted(self.timings[-1], int(found[1]), int(found[2]))
            return
        found = _EVAL.search(line)
        if found is None or len(self.timings) >= _MOST_TIMINGS:
            return
        tokens, rate = count(found[3]), found[5]
        if found[1]:
            one = self._request(number_)
            one.set(input_tokens=tokens, requests=1)
            if tokens and rate != "inf" and one.put("prompt_throughput", "mean", rate):
                one.put("time_to_first_token", "mean", found[2], 1e-3)
                one.converted("prefill_is_first")
        elif tokens and tokens > 1 and rate != "inf":
            one = self.timings[-1] if self.timings else self._request(number_)
            one.set(output_tokens=tokens)
            one.put("time_per_output_token", "mean", found[4], 1e-3)
            one.put("decode_throughput", "mean", rate)
            one.put("user_throughput", "mean", rate)

    def _drafted(self, one: Builder, accepted: int, drafted: int) -> None:
        made = one.settings.get("output_tokens")
        one.set(drafts="unspecified")
        one.rest |= {"drafts_accepted": accepted, "drafts": drafted}
        if made and made > accepted:
            one.put("acceptance_length", "mean", made / (made - accepted))
            one.converted("acceptance_of_counts", accepted=accepted, n=f"{made:g}")

    def _request(self, line: int) -> Builder:
        one = Builder(KEY, self.made.name, line, self.made.version)
        self.timings.append(one)
        return one

    def reading(self) -> Reading:
        """The runs of this load."""
        made = self.made
        sequences = self.numbers.get("n_seq_max")
        longest = self.numbers.get("n_ctx_seq") or self.numbers.get("n_ctx")
        made.set(context_limit=longest, sequences=sequences, batched_tokens=self.numbers.get("n_ubatch"))
        made.rest |= self.numbers
        devices = {name: held for name, held in self.buffers.items() if held and not _HOST.match(name)}
        for name, held in self.buffers.items():
            for entry, value in held.items():
                line = f"{entry}_host" if _HOST.match(name) else entry
                made.ledger[line] = made.ledger.get(line, 0.0) + value
        if not made.ledger and self.planned:
            made.ledger |= self.planned
            made.converted("planned_sizes")
        finish(made, made.ledger)
        made.log = self.quotes.kept
        if len(devices) > 1:
            made.rest["devices"] = {name: dict(held) for name, held in list(devices.items())[:32]}
            made.set(accelerators=made.settings.get("accelerators") or len(devices))
        return self._with_requests()

    def _with_requests(self) -> Reading:
        """The ledger and each request; one request alone is the same run as the ledger."""
        made = self.made
        asked = [one for one in self.timings if one.figures]
        served = made.run()
        runs = tuple(
            replace(one.run(), setting=replace(served.setting, **one.settings), label=made.label)
            for one in asked
        )
        if len(runs) == 1 and made.ledger:
            one = runs[0]
            together_ = replace(served, setting=one.setting, figures=one.figures)
            return Reading(
                (
                    replace(
                        together_,
                        rest=served.rest | one.rest,
                        conversions=served.conversions + one.conversions,
                    ),
                ),
                tuple(made.problems),
            )
        start = made.reading()
        return Reading(start.runs + runs, start.problems if start.runs or not runs else ())
