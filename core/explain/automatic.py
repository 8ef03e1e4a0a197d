"""What a setting that is left to the engine becomes: its default for this model and device.

Each engine's rules are imported when its settings are asked for: a start needs those of one engine.
"""

from core.spec.scenario import Scenario
from core.units import GIB

_LLAMA = ("llamacpp", "ollama")
# What llama.cpp is built with for the devices of a vendor.
_BACKENDS = {"NVIDIA": "CUDA", "AMD": "ROCm", "Apple": "Metal", "Intel": "SYCL", "Huawei": "CANN"}


def automatic(scenario: Scenario, path: str) -> float | None:
    """The value that the field takes while it is empty, in the field's unit; a switch is 1 or 0.

    None where the engine finds it only at its start, or has no such setting.
    """
    if not path.startswith("engine."):
        return None
    name, setting = scenario.engine.name, path.removeprefix("engine.")
    if setting in type(scenario.engine).model_fields:
        scenario = scenario.model_copy(update={"engine": scenario.engine.model_copy(update={setting: None})})
    if name in _LLAMA:
        return _of_llama(scenario, setting)
    if name == "vllm":
        return _of_vllm(scenario, setting)
    if name == "sglang":
        return _of_sglang(scenario, setting)
    if name == "trtllm":
        return _of_tensorrt_llm(setting)
    return _of_mlx(scenario) if name == "mlx" and setting == "wired_limit_gib" else None


def _of_mlx(scenario: Scenario) -> float:
    from core.memory import mlx
    from core.memory.device import driver_total_bytes

    return round(mlx.wired_limit(scenario, driver_total_bytes(scenario.accelerator)) / GIB, 2)


def _of_llama(scenario: Scenario, setting: str) -> float | None:
    from core.memory import llama_rules

    engine = scenario.engine
    batch = max(llama_rules.n_ubatch(engine), int(llama_rules.rules()["n_batch"]["value"]))
    known: dict[str, float] = {
        "n_gpu_layers": scenario.model.architecture.layers + 1,  # the output counts as one more
        "n_parallel": llama_rules.n_parallel(engine),
        "n_batch": batch,
        "n_ubatch": llama_rules.n_ubatch(engine),
        "flash_attention": llama_rules.flash(engine),
        "kv_unified": llama_rules.unified(engine),
    }
    return known.get(setting)


def _of_vllm(scenario: Scenario, setting: str) -> float | None:
    from core.memory import vllm_rules

    engine, device = scenario.engine, scenario.accelerator
    if setting == "max_num_seqs":
        return vllm_rules.max_num_seqs(engine, device)
    return vllm_rules.max_num_batched_tokens(engine, device) if setting == "max_num_batched_tokens" else None


def _of_sglang(scenario: Scenario, setting: str) -> float | None:
    if setting not in ("chunked_prefill_size", "mem_fraction_static"):
        return None
    from core.memory import sglang

    found = sglang.defaults(scenario.engine, scenario.accelerator, scenario.deployment)
    return found.chunk if setting == "chunked_prefill_size" else found.fraction


def _of_tensorrt_llm(setting: str) -> float | None:
    keys = {
        "kv_cache_free_gpu_mem_fraction": "kv_fraction",
        "max_batch_size": "max_batch_size",
        "max_num_batched_tokens": "max_num_tokens",
    }
    key = keys.get(setting)
    if key is None:
        return None
    from core.memory import tensorrt_llm

    return float(tensorrt_llm.rules()[key]["value"])


def backend_of(scenario: Scenario) -> str:
    """What llama.cpp computes with when nothing else is asked for; "" for a device of an unknown vendor."""
    device = scenario.accelerator
    return "CPU" if device.kind == "cpu" else _BACKENDS.get(device.vendor, "")
