"""Which engine serves the model, and the settings that decide memory and batching."""

from typing import Literal

from core.spec.base import Spec, declared

EngineName = Literal["vllm", "textbook"]


class Precision(Spec):
    """Formats by key of ``core.spec.formats``."""

    weights: str = declared("bf16", kind="choice", choices="weight_formats")
    kv_cache: str = declared("bf16", kind="choice", choices="cache_formats")


class Engine(Spec):
    """Engine settings, named as the engine names them."""

    name: EngineName = declared("vllm", kind="choice", choices="engines")
    version: str = declared("0.21", kind="choice", choices="engine_versions")
    max_model_len: int = declared(16384, unit="tokens", kind="count", step=1024, ge=1, le=10**9)
    gpu_memory_utilization: float = declared(0.90, unit="1", kind="fraction", step=0.01, ge=0.05, le=1.0)
    max_num_seqs: int | None = declared(
        None, kind="count", step=1, ge=1, le=10**6
    )  # None: the engine's default
    max_num_batched_tokens: int | None = declared(None, unit="tokens", kind="count", step=512, ge=1, le=10**8)
    block_size: int = declared(16, unit="tokens", kind="count", step=16, ge=1, le=4096)
    enforce_eager: bool = False  # True: no CUDA graphs
