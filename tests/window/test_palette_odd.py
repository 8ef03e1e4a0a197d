"""Nothing that is typed into the search is too odd for it, and what is not taken is said."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.errors import InferometerError
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.frame.window import MainWindow
from gui.palette.question import Question, question_of
from gui.palette.sources import Sources
from gui.samples import load_sample
from gui.samples import samples as packaged

SHELF = Catalogue(None)
WORDS = {language: Words(language) for language in ("en", "zh_CN")}
OPEN = [load_sample(sample) for sample in packaged()]
TYPED = re.split(
    r"\s*\|\s*",
    """qwen3-8b|llama 70b|deepseek v3|dsv3|gpt-oss-120b|4090|2x3090|8 h200|h100 x8|two 4090s|m4 max|rtx
    |16 users|users 8|8 并发|并发数 16|十六个用户|4 bit|8位|fp8|bf16|q4_k_m|iq2_xxs|q4|awq
    |kv fp8|kv 4 bit|8 bit kv|tp2|tp 0|pp 0|ep 4|ep0|dp 2|dp 0|tp4096|pp 9999
    |vllm|vllm 0.19|on ollama|llama.cpp|mlx|trtllm
    |16k|16k in|1k out|4k/1k|输入4K|输出8千|上下文 128k|ctx 1m|10m tokens|1 token|ttft 1s|tpot 50ms|5 rps
    |30 tokens/s|每秒3个请求
    |64 cards|4097 gpus|一张|does it fit|能跑吗|?|-|—|--|_|=|:|1,000|16,000 tokens|1万|8|16
    |99999999|1.5|x2|×3|3×|0 x 4090|kv|tp|users|in|out|max|small|base|chat|cuda 12|°|²|24gb|512|users:1k""",
)
TEXTS = st.builds(
    lambda pieces, between: between.join(pieces),
    st.lists(st.one_of(st.sampled_from(TYPED), st.text(max_size=4)), min_size=1, max_size=7),
    st.sampled_from([" ", " ", ", ", "，", " - ", ""]),
)


def question(text: str, scenario: Scenario, language: str = "en") -> Question:
    found = question_of(text, scenario, SHELF, WORDS[language])
    assert found is not None
    return found


@settings(max_examples=150)
@given(text=TEXTS, scenario=st.sampled_from(OPEN), language=st.sampled_from(sorted(WORDS)))
@example("qwen3-8b - 4090", OPEN[0], "en")
@example("deepseek v3 8 h200 - 64 users", OPEN[0], "zh_CN")
@example("ep 0 qwen3-8b 16 users", OPEN[0], "en")
@example("pp0 tp0 16 users", OPEN[-1], "en")
def test_nothing_that_is_typed_raises(text: str, scenario: Scenario, language: str) -> None:
    """A set-up that contradicts the scenario is refused with a problem, which is told."""
    found = question_of(text, scenario, SHELF, WORDS[language])
    if found is None:
        return
    try:
        found.kept(scenario, WORDS[language])
        with_values(scenario, dict(found.changes(scenario)))
    except InferometerError as error:
        assert all(WORDS[language].problem(problem) for problem in error.problems)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("qwen3-8b - 4090", ("Qwen3-8B", "RTX 4090")),
        ("deepseek v3 8 h200 - 64 users", ("DeepSeek-V3", "8 × H200 SXM 141GB", "64 users")),
        ("qwen3 32b - 2x3090 - 16 users", ("Qwen3-32B", "2 × RTX 3090", "16 users")),
        ("qwen3-8b — 4090 — 16k", ("Qwen3-8B", "RTX 4090", "16K prompt")),
    ],
)
def test_a_dash_between_things_says_nothing(text: str, parts: tuple[str, ...], scenario: Scenario) -> None:
    found = question(text, scenario)
    assert [part for part in found.parts if "block" not in part] == list(parts)
    assert found.unknown == ()


@pytest.mark.parametrize("said", ["tp0", "pp 0", "ep 0", "dp=0", "tp 9999"])
def test_a_division_that_there_is_not_is_not_understood(said: str, scenario: Scenario) -> None:
    found = question(f"{said} 16 users", scenario)
    assert (found.parts, found.unknown) == (("16 users",), (said,))


@pytest.mark.parametrize("language", sorted(WORDS))
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("5 rps 16 users", ("5 rps",)),
        ("每秒5个请求 16 用户", ("每秒5个请求",)),
        ("5 rps 3 rps", ("3 rps",)),
        ("16 users 32 users", ("32 users",)),
        ("16 用户 32 用户", ("32 用户",)),
        ("users 16 users 32 4090", ("users 32",)),
        ("q4_k_m fp8", ("fp8",)),
        ("q4_k_m q8_0", ("q8_0",)),
        ("4 bit bf16", ("bf16",)),
        ("int4 fp8 16k", ("fp8",)),
        ("int8 fp8", ("fp8",)),
        ("4 bit 8位 16 users", ("8位",)),
        ("4 bit or 8 bit, 16 users", ("8 bit",)),
        ("kv fp8 kv int4", ("kv int4",)),
        ("tp2 tp4", ("tp4",)),
        ("ttft 1 ttft 2", ("ttft 2",)),
        ("tpot 50ms 30 tok/s", ("30 tok/s",)),
        ("16k 32k", ("32k",)),
        ("16k in 1k out 2k out", ("2k out",)),
        ("vllm sglang qwen3-8b", ("sglang",)),
        ("4090 h100 qwen3-8b", ("h100",)),
        ("qwen3-8b qwen3-32b 4090", ("qwen3-32b",)),
    ],
)
def test_what_contradicts_is_named(
    text: str, left: tuple[str, ...], language: str, scenario: Scenario
) -> None:
    found = question(text, scenario, language)
    assert (found.twice, found.unknown) == (left, ())


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("16 users, users 16", "16 users"),
        ("tp2 tp 2", "TP 2"),
        ("4 bit awq", "AWQ INT4"),
        ("gptq 4 bit", "GPTQ INT4"),
        ("fp8 8 bit", "FP8 per tensor"),
        ("q4_k_m 4 bit", "GGUF Q4_K_M"),
        ("tpot 50ms 20 tok/s", "Per token ≤ 50 ms"),
        ("4 bit weights, bf16 cache", "AWQ INT4"),
    ],
)
def test_the_same_said_twice_is_no_contradiction(text: str, part: str, scenario: Scenario) -> None:
    found = question(text, scenario)
    assert part in found.parts and not found.twice and not found.unknown


@pytest.mark.parametrize(
    ("text", "told", "lengths"),
    [
        ("10M tokens", "39.5K prompt, the most the model takes", (40448, 512)),
        ("prompt 2k answer 1m", "2K prompt · 38K output, the most the model takes", (2048, 38912)),
        ("1m out", "39K output, the most the model takes", (1024, 39936)),
        ("16k in 1k out", "16K prompt · 1K output", (16384, 1024)),
    ],
)
def test_a_length_that_is_cut_says_so(
    text: str, told: str, lengths: tuple[int, int], scenario: Scenario
) -> None:
    """Qwen3-8B takes 40,960 tokens (max_position_embeddings of its config.json)."""
    found = question(f"qwen3-8b {text}", scenario)
    assert found.parts[1:] == (told,)
    work = with_values(scenario, dict(found.changes(scenario))).workload
    assert (work.prompt_tokens, work.output_tokens) == lengths


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("2x 4090 pp2", (2, 1, 2)),
        ("8 h100 pp4", (8, 2, 4)),
        ("4 h100 tp2 pp2", (4, 2, 2)),
        ("h100 pp2 tp2", (4, 2, 2)),
        ("8 h100 dp2", (8, 4, 1)),
    ],
)
def test_stages_divide_the_devices_that_were_said(
    text: str, layout: tuple[int, int, int], scenario: Scenario
) -> None:
    place = with_values(scenario, dict(question(text, scenario).changes(scenario))).deployment
    assert (place.accelerators, place.tensor_parallel, place.pipeline_parallel) == layout


def test_a_context_beside_a_prompt_is_not_understood(scenario: Scenario) -> None:
    assert question("上下文128k 输入4k", scenario).unknown == ("上下文128k",)


@pytest.mark.parametrize("language", sorted(WORDS))
def test_the_palette_lists_what_is_not_taken(window: MainWindow, language: str) -> None:
    window.language.use(language)
    listed = {entry.context: entry.name for entry in Sources(window).asked("5 rps 16 users foobar")}
    assert listed[window.words("palette.not_both")] == "5 rps"
    assert listed[window.words("palette.unknown")] == "foobar"
