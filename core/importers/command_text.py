"""The command that starts a scenario's engine as the scenario says."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import resources
from core.catalog.models import all_models
from core.errors import NotFound, Problem
from core.importers.model_names import name_with_format
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario

_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_PLAIN_TYPES = {"fp16": "float16", "fp32": "float32"}
_LLAMA_CACHE = {"fp16": "f16", "bf16": "bf16", "fp32": "f32"}
_OPTION = tuple[str, str | int | float | None]
_PLAIN = ("bf16", "fp16", "fp32")
# vLLM, "FP8 W8A8" and "BitsAndBytes": quantised in flight; SGLang, "Quantization": --quantization fp8.
_AT_LOADING = {"vllm": {"fp8": "fp8", "nf4": "bitsandbytes"}, "sglang": {"fp8": "fp8"}}
_OWN_FOLDER = "/path/to"
_ANY_PUBLISHER = "PUBLISHER"
_UNTIL_IT_LISTENS = 3  # s; a client that comes earlier finds no server


def command_for(scenario: Scenario) -> str:
    """One command, a line an option.  Raises NotFound for an engine that no command starts."""
    writers = {"vllm": _vllm, "sglang": _sglang, "trtllm": _trtllm, "llamacpp": _llama, "ollama": _ollama}
    writer = writers.get(scenario.engine.name)
    if writer is None:
        raise NotFound(Problem("importer.no_command", ("engine.name",), {"engine": scenario.engine.name}))
    head, options = writer(scenario)
    lines = [head]
    for name, value in options:
        lines.append(name if value is None else f"{name} {_quoted(_shown(value))}")
    return " \\\n  ".join(lines)


def _quoted(text: str) -> str:
    return text if _SAFE.fullmatch(text) else "'" + text.replace("'", "'\"'\"'") + "'"


def _shown(value: str | int | float) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def repositories() -> dict[str, dict[str, str]]:
    """Repositories known by name that hold a model in another format than its publisher's own."""
    return dict(_known_names()["repositories"])


def ollama_tags() -> dict[str, dict[str, str]]:
    """Tags of Ollama's library known by name, by the model's id and the key of the format."""
    return dict(_known_names()["ollama"])


@lru_cache(maxsize=1)
def _known_names() -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(resources.read_text("data/repositories.json"))
    return tree


def _quantised(scenario: Scenario) -> str:
    """``--quantization`` where the engine narrows the publisher's 16 bits as it loads them, else ""."""
    weights = scenario.precision.weights
    known = repositories().get(_catalogue_id(scenario), {})
    if weights in known or scenario.model.published_weight_format not in _PLAIN:
        return ""
    return _AT_LOADING.get(scenario.engine.name, {}).get(weights, "")


def _catalogue_id(scenario: Scenario) -> str:
    return next((m.id for m in all_models() if m.name == scenario.model.name), scenario.model.name)


def _repository(scenario: Scenario) -> str:
    """The name that is loaded: of a format that is not the publisher's own the repository where one is
    known, else a folder of one's own; a repository's name is never made up.
    """
    model, weights, name = scenario.model, scenario.precision.weights, _catalogue_id(scenario)
    if weights == model.published_weight_format or weights in _PLAIN or _quantised(scenario):
        return name
    known = repositories().get(name, {}).get(weights)
    return known or f"{_OWN_FOLDER}/{name_with_format(name.rpartition('/')[2], weights)}"


def _kept(options: list[tuple[str, str | int | float | None, bool]]) -> list[_OPTION]:
    return [(name, value) for name, value, wanted in options if wanted]


def _type(scenario: Scenario) -> _OPTION | None:
    """``--dtype`` where a plain type is not the publisher's own."""
    weights, published = scenario.precision.weights, scenario.model.published_weight_format
    if weights == published or weights not in _PLAIN:
        return None
    return "--dtype", _PLAIN_TYPES.get(weights, "bfloat16")


def _cache(scenario: Scenario) -> str:
    """``--kv-cache-dtype``, "" where the engine chooses the same by itself."""
    cache, weights = scenario.precision.kv_cache, scenario.precision.weights
    follows = weights if weights in ("fp16", "fp32") else "bf16"
    return "" if cache == follows else {"bf16": "bfloat16", "fp16": "float16"}.get(cache, cache)


def _vllm(scenario: Scenario) -> tuple[str, list[_OPTION]]:
    engine, place = scenario.engine, scenario.deployment
    copies = place.attention_data_parallel
    spread = place.expert_parallel > 1
    # Of a mixture the experts are then divided over all ranks, whole with --enable-expert-parallel.
    ranks = copies if copies > 1 or spread else place.replicas
    tensor = place.attention_tensor_parallel if copies > 1 or spread else place.tensor_parallel
    dtype, cache = _type(scenario), _cache(scenario)
    draft = scenario.speculative
    method = {"mtp": "mtp", "eagle": "eagle3", "ngram": "ngram", "draft_model": "draft_model"}.get(
        draft.kind, ""
    )
    speculation = json.dumps({"method": method, "num_speculative_tokens": draft.tokens})
    options = _kept(
        [
            ("--tensor-parallel-size", tensor, tensor > 1),
            ("--pipeline-parallel-size", place.pipeline_parallel, place.pipeline_parallel > 1),
            ("--data-parallel-size", ranks, ranks > 1),
            ("--enable-expert-parallel", None, spread),
            ("--nnodes", place.nodes, place.nodes > 1),
            ("--max-model-len", engine.max_model_len, True),
            ("--gpu-memory-utilization", engine.gpu_memory_utilization, True),
            ("--max-num-seqs", engine.max_num_seqs, engine.max_num_seqs is not None),
            (
                "--max-num-batched-tokens",
                engine.max_num_batched_tokens,
                engine.max_num_batched_tokens is not None,
            ),
            ("--block-size", engine.block_size, engine.block_size != 16),
            ("--enforce-eager", None, engine.enforce_eager),
            (*(dtype or ("", None)), dtype is not None),
            ("--quantization", _quantised(scenario), bool(_quantised(scenario))),
            ("--kv-cache-dtype", cache, bool(cache)),
            ("--enable-lora", None, engine.max_loras > 0),
            ("--max-loras", engine.max_loras, engine.max_loras > 0),
            ("--max-lora-rank", engine.lora_rank, engine.max_loras > 0),
            ("--speculative-config", speculation, bool(method)),
        ]
    )
    return f"vllm serve {_quoted(_repository(scenario))}", options


def _sglang(scenario: Scenario) -> tuple[str, list[_OPTION]]:
    engine, place = scenario.engine, scenario.deployment
    copies = place.attention_data_parallel
    dtype, cache = _type(scenario), _cache(scenario)
    draft = scenario.speculative
    algorithm = {"mtp": "NEXTN", "eagle": "EAGLE3", "ngram": "NGRAM", "draft_model": "STANDALONE"}.get(
        draft.kind, ""
    )
    options = _kept(
        [
            ("--tp-size", place.tensor_parallel, place.tensor_parallel > 1),
            ("--pp-size", place.pipeline_parallel, place.pipeline_parallel > 1),
            ("--dp-size", copies if copies > 1 else place.replicas, copies > 1 or place.replicas > 1),
            ("--enable-dp-attention", None, copies > 1),
            ("--ep-size", place.expert_parallel, place.expert_parallel > 1),
            ("--nnodes", place.nodes, place.nodes > 1),
            ("--context-length", engine.max_model_len, True),
            ("--mem-fraction-static", engine.mem_fraction_static, engine.mem_fraction_static is not None),
            ("--max-running-requests", engine.max_num_seqs, engine.max_num_seqs is not None),
            ("--chunked-prefill-size", engine.chunked_prefill_size, engine.chunked_prefill_size is not None),
            ("--max-mamba-cache-size", engine.max_mamba_cache_size, engine.max_mamba_cache_size is not None),
            ("--disable-cuda-graph", None, engine.enforce_eager),
            (*(dtype or ("", None)), dtype is not None),
            ("--quantization", _quantised(scenario), bool(_quantised(scenario))),
            ("--kv-cache-dtype", "fp8_e4m3" if cache == "fp8" else cache, bool(cache)),
            ("--enable-lora", None, engine.max_loras > 0),
            ("--max-loras-per-batch", engine.max_loras, engine.max_loras > 0),
            ("--max-lora-rank", engine.lora_rank, engine.max_loras > 0),
            ("--speculative-algorithm", algorithm, bool(algorithm)),
            ("--speculative-num-draft-tokens", draft.tokens, bool(algorithm)),
        ]
    )
    return f"python -m sglang.launch_server --model-path {_quoted(_repository(scenario))}", options


def _trtllm(scenario: Scenario) -> tuple[str, list[_OPTION]]:
    engine, place = scenario.engine, scenario.deployment
    fraction = engine.kv_cache_free_gpu_mem_fraction
    cache = _cache(scenario)
    options = _kept(
        [
            ("--tp_size", place.tensor_parallel, place.tensor_parallel > 1),
            ("--pp_size", place.pipeline_parallel, place.pipeline_parallel > 1),
            ("--ep_size", place.expert_parallel, place.expert_parallel > 1),
            ("--max_seq_len", engine.max_model_len, True),
            ("--max_batch_size", engine.max_batch_size, engine.max_batch_size is not None),
            ("--max_num_tokens", engine.max_num_batched_tokens, engine.max_num_batched_tokens is not None),
            ("--kv_cache_free_gpu_memory_fraction", fraction, fraction is not None),
            ("--kv_cache_dtype", cache, bool(cache)),
        ]
    )
    return f"trtllm-serve {_quoted(_repository(scenario))}", options


def _devices(scenario: Scenario) -> Iterator[str]:
    if scenario.deployment.accelerators > 1:
        numbers = ",".join(str(n) for n in range(scenario.deployment.accelerators))
        yield f"CUDA_VISIBLE_DEVICES={numbers}"


def _llama_cache(scenario: Scenario) -> str:
    return _LLAMA_CACHE.get(scenario.precision.kv_cache, scenario.precision.kv_cache)


def _llama(scenario: Scenario) -> tuple[str, list[_OPTION]]:
    engine, place = scenario.engine, scenario.deployment
    weights = scenario.precision.weights
    name = _catalogue_id(scenario)
    cache = _llama_cache(scenario)
    flash = {True: "on", False: "off", None: ""}[engine.flash_attention]
    unified = {True: "--kv-unified", False: "--no-kv-unified", None: ""}[engine.kv_unified]
    options = _kept(
        [
            ("-c", engine.max_model_len, True),
            ("-np", engine.n_parallel, engine.n_parallel is not None),
            ("-ngl", engine.n_gpu_layers, engine.n_gpu_layers is not None),
            ("--n-cpu-moe", engine.n_cpu_moe, engine.n_cpu_moe > 0),
            ("-b", engine.n_batch, engine.n_batch is not None),
            ("-ub", engine.n_ubatch, engine.n_ubatch is not None),
            ("-fa", flash, bool(flash)),
            ("-ctk", cache, cache != "f16"),
            ("-ctv", cache, cache != "f16"),
            ("--no-kv-offload", None, engine.kv_on_host),
            (unified, None, bool(unified)),
            ("-amb", engine.attention_max_batch_mib, engine.attention_max_batch_mib is not None),
            ("-sm", "row", place.tensor_parallel > 1),
        ]
    )
    head = " ".join([*_devices(scenario), "llama-server -m", _quoted(name_with_format(name, weights))])
    return head, options


def _ollama(scenario: Scenario) -> tuple[str, list[_OPTION]]:
    """Ollama's server, which alone reads the environment, and the client that has it load the model.

    docs/faq.mdx, "How can I specify the context window size?", "How does Ollama handle concurrent requests?":
    the context is of each slot.
    """
    engine = scenario.engine
    slots = engine.n_parallel or 1
    cache = _llama_cache(scenario)
    each = engine.longest_request if engine.separate_slots > 1 else max(1, engine.max_model_len // slots)
    variables = [*_devices(scenario), f"OLLAMA_CONTEXT_LENGTH={each}"]
    if engine.n_parallel is not None:
        variables.append(f"OLLAMA_NUM_PARALLEL={slots}")
    if engine.flash_attention is not None:
        variables.append(f"OLLAMA_FLASH_ATTENTION={int(engine.flash_attention)}")
    if cache != "f16":
        variables.append(f"OLLAMA_KV_CACHE_TYPE={cache}")
    server = " ".join([*variables, "ollama serve"])
    return f"{server} &\nsleep {_UNTIL_IT_LISTENS} && ollama run {_quoted(_ollama_name(scenario))}", []


def _ollama_name(scenario: Scenario) -> str:
    """A tag of Ollama's library where one is known, else a repository whose publisher is left open."""
    weights, name = scenario.precision.weights, _catalogue_id(scenario)
    known = ollama_tags().get(name, {}).get(weights)
    kind = WEIGHT_FORMATS[weights].gguf or weights.upper()
    return known or f"hf.co/{_ANY_PUBLISHER}/{name.rpartition('/')[2]}-GGUF:{kind}"
