"""Names as Ollama, LM Studio and the hub write them."""

import pytest

from core.errors import NotFound
from core.importers.model_names import resolve, split_format
from core.spec.formats import WEIGHT_FORMATS

NAMES = [
    ("qwen3:30b-a3b-q4_K_M", "Qwen/Qwen3-30B-A3B", "gguf_q4_k_m"),
    ("llama3.1:8b", "meta-llama/Llama-3.1-8B-Instruct", "gguf_q4_k_m"),
    ("llama3.2:1b-instruct-q8_0", "meta-llama/Llama-3.2-1B-Instruct", "gguf_q8_0"),
    ("lmstudio-community/Qwen3-32B-GGUF", "Qwen/Qwen3-32B", "gguf_q4_k_m"),
    ("qwen/qwen3-8b@q4_k_m", "Qwen/Qwen3-8B", "gguf_q4_k_m"),
    ("hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q5_K_M", "meta-llama/Llama-3.2-3B-Instruct", "gguf_q5_k_m"),
    ("meta-llama/Meta-Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-70B-Instruct", ""),
    ("/models/Qwen3-8B-Q4_K_M.gguf", "Qwen/Qwen3-8B", "gguf_q4_k_m"),
    (r"C:\models\Qwen3-8B-Q6_K.gguf", "Qwen/Qwen3-8B", "gguf_q6_k"),
    ("DeepSeek-V3-Q4_K_M-00001-of-00009.gguf", "deepseek-ai/DeepSeek-V3", "gguf_q4_k_m"),
    ("./gpt-oss-20b-mxfp4.gguf", "openai/gpt-oss-20b", "gguf_mxfp4_moe"),
    ("gpt-oss:120b", "openai/gpt-oss-120b", "gguf_mxfp4_moe"),
    ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen/Qwen2.5-7B-Instruct", "awq_g128"),
    ("Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-72B-Instruct", "gptq_g128"),
    ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "Qwen/Qwen3-235B-A22B-Instruct-2507", "fp8_block"),
    ("neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8", "meta-llama/Llama-3.1-8B-Instruct", "fp8"),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "meta-llama/Llama-3.1-8B-Instruct", "int4_g128"),
    ("nvidia/Llama-3.3-70B-Instruct-FP4", "meta-llama/Llama-3.3-70B-Instruct", "nvfp4"),
    ("unsloth/Qwen3-30B-A3B-GGUF:UD-Q4_K_XL", "Qwen/Qwen3-30B-A3B", "gguf_q4_k_m"),
    ("unsloth/DeepSeek-R1-GGUF:UD-IQ2_XXS", "deepseek-ai/DeepSeek-R1", "gguf_iq2_xxs"),
    ("mlx-community/Llama-3.2-3B-Instruct-4bit", "meta-llama/Llama-3.2-3B-Instruct", "mlx_4bit"),
    # The library's smaller "deepseek-r1" are distilled Llama and Qwen models: https://ollama.com/library/deepseek-r1
    ("deepseek-r1:70b", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "gguf_q4_k_m"),
    ("deepseek-r1:671b", "deepseek-ai/DeepSeek-R1", "gguf_q4_k_m"),
    ("mixtral:8x7b", "mistralai/Mixtral-8x7B-Instruct-v0.1", "gguf_q4_k_m"),
    ("mistral", "mistralai/Mistral-7B-Instruct-v0.3", "gguf_q4_k_m"),
    ("gemma2:9b", "google/gemma-2-9b-it", "gguf_q4_k_m"),
    ("phi4:14b", "microsoft/phi-4", "gguf_q4_k_m"),
    ("qwen3-coder:480b-cloud", "Qwen/Qwen3-Coder-480B-A35B-Instruct", "gguf_q4_k_m"),
]


@pytest.mark.parametrize(("name", "model", "weight_format"), NAMES, ids=[n for n, _, _ in NAMES])
def test_names_resolve(name: str, model: str, weight_format: str) -> None:
    found = resolve(name)
    assert (found.model_id, found.weight_format) == (model, weight_format)
    assert not weight_format or weight_format in WEIGHT_FORMATS


def test_an_assumed_format_is_told() -> None:
    assert [n.code for n in resolve("llama3.1:8b").notes] == ["importer.assumed_format"]
    assert not resolve("llama3.1:8b-instruct-q4_K_M").notes


@pytest.mark.parametrize("name", ["nonsense", "", ":", "/", "q4_K_M", "x" * 5000, "qwen9:999b"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(NotFound):
        resolve(name)


def test_formats_are_split_off() -> None:
    assert split_format("gemma-3-27b-it-q4_0-gguf") == ("gemma-3-27b-it-gguf", "gguf_q4_0")
    assert split_format("Qwen3-8B") == ("Qwen3-8B", "")


@pytest.mark.parametrize(
    ("name", "model", "weight_format"),
    [
        ("Qwen/Qwen3-235B-A22B-Thinking-2507-FP8", "Qwen/Qwen3-235B-A22B", "fp8_block"),
        ("moonshotai/Kimi-K2-Instruct-0905", "moonshotai/Kimi-K2-Instruct", ""),
    ],
)
def test_other_trainings_of_a_shape_are_told(name: str, model: str, weight_format: str) -> None:
    found = resolve(name)
    assert (found.model_id, found.weight_format) == (model, weight_format)
    assert [n.code for n in found.notes] == ["importer.assumed_variant"]


@pytest.mark.parametrize("name", ["qwen3-coder:999b", "Qwen3-77B-Thinking-2507", "thinking-2507"])
def test_a_size_that_nothing_has_is_no_variant(name: str) -> None:
    with pytest.raises(NotFound):
        resolve(name)


@pytest.mark.parametrize("name", ["-1", "1", "70b", "8b", "3.3"])
def test_a_number_or_a_size_alone_names_no_model(name: str) -> None:
    with pytest.raises(NotFound):
        resolve(name)


def test_a_word_of_two_letters_is_like_no_models_name() -> None:
    with pytest.raises(NotFound) as refusal:
        resolve("rm -rf /")
    assert [p.code for p in refusal.value.problems] == ["catalog.model_unknown"]  # it suggests none
