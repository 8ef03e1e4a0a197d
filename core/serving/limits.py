"""How many sequences and tokens one step may hold, by each engine's own rules."""

import math

from core.memory.llama_rules import n_parallel, n_ubatch, rules
from core.memory.vllm_rules import max_num_batched_tokens, max_num_seqs
from core.spec.accelerator import Accelerator
from core.spec.deployment import Deployment
from core.spec.engine import Engine

_NO_LIMIT = math.inf
# Defaults of the engines' documentation.
_CHUNK = 8192.0  # TensorRT-LLM's max_num_tokens
_TRTLLM_BATCH = 2048.0


def batch_limits(engine: Engine, device: Accelerator) -> tuple[float, float]:
    """Sequences and tokens of one step."""
    if engine.name == "textbook":
        return float(engine.max_num_seqs or _NO_LIMIT), _NO_LIMIT
    if engine.name == "sglang":
        from core.memory import sglang  # not needed by others

        chunk = sglang.defaults(engine, device, Deployment()).chunk  # goes by the device's memory
        return float(engine.max_num_seqs or _NO_LIMIT), float(chunk)
    if engine.name == "trtllm":
        seqs = float(engine.max_batch_size or engine.max_num_seqs or _TRTLLM_BATCH)
        return seqs, float(engine.max_num_batched_tokens or _CHUNK)
    if engine.name in ("llamacpp", "ollama"):
        batch = engine.n_batch or max(n_ubatch(engine), int(rules()["n_batch"]["value"]))
        return float(n_parallel(engine)), float(batch)
    if engine.name in ("mlx", "transformers"):
        return 1.0, _NO_LIMIT  # one request after the other
    return float(max_num_seqs(engine, device)), float(max_num_batched_tokens(engine, device))


def occupancy(engine: Engine, evicts: bool) -> float:
    """Share of its answer for which a running request holds room in the cache.

    TensorRT-LLM takes a request only when all of its answer has room (its scheduler's default,
    GUARANTEED_NO_EVICT) unless it ``evicts`` (MAX_UTILIZATION); the others take it at once and evict when
    they must, half on average.
    """
    return 1.0 if engine.name == "trtllm" and not evicts else 0.52
