"""A number that is typed belongs to the nearest fitting word, however it is written."""

import pytest

from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.palette.question import question_of

SHELF = Catalogue(None)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize(
    ("text", "device", "users"),
    [
        ("4090 users 16", "RTX 4090", 16),
        ("4090 并发16", "RTX 4090", 16),
        ("4090 人数 16", "RTX 4090", 16),
        ("4090 concurrency=16", "RTX 4090", 16),
        ("rtx 4090 users 8", "RTX 4090", 8),
        ("rtx 3090 用户8", "RTX 3090", 8),
        ("5090 users=8", "RTX 5090", 8),
        ("5090 用户=8", "RTX 5090", 8),
        ("16 users 4090", "RTX 4090", 16),
        ("4090 16 concurrent users", "RTX 4090", 16),
        ("4090 用户数 16 提示词 4096 生成 512", "RTX 4090", 16),
        ("1000 users h100", "H100 SXM5 80GB", 1000),
        ("users 16 2 h100", "H100 SXM5 80GB", 16),
        ("h100 16 users 4 gpus", "H100 SXM5 80GB", 16),
        ("h100 tp 2 users 16", "H100 SXM5 80GB", 16),
        ("h100 kv 8 users 16", "H100 SXM5 80GB", 16),
        ("4090 1k users", "RTX 4090", 1000),
        ("4090 users: 1k", "RTX 4090", 1000),
        ("4090 2K 人", "RTX 4090", 2000),
        ("3090 users16 16k", "RTX 3090", 16),
    ],
)
def test_the_number_of_a_device_is_no_number_of_users(
    text: str, device: str, users: int, language: str, scenario: Scenario
) -> None:
    found = question_of(text, scenario, SHELF, Words(language))
    assert found is not None and found.unknown == ()
    now = with_values(scenario, dict(found.changes(scenario)))
    assert (now.accelerator.name, now.workload.users) == (device, users)
    assert now.model == scenario.model


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("8000 users", ("8,000 users",)),
        ("5090 users", ("5,090 users",)),  # nothing else could be their number
        ("qwen3-8b 3090 并发8", ("Qwen3-8B", "RTX 3090", "8 users")),
        ("gemma 3 users 16", ("gemma-3-270m-it", "16 users")),
        ("llama 70b 16 users 4 h100", ("Llama-3.3-70B-Instruct", "4 × H100 SXM5 80GB", "16 users")),
        ("16k users 16", ("16 users", "16K prompt")),
        ("16 users 16k", ("16 users", "16K prompt")),
        ("3090 ctx8192", ("RTX 3090", "8K prompt")),
        ("3090 8192ctx", ("RTX 3090", "8K prompt")),
    ],
)
def test_a_number_goes_to_its_own_word(text: str, parts: tuple[str, ...], scenario: Scenario) -> None:
    found = question_of(text, scenario, SHELF, Words("en"))
    assert found is not None and (found.parts, found.unknown) == (parts, ())
