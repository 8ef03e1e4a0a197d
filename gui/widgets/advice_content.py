"""What a suggestion says, as texts; no painting here."""

import math
from dataclasses import dataclass

from core.planning.suggestion import Effect, Suggestion
from core.units import Shown, memory_size, memory_unit, show_count, show_time, three_digits, time_in
from core.words import Words

_ROWS = 2  # effects on show; one more where the change itself misses a target
_NONE = "—"
# Settings whose names few know, and the word of the glossary that explains them.
_WORDS = {"attention_data_parallel": "dp_attention", "expert_parallel": "expert_parallel"}
_TIMES = ("time_to_first_token", "time_per_output_token")


@dataclass(frozen=True)
class EffectText:
    """One quantity before and after.  ``state``: "good" or "warn" with a mark, "" without."""

    name: str
    old: str
    new: Shown
    state: str = ""


@dataclass(frozen=True)
class SuggestionText:
    """One suggestion as it stands in the panel."""

    title: str
    effects: tuple[EffectText, ...]
    note: str  # what it costs
    tip: str
    spoken: str
    entry: str = ""  # word of the glossary that the title needs
    word: str = ""  # its name


def suggestion_text(suggestion: Suggestion, words: Words) -> SuggestionText:
    """A suggestion in a language."""
    title = words.phrase(suggestion.title)
    every = tuple(_effect(effect, words) for effect in suggestion.effects)
    count = _ROWS
    if any(effect.state == "warn" for effect in every[_ROWS : _ROWS + 1]):
        count += 1
    note = words.sentences(words.phrase(caution) for caution in suggestion.cautions)
    told = [_sentence(effect, words) for effect in every]
    purpose = words(f"advice.purposes.{suggestion.purpose}")
    reason = words.phrase(suggestion.reason)
    tip = "\n".join(part for part in (reason, *told, note) if part)
    spoken = words(
        "side.suggestion", title=title, purpose=purpose, effects=words("side.list_mark").join(told)
    )
    entry = _entry(suggestion)
    word = words(f"glossary.{entry}.name") if entry else ""
    return SuggestionText(title, every[:count], note, tip, spoken, entry, word)


def _entry(suggestion: Suggestion) -> str:
    """The word for what is turned on."""
    on = {change.path.rpartition(".")[2] for change in suggestion.changes if change.value not in (0, 1)}
    return next((entry for name, entry in _WORDS.items() if name in on), "")


def _sentence(effect: EffectText, words: Words) -> str:
    return words("side.effect", name=effect.name, old=effect.old, new=effect.new)


def _effect(effect: Effect, words: Words) -> EffectText:
    name = words(f"advice.effects.{effect.key}")
    state = {"meets": "good", "misses": "warn"}.get(effect.target, "")
    if effect.target == "misses" and effect.key == "memory_per_device":
        state = "bad"
    old, new = _pair(effect.key, effect.before, effect.after, words)
    return EffectText(name, old, new, state)


def _pair(key: str, before: float | None, after: float | None, words: Words) -> tuple[str, Shown]:
    """Both numbers in one unit, which stands once."""
    if key in _TIMES:
        finite = [v for v in (before, after) if v is not None and math.isfinite(v)]
        unit = show_time(max(finite)).unit if finite else ""
        old, new = (_endless(value, words) or _time(value, unit) for value in (before, after))
        return old, Shown(new, "" if _endless(after, words) else unit)
    if key == "memory_per_device":
        return _number(before, 1 / memory_size()), Shown(_number(after, 1 / memory_size()), memory_unit())
    if key in ("concurrent_users", "users"):
        return _whole(before), Shown(_whole(after), "")
    if key == "price":
        return _dollars(before), Shown(_dollars(after), "")
    unit = words("units.tok_per_s") if key == "output_throughput" else ""
    return _number(before, 1.0), Shown(_number(after, 1.0), unit)


def _time(seconds: float | None, unit: str) -> str:
    """Seconds in the unit that both numbers have."""
    return _NONE if seconds is None else time_in(seconds, unit)


def _number(value: float | None, factor: float) -> str:
    if value is None:
        return _NONE
    return three_digits(value * factor)


def _endless(value: float | None, words: Words) -> str:
    """What to say of a time that grows for as long as the load lasts; "" for any other."""
    return words("side.endless") if value is not None and math.isinf(value) else ""


def _whole(value: float | None) -> str:
    return _NONE if value is None else show_count(value)


def _dollars(value: float | None) -> str:
    return _NONE if value is None else f"${value:,.0f}"
