"""What the flags of each engine mean: a field of a scenario, or a setting that others depend on.

Sources: the engines' own argument parsers (vLLM engine/arg_utils.py, SGLang server_args.py,
TensorRT-LLM commands/serve.py, llama.cpp common/arg.cpp, Ollama envconfig).
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Arity = Literal["value", "none", "maybe"]


class NotUnderstood(ValueError):
    """A value that the flag does not take."""


@dataclass(frozen=True, slots=True)
class Flag:
    """``target``: a dotted field, or a bare name for the rules of ``engine_command``."""

    target: str
    read: Callable[[str], Any]
    arity: Arity = "value"


_SUFFIXES = {"k": 1000, "m": 10**6, "g": 10**9, "K": 1024, "M": 2**20, "G": 2**30}


def whole(text: str) -> int:
    """A whole number, with a suffix as vLLM takes it: 32k is 32,000, 32K is 32,768."""
    match = re.fullmatch(r"(-?\d{1,15})(?:\.(\d{1,6}))?([kKmMgG]?)", text.strip())
    if match is None or (match[2] and not match[3]):
        raise NotUnderstood(text)
    number = float(f"{match[1]}.{match[2] or 0}") if match[2] else int(match[1])
    return int(number * _SUFFIXES.get(match[3], 1))


def positive(text: str) -> int:
    """A number of devices or servers: one at least."""
    number = whole(text)
    if number < 1:
        raise NotUnderstood(text)
    return number


def real(text: str) -> float:
    """A finite number."""
    if re.fullmatch(r"-?\d{0,9}\.?\d{0,12}", text.strip()) is None or not re.search(r"\d", text):
        raise NotUnderstood(text)
    return float(text)


def yes(_: str) -> bool:
    """A flag that is there."""
    return True


def switch(text: str) -> bool | None:
    """on, off or auto; a bare flag is on."""
    known = {"": True, "on": True, "1": True, "true": True, "off": False, "0": False, "false": False}
    known |= {"auto": None, "-1": None}  # type: ignore[dict-item]
    if text.lower() not in known:
        raise NotUnderstood(text)
    return known[text.lower()]


def one_of(table: Mapping[str, str]) -> Callable[[str], str]:
    """A word of a table."""

    def read(text: str) -> str:
        if text.lower() not in table:
            raise NotUnderstood(text)
        return table[text.lower()]

    return read


def layers(text: str) -> int:
    """Layers on the GPU: a number; -1, "all" and "auto" are all of them."""
    return -1 if text.lower() in ("all", "auto") else whole(text)


def json_object(text: str) -> dict[str, Any]:
    """A small JSON object."""
    try:
        tree = json.loads(text[:4000])
    except (ValueError, RecursionError):
        raise NotUnderstood(text) from None
    if not isinstance(tree, dict):
        raise NotUnderstood(text)
    return tree


DTYPES = {
    "bfloat16": "bf16",
    "half": "fp16",
    "float16": "fp16",
    "float": "fp32",
    "float32": "fp32",
    "auto": "",
}
CACHE = {"auto": "", "fp8": "fp8", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8", "bfloat16": "bf16"}
CACHE |= {"float16": "fp16", "half": "fp16", "bf16": "bf16", "fp16": "fp16", "int8": "int8", "nvfp4": "nvfp4"}
LLAMA_CACHE = {"f16": "fp16", "bf16": "bf16", "f32": "fp32"}
LLAMA_CACHE |= {key: key for key in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")}
QUANTISATION = {
    "fp8": "fp8",
    "awq": "awq_g128",
    "awq_marlin": "awq_g128",
    "gptq": "gptq_g128",
    "gptq_marlin": "gptq_g128",
    "bitsandbytes": "nf4",
    "modelopt": "fp8",
    "modelopt_fp8": "fp8",
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4_experts",
    "mxfp8": "mxfp8",
    "w8a8_int8": "w8a8",
    "w8a8_fp8": "fp8",
    "blockwise_int8": "w8a8",
    "fbgemm_fp8": "fp8",
    "compressed-tensors": "",
    "gguf": "",
}
_WORD = str
_MODEL = Flag("model", _WORD)


_DEVICES = frozenset({"tp", "pp", "dp", "ep", "deployment.nodes"})


def _fields(**targets: str) -> dict[str, Flag]:
    return {
        f"--{name.replace('_', '-')}": Flag(target, positive if target in _DEVICES else whole)
        for name, target in targets.items()
    }


VLLM: dict[str, Flag] = {
    "--model": _MODEL,
    **_fields(
        tensor_parallel_size="tp",
        pipeline_parallel_size="pp",
        data_parallel_size="dp",
        max_model_len="engine.max_model_len",
        max_num_seqs="engine.max_num_seqs",
        max_num_batched_tokens="engine.max_num_batched_tokens",
        block_size="engine.block_size",
        max_loras="max_loras",
        max_lora_rank="engine.lora_rank",
        num_speculative_tokens="speculative.tokens",
        nnodes="deployment.nodes",
    ),
    "-tp": Flag("tp", positive),
    "-pp": Flag("pp", positive),
    "-dp": Flag("dp", positive),
    "--gpu-memory-utilization": Flag("engine.gpu_memory_utilization", real),
    "--enforce-eager": Flag("engine.enforce_eager", yes, "none"),
    "--enable-expert-parallel": Flag("expert_parallel", yes, "none"),
    "-ep": Flag("expert_parallel", yes, "none"),
    "--enable-lora": Flag("lora", yes, "none"),
    "--quantization": Flag("quantization", one_of(QUANTISATION)),
    "-q": Flag("quantization", one_of(QUANTISATION)),
    "--dtype": Flag("dtype", one_of(DTYPES)),
    "--kv-cache-dtype": Flag("cache", one_of(CACHE)),
    "--speculative-config": Flag("speculation", json_object),
}
_ALGORITHMS = {
    "eagle": "eagle",
    "eagle3": "eagle",
    "nextn": "mtp",
    "standalone": "draft_model",
    "ngram": "ngram",
}
SGLANG: dict[str, Flag] = {
    "--model-path": _MODEL,
    "--model": _MODEL,
    **_fields(
        tp_size="tp",
        tp="tp",
        tensor_parallel_size="tp",
        pp_size="pp",
        pipeline_parallel_size="pp",
        dp_size="dp",
        dp="dp",
        data_parallel_size="dp",
        ep_size="ep",
        ep="ep",
        expert_parallel_size="ep",
        context_length="engine.max_model_len",
        max_running_requests="engine.max_num_seqs",
        chunked_prefill_size="engine.chunked_prefill_size",
        max_mamba_cache_size="engine.max_mamba_cache_size",
        max_loras_per_batch="max_loras",
        max_lora_rank="engine.lora_rank",
        speculative_num_draft_tokens="speculative.tokens",
        speculative_num_steps="draft_steps",
        nnodes="deployment.nodes",
    ),
    "--mem-fraction-static": Flag("engine.mem_fraction_static", real),
    "--disable-cuda-graph": Flag("engine.enforce_eager", yes, "none"),
    "--enable-dp-attention": Flag("dp_attention", yes, "none"),
    "--enable-lora": Flag("lora", yes, "none"),
    "--quantization": Flag("quantization", one_of(QUANTISATION)),
    "--dtype": Flag("dtype", one_of(DTYPES)),
    "--kv-cache-dtype": Flag("cache", one_of(CACHE)),
    "--speculative-algorithm": Flag("speculative.kind", one_of(_ALGORITHMS)),
    "--speculative-algo": Flag("speculative.kind", one_of(_ALGORITHMS)),
}
TRTLLM: dict[str, Flag] = {
    "--model": _MODEL,
    **_fields(
        tp_size="tp",
        pp_size="pp",
        ep_size="ep",
        max_batch_size="engine.max_batch_size",
        max_num_tokens="engine.max_num_batched_tokens",
        max_seq_len="engine.max_model_len",
        tokens_per_block="engine.block_size",
    ),
    "--kv-cache-free-gpu-memory-fraction": Flag("engine.kv_cache_free_gpu_mem_fraction", real),
    "--kv-cache-free-gpu-mem-fraction": Flag("engine.kv_cache_free_gpu_mem_fraction", real),
    "--free-gpu-memory-fraction": Flag("engine.kv_cache_free_gpu_mem_fraction", real),
    "--kv-cache-dtype": Flag("cache", one_of(CACHE)),
}
_SPLITS = {"none": "none", "layer": "layer", "row": "row", "tensor": "row"}


def _llama() -> dict[str, Flag]:
    spellings: tuple[tuple[str, Flag], ...] = (
        ("-m --model", _MODEL),
        ("-hf -hfr --hf-repo", _MODEL),
        ("-c --ctx-size", Flag("context", whole)),
        ("-ngl --gpu-layers --n-gpu-layers", Flag("gpu_layers", layers)),
        ("-ncmoe --n-cpu-moe", Flag("engine.n_cpu_moe", whole)),
        ("-cmoe --cpu-moe", Flag("cpu_moe", yes, "none")),
        ("-b --batch-size", Flag("engine.n_batch", whole)),
        ("-ub --ubatch-size", Flag("engine.n_ubatch", whole)),
        ("-np --parallel", Flag("engine.n_parallel", whole)),
        ("-fa --flash-attn", Flag("engine.flash_attention", switch, "maybe")),
        ("-ctk --cache-type-k", Flag("cache", one_of(LLAMA_CACHE))),
        ("-ctv --cache-type-v", Flag("cache_v", one_of(LLAMA_CACHE))),
        ("-nkvo --no-kv-offload", Flag("engine.kv_on_host", yes, "none")),
        ("-kvu --kv-unified", Flag("engine.kv_unified", yes, "none")),
        ("-no-kvu --no-kv-unified", Flag("engine.kv_unified", lambda _: False, "none")),
        ("-amb --attention-max-batch", Flag("engine.attention_max_batch_mib", whole)),
        ("-sm --split-mode", Flag("split", one_of(_SPLITS))),
    )
    return {name: flag for names, flag in spellings for name in names.split()}


LLAMA = _llama()
FLAGS: dict[str, dict[str, Flag]] = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "trtllm": TRTLLM,
    "llamacpp": LLAMA,
    "ollama": {},
    "mlx": {"--model": _MODEL},
}
# Environment of Ollama.
OLLAMA_ENVIRONMENT: dict[str, Flag] = {
    "OLLAMA_CONTEXT_LENGTH": Flag("context", whole),
    "OLLAMA_NUM_PARALLEL": Flag("engine.n_parallel", whole),
    "OLLAMA_FLASH_ATTENTION": Flag("engine.flash_attention", switch),
    "OLLAMA_KV_CACHE_TYPE": Flag("cache", one_of(LLAMA_CACHE)),
}
# Flags without a value and without a bearing on memory or speed: what follows them is no value of theirs.
BARE = frozenset(
    [
        *("--trust-remote-code", "--enable-prefix-caching", "--no-enable-prefix-caching", "--verbose", "-v"),
        *("--enable-chunked-prefill", "--no-enable-chunked-prefill", "--disable-log-requests", "--jinja"),
        *("--disable-log-stats", "--enable-auto-tool-choice", "--enable-reasoning", "--mlock", "--no-mmap"),
        *(
            "--no-webui",
            "-cnv",
            "--conversation",
            "-i",
            "--interactive",
            "--enable-metrics",
            "--cont-batching",
        ),
        *(
            "-cb",
            "--metrics",
            "--embedding",
            "--no-warmup",
            "--disable-radix-cache",
            "--enable-torch-compile",
        ),
        *("--async-scheduling", "--disable-custom-all-reduce", "--no-kv-offload", "--async-engine-args"),
    ]
)
