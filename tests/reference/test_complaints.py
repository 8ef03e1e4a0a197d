"""What users of other estimators were told, and what was right.  Each case names the complaint.

Sizes that people wrote as "GB" are GiB where the formula that they settled on says so.
"""

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory.build import build_ledger, plan_memory
from core.memory.capacity import capacity, printed_concurrency
from core.memory.llama_cpp import buffers
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

GIB = 2**30


def served(
    model: str, gpu: str = "H200", fmt: str = "bf16", kv: str = "bf16", tp: int = 1, **engine: object
) -> Scenario:
    return Scenario(
        model=load_model(model),
        accelerator=load_accelerator(gpu),
        deployment=Deployment(accelerators=tp, tensor_parallel=tp),
        precision=Precision(weights=fmt, kv_cache=kv),
        engine=Engine(**engine),  # type: ignore[arg-type]
    )


def local(model: str, length: int, fmt: str = "gguf_q8_0", **engine: object) -> Scenario:
    return served(
        model, "H200", fmt, "fp16", name="llamacpp", version="b7500", max_model_len=length, **engine
    )


def cache_gib(s: Scenario) -> float:
    """GiB of one request of max_model_len, by the layers alone."""
    return float(plan_memory(s).demand.request_bytes(s.engine.max_model_len)) / GIB


@pytest.mark.parametrize(
    ("model", "length", "gib"),
    [
        ("google/gemma-3-27b-it", 131_072, 10.4),
        ("deepseek-ai/DeepSeek-V3.1", 163_840, 10.7),
        ("Qwen/Qwen3-0.6B", 40_960, 4.4),
    ],
)
def test_one_formula_for_all_is_wrong(model: str, length: int, gib: float) -> None:
    """https://github.com/unslothai/unsloth/pull/4757: 81.4, 2.1 and 2.2 were said."""
    assert cache_gib(served(model, max_model_len=length)) == pytest.approx(gib, rel=0.01)


def test_three_quarters_of_the_layers_keep_no_cache() -> None:
    """https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1862: 75 GB said, 47 real.

    16.0 GiB of cache for 16 of 64 layers, and 0.6 GiB of states in four slots.
    """
    (device,), _ = buffers(local("Qwen/Qwen3.6-27B", 262_144))
    assert device.token * 262_144 / GIB == pytest.approx(16.0, rel=1e-6)
    assert device.bounded / GIB == pytest.approx(0.6, abs=0.02)
    assert (device.model + device.cache + device.compute) / 1e9 == pytest.approx(47, rel=0.04)


def test_latent_attention_is_cached_once() -> None:
    """https://github.com/LMCache/LMCache/pull/694: 576 elements of 61 layers, 70,272 B a token at BF16."""
    for tp in (1, 8):
        plan = plan_memory(served("deepseek-ai/DeepSeek-V3", tp=tp, fmt="fp8_block"))
        assert plan.demand.bytes_per_token() == 70_272


def test_the_estimate_follows_the_engine_of_the_day() -> None:
    """https://github.com/gpustack/gguf-parser-go/issues/8: an engine without MLA keeps every head."""
    new = plan_memory(served("deepseek-ai/DeepSeek-V3", tp=16, fmt="fp8_block", version="0.7.3"))
    old = plan_memory(served("deepseek-ai/DeepSeek-V3", tp=16, fmt="fp8_block", version="0.6.6"))
    # 8 heads a rank × 256 × 2 elements against 576.
    assert old.demand.bytes_per_token() / new.demand.bytes_per_token() == pytest.approx(8 * 512 / 576)


def test_windows_are_not_billed_at_full_length() -> None:
    """https://github.com/ai-dynamo/aiconfigurator/pull/1537: 2.264 GiB said, 1.134 real, 64K tokens, FP8."""
    s = served("openai/gpt-oss-120b", fmt="mxfp4_experts", kv="fp8", max_model_len=65_536)
    assert cache_gib(s) == pytest.approx(1.134, rel=0.01)


def test_windowed_layers_are_not_left_out_either() -> None:
    """https://github.com/alvarobartt/hf-mem/issues/60."""
    s = served("google/gemma-3-27b-it", max_model_len=4096)
    demand = plan_memory(s).demand
    unbounded = demand.bytes_per_token() * 4096
    assert demand.request_bytes(4096) > 1.5 * unbounded


@pytest.mark.parametrize(("fmt", "tokens"), [("bf16", 626_949), ("nvfp4", 1_007_303)])
def test_gemma_4_31b_on_an_h200(fmt: str, tokens: int) -> None:
    """https://github.com/redhat-performance/configiq/issues/112: 972,134 and 2,684,804 said."""
    s = served("google/gemma-4-31B-it", fmt=fmt, version="0.21", max_model_len=262_144)
    ours = printed_concurrency(s, build_ledger(s, 0)) * 262_144
    assert ours == pytest.approx(tokens, rel=0.06)


@pytest.mark.parametrize("model", ["meta-llama/Llama-3.1-8B-Instruct", "deepseek-ai/DeepSeek-V2-Lite-Chat"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "transformers"])
def test_tokens_times_bytes_is_the_pool(model: str, engine: str) -> None:
    """The same complaint: figures shown side by side must multiply out, to less than one block."""
    s = served(model, name=engine)
    ledger = build_ledger(s, 0)
    ceiling = capacity(s, ledger)
    product = ceiling.kv_tokens * ceiling.kv_bytes_per_token
    assert 0 <= ledger.kv_pool_bytes - product < 64 * ceiling.kv_bytes_per_token


def test_all_experts_are_stored() -> None:
    """https://github.com/AlexsJones/llmfit/issues/230: 33 GB said from the active ones, 70 to 75 needed."""
    (device,), host = buffers(local("Qwen/Qwen3.5-122B-A10B", 4096, "gguf_q4_k_m"))
    assert 69e9 <= device.model + host <= 77e9


def test_experts_are_divided_among_the_group() -> None:
    """https://github.com/ai-dynamo/aiconfigurator/pull/1390: 8 times too large."""
    s = served("Qwen/Qwen3-235B-A22B", tp=8)
    split = s.model_copy(
        update={"deployment": Deployment(accelerators=8, tensor_parallel=8, expert_parallel=8)}
    )
    one, other = (build_ledger(x, 0).bytes_of("weights") for x in (s, split))
    assert one == pytest.approx(other, rel=0.001)
    assert one < 62 * GIB


def test_grouped_heads_hold_more_requests_than_the_textbook_says() -> None:
    """https://github.com/vllm-project/vllm/issues/14350: real concurrency a multiple of the plain formula."""
    s = served("meta-llama/Llama-3.1-8B-Instruct")
    plain = plan_memory(served("meta-llama/Llama-3.1-8B-Instruct", name="textbook"))
    assert plain.demand.bytes_per_token() == 4 * plan_memory(s).demand.bytes_per_token()


def test_printed_tokens_of_a_hybrid_are_concurrency_times_length() -> None:
    """https://github.com/vllm-project/vllm/issues/40691; figures of a 0.2x log of Qwen3.8-27B with FP8 cache:
    7.08 GiB, 1.70 requests of 131,072 tokens, 222,822 tokens; blocks of 1,568 tokens."""
    s = served("Qwen/Qwen3.8-27B", kv="fp8", version="0.27", max_model_len=131_072)
    demand = plan_memory(s).demand
    assert {g.page_tokens for g in demand.groups} == {1568}
    usable = demand.whole_pages(round(7.08 * GIB))
    concurrency = usable / demand.reserved_bytes(131_072, 2048)
    assert concurrency == pytest.approx(1.70, abs=0.005)
    assert concurrency * 131_072 == pytest.approx(222_822, rel=0.005)


def test_a_long_context_is_never_assumed() -> None:
    """https://github.com/AlexsJones/llmfit/issues/302 and
    https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1225: the context asked for counts."""
    short, long = (buffers(local("Qwen/Qwen3-30B-A3B", n))[0][0].cache for n in (8192, 262_144))
    assert long == 32 * short


def test_without_attention_there_is_still_a_number() -> None:
    """https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1038: "NaN undefined of memory"."""
    for engine in ("vllm", "sglang", "transformers"):
        s = served("tiiuae/falcon-mamba-7b-instruct", name=engine)
        ledger = build_ledger(s)
        assert ledger.fits and ledger.bytes_of("kv_cache") > 0
        assert capacity(s, ledger).max_users > 0


def test_flash_attention_saves_the_table_of_scores() -> None:
    """https://github.com/ollama/ollama/issues/5022: 25 GB said, 21.7 used."""
    with_it, without = (
        buffers(local("meta-llama/Llama-3.1-8B-Instruct", 32_768, flash_attention=on))[0][0].compute
        for on in (True, False)
    )
    assert without - with_it > 1.5 * GIB


def test_the_compute_buffer_is_counted() -> None:
    """https://github.com/ollama/ollama/pull/17201: DeepSeek-V2-Lite at 32K."""
    s = local("deepseek-ai/DeepSeek-V2-Lite-Chat", 32_768, flash_attention=False)
    s = s.model_copy(update={"workload": Workload(users=1, prompt_tokens=32_000, output_tokens=512)})
    assert build_ledger(s).bytes_of("activations") > GIB
