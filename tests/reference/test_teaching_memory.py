"""Every memory figure of the two teaching articles, and what an engine says beside it.

The articles' figures are rounded and mix GB (10⁹ bytes) and GiB (2³⁰): weights are decimal, cache sizes
binary, as the arithmetic that leads to them shows ("512 KB per token" = 524,288 bytes).
"""

from typing import Any

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory import textbook
from core.memory.build import build_ledger
from core.memory.notes import memory_notes
from core.model.cache import kv_bytes_per_token
from core.model.parameters import plain_weight_bytes, stored_parameters
from core.spec.accelerator import Accelerator
from core.spec.architecture import Architecture, Attention, DenseMlp, LayerGroup
from core.spec.change import with_value
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Workload

GB, GIB, KIB = 10**9, 2**30, 2**10
FP16 = CACHE_FORMATS["fp16"]


def rounded_model(billions: int, layers: int, hidden: int, heads: int) -> Model:
    """A model that the articles know by its size only, with the shape their figures are worked out for."""
    layer = LayerGroup(
        count=layers,
        token_mixer=Attention(heads=heads, kv_heads=heads, head_dim=hidden // heads),
        channel_mixer=DenseMlp(intermediate=hidden * 43 // 16),
    )
    arch = Architecture(hidden=hidden, vocabulary=32_000, groups=(layer,), stated_parameters=billions * GB)
    return Model(name=f"{billions}B", max_context=131_072, architecture=arch)


SEVEN = rounded_model(7, 32, 4096, 32)
SEVENTY = rounded_model(70, 80, 8192, 64)


def scenario(model: Model, gpu: str = "RTX 4090", engine: str = "textbook", **work: Any) -> Scenario:
    weights = work.pop("weights", "fp16")
    return Scenario(
        model=model,
        accelerator=load_accelerator(gpu),
        precision=Precision(weights=weights, kv_cache="fp16"),
        engine=Engine(name=engine, max_model_len=131_072),  # type: ignore[arg-type]
        workload=Workload(**{"users": 1, "prompt_tokens": 7168, "output_tokens": 1024, **work}),
    )


@pytest.mark.parametrize(
    ("model", "weights", "gigabytes"),
    [
        (SEVEN, "fp32", 28),
        (SEVEN, "fp16", 14),
        (SEVEN, "bf16", 14),
        (SEVEN, "int8", 7),
        (SEVEN, "fp8", 7),
        (SEVEN, "int4", 3.5),
        (SEVEN, "mxfp4", 3.5),
        (SEVENTY, "fp32", 280),
        (SEVENTY, "fp16", 140),
        (SEVENTY, "bf16", 140),
        (SEVENTY, "int8", 70),
        (SEVENTY, "fp8", 70),
        (SEVENTY, "int4", 35),
        (SEVENTY, "mxfp4", 35),
    ],
)
def test_weights_of_7b_and_70b(model: Model, weights: str, gigabytes: float) -> None:
    assert build_ledger(scenario(model, weights=weights)).bytes_of("weights") == gigabytes * GB


def test_weights_are_not_divided_twice() -> None:
    """Article B's script divides 7 × 2 by 1024³ and prints 1.3e-8 GB."""
    weights = build_ledger(scenario(SEVEN)).bytes_of("weights")
    assert weights / GB == 14.0
    assert weights / GIB == pytest.approx(13.04, abs=0.005)


def test_70b_does_not_fit_80_gb_and_7b_fits_24_gb() -> None:
    assert not build_ledger(scenario(SEVENTY, "H100 SXM5 80GB")).fits
    assert build_ledger(scenario(SEVEN), 0).fits
    # What "24 GB runs a 7B model" leaves out: the cache and the rest have this much.
    left = build_ledger(scenario(SEVEN)).kv_pool_bytes
    assert left == pytest.approx((24 * 0.9 - 14 - 2.8) * GB, abs=2)


def test_cache_of_a_token_is_512_kb() -> None:
    assert textbook.cache_bytes_per_token(SEVEN.architecture, FP16) == 512 * KIB == 524_288
    # Article B counts heads × head_dim instead of the hidden width: the same for such a model.
    assert kv_bytes_per_token(SEVEN.architecture, FP16) == 524_288


@pytest.mark.parametrize(
    ("tokens", "gib"),
    [(2048, 1), (4096, 2), (8192, 4), (32_768, 16), (131_072, 64)],
)
def test_cache_of_one_request(tokens: int, gib: int) -> None:
    s = scenario(SEVEN, prompt_tokens=tokens - 512, output_tokens=512)
    assert build_ledger(s).bytes_of("kv_cache") == gib * GIB


@pytest.mark.parametrize(
    ("tokens", "users", "gib"),
    [
        (8192, 4, 16),
        (8192, 8, 32),
        (8192, 16, 64),
        (32_768, 4, 64),
        (32_768, 8, 128),
        (32_768, 16, 256),
        (131_072, 16, 1024),  # "over 1,000 GB"
    ],
)
def test_cache_of_concurrent_requests(tokens: int, users: int, gib: int) -> None:
    s = scenario(SEVEN, users=users, prompt_tokens=tokens - 512, output_tokens=512)
    assert build_ledger(s).bytes_of("kv_cache") == gib * GIB


def test_eight_requests_of_8k_take_about_50_gb() -> None:
    ledger = build_ledger(scenario(SEVEN, users=8))
    activations = ledger.bytes_of("activations") / ledger.bytes_of("weights")
    assert 0.1 <= activations <= 0.3
    # 14 + 32 + 10 to 30 % of 14, the 32 being GiB.
    assert ledger.needed_bytes / GB == pytest.approx(50, rel=0.03)
    assert not ledger.fits


def test_deepseek_v3_takes_671_gb_in_fp8() -> None:
    model = load_model("deepseek-ai/DeepSeek-V3")
    weights = plain_weight_bytes(model.architecture, WEIGHT_FORMATS["fp8"])
    assert weights / GB == pytest.approx(671, rel=5e-4)


# What an engine says beside the rule, and why.


def vllm(model: Model, gpu: str, tp: int = 1, weights: str = "bf16", **work: Any) -> Scenario:
    s = scenario(model, gpu, "vllm", weights=weights, **work)
    deployment = Deployment(accelerators=tp, tensor_parallel=tp)
    return s.model_copy(update={"deployment": deployment})


def note_of(model: Model, gpu: str) -> tuple[str, dict[str, object]]:
    s = scenario(model, gpu)
    (note,) = memory_notes(s, build_ledger(s))
    assert note.severity == "note"
    return note.code, note.values


def test_a_7b_model_has_fewer_than_seven_billion_parameters() -> None:
    """Llama-2-7B: 6,738,415,616 parameters, so 12.55 GiB in an engine's log, not 14 GB = 13.04 GiB."""
    model = load_model("meta-llama/Llama-2-7b-hf")
    assert stored_parameters(model.architecture) == 6_738_415_616
    engine = build_ledger(vllm(model, "RTX 4090")).bytes_of("weights")
    assert engine / GIB == pytest.approx(12.55, abs=0.01)
    # It is multi-head attention, so rule and engine keep the same cache and there is no note.
    assert kv_bytes_per_token(model.architecture, FP16) == 524_288
    assert memory_notes(scenario(model), build_ledger(scenario(model))) == ()


def test_grouped_heads_keep_an_eighth() -> None:
    """Llama-3.1-70B: 8 KV heads for 64: 8 times less than the rule (teaching text, mistake 4)."""
    model = load_model("meta-llama/Llama-3.1-70B-Instruct")
    rule = textbook.cache_bytes_per_token(model.architecture, FP16)
    assert rule == 8 * kv_bytes_per_token(model.architecture, FP16)
    code, values = note_of(model, "H100 SXM5 80GB")
    assert code == "rule_gqa"
    assert (values["heads"], values["kv_heads"], values["ratio"]) == (64, 8, "8.00")


def test_latent_attention_keeps_576_values_a_layer() -> None:
    """DeepSeek-V3: 61 × 576 × 2 = 70,272 bytes a token (teaching text, mistake 4)."""
    model = load_model("deepseek-ai/DeepSeek-V3")
    assert kv_bytes_per_token(model.architecture, FP16) == 70_272
    code, values = note_of(model, "H200 SXM 141GB")
    assert code == "rule_mla" and values["real"] == 70_272


def test_windows_cap_the_cache() -> None:
    """gpt-oss-20b: half of the layers keep 128 tokens, so an engine's cache grows half as fast."""
    model = load_model("openai/gpt-oss-20b")
    s = vllm(model, "H100 SXM5 80GB", weights="mxfp4_experts", prompt_tokens=65_536, output_tokens=512)
    tokens = s.workload.tokens_per_request
    full_layers = 12 * 2 * 8 * 64 * 2
    cache = build_ledger(s).bytes_of("kv_cache")
    assert cache == pytest.approx(tokens * full_layers, rel=0.01)


def test_serving_activations_are_not_as_large_as_the_weights() -> None:
    """Teaching text, mistake 6: engines show 0.5 to 8 GiB, mostly the sampler's logits."""
    for name in ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"):
        for gpu, tp in (("RTX 4090", 8), ("H100 SXM5 80GB", 4)):
            s = vllm(load_model(name), gpu, tp)
            assert 0.4 * GIB < build_ledger(s).bytes_of("activations") < 8 * GIB


def test_fp8_leaves_tables_wide_in_an_engine() -> None:
    """DeepSeek-V3 in FP8 blocks: 671 GB by the rule, more in an engine (scales, 16-bit tables and norms)."""
    s = vllm(load_model("deepseek-ai/DeepSeek-V3"), "H200 SXM 141GB", 8, "fp8_block")
    rule = plain_weight_bytes(s.model.architecture, WEIGHT_FORMATS["fp8_block"], 8)
    engine = build_ledger(s).bytes_of("weights")
    assert 1.0 < engine / rule < 1.05


def test_article_card_has_24_decimal_gigabytes() -> None:
    card: Accelerator = load_accelerator("RTX 4090")
    ledger = build_ledger(scenario(SEVEN))
    assert ledger.device_bytes == 24 * GB
    engine = build_ledger(with_value(scenario(SEVEN), "engine.name", "vllm"))
    # 24,564 MiB reported, 23.53 GiB of them within a program's reach.
    assert engine.device_bytes < (card.memory_mib_reported or 0) * 2**20
