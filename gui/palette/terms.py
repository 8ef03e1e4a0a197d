"""What a typed question says in numbers and field terms: "16 users", "TP2", "TPOT 50ms", "输入4K 输出1K".

Each term is taken out of the text; what is left are the names of a model and a device, words between
them, and words that nobody here understands.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from core.spec.engine import EngineName
from core.units import parse_quantity
from gui.palette.lengths import lengths_in, spelt_out
from gui.palette.numerals import NUMBERS, PEOPLE, PEOPLE_ZH, with_digits

_T = TypeVar("_T")
MOST_DEVICES, MOST_USERS, MOST_RATE = 4096, 10**6, 1e6
_COUNT = rf"\d+|{'|'.join(NUMBERS)}"
# Chinese letters end a Latin word, so the ends of words are told by Latin letters and digits.
_START, _END = r"(?<![a-z0-9_.-])", r"(?![a-z0-9_-])"
_IS = r"\s*[:=<≤]{0,2}\s*"
_SECONDS = rf"(\d{{1,7}}(?:\.\d{{1,3}})?)\s*(ms|s|毫秒|秒)?{_END}"

_FIRST = re.compile(rf"(?:{_START}ttft|首\s*(?:token|字)(?:延迟)?){_IS}{_SECONDS}")
_EACH = re.compile(rf"(?:{_START}(?:tpot|itl)|每\s*token){_IS}{_SECONDS}")
_RATE = re.compile(
    rf"{_START}(\d{{1,7}}(?:\.\d{{1,3}})?)\s*"
    rf"(?:(?:req(?:uests?)?|r)\s*(?:/|per)\s*s(?:ec(?:ond)?)?{_END}|[rq]ps{_END}|个?请求\s*[/每]\s*秒)"
    r"|每秒\s*(\d{1,7}(?:\.\d{1,3})?)\s*个?请求"
)
# What one user reads: "30 tokens/s", "30 tps", "每秒 30 token".
_SPEED = re.compile(
    rf"{_START}(\d{{1,7}}(?:\.\d{{1,3}})?)\s*"
    rf"(?:tok(?:en)?s?\s*(?:/|per|每)\s*(?:s(?:ec(?:ond)?)?{_END}|秒)|tps{_END}|t/s{_END})"
    rf"(?:\s*(?:/|per|each)\s*user{_END})?"
    rf"|每秒\s*(\d{{1,7}}(?:\.\d{{1,3}})?)\s*(?:个\s*)?tok(?:en)?s?(?![a-z])"
)
_FASTEST = 1000.0  # tok/s of one user that anybody asks for
_KV = r"(?:kv\s*(?:cache|缓存)?|cache)"
_CACHE_KEY = r"fp8|bf16|fp16|int8|int4|q8_0|q5_1|q5_0|q4_1|q4_0"
_CACHE_BITS = r"16|[48四八]"
_BIT = rf"\s*[- ]?(?:bits?{_END}|位|比特)"
# "kv 8 users" says how many users there are, "kv 8 users 16" does not.
_COUNTS = r"(?!\s*(?:users?(?![a-z]|\s*[:=]?\s*\d)|concurrent|gpus?|cards?|[x×*张块卡个路人]|并发|用户))"
_CACHE = re.compile(
    rf"{_START}{_KV}{_IS}(?:({_CACHE_KEY}){_END}|({_CACHE_BITS})(?:{_BIT}|{_END}(?!\.\d){_COUNTS}))"
)
_BEFORE_CACHE = re.compile(rf"{_START}(?:({_CACHE_KEY})|({_CACHE_BITS}){_BIT})\s*的?\s*{_KV}{_END}")
# Short names of formats of the cache; an engine takes the nearest that it has.
_CACHE_KEYS = {"4": "int4", "四": "int4", "8": "fp8", "八": "fp8", "16": "bf16"}
_GGUF = re.compile(rf"{_START}((?:iq|q|tq)\d(?:_[a-z0-9]+)*){_END}")
# Short for a file of so many bits; of 4 and 8 every engine has a format of its own.
_SHORT_BITS = {"q4": "4", "q8": "8"}
_SHORT_FILES = {"q2": "q2_k", "q3": "q3_k_m", "q5": "q5_k_m", "q6": "q6_k"}
_FORMAT = r"w4a16|w8a8|w8a16|int4|int8|fp8|bf16|fp16|awq|gptq|nvfp4|mxfp4"
_BITS_OR_FORMAT = re.compile(rf"{_START}(?:([48四八]){_BIT}|({_FORMAT}){_END})")
# Said beside a format of so many bits they are the same: "4 bit AWQ".
_ANY_OF_BITS = ("4", "8", "int4", "int8", "w4a16")
_FOUR_BITS = ("awq", "gptq")
_USERS = re.compile(
    rf"{_START}(\d+)\s*(?:concurrent\s+)?(?:(?:{PEOPLE}){_END}|{PEOPLE_ZH})"
    rf"|(?:{_START}(?:users|concurrency)|并发数?|用户数?){_IS}(\d+){_END}"
)
# "270m" is the size of a model.
_LENGTH = re.compile(
    rf"{_START}(\d{{1,7}}(?:\.\d{{1,3}})?\s*k|\d{{1,2}}(?:\.\d{{1,3}})?\s*m){_END}\s*(?:tokens?|context|ctx|上下文)?"
    rf"|{_START}(\d{{3,7}})\s*tokens?{_END}|{_START}(\d{{5,7}}){_END}"
)
_PART = re.compile(rf"{_START}(tp|pp|ep|dp){_IS}(\d{{1,4}}){_END}")
# "h100 x8", "3090×2"; what stands before is the device, not a number of them.  An "x" behind a letter is
# the end of a word: "rtx 3090".
_TIMES_AFTER = re.compile(r"([a-z0-9)]+)\s*(?:[×*]|(?<![a-z])x)\s*(\d{1,4})(?![\w.])")
# "7900 xtx" are no 7,900 of anything.
_TIMES_BEFORE = re.compile(rf"{_START}({_COUNT})\s*(?!xtx?{_END})[x×*]\s*(?=[a-z\d])(?!\d+b)")
_COUNTED = re.compile(rf"{_START}({_COUNT})\s*(?:张卡?|块卡?|卡|(?:gpus?|cards?){_END})")
_ENGINE = re.compile(
    rf"{_START}(?:on\s+)?(vllm|sglang|trt-?llm|tensorrt-?llm|llama\.?cpp|ollama|mlx(?:-lm)?|transformers)"
    r"(?![a-z0-9_.-])"
    rf"(?:\s*(?:=+|@)?\s*v?(\d+\.\d+(?:\.\d+)*|(?<=\s)b\d{{4,5}}){_END})?"
)
_ENGINES: dict[str, EngineName] = {
    "trtllm": "trtllm",
    "tensorrtllm": "trtllm",
    "llamacpp": "llamacpp",
    "mlxlm": "mlx",
    "vllm": "vllm",
    "sglang": "sglang",
    "ollama": "ollama",
    "mlx": "mlx",
    "transformers": "transformers",
}
_FEW = 100  # devices: a greater number before "×" is a device's name


@dataclass(slots=True)
class Terms:
    """What a text in lower case says, in SI units or tokens; None and "" where it says nothing.

    ``rest`` is first the text and then what is left of it.
    """

    rest: str
    first_token_s: float | None = None
    per_token_s: float | None = None
    request_rate: float | None = None  # 1/s
    users: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    weights: str = ""  # "4", "8", a common name or a GGUF file type
    gguf: str = ""
    cache: str = ""
    engine: EngineName | None = None
    release: str = ""  # of the engine
    devices: int | None = None
    layout: dict[str, int] = field(default_factory=dict)  # "tp", "pp", "ep", "dp"
    refused: list[str] = field(default_factory=list)  # terms out of any range, as typed
    twice: list[str] = field(default_factory=list)  # terms that contradict one that is taken, as typed

    def __post_init__(self) -> None:
        """Take every term out of the text; the order settles what a number counts."""
        self.rest = with_digits(self.rest)
        self.first_token_s = self._one(_FIRST, lambda found: self._seconds(found, "s"))
        self.per_token_s = self._one(_EACH, lambda found: self._seconds(found, "ms"))
        rates: list[str] = []

        def rate(found: re.Match[str]) -> float | None:
            rates.append(found[0].strip())
            return self._within(float(_said(found)), 1e-6, MOST_RATE, found[0])

        self.request_rate = self._one(_RATE, rate)
        self.per_token_s = self._one(_SPEED, self._per_token, self.per_token_s)
        for pattern in (_CACHE, _BEFORE_CACHE):
            self.cache = self._one(pattern, _cache_key, self.cache) or ""
        while (part := self._take(_PART)) is not None:
            size = self._count(part[2], MOST_DEVICES, part[0])
            if size is not None and self.layout.setdefault(part[1], size) != size:
                self.twice.append(part[0].strip())
        self._lengths()
        self._formats()
        if self.users is None:
            self.users = self._one(_USERS, lambda found: self._count(_said(found), MOST_USERS, found[0]))
        if self.users is not None and self.request_rate is not None:
            self.request_rate = None
            self.twice += rates
        if self.prompt_tokens is None:
            self.prompt_tokens = self._one(_LENGTH, lambda found: self._tokens(_said(found), found[0]))
        engine = self._one(_ENGINE, lambda found: (_ENGINES[re.sub(r"[.-]", "", found[1])], found[2] or ""))
        self.engine, self.release = engine or (None, "")
        self.devices = self._devices()

    def _lengths(self) -> None:
        """The lengths of prompt and answer, and the users, that stand beside a word for them."""
        self.rest = spelt_out(self.rest)
        lengths = lengths_in(self.rest)
        prompt = any(length.kind == "read" for length in lengths)
        for length in lengths:
            said = self.rest[length.start : length.end]
            if length.kind == "context" and prompt:
                self.refused.append(said)  # beside the prompt it is another thing
            elif length.kind == "users":
                more = self._count(length.text, MOST_USERS, said)
                self.users = self._first(self.users, more, said)
            elif length.kind == "written":
                self.output_tokens = self._first(self.output_tokens, self._tokens(length.text, said), said)
            else:
                self.prompt_tokens = self._first(self.prompt_tokens, self._tokens(length.text, said), said)
        for length in reversed(lengths):
            self.rest = f"{self.rest[: length.start]} {self.rest[length.end :]}"

    def _formats(self) -> None:
        """One format of the weights: a file type, else the first that was said, and its kind: "4 bit AWQ"."""
        said: list[tuple[str, str]] = []
        while (found := self._take(_GGUF) or self._take(_BITS_OR_FORMAT)) is not None:
            said.append((_format_key(_said(found)), found[0].strip()))
        if not said:
            return
        chosen = next((key for key, _ in said if _is_file(key)), said[0][0])
        chosen = next((key for key, _ in said if key not in _ANY_OF_BITS and _same(chosen, key)), chosen)
        if _is_file(chosen):
            self.gguf = chosen
        else:
            self.weights = chosen
        for key, text in said:
            if key != chosen and not _same(key, chosen):
                self.twice.append(text)

    def _one(
        self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], _T | None], now: _T | None = None
    ) -> _T | None:
        """What a term says; where it is said again and otherwise, that is not taken."""
        while (found := self._take(pattern)) is not None:
            now = self._first(now, read(found), found[0])
        return now

    def _first(self, now: _T | None, more: _T | None, said: str) -> _T | None:
        if now and more and more != now:
            self.twice.append(said.strip())
        return now or more

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.search(self.rest)
        if found is not None:
            self.rest = f"{self.rest[: found.start()]} {self.rest[found.end() :]}"
        return found

    def _seconds(self, found: re.Match[str], customary: str) -> float | None:
        number, unit = float(found[1]), found[2] or customary
        seconds = number / 1000 if unit in ("ms", "毫秒") else number
        return self._within(seconds, 1e-4, 1e5, found[0])

    def _per_token(self, found: re.Match[str]) -> float | None:
        """Seconds of a token at so many a second; cut, not rounded, so that it is no slower than was said."""
        rate = float(_said(found))
        if self._within(rate, 0.1, _FASTEST, found[0]) is None:
            return None
        milliseconds = 1000 / rate
        step = 10.0 ** (math.floor(math.log10(milliseconds)) - 2)
        return round(math.floor(milliseconds / step + 1e-9) * step / 1000, 9)

    def _tokens(self, number: str, said: str) -> int | None:
        tokens = round(parse_quantity(number, "tokens"))
        within = self._within(tokens, 1, 10**9, said)
        return None if within is None else round(within)

    def _count(self, text: str, most: int, said: str) -> int | None:
        thousands = 1000 if text.endswith("k") else 1  # of users, not 1,024
        within = self._within(NUMBERS.get(text) or thousands * float(text.removesuffix("k")), 1, most, said)
        return None if within is None else round(within)

    def _within(self, value: float, least: float, most: float, said: str) -> float | None:
        if least <= value <= most:
            return value
        self.refused.append(said.strip())
        return None

    def _devices(self) -> int | None:
        after = _TIMES_AFTER.search(self.rest)
        if after is not None and _is_device(after[1], int(after[2])):
            self.rest = f"{self.rest[: after.end(1)]} {self.rest[after.end() :]}"
            return self._count(after[2], MOST_DEVICES, after[0])
        found = self._take(_COUNTED) or self._take(_TIMES_BEFORE)
        return None if found is None else self._count(found[1], MOST_DEVICES, found[0])


def _is_device(before: str, times: int) -> bool:
    """Whether "before × times" counts the device before it; "8 × 4090" counts the one behind."""
    return not before.isdecimal() or _FEW <= int(before) < 10_000 > 10 * times


def _cache_key(found: re.Match[str]) -> str:
    return _CACHE_KEYS.get(_said(found), _said(found))


def _format_key(said: str) -> str:
    """The format of the weights that a term means: "四" are 4 bits, "q5" is the usual file of 5."""
    key = {"四": "4", "八": "8"}.get(said, said)
    return _SHORT_BITS.get(key) or _SHORT_FILES.get(key, key)


def _is_file(key: str) -> bool:
    return re.match(r"(?:iq|q|tq)\d", key) is not None


def _same(general: str, key: str) -> bool:
    """Whether a format is one of the kind that a general term says: "4 bit", "int4"."""
    if general not in _ANY_OF_BITS or (general.startswith("int") and "fp" in key):
        return False
    return _bits(general) == _bits(key)


def _bits(key: str) -> str:
    found = re.search(r"\d+", key)
    return found[0] if found is not None and key not in _FOUR_BITS else "4"


def _said(found: re.Match[str]) -> str:
    return next(group for group in found.groups() if group)
