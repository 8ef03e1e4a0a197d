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


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("输入8千 输出5百", {"prompt_tokens": 8000, "output_tokens": 500}),
        ("输入1万", {"prompt_tokens": 10_000}),
        ("8千 输入 16 用户", {"prompt_tokens": 8000, "users": 16}),
        ("输入1万2千 输出1千", {"prompt_tokens": 12_000, "output_tokens": 1000}),
        ("输入一万五 输出八百", {"prompt_tokens": 15_000, "output_tokens": 800}),
        ("1.5万上下文", {"prompt_tokens": 15_000}),
        ("一千个用户 一万上下文", {"users": 1000, "prompt_tokens": 10_000}),
        ("一百二十八个用户", {"users": 128}),
        ("一百零八人", {"users": 108}),
        ("1千人 8千", {"users": 1000, "prompt_tokens": 8000}),
        ("并发1千", {"users": 1000}),
        ("用户数：1万", {"users": 10_000}),
        ("每秒1百个请求", {"request_rate": 100.0}),
        ("16,000 tokens", {"prompt_tokens": 16_000}),
        ("1,000 users", {"users": 1000}),
        ("users=1,000", {"users": 1000}),
        ("输入16,000 输出1,000", {"prompt_tokens": 16_000, "output_tokens": 1000}),
        ("128,000 context, 16 users", {"prompt_tokens": 128_000, "users": 16}),
        ("tp8,128 users", {"users": 128}),  # no 8,128
        ("1k users", {"users": 1000}),
        ("1.5k users 16k", {"users": 1500, "prompt_tokens": 16_384}),
    ],
)
def test_thousands_are_read_as_they_are_written(
    text: str, said: dict[str, float], language: str, scenario: Scenario
) -> None:
    found = question_of(text, scenario, SHELF, Words(language))
    assert found is not None and found.unknown == ()
    work = with_values(scenario, dict(found.changes(scenario))).workload
    assert {name: getattr(work, name) for name in said} == said


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("千问3 8b 4090", "Qwen3-8B"),
        ("零一万物 34b 4090", "Yi-34B-Chat"),
        ("百川2 7b 4090", "Baichuan2-7B-Chat"),
    ],
)
def test_signs_of_numbers_in_names_are_no_numbers(text: str, model: str, scenario: Scenario) -> None:
    found = question_of(text, scenario, SHELF, Words("zh_CN"))
    assert found is not None and (found.parts[0], found.unknown) == (model, ())
