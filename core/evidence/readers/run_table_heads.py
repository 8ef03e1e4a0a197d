"""What the headers of a person's own log of runs mean, in English and in Chinese, with their units.

The patterns are in ``resources/data/evidence/run_table.json``.
"""

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import resources

_PERCENTILE = re.compile(r"p(25|50|75|90|95|99)(?!\d)")
_UNIT_WORD = r"[a-z%µ°℃\u4e00-\u9fff]{1,12}(?:[/_][a-z]{1,6})?"
_LONGEST = 200  # characters of a header
_BRACKETED = re.compile(r"(.{0,200}?)\s*[(\[（【]\s*([^)\]）】]{1,30})\s*[)\]）】]\s*")
# The unit is the last two words, or the last one: "throughput_tok_s", "gpu_memory_mib".
_WORDED = tuple(re.compile(rf"(.{{2,200}}{few})[\s_.-]+({_UNIT_WORD})") for few in ("?", ""))
_DIVIDED = re.compile(r"(.{1,200}?)\s*[,/，]\s*([^,/，]{1,30}(?:/[^,/，]{1,10})?)")


Kind = Literal["figure", "setting", "text", "label", "note", "when"]
_MARKS: tuple[Kind, ...] = ("label", "note", "when")


@dataclass(frozen=True, slots=True)
class Head:
    """What a column holds."""

    kind: Kind  # a setting is a number
    name: str = ""
    statistic: str = ""
    unit_kind: str = ""
    factor: float | None = None  # None: the header states no unit


@cache
def _data() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/evidence/run_table.json"))
    return tree


@cache
def _patterns(part: str) -> tuple[tuple["re.Pattern[str]", dict[str, Any]], ...]:
    return tuple((re.compile("|".join(entry["patterns"])), entry) for entry in _data()[part])


@cache
def _pattern(part: str) -> "re.Pattern[str]":
    return re.compile("|".join(_data()[part]))


@cache
def _every_unit() -> frozenset[str]:
    return frozenset(unit for units in _data()["units"].values() for unit in units if unit)


def factor_of(unit_kind: str, unit: str) -> float | None:
    """What makes a number in this unit ours; None for a unit that is not known."""
    factor: float | None = _data()["units"][unit_kind].get(unit)
    return factor


@lru_cache(4096)
def head_of(text: str) -> Head | None:
    """What a header means; None for one that is not known."""
    text = " ".join(text[:_LONGEST].split())  # long runs of spaces keep the patterns below busy for minutes
    plain, unit = _parted(text.lower())
    for kind_, figure in (("rate", "output_throughput"), ("requests", "request_throughput")):
        factor = factor_of(kind_, unit_of(text))  # a rate that is called by its unit alone
        if factor is not None:
            return Head("figure", figure, "mean", kind_, factor)
    if not unit:
        for kind in _MARKS:
            if _pattern(kind).fullmatch(plain):
                return Head(kind)
    if not unit or unit in _data()["units_of_settings"]:
        for pattern, entry in _patterns("settings"):
            if pattern.fullmatch(plain):
                factor = 0.01 if unit == "%" else 1.0
                return Head("setting" if entry["number"] else "text", entry["setting"], factor=factor)
    without = _PERCENTILE.sub("", plain)
    for pattern, entry in _patterns("figures"):
        if pattern.fullmatch(without) or pattern.fullmatch(plain):
            return _figure(plain, unit, entry)
    return None


def _figure(plain: str, unit: str, entry: dict[str, Any]) -> Head | None:
    kind: str = entry["kind"]
    factor = factor_of(kind, unit) if unit else None
    if unit and factor is None:
        return None
    statistic = "mean"
    if found := _PERCENTILE.search(plain):
        statistic = f"p{found[1]}"
    elif re.search(r"peak|max|峰值|最大", plain) and kind in ("memory", "power", "temperature"):
        statistic = "max"
    return Head("figure", entry["figure"], statistic, kind, factor)


def _parted(text: str) -> tuple[str, str]:
    """A header without marks, and its unit: in brackets, as its last word, after a slash or a comma."""
    bracketed = _BRACKETED.fullmatch(text)
    if bracketed is not None:
        return _plain(bracketed[1]), unit_of(bracketed[2])
    for form in (*_WORDED, _DIVIDED):
        found = form.fullmatch(text)
        if found is not None and unit_of(found[2]) in _every_unit():
            return _plain(found[1]), unit_of(found[2])
    return _plain(text), ""


def _plain(text: str) -> str:
    return re.sub(r"[\s_.:：/#-]+", "", text)


def unit_of(text: str) -> str:
    """A unit as the tables spell it: small letters without marks."""
    return re.sub(r"[\s_.·/]+|每", "", text.lower())
