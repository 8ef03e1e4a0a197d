"""A whole question typed into the search: "qwen3-32b 4 bit 2x3090 16 users 16k" sets all of it at once.

Read are numbers with what they count, formats by their common names, and the names of a model and a device;
a text with any other word in it is no question.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import InferometerError
from core.spec.accelerator import Accelerator
from core.spec.change import with_value
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.support import nearest_weights
from core.units import parse_quantity, show_count, show_tokens
from core.words import Words, counted
from gui.catalogue import Catalogue
from gui.forms.consequences import Changes, accelerator_changes, count_changes, model_changes, preset_changes
from gui.forms.layouts import layout_of

Step = Callable[[Scenario], Changes]
_LONGEST_NAME = 4  # words of a device's name
_MOST_DEVICES, _MOST_USERS = 4096, 10**6
_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "eight": 8,
    "一": 1,
    "两": 2,
    "双": 2,
    "四": 4,
    "八": 8,
}
_COUNT = rf"\d+|{'|'.join(_NUMBERS)}"
_BITS = re.compile(r"(?<![\w.-])([48])\s*[- ]?(?:bits?\b|位|比特)")
_FORMAT = re.compile(r"(?<![\w-])(int4|int8|fp8|bf16|fp16|awq|gptq|nvfp4|mxfp4)(?![\w-])")
_USERS = re.compile(r"(\d+)\s*(?:concurrent\s+)?(?:users?\b|个?用户|并发|人)|(?:users|并发)\s*(\d+)(?![\w.])")
_LENGTH = re.compile(
    r"(?<![\w.-])(\d{1,7}(?:\.\d{1,3})?\s*[km])(?![\w-])\s*(?:tokens?|context|prompts?|ctx|上下文)?|(\d{3,7})\s*tokens?\b"
)
_TIMES = re.compile(rf"(?<![\w.-])({_COUNT})\s*(?:[x×*]|张|块|卡)\s*(?=[a-z\d])")
# Words of a sentence around the names.
_FILLING = re.compile(
    "a|an|the|on|in|of|at|for|with|and|to|does|do|it|is|fit|fits|run|runs|will|can|gpu|gpus|cards?|each|"
    "在|上|用|能|吗|放|跑|运行|和|每"
)
_KEYS = {
    "4": "awq_g128",
    "8": "fp8",
    "int4": "awq_g128",
    "awq": "awq_g128",
    "gptq": "gptq_g128",
    "int8": "w8a8",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked for, in words, and what to set for it."""

    parts: tuple[str, ...]
    steps: tuple[Step, ...]

    def changes(self, scenario: Scenario) -> Changes:
        """Everything to set, with what follows from each.  Raises InferometerError."""
        found: Changes = []
        for step in self.steps:
            more = step(scenario)
            for path, value in more:
                scenario = with_value(scenario, path, value)
            found += more
        return found

    def kept(self, scenario: Scenario, words: Words) -> dict[str, str]:
        """What counts, was not asked for and stays as it was, by field path.  Raises InferometerError."""
        asked, work = {path for path, _ in self.changes(scenario)}, scenario.workload
        weights = WEIGHT_FORMATS.get(scenario.precision.weights)
        found = {"precision.weights": weights.label.split(",")[0] if weights else scenario.precision.weights}
        if work.load == "users":
            found["workload.users"] = words.phrase(counted("units.users", work.users))
        found["workload.prompt_tokens"] = words("compare.prompt", tokens=show_tokens(work.prompt_tokens))
        return {path: text for path, text in found.items() if path not in asked}


def question_of(text: str, scenario: Scenario, shelf: Catalogue, words: Words) -> Question | None:
    """The question that a text asks; None for a text that is none, or nothing but one name."""
    rest = " ".join(re.sub(r"[?？,，。;；]", " ", text.lower()).split())
    rest, key = _taken(_FORMAT, *_taken(_BITS, rest))
    rest, users = _taken(_USERS, rest)
    rest, length = _taken(_LENGTH, rest)
    left = _TIMES.sub(r" \1 ", rest).split()
    device, count, left = _device(left, shelf)
    left = [word for word in left if not _FILLING.fullmatch(word)]
    model = _model(left, shelf) if left else None
    if left and model is None:
        return None
    found: list[tuple[str, Step]] = []  # in the order in which one may change what comes after
    if model is not None:
        found.append((model.name, lambda s: model_changes(s, model)))
    if device is not None:
        found.append((_hardware_text(device, count), _device_step(device, count)))
    if key:
        wanted = nearest_weights(scenario.engine.name, _KEYS.get(key, key))
        found.append(
            (WEIGHT_FORMATS[wanted].label.split(",")[0], lambda _scenario: [("precision.weights", wanted)])
        )
    if users and 1 <= int(users) <= _MOST_USERS:
        number = int(users)
        found.append((words.phrase(counted("units.users", number)), _users_step(number)))
    if length:
        tokens = max(1, round(parse_quantity(length, "tokens")))
        found.append((words("compare.prompt", tokens=show_tokens(tokens)), _length_step(tokens)))
    bare = model is not None or (device is not None and count is None)
    if not found or (len(found) == 1 and bare):
        return None  # a name alone is found as such
    return Question(tuple(part for part, _ in found), tuple(step for _, step in found))


def _taken(pattern: re.Pattern[str], text: str, before: str = "") -> tuple[str, str]:
    """The text without what the pattern found, and that; ``before`` where something was found already."""
    found = pattern.search(text)
    if found is None or before:
        return text, before
    said = next(group for group in found.groups() if group)
    return f"{text[: found.start()]} {text[found.end() :]}", said


def _bare(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.lower())


def _device(left: list[str], shelf: Catalogue) -> tuple[Accelerator | None, int | None, list[str]]:
    """The device that words in a row name, how many of it, and the words that are left."""
    for size in range(min(_LONGEST_NAME, len(left)), 0, -1):
        for start in range(len(left) - size + 1):
            said = left[start : start + size]
            device = _named_device([word.removesuffix("s") for word in said], shelf)
            if device is None:
                continue
            before = left[start - 1] if start else ""
            count = int(before) if before.isdecimal() else _NUMBERS.get(before)
            if count is not None and not 1 <= count <= _MOST_DEVICES:
                return None, None, left
            first = start if count is None else start - 1
            return device, count, [*left[:first], *left[start + size :]]
    return None, None, left


def _named_device(said: list[str], shelf: Catalogue) -> Accelerator | None:
    wanted = [_bare(word) for word in said]
    if any(len(word) < 2 or (word.isdecimal() and len(word) < 3) for word in wanted):
        return None
    if not any(c.isdigit() for c in wanted[0] + wanted[-1]):
        return None  # "rtx" alone names none
    hits = shelf.search_accelerators(" ".join(said))
    return next((hit for hit in hits if all(word in _bare(hit.name) for word in wanted)), None)


def _model(left: list[str], shelf: Catalogue) -> Model | None:
    wanted = [_bare(word) for word in left]
    for hit in shelf.search_models(" ".join(left)):
        name = _bare(hit.name)
        if all(word in name for word in wanted):
            try:
                return shelf.model(hit.id)
            except InferometerError:
                return None
    return None


def _hardware_text(device: Accelerator, count: int | None) -> str:
    return device.name if count is None else f"{show_count(count)} × {device.name}"


def _device_step(device: Accelerator, count: int | None) -> Step:
    def step(scenario: Scenario) -> Changes:
        changes = accelerator_changes(scenario, device)
        if count is None:
            return changes
        tried = scenario.model_copy(update={"accelerator": device})
        return [*changes, *count_changes(tried, count, layout_of(scenario))]

    return step


def _users_step(number: int) -> Step:
    return lambda _scenario: [("workload.load", "users"), ("workload.users", number)]


def _length_step(tokens: int) -> Step:
    def step(scenario: Scenario) -> Changes:
        work = scenario.workload
        lengths = {
            "prompt_tokens": tokens,
            "output_tokens": work.output_tokens,
            "shared_prefix_tokens": min(work.shared_prefix_tokens, tokens - 1),
        }
        return preset_changes(scenario, lengths)

    return step
