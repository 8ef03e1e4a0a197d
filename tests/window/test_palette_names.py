"""A model or a device is chosen by its name, never by words that happen to be in one."""

from collections.abc import Callable

import pytest

from core.catalog.accelerators import search_accelerators
from core.catalog.models import search_models
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.palette.names import holds
from gui.palette.question import question_of

SHELF = Catalogue(None)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cuda 12 16 users", ("cuda", "12")),
        ("16 users, chat", ("chat",)),
        ("16 users base", ("base",)),
        ("16 用户 small", ("small",)),
        ("16 users mini instruct", ("mini", "instruct")),
        ("16 users flash attention", ("flash", "attention")),
        ("16 users max out", ("max", "out")),
        ("16 users 16k in 1k out out", ("out",)),
        ("16 users 20 tok/s", ()),
        ("nvidia rtx 4090 16 users", ()),
        ("macbook air 16 users", ("macbook", "air")),
        ("4090 24gb 16 users", ("24gb",)),
        ("16 并发 12", ("12",)),
    ],
)
def test_general_words_choose_no_model(
    text: str, left: tuple[str, ...], language: str, scenario: Scenario
) -> None:
    found = question_of(text, scenario, SHELF, Words(language))
    assert found is not None and found.unknown == left
    assert "model" not in {path for path, _ in found.changes(scenario)}


@pytest.mark.parametrize(
    "text", ["4 bit bf16", "fp8 bf16 16 users", "int4 fp8 16k", "4 bit or 8 bit, 16 users"]
)
def test_formats_choose_no_model(text: str, scenario: Scenario) -> None:
    found = question_of(text, scenario, SHELF, Words("en"))
    assert found is not None
    assert "model" not in {path for path, _ in found.changes(scenario)}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("qwen3-8b 4090 1 token", "Qwen3-8B"),
        ("qwen 3 8b 4090", "Qwen3-8B"),
        ("千问3 8b 4090", "Qwen3-8B"),
        ("gpt-oss 16 users", "gpt-oss-20b"),
        ("gptoss120b h100", "gpt-oss-120b"),
        ("qwen3coder30b 4090", "Qwen3-Coder-30B-A3B-Instruct"),
        ("gemma 3 270m 16 users", "gemma-3-270m-it"),
        ("smollm2 360m 16k", "SmolLM2-360M-Instruct"),
        ("scout 16 users", "Llama-4-Scout-17B-16E-Instruct"),
        ("minimax m2 16 users", "MiniMax-M2"),
        ("falcon h1 34b 4090", "Falcon-H1-34B-Instruct"),
        ("671b 8 h200", "DeepSeek-V3.1"),
        ("deepseek r1 0528 8 h200", "DeepSeek-R1-0528"),
        ("glm 4.5 air h100", "GLM-4.5-Air"),
        ("c4ai-command-r7b-12-2024 16 users", "c4ai-command-r7b-12-2024"),
        ("qwen3 8b 24gb 4090", "RTX 4090"),
        ("rx 7900 xtx 16 users", "Radeon RX 7900 XTX"),
        ("minimax m2 8xh100", "8 × H100 SXM5 80GB"),
    ],
)
def test_a_name_is_found_however_it_is_typed(text: str, part: str, scenario: Scenario) -> None:
    found = question_of(text, scenario, SHELF, Words("en"))
    assert found is not None and part in found.parts
    assert not any("0M" in said for said in found.parts[1:])


@pytest.mark.parametrize("spelling", [str, str.lower])
def test_every_name_names_its_own(spelling: Callable[[str], str], scenario: Scenario) -> None:
    """Of models and devices that are listed."""
    names = [model.name for model in search_models("")][::4]
    names += [device.name for device in search_accelerators("") if "(" not in device.name]
    found = {name: question_of(f"{spelling(name)} 16 users", scenario, SHELF, Words("en")) for name in names}
    wrong = [name for name, question in found.items() if question is None or name not in question.parts]
    assert not wrong


@pytest.mark.parametrize(
    ("name", "word", "whether"),
    [
        ("Llama-4-Scout-17B", "out", False),
        ("gemma-4-12B-it", "bit", False),
        ("H100 SXM5", "100", False),
        ("Qwen3-8B", "qwen38b", True),
        ("Qwen2.5-7B", "2.5", True),
        ("DeepSeek-R1-0528", "0528", True),
        ("Qwen3-8B", "", False),
    ],
)
def test_a_word_begins_where_a_part_of_the_name_begins(name: str, word: str, whether: bool) -> None:
    assert holds(name, word) is whether
