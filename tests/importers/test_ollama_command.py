"""Ollama is a server that reads the environment, and a client that names the model."""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.files.opening import paste_document
from core.importers.command_text import command_for, ollama_tags
from core.importers.engine_command import apply_command, parse_command
from core.importers.model_names import resolve
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.engine import Engine
from core.spec.scenario import Scenario

BASE = Scenario(
    model=load_model("meta-llama/Llama-3.1-8B-Instruct"), accelerator=load_accelerator("RTX 4090")
)
VARIABLES = "OLLAMA_CONTEXT_LENGTH=4096 OLLAMA_NUM_PARALLEL=2"
OLLAMA = {"engine.name": "ollama", "engine.version": "", "precision.kv_cache": "fp16"}


def _scenario(weights: str, length: int, slots: int | None) -> Scenario:
    changes = {
        "precision.weights": weights,
        "engine.max_model_len": length,
        "engine.n_parallel": slots,
    }
    return with_values(BASE, {**OLLAMA, **changes})


@pytest.mark.parametrize(
    "text",
    [
        f"{VARIABLES} ollama serve &\nollama run qwen3:8b",
        f"export {VARIABLES}\nollama serve > /tmp/log 2>&1 &\nollama run qwen3:8b",
        # Only the server reads the environment; where no server is started, the command is taken at its word.
        f"{VARIABLES} ollama serve &\nOLLAMA_CONTEXT_LENGTH=999 ollama run qwen3:8b",
        f"{VARIABLES} ollama run qwen3:8b",
        f"bash -c '{VARIABLES} ollama serve & ollama run qwen3:8b'",
        (
            "docker run -d -e OLLAMA_CONTEXT_LENGTH=4096 -e OLLAMA_NUM_PARALLEL=2 ollama/ollama"
            " && docker exec -it ollama ollama run qwen3:8b"
        ),
    ],
)
def test_every_form_of_the_command_is_read(text: str) -> None:
    found, _ = apply_command(parse_command(text), BASE)
    assert (found.model.name, found.engine.name) == ("Qwen3-8B", "ollama")
    assert (found.engine.max_model_len, found.engine.n_parallel) == (8192, 2)


def test_a_server_alone_keeps_its_settings() -> None:
    command = parse_command("OLLAMA_NUM_PARALLEL=2 ollama serve; vllm serve Qwen/Qwen3-8B")
    assert (command.engine, command.model, command.settings) == ("ollama", "", {"engine.n_parallel": 2})


def test_the_variables_are_the_servers() -> None:
    """docs/faq.mdx: "OLLAMA_CONTEXT_LENGTH=8192 ollama serve"; ``ollama run`` does not read it."""
    server, client = command_for(_scenario("gguf_q6_k", 16384, 4)).splitlines()
    assert server == "OLLAMA_CONTEXT_LENGTH=4096 OLLAMA_NUM_PARALLEL=4 ollama serve &"
    assert client.endswith("ollama run llama3.1:8b-instruct-q6_K") and "OLLAMA_" not in client


def test_a_slot_of_the_command_admits_what_the_scenario_admits() -> None:
    """17K among 6 slots are 3K each in whole 256, and as much in memory."""
    scenario = _scenario("gguf_q4_k_m", 17408, 6)
    back, _ = apply_command(parse_command(command_for(scenario)), BASE)
    assert back.engine.longest_request == scenario.engine.longest_request == 3072


@pytest.mark.parametrize("weights", ["gguf_iq4_xs", "gguf_q6_k"])
@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "mistralai/Mistral-7B-Instruct-v0.3"])
def test_no_publisher_of_a_file_is_made_up(weights: str, model: str) -> None:
    scenario = with_values(_scenario(weights, 8192, 1), {"model": load_model(model)})
    text = command_for(scenario)
    assert "ollama run hf.co/PUBLISHER/" in text
    back, _ = apply_command(parse_command(text), BASE)
    assert (back.model, back.precision.weights) == (scenario.model, weights)


def test_the_tags_of_the_library_are_what_they_are_listed_for() -> None:
    for model, formats in ollama_tags().items():
        for weights, tag in formats.items():
            found = resolve(tag)
            assert (found.model_id, found.weight_format) == (model, weights), tag


@pytest.mark.parametrize(
    "text",
    [
        "llama-server -m Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 32768 -np 8 -ngl 99",
        "OLLAMA_CONTEXT_LENGTH=2048 OLLAMA_NUM_PARALLEL=4 ollama serve & ollama run qwen3:8b",
        "OLLAMA_CONTEXT_LENGTH=2048 ollama run qwen3:8b",
        "vllm serve Qwen/Qwen3-8B --max-model-len 2048",
    ],
)
def test_the_load_that_is_filled_in_fits_what_the_engine_admits(text: str) -> None:
    scenario = paste_document(text).scenario
    assert scenario.workload.tokens_per_request == scenario.engine.longest_request
    assert not [problem for problem in check(scenario) if problem.severity == "error"]


def test_slots_are_whole_cells() -> None:
    assert Engine(name="ollama", version="", max_model_len=17408, n_parallel=6).longest_request == 3072


@pytest.mark.parametrize(
    ("text", "model"),
    [
        (
            "docker run -d --gpus=all -v ollama:/root/.ollama --name ollama ollama/ollama serve",
            "",
        ),
        (
            "docker run ollama/ollama serve && docker exec -it ollama ollama run qwen3:8b",
            "qwen3:8b",
        ),
        ("docker run --rm ollama/ollama run qwen3:8b", "qwen3:8b"),
        ("docker run --gpus all vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("docker run --gpus all vllm/vllm-openai:v0.11.0 serve Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
def test_the_subcommand_of_an_image_is_no_model(text: str, model: str) -> None:
    command = parse_command(text)
    assert (command.model, command.ignored) == (model, [])
