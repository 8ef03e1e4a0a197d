"""What an engine itself calls a setting: its flag, argument or environment variable."""

from core.spec.engine import Engine

_VLLM = {"lora_rank": "max_lora_rank"}
_SGLANG = {
    "max_model_len": "context_length",
    "max_num_seqs": "max_running_requests",
    "max_loras": "max_loras_per_batch",
    "lora_rank": "max_lora_rank",
    "enforce_eager": "disable_cuda_graph",
}
_TRTLLM = {
    "max_model_len": "max_seq_len",
    "max_num_seqs": "max_batch_size",
    "max_num_batched_tokens": "max_num_tokens",
    "block_size": "tokens_per_block",
    "enforce_eager": "cuda_graph_config: null",
}
_LLAMA = {
    "max_model_len": "-c",
    "n_gpu_layers": "-ngl",
    "n_cpu_moe": "--n-cpu-moe",
    "n_batch": "-b",
    "n_ubatch": "-ub",
    "n_parallel": "-np",
    "flash_attention": "-fa",
    "kv_unified": "--kv-unified",
    "kv_on_host": "--no-kv-offload",
}
# The environment, and parameters of a Modelfile; the rest Ollama decides by itself.
_OLLAMA = {
    "max_model_len": "OLLAMA_CONTEXT_LENGTH",
    "n_gpu_layers": "num_gpu",
    "n_batch": "num_batch",
    "n_parallel": "OLLAMA_NUM_PARALLEL",
    "flash_attention": "OLLAMA_FLASH_ATTENTION",
}
_OWN = {"vllm": _VLLM, "sglang": _SGLANG, "trtllm": _TRTLLM, "llamacpp": _LLAMA, "ollama": _OLLAMA}
# Named in a scenario as vLLM names them.
_SHARED = frozenset(
    ["max_model_len", "max_num_seqs", "max_num_batched_tokens", "block_size", "enforce_eager", "max_loras"]
)


def option_of(engine: str, setting: str) -> str:
    """The engine's name for a setting of ``core.spec.engine``; "" where it has none."""
    own = _OWN.get(engine, {}).get(setting, "")
    return own or (setting if engine == "vllm" and setting in _SHARED else "")


def context_option(engine: Engine) -> str:
    """The engine's name for the context of all slots together; Ollama's variable is of each."""
    name = option_of(engine.name, "max_model_len")
    if engine.name == "ollama" and engine.separate_slots > 1:
        return f"{name} × {option_of(engine.name, 'n_parallel')}"
    return name
