"""Every word a person reads is in the catalogue, and every place in a text is filled."""

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.words import Words

ROOT = Path(__file__).resolve().parents[2]
# Texts that are handed on with their places open, and values that are added further on.
TEMPLATES = {"plots.users_axis"}
ADDED_LATER = {"catalog.": {"file"}}  # by core.catalog.entries.in_file
SOURCES = sorted(path for folder in ("core", "gui") for path in (ROOT / folder).rglob("*.py"))


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield node


def called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def literal(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def texts() -> dict[str, str]:
    flat: dict[str, str] = {}

    def walk(prefix: str, node: dict[str, Any]) -> None:
        for key, value in node.items():
            if isinstance(value, dict):
                walk(f"{prefix}{key}.", value)
            else:
                flat[prefix + key] = value

    walk("", json.loads((ROOT / "resources/i18n/en.json").read_text(encoding="utf-8")))
    return flat


def test_every_problem_in_the_code_has_a_sentence() -> None:
    known = texts()
    silent = {
        f"{path.relative_to(ROOT)}:{call.lineno} {code}"
        for path in SOURCES
        for call in calls(path)
        if called(call) == "Problem"
        and (code := literal(call)) is not None
        and f"problems.{code}" not in known
    }
    assert not silent


def test_every_phrase_in_the_code_has_a_text() -> None:
    known = texts()
    silent = set()
    for path in SOURCES:
        for call in calls(path):
            key = literal(call)
            if key is None:
                continue
            if called(call) in ("Phrase", "words", "_words") and key not in known:
                silent.add(f"{path.relative_to(ROOT)}:{call.lineno} {key}")
            if called(call) in ("counted", "numbered") and "." in key:
                missing = {key, f"{key}_one"} - set(known)
                silent |= {f"{path.relative_to(ROOT)}:{call.lineno} {m}" for m in missing}
    assert not silent


def test_texts_are_texts_with_sound_places() -> None:
    for key, text in texts().items():
        assert isinstance(text, str), key
        places = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        assert all(name.isidentifier() for name in places), key


def test_places_given_in_the_code_are_those_of_the_text() -> None:
    """For every problem, phrase and text whose values stand in the same line of code."""
    known = texts()
    wrong = set()
    for path in SOURCES:
        for call in calls(path):
            given = _given(call)
            key = literal(call)
            if given is None or key is None or key in TEMPLATES:
                continue
            given |= {
                name for prefix, names in ADDED_LATER.items() if key.startswith(prefix) for name in names
            }
            text = known.get(f"problems.{key}" if called(call) == "Problem" else key)
            if text is None:
                continue
            wanted = {name for _, name, _, _ in string.Formatter().parse(text) if name}
            if called(call) == "Problem":
                wanted.discard("field")  # filled from the path
            if not wanted <= given:
                wrong.add(f"{path.relative_to(ROOT)}:{call.lineno} {key} lacks {wanted - given}")
    assert not wrong


def _given(call: ast.Call) -> set[str] | None:
    """Names of the values of a call, None when they are made elsewhere."""
    if called(call) in ("words", "_words"):
        names = {keyword.arg for keyword in call.keywords}
        return None if None in names else {name for name in names if name}
    if called(call) not in ("Problem", "Phrase"):
        return None
    position = 2 if called(call) == "Problem" else 1
    values = call.args[position] if len(call.args) > position else None
    for keyword in call.keywords:
        values = keyword.value if keyword.arg == "values" else values
    if values is None:
        return set()
    if not isinstance(values, ast.Dict) or None in values.keys:
        return None
    return {str(key.value) for key in values.keys if isinstance(key, ast.Constant)}


def test_no_text_is_put_together_before_it_is_looked_up() -> None:
    """A sentence built in code cannot be translated: f-strings may only build keys, never prose."""
    prose = set()
    for path in SOURCES:
        for call in calls(path):
            first = call.args[0] if call.args else None
            if called(call) in ("words", "_words", "Phrase", "tr", "translate") and isinstance(
                first, ast.JoinedStr
            ):
                parts = [part.value for part in first.values if isinstance(part, ast.Constant)]
                if any(" " in str(part) for part in parts):
                    prose.add(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert not prose


def test_a_missing_key_is_seen_and_never_raises() -> None:
    assert Words("en")("no.such.key") == "no.such.key"
    assert Words("xx").language == "en"


def test_a_field_is_called_by_its_own_name_elsewhere() -> None:
    """What the form calls Output is no answer in search, Explore, Compare and exports."""
    known = texts()
    called_so = [
        *("palette.output", "compare.answer", "explore.at.workload.output_tokens", "export.heads.answer"),
        *("changes.workload.output_tokens", "changes.workload.output_tokens_one"),
    ]
    name = known["fields.workload.output_tokens.label"].lower()
    assert [key for key in called_so if name not in known[key].lower()] == []
    chinese = Words("zh_CN")
    assert [key for key in called_so if "输出" not in chinese(key)] == []
