"""Buffers that llama.cpp's log printed, MiB.

KV and states: sources of each case; compute buffers: https://github.com/ggml-org/llama.cpp logs of the
models named, as collected in the issues linked.
"""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory.llama_cpp import buffers
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario

MIB = 2**20


def of(model: str, length: int, weights: str = "gguf_q4_k_m", **engine: object) -> Scenario:
    return Scenario(
        model=load_model(model),
        accelerator=load_accelerator("H200"),
        precision=Precision(weights=weights, kv_cache="fp16"),
        engine=Engine(name="llamacpp", version="b7500", max_model_len=length, **engine),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("model", "length", "mib"),
    [
        ("openai/gpt-oss-120b", 65_536, 2304 + 36),  # 18 full layers, 18 of 1,024 cells
        ("google/gemma-2-2b-it", 8192, 416 + 416),  # four windows exceed the context: no saving
    ],
)
def test_windows_with_four_unified_slots(model: str, length: int, mib: float) -> None:
    (device,), _ = buffers(of(model, length))
    assert device.cache / MIB == pytest.approx(mib, abs=0.01)


def test_recurrent_states_are_kept_for_every_slot() -> None:
    """Qwen3-Coder-Next: 75.4 MiB a slot and 24,576 bytes a token."""
    (device,), _ = buffers(of("Qwen/Qwen3-Coder-Next", 32_768))
    assert device.token == 24_576
    assert device.bounded / MIB == pytest.approx(301, abs=1)
    (alone,), _ = buffers(of("Qwen/Qwen3-Coder-Next", 32_768, n_parallel=1))
    assert alone.bounded / MIB == pytest.approx(75.4, abs=0.1)


@pytest.mark.parametrize(
    ("model", "length", "flash", "mib"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8192, True, 258.5),
        ("meta-llama/Llama-3.1-8B-Instruct", 8192, False, 560.0),
        ("Qwen/Qwen2.5-7B-Instruct", 4096, True, 301.0),
        ("meta-llama/Llama-2-7b-hf", 4096, False, 296.0),
        ("meta-llama/Llama-3.1-70B-Instruct", 8192, False, 1104.0),
    ],
)
def test_compute_buffers(model: str, length: int, flash: bool, mib: float) -> None:
    (device,), _ = buffers(of(model, length, flash_attention=flash, n_parallel=1))
    assert device.compute / MIB == pytest.approx(mib, rel=0.005)


def test_layers_and_experts_left_on_the_host_add_up() -> None:
    whole, host = buffers(of("Qwen/Qwen3-30B-A3B", 4096))
    half, more = buffers(of("Qwen/Qwen3-30B-A3B", 4096, n_gpu_layers=24))
    experts, most = buffers(of("Qwen/Qwen3-30B-A3B", 4096, n_cpu_moe=48))
    everything = whole[0].model + whole[0].cache + host
    assert half[0].model + half[0].cache + more == everything
    assert experts[0].model + experts[0].cache + most == everything
    assert experts[0].model < 0.15 * whole[0].model and experts[0].cache == whole[0].cache


def test_two_devices_share_layers_as_the_log_says() -> None:
    """25 and 23 of 48 layers: 1,600 and 1,472 MiB, https://github.com/ikawrakow/ik_llama.cpp/issues/398."""
    s = of("Qwen/Qwen3-30B-A3B", 32_768).model_copy(
        update={"deployment": Deployment(accelerators=2, pipeline_parallel=2)}
    )
    first, second = buffers(s)[0]
    assert (first.cache // MIB, second.cache // MIB) == (1600, 1472)


def test_quantised_caches_by_their_blocks() -> None:
    """q8_0 has 34 bytes for 32 elements, q4_0 has 18."""
    s = of("meta-llama/Llama-3.1-8B-Instruct", 4096)
    wide = buffers(s)[0][0].cache
    for fmt, share in (("q8_0", 34 / 64), ("q4_0", 18 / 64)):
        narrow = s.model_copy(update={"precision": Precision(weights="gguf_q4_k_m", kv_cache=fmt)})
        assert buffers(narrow)[0][0].cache == wide * share
