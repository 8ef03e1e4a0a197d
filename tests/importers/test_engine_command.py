"""Commands of every engine: what they say, what is left over, and back again."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.errors import InvalidScenario, NotFound, UnreadableFile
from core.importers.command_text import command_for, repositories
from core.importers.engine_command import apply_command, looks_like_command, parse_command
from core.importers.model_names import resolve
from core.spec.change import get_value, with_values
from core.spec.checks import check
from core.spec.scenario import Scenario

BASE = Scenario(model=load_model("Qwen3-32B"), accelerator=load_accelerator("H100 SXM"))

COMMANDS: list[tuple[str, dict[str, Any]]] = [
    (
        (
            "vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 --max-model-len 32K "
            "--gpu-memory-utilization=0.95 --kv-cache-dtype fp8_e4m3 --enforce-eager --max-num-seqs 64"
        ),
        {
            "model.name": "Qwen3-30B-A3B",
            "engine.name": "vllm",
            "engine.max_model_len": 32768,
            "engine.gpu_memory_utilization": 0.95,
            "engine.enforce_eager": True,
            "engine.max_num_seqs": 64,
            "deployment.tensor_parallel": 2,
            "deployment.accelerators": 2,
            "precision.kv_cache": "fp8",
            "precision.weights": "bf16",
        },
    ),
    (
        (
            "CUDA_VISIBLE_DEVICES=0,1 VLLM_USE_V1=1 python3 -m vllm.entrypoints.openai.api_server \\\n"
            "   --model meta-llama/Llama-3.1-8B-Instruct \\\n  -tp 2 -pp 2 --dtype half --port 8000 --trust-remote-code"  # noqa: E501
        ),
        {
            "model.name": "Llama-3.1-8B-Instruct",
            "deployment.tensor_parallel": 2,
            "deployment.pipeline_parallel": 2,
            "deployment.accelerators": 4,
            "precision.weights": "fp16",
            "precision.kv_cache": "fp16",
            "engine.max_model_len": 131072,  # the model's own: vLLM's default
        },
    ),
    (
        (
            "docker run --runtime nvidia --gpus '\"device=0,1\"' -v ~/.cache/huggingface:/root/.cache/huggingface "  # noqa: E501
            '--env "HUGGING_FACE_HUB_TOKEN=x" -p 8000:8000 --ipc=host vllm/vllm-openai:v0.11.0 '
            "--model Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq_marlin --tensor_parallel_size 2"
        ),
        {
            "model.name": "Qwen2.5-7B-Instruct",
            "engine.version": "0.11",
            "precision.weights": "awq_g128",
            "deployment.tensor_parallel": 2,
        },
    ),
    (
        (
            "vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --enable-expert-parallel "
            '--speculative-config \'{"method": "deepseek_mtp", "num_speculative_tokens": 2}\''
        ),
        {
            "deployment.accelerators": 8,
            "deployment.tensor_parallel": 8,
            "deployment.attention_data_parallel": 8,
            "deployment.expert_parallel": 8,
            "precision.weights": "fp8_block",
            "speculative.kind": "mtp",
            "speculative.tokens": 2,
        },
    ),
    (
        "vllm serve deepseek-ai/DeepSeek-V3 -tp 2 -dp 4",
        {
            "deployment.accelerators": 8,
            "deployment.tensor_parallel": 8,
            "deployment.attention_data_parallel": 4,
            "deployment.expert_parallel": 1,
        },
    ),
    (
        "vllm serve Qwen/Qwen3-8B -dp 4 --enable-lora --max-loras 3 --max-lora-rank 32",
        {
            "deployment.accelerators": 4,
            "deployment.tensor_parallel": 1,
            "engine.max_loras": 3,
            "engine.lora_rank": 32,
        },
    ),
    (
        (
            "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention "  # noqa: E501
            "--mem-fraction-static 0.85 --context-length 65536 --chunked-prefill-size 4096 --disable-cuda-graph "  # noqa: E501
            "--max-running-requests 128 --speculative-algorithm NEXTN --speculative-num-draft-tokens 2"
        ),
        {
            "engine.name": "sglang",
            "deployment.tensor_parallel": 8,
            "deployment.accelerators": 8,
            "deployment.attention_data_parallel": 8,
            "engine.mem_fraction_static": 0.85,
            "engine.max_model_len": 65536,
            "engine.chunked_prefill_size": 4096,
            "engine.enforce_eager": True,
            "engine.max_num_seqs": 128,
            "speculative.kind": "mtp",
        },
    ),
    (
        (
            "trtllm-serve serve Qwen/Qwen3-32B --tp_size 4 --max_batch_size 256 --max_num_tokens 8192 "
            "--kv_cache_free_gpu_memory_fraction 0.8 --max_seq_len 16384 --backend pytorch"
        ),
        {
            "engine.name": "trtllm",
            "deployment.tensor_parallel": 4,
            "engine.max_batch_size": 256,
            "engine.max_num_batched_tokens": 8192,
            "engine.kv_cache_free_gpu_mem_fraction": 0.8,
            "engine.max_model_len": 16384,
        },
    ),
    (
        (
            "./build/bin/llama-server -m models/Qwen3-30B-A3B-Q4_K_M.gguf -c 32768 -ngl 99 -ncmoe 20 -fa "
            "-ctk q8_0 -ctv q8_0 -ub 1024 -np 4 --jinja --host 0.0.0.0"
        ),
        {
            "engine.name": "llamacpp",
            "model.name": "Qwen3-30B-A3B",
            "precision.weights": "gguf_q4_k_m",
            "precision.kv_cache": "q8_0",
            "engine.max_model_len": 32768,
            "engine.n_gpu_layers": 99,
            "engine.n_cpu_moe": 20,
            "engine.flash_attention": True,
            "engine.n_ubatch": 1024,
            "engine.n_parallel": 4,
        },
    ),
    (
        "llama-cli.exe -hf ggml-org/gpt-oss-20b-GGUF --ctx-size 0 --flash-attn off --cpu-moe -nkvo -p 'say \"hi\"'",  # noqa: E501
        {
            "precision.weights": "gguf_mxfp4_moe",
            "precision.kv_cache": "fp16",
            "engine.max_model_len": 131072,
            "engine.flash_attention": False,
            "engine.n_cpu_moe": 24,
            "engine.kv_on_host": True,
            "engine.n_gpu_layers": None,
        },
    ),
    (
        'C:\\llama\\llama-server.exe -m "C:\\my models\\Qwen3-8B-Q6_K.gguf" -ngl -1 -c 8192',
        {"precision.weights": "gguf_q6_k", "engine.max_model_len": 8192, "engine.n_gpu_layers": None},
    ),
    (
        "CUDA_VISIBLE_DEVICES=0,1 llama-server -m Llama-3.1-70B-Instruct-Q4_K_M.gguf -c 8192",
        {"deployment.accelerators": 2, "deployment.pipeline_parallel": 2, "deployment.tensor_parallel": 1},
    ),
    (
        "OLLAMA_CONTEXT_LENGTH=8192 OLLAMA_NUM_PARALLEL=2 OLLAMA_KV_CACHE_TYPE=q8_0 ollama run qwen3:30b-a3b-q4_K_M",  # noqa: E501
        {
            "engine.name": "ollama",
            "precision.weights": "gguf_q4_k_m",
            "precision.kv_cache": "q8_0",
            "engine.max_model_len": 16384,
            "engine.n_parallel": 2,
        },
    ),
    (
        "bash -c 'cd /srv && exec vllm serve Qwen/Qwen3-8B --max-model-len 4096 > log.txt 2>&1'",
        {"model.name": "Qwen3-8B", "engine.max_model_len": 4096},
    ),
    (
        "$ pip install vllm\n$ vllm serve Qwen/Qwen3-8B `\n  --max-model-len 4096",
        {"model.name": "Qwen3-8B", "engine.max_model_len": 4096},
    ),
]


@pytest.mark.parametrize(("text", "expected"), COMMANDS, ids=range(len(COMMANDS)))
def test_commands_fill_the_scenario(text: str, expected: dict[str, Any]) -> None:
    assert looks_like_command(text)
    scenario, _ = apply_command(parse_command(text), BASE)
    found = {path: get_value(scenario, path) for path in expected}
    assert found == expected
    assert scenario.workload == BASE.workload and scenario.accelerator == BASE.accelerator


def test_what_is_ignored_is_listed() -> None:
    command = parse_command(
        "vllm serve Qwen/Qwen3-8B --port 8000 --api-key=abc --enable-prefix-caching -O3 --seed -1"
    )
    assert command.ignored == ["--port 8000", "--api-key=abc", "--enable-prefix-caching", "-O3", "--seed -1"]
    _, notes = apply_command(command, BASE)
    assert [note.code for note in notes] == ["importer.command_hardware", "importer.command_ignored"]


@pytest.mark.parametrize(
    "behind",
    [
        " > log",
        " >log 2>err",
        " >> log 2>> err < /dev/null &",
        " 2>&1 | tee x",
        " 2>&1 |tee x",
        " 2>&1|tee x",
        " &> log",
        " &>log",
        " >& log &",
        " &",
        "&",
        "|tee log",
        " || exit 1",
        "; echo done",
    ],
)
def test_where_the_output_goes_is_no_argument(behind: str) -> None:
    command = parse_command(f"nohup vllm serve Qwen/Qwen3-8B --max-model-len 8192{behind}")
    assert (command.ignored, command.unread, command.settings["engine.max_model_len"]) == ([], [], 8192)


def test_what_stands_in_quotes_or_for_a_secret_is_no_redirection() -> None:
    command = parse_command(
        "docker run -e HF_TOKEN=<secret> --gpus 2 vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B "
        "--chat-template 'a | b > c' -tp 2"
    )
    assert command.model == "Qwen/Qwen3-8B" and command.settings["tp"] == 2
    assert command.ignored == ["--chat-template a | b > c"]


def test_values_that_are_none_are_listed_and_impossible_ones_refused() -> None:
    command = parse_command("vllm serve Qwen/Qwen3-8B --max-model-len lots --kv-cache-dtype int3 -tp")
    assert command.unread == ["--max-model-len lots", "--kv-cache-dtype int3", "-tp"]
    with pytest.raises(InvalidScenario):
        apply_command(parse_command("vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 1.5"), BASE)


def test_a_flag_in_front_of_the_model_does_not_swallow_it() -> None:
    assert parse_command("vllm serve --trust-remote-code Qwen/Qwen3-8B").model == "Qwen/Qwen3-8B"
    assert parse_command("vllm serve --enable-anything Qwen/Qwen3-8B").model == "Qwen/Qwen3-8B"


def test_an_unknown_model_leaves_the_present_one_and_says_so() -> None:
    scenario, notes = apply_command(parse_command("vllm serve acme/secret-model -tp 2"), BASE)
    assert scenario.model == BASE.model and scenario.deployment.tensor_parallel == 2
    assert [note.code for note in notes] == ["importer.command_model", "importer.command_hardware"]
    _, notes = apply_command(parse_command("llama-server -c 4096"), BASE)
    assert [note.code for note in notes] == ["importer.command_no_model", "importer.command_hardware"]


@pytest.mark.parametrize("text", ["", "ls -la", "vllm is nice", "{}", "rm -rf / # llama-servers"])
def test_other_texts_are_none(text: str) -> None:
    with pytest.raises(UnreadableFile) as error:
        parse_command(text)
    assert error.value.problems[0].code == "importer.command_unknown"


def test_quotes_and_lengths_are_bounded() -> None:
    for text in ("vllm serve 'open", "vllm serve " + "x " * 20_000, "vllm serve a\\"):
        with pytest.raises(UnreadableFile):
            parse_command(text)


DEPLOYMENTS = st.sampled_from(
    [
        {
            "deployment.accelerators": n * pp * copies,
            "deployment.tensor_parallel": n,
            "deployment.pipeline_parallel": pp,
        }
        for n in (1, 2, 8)
        for pp in (1, 2)
        for copies in (1, 2)
    ]
)
OPTIONAL = {
    "vllm": {
        "engine.max_num_seqs": st.integers(1, 4096),
        "engine.max_num_batched_tokens": st.integers(1, 10**6),
        "engine.gpu_memory_utilization": st.integers(5, 100).map(lambda n: n / 100),
        "engine.block_size": st.sampled_from([16, 32, 64]),
        "engine.enforce_eager": st.booleans(),
        "precision.weights": st.sampled_from(
            ["bf16", "fp16", "fp8", "awq_g128", "awq_g64", "gptq_g128", "nvfp4", "nf4"]
        ),
        "precision.kv_cache": st.sampled_from(["bf16", "fp16", "fp8"]),
        "speculative.kind": st.sampled_from(["none", "mtp", "eagle", "ngram"]),
    },
    "sglang": {
        "engine.mem_fraction_static": st.integers(5, 100).map(lambda n: n / 100),
        "engine.chunked_prefill_size": st.integers(1, 10**6),
        "engine.max_num_seqs": st.integers(1, 4096),
        "engine.enforce_eager": st.booleans(),
        "precision.kv_cache": st.sampled_from(["bf16", "fp8"]),
        "deployment.attention_data_parallel": st.sampled_from([1, 2]),
    },
    "trtllm": {
        "engine.max_batch_size": st.integers(1, 4096),
        "engine.max_num_batched_tokens": st.integers(1, 10**6),
        "engine.kv_cache_free_gpu_mem_fraction": st.integers(1, 100).map(lambda n: n / 100),
        "deployment.expert_parallel": st.sampled_from([1, 2]),
    },
    "llamacpp": {
        "engine.n_gpu_layers": st.integers(0, 100),
        "engine.n_cpu_moe": st.integers(0, 100),
        "engine.n_batch": st.integers(1, 8192),
        "engine.n_ubatch": st.integers(1, 8192),
        "engine.n_parallel": st.integers(1, 64),
        "engine.flash_attention": st.none() | st.booleans(),
        "engine.kv_unified": st.none() | st.booleans(),
        "engine.kv_on_host": st.booleans(),
        "precision.kv_cache": st.sampled_from(["fp16", "q8_0", "q4_0", "fp32"]),
        "precision.weights": st.sampled_from(
            ["gguf_q4_k_m", "gguf_iq2_xxs", "gguf_q8_0", "bf16", "gguf_f16"]
        ),
    },
}


@settings(max_examples=60)
@given(st.sampled_from(sorted(OPTIONAL)), st.data())
def test_round_trip(engine: str, data: st.DataObject) -> None:
    changes: dict[str, Any] = {
        "engine.name": engine,
        "engine.version": {"vllm": "0.21", "sglang": "0.5.5"}.get(engine, "1.0"),
    }
    changes["engine.version"] = "" if engine == "llamacpp" else changes["engine.version"]
    changes["engine.max_model_len"] = data.draw(st.integers(1, 40960))
    place = data.draw(DEPLOYMENTS)
    if engine == "llamacpp":
        n = data.draw(st.sampled_from([1, 2, 4]))
        place = {"deployment.accelerators": n, "deployment.pipeline_parallel": n}
        changes["precision.weights"], changes["precision.kv_cache"] = "gguf_q4_k_m", "fp16"
    for path, values in OPTIONAL[engine].items():
        if data.draw(st.booleans()):
            changes[path] = data.draw(values)
    weights = changes.get("precision.weights", "bf16")
    if engine in ("vllm", "sglang") and "precision.kv_cache" not in changes:
        changes["precision.kv_cache"] = "fp16" if weights == "fp16" else "bf16"
    scenario = with_values(BASE, {**place, **changes})
    if engine == "trtllm" or scenario.deployment.attention_data_parallel > 1:
        # TensorRT-LLM's server is one copy; with copied attention the ranks are those copies.
        one = scenario.deployment.tensor_parallel * scenario.deployment.pipeline_parallel
        scenario = with_values(scenario, {"deployment.accelerators": one})
    back, notes = apply_command(parse_command(command_for(scenario)), BASE)
    assert back == scenario, command_for(scenario)
    assert not [n for n in notes if n.severity == "warning" or n.code == "importer.command_ignored"]


def test_ollama_goes_there_and_back() -> None:
    scenario = with_values(
        BASE,
        {
            "engine.name": "ollama",
            "engine.version": "",
            "engine.max_model_len": 16384,
            "engine.n_parallel": 4,
            "engine.flash_attention": True,
            "precision.weights": "gguf_q4_k_m",
            "precision.kv_cache": "q8_0",
        },
    )
    back, _ = apply_command(parse_command(command_for(scenario)), BASE)
    assert back == scenario


def test_expert_parallel_copies_go_there_and_back() -> None:
    changes = {
        "model": load_model("DeepSeek-V3"),
        "precision.weights": "fp8_block",
        "engine.max_model_len": 8192,
        "deployment.accelerators": 8,
        "deployment.tensor_parallel": 8,
        "deployment.expert_parallel": 8,
        "deployment.attention_data_parallel": 4,
    }
    scenario = with_values(BASE, changes)
    text = command_for(scenario)
    assert "--tensor-parallel-size 2" in text and "--data-parallel-size 4" in text
    assert apply_command(parse_command(text), BASE)[0] == scenario


def test_engines_without_a_command_say_so() -> None:
    with pytest.raises(NotFound):
        command_for(with_values(BASE, {"engine.name": "textbook"}))


def test_a_command_leaves_nothing_of_the_format_before() -> None:
    """The same model served without a flag is read as its publisher stores it (BF16 for Qwen3-32B)."""
    base = Scenario(model=load_model("Qwen/Qwen3-32B"), accelerator=load_accelerator("RTX 3090"))
    told = "python -m sglang.launch_server --model-path Qwen/Qwen3-32B --quantization fp8 --tp 2"
    narrow, _ = apply_command(parse_command(told), base)
    assert narrow.precision.weights == "fp8"
    plain, _ = apply_command(parse_command("trtllm-serve Qwen/Qwen3-32B --tp_size 2"), narrow)
    assert plain.precision.weights == "bf16"
    unknown, _ = apply_command(parse_command("vllm serve /models/mine"), narrow)
    assert unknown.precision.weights == "fp8"


def test_tensorrt_llm_has_no_fp8_on_ampere() -> None:
    """TensorRT-LLM, "Numerical precision": nvidia.github.io/TensorRT-LLM/reference/precision.html."""
    base = Scenario(model=load_model("Qwen/Qwen3-32B"), accelerator=load_accelerator("RTX 3090"))
    scenario, _ = apply_command(parse_command("trtllm-serve Qwen/Qwen3-32B-FP8 --tp_size 2"), base)
    assert scenario.precision.weights.startswith("fp8")
    assert "no_fp8" in {problem.code for problem in check(scenario)}
    ada = scenario.model_copy(update={"accelerator": load_accelerator("RTX 4090")})
    assert "no_fp8" not in {problem.code for problem in check(ada)}


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_of_amd_only_gpus_with_fp8_units_take_fp8(engine: str) -> None:
    """vLLM, "FP8 W8A8": Marlin for the others is NVIDIA's; github.com/vllm-project/vllm/issues/16394."""
    base = Scenario(model=load_model("Qwen/Qwen3-32B"), accelerator=load_accelerator("RTX 3090"))
    for name, refused in (
        *(("Radeon RX 7900 XTX", True), ("Instinct MI210", True), ("Radeon AI PRO R9700", False)),
        *(("Instinct MI300X", False), ("RTX 3090", False)),
    ):
        changes = {"engine.name": engine, "precision.weights": "fp8", "accelerator": load_accelerator(name)}
        found = {problem.code for problem in check(with_values(base, changes))}
        assert ("no_fp8_units" in found) == refused, name


def test_several_computers_and_drafted_steps_of_sglang() -> None:
    text = "python3 -m sglang.launch_server --model-path deepseek-ai/DeepSeek-R1 --tp 16 --nnodes 2"
    text += " --node-rank 0"
    found, notes = apply_command(
        parse_command(f"{text} --speculative-algorithm EAGLE --speculative-num-steps 3"), BASE
    )
    assert (found.deployment.nodes, found.deployment.accelerators) == (2, 16)
    assert (found.speculative.kind, found.speculative.tokens) == ("eagle", 3)
    assert [n.values["options"] for n in notes if n.code == "importer.command_ignored"] == ["--node-rank 0"]
    again, _ = apply_command(parse_command(command_for(found)), BASE)
    assert again.deployment == found.deployment and again.speculative == found.speculative


@pytest.mark.parametrize(
    ("engine", "weights", "head", "narrowed"),
    [
        ("vllm", "fp8", "vllm serve Qwen/Qwen3-32B", "fp8"),
        ("sglang", "fp8", "python -m sglang.launch_server --model-path Qwen/Qwen3-32B", "fp8"),
        ("vllm", "nf4", "vllm serve Qwen/Qwen3-32B", "bitsandbytes"),
        ("vllm", "fp8_block", "vllm serve Qwen/Qwen3-32B-FP8", ""),
        ("vllm", "awq_g128", "vllm serve Qwen/Qwen3-32B-AWQ", ""),
        ("vllm", "awq_g64", "vllm serve /path/to/Qwen3-32B-awq-g64", ""),
        ("vllm", "nf4_dq", "vllm serve /path/to/Qwen3-32B-nf4-dq", ""),
        ("vllm", "mxfp4", "vllm serve /path/to/Qwen3-32B-MXFP4", ""),
        ("trtllm", "fp8", "trtllm-serve /path/to/Qwen3-32B-FP8-dynamic", ""),
    ],
)
def test_no_repository_is_made_up(engine: str, weights: str, head: str, narrowed: str) -> None:
    changes = {"engine.name": engine, "engine.version": "0.21", "precision.weights": weights}
    text = command_for(with_values(BASE, changes))
    first, *options = (line.strip(" \\") for line in text.splitlines())
    assert first == head
    assert [o for o in options if "quantization" in o] == [f"--quantization {narrowed}"] * bool(narrowed)
    again, _ = apply_command(parse_command(text), BASE)
    assert (again.model.name, again.precision.weights) == (BASE.model.name, weights)


def test_the_repositories_that_are_known_are_what_they_are_listed_for() -> None:
    for model, formats in repositories().items():
        for weights, name in formats.items():
            found = resolve(name)
            assert (found.model_id, found.weight_format) == (model, weights), name


def test_devices_are_not_dropped_without_a_word() -> None:
    """llama.cpp, docs/multi-gpu.md: by default the layers are spread over all visible devices."""
    two = with_values(BASE, {"deployment.accelerators": 2, "deployment.tensor_parallel": 2})
    for text, count in (
        ("llama-server -m Qwen3-32B-Q4_K_M.gguf", 2),
        ("llama-server -m Qwen3-32B-Q4_K_M.gguf -sm none", 1),
        ("CUDA_VISIBLE_DEVICES=0 llama-server -m Qwen3-32B-Q4_K_M.gguf", 1),
        ("vllm serve Qwen/Qwen3-32B", 1),
        ("vllm serve Qwen/Qwen3-32B -tp 2", 2),
    ):
        found, notes = apply_command(parse_command(text), two)
        assert found.deployment.accelerators == count, text
        said = [n.values for n in notes if n.code == "importer.command_devices"]
        assert said == ([{"now": 1, "before": 2}] if count == 1 else []), text


@pytest.mark.parametrize("option", ["--tensor-parallel-size 0", "-tp -3", "-dp -1", "--nnodes 0", "-pp two"])
def test_a_number_of_devices_that_cannot_be_is_told(option: str) -> None:
    """One device is taken then, as the engine does by itself: never without a word."""
    scenario, notes = apply_command(parse_command(f"vllm serve Qwen/Qwen3-32B {option}"), BASE)
    assert scenario.deployment.accelerators == 1
    assert [(n.code, n.severity, n.values["options"]) for n in notes if "command_value" in n.code] == [
        ("importer.command_value", "warning", option)
    ]


def _codes(engine: str, device: str, weights: str) -> set[str]:
    changes = {"engine.name": engine, "engine.version": "", "precision.weights": weights}
    scenario = BASE.model_copy(update={"accelerator": load_accelerator(device)})
    return {problem.code for problem in check(with_values(scenario, changes))}


@pytest.mark.parametrize(
    ("engine", "device", "weights", "code"),
    [
        ("vllm", "H100 SXM", "mlx_4bit", "weight_format_engine"),
        ("vllm", "H100 SXM", "gguf_tq1_0", "weight_format_engine"),
        ("vllm", "V100 SXM2 32GB", "nvfp4", "format_not_for_device"),
        ("vllm", "V100 SXM2 32GB", "awq_g128", "format_not_for_device"),
        ("sglang", "V100 SXM2 32GB", "fp8", "format_not_for_device"),
        ("vllm", "P100 PCIe 16GB", "fp16", "engine_not_for_device"),
        ("sglang", "GTX 1080 Ti", "fp16", "engine_not_for_device"),
        ("llamacpp", "Gaudi 3", "gguf_q4_k_m", "engine_not_for_device"),
        ("ollama", "Gaudi 3", "gguf_q4_k_m", "engine_not_for_device"),
    ],
)
def test_what_an_engine_has_no_kernels_for_is_told(engine: str, device: str, weights: str, code: str) -> None:
    assert code in _codes(engine, device, weights)


@pytest.mark.parametrize(
    ("engine", "device", "weights"),
    [
        ("vllm", "V100 SXM2 32GB", "gptq_g128"),  # vLLM's table has GPTQ, GGUF and bitsandbytes on Volta
        ("vllm", "V100 SXM2 32GB", "gguf_q4_k_m"),
        ("vllm", "T4", "awq_g128"),
        ("vllm", "T4", "fp8"),  # as 16 bit, by its Marlin kernel
        ("vllm", "Gaudi 3", "bf16"),
        ("llamacpp", "GTX 1080 Ti", "gguf_q4_k_m"),
        ("llamacpp", "Arc B580", "gguf_q4_k_m"),
        ("vllm", "MI300X", "fp8"),
        ("mlx", "M3 Max", "mlx_4bit"),
    ],
)
def test_what_an_engine_has_kernels_for_is_not_complained_of(engine: str, device: str, weights: str) -> None:
    told = _codes(engine, device, weights)
    assert not told & {"engine_not_for_device", "format_not_for_device", "weight_format_engine", "no_fp8"}
