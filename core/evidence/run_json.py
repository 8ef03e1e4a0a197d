"""A run as a JSON tree and back: what the log of runs stores and what files of runs hold.

A tree holds only what is stated: {"origin": {"tool": …}, "setting": {…}, "figures":
{"time_to_first_token": {"p50": 0.12}}, "ledger": {…}, "operators": [[name, seconds, calls]],
"started_at", "label", "conversions": [{"key": …, "values": {…}}], "rest": {…}, "log": [[number, text,
"lines of the ledger"]]}.  An unlimited request rate is the text "inf", since JSON has no such number.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from core.errors import Problem, UnreadableFile
from core.evidence.quotes import quotes_from, quotes_tree
from core.evidence.run import FIGURES, STATISTICS, Operator, Origin, Run, Setting
from core.strict_json import shortened
from core.words import Phrase

_TYPES: dict[str, type] = {
    "<class 'str'>": str,
    "int | None": int,
    "bool | None": bool,
    "float | None": float,
}
_KINDS: dict[str, Any] = {f.name: _TYPES[str(f.type)] for f in fields(Setting)}
_BARE: dict[str, Phrase] = {}  # phrases without values, which are the same in thousands of runs
_MOST_BARE = 1000
_KEYS = {(figure, statistic): (figure, statistic) for figure in FIGURES for statistic in STATISTICS}
_EMPTY_SETTING = Setting()
_MAX_TEXT = 1000
_MAX_PARTS = 2000  # lines of a ledger, conversions, kept fields; operators may be more
_MAX_OPERATORS = 100_000
_MOST = 1e18


def to_tree(run: Run) -> dict[str, Any]:
    """The run as JSON values; what is not stated is left out."""
    origin = run.origin
    tree: dict[str, Any] = {
        "origin": {
            "tool": origin.tool,
            **({"tool_version": origin.tool_version} if origin.tool_version else {}),
            **({"file": origin.file} if origin.file else {}),
            **({"line": origin.line} if origin.line else {}),
        }
    }
    setting = {
        name: "inf" if value == math.inf else value
        for name in _KINDS
        if (value := getattr(run.setting, name)) is not None and value != ""
    }
    figures: dict[str, dict[str, float]] = {}
    for (figure, statistic), value in run.figures.items():
        figures.setdefault(figure, {})[statistic] = value
    parts: dict[str, Any] = {
        "setting": setting,
        "figures": figures,
        "ledger": dict(run.ledger),
        "operators": [[one.name, one.seconds, one.calls] for one in run.operators],
        "started_at": run.started_at,
        "label": run.label,
        "conversions": [_phrase_tree(phrase) for phrase in run.conversions],
        "rest": dict(run.rest),
        "log": quotes_tree(run.log),
    }
    return tree | {name: part for name, part in parts.items() if part}


def from_tree(tree: object) -> Run:
    """The run of a tree.

    Raises UnreadableFile with ``run.field`` {field, text}: a field that is missing, of another kind, or
    out of range.  Fields that are not known are passed over: they are of a later version.
    """
    if type(tree) is not dict:
        raise _refused("", tree)
    figures: dict[tuple[str, str], float] = {}
    for figure, statistics in _part(tree, "figures").items():
        if type(statistics) is not dict:
            raise _refused(f"figures.{figure}", statistics)
        for statistic, value in statistics.items():
            key = _KEYS.get((figure, statistic))
            if key is None:
                continue
            figures[key] = _positive(value, "figures", figure, statistic)
    setting = tree.get("setting")
    return assembled(tree, _EMPTY_SETTING if setting is None else setting_of(setting), figures)


def assembled(tree: dict[str, Any], setting: Setting, figures: dict[tuple[str, str], float]) -> Run:
    """The run of a tree with this setting and these figures; raises as ``from_tree`` does."""
    part = tree.get
    ledger, operators, conversions, log = part("ledger"), part("operators"), part("conversions"), part("log")
    return Run(
        _origin(part("origin")),
        setting,
        figures,
        {} if ledger is None else _ledger(tree),
        () if operators is None else _operators(operators),
        _text(part("started_at", ""), "started_at"),
        _text(part("label", ""), "label"),
        () if conversions is None else _conversions(conversions),
        _part(tree, "rest"),
        () if log is None else quotes_from(log),
    )


def _refused(field: str, value: object) -> UnreadableFile:
    return UnreadableFile(
        Problem("run.field", (), {"field": field or "run", "text": shortened(str(value)[:80])})
    )


def _part(tree: dict[str, Any], name: str) -> dict[str, Any]:
    part = tree.get(name)
    if part is None:
        return {}
    if type(part) is not dict or len(part) > _MAX_PARTS:
        raise _refused(name, part)
    return part


def _ledger(tree: dict[str, Any]) -> dict[str, float]:
    return {_name(key): _positive(value, "ledger", key) for key, value in _part(tree, "ledger").items()}


def _name(key: str) -> str:
    if len(key) > _MAX_TEXT:
        raise _refused("ledger", key)
    return key


def _text(value: object, field: str) -> str:
    if type(value) is not str or len(value) > _MAX_TEXT:
        raise _refused(field, value)
    return value


def _positive(value: object, *field: str) -> float:
    if (type(value) is float or type(value) is int) and 0 <= value <= _MOST:
        return float(value)
    raise _refused(".".join(field), value)


def _origin(tree: object) -> Origin:
    if type(tree) is not dict:
        raise _refused("origin", tree)
    stated: Any = tree.get
    tool, version, file, line = (
        stated("tool"),
        stated("tool_version", ""),
        stated("file", ""),
        stated("line", 0),
    )
    if type(line) is not int or not 0 <= line <= _MOST:
        raise _refused("origin.line", line)
    if not (
        type(tool) is type(version) is type(file) is str and len(tool) + len(version) + len(file) < _MAX_TEXT
    ):
        _text(tool, "origin.tool")
        _text(version, "origin.tool_version")
        _text(file, "origin.file")
    return Origin(tool, version, file, line)


def setting_of(tree: object) -> Setting:
    """The setting of a tree; raises as ``from_tree`` does."""
    if type(tree) is not dict:
        raise _refused("setting", tree)
    known, plain = _KINDS.get, True
    endless: tuple[str, ...] = ()
    for name, value in tree.items():
        kind = known(name)
        if type(value) is kind:
            if kind is str:
                good = len(value) <= _MAX_TEXT
            elif kind is float:
                good = 0.0 <= value <= _MOST
            else:
                good = abs(value) <= _MOST
            if not good:
                raise _refused(f"setting.{name}", value)
        elif kind is float and value == "inf":
            endless = (*endless, name)
        else:
            plain = False
    if not plain:
        return Setting(**_converted(tree))
    return Setting(**(tree | dict.fromkeys(endless, math.inf) if endless else tree))


def _converted(tree: dict[str, Any]) -> dict[str, Any]:
    """Without what is not known or not stated, whole numbers and "inf" as the numbers they stand for."""
    values: dict[str, Any] = {}
    for name, value in tree.items():
        kind = _KINDS.get(name)
        if kind is None or value is None:
            continue
        if kind is float and value == "inf":
            values[name] = math.inf
        elif kind is float and type(value) is int and 0 <= value <= _MOST:
            values[name] = float(value)
        elif type(value) is kind:
            values[name] = value
        else:
            raise _refused(f"setting.{name}", value)
    return values


def _operators(tree: object) -> tuple[Operator, ...]:
    if type(tree) is not list or len(tree) > _MAX_OPERATORS:
        raise _refused("operators", tree)
    found = []
    for row in tree:
        if type(row) is not list or len(row) != 3 or type(row[2]) is not int or not 0 <= row[2] <= _MOST:
            raise _refused("operators", row)
        found.append(Operator(_text(row[0], "operators"), _positive(row[1], "operators"), row[2]))
    return tuple(found)


def _phrase_tree(phrase: Phrase) -> dict[str, Any]:
    values = {
        name: _phrase_tree(value) if isinstance(value, Phrase) else value
        for name, value in phrase.values.items()
    }
    return {"key": phrase.key, "values": values} if values else {"key": phrase.key}


def _conversions(tree: object) -> tuple[Phrase, ...]:
    if type(tree) is not list or len(tree) > _MAX_PARTS:
        raise _refused("conversions", tree)
    return tuple(_phrase(part, 0) for part in tree)


def _phrase(tree: object, depth: int) -> Phrase:
    if type(tree) is not dict or depth > 3:
        raise _refused("conversions", tree)
    given = tree.get("values")
    if given is None:
        key = _text(tree.get("key"), "conversions")
        known = _BARE.get(key)
        if known is None:
            known = Phrase(key)
            if len(_BARE) < _MOST_BARE:
                _BARE[key] = known
        return known
    if type(given) is not dict:
        raise _refused("conversions", given)
    values: Mapping[str, object] = {
        name: _phrase(value, depth + 1) if type(value) is dict else value for name, value in given.items()
    }
    return Phrase(_text(tree.get("key"), "conversions"), values)
