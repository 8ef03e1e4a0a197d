"""Docker Compose files: the service that starts an engine is read; without one it is said what is read."""

import random
from pathlib import Path

import pytest

from core.errors import InferometerError
from core.files.opening import open_document, paste_document

VLLM = """\
# the stack
version: "3.9"
services:
  db:
    image: postgres:16
    command: ["-c", "max_connections=50"]
  vllm:
    image: vllm/vllm-openai:v0.11.0   # pinned
    ipc: host
    ports:
      - "8000:8000"
    environment:
      - HF_TOKEN=${HF_TOKEN}
    command: --model Qwen/Qwen3-8B --tensor-parallel-size 2
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 2
              capabilities: [gpu]
volumes:
  cache:
"""
LLAMA = """\
services:
  llm:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: >
      -m /models/Qwen3-8B-Q4_K_M.gguf
      -c 8192
      -np 4
"""
LISTED = """\
services:
  s:
    build: .
    entrypoint: python3 -m sglang.launch_server
    command:
    - --model-path
    - ${MODEL:-Qwen/Qwen3-32B}
    - --tp
    - "4"
"""
FLOW = """\
services:
  v:
    image: vllm/vllm-openai
    command: ["--model", "Qwen/Qwen3-8B",
              '--max-model-len', "8192"]
"""
SHELL = """\
services:
  v:
    image: my/image
    command: |
      bash -c "vllm serve Qwen/Qwen3-8B \\
        --max-model-len 4096 > /log 2>&1"
"""
OLLAMA = """\
services:
  ollama:
    image: ollama/ollama
    environment:
      OLLAMA_NUM_PARALLEL: 4
      OLLAMA_CONTEXT_LENGTH: "8192"
"""
SHARED = """\
x-gpu: &gpu
  deploy: {"resources": {"reservations": {"devices": [{"count": 2}]}}}
  image: vllm/vllm-openai
services:
  v:
    <<: *gpu
    command: [--model, "Qwen/Qwen3-8B", '--tensor-parallel-size', 2]
"""


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (SHARED, "v", ("Qwen3-8B", "vllm", "0.21", 40960, 2)),
        (VLLM, "vllm", ("Qwen3-8B", "vllm", "0.11", 40960, 2)),
        (VLLM.replace("\n", "\r\n"), "vllm", ("Qwen3-8B", "vllm", "0.11", 40960, 2)),
        (LLAMA, "llm", ("Qwen3-8B", "llamacpp", "", 8192, 1)),
        (LISTED, "s", ("Qwen3-32B", "sglang", "0.5.5", 40960, 4)),
        (FLOW, "v", ("Qwen3-8B", "vllm", "0.21", 8192, 1)),
        (SHELL, "v", ("Qwen3-8B", "vllm", "0.21", 4096, 1)),
        (OLLAMA, "ollama", ("Llama-3.1-8B-Instruct", "ollama", "", 32768, 1)),
        (OLLAMA + VLLM.partition("services:\n")[2], "vllm", ("Qwen3-8B", "vllm", "0.11", 40960, 2)),
    ],
)
def test_the_service_that_starts_an_engine_is_read(
    tmp_path: Path, text: str, name: str, expected: tuple[object, ...]
) -> None:
    path = tmp_path / "docker-compose.yml"
    path.write_bytes(text.encode())
    for opened in (open_document(path), paste_document(text)):
        found = opened.scenario
        engine, place = found.engine, found.deployment
        got = (found.model.name, engine.name, engine.version, engine.max_model_len, place.tensor_parallel)
        assert got == expected
        note = next(note for note in opened.notes if note.code == "importer.compose_service")
        assert note.values["service"] == name
        assert not [
            n for n in opened.notes if n.code in ("importer.command_ignored", "importer.command_value")
        ]


@pytest.mark.parametrize(
    "text", ["services:\n  db:\n    image: postgres\n", "services:\n  v:\n    image: [[[\n"]
)
def test_a_file_without_an_engine_is_told_what_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "compose.yaml"
    path.write_text(text)
    with pytest.raises(InferometerError) as error:
        open_document(path)
    assert error.value.problems[0].code == "importer.compose_unknown"


def test_spoilt_files_are_read_or_refused() -> None:
    chance = random.Random(5)
    pieces = ["\n", "  ", "- ", ": ", "[", "]", '"', "'", "|", ">", "#", "{", "\t", "services:\n", "\0", "\\"]
    for _ in range(600):
        text = chance.choice((VLLM, LLAMA, LISTED, FLOW, SHELL, OLLAMA))
        for _change in range(chance.randint(1, 6)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(pieces) + text[at + chance.choice((0, 0, 1, 9)) :]
        try:
            paste_document(text)
        except InferometerError as error:
            assert error.problems
