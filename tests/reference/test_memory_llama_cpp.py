"""Buffers that llama.cpp's log printed, MiB.

KV and states: sources of each case; compute buffers: https://github.com/ggml-org/llama.cpp logs of the
models named, as collected in the issues linked.
"""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory.llama_cpp import buffers, layers_on
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


def in_version(version: str, scenario: Scenario, devices: int = 1) -> list[float]:
    """Compute buffers in MiB."""
    changed = {"engine": scenario.engine.model_copy(update={"version": version})}
    if devices > 1:
        changed["deployment"] = Deployment(accelerators=devices, pipeline_parallel=devices)
    return [device.compute / MIB for device in buffers(scenario.model_copy(update=changed))[0]]


@pytest.mark.parametrize(
    ("model", "length", "version", "flash", "mib", "settings"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 8192, "b7300", True, 258.5, {}),
        # Several public logs: the token table of 292.36 MiB on the host is this model's in Q4_K_M.
        ("Qwen/Qwen2.5-7B-Instruct", 4096, "b7300", True, 304.0, {}),
        ("meta-llama/Llama-3.1-8B-Instruct", 8192, "2024-06", False, 560.0, {}),
        ("meta-llama/Llama-2-7b-hf", 4096, "2024-06", False, 296.0, {}),
        ("meta-llama/Llama-3.1-70B-Instruct", 8192, "2024-10", False, 1104.0, {}),
        # A log of 2025-12: four unified slots of 65,536, masks in FP32, one hidden state beside the logits.
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 65_536, "b7300", True, 300.75, {"n_parallel": None}),
        # A log of 2025-08 with micro batches of 256: queries, keys and values are one matrix.
        ("microsoft/Phi-3-mini-4k-instruct", 4096, "2025-06", False, 150.0, {"n_ubatch": 256}),
        # A log of 2025-05: experts on the host are fetched, but the scores need more.
        ("Qwen/Qwen3-30B-A3B", 16_384, "2025-05", False, 1080.0, {"n_cpu_moe": 48}),
        # Gated delta nets and experts on the host, micro batches of 4,096: 3,976 MiB in
        # https://github.com/ggml-org/llama.cpp/pull/23861, a case that no rule was made from.
        (
            "Qwen/Qwen3.6-35B-A3B",
            150_000,
            "b9300",
            True,
            3976.0,
            {"n_ubatch": 4096, "n_batch": 4096, "n_cpu_moe": 40},
        ),
        # Half of the layers and the output on the host: the output matrix (410.98 MiB) is fetched as well.
        ("meta-llama/Llama-3.1-8B-Instruct", 8192, "2024-06", True, 669.48, {"n_gpu_layers": 16}),
    ],
)
def test_compute_buffers(
    model: str, length: int, version: str, flash: bool, mib: float, settings: dict[str, object]
) -> None:
    scenario = of(model, length, **{"flash_attention": flash, "n_parallel": 1, **settings})
    assert in_version(version, scenario) == pytest.approx([mib], abs=0.02)


def test_batches_in_flight_keep_four_copies_of_the_inputs() -> None:
    """Command R on two cards: 672.01 MiB on the first,
    https://github.com/ggml-org/llama.cpp/pull/6122."""
    scenario = of("CohereLabs/c4ai-command-r-v01", 4096, flash_attention=False, n_parallel=1)
    first = in_version("2024-03", scenario, 2)[0]
    assert first == pytest.approx(672.01, abs=0.01)
    assert in_version("2024-03", scenario)[0] < first - 3 * 16  # one copy: three hidden states less


@pytest.mark.parametrize(
    ("model", "length", "mib", "within"),
    [
        ("Qwen/Qwen3-4B", 8192, 85.01, 0.03),  # a log of 2026-10, the widest layer
        ("Qwen/Qwen3.8-27B", 196_608, 314.02, 0.04),  # a log of b11258, mask 192 MiB
    ],
)
def test_new_builds_reserve_logits_of_one_token_a_slot(
    model: str, length: int, mib: float, within: float
) -> None:
    """https://github.com/ggml-org/llama.cpp/pull/23764 and 23861: masks in FP16, few logits."""
    scenario = of(model, length, n_parallel=1)
    assert in_version("b11258", scenario) == pytest.approx([mib], rel=within)
    assert in_version("b9000", scenario)[0] > 2 * in_version("", scenario)[0] or length > 8192


@pytest.mark.parametrize(
    ("version", "outputs_on_device"), [("2025-11", False), ("b7500", True), ("", True), ("ik 3673", False)]
)
def test_which_layer_goes_to_the_device_first(version: str, outputs_on_device: bool) -> None:
    """https://github.com/ggml-org/llama.cpp/pull/18148: since 2025-12 it is the output."""
    scenario = of("meta-llama/Llama-3.1-8B-Instruct", 8192, n_gpu_layers=15)
    engine = scenario.engine.model_copy(update={"version": version})
    (part,) = layers_on(engine, 32, 1)
    assert part == (range(18, 33) if outputs_on_device else range(17, 32))


def test_families_without_windows_keep_the_whole_context() -> None:
    """Phi-3-mini-4k has windows of 2,047 tokens; a log shows 1,536 MiB at 4,096 cells."""
    (device,), _ = buffers(of("microsoft/Phi-3-mini-4k-instruct", 4096))
    assert device.cache / MIB == 1536


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
