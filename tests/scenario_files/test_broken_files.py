"""Broken files: a sentence that names the field and the reason, never a traceback."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.errors import InferometerError, InvalidScenario
from core.files import scenario_file
from core.files.opening import open_document
from core.units import parse_quantity
from core.words import Words

Edit = Callable[[dict[str, Any]], object]


def sentences(path: Path) -> list[str]:
    """What a person reads when the file is opened; every place in the texts filled."""
    with pytest.raises(InferometerError) as refused:
        open_document(path)
    said = [Words("en").located(problem) for problem in refused.value.problems]
    for sentence in said:
        assert not sentence.startswith("problems."), sentence
        assert len(sentence) < 300
        assert "\n" not in sentence
    return said


def layer(tree: dict[str, Any]) -> dict[str, Any]:
    groups: list[dict[str, Any]] = tree["model"]["architecture"]["groups"]
    return groups[0]


GROUP = "model.architecture.groups.0"

EDITED: dict[str, tuple[Edit, str, str]] = {
    # name: (edit of a good file, field that the sentence names, reason that it gives)
    "missing section": (lambda t: t.pop("model"), "model", "is missing"),
    "missing field": (
        lambda t: layer(t)["token_mixer"].pop("heads"),
        f"{GROUP}.token_mixer.heads",
        "is missing",
    ),
    "missing kind": (
        lambda t: layer(t)["token_mixer"].pop("kind"),
        f"{GROUP}.token_mixer.kind",
        "is missing",
    ),
    "misspelt field": (lambda t: t["workload"].update(usres=4), "workload.usres", "not a field"),
    "unknown section": (lambda t: t.update(quantum={}), "quantum", "not a field"),
    "text for a number": (
        lambda t: t["workload"].update(users="16"),
        "workload.users",
        "whole number, but is 16",
    ),
    "fraction for a count": (
        lambda t: t["workload"].update(users=1.5),
        "workload.users",
        "whole number, but is 1.5",
    ),
    "true for a number": (
        lambda t: t["workload"].update(users=True),
        "workload.users",
        "whole number, but is true",
    ),
    "null for a number": (
        lambda t: t["workload"].update(users=None),
        "workload.users",
        "whole number, but is null",
    ),
    "number for a text": (lambda t: t["precision"].update(weights=16), "precision.weights", "must be a text"),
    "number for a switch": (
        lambda t: t["engine"].update(enforce_eager=1),
        "engine.enforce_eager",
        "true or false",
    ),
    "list for a section": (lambda t: t.update(workload=[]), "workload", "group of fields"),
    "section for a list": (
        lambda t: t["model"]["architecture"].update(groups={}),
        "model.architecture.groups",
        "must be a list",
    ),
    "text for a layer": (
        lambda t: layer(t).update(token_mixer="mha"),
        f"{GROUP}.token_mixer",
        "group of fields",
    ),
    "nothing in a list": (
        lambda t: t["model"]["architecture"].update(groups=[]),
        "model.architecture.groups",
        "at least 1",
    ),
    "zero users": (lambda t: t["workload"].update(users=0), "workload.users", "at least 1, but is 0"),
    "negative bandwidth": (
        lambda t: t["accelerator"].update(memory_bandwidth_gbps=-1),
        "accelerator.memory_bandwidth_gbps",
        "at least 0.1",
    ),
    "too many users": (lambda t: t["workload"].update(users=10**12), "workload.users", "at most 1,000,000"),
    "no compute": (
        lambda t: t["accelerator"]["peak_tflops"].update(fp16=0),
        "accelerator.peak_tflops.fp16",
        "at least 0.001",
    ),
    "unknown engine": (lambda t: t["engine"].update(name="warp"), "engine.name", "one of vllm"),
    "unknown layer": (
        lambda t: layer(t)["token_mixer"].update(kind="retention"),
        f"{GROUP}.token_mixer.kind",
        "one of attention",
    ),
    "empty name": (lambda t: t["model"].update(name=""), "model.name", "empty"),
    "endless name": (lambda t: t["model"].update(name="x" * 10_000), "model.name", "at most 300 characters"),
    "half a character": (lambda t: t.update(name="\ud800"), "name", "half of a character"),
    "half a character as a key": (
        lambda t: t["accelerator"]["sources"].update({"\udfff": "x"}),
        "accelerator.sources",
        "half of a character",
    ),
    "no schema": (lambda t: t.pop("schema"), "schema", "is missing"),
    "schema as text": (lambda t: t.update(schema="1"), "schema", "whole number"),
    "schema zero": (lambda t: t.update(schema=0), "schema", "at least 1"),
    "schema true": (lambda t: t.update(schema=True), "schema", "whole number"),
    "not a number": (
        lambda t: t["workload"].update(request_rate=float("nan")),
        "workload.request_rate",
        "NaN",
    ),
    "infinity": (
        lambda t: t["workload"].update(request_rate=float("inf")),
        "workload.request_rate",
        "Infinity",
    ),
    "ten thousand digits": (
        lambda t: t["workload"].update(users="HUGE"),
        "workload.users",
        "ordinary number",
    ),
    "beyond a double": (
        lambda t: t["workload"].update(request_rate="1e999"),
        "workload.request_rate",
        "ordinary number",
    ),
    "unknown weight format": (lambda t: t["precision"].update(weights="fp3"), "precision.weights", "fp3"),
    "unknown cache format": (lambda t: t["precision"].update(kv_cache="fp3"), "precision.kv_cache", "fp3"),
}


@pytest.mark.parametrize("case", EDITED)
def test_an_edited_file_names_field_and_reason(case: str, samples: list[Path], tmp_path: Path) -> None:
    edit, field, reason = EDITED[case]
    tree = json.loads(samples[0].read_text(encoding="utf-8"))
    edit(tree)
    text = json.dumps(tree).replace('"HUGE"', "9" * 10_000).replace('"1e999"', "1e999")
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    said = sentences(path)
    assert any(field in sentence and reason in sentence for sentence in said), said


WHOLE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda b: b"", "empty"),
    "only spaces": (lambda b: b" \n\t ", "empty"),
    "cut off": (lambda b: b[: len(b) // 2], "cut off"),
    "cut off inside a text": (lambda b: b[: b.index(b'"schema"') + 4], "cut off"),
    "one comma too many": (lambda b: b.replace(b'"schema": 1,', b'"schema": 1,,'), "line 3, column 15"),
    "binary": (lambda b: bytes(range(256)) * 10, "not text"),
    "zeros": (lambda b: b"\0" * 1000, "not text"),
    "UTF-16": (lambda b: b.decode().encode("utf-16"), "not text"),
    "too large": (lambda b: b + b" " * (20 * 2**20), "larger than 6 MiB"),
    "nested too deep": (lambda b: b"[" * 100_000, "deep"),
    "nested too deep and closed": (lambda b: b"[" * 900 + b"]" * 900, "deep"),
    "doubled field": (
        lambda b: b.replace(b'"schema": 1,', b'"schema": 1, "schema": 1,'),
        "schema appears twice",
    ),
    "a bare number": (lambda b: b"42", "neither a scenario"),
    "null": (lambda b: b"null", "neither a scenario"),
    "another program's JSON": (lambda b: b'{"hello": "world"}', "neither a scenario"),
    "a model's config": (lambda b: b'{"model_type": "llama", "hidden_size": 4096}', "num_hidden_layers"),
    "a web page": (lambda b: b"<!doctype html><html></html>", "line 1, column 1"),
    "code": (lambda b: b"__import__('os').system('true')", "line 1, column 1"),
}


@pytest.mark.parametrize("case", WHOLE)
def test_a_file_that_is_no_scenario(case: str, samples: list[Path], tmp_path: Path) -> None:
    spoil, reason = WHOLE[case]
    path = tmp_path / "broken.json"
    path.write_bytes(spoil(samples[0].read_bytes()))
    said = sentences(path)
    assert any(reason in sentence for sentence in said), said


def test_places_that_are_no_files(tmp_path: Path) -> None:
    assert "no file" in sentences(tmp_path / "absent.json")[0]
    assert "folder" in sentences(tmp_path)[0]
    assert "cannot be read" in sentences(tmp_path / ("n" * 300))[0]
    assert "cannot be read" in sentences(tmp_path / "nul\0.json")[0]
    if os.name == "posix":
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        assert "not a plain file" in sentences(pipe)[0]  # reading it would wait for ever
        assert "not a plain file" in sentences(Path("/dev/zero"))[0]


def test_only_the_first_problems_are_told(samples: list[Path], tmp_path: Path) -> None:
    tree = json.loads(samples[0].read_text(encoding="utf-8"))
    tree.update({f"unknown{n}": n for n in range(1000)})
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(tree))
    assert 1 <= len(sentences(path)) <= 10


def test_text_is_taken_as_well(samples: list[Path]) -> None:
    text = samples[0].read_text(encoding="utf-8")
    assert scenario_file.loads(text) == scenario_file.load(samples[0])


def test_an_empty_text_is_shown_where_a_number_is_wanted(samples: list[Path]) -> None:
    tree = json.loads(samples[0].read_text(encoding="utf-8"))
    tree["workload"]["users"] = ""
    with pytest.raises(InferometerError) as caught:
        scenario_file.loads(json.dumps(tree))
    told = Words("en").problem(caught.value.problems[0])
    assert told == 'workload.users must be a whole number, but is "".'


@pytest.mark.parametrize(
    ("text", "code"), [("1e309", "too_large"), ("-1e999 GB", "too_large"), ("5 apples", "unit")]
)
def test_a_number_beyond_all_is_not_called_a_unit(text: str, code: str) -> None:
    with pytest.raises(InvalidScenario) as caught:
        parse_quantity(text, "GB")
    assert caught.value.problems[0].code == f"number.{code}"
