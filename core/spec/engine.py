"""Which engine serves the model, and the settings that decide memory and batching."""

from typing import Literal

from core.spec.base import Spec, Word, declared

EngineName = Literal["vllm", "textbook", "sglang", "trtllm", "llamacpp", "ollama", "transformers", "mlx"]

LLAMA: tuple[EngineName, ...] = ("llamacpp", "ollama")
SERVERS: tuple[EngineName, ...] = ("vllm", "sglang", "trtllm")
_CALIBRATED = (*SERVERS, *LLAMA, "transformers", "mlx")

# llama.cpp rounds a slot's part of the context up to whole ones of these (GGML_PAD in llama-context.cpp).
_CELLS = 256


def _whole_cells(tokens: int) -> int:
    return -(-tokens // _CELLS) * _CELLS


class Precision(Spec):
    """Formats by key of ``core.spec.formats``."""

    weights: Word = declared("bf16", kind="choice", choices="weight_formats")
    kv_cache: Word = declared("bf16", kind="choice", choices="cache_formats")


class Engine(Spec):
    """Engine settings, named as the engine names them.

    A setting that belongs to some engines only says so (``field_meta(...).engines``); the others
    ignore it.  None: the engine's own default.
    """

    name: EngineName = declared("vllm", kind="choice", choices="engines")
    version: Word = declared("0.21", kind="choice", choices="engine_versions")
    max_model_len: int = declared(16384, unit="tokens", kind="count", step=1024, ge=1, le=10**9)
    gpu_memory_utilization: float = declared(
        0.90, unit="1", kind="fraction", step=0.01, ge=0.05, le=1.0, engines=("vllm", "textbook")
    )
    max_num_seqs: int | None = declared(None, kind="count", step=1, ge=1, le=10**6, engines=SERVERS)
    max_num_batched_tokens: int | None = declared(
        None, unit="tokens", kind="count", step=512, ge=1, le=10**8, engines=("vllm", "trtllm")
    )
    block_size: int = declared(
        16, unit="tokens", kind="count", step=16, ge=1, le=4096, engines=("vllm", "trtllm")
    )
    enforce_eager: bool = declared(False, kind="choice", engines=SERVERS)  # True: no CUDA graphs
    # Name of a fit to own measurements (core.catalog.calibrations); "": the measured profile as it is.
    calibration: Word = declared("", kind="choice", choices="calibrations", engines=_CALIBRATED)
    # LoRA adapters are given room when the server starts.
    max_loras: int = declared(0, kind="count", step=1, ge=0, le=10_000, engines=("vllm", "sglang"))
    lora_rank: int = declared(16, kind="count", step=8, ge=1, le=4096, engines=("vllm", "sglang"))
    # SGLang
    mem_fraction_static: float | None = declared(
        None, unit="1", kind="fraction", step=0.01, ge=0.05, le=1.0, engines=("sglang",)
    )
    chunked_prefill_size: int | None = declared(
        None, unit="tokens", kind="count", step=512, ge=1, le=10**8, engines=("sglang",)
    )
    max_mamba_cache_size: int | None = declared(
        None, kind="count", step=1, ge=1, le=10**8, engines=("sglang",)
    )
    # TensorRT-LLM
    kv_cache_free_gpu_mem_fraction: float | None = declared(
        None, unit="1", kind="fraction", step=0.01, ge=0.01, le=1.0, engines=("trtllm",)
    )
    max_batch_size: int | None = declared(None, kind="count", step=1, ge=1, le=10**6, engines=("trtllm",))
    # llama.cpp and Ollama
    n_gpu_layers: int | None = declared(None, kind="count", step=1, ge=0, le=100_000, engines=LLAMA)
    n_cpu_moe: int = declared(0, kind="count", step=1, ge=0, le=100_000, engines=LLAMA)
    n_batch: int | None = declared(None, unit="tokens", kind="count", step=256, ge=1, le=10**8, engines=LLAMA)
    n_ubatch: int | None = declared(
        None, unit="tokens", kind="count", step=128, ge=1, le=10**8, engines=LLAMA
    )
    n_parallel: int | None = declared(None, kind="count", step=1, ge=1, le=4096, engines=LLAMA)
    flash_attention: bool | None = declared(None, kind="choice", engines=LLAMA)
    kv_unified: bool | None = declared(None, kind="choice", engines=LLAMA)
    # MiB of attention scores at once at most; a fork of llama.cpp (versions "ik…") has this setting.
    attention_max_batch_mib: int | None = declared(
        None, unit="MiB", kind="count", ge=1, le=10**8, engines=LLAMA
    )
    kv_on_host: bool = declared(False, kind="choice", engines=LLAMA)
    # auto: what the vendor of the device offers (CUDA, ROCm, Metal, SYCL)
    backend: Literal["auto", "vulkan"] = declared("auto", kind="choice", choices="backends", engines=LLAMA)
    # Transformers
    static_cache: bool = declared(False, kind="choice", engines=("transformers",))
    # MLX: the part of the unified memory that the system lets the GPU keep resident
    wired_limit_gib: float | None = declared(
        None, unit="GiB", kind="quantity", step=1, ge=0.1, le=10_000, engines=("mlx",)
    )

    @property
    def separate_slots(self) -> int:
        """Equal parts that llama.cpp and Ollama cut their context into; 1 where requests share it.

        llama.cpp, src/llama-context.cpp: n_ctx_seq is n_ctx with one cache for all slots, else n_ctx over
        the slots in whole 256; a number of slots left open means one cache for all.
        """
        if self.name not in LLAMA or self.kv_unified or self.n_parallel is None:
            return 1
        return self.n_parallel

    @property
    def longest_request(self) -> int:
        """Tokens that one request may have: ``max_model_len``, or a slot's part of it."""
        slots = self.separate_slots
        return self.max_model_len if slots == 1 else _whole_cells(-(-self.max_model_len // slots))

    def length_for(self, tokens: int) -> int:
        """The least ``max_model_len`` that admits requests of so many tokens."""
        slots = self.separate_slots
        return tokens if slots == 1 else slots * _whole_cells(tokens)
