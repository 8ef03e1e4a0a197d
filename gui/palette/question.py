"""A whole question typed into the search: "qwen3-32b 4 bit 2x3090 16 users 16k" sets all of it at once.

Read are terms (``gui.palette.terms``) and the names of a model and a device; words that are neither, nor
filling between them, are named beside what was understood.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from core.catalog.search import in_latin, is_size
from core.errors import InferometerError
from core.spec.accelerator import Accelerator
from core.spec.change import with_value
from core.spec.checks import runs_on
from core.spec.engine import EngineName
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS, gguf_key
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.support import engines_on, releases_of, supported_weights, weight_formats_of
from core.units import editable, show_count, show_tokens
from core.words import Words, counted
from gui.catalogue import Catalogue
from gui.forms.choices import engine_label
from gui.forms.consequences import (
    Changes,
    accelerator_changes,
    count_changes,
    engine_changes,
    layout_changes,
    model_changes,
    preset_changes,
)
from gui.forms.layouts import Layout, layout_of
from gui.palette.names import MAKERS, bare, holds, is_memory, named_by
from gui.palette.numerals import NUMBERS, without_separators
from gui.palette.precision import OWN_FILES, formats, is_narrow_cache, placed
from gui.palette.terms import MOST_DEVICES, Terms

Step = Callable[[Scenario], Changes]
Parts = list[tuple[str, Step]]
_LONGEST_NAME = 5  # words of a device's name
_LONGEST_MODEL = 8
# Words of a sentence around the names.
_FILLING = re.compile(
    "a|an|the|on|in|of|at|for|with|and|or|to|does|do|it|is|fit|fits|run|runs|will|can|gpu|gpus|cards?|each|tokens?|weights?"
    "|[-–—_/+&|:=~]+|(?:在|上|下|用|能|吗|放|跑|运行|和|或者?|每|个|人|张|卡|的|权重|部署|推理|多少|几|上下文|长度)+"
)
_BETWEEN = re.compile(r"(?<=[\w.+-])(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=[a-z0-9])")
_MARKS = re.compile(r"[?？,，。;；、：!！()（）]")


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked for, in words, and what to set for it."""

    parts: tuple[str, ...]
    steps: tuple[Step, ...]
    unknown: tuple[str, ...] = ()  # words that say nothing known, as typed
    twice: tuple[str, ...] = ()  # what contradicts something that is taken, as typed

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
        engine = engine_label(scenario.engine.name, scenario.engine.version, words)
        if scenario.engine.name in OWN_FILES and "engine.name" not in asked and engine not in self.parts:
            found = {"engine.name": engine, **found}  # it decides which formats there are
        if is_narrow_cache(scenario):
            found["precision.kv_cache"] = f"KV {CACHE_FORMATS[scenario.precision.kv_cache].label}"
        if "workload.load" in asked:
            pass  # users or requests, and they were said
        elif work.load == "requests":
            found["workload.request_rate"] = words("palette.rate", rate=editable(work.request_rate, "1/s"))
        else:
            found["workload.users"] = words.phrase(counted("units.users", work.users))
        found["workload.prompt_tokens"] = words("compare.prompt", tokens=show_tokens(work.prompt_tokens))
        if "accelerator" in asked and scenario.deployment.accelerators > 1:
            found["deployment.accelerators"] = f"{show_count(scenario.deployment.accelerators)} × GPU"
        return {path: text for path, text in found.items() if path not in asked}


def question_of(text: str, scenario: Scenario, shelf: Catalogue, words: Words) -> Question | None:
    """The question that a text asks; None for a text that is none, or nothing but one name."""
    terms = Terms(" ".join(_MARKS.sub(" ", without_separators(text.lower())).split()))
    left = _BETWEEN.sub(" ", in_latin(terms.rest)).split()
    device, count, left = _device(left, shelf)
    left = [word for word in left if not _FILLING.fullmatch(word)]
    model, unknown = _model(left, shelf)
    if device is not None:
        unknown = tuple(word for word in unknown if word not in MAKERS)
    unknown = _second(unknown, device, model, terms, shelf)
    count = terms.devices if terms.devices is not None else count
    found: Parts = []  # in the order in which one may change what comes after
    if model is not None:
        found.append((model.name, lambda s: model_changes(s, model)))
    engine = _engine_name(terms, scenario, device)
    found += _engine_part(terms, engine, scenario, words)
    found += _hardware_parts(terms, device, count)
    asked = formats(terms, engine, scenario, model, device)
    behind = [*_work_parts(terms, words), *_target_parts(terms, words)]
    follows = not terms.engine and engine != scenario.engine.name and not terms.gguf
    said = len(found) - follows + sum(one.said for one in asked) + len(behind)
    alone = said == 1 and not terms.weights
    bare = model is not None or (device is not None and count is None) or terms.engine is not None
    if not said or (alone and bare):
        return None  # a name alone is found as such
    found += [(one.label, one.changes) for one in asked] + behind
    unknown = tuple(dict.fromkeys((*unknown, *terms.refused)))
    parts, twice = tuple(part for part, _ in found if part), tuple(dict.fromkeys(terms.twice))
    question = Question(parts, tuple(step for _, step in found), unknown, twice)
    return _cut(question, terms, scenario, words)


def _second(
    left: tuple[str, ...], device: Accelerator | None, model: Model | None, terms: Terms, shelf: Catalogue
) -> tuple[str, ...]:
    """What is left without a second device or model, which are not taken."""
    more, rest = (None, left) if model is None else _model(list(left), shelf)
    other, _, last = (None, None, list(rest)) if device is None else _device(list(rest), shelf)
    if more is not None or other is not None:
        terms.twice += [word for word in left if word not in last]
    return tuple(last)


def _cut(question: Question, terms: Terms, scenario: Scenario, words: Words) -> Question:
    """The question with the lengths that are set, where those that were said are too long."""
    if terms.prompt_tokens is None and terms.output_tokens is None:
        return question
    try:
        now = dict(question.changes(scenario))
    except InferometerError:  # it is told when it is asked for
        return question
    prompt, output = terms.prompt_tokens, terms.output_tokens
    read = None if prompt is None else int(str(now["workload.prompt_tokens"]))
    written = None if output is None else int(str(now["workload.output_tokens"]))
    if (read, written) == (prompt, output):
        return question
    asked, most = _length_text(prompt, output, words), _length_text(read, written, words)
    told = words("palette.most", lengths=most)
    return replace(question, parts=tuple(told if part == asked else part for part in question.parts))


def _engine_name(terms: Terms, scenario: Scenario, device: Accelerator | None) -> EngineName:
    """The engine that was named, or one that loads the files and runs on the device that were named."""
    name: EngineName = terms.engine or scenario.engine.name
    if terms.gguf and gguf_key(terms.gguf) in WEIGHT_FORMATS:
        name = name if gguf_key(terms.gguf) in weight_formats_of(name) else "llamacpp"
    if device is not None and not terms.engine and not runs_on(placed(scenario, device, name)):
        name = next(iter(engines_on(scenario, device)), name)
    return name


def _engine_part(terms: Terms, name: EngineName, scenario: Scenario, words: Words) -> Parts:
    release = _release(terms, name)
    if name == scenario.engine.name and release in ("", scenario.engine.version):
        # Said, but as it is: it is confirmed.
        return [(engine_label(name, scenario.engine.version, words), lambda _s: [])] if terms.engine else []
    release = release or releases_of(name)[0]
    return [(engine_label(name, release, words), lambda s: engine_changes(s, f"{name} {release}"))]


def _release(terms: Terms, name: EngineName) -> str:
    """The release that was said, as it is offered; one that is not offered was not understood."""
    said = terms.release
    for release in releases_of(name):
        whole, part = f"{release}.", f"{said}."
        if said and (part.startswith(whole) or whole.startswith(part)):
            return release
    if said:
        terms.refused.append(said)
    return ""


def _hardware_parts(terms: Terms, device: Accelerator | None, count: int | None) -> Parts:
    found: Parts = []
    if device is not None:
        found.append((_hardware_text(device, count), _device_step(device, count)))
    elif count is not None:
        found.append((f"{show_count(count)} × GPU", lambda s: count_changes(s, count, layout_of(s))))
    if terms.layout:
        said = " ".join(f"{name.upper()} {size}" for name, size in terms.layout.items())
        found.append((said, _layout_step(terms.layout, count)))
    return found


def _layout_step(said: dict[str, int], count: int | None) -> Step:
    """The layout that was named; the number of devices follows where nobody said it and it does not fit."""

    def step(scenario: Scenario) -> Changes:
        now, experts, copies = layout_of(scenario), said.get("ep", 1), said.get("dp", 1)
        tensor = said.get("tp", now.tensor if now.tensor % experts == 0 else experts)
        stages = said.get("pp", now.pipeline if "tp" not in said else 1)
        divides = count is not None and count % (tensor * stages) == 0
        spread = "dp" in said or ("pp" in said and not divides)  # "2x 4090 pp2" leaves no two for a layer
        if count is not None and spread and "tp" not in said and count % (copies * stages) == 0:
            tensor = count // (copies * stages)
        devices = now.devices
        changes: Changes = []
        group = tensor * stages
        if count is None and (devices % group or ("dp" in said and devices != copies * group)):
            devices = copies * group
            changes.append(("deployment.accelerators", devices))
        changes += layout_changes(scenario, Layout(devices, tensor, stages))
        return [*changes, ("deployment.expert_parallel", experts)] if "ep" in said else changes

    return step


def _work_parts(terms: Terms, words: Words) -> Parts:
    found: Parts = []
    if terms.users is not None:
        found.append((words.phrase(counted("units.users", terms.users)), _users_step(terms.users)))
    elif terms.request_rate is not None:
        rate = terms.request_rate
        load: Changes = [("workload.load", "requests"), ("workload.request_rate", rate)]
        found.append((words("palette.rate", rate=editable(rate, "1/s")), lambda _s: load))
    prompt, output = terms.prompt_tokens, terms.output_tokens
    if prompt is not None or output is not None:
        found.append((_length_text(prompt, output, words), _length_step(prompt, output)))
    return found


def _length_text(prompt: int | None, output: int | None, words: Words) -> str:
    said = [words("compare.prompt", tokens=show_tokens(prompt))] if prompt is not None else []
    said += [words("palette.output", tokens=show_tokens(output))] if output is not None else []
    return " · ".join(said)


def _target_parts(terms: Terms, words: Words) -> Parts:
    found: Parts = []
    if (first := terms.first_token_s) is not None:
        said = words("palette.first_token", limit=f"{editable(first, 's')} s")
        found.append((said, lambda _s: [("targets.time_to_first_token_s", first)]))
    if terms.per_token_s is not None:
        limit = round(1000 * terms.per_token_s, 6)
        said = words("palette.per_token", limit=f"{editable(limit, 'ms')} ms")
        found.append((said, lambda _s: [("targets.time_per_output_token_ms", limit)]))
    return found


def _device(left: list[str], shelf: Catalogue) -> tuple[Accelerator | None, int | None, list[str]]:
    """The device that words in a row name, how many of it, and the words that are left."""
    for size in range(min(_LONGEST_NAME, len(left)), 0, -1):
        for start in range(len(left) - size + 1):
            said = left[start : start + size]
            several = [word.removesuffix("s") for word in said]  # "two 3090s", but an L40S is one
            device = _named_device(said, shelf) or _named_device(several, shelf)
            if device is None:
                continue
            before = left[start - 1] if start else ""
            if before and _named_model([before, *said], shelf) is not None:
                continue  # "MiniMax M2" is no Apple M2
            count = int(before) if before.isdecimal() else NUMBERS.get(before)
            if count is not None and not 1 <= count <= MOST_DEVICES:
                return None, None, left
            first = start if count is None else start - 1
            return device, count, [*left[:first], *left[start + size :]]
    return None, None, left


def _named_device(said: list[str], shelf: Catalogue) -> Accelerator | None:
    if _FILLING.fullmatch(said[0]) or _FILLING.fullmatch(said[-1]):
        return None
    query, wanted = " ".join(said), [bare(word) for word in said]
    whole = shelf.search_accelerators(query, mend=False)[:1]
    if whole and bare(whole[0].name) == "".join(wanted):
        return whole[0]  # "Gaudi 2"
    if any(len(word) < 2 or (word.isdecimal() and len(word) < 3) for word in wanted):
        return None
    if not any(c.isdigit() for c in "".join(wanted)) or all(is_memory(word) for word in wanted):
        return None  # "rtx" or "24gb" alone name none
    hits = shelf.search_accelerators(query)
    return next((hit for hit in hits if all(holds(hit.name, word) for word in wanted)), None)


def _model(left: list[str], shelf: Catalogue) -> tuple[Model | None, tuple[str, ...]]:
    """The model that words in a row name, the most words that do, and the words that are left."""
    for size in range(min(_LONGEST_MODEL, len(left)), 0, -1):
        for start in range(len(left) - size + 1):
            model = _named_model(left[start : start + size], shelf)
            if model is not None:
                return model, (*left[:start], *left[start + size :])
    return None, tuple(left)


def _named_model(said: list[str], shelf: Catalogue) -> Model | None:
    if all(len(bare(word)) < 2 for word in said):
        return None
    query = " ".join(said)
    found = shelf.search_models(query)
    hits = [hit for hit in found if bare(query) in map(bare, hit.aliases)]  # "dsv3"
    hits = hits or [hit for hit in found if named_by(said, hit.name, hit.family)]
    if not hits and any(is_size(word) for word in said):
        # "671b" is in no name; the catalogue knows the size.
        plain = shelf.search_models(query, mend=False)
        hits = [hit for hit in plain if named_by(said, hit.name, hit.family, sizes=True)]
    try:
        return shelf.model(hits[0].id) if hits else None
    except InferometerError:
        return None


def _hardware_text(device: Accelerator, count: int | None) -> str:
    return device.name if count is None else f"{show_count(count)} × {device.name}"


def _device_step(device: Accelerator, count: int | None) -> Step:
    whole_computer = device.unified_memory and device.scale_up.max_devices < 2
    devices = 1 if count is None and whole_computer else count  # nobody means several of them

    def step(scenario: Scenario) -> Changes:
        changes = accelerator_changes(scenario, device)
        tried = scenario.model_copy(update={"accelerator": device})
        if devices is not None:
            changes += count_changes(tried, devices, layout_of(scenario))
        weights = supported_weights(tried)
        if weights != scenario.precision.weights:
            changes.append(("precision.weights", weights))
        return changes

    return step


def _users_step(number: int) -> Step:
    """So many users; a target of the capacity asks for as many."""

    def step(scenario: Scenario) -> Changes:
        changes: Changes = [("workload.load", "users"), ("workload.users", number)]
        if scenario.targets.users is not None:
            changes.append(("targets.users", number))
        return changes

    return step


def _longest(scenario: Scenario) -> int:
    """Tokens of the longest request that the engine may be set to."""
    engine = scenario.engine
    most = max(engine.max_model_len, engine.separate_slots * scenario.model.max_context)
    return engine.model_copy(update={"max_model_len": most}).longest_request


def _length_step(prompt: int | None, output: int | None) -> Step:
    def step(scenario: Scenario) -> Changes:
        work = scenario.workload
        read = work.prompt_tokens if prompt is None else prompt
        written = work.output_tokens if output is None else output
        if output is not None and (prompt is None or output >= read):
            longest = _longest(scenario)
            written = min(written, max(longest - read, longest // 2))
        lengths = {
            "prompt_tokens": read,
            "output_tokens": written,
            "shared_prefix_tokens": min(work.shared_prefix_tokens, read - 1),
        }
        return preset_changes(scenario, lengths)

    return step
