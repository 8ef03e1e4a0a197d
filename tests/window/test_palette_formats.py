"""Formats of what the palette sets up: the same words give the same, and what is not the default is told."""

import pytest
from PySide6.QtWidgets import QApplication

from core.files import scenario_file
from core.spec.change import with_value, with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.frame.window import MainWindow
from gui.palette.question import Question, question_of

SHELF = Catalogue(None)
OPEN = {
    "as it starts": {},
    "4 bit": {"precision.weights": "awq_g128"},
    "8 bit, cache too": {"precision.weights": "fp8", "precision.kv_cache": "fp8"},
    "Ollama": {"engine.name": "ollama", "engine.version": "", "precision.weights": "gguf_q8_0",
               "precision.kv_cache": "q8_0"},
    "MLX": {"engine.name": "mlx", "engine.version": "", "precision.weights": "mlx_8bit"},
}  # fmt: skip


def question(text: str, scenario: Scenario) -> Question:
    found = question_of(text, scenario, SHELF, Words("en"))
    assert found is not None
    return found


def after(text: str, scenario: Scenario) -> Scenario:
    for path, value in question(text, scenario).changes(scenario):
        scenario = with_value(scenario, path, value)
    return scenario


@pytest.mark.parametrize("open_now", OPEN)
@pytest.mark.parametrize(
    ("text", "weights", "cache"),
    [
        ("Ollama Qwen3-14B", "gguf_q4_k_m", "fp16"),
        ("llama.cpp Qwen3-14B 2x 3090", "gguf_q4_k_m", "fp16"),
        ("DeepSeek-V3 16 h200 sglang 200 users 4k", "fp8_block", "bf16"),
        ("qwen3-32b vllm h100", "bf16", "bf16"),
        ("qwen3-32b vllm v100 8 users", "fp16", "fp16"),
        ("mlx qwen3-8b m4 max", "mlx_4bit", "bf16"),
        ("gpt-oss-20b ollama", "gguf_mxfp4_moe", "fp16"),
        ("gpt-oss-20b vllm h100", "mxfp4_experts", "bf16"),
    ],
)
def test_what_was_open_decides_no_format(
    text: str, weights: str, cache: str, open_now: str, scenario: Scenario
) -> None:
    before = with_values(scenario, OPEN[open_now])
    now = after(text, before).precision
    assert (now.weights, now.kv_cache) == (weights, cache)


def test_an_engine_alone_among_other_words_takes_the_models_own_format(scenario: Scenario) -> None:
    before = with_values(scenario, OPEN["8 bit, cache too"])
    assert after("sglang 16 users", before).precision.weights == "bf16"
    assert question("sglang 16 users", before).parts[1:3] == ("BF16", "KV BF16")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Ollama Qwen3-14B", "GGUF Q4_K_M"),
        ("DeepSeek-V3 8x h200 sglang", "FP8 block 128"),
        ("qwen3-32b 16 users", "KV BF16"),  # an applied advice had narrowed it
        ("v100 8 users", "INT8 W8A16"),  # no FP8 there
    ],
)
def test_formats_that_change_are_told(text: str, told: str, scenario: Scenario) -> None:
    assert told in question(text, with_values(scenario, OPEN["8 bit, cache too"])).parts


def test_formats_that_stay_are_told(scenario: Scenario) -> None:
    before = with_values(scenario, OPEN["8 bit, cache too"])
    kept = question("2x 4090 16 users", before).kept(before, Words("en"))
    assert kept["precision.weights"] == "FP8 per tensor" and kept["precision.kv_cache"] == "KV FP8"
    plain = question("2x 4090 16 users", scenario).kept(scenario, Words("en"))
    assert "precision.kv_cache" not in plain


def test_an_engine_that_decides_the_files_is_told(scenario: Scenario) -> None:
    before = with_values(scenario, OPEN["Ollama"])
    assert "Ollama" in question("qwen3-14b 16 users", before).kept(before, Words("en")).values()
    assert "Ollama" not in question("ollama qwen3-14b", before).kept(before, Words("en")).values()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("qwen3 32b vllm 0.19 h100", ("Qwen3-32B", "vLLM 0.19", "H100 SXM5 80GB")),
        ("vllm==0.19.1 qwen3 32b", ("Qwen3-32B", "vLLM 0.19")),
        ("sglang 0.5.3 qwen3-8b", ("Qwen3-8B", "SGLang 0.5.3")),
        ("vllm 1.5 req/s qwen3-8b", ("Qwen3-8B", "vLLM 0.21", "1.5 requests/s")),
        ("qwen3 32b q4 llama.cpp 2x3090", ("Qwen3-32B", "llama.cpp", "2 × RTX 3090", "GGUF Q4_K_M")),
        ("qwen3 32b q4 2x3090", ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4")),
        ("q8 mlx qwen3-8b m4 max", ("Qwen3-8B", "MLX", "Apple M4 Max (40-core GPU)", "MLX 8 bit")),
        ("q6 qwen3-8b", ("Qwen3-8B", "llama.cpp", "GGUF Q6_K")),
        ("qwen3-32b w4a16 3090 x 2", ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4")),
        ("a pair of 3090s qwen3 32b 4bit", ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4")),
        ("dual 3090 qwen3-8b", ("Qwen3-8B", "2 × RTX 3090")),
        ("dual gpu 16 users", ("2 × GPU", "16 users")),
        ("16 people", ("16 users",)),
        ("eight users 4k", ("8 users", "4K prompt")),
        ("十六个用户", ("16 users",)),
        ("九十九个用户 四位", ("AWQ INT4", "99 users")),
        ("二十人 输入4k", ("20 users", "4K prompt")),
        ("十六张 h100", ("16 × H100 SXM5 80GB",)),
        ("双卡 3090", ("2 × RTX 3090",)),
        ("30 tokens/s", ("Per token ≤ 33.3 ms",)),
        ("30 tok/s per user 16 users", ("16 users", "Per token ≤ 33.3 ms")),
        ("每秒 20 token", ("Per token ≤ 50 ms",)),
    ],
)
def test_ordinary_words_are_understood(text: str, parts: tuple[str, ...], scenario: Scenario) -> None:
    found = question(text, scenario)
    assert (found.parts, found.unknown) == (parts, ())


def test_a_release_that_is_not_offered_is_named(scenario: Scenario) -> None:
    assert question("vllm 0.20 qwen3-8b", scenario).unknown == ("0.20",)


def test_a_rate_replaces_the_users(scenario: Scenario) -> None:
    assert "workload.users" not in question("8 req/s", scenario).kept(scenario, Words("en"))
    rate = with_values(scenario, {"workload.load": "requests", "workload.request_rate": 3.0})
    assert question("2x 4090", rate).kept(rate, Words("en"))["workload.request_rate"] == "3 requests/s"


@pytest.mark.parametrize(
    "typed",
    ["copy launch command", "launch command", "copy command", "shell command", "启动命令", "复制命令"],
)
def test_the_engines_command_is_found_and_copied(window: MainWindow, qapp: QApplication, typed: str) -> None:
    palette = window.shell.open_palette("")
    found = palette.find_all(typed)[0].entry
    assert (found.kind, found.name) == ("command", "Copy command")
    qapp.clipboard().clear()
    found.run()
    assert "vllm serve" in qapp.clipboard().text()


def test_samples_are_told_the_same(samples: list) -> None:  # type: ignore[type-arg]
    """Whatever sample is open."""
    named = [after("Ollama Qwen3-14B 4090", scenario_file.load(path)).precision for path in samples]
    assert len(set(named)) == 1
