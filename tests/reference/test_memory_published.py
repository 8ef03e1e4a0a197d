"""Peaks that were published for engines without a memory ledger in their log.

MLX: mx.get_peak_memory() in GB (10⁹), which leaves Metal's own part out; the source of each case.
Transformers: torch.cuda.max_memory_allocated() in GiB, OctoCoder (the shape of StarCoder) on an A100,
https://huggingface.co/docs/transformers/llm_tutorial_optimization.
"""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.engine_notes import engine_notes
from core.memory.build import build_ledger
from core.memory.mlx import wired_limit
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload
from core.units import GIB

COMPARED = ("weights", "kv_cache", "activations")


def of(engine: str, device: str, model: str, weights: str, prompt: int, output: int) -> Scenario:
    return Scenario(
        model=load_model(model),
        accelerator=load_accelerator(device),
        precision=Precision(weights=weights, kv_cache="fp16"),
        engine=Engine(name=engine, version="", max_model_len=max(4096, prompt + output)),  # type: ignore[arg-type]
        workload=Workload(users=1, prompt_tokens=prompt, output_tokens=output),
    )


def peak(scenario: Scenario) -> int:
    return sum(line.bytes for line in build_ledger(scenario, 1).lines if line.key in COMPARED)


@pytest.mark.parametrize(
    ("model", "prompt", "output", "gigabytes", "below"),
    [
        # https://github.com/ml-explore/mlx-lm/pull/478
        ("Qwen3-Next-80B-A3B-Instruct", 128, 128, 45.090, 0.01),
        # https://github.com/ml-explore/mlx-lm/pull/40, a prompt of 33,898 tokens
        ("Mistral-7B-Instruct-v0.3", 33_898, 100, 9.111, 0.05),
        # https://github.com/ml-explore/mlx-lm/pull/1569
        ("Qwen3-4B-Instruct-2507", 2048, 128, 3.30, 0.17),
    ],
)
def test_mlx(model: str, prompt: int, output: int, gigabytes: float, below: float) -> None:
    found = peak(of("mlx", "M3 Ultra", model, "mlx_4bit", prompt, output)) / 1e9
    assert (1 - below) * gigabytes <= found <= 1.01 * gigabytes


@pytest.mark.parametrize(
    ("weights", "gibibytes", "below"), [("bf16", 29.026, 0.01), ("w8a16", 15.219, 0.03), ("nf4", 9.544, 0.10)]
)
def test_transformers(weights: str, gibibytes: float, below: float) -> None:
    found = peak(of("transformers", "A100 SXM4 80GB", "bigcode/starcoder", weights, 20, 60)) / GIB
    assert (1 - below) * gibibytes <= found <= 1.01 * gibibytes


def test_cache_of_transformers() -> None:
    """Llama-2-7B at 10,000 tokens in 16 bit: about 5 GB, https://huggingface.co/blog/kv-cache-quantization."""
    ledger = build_ledger(of("transformers", "A100 SXM4 80GB", "Llama-2-7b", "fp16", 9999, 1), 1)
    assert ledger.bytes_of("kv_cache") == pytest.approx(5.24e9, rel=0.05)


@pytest.mark.parametrize(
    ("total", "limit"),
    [
        (16, 10.67),  # https://github.com/exo-explore/exo/pull/1672
        (96, 72.0),  # https://github.com/raullenchai/Rapid-MLX/pull/183
        (128, 96.0),  # the same; macOS 26 allows 107.5, https://github.com/antirez/ds4/pull/893
    ],
)
def test_what_the_system_recommends_for_the_gpu(total: float, limit: float) -> None:
    scenario = of("mlx", "M3 Ultra", "Qwen3-4B", "mlx_4bit", 128, 128)
    assert wired_limit(scenario, round(total * GIB)) / GIB == pytest.approx(limit, rel=0.002)


@pytest.mark.parametrize(
    ("engine", "model", "key"),
    [
        ("mlx", "Qwen3-4B", "memory_mlx"),
        ("transformers", "Qwen3-4B", "memory_transformers"),
        ("sglang", "DeepSeek-V4-Flash", "memory_compressed"),
        ("vllm", "DeepSeek-V4-Flash", "memory_compressed_paged"),
    ],
)
def test_the_product_says_where_no_log_was_compared(engine: str, model: str, key: str) -> None:
    device = "M3 Ultra" if engine == "mlx" else "H200"
    found = estimate(of(engine, device, model, "bf16", 128, 128))
    assert f"engine_notes.{key}" in [note.key for note in engine_notes(found)]
    plain = estimate(of("vllm", "H200", "Qwen3-4B", "bf16", 128, 128))
    assert not any("memory" in note.key for note in engine_notes(plain))
